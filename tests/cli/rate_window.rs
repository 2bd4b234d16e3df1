//! `merge rate-window`: claims, the cap, and the queue it shares a file with.

use serde_json::{Value, json};

use crate::common::fixture::{
    holder, keep_plans, lock_file, mid_recovery, now, plan, queue_file, queue_of, read_queue,
    same_tree, tree, waiting, write_queue,
};
use crate::common::{Env, Run};

const CLAIMED: &str = "status plan_id bot_kind action holder pr_number expires_at \
    seconds_remaining attempts attempt_cap attempts_remaining reclaimed_from";
const BLOCKED: &str = "status plan_id bot_kind reason holder pr_number expires_at \
    seconds_remaining attempts attempt_cap";
const EXHAUSTED: &str = "status plan_id bot_kind reason pr_number attempts attempt_cap";
const STATE: &str = "status plan_id bot_kind holder pr_number expires_at seconds_remaining \
    expired attempts attempt_cap attempts_remaining";
const RELEASED: &str = "status plan_id bot_kind action holder attempts attempt_cap";

fn window(env: &Env, repo: &std::path::Path, args: &str) -> Run {
    let (verb, rest) = args.split_once(' ').expect("a verb and more");
    env.merge(repo, &format!("rate-window {verb} --bot-kind robot {rest}"))
}

#[test]
fn a_first_claim() {
    let env = Env::new();
    let repo = env.init("repo");
    let run = window(&env, &repo, "claim --as a --pr-number 7").exits(0);
    let (ends, left) = (run.number("expires_at"), run.number("seconds_remaining"));
    assert!((ends - now() - 3600.0).abs() < 30.0, "{ends}");
    assert!((3570.0..=3600.0).contains(&left), "{left}");
    run.fields(CLAIMED).says(&[
        ("status", json!("success")),
        ("plan_id", json!("a")),
        ("bot_kind", json!("robot")),
        ("action", json!("claimed")),
        ("holder", json!("a")),
        ("pr_number", json!(7)),
        ("attempts", json!(1)),
        ("attempt_cap", json!(2)),
        ("attempts_remaining", json!(1)),
        ("reclaimed_from", Value::Null),
    ]);
    let stored = read_queue(&repo)["rate_windows"]["robot"].clone();
    let keys: Vec<_> = stored
        .as_object()
        .expect("a window")
        .keys()
        .cloned()
        .collect();
    assert_eq!(keys, ["holder", "pr_number", "expires_at", "attempts"]);
    assert_eq!(stored["holder"], json!("a"));
    assert_eq!(stored["pr_number"], json!(7));
    assert_eq!(stored["attempts"], json!(1));
}

#[test]
fn the_holder_renews_until_the_cap() {
    let env = Env::new();
    let repo = env.init("repo");
    window(&env, &repo, "claim --as a --pr-number 7").exits(0);
    window(&env, &repo, "claim --as a --pr-number 7")
        .exits(0)
        .fields(CLAIMED)
        .says(&[
            ("action", json!("renewed")),
            ("attempts", json!(2)),
            ("attempts_remaining", json!(0)),
        ]);
    let before = std::fs::read(queue_file(&repo)).expect("a queue");
    window(&env, &repo, "claim --as a --pr-number 7")
        .exits(1)
        .fields(EXHAUSTED)
        .says(&[
            ("status", json!("refused")),
            ("plan_id", json!("a")),
            ("bot_kind", json!("robot")),
            ("reason", json!("recovery_cap_exhausted")),
            ("pr_number", json!(7)),
            ("attempts", json!(2)),
            ("attempt_cap", json!(2)),
        ]);
    assert_eq!(std::fs::read(queue_file(&repo)).expect("a queue"), before);
}

#[test]
fn another_pull_request_has_attempts_of_its_own() {
    let env = Env::new();
    let repo = env.init("repo");
    for pr in [7, 8] {
        for attempts in [1, 2] {
            window(&env, &repo, &format!("claim --as a --pr-number {pr}"))
                .exits(0)
                .says(&[("attempts", json!(attempts)), ("pr_number", json!(pr))]);
        }
    }
}

