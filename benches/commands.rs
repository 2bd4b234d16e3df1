//! What a call costs as a whole process, beside named peers: see `doc/benchmarks.md`.
//!
//! Contenders of a group take turns (A B A B …), so that whatever slows the machine down slows
//! all of them. Slowness never fails; an exit code that is not the expected one does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark talks, fails by panicking, and lays out files as others do"
)]

mod common;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::{Map, Value, json};

use common::hermetic::DEADLINE;
use common::hermetic::fixture::{self, keep_plans, plan};
use common::{
    Aim, BUDGET, Contender, FLOCK, GIT, Group, Programs, Row, Scene, compete, print_groups,
};

/// How many waiters a long queue has.
const WAITERS: usize = 10_000;

fn main() {
    // `cargo test --benches` and `--all-targets` run this too, without the word: not asked for.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let started = Instant::now();
    let programs = Programs::find();
    if programs.flock.is_none() {
        eprintln!("flock (util-linux) is not installed: left out");
    }
    let groups = [
        check_free(&programs),
        check_held(&programs),
        prompt(&programs),
        pair(&programs),
        long_queue(&programs, Queue::Ours),
        long_queue(&programs, Queue::Foreign),
        long_queue(&programs, Queue::ForeignPlans),
        hand_off(&programs),
    ];
    print_groups(&groups);
    println!("\n{:.0} s in all", started.elapsed().as_secs_f64());
}

fn check_free(programs: &Programs) -> Group {
    let scene = Scene::new(programs);
    let check = Contender::new("check", vec![(scene.locks("check"), 0)]);
    let contenders = vec![check.aim(Aim::Ratio(1.1, GIT)), scene.git()];
    compete("check, the lock is free", 1000, contenders)
}

fn check_held(programs: &Programs) -> Group {
    let scene = Scene::new(programs);
    scene.run("acquire --as holder --reason benchmark", 0);
    let check = Contender::new("check", vec![(scene.locks("check"), 0)]);
    let contenders = vec![check.aim(Aim::Ratio(1.1, GIT)), scene.git()];
    compete("check, the lock is held", 1000, contenders)
}

fn prompt(programs: &Programs) -> Group {
    let scene = Scene::new(programs);
    scene.run("acquire --as holder", 0);
    let prompt = (scene.program("prompt --as holder"), 0);
    let prompt = Contender::new("prompt", vec![prompt]).aim(Aim::Millis(5.0));
    let status = Contender::new("status", vec![(scene.program("status"), 0)]);
    let contenders = vec![prompt, status, scene.git()];
    compete("a shell's prompt, and a glance", 400, contenders)
}

fn pair(programs: &Programs) -> Group {
    let scene = Scene::new(programs);
    let calls = vec![(scene.locks("acquire"), 0), (scene.locks("release"), 0)];
    let pair = Contender::new("acquire + release", calls).aim(Aim::Ratio(2.0, FLOCK));
    let mut contenders = vec![pair];
    contenders.extend(scene.flock());
    contenders.push(scene.git());
    compete("taking the lock and letting go", 400, contenders)
}

/// Whose entries a long queue holds.
#[derive(Clone, Copy)]
enum Queue {
    /// Ours: each has a record.
    Ours,
    /// Another program's, in a repository that keeps no plans.
    Foreign,
    /// Another program's, each with its plan.
    ForeignPlans,
}

