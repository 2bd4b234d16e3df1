//! The queue, or the whole home root, taken away or replaced while one builds and others wait.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::common::turns::Running;
use crate::common::{DEADLINE, chmod, eventually};
use crate::stage::{AT_ONCE, CONT, STOP, Stage};

/// A way to lose the queue.
type Loss = Box<dyn Fn()>;

/// Moves the home root to `moved`, and puts a link to `target` in its place.
fn replace(stage: &Stage, moved: &Path, target: &Path) {
    let root = stage.env.home_root();
    std::fs::rename(&root, moved).expect("moved");
    symlink(target, &root).expect("a link");
}

#[test]
fn a_home_root_that_moved_and_left_a_link_is_the_same_one() {
    let stage = Stage::new();
    let queue = stage.builds();
    let mut holder = stage.starts("--max-slots 1 --as a", "log begin; hold a; log end");
    stage.noted("begin");
    let mut waiter = stage.starts("--max-slots 1 --as b", "log in");
    queue.wait_until_queued(1);
    let moved = stage.env.path("moved");
    // Nobody is to look in between.
    for run in [&holder, &waiter] {
        run.signal(STOP);
    }
    replace(&stage, &moved, &moved);
    for run in [&holder, &waiter] {
        run.signal(CONT);
    }
    stage.let_go("a");
    let held = holder.wait(DEADLINE).exits(0);
    assert!(!held.stderr.contains("warning"), "{held:#?}");
    waiter.wait(AT_ONCE).exits(0);
    assert_eq!(stage.log(), ["begin", "end", "in"]);
    queue.is_empty();
}

#[test]
fn a_link_in_its_place_to_what_it_must_not_be_is_refused() {
    let stage = Stage::new();
    let mut holder = stage.starts("--max-slots 1 --as a", "log begin; hold a");
    stage.noted("begin");
    let home = stage.env.path("home");
    chmod(&home, 0o755);
    holder.signal(STOP);
    replace(&stage, &stage.env.path("moved"), &home);
    holder.signal(CONT);
    stage.let_go("a");
    let held = holder.wait(DEADLINE);
    assert!(held.stderr.contains("home directory"), "{held:#?}");
    let mode = std::fs::metadata(&home).expect("it").permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert!(!home.join("build-queue.json").exists());
}

#[test]
fn who_builds_is_not_ended_for_those_who_wait_when_the_queue_is_lost() {
    let stage = Stage::new();
    let queue = stage.builds();
    let overwritten = |text: &'static str| {
        let path = queue.path();
        move || std::fs::write(&path, text).expect("a file")
    };
    let (root, moved) = (stage.env.home_root(), stage.env.path("moved"));
    let removed = queue.path();
    let losses: [(&str, Loss); 4] = [
        ("garbage", Box::new(overwritten("[]"))),
        ("emptied", Box::new(overwritten("{}"))),
        (
            "removed",
            Box::new(move || std::fs::remove_file(&removed).expect("the queue")),
        ),
        (
            "moved",
            Box::new(move || std::fs::rename(&root, &moved).expect("the root")),
        ),
    ];
    for (name, lose) in losses {
        let ended = format!("end-{name}");
        let body = format!("log {name}; hold {name}; log {ended}");
        let mut holders =
            ["a", "b"].map(|id| stage.starts(&format!("--max-slots 2 --as {id}"), &body));
        queue.wait_until_active(&["a", "b"]);
        eventually(DEADLINE, || {
            stage.log().iter().filter(|line| *line == name).count() == 2
        });
        let mut waiters: Vec<Running> = (0..2)
            .map(|number| stage.starts(&format!("--max-slots 2 --as w{number}"), "log in"))
            .collect();
        queue.wait_until_queued(2);
        lose();
        // Each of them is in the queue again, as it was.
        queue.wait_until_active(&["a", "b"]);
        queue.wait_until_queued(2);
        stage.let_go(name);
        for holder in &mut holders {
            holder.wait(DEADLINE).exits(0);
        }
        for waiter in &mut waiters {
            waiter.wait(DEADLINE).exits(0);
        }
        let log = stage.log();
        assert_eq!(log[log.len() - 4], ended, "one came too early: {log:?}");
    }
}