#[test]
fn another_is_blocked_while_the_window_runs() {
    let env = Env::new();
    let repo = env.init("repo");
    for plans in [false, true] {
        if plans {
            keep_plans(&repo);
            plan(&repo, "a");
        } else {
            window(&env, &repo, "claim --as a --pr-number 7").exits(0);
        }
        let before = std::fs::read(queue_file(&repo)).expect("a queue");
        window(&env, &repo, "claim --as b --pr-number 7")
            .exits(75)
            .fields(BLOCKED)
            .says(&[
                ("status", json!("blocked")),
                ("plan_id", json!("b")),
                ("reason", json!("window_held_by_other_plan")),
                ("holder", json!("a")),
                ("pr_number", json!(7)),
                ("attempts", json!(1)),
                ("attempt_cap", json!(2)),
            ]);
        assert_eq!(std::fs::read(queue_file(&repo)).expect("a queue"), before);
    }
}

#[test]
fn bots_do_not_share() {
    let env = Env::new();
    let repo = env.init("repo");
    window(&env, &repo, "claim --as a").exits(0);
    env.merge(&repo, "rate-window claim --bot-kind other --as b")
        .exits(0)
        .says(&[("action", json!("claimed")), ("pr_number", json!(0))]);
}

#[test]
fn an_expired_window_is_reclaimed() {
    let env = Env::new();
    let repo = env.init("repo");
    for seconds in ["0", "-5"] {
        let repo = if seconds == "0" {
            repo.clone()
        } else {
            env.init("again")
        };
        plan(&repo, "a");
        plan(&repo, "b");
        let first = format!("claim --as a --window-seconds {seconds}");
        window(&env, &repo, &first)
            .exits(0)
            .says(&[("seconds_remaining", json!(0.0))]);
        window(&env, &repo, "claim --as b")
            .exits(0)
            .fields(CLAIMED)
            .says(&[
                ("action", json!("reclaimed")),
                ("holder", json!("b")),
                ("reclaimed_from", json!("a")),
                ("attempts", json!(2)),
            ]);
    }
}

#[test]
fn the_window_of_a_dead_plan_is_reclaimed_and_of_one_in_recovery_is_not() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "b");
    mid_recovery(&repo, "recovering");
    let held_by = |who: &str| {
        let window =
            json!({"holder": who, "pr_number": 7, "expires_at": now() + 900.0, "attempts": 1});
        write_queue(
            &repo,
            &json!({"waiting": [], "rate_windows": {"robot": window}}),
        );
    };
    held_by("recovering");
    window(&env, &repo, "claim --as b --pr-number 7").exits(75);
    held_by("dead");
    window(&env, &repo, "claim --as b --pr-number 7")
        .exits(0)
        .says(&[
            ("action", json!("reclaimed")),
            ("reclaimed_from", json!("dead")),
            ("attempts", json!(2)),
        ]);
}

#[test]
fn check_of_an_unclaimed_window() {
    let env = Env::new();
    let repo = env.init("repo");
    window(&env, &repo, "check --as a")
        .exits(0)
        .fields(STATE)
        .says(&[
            ("status", json!("free")),
            ("plan_id", json!("a")),
            ("bot_kind", json!("robot")),
            ("holder", Value::Null),
            ("pr_number", Value::Null),
            ("expires_at", Value::Null),
            ("seconds_remaining", json!(0.0)),
            ("expired", json!(true)),
            ("attempts", json!(0)),
            ("attempt_cap", json!(2)),
            ("attempts_remaining", json!(2)),
        ]);
    assert!(!queue_file(&repo).exists());
}

#[test]
fn check_of_a_claimed_window_changes_nothing() {
    let env = Env::new();
    let repo = env.init("repo");
    window(&env, &repo, "claim --as a --pr-number 7").exits(0);
    let before = tree(&repo);
    window(&env, &repo, "check --as b")
        .exits(0)
        .fields(STATE)
        .says(&[
            ("status", json!("held")),
            ("holder", json!("a")),
            ("pr_number", json!(7)),
            ("expired", json!(false)),
            ("attempts", json!(1)),
            ("attempts_remaining", json!(1)),
        ]);
    same_tree(&before, &tree(&repo));
}

#[test]
fn release_clears_the_holder_and_keeps_the_count() {
    let env = Env::new();
    let repo = env.init("repo");
    window(&env, &repo, "claim --as a --pr-number 7").exits(0);
    window(&env, &repo, "release --as a")
        .exits(0)
        .fields(RELEASED)
        .says(&[
            ("status", json!("success")),
            ("plan_id", json!("a")),
            ("action", json!("released")),
            ("holder", Value::Null),
            ("attempts", json!(1)),
            ("attempt_cap", json!(2)),
        ]);
    window(&env, &repo, "check --as a").exits(0).says(&[
        ("status", json!("free")),
        ("holder", Value::Null),
        ("attempts", json!(1)),
    ]);
    window(&env, &repo, "claim --as b --pr-number 7")
        .exits(0)
        .says(&[("action", json!("claimed")), ("attempts", json!(2))]);
    window(&env, &repo, "release --as b").exits(0);
    window(&env, &repo, "claim --as a --pr-number 7").exits(1);
}

