//! What waiting costs: next to nothing, and never the guard.

use std::path::Path;

use crate::cast::{SOON, TERM, admitted, keeper_leaves, kept, runner, waiter};
use crate::common::fixture::{hold, now};
use crate::common::turns::{Gate, Running, child_of, state, ticks, wait_until_queued, waiters};
use crate::common::{BIN, DEADLINE, Env, can_run, eventually};

#[test]
fn whoever_is_not_first_uses_no_processor_time() {
    let (env, repo) = kept();
    let _first = waiter(&env, &repo, "a");
    wait_until_queued(&repo, 1);
    let mut others = Vec::new();
    for (count, id) in ["b", "c"].into_iter().enumerate() {
        others.push(waiter(&env, &repo, id));
        wait_until_queued(&repo, count + 2);
    }
    for other in &mut others {
        other.says("waiting for the merge lock");
        let pid = other.pid();
        eventually(DEADLINE, || state(pid) == Some('S'));
    }
    let before: Vec<u64> = others.iter().map(|other| ticks(other.pid())).collect();
    let start = now();
    eventually(DEADLINE, || now() > start + 4.0);
    for (other, before) in others.iter_mut().zip(before) {
        assert!(other.is_alive());
        let used = ticks(other.pid()) - before;
        assert!(used <= 1, "{used} ticks in 4 s");
    }
}

fn traced(env: &Env, repo: &Path, trace: &Path, id: &str) -> Running {
    let mut command = env.command("strace");
    command
        .current_dir(repo)
        .args(["-f", "-qq", "-y", "-e", "trace=flock", "-o"])
        .arg(trace)
        .arg(BIN)
        .args(["--format", "json", "merge", "acquire", "--wait", "--as", id]);
    Running::start(command)
}

#[test]
fn whoever_is_not_first_leaves_the_guard_alone() {
    let env = Env::new();
    let probe = env
        .command("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "true"])
        .output();
    let possible = probe.is_ok_and(|output| output.status.success());
    let test = "idle::whoever_is_not_first_leaves_the_guard_alone";
    if !can_run(test, possible, "needs strace and permission to trace") {
        return;
    }
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as keeper").exits(0);
    let gate = Gate::new(&env);
    let mut a = runner(&env, &repo, &gate, "a");
    wait_until_queued(&repo, 1);
    let mut b = runner(&env, &repo, &gate, "b");
    wait_until_queued(&repo, 2);
    let trace = env.path("trace");
    let mut c = traced(&env, &repo, &trace, "c");
    wait_until_queued(&repo, 3);
    c.says("waiting for the merge lock");
    let pid = child_of(c.pid());
    eventually(DEADLINE, || state(pid) == Some('S'));
    let count = || {
        let text = std::fs::read_to_string(&trace).expect("a trace");
        text.matches("merge.guard").count()
    };
    let joined = count();
    assert!(joined >= 1, "its own way into the queue is not seen");
    // The holder changes, one comes, and one goes: all of it before it is first.
    keeper_leaves(&env, &repo);
    gate.wait_begun("a");
    let mut d = waiter(&env, &repo, "d");
    wait_until_queued(&repo, 3);
    d.says("waiting for the merge lock");
    d.signal(TERM);
    d.wait(SOON).exits(128 + TERM);
    assert_eq!(waiters(&repo), ["b", "c"]);
    assert_eq!(count(), joined, "it took the guard");
    gate.let_go();
    a.wait(SOON).exits(0);
    gate.wait_begun("b");
    gate.let_go();
    b.wait(SOON).exits(0);
    admitted(c.wait(SOON), "c");
    assert!(count() > joined);
}

/// How much processor time a process uses while it is watched for some seconds, in ticks.
#[track_caller]
fn used(running: &mut Running) -> u64 {
    let before = ticks(running.pid());
    let start = now();
    eventually(DEADLINE, || now() > start + 3.0);
    assert!(running.is_alive());
    ticks(running.pid()) - before
}

/// A look now and then, far from a whole processor.
const LITTLE: u64 = 30;

#[test]
fn a_runner_that_has_waited_does_not_spin_while_its_command_runs() {
    let env = Env::new();
    let repo = env.init("repo");
    let gate = Gate::new(&env);
    let mut first = runner(&env, &repo, &gate, "r");
    gate.wait_begun("r");
    let mut second = runner(&env, &repo, &gate, "s");
    second.says("waiting for the merge lock");
    gate.let_go();
    first.wait(SOON).exits(0);
    gate.wait_begun("s");
    let used = used(&mut second);
    assert!(used <= LITTLE, "{used} ticks");
    gate.let_go();
    second.wait(SOON).exits(0);
}

#[test]
fn a_waiter_does_not_spin_while_a_stopped_runner_keeps_the_lock() {
    let env = Env::new();
    let repo = env.init("repo");
    let gate = Gate::new(&env);
    let mut first = runner(&env, &repo, &gate, "r");
    let command = gate.wait_begun("r").pid;
    let mut second = waiter(&env, &repo, "w");
    second.says("waiting for the merge lock");
    first.signal(19);
    eventually(DEADLINE, || state(first.pid()) == Some('T'));
    gate.let_go();
    eventually(DEADLINE, || state(command) == Some('Z'));
    let used = used(&mut second);
    assert!(used <= LITTLE, "{used} ticks");
    first.signal(18);
    first.wait(SOON).exits(0);
    admitted(second.wait(SOON), "w");
}

#[test]
fn a_runner_does_not_spin_after_the_lock_was_lost() {
    let env = Env::new();
    let repo = env.init("repo");
    let gate = Gate::new(&env);
    let call = env.call(&repo).args("merge run --as r --on-loss=continue");
    let mut running = call.cmd(gate.cmd("r")).start();
    gate.wait_begun("r");
    hold(&repo, "other\n");
    running.says("the lock was lost");
    let used = used(&mut running);
    assert!(used <= LITTLE, "{used} ticks");
    gate.let_go();
    running.wait(SOON).exits(76);
}
