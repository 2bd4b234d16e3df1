//! Snapshots: every report in the three formats, with paths and times made the same.
//!
//! `GIT_LOCKS_UPDATE_SNAPSHOTS=1` rewrites `tests/cli/snapshots/`.

use std::path::Path;

use serde_json::json;

use crate::common::fixture::{hold, keep_plans, mid_recovery, plan, worktree, write_queue};
use crate::common::{Env, Run, snapshot};

/// Runs `args` in each format, in a repository that `prepare` leaves the same each time.
fn shown(name: &str, prepare: impl Fn(&Env, &Path), args: &str) {
    let texts = ["toon", "json", "human"].map(|format| {
        let env = Env::new();
        let repo = env.init("repo");
        prepare(&env, &repo);
        let run = env.locks(&repo, &format!("--format {format} merge {args}"));
        snapshot::text(&env, &run)
    });
    snapshot::check(name, &texts.join("\n"));
}

fn held(env: &Env, repo: &Path) {
    let call = env
        .call(repo)
        .args("merge acquire --as a --reason")
        .arg("land the parser");
    call.run().exits(0);
}

fn queued(env: &Env, repo: &Path) {
    held(env, repo);
    env.merge(repo, "acquire --as b").exits(75);
}

fn dead(_: &Env, repo: &Path) {
    plan(repo, "b");
    hold(repo, "dead\n");
}

fn window(_: &Env, repo: &Path) {
    let ends = crate::common::fixture::now() + 1800.5;
    let window = json!({"holder": "a", "pr_number": 7, "expires_at": ends, "attempts": 1});
    write_queue(
        repo,
        &json!({"waiting": [], "rate_windows": {"robot": window}}),
    );
    keep_plans(repo);
    plan(repo, "a");
}

#[test]
fn acquire_granted() {
    shown("acquire-granted", |_, _| (), "acquire --as a");
    shown("acquire-granted-inferred", |_, _| (), "acquire");
}

#[test]
fn acquire_already_held() {
    shown("acquire-already-held", held, "acquire --as a");
}

#[test]
fn acquire_blocked() {
    shown("acquire-blocked", held, "acquire --as b");
    shown("acquire-blocked-second", queued, "acquire --as c");
}

#[test]
fn acquire_behind_others_of_a_free_lock() {
    let prepare = |env: &Env, repo: &Path| {
        queued(env, repo);
        env.merge(repo, "release --as a").exits(0);
    };
    shown("acquire-behind", prepare, "acquire --as c");
}

#[test]
fn acquire_reclaiming() {
    shown("acquire-reclaimed", dead, "acquire --as b");
}

#[test]
fn acquire_while_the_holder_recovers() {
    let prepare = |_: &Env, repo: &Path| {
        mid_recovery(repo, "recovering");
        plan(repo, "b");
        hold(repo, "recovering\n");
    };
    shown("acquire-holder-recovering", prepare, "acquire --as b");
}

#[test]
fn acquire_that_nothing_vouches_for() {
    shown(
        "acquire-unvouched",
        |_, repo| keep_plans(repo),
        "acquire --as nobody-knows",
    );
}

#[test]
fn check() {
    shown("check-free", |_, _| (), "check --as a");
    shown("check-held", held, "check --as b");
    shown("check-mine", held, "check --as a");
    shown("check-stale", dead, "check --as b");
}

#[test]
fn release() {
    shown("release-released", held, "release --as a");
    shown("release-with-waiters", queued, "release --as a");
    shown("release-nothing", |_, _| (), "release --as a");
    shown("release-by-another", queued, "release --as b");
}

#[test]
fn release_by_an_inferred_caller() {
    let prepare = |env: &Env, repo: &Path| {
        let linked = worktree(env, repo, "linked");
        env.merge(&linked, "acquire").exits(0);
    };
    shown("release-inferred", prepare, "release");
}

#[test]
fn release_require_stale() {
    shown("evict-stale", dead, "release --as b --require-stale");
    shown("evict-nothing", |_, _| (), "release --as b --require-stale");
    shown("evict-refused", held, "release --as b --require-stale");
}

#[test]
fn renew() {
    shown("renew-renewed", held, "renew --as a");
    shown("renew-lost", held, "renew --as b");
    let plan_holds = |env: &Env, repo: &Path| {
        plan(repo, "a");
        env.merge(repo, "acquire --as a").exits(0);
    };
    shown("renew-no-lease", plan_holds, "renew --as a");
}

#[test]
fn rate_windows() {
    let claim = "rate-window claim --bot-kind robot --pr-number 7";
    shown("window-claimed", |_, _| (), &format!("{claim} --as a"));
    shown("window-renewed", window, &format!("{claim} --as a"));
    shown("window-blocked", window, &format!("{claim} --as b"));
    let spent = |env: &Env, repo: &Path| {
        window(env, repo);
        env.merge(repo, &format!("{claim} --as a")).exits(0);
    };
    shown("window-exhausted", spent, &format!("{claim} --as a"));
    shown(
        "window-held",
        window,
        "rate-window check --bot-kind robot --as b",
    );
    shown(
        "window-free",
        |_, _| (),
        "rate-window check --bot-kind robot --as b",
    );
    shown(
        "window-released",
        window,
        "rate-window release --bot-kind robot --as a",
    );
    shown(
        "window-noop",
        window,
        "rate-window release --bot-kind robot --as b",
    );
}

#[test]
fn errors() {
    shown("error-plan-id", |_, _| (), "acquire --as Bad_Id");
    shown("error-usage", |_, _| (), "acquire --no-such-flag");
    let broken = |_: &Env, repo: &Path| {
        std::fs::create_dir_all(repo.join(".plan/local/merge.lock")).expect("a directory");
    };
    shown("error-state", broken, "acquire --as a");
    let no_repository = |_: &Env, repo: &Path| {
        std::fs::remove_dir_all(repo.join(".git")).expect("no repository any more");
    };
    shown("error-no-repository", no_repository, "acquire --as a");
}

/// The human form of one call.
fn human(env: &Env, dir: &Path, args: &str) -> Run {
    env.locks(dir, &format!("--format human merge {args}"))
}

#[test]
fn the_human_form_says_who_where_how_long_and_what_next() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    let call = env
        .call(&linked)
        .args("merge acquire --reason")
        .arg("land the parser");
    call.run().exits(0);
    env.merge(&repo, "acquire --as first").exits(75);
    let run = human(&env, &repo, "acquire").exits(75);
    for part in ["linked", "land the parser", "2", "git locks merge"] {
        assert!(run.stdout.contains(part), "{part} is missing: {run:#?}");
    }
    assert!(
        run.stdout.contains(&*linked.to_string_lossy()),
        "where is missing: {run:#?}"
    );
    let normal = snapshot::normalise(&env, &run.stdout);
    assert!(normal.contains("[SPAN]"), "how long is missing: {normal}");
}

#[test]
fn the_human_form_shows_controls_as_escapes() {
    let env = Env::new();
    let repo = env.init("repo");
    let call = env.call(&repo).args("merge acquire --as a --reason");
    call.arg("one\ntwo\u{1b}[31m\u{202e}").run().exits(0);
    let run = human(&env, &repo, "check --as b");
    assert!(
        run.stdout.contains("one\\ntwo\\u{1b}[31m\\u{202e}"),
        "{run:#?}"
    );
    let run = env.merge(&repo, "check --as b");
    assert_eq!(run.get("reason"), json!("one\ntwo[31m"));
}
