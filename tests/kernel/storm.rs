//! Many at once, some killed at any moment, and other programs beside them: never two, and nobody is
//! stuck.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::cast::{Ground, Lock, python};
use crate::chance::Chance;
use crate::common::turns::Running;
use crate::common::{eventually, required};
use crate::stage::KILL;

/// Storms take turns: each needs the machine for itself.
static TURN: Mutex<()> = Mutex::new(());
const WORKERS: u64 = 8;
/// Who has had no turn for this long is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

fn span() -> Duration {
    let seconds = std::env::var("GIT_LOCKS_STRESS_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(4))
}

/// The critical section: whoever meets another inside says so. The kernel ends the lock on the place
/// with the processes that have it, however they end.
const SECTION: &str = "exec 9>>\"$DIR/place\"\n\
    flock -n 9 || log FAULT two inside\n\
    log lap\n\
    sleep 0.00$(( $$ % 10 ))\n";

const PYTHON: &str = r#"
import fcntl, os, sys, time
file = open(sys.argv[1], "a")
end = time.time() + float(sys.argv[3])
def log(line):
    with open(sys.argv[2] + "/log", "a") as out:
        out.write(line + "\n")
while time.time() < end:
    fcntl.flock(file, fcntl.LOCK_EX)
    place = open(sys.argv[2] + "/place", "a")
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        log("FAULT python met another")
    log("lap")
    time.sleep(0.003)
    place.close()
    fcntl.flock(file, fcntl.LOCK_UN)
    time.sleep(0.02)
"#;

struct Storm {
    ground: Ground,
    end: Instant,
    killed: AtomicU64,
    completed: AtomicU64,
}

impl Storm {
    fn runner(&self, number: u64) {
        let mut chance = Chance::new(number);
        while Instant::now() < self.end {
            let mut run = self.ground.start("--timeout 60", SECTION);
            if !chance.once_in(3) {
                let ended = run.wait(PATIENCE);
                assert_eq!(ended.code, Some(0), "{ended:?}");
                self.completed.fetch_add(1, Ordering::SeqCst);
                continue;
            }
            chance.pause(80);
            if run.is_alive() {
                self.killed.fetch_add(1, Ordering::SeqCst);
                if chance.once_in(2) {
                    run.signal_group(KILL);
                } else {
                    run.kill();
                    // The command still has the lock, for as long as it runs.
                    chance.pause(15);
                }
            }
        }
    }

    fn flocker(&self, number: u64) {
        let mut chance = Chance::new(100 + number);
        while Instant::now() < self.end {
            let mut command = self.ground.stage.env.command("flock");
            command.arg(self.ground.file());
            command.args(self.ground.stage.script(SECTION));
            let mut run = Running::start(command);
            if chance.once_in(4) {
                chance.pause(30);
                if run.is_alive() {
                    self.killed.fetch_add(1, Ordering::SeqCst);
                    run.signal_group(KILL);
                }
            }
            run.wait(PATIENCE);
        }
    }
}

fn storm(lock: Lock, with_others: bool) {
    let _turn = TURN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let ground = Ground::new(lock);
    ground.make_file();
    let storm = Storm {
        ground,
        end: Instant::now() + span(),
        killed: AtomicU64::new(0),
        completed: AtomicU64::new(0),
    };
    let ground = &storm.ground;
    let ours = if with_others { WORKERS / 2 } else { WORKERS };
    let mut pythons = Vec::new();
    thread::scope(|scope| {
        for number in 0..ours {
            let storm = &storm;
            scope.spawn(move || storm.runner(number));
        }
        if with_others {
            for number in 0..2 {
                let storm = &storm;
                scope.spawn(move || storm.flocker(number));
                let mut command = python(&ground.stage, PYTHON);
                command.arg(ground.file()).arg(ground.stage.env.root());
                command.arg(span().as_secs().to_string());
                pythons.push(Running::start(command));
            }
        }
    });
    for python in &mut pythons {
        python.wait(PATIENCE).exits(0);
    }
    let log = ground.stage.log();
    let faults: Vec<&String> = log
        .iter()
        .filter(|line| line.starts_with("FAULT"))
        .collect();
    assert!(faults.is_empty(), "{faults:?}");
    let (dead, done) = (storm.killed.into_inner(), storm.completed.into_inner());
    eprintln!("{} laps, {done} completed, {dead} killed", log.len());
    assert!(dead >= 3 && done >= 5, "{done} completed, {dead} killed");
    assert!(log.len() as u64 >= done);
    eventually(PATIENCE, || ground.flock_would());
    ground.is_free();
}

#[test]
fn of_killed_repository_runs() {
    if required("storm::of_killed_repository_runs", "flock") {
        storm(Lock::Repo, false);
    }
}

#[test]
fn of_killed_worktree_runs() {
    if required("storm::of_killed_worktree_runs", "flock") {
        storm(Lock::Worktree, false);
    }
}

#[test]
fn beside_other_programs() {
    let test = "storm::beside_other_programs";
    if required(test, "flock") && required(test, "python3") {
        storm(Lock::Repo, true);
        storm(Lock::Worktree, true);
    }
}
