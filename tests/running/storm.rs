//! Many runs, some of whose runners are killed at any moment: never two holders. The command of a
//! killed runner still holds, for as long as it runs.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::common::DEADLINE;
use crate::common::turns::{Running, runs, waits_for};
use crate::stage::{AT_ONCE, Stage, groups};

const WORKERS: u64 = 6;

/// How long the storm lasts.
fn span() -> Duration {
    let seconds = std::env::var("GIT_LOCKS_STRESS_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(6))
}

/// A directory that only one can make, and a log that tells who met whom.
const CRITICAL: &str = r#"
mkdir "$DIR/inside" 2>/dev/null || log "FAULT $GIT_LOCKS_HOLDER met another"
log "lap $GIT_LOCKS_FENCE"
sleep 0.00$(( $$ % 10 ))
rmdir "$DIR/inside" 2>/dev/null || log "FAULT $GIT_LOCKS_HOLDER found nobody inside"
"#;

/// A small generator of numbers, so that each worker has other luck.
struct Luck(u64);

impl Luck {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Whether a living process belongs to this group.
fn group_lives(group: i32) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return false;
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| runs(*pid)).any(|pid| {
        let there = Path::new("/proc").join(pid.to_string());
        // It may end between two looks.
        let gone = || !there.try_exists().unwrap_or(true);
        !gone() && std::panic::catch_unwind(|| groups(pid).0).is_ok_and(|found| found == group)
    })
}

struct Storm {
    stage: Stage,
    end: Instant,
    killed: AtomicU64,
    completed: AtomicU64,
}

impl Storm {
    fn worker(&self, number: u64, mut luck: Luck) {
        // Some have a name, others are named after the checkout and take over lost places.
        let args = match number % 2 {
            0 => String::new(),
            _ => format!("--plan-id worker-{number}"),
        };
        while Instant::now() < self.end {
            let mut run = self.stage.start(&args, CRITICAL);
            let doomed = luck.below(3) == 0;
            let last = Instant::now() + Duration::from_micros(luck.below(120_000));
            while run.is_alive() && !(doomed && Instant::now() > last) {
                thread::sleep(Duration::from_millis(1));
            }
            if run.is_alive() {
                self.kill(&mut run);
                continue;
            }
            let ended = run.wait(DEADLINE);
            assert_eq!(ended.code, Some(0), "{ended:#?}");
            self.completed.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Kills the runner, and waits until what it started has ended by itself.
    fn kill(&self, run: &mut Running) {
        run.kill();
        self.killed.fetch_add(1, Ordering::SeqCst);
        waits_for("the command of a killed runner to end", DEADLINE, || {
            (!group_lives(run.pid())).then_some(())
        });
    }
}

#[test]
fn of_killed_runners() {
    let storm = Storm {
        stage: Stage::new(),
        end: Instant::now() + span(),
        killed: AtomicU64::new(0),
        completed: AtomicU64::new(0),
    };
    let seed = SystemTime::now().duration_since(UNIX_EPOCH);
    let seed = u64::from(seed.expect("a clock after 1970").subsec_nanos()) + 1;
    eprintln!("the storm's seed is {seed}");
    thread::scope(|scope| {
        for number in 0..WORKERS {
            let storm = &storm;
            let luck = Luck(seed.wrapping_mul(2 * number + 1));
            scope.spawn(move || storm.worker(number, luck));
        }
    });
    let log = storm.stage.log();
    let faults: Vec<&String> = log.iter().filter(|line| line.contains("FAULT")).collect();
    assert!(faults.is_empty(), "{} faults: {faults:#?}", faults.len());
    let fences: Vec<u64> = log
        .iter()
        .filter_map(|line| line.strip_prefix("lap ")?.parse().ok())
        .collect();
    assert!(fences.is_sorted_by(|a, b| a < b), "{fences:?}");
    let (killed, completed) = (
        storm.killed.load(Ordering::SeqCst),
        storm.completed.load(Ordering::SeqCst),
    );
    eprintln!(
        "{} laps, {completed} completed, {killed} killed",
        fences.len()
    );
    assert!(killed >= 5, "only {killed} were killed");
    assert!(completed >= 5, "only {completed} were not");
    assert!(fences.len() as u64 >= completed);
    // Nothing is in the way of those that come later.
    let mut next = storm.stage.start("", "log last");
    next.wait(AT_ONCE).exits(0);
    assert_eq!(storm.stage.log().last().map(String::as_str), Some("last"));
}
