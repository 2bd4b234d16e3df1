//! Presence files: one for each process that takes part, for as long as it does.

use std::path::Path;

use serde_json::json;

use crate::cast::{
    ENDING, SOON, TERM, admitted, is_locked, keeper_leaves, kept, kill_waiter, nameless, runner,
    waiter,
};
use crate::common::fixture::{holder, lock_file};
use crate::common::turns::{
    Doomed, Gate, Running, child_of, children, presence_files, quoted_bin, records, runs, send,
    wait_until_queued, waiters, waits_for,
};
use crate::common::{DEADLINE, Env, eventually, needs_root, required};

#[test]
fn a_waiter_has_one_for_as_long_as_it_waits() {
    let (env, repo) = kept();
    let gate = Gate::new(&env);
    let mut first = waiter(&env, &repo, "a");
    wait_until_queued(&repo, 1);
    let mut second = runner(&env, &repo, &gate, "b");
    wait_until_queued(&repo, 2);
    let files = presence_files(&repo);
    assert_eq!(files.len(), 2, "{files:?}");
    let all = records(&repo);
    let mut named = Vec::new();
    for id in ["a", "b"] {
        let record = &all["participants"][id];
        assert_eq!(record["kind"], "attached", "{record}");
        let name = record["presence"].as_str().expect("a name").to_owned();
        let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        assert!(name.len() == 16 && name.chars().all(hex), "{name:?}");
        named.push(repo.join(".git/git-locks/presence").join(name));
    }
    named.sort();
    assert_eq!(named, files);
    assert!(files.iter().all(|file| is_locked(file)));
    keeper_leaves(&env, &repo);
    admitted(first.wait(SOON), "a");
    let record = records(&repo)["participants"]["a"].clone();
    assert_eq!(record["kind"], "leased", "{record}");
    assert_eq!(presence_files(&repo).len(), 1);
    env.merge(&repo, "release --as a").exits(0);
    gate.wait_begun("b");
    let files = presence_files(&repo);
    assert!(files.len() == 1 && is_locked(&files[0]), "{files:?}");
    gate.let_go();
    second.wait(SOON).exits(0);
    assert_eq!(presence_files(&repo).len(), 0);
}

#[test]
fn a_command_does_not_inherit_it() {
    let env = Env::new();
    let repo = env.init("repo");
    let gate = Gate::new(&env);
    let mut running = runner(&env, &repo, &gate, "r");
    let begun = gate.wait_begun("r");
    assert_eq!(children(running.pid()), [begun.pid]);
    let record = records(&repo)["participants"]["r"].clone();
    assert_eq!(record["kind"], "attached", "{record}");
    assert_eq!(record["process"]["pid"], json!(begun.pid), "{record}");
    let open = std::fs::read_dir(format!("/proc/{}/fd", begun.pid)).expect("its files");
    for link in open.flatten().filter_map(|fd| fd.path().read_link().ok()) {
        let inside = link.starts_with(repo.join(".git")) || link.starts_with(repo.join(".plan"));
        assert!(!inside, "{} is open", link.display());
    }
    let files = presence_files(&repo);
    assert_eq!(files.len(), 1);
    running.kill().dies_of(9);
    assert!(runs(begun.pid));
    eventually(DEADLINE, || !is_locked(&files[0]));
    env.merge(&repo, "check").exits(0).says(&[
        ("holder_plan_id", json!("r")),
        ("staleness", json!("fresh")),
    ]);
    gate.let_go();
    eventually(DEADLINE, || !runs(begun.pid));
    env.merge(&repo, "acquire --as x")
        .exits(0)
        .says(&[("reclaimed", json!(true))]);
    // Its record goes with the commit after the one that took the lock from it.
    env.merge(&repo, "release --as x").exits(0);
    assert_eq!(presence_files(&repo).len(), 0, "not swept");
}

