//! What the title of a terminal says, to the byte, and that it comes back.

use std::path::PathBuf;

use crate::common::builds::Queue;
use crate::common::fixture::holder;
use crate::common::turns::{Gate, wait_until_held_by, waits_for};
use crate::common::{DEADLINE, Env, eventually};
use crate::stage::{RESTORED, SAVED, kept, possible, terminal, titles, wait_until_titled};

#[test]
fn a_run_at_once_to_the_byte() {
    if !possible("shown::a_run_at_once_to_the_byte") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let mut terminal = terminal(&env, &repo, "@locks merge run -- true");
    terminal.wait(DEADLINE).exits(0);
    assert_eq!(
        terminal.raw(),
        "\u{1b}[22;0t\u{1b}]0;🔒 merge: true\u{7}\u{1b}[23;0t"
    );
}

#[test]
fn a_run_that_waits() {
    if !possible("shown::a_run_that_waits") {
        return;
    }
    let (env, repo) = kept();
    let mut terminal = terminal(&env, &repo, "@locks merge run --as w -- echo inside");
    wait_until_titled(&terminal, "⏳ merge: echo inside");
    waits_for("the live line to be drawn again", DEADLINE, || {
        let drawn = terminal.raw().matches("waiting for").count();
        (drawn >= 2).then_some(())
    });
    env.merge(&repo, "release --as keeper").exits(0);
    terminal.wait(DEADLINE).exits(0);
    assert_eq!(
        titles(&terminal.raw()),
        [
            SAVED,
            "⏳ merge: echo inside",
            "🔒 merge: echo inside",
            RESTORED
        ]
    );
    assert_eq!(terminal.screen(), ["inside"]);
}

#[test]
fn an_acquire_that_waits() {
    if !possible("shown::an_acquire_that_waits") {
        return;
    }
    let (env, repo) = kept();
    let line = "@locks --format json merge acquire --wait --as w >report; echo code $?";
    let mut terminal = terminal(&env, &repo, line);
    wait_until_titled(&terminal, "⏳ merge");
    env.merge(&repo, "release --as keeper").exits(0);
    terminal.wait(DEADLINE).exits(0);
    assert_eq!(titles(&terminal.raw()), [SAVED, "⏳ merge", RESTORED]);
    assert_eq!(terminal.screen(), ["code 0"]);
    assert_eq!(holder(&repo).as_deref(), Some("w\n"));
}

#[test]
fn a_build() {
    if !possible("shown::a_build") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    env.build(&repo, "acquire --as keeper --max-slots 1")
        .exits(0);
    let queue: Queue = env.builds();
    let line = "@locks build run --max-slots 1 --as w -- echo inside";
    let mut run = terminal(&env, &repo, line);
    wait_until_titled(&run, "⏳ build: echo inside");
    env.build(&repo, "release --as keeper").exits(0);
    run.wait(DEADLINE).exits(0);
    assert_eq!(
        titles(&run.raw()),
        [
            SAVED,
            "⏳ build: echo inside",
            "🔨 build: echo inside",
            RESTORED
        ]
    );
    eventually(DEADLINE, || queue.active().is_empty());
    env.build(&repo, "acquire --as keeper --max-slots 1")
        .exits(0);
    let line = "@locks build acquire --max-slots 1 --wait=1s --as w >report; echo code $?";
    let mut acquire = terminal(&env, &repo, line);
    acquire.wait(DEADLINE).exits(0);
    assert_eq!(titles(&acquire.raw()), [SAVED, "⏳ build", RESTORED]);
}

#[test]
fn the_locks_of_the_kernel() {
    if !possible("shown::the_locks_of_the_kernel") {
        return;
    }
    for family in ["repo", "worktree"] {
        let env = Env::new();
        let repo = env.init("repo");
        let gate = Gate::new(&env);
        let holder = env.call(&repo).args(family).arg("run");
        let mut holder = holder.cmd(gate.cmd("keeper")).start();
        gate.wait_begun("keeper");
        let line = format!("@locks {family} run -- echo inside");
        let mut terminal = terminal(&env, &repo, &line);
        let (waiting, owned) = (
            format!("⏳ {family}: echo inside"),
            format!("🔒 {family}: echo inside"),
        );
        wait_until_titled(&terminal, &waiting);
        gate.let_go();
        terminal.wait(DEADLINE).exits(0);
        holder.wait(DEADLINE).exits(0);
        assert_eq!(
            titles(&terminal.raw()),
            [SAVED, &waiting, &owned, RESTORED],
            "{family}"
        );
    }
}

#[test]
fn one_run_inside_another() {
    if !possible("shown::one_run_inside_another") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let line = "@locks merge run -- @locks build run -- @locks merge run -- true";
    let mut terminal = terminal(&env, &repo, line);
    terminal.wait(DEADLINE).exits(0);
    let told = titles(&terminal.raw());
    assert_eq!(told.len(), 6, "{told:?}");
    assert!(told[1].starts_with("🔒 merge: "), "{told:?}");
    assert!(told[3].starts_with("🔨 build: "), "{told:?}");
    let stack = [&told[0], &told[2], &told[4], &told[5]];
    assert_eq!(stack, [SAVED, SAVED, RESTORED, RESTORED]);
}

#[test]
fn a_visit_to_a_lock_that_is_held_already() {
    if !possible("shown::a_visit_to_a_lock_that_is_held_already") {
        return;
    }
    let (env, repo) = kept();
    let line = "@locks merge run --as keeper -- true";
    let mut terminal = terminal(&env, &repo, line);
    terminal.wait(DEADLINE).exits(0);
    assert_eq!(titles(&terminal.raw()), [SAVED, "🔒 merge: true", RESTORED]);
    wait_until_held_by(&repo, "keeper");
}

#[test]
fn what_a_command_is_called_steers_no_terminal() {
    if !possible("shown::what_a_command_is_called_steers_no_terminal") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let script: PathBuf = env.path("name");
    // BEL, ESC, a C1 control, a newline, and bytes that are not UTF-8.
    std::fs::write(&script, b"a\x07\x1b]0;b\xc2\x9c\n\xff").expect("a file");
    let line = format!(
        "@locks merge run -- true \"$(cat '{}'; echo .)\"",
        script.display()
    );
    let mut terminal = terminal(&env, &repo, &line);
    terminal.wait(DEADLINE).exits(0);
    assert_eq!(
        titles(&terminal.raw()),
        [
            SAVED,
            "🔒 merge: true a\\u{7}\\u{1b}]0;b\\u{9c}\\n\u{fffd}.",
            RESTORED
        ]
    );
}
