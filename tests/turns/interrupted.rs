//! Signals that end the waiting.

use std::path::Path;

use crate::cast::{ENDING, SOON, TERM, admitted, keeper_leaves, kept, runner, waiter};
use crate::common::fixture::{holder, waiting};
use crate::common::turns::{
    Doomed, Gate, Running, child_of, guard_path, presence_files, quoted_bin, send,
    stopped_in_guard, wait_until_queued, waiters, waits_for,
};
use crate::common::{DEADLINE, eventually, required};

/// Calls that wait as `w`.
const CALLS: [&str; 2] = ["acquire --wait --as w", "run --as w -- true"];

#[test]
fn a_signal_leaves_the_queue() {
    let (env, repo) = kept();
    for args in CALLS {
        for signal in ENDING {
            let call = env.call(&repo).args("--format json merge").args(args);
            let mut running = call.start();
            wait_until_queued(&repo, 1);
            running.signal(signal);
            let ended = running.wait(SOON).exits(128 + signal);
            assert!(!ended.stderr.contains("panicked"), "{ended:#?}");
            assert!(!ended.stdout.contains("admitted"), "{ended:#?}");
            assert_eq!(waiting(&repo), ["keeper"], "{args} {signal}");
            assert_eq!(presence_files(&repo).len(), 0, "{args} {signal}");
        }
    }
}

#[test]
fn those_behind_move_up() {
    let (env, repo) = kept();
    let mut first = waiter(&env, &repo, "a");
    wait_until_queued(&repo, 1);
    let mut second = waiter(&env, &repo, "b");
    wait_until_queued(&repo, 2);
    let mut third = waiter(&env, &repo, "c");
    wait_until_queued(&repo, 3);
    second.signal(TERM);
    second.wait(SOON).exits(128 + TERM);
    assert_eq!(waiters(&repo), ["a", "c"]);
    first.signal(TERM);
    first.wait(SOON).exits(128 + TERM);
    assert_eq!(waiters(&repo), ["c"]);
    keeper_leaves(&env, &repo);
    admitted(third.wait(SOON), "c");
}

#[test]
fn the_first_leaves_a_lock_that_came_free() {
    // Told and released at once: whichever comes first, the next one gets it.
    for _ in 0..5 {
        let (env, repo) = kept();
        let mut first = waiter(&env, &repo, "a");
        wait_until_queued(&repo, 1);
        let mut second = waiter(&env, &repo, "b");
        wait_until_queued(&repo, 2);
        let release = env.call(&repo).args("merge release --as keeper");
        let mut release = release.start();
        first.signal(TERM);
        release.wait(SOON).exits(0);
        let ended = first.wait(SOON);
        if ended.code == Some(0) {
            env.merge(&repo, "release --as a").exits(0);
        } else {
            assert_eq!(ended.code, Some(128 + TERM), "{ended:#?}");
        }
        admitted(second.wait(SOON), "b");
        assert_eq!(waiting(&repo), ["b"]);
    }
}

#[test]
fn a_signal_that_is_ignored_from_the_start_stays_ignored() {
    let (env, repo) = kept();
    let bin = quoted_bin();
    let line = format!("trap '' HUP; exec {bin} --format json merge acquire --wait --as w");
    let mut command = env.command("sh");
    command.current_dir(&repo).args(["-c", &line]);
    let mut running = Running::start(command);
    wait_until_queued(&repo, 1);
    running.says("waiting for the merge lock");
    running.signal(1);
    keeper_leaves(&env, &repo);
    admitted(running.wait(SOON), "w");
}

#[test]
fn while_the_guard_is_not_to_be_had() {
    if !required("interrupted::while_the_guard_is_not_to_be_had", "flock") {
        return;
    }
    for args in CALLS {
        for signal in ENDING {
            let (env, repo) = kept();
            let call = env.call(&repo).args("--format json merge").args(args);
            let mut running = call.start();
            wait_until_queued(&repo, 1);
            running.says("waiting for the merge lock");
            let stopped = stopped_in_guard(&env, &repo);
            running.signal(signal);
            running.wait(SOON).exits(128 + signal);
            drop(stopped);
            // Its place may have stayed; it keeps nobody.
            let mut next = waiter(&env, &repo, "x");
            waits_for("a place", DEADLINE, || {
                waiters(&repo).contains(&"x".to_owned()).then_some(())
            });
            keeper_leaves(&env, &repo);
            admitted(next.wait(SOON), "x");
        }
    }
}

