//! What changes while a call stands between two of its steps: it must look again, and start over.

use std::path::Path;
use std::thread;

use crate::common::fixture::{base, holder, lock_file, plan, waiting};
use crate::common::{DEADLINE, Env, Run, eventually};
use crate::scene::{self, Scene, Stage};
use crate::stopped::{Stopped, guard_file, kernel_lock_is_taken};
use crate::strace;

/// Gives the lock to another, as a program does that shares the lock file but no guard.
fn give_to(repo: &Path, id: &str) {
    let _ = std::fs::remove_file(lock_file(repo));
    std::fs::write(lock_file(repo), format!("{id}\n")).expect("a lock file");
}

/// How many times a call of the scene syncs data inside the guard.
fn syncs(stage: &Stage, scene: &Scene) -> usize {
    let calls = strace::calls(stage, scene.args);
    stage.reset();
    let leaves = |call: &strace::Syscall| {
        call.name.starts_with("unlink") && call.shown.contains("merge-queue.json.lock")
    };
    let end = calls.iter().position(leaves).expect("the end of the guard");
    calls[..end]
        .iter()
        .filter(|call| call.name == "fdatasync")
        .count()
}

/// Runs `check` for a call of the scene that stood still at each sync while `change` happened.
fn while_it_stands(
    test: &str,
    scene: Scene,
    codes: &[i32],
    change: impl Fn(&Stage),
    check: impl Fn(&Stage),
) {
    if !strace::possible(&format!("changes::{test}")) {
        return;
    }
    let stage = Stage::new(&scene);
    for number in 1..=syncs(&stage, &scene) {
        stage.reset();
        let stopped = Stopped::at(&stage, scene.args, number);
        change(&stage);
        let run = stopped.goes_on();
        assert!(codes.contains(&run.code), "at sync {number}: {run:#?}");
        check(&stage);
        stage.keeps_others_keys();
    }
}

#[test]
fn a_stale_holder_is_replaced_by_a_living_one() {
    while_it_stands(
        "a_stale_holder_is_replaced_by_a_living_one",
        scene::RECLAIM,
        &[75],
        |stage| {
            plan(&stage.repo, "alive");
            give_to(&stage.repo, "alive");
        },
        |stage| {
            stage.held_by("alive");
            assert_eq!(waiting(&stage.repo)[..2], ["wait", "other"]);
        },
    );
}

#[test]
fn a_stale_holder_comes_back_to_life() {
    while_it_stands(
        "a_stale_holder_comes_back_to_life",
        scene::RECLAIM,
        &[75],
        |stage| {
            plan(&stage.repo, "dead");
        },
        |stage| {
            stage.held_by("dead");
            let ids = waiting(&stage.repo);
            let ids: Vec<&String> = ids.iter().filter(|id| *id != "dead").collect();
            assert_eq!(ids, ["wait", "other"]);
        },
    );
}

#[test]
fn an_evicted_holder_is_replaced_by_a_living_one() {
    while_it_stands(
        "an_evicted_holder_is_replaced_by_a_living_one",
        scene::EVICT,
        // 0: the last sync comes after the removal.
        &[0, 1],
        |stage| {
            plan(&stage.repo, "alive");
            give_to(&stage.repo, "alive");
        },
        |stage| stage.held_by("alive"),
    );
}

#[test]
fn the_lock_goes_to_another_while_its_holder_lets_go() {
    while_it_stands(
        "the_lock_goes_to_another_while_its_holder_lets_go",
        scene::RELEASE,
        &[0],
        |stage| give_to(&stage.repo, "quick"),
        |stage| {
            stage.held_by("quick");
            assert_eq!(waiting(&stage.repo), ["wait", "other"]);
        },
    );
}

#[test]
fn another_is_quicker_to_take_a_free_lock() {
    while_it_stands(
        "another_is_quicker_to_take_a_free_lock",
        scene::ACQUIRE,
        &[75],
        |stage| give_to(&stage.repo, "quick"),
        |stage| {
            stage.held_by("quick");
            assert_eq!(waiting(&stage.repo), ["me"]);
        },
    );
}

#[test]
fn a_waiter_whose_lock_another_took_keeps_its_place() {
    while_it_stands(
        "a_waiter_whose_lock_another_took_keeps_its_place",
        Scene {
            // The holder is gone; both that wait are still there.
            set: |stage| {
                (scene::RELEASE.set)(stage);
                stage.quick("release --as hold").exits(0);
            },
            args: "acquire --as wait",
            ..scene::RELEASE
        },
        &[75],
        |stage| give_to(&stage.repo, "quick"),
        |stage| {
            stage.held_by("quick");
            assert_eq!(waiting(&stage.repo), ["wait", "other"]);
            std::fs::remove_file(lock_file(&stage.repo)).expect("its own lock");
            stage.quick("acquire --as other").exits(75);
            stage.quick("acquire --as wait").exits(0);
            assert_eq!(holder(&stage.repo).as_deref(), Some("wait\n"));
            let left = std::fs::read_dir(base(&stage.repo)).expect("the base");
            let left = left.flatten().map(|entry| entry.file_name());
            let left: Vec<_> = left
                .filter(|name| name.to_string_lossy().contains(".tmp"))
                .collect();
            assert!(left.is_empty(), "left over: {left:?}");
        },
    );
}

/// A call that has to wait for another program's guard file, which goes after `change`.
fn while_it_waits(env: &Env, repo: &Path, args: &str, change: impl FnOnce()) -> Run {
    std::fs::write(guard_file(repo), "4711\n").expect("another guard file");
    thread::scope(|scope| {
        let waits = scope.spawn(|| env.merge(repo, args));
        eventually(DEADLINE, || kernel_lock_is_taken(repo));
        change();
        std::fs::remove_file(guard_file(repo)).expect("its own file");
        waits.join().expect("it ends")
    })
}

#[test]
fn waiters_are_judged_inside_the_guard() {
    let env = Env::new();
    let repo = env.init("repo");
    let plans = ["hold", "back", "goes", "me"].map(|id| plan(&repo, id));
    env.merge(&repo, "acquire --as hold").exits(0);
    env.merge(&repo, "acquire --as back").exits(75);
    env.merge(&repo, "acquire --as goes").exits(75);
    std::fs::remove_dir(&plans[1]).expect("its plan");
    while_it_waits(&env, &repo, "acquire --as me", || {
        plan(&repo, "back");
        std::fs::remove_dir(&plans[2]).expect("its plan");
    })
    .exits(75);
    assert_eq!(waiting(&repo), ["hold", "back", "me"]);
}
