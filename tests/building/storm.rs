//! Many at once, some of whom are killed at any moment, and another program beside them: never more
//! than k, and nobody is stuck.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::arena::Arena;
use crate::chance::Chance;
use crate::common::builds::{Other, Queue};
use crate::common::fixture::{keep_plans, plan};
use crate::common::{DEADLINE, Env, eventually, required};
use crate::stage::{KILL, Stage};

/// Storms take turns: each needs the machine for itself.
static TURN: Mutex<()> = Mutex::new(());
const WORKERS: usize = 8;
const SLOTS: usize = 3;
/// Who has had no slot for this long is wedged.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a storm lasts.
fn span() -> Duration {
    let seconds = std::env::var("GIT_LOCKS_STRESS_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(5))
}

struct Storm {
    stage: Stage,
    repos: Vec<PathBuf>,
    arena: Arena,
    end: Instant,
    killed: AtomicU64,
    completed: AtomicU64,
}

impl Storm {
    fn new() -> Self {
        let stage = Stage::new();
        let mut repos: Vec<PathBuf> = ["two", "three"].map(|name| stage.env.init(name)).to_vec();
        repos.push(stage.repo.clone());
        let arena = Arena::new(&stage.env.mkdir("arena"), SLOTS);
        Self {
            stage,
            repos,
            arena,
            end: Instant::now() + span(),
            killed: AtomicU64::new(0),
            completed: AtomicU64::new(0),
        }
    }

    fn repo(&self, number: usize) -> &Path {
        &self.repos[number % self.repos.len()]
    }

    fn env(&self) -> &Env {
        &self.stage.env
    }

    fn queue(&self) -> Queue {
        self.stage.builds()
    }

    /// Runs commands, and kills every third with all that it started, or its runner alone.
    fn runner(&self, number: usize) {
        let mut chance = Chance::new(number as u64);
        // Some have a name, others are named after the checkout and take over lost places.
        let name = match number % 2 {
            0 => String::new(),
            _ => format!("--as worker-{number}"),
        };
        let args = format!("--max-slots {SLOTS} {name}");
        let body = self.arena.script();
        // Whoever is to be killed is killed in its command more often than before it.
        let long = format!("{body}sleep 0.1 9>&-\n");
        while Instant::now() < self.end {
            let doomed = chance.once_in(3);
            let body = if doomed { &long } else { &body };
            let mut run = self.stage.starts_in(self.repo(number), &args, body);
            if !doomed {
                let ended = run.wait(PATIENCE);
                if ended.code == Some(0) {
                    self.completed.fetch_add(1, Ordering::SeqCst);
                } else {
                    self.arena.note(&format!("FAULT {ended:?}"));
                }
                continue;
            }
            chance.pause(300);
            if run.is_alive() {
                self.killed.fetch_add(1, Ordering::SeqCst);
                if chance.once_in(2) {
                    run.signal_group(KILL);
                } else {
                    run.kill();
                    // The command still has the slot, for as long as it runs.
                    chance.pause(15);
                }
            }
        }
    }

    /// Acquires and releases without a process in between; its calls are killed now and then.
    fn detached(&self, number: usize, kind: &str) {
        let id = format!("detached-{number}");
        let mut chance = Chance::new(100 + number as u64);
        while Instant::now() < self.end {
            let give_up = Instant::now() + PATIENCE;
            let acquire = format!("acquire --max-slots {SLOTS} --as {id} {kind}");
            loop {
                match self.call(number, &acquire, &mut chance) {
                    Some(0) => break,
                    None | Some(75) if Instant::now() < give_up => chance.pause(20),
                    other => return self.arena.note(&format!("FAULT {id} is wedged: {other:?}")),
                }
            }
            self.arena.visit(&id, &mut chance);
            self.completed.fetch_add(1, Ordering::SeqCst);
            let release = format!("release --max-slots {SLOTS} --as {id}");
            loop {
                match self.call(number, &release, &mut chance) {
                    Some(0) => break,
                    None if Instant::now() < give_up + PATIENCE => {}
                    other => {
                        return self
                            .arena
                            .note(&format!("FAULT {id} cannot let go: {other:?}"));
                    }
                }
            }
            chance.pause(5);
        }
    }

    /// The exit code of a call; nothing when it was killed.
    fn call(&self, number: usize, args: &str, chance: &mut Chance) -> Option<i32> {
        let call = self.env().call(self.repo(number));
        let mut running = call.args("--format json build").args(args).start();
        if chance.once_in(6) {
            chance.pause(8);
            if running.is_alive() {
                running.signal(KILL);
                self.killed.fetch_add(1, Ordering::SeqCst);
            }
        }
        let ended = running.wait(PATIENCE);
        if ended.stderr.contains("error:") {
            self.arena.note(&format!("FAULT {args}: {ended:?}"));
        }
        ended.code
    }

    /// A member of the other program.
    fn foreigner(&self, number: usize) {
        let id = format!("foreign-{number}");
        let mut chance = Chance::new(200 + number as u64);
        let root = self.repo(number);
        plan(root, &id);
        let other = Other::new(self.env(), root, SLOTS);
        while Instant::now() < self.end {
            let give_up = Instant::now() + PATIENCE;
            while !other.acquire(&id) {
                if Instant::now() > give_up {
                    return self.arena.note(&format!("FAULT {id} is wedged"));
                }
                chance.pause(15);
            }
            self.arena.visit(&id, &mut chance);
            self.completed.fetch_add(1, Ordering::SeqCst);
            other.release(&id);
            chance.pause(10);
        }
    }

    /// Nothing went wrong, everybody had a turn, and whoever comes now has a slot at once.
    fn verdict(&self, killed: u64) {
        self.arena.verdict();
        let (dead, done) = (
            self.killed.load(Ordering::SeqCst),
            self.completed.load(Ordering::SeqCst),
        );
        eprintln!(
            "{} laps, {done} completed, {dead} killed",
            self.arena.laps()
        );
        assert!(dead >= killed, "only {dead} were killed");
        assert!(done >= 10, "only {done} were not");
        assert!(self.arena.laps() as u64 >= done);
        // What a killed runner's command still does ends in a moment.
        let start = Instant::now();
        let taken = AtomicUsize::new(0);
        for number in 0..SLOTS {
            let args = format!("acquire --max-slots {SLOTS} --as last-{number} --ttl 1h");
            eventually(DEADLINE, || {
                taken.fetch_add(1, Ordering::SeqCst);
                self.env().build(self.repo(number), &args).code == 0
            });
        }
        eprintln!(
            "{} calls until all slots were had, in {:?}",
            taken.into_inner(),
            start.elapsed()
        );
        let active = self.queue().active();
        let ours = active.iter().filter(|id| id.starts_with("last-"));
        assert_eq!((ours.count(), active.len()), (SLOTS, SLOTS), "{active:?}");
    }
}

fn take_turn() -> std::sync::MutexGuard<'static, ()> {
    TURN.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[test]
fn of_killed_runs() {
    if !required("storm::of_killed_runs", "flock") {
        return;
    }
    let _turn = take_turn();
    let storm = Storm::new();
    thread::scope(|scope| {
        for number in 0..WORKERS {
            let storm = &storm;
            scope.spawn(move || storm.runner(number));
        }
    });
    storm.verdict(5);
}

#[test]
fn of_killed_calls() {
    let _turn = take_turn();
    let storm = Storm::new();
    thread::scope(|scope| {
        for number in 0..WORKERS {
            let storm = &storm;
            scope.spawn(move || storm.detached(number, "--ttl 1h"));
        }
    });
    storm.verdict(5);
    let left = storm.queue().list("run_log");
    assert!(!left.is_empty(), "nobody let go");
}

#[test]
fn beside_another_program() {
    let _turn = take_turn();
    let storm = Storm::new();
    // Where it looks for plans: it takes those without one for dead.
    for (number, repo) in storm.repos.iter().enumerate() {
        keep_plans(repo);
        for worker in 0..WORKERS {
            if worker % storm.repos.len() == number {
                plan(repo, &format!("detached-{worker}"));
            }
        }
    }
    storm
        .queue()
        .write(&json!({"active": [], "waiting": [], "run_log": []}));
    thread::scope(|scope| {
        for number in 0..4 {
            let storm = &storm;
            scope.spawn(move || storm.detached(number, ""));
            scope.spawn(move || storm.foreigner(number));
        }
    });
    storm.verdict(2);
}