/// Waits until it has the guard's file open.
#[track_caller]
fn at_the_guard(running: &Running, repo: &Path) {
    waits_for("a process at the guard", DEADLINE, || {
        let fds = std::fs::read_dir(format!("/proc/{}/fd", running.pid())).ok()?;
        let mut open = fds.flatten().filter_map(|fd| fd.path().read_link().ok());
        open.any(|path| path == guard_path(repo)).then_some(())
    });
}

#[test]
fn before_there_is_a_place() {
    if !required("interrupted::before_there_is_a_place", "flock") {
        return;
    }
    let (env, repo) = kept();
    let stopped = stopped_in_guard(&env, &repo);
    for args in CALLS {
        for signal in ENDING {
            let call = env.call(&repo).args("--format json merge").args(args);
            let mut running = call.start();
            at_the_guard(&running, &repo);
            running.signal(signal);
            running.wait(SOON).exits(128 + signal);
        }
    }
    drop(stopped);
    assert_eq!(waiting(&repo), ["keeper"]);
    assert_eq!(presence_files(&repo).len(), 0);
}

#[test]
fn the_first_at_a_guard_that_is_not_to_be_had() {
    let test = "interrupted::the_first_at_a_guard_that_is_not_to_be_had";
    if !required(test, "flock") {
        return;
    }
    let (env, repo) = kept();
    let mut running = waiter(&env, &repo, "w");
    wait_until_queued(&repo, 1);
    running.says("waiting for the merge lock");
    let stopped = stopped_in_guard(&env, &repo);
    // Free, and yet not to be had.
    std::fs::remove_file(crate::common::fixture::lock_file(&repo)).expect("its lock");
    at_the_guard(&running, &repo);
    running.signal(TERM);
    running.wait(SOON).exits(128 + TERM);
    drop(stopped);
    let mut next = waiter(&env, &repo, "x");
    admitted(next.wait(SOON), "x");
}

#[test]
fn no_process_is_left_behind() {
    let (env, repo) = kept();
    let ways: [fn(&mut Running); 2] = [
        |running| {
            running.signal(TERM);
            running.wait(SOON).exits(128 + TERM);
        },
        |running| {
            running.kill();
        },
    ];
    for end in ways {
        let call = env.call(&repo).args("merge run --as w");
        let mut running = call.cmd(["sleep", "1000"]).start();
        // What is made ready for its turn is not the command yet.
        let ready = Doomed::new(child_of(running.pid()));
        let name = std::fs::read_to_string(format!("/proc/{}/comm", ready.pid()));
        assert_ne!(name.expect("its name"), "sleep\n", "before its turn");
        end(&mut running);
        eventually(DEADLINE, || !ready.runs());
    }
    keeper_leaves(&env, &repo);
    env.merge(&repo, "acquire --as x").exits(0);
}

#[test]
fn a_process_that_was_made_ready_and_killed_is_replaced() {
    let (env, repo) = kept();
    let gate = Gate::new(&env);
    let mut running = runner(&env, &repo, &gate, "w");
    let ready = Doomed::new(child_of(running.pid()));
    send(ready.pid(), 9);
    eventually(DEADLINE, || !ready.runs());
    keeper_leaves(&env, &repo);
    gate.wait_begun("w");
    gate.let_go();
    running.wait(SOON).exits(0);
}

#[test]
fn what_another_process_has_under_the_same_id_stays() {
    let test = "interrupted::what_another_process_has_under_the_same_id_stays";
    if !required(test, "flock") {
        return;
    }
    let (env, repo) = kept();
    let stopped = stopped_in_guard(&env, &repo);
    let call = env.call(&repo).args("merge run --as keeper");
    let mut running = call.cmd(["true"]).start();
    at_the_guard(&running, &repo);
    running.signal(TERM);
    drop(stopped);
    running.wait(SOON).exits(128 + TERM);
    assert_eq!(holder(&repo).as_deref(), Some("keeper\n"));
    assert_eq!(waiting(&repo), ["keeper"]);
}
