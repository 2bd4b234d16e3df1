//! Where no title is shown, not a byte of one is written.

use crate::common::builds::Queue;
use crate::common::fixture::waiting;
use crate::common::turns::{wait_until_queued, waits_for};
use crate::common::{DEADLINE, Env, required};
use crate::stage::{kept, possible, terminal, titles};

/// Fails the test unless this run leaves the title of its terminal alone.
#[track_caller]
fn leaves_it_alone(env: &Env, repo: &std::path::Path, line: &str) {
    let mut terminal = terminal(env, repo, line);
    terminal.wait(DEADLINE).exits(0);
    let raw = terminal.raw();
    assert!(raw.contains("inside"), "{line}: {raw:?}");
    assert!(!raw.contains('\u{1b}'), "{line}: {raw:?}");
}

#[test]
fn a_terminal_of_a_run_that_wants_none() {
    if !possible("silence::a_terminal_of_a_run_that_wants_none") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    for line in [
        "@locks merge run --no-title-token -- echo inside",
        "@locks build run --no-title-token -- echo inside",
        "@locks -q merge run -- echo inside",
        "@locks -q repo run -- echo inside",
        "GIT_LOCKS_TITLE=false @locks merge run -- echo inside",
        "GIT_LOCKS_TITLE=false @locks worktree run -- echo inside",
        "TERM=dumb @locks merge run -- echo inside",
        "TERM=linux @locks merge run -- echo inside",
        "TERM= @locks merge run -- echo inside",
        "unset TERM; @locks merge run -- echo inside",
        "@locks merge run -- echo inside 2>said",
        "@locks merge run -- echo inside 2>&1 | cat",
        "@locks merge acquire --wait --as me; @locks merge release --as me; echo inside",
    ] {
        leaves_it_alone(&env, &repo, line);
    }
    env.git(&repo, "config locks.title false");
    for family in ["merge", "build", "repo"] {
        leaves_it_alone(&env, &repo, &format!("@locks {family} run -- echo inside"));
    }
    env.git(&repo, "config locks.title true");
    let mut shown = terminal(&env, &repo, "@locks merge run -- echo inside");
    shown.wait(DEADLINE).exits(0);
    assert_eq!(
        titles(&shown.raw()).len(),
        3,
        "the same, where one is wanted"
    );
}

#[test]
fn a_wait_that_wants_none() {
    if !possible("silence::a_wait_that_wants_none") {
        return;
    }
    let (env, repo) = kept();
    for line in [
        "@locks merge run --wait=1s --no-title-token --as w -- true; echo inside",
        "GIT_LOCKS_TITLE=0 @locks merge acquire --wait=1s --as w; echo inside",
    ] {
        let mut terminal = terminal(&env, &repo, line);
        terminal.wait(DEADLINE).exits(0);
        assert!(titles(&terminal.raw()).is_empty(), "{:?}", terminal.raw());
    }
}

#[test]
fn a_run_in_the_background() {
    let test = "silence::a_run_in_the_background";
    if !possible(test) || !required(test, "bash") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let line = "exec bash -c \"set -m; @locks merge run -- echo inside & wait\"";
    leaves_it_alone(&env, &repo, line);
}

#[test]
fn no_terminal_at_all() {
    let (env, repo) = kept();
    let call = env.call(&repo).env("TERM", "xterm");
    let mut waiter = call.args("merge run --as w -- echo inside").start();
    wait_until_queued(&repo, 1);
    waits_for("a line", DEADLINE, || {
        waiter.stderr().contains("waiting for").then_some(())
    });
    env.merge(&repo, "release --as keeper").exits(0);
    let ended = waiter.wait(DEADLINE).exits(0);
    assert_eq!(ended.stdout, "inside\n");
    assert!(!ended.stderr.contains('\u{1b}'), "{:?}", ended.stderr);
    assert!(waiting(&repo).is_empty());
    let call = env.call(&repo).env("TERM", "xterm");
    let run = call.args("build run -- echo inside").run().exits(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("inside\n", ""));
    let queue: Queue = env.builds();
    assert!(queue.active().is_empty());
}
