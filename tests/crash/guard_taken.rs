//! Another program takes our guard file for a stale one while we stand inside, and works.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use serde_json::{Value, json};

use crate::common::fixture::{base, holder, now, queue_file, read_queue, waiting, write_queue};
use crate::common::{DEADLINE, Env, Run, eventually};
use crate::scene::{self, Stage};
use crate::stopped::{Stopped, guard_file, kernel_lock_is_taken};
use crate::strace;

const THEIRS: &str = "4711\n";

/// Removes our guard file and makes another program's; where the file system gives a freed inode
/// to the next file, with the very same inode.
fn removed_and_made(repo: &Path) {
    let path = guard_file(repo);
    let inode = |what| std::fs::metadata(&path).expect(what).ino();
    let ours = inode("our guard file");
    for _ in 0..200 {
        std::fs::remove_file(&path).expect("the guard file");
        std::fs::write(&path, THEIRS).expect("another guard file");
        if inode("another guard file") == ours {
            return;
        }
    }
}

/// The same to whoever looks at the path, whatever the file system does with freed inodes.
fn with_the_same_inode(repo: &Path) {
    std::fs::write(guard_file(repo), THEIRS).expect("another guard file");
}

/// What another program relies on while it is inside: queue, lock file and its guard file.
fn section(repo: &Path) -> (String, Option<String>, Option<String>) {
    (
        std::fs::read_to_string(queue_file(repo)).expect("a queue"),
        holder(repo),
        std::fs::read_to_string(guard_file(repo)).ok(),
    )
}

/// Stops the call at its `number`-th sync, lets another program work meanwhile, and gives back
/// what the call said in the end.
#[track_caller]
fn another_works(stage: &Stage, args: &str, number: usize, takes: fn(&Path)) -> Run {
    let repo = &stage.repo;
    let stopped = Stopped::at(stage, args, number);
    takes(repo);
    let before = section(repo);
    kill(stopped.pid, Signal::SIGCONT).expect("it is ours");
    let start = Instant::now();
    eventually(DEADLINE, || {
        assert_eq!(
            section(repo),
            before,
            "inside the other's section (sync {number})"
        );
        start.elapsed() > Duration::from_secs(1)
    });
    let mut queue = read_queue(repo);
    queue["newer"] = json!(true);
    write_queue(repo, &queue);
    std::fs::remove_file(guard_file(repo)).expect("the other's guard file");
    let run = stopped.goes_on();
    assert_eq!(read_queue(repo)["newer"], json!(true), "{run:#?}");
    assert_eq!(read_queue(repo)["more"], scene::others_keys()["more"]);
    assert!(!guard_file(repo).exists());
    run
}

#[test]
fn a_grant_waits_for_the_other_and_starts_over() {
    if !strace::possible("guard_taken::a_grant_waits_for_the_other_and_starts_over") {
        return;
    }
    for takes in [removed_and_made as fn(&Path), with_the_same_inode] {
        let stage = Stage::new(&scene::ACQUIRE);
        another_works(&stage, "acquire --as me", 1, takes)
            .exits(0)
            .says(&[
                ("action", json!("acquired")),
                ("reclaimed_from", Value::Null),
                ("waiting_count", json!(1)),
            ]);
        stage.keeps_others_keys();
        stage.held_by("me");
        assert_eq!(waiting(&stage.repo), ["me"]);
        stage.quick("release --as me").exits(0);
        assert_eq!(
            (holder(&stage.repo), waiting(&stage.repo)),
            (None, Vec::new())
        );
    }
}

#[test]
fn a_release_waits_for_the_other_and_starts_over() {
    if !strace::possible("guard_taken::a_release_waits_for_the_other_and_starts_over") {
        return;
    }
    // The second time, it is on record already that the holder is ending.
    for number in [1, 2] {
        let stage = Stage::new(&scene::RELEASE);
        another_works(&stage, "release --as hold", number, with_the_same_inode)
            .exits(0)
            .says(&[("action", json!("released")), ("waiting_count", json!(2))]);
        assert_eq!(holder(&stage.repo), None);
        assert_eq!(waiting(&stage.repo), ["wait", "other"]);
        stage.quick("acquire --as wait").exits(0);
    }
}

#[test]
fn a_reclaim_waits_for_the_other_and_starts_over() {
    if !strace::possible("guard_taken::a_reclaim_waits_for_the_other_and_starts_over") {
        return;
    }
    for number in [1, 2] {
        let stage = Stage::new(&scene::RECLAIM);
        another_works(&stage, "acquire --as wait", number, with_the_same_inode)
            .exits(0)
            .says(&[("reclaimed_from", json!("dead"))]);
        stage.held_by("wait");
        assert_eq!(waiting(&stage.repo), ["wait", "other"]);
    }
}

#[test]
fn a_queue_that_is_written_already_is_not_put_in_place() {
    if !strace::possible("guard_taken::a_queue_that_is_written_already_is_not_put_in_place") {
        return;
    }
    // The second sync is the queue's: only its renaming is left to do.
    let stage = Stage::new(&scene::ACQUIRE);
    another_works(&stage, "acquire --as me", 2, with_the_same_inode).exits(0);
    stage.held_by("me");
    assert_eq!(waiting(&stage.repo), ["me"]);
}

#[test]
fn a_window_waits_for_the_other_and_starts_over() {
    if !strace::possible("guard_taken::a_window_waits_for_the_other_and_starts_over") {
        return;
    }
    let stage = Stage::new(&scene::ACQUIRE);
    // It is recorded first that no plan claims it.
    another_works(
        &stage,
        "rate-window claim --bot-kind other",
        1,
        with_the_same_inode,
    )
    .exits(0);
    let windows = &read_queue(&stage.repo)["rate_windows"];
    assert_eq!(windows["other"]["holder"], json!("main-checkout"));
}

/// A call that has to wait for another program's guard file: what it said, and when that file
/// went, at least `held` after the call began to wait.
fn after_waiting(env: &Env, repo: &Path, args: &str, held: Duration) -> (Run, f64) {
    std::fs::create_dir_all(base(repo)).expect("the base");
    std::fs::write(guard_file(repo), THEIRS).expect("another guard file");
    thread::scope(|scope| {
        let waits = scope.spawn(|| env.merge(repo, args));
        eventually(DEADLINE, || kernel_lock_is_taken(repo));
        let start = Instant::now();
        eventually(DEADLINE, || start.elapsed() >= held);
        let gone = now();
        std::fs::remove_file(guard_file(repo)).expect("its own file");
        (waits.join().expect("it ends"), gone)
    })
}

#[test]
fn a_lease_begins_when_it_is_granted() {
    let env = Env::new();
    let repo = env.init("repo");
    let held = Duration::from_millis(3500);
    for verb in ["acquire", "acquire", "renew"] {
        let args = format!("{verb} --as me --ttl 3s");
        let (run, gone) = after_waiting(&env, &repo, &args, held);
        let run = run.exits(0);
        // It has not ended before it began.
        env.merge(&repo, "check")
            .says(&[("staleness", json!("fresh"))]);
        let ends = run.number("expires_at");
        assert!(ends >= gone + 2.9, "{verb}: {ends} after {gone}: {run:#?}");
    }
}

#[test]
fn a_window_begins_when_it_is_granted() {
    let env = Env::new();
    let repo = env.init("repo");
    let args = "rate-window claim --bot-kind robot --as me --window-seconds 3";
    let (run, gone) = after_waiting(&env, &repo, args, Duration::from_millis(1500));
    let ends = run.exits(0).number("expires_at");
    assert!(ends >= gone + 2.9, "{ends} after {gone}");
}