#[test]
fn release_by_another_or_of_nothing_is_a_noop() {
    let env = Env::new();
    let repo = env.init("repo");
    window(&env, &repo, "release --as a")
        .exits(0)
        .fields(RELEASED)
        .says(&[
            ("action", json!("noop")),
            ("holder", Value::Null),
            ("attempts", json!(0)),
        ]);
    window(&env, &repo, "claim --as a").exits(0);
    window(&env, &repo, "release --as b")
        .exits(0)
        .fields(RELEASED)
        .says(&[
            ("action", json!("noop")),
            ("holder", json!("a")),
            ("attempts", json!(1)),
        ]);
    window(&env, &repo, "check --as b").says(&[("holder", json!("a"))]);
}

#[test]
fn windows_never_touch_the_queue_or_the_lock() {
    let env = Env::new();
    let repo = env.init("repo");
    keep_plans(&repo);
    plan(&repo, "a");
    crate::common::fixture::hold(&repo, "dead\n");
    queue_of(&repo, &["dead", "dead-too", "a"]);
    let queue = read_queue(&repo)["waiting"].clone();
    for verb in ["claim", "check", "claim", "claim", "release", "release"] {
        window(&env, &repo, &format!("{verb} --as a"));
        assert_eq!(read_queue(&repo)["waiting"], queue, "{verb}");
        assert_eq!(holder(&repo).as_deref(), Some("dead\n"), "{verb}");
    }
}

#[test]
fn the_lock_never_touches_the_windows() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "a");
    plan(&repo, "b");
    window(&env, &repo, "claim --as dead --pr-number 7").exits(0);
    let windows = read_queue(&repo)["rate_windows"].clone();
    for args in [
        "acquire --as a",
        "acquire --as b",
        "release --as b",
        "release --as a",
    ] {
        env.merge(&repo, args);
        assert_eq!(read_queue(&repo)["rate_windows"], windows, "{args}");
    }
    assert!(!lock_file(&repo).exists());
    assert!(waiting(&repo).is_empty());
}

#[test]
fn a_wrong_shaped_window_is_none() {
    let env = Env::new();
    let repo = env.init("repo");
    for windows in [
        json!([]),
        json!("x"),
        json!({"robot": 3}),
        json!({"robot": {"holder": 5}}),
    ] {
        write_queue(
            &repo,
            &json!({"waiting": [], "rate_windows": windows, "kept": [1]}),
        );
        window(&env, &repo, "check --as a")
            .exits(0)
            .says(&[("status", json!("free"))]);
        window(&env, &repo, "claim --as a")
            .exits(0)
            .says(&[("action", json!("claimed"))]);
        assert_eq!(read_queue(&repo)["kept"], json!([1]));
    }
}

#[test]
fn an_inferred_identity_can_claim_too() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "rate-window claim --bot-kind robot")
        .exits(0)
        .says(&[("holder", json!("main-checkout"))]);
}

#[test]
fn whole_numbers_count_however_they_are_written() {
    let env = Env::new();
    let repo = env.init("repo");
    let ends = now() + 900.0;
    let text = format!(
        r#"{{"waiting": [], "rate_windows": {{"robot":
            {{"holder": "a", "pr_number": 7.0, "expires_at": {ends}, "attempts": 1.0}}}}}}"#
    );
    std::fs::create_dir_all(queue_file(&repo).parent().expect("a directory")).expect("the base");
    std::fs::write(queue_file(&repo), text).expect("a queue");
    window(&env, &repo, "check --as a").exits(0).says(&[
        ("status", json!("held")),
        ("pr_number", json!(7)),
        ("attempts", json!(1)),
        ("attempts_remaining", json!(1)),
    ]);
    window(&env, &repo, "claim --as b --pr-number 7")
        .exits(75)
        .says(&[("pr_number", json!(7)), ("attempts", json!(1))]);
    window(&env, &repo, "claim --as a --pr-number 7")
        .exits(0)
        .says(&[("action", json!("renewed")), ("attempts", json!(2))]);
    window(&env, &repo, "claim --as a --pr-number 7").exits(1);
}