#[test]
fn fifty_runs_leave_none() {
    let env = Env::new();
    let repo = env.init("repo");
    for number in 0..50 {
        let code = number % 3;
        let call = env.call(&repo).args("merge run");
        let call = call.cmd(["sh", "-c", &format!("exit {code}")]);
        call.start().wait(SOON).exits(code);
    }
    assert_eq!(presence_files(&repo).len(), 0);
    assert_eq!(holder(&repo), None);
    assert_eq!(records(&repo)["participants"], json!({}));
}

#[test]
fn twenty_that_were_killed_in_one_checkout_do_not_pile_up() {
    let (env, repo) = kept();
    let gate = Gate::new(&env);
    for _ in 0..20 {
        let mut victim = nameless(&env, &repo, &gate);
        victim.says("waiting for the merge lock");
        kill_waiter(&repo, &mut victim);
        assert_eq!(waiters(&repo).len(), 1);
        let files = presence_files(&repo);
        assert!(files.len() <= 2, "{files:?}");
    }
    let mut last = nameless(&env, &repo, &gate);
    last.says("waiting for the merge lock");
    assert_eq!(waiters(&repo).len(), 1);
    last.signal(TERM);
    last.wait(SOON).exits(128 + TERM);
    keeper_leaves(&env, &repo);
    env.merge(&repo, "acquire --as x").exits(0);
    env.merge(&repo, "release --as x").exits(0);
    assert_eq!(presence_files(&repo).len(), 0);
}

#[test]
fn twenty_that_were_killed_anywhere_are_swept() {
    let short = "GIT_LOCKS_TICKET_TTL";
    let (env, repo) = kept();
    for number in 0..20 {
        let id = format!("k{number}");
        let call = env.call(&repo).env(short, "1s").args("merge acquire");
        let mut victim = call.args("--wait --as").arg(&id).start();
        if number % 2 == 0 {
            victim.says("waiting for the merge lock");
        } else {
            // As early as can be.
            let begun = || {
                presence_files(&repo)
                    .into_iter()
                    .any(|file| is_locked(&file))
            };
            waits_for("its presence", DEADLINE, || begun().then_some(()));
        }
        victim.kill().dies_of(9);
    }
    let before = presence_files(&repo).len();
    assert!(before >= 1, "nothing to be swept");
    keeper_leaves(&env, &repo);
    eventually(DEADLINE, || {
        let merge = |args: &str| env.call(&repo).env(short, "1s").args("merge").args(args);
        merge("acquire --as x").run().exits(0);
        merge("release --as x").run().exits(0);
        presence_files(&repo).is_empty()
    });
    assert_eq!(records(&repo)["participants"], json!({}));
}

#[test]
fn every_end_takes_it_away() {
    let (env, repo) = kept();
    for signal in ENDING {
        let mut running = waiter(&env, &repo, "w");
        wait_until_queued(&repo, 1);
        assert_eq!(presence_files(&repo).len(), 1);
        running.signal(signal);
        running.wait(SOON).exits(128 + signal);
        assert_eq!(presence_files(&repo).len(), 0, "signal {signal}");
    }
    let call = env.call(&repo).args("merge acquire --wait=200ms --as w");
    call.start().wait(SOON).exits(75);
    assert_eq!(presence_files(&repo).len(), 0);
}

/// Runs a line of shell as the first process of a pid namespace.
fn in_a_pid_namespace(env: &Env, dir: &Path, line: &str) -> Running {
    let mut command = env.command("unshare");
    command
        .current_dir(dir)
        .args(["-p", "-f", "--mount-proc", "sh", "-c", line]);
    Running::start(command)
}

fn namespaces(test: &str) -> bool {
    needs_root(test) && required(test, "unshare")
}