fn long_queue(programs: &Programs, queue: Queue) -> Group {
    let scene = Scene::new(programs);
    if matches!(queue, Queue::ForeignPlans) {
        keep_plans(&scene.repo);
    }
    scene.run("acquire --as holder --ttl 1h", 0);
    scene.run("acquire --as waiter --ttl 1h", 75);
    fill(&scene.repo, queue);
    scene.run("acquire --as poller --ttl 1h", 75);
    let waiting = fixture::waiting(&scene.repo);
    assert!(waiting.len() >= WAITERS, "the queue was not believed");
    let aim = Aim::Millis(60.0);
    let newcomer = (scene.locks("acquire --as newcomer --ttl 1h"), 75);
    let poller = (scene.locks("acquire --as poller --ttl 1h"), 75);
    let title = match queue {
        Queue::Ours => "behind 10,000 waiters of our own",
        Queue::Foreign => "behind 10,000 waiters of another program",
        Queue::ForeignPlans => "behind 10,000 waiters of another program, with plans",
    };
    let status = (scene.program("status"), 0);
    let status = Contender::new("status", vec![status]).aim(aim);
    // Not in turns with the newcomer, whose writing would hold up the next call.
    let again = Contender::new("acquire, asking again", vec![poller]).aim(aim);
    let mut group = compete(title, 40, vec![again, status, scene.git()]);
    let newcomer = Contender::new("acquire, newcomer", vec![newcomer])
        .undo(scene.locks("release --as newcomer"), 0)
        .aim(aim);
    let mut second = compete(title, 40, vec![newcomer, scene.git()]);
    for row in &mut second.rows {
        row.peers = 1;
    }
    group.rows.append(&mut second.rows);
    group
}

/// Makes `WAITERS` of the one that waits, in the files that the program itself wrote.
fn fill(repo: &Path, queue: Queue) {
    let records = repo.join(".git/git-locks/merge.json");
    let mut state = read(&records);
    let mut waiting = fixture::read_queue(repo);
    let now = fixture::now();
    let ids: Vec<String> = (0..WAITERS).map(|n| format!("waiter-{n}")).collect();
    let participants = object(&mut state["participants"]);
    let record = participants.remove("waiter").expect("the waiter's record");
    let entries = waiting["waiting"].as_array_mut().expect("a queue");
    let mut entry = entries.pop().expect("the waiter's entry");
    for id in ids {
        match queue {
            Queue::Ours => {
                participants.insert(id.clone(), record.clone());
            }
            Queue::Foreign => entry["ts"] = json!(now),
            Queue::ForeignPlans => {
                plan(repo, &id);
            }
        }
        entry["plan_id"] = json!(id);
        entries.push(entry.clone());
    }
    std::fs::write(&records, state.to_string()).expect("the records");
    fixture::write_queue(repo, &waiting);
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

fn object(value: &mut Value) -> &mut Map<String, Value> {
    value.as_object_mut().expect("an object")
}

/// How long after a `release` has ended another's `acquire`, asked without a pause, has the lock.
fn hand_off(programs: &Programs) -> Group {
    let title = "from the end of a release to the end of the next grant";
    eprintln!("measuring: {title}");
    let scene = Scene::new(programs);
    let mut samples = Vec::new();
    let mut git = scene.git();
    let mut peer = Vec::new();
    let started = Instant::now();
    let (mut holder, mut next) = ("one", "two");
    scene.run(&format!("acquire --as {holder}"), 0);
    while samples.len() < 100 && started.elapsed() < BUDGET {
        let blocked = AtomicBool::new(false);
        let (granted, released) = thread::scope(|scope| {
            let poller = scope.spawn(|| poll(&scene, next, &blocked));
            while !blocked.load(Ordering::Acquire) && !poller.is_finished() {
                thread::yield_now();
            }
            scene.run(&format!("release --as {holder}"), 0);
            let released = Instant::now();
            (poller.join().expect("the poller"), released)
        });
        // The lock is free a little before the process of the release has ended.
        samples.push(granted.saturating_duration_since(released));
        std::mem::swap(&mut holder, &mut next);
        peer.push(git.round());
    }
    let rows = vec![
        Row::new("acquire, asking without a pause", &samples, None),
        Row::new(GIT, &peer, None),
    ];
    Group { title, rows }
}

/// Asks until it is granted, and says when. Raises `blocked` once it stands in the queue.
fn poll(scene: &Scene<'_>, id: &str, blocked: &AtomicBool) -> Instant {
    let mut acquire = scene.locks(&format!("acquire --as {id}"));
    let deadline = Instant::now() + DEADLINE;
    while Instant::now() < deadline {
        let status = acquire.status().expect("git-locks starts");
        match status.code() {
            Some(0) => return Instant::now(),
            Some(75) => blocked.store(true, Ordering::Release),
            _ => panic!("{acquire:?} ended with {status}"),
        }
    }
    panic!("{acquire:?} is still blocked");
}
