//! `merge release`, with and without `--require-stale`.

use serde_json::json;

use crate::common::fixture::{
    hold, holder, keep_plans, lock_file, mid_recovery, plan, queue_of, waiting, worktree,
};
use crate::common::{Env, Run};

#[test]
fn the_holder_lets_go() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "release --as a")
        .exits(0)
        .fields("status plan_id action lock_path waiting_count")
        .says(&[
            ("status", json!("success")),
            ("plan_id", json!("a")),
            ("action", json!("released")),
            ("lock_path", json!(lock_file(&repo).to_str())),
            ("waiting_count", json!(0)),
        ]);
    assert_eq!(holder(&repo), None);
    assert!(waiting(&repo).is_empty());
    env.merge(&repo, "check").says(&[("status", json!("free"))]);
}

#[test]
fn those_who_wait_are_counted() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "acquire --as b").exits(75);
    env.merge(&repo, "release --as a")
        .exits(0)
        .says(&[("waiting_count", json!(1))]);
    assert_eq!(waiting(&repo), ["b"]);
}

#[test]
fn releasing_what_nobody_holds_is_a_noop() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "release --as a")
        .exits(0)
        .fields("status plan_id action lock_path waiting_count message")
        .says(&[
            ("status", json!("success")),
            ("action", json!("noop")),
            ("waiting_count", json!(0)),
        ]);
}

#[test]
fn release_by_another_is_a_noop_that_dequeues() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "acquire --as b").exits(75);
    let run = env.merge(&repo, "release --as b").exits(0);
    assert!(!run.text("message").is_empty());
    run.fields("status plan_id action lock_path holder waiting_count message")
        .says(&[
            ("status", json!("success")),
            ("plan_id", json!("b")),
            ("action", json!("noop")),
            ("holder", json!("a")),
            ("waiting_count", json!(1)),
        ]);
    assert_eq!(waiting(&repo), ["a"]);
    assert_eq!(holder(&repo).as_deref(), Some("a\n"));
}

#[test]
fn an_inferred_callers_noop_names_the_command_that_would_do_it() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    env.merge(&repo, "acquire").exits(0);
    let run = env
        .merge(&linked, "release")
        .exits(1)
        .fields("status plan_id action lock_path holder waiting_count message hint")
        .says(&[
            ("status", json!("success")),
            ("plan_id", json!("linked")),
            ("action", json!("noop")),
            ("holder", json!("main-checkout")),
        ]);
    let hint = run.text("hint");
    assert!(hint.contains("git locks merge release"), "{hint}");
    assert!(hint.contains("main-checkout"), "{hint}");
    assert_eq!(holder(&repo).as_deref(), Some("main-checkout\n"));
}

#[test]
fn an_inferred_caller_may_leave_the_queue_of_a_free_lock() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&linked, "acquire").exits(75);
    env.merge(&repo, "release --as a").exits(0);
    env.merge(&linked, "release")
        .exits(0)
        .says(&[("action", json!("noop"))]);
    assert!(waiting(&repo).is_empty());
}

#[test]
fn release_prunes_the_dead() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "a");
    plan(&repo, "c");
    hold(&repo, "a\n");
    queue_of(&repo, &["a", "dead", "c"]);
    env.merge(&repo, "release --as a")
        .exits(0)
        .says(&[("action", json!("released")), ("waiting_count", json!(1))]);
    assert_eq!(waiting(&repo), ["c"]);
    assert_eq!(holder(&repo), None);
}

#[test]
fn require_stale_removes_a_dead_holder() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "c");
    hold(&repo, "dead\n");
    queue_of(&repo, &["dead", "c"]);
    env.merge(&repo, "release --as b --require-stale")
        .exits(0)
        .fields("status plan_id action staleness reclaimed_from lock_path waiting_count")
        .says(&[
            ("status", json!("success")),
            ("plan_id", json!("b")),
            ("action", json!("released")),
            ("staleness", json!("stale")),
            ("reclaimed_from", json!("dead")),
            ("lock_path", json!(lock_file(&repo).to_str())),
            ("waiting_count", json!(1)),
        ]);
    assert_eq!(holder(&repo), None);
    assert_eq!(waiting(&repo), ["c"]);
}

#[test]
fn require_stale_with_nothing_held() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "release --as b --require-stale")
        .exits(0)
        .fields("status plan_id action lock_path message")
        .says(&[("status", json!("success")), ("action", json!("noop"))]);
}

/// That `--require-stale` was refused on a holder of this staleness.
#[track_caller]
fn refused(run: Run, holder: &str, staleness: &str) {
    run.exits(1)
        .fields("status plan_id reason holder staleness lock_path")
        .says(&[
            ("status", json!("refused")),
            ("plan_id", json!("b")),
            ("reason", json!("holder_not_provably_dead")),
            ("holder", json!(holder)),
            ("staleness", json!(staleness)),
        ]);
}

#[test]
fn require_stale_refuses_a_living_holder() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as a").exits(0);
    refused(
        env.merge(&repo, "release --as b --require-stale"),
        "a",
        "fresh",
    );
    assert_eq!(holder(&repo).as_deref(), Some("a\n"));
    assert_eq!(waiting(&repo), ["a"]);
}

#[test]
fn require_stale_refuses_a_living_plan_and_one_in_recovery() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "living");
    hold(&repo, "living\n");
    refused(
        env.merge(&repo, "release --as b --require-stale"),
        "living",
        "fresh",
    );
    mid_recovery(&repo, "recovering");
    hold(&repo, "recovering\n");
    refused(
        env.merge(&repo, "release --as b --require-stale"),
        "recovering",
        "fresh",
    );
    assert_eq!(holder(&repo).as_deref(), Some("recovering\n"));
}

#[test]
fn require_stale_refuses_a_holder_that_cannot_be_judged() {
    let env = Env::new();
    let repo = env.init("repo");
    keep_plans(&repo);
    let away = worktree(&env, &repo, "away");
    env.git_args(
        &repo,
        &["worktree".as_ref(), "lock".as_ref(), away.as_os_str()],
    );
    std::fs::remove_dir_all(&away).expect("the worktree");
    hold(&repo, "away\n");
    refused(
        env.merge(&repo, "release --as b --require-stale"),
        "away",
        "unknown",
    );
    plan(&repo, "b");
    env.merge(&repo, "acquire --as b").exits(75);
    assert_eq!(holder(&repo).as_deref(), Some("away\n"));
}

#[test]
fn a_released_lock_can_be_had_again() {
    let env = Env::new();
    let repo = env.init("repo");
    for who in ["a", "b", "a"] {
        env.merge(&repo, &format!("acquire --as {who}")).exits(0);
        env.merge(&repo, &format!("release --as {who}"))
            .exits(0)
            .says(&[("action", json!("released"))]);
    }
}