#[test]
fn a_waiter_in_another_pid_namespace_is_waited_for() {
    if !namespaces("presence::a_waiter_in_another_pid_namespace_is_waited_for") {
        return;
    }
    let (env, repo) = kept();
    let gate = Gate::new(&env);
    let bin = quoted_bin();
    let line = format!(
        "{bin} merge run --as inner -- {}; exit $?",
        gate.line("inner")
    );
    let mut inner = in_a_pid_namespace(&env, &repo, &line);
    wait_until_queued(&repo, 1);
    let mut outer = runner(&env, &repo, &gate, "outer");
    wait_until_queued(&repo, 2);
    env.merge(&repo, "acquire --as poll").exits(75);
    assert_eq!(waiters(&repo), ["inner", "outer", "poll"]);
    keeper_leaves(&env, &repo);
    gate.wait_begun("inner");
    let verdict = env.merge(&repo, "check").exits(0).text("staleness");
    assert_ne!(verdict, "stale");
    assert!(outer.is_alive());
    gate.let_go();
    inner.wait(SOON).exits(0);
    gate.wait_begun("outer");
    gate.let_go();
    outer.wait(SOON).exits(0);
    gate.one_at_a_time(&[]);
}

#[test]
fn a_holder_in_another_pid_namespace_is_never_dead() {
    if !namespaces("presence::a_holder_in_another_pid_namespace_is_never_dead") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let gate = Gate::new(&env);
    let bin = quoted_bin();
    let line = format!(
        "{bin} merge run --as inner -- {} & wait; read x",
        gate.line("inner")
    );
    let mut command = env.command("unshare");
    command
        .current_dir(&repo)
        .args(["-p", "-f", "--mount-proc", "sh", "-c", &line])
        .stdin(std::process::Stdio::piped());
    let namespace = Running::start(command);
    gate.wait_begun("inner");
    let first = child_of(namespace.pid());
    let runner = Doomed::new(child_of(first));
    let child = Doomed::new(child_of(runner.pid()));
    let not_stale = || {
        let verdict = env.merge(&repo, "check").exits(0).text("staleness");
        assert!(
            ["fresh", "unknown"].contains(&verdict.as_str()),
            "{verdict}"
        );
        env.merge(&repo, "acquire --as poll").exits(75);
        env.merge(&repo, "release --as poll --require-stale")
            .exits(1)
            .says(&[("reason", json!("holder_not_provably_dead"))]);
        verdict
    };
    not_stale();
    let mut waiter = waiter(&env, &repo, "w");
    waiter.says("waiting for the merge lock");
    // Nothing is left of it but its command, which cannot be seen from here.
    send(runner.pid(), 9);
    eventually(DEADLINE, || !runner.runs());
    assert!(child.runs());
    assert_eq!(not_stale(), "unknown");
    gate.let_go();
    eventually(DEADLINE, || !child.runs());
    assert_eq!(not_stale(), "unknown");
    assert!(waiter.is_alive());
    std::fs::remove_file(lock_file(&repo)).expect("the lock");
    env.merge(&repo, "release --as poll").exits(0);
    admitted(waiter.wait(SOON), "w");
}

#[test]
fn whoever_looks_from_another_pid_namespace_takes_nothing() {
    if !namespaces("presence::whoever_looks_from_another_pid_namespace_takes_nothing") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let gate = Gate::new(&env);
    let mut outer = runner(&env, &repo, &gate, "outer");
    let begun = gate.wait_begun("outer");
    // The runner is gone, its command lives where it cannot be seen.
    outer.kill().dies_of(9);
    let bin = quoted_bin();
    let line = format!("{bin} --format json merge acquire --as inner; exit $?");
    let ended = in_a_pid_namespace(&env, &repo, &line).wait(SOON).exits(75);
    assert!(ended.stdout.contains("\"outer\""), "{ended:#?}");
    assert_eq!(holder(&repo).as_deref(), Some("outer\n"));
    gate.let_go();
    eventually(DEADLINE, || !runs(begun.pid));
    let ended = in_a_pid_namespace(&env, &repo, &line).wait(SOON).exits(75);
    assert!(ended.stdout.contains("\"outer\""), "{ended:#?}");
    // From here it can be seen that it is gone.
    env.merge(&repo, "acquire --as seen").exits(75);
    env.merge(&repo, "release --as inner").exits(0);
    env.merge(&repo, "acquire --as seen")
        .exits(0)
        .says(&[("reclaimed", json!(true))]);
}
