//! `merge acquire` and `merge check`: fields, order, and who gets in.

use serde_json::json;

use crate::common::Env;
use crate::common::fixture::{
    base, hold, holder, keep_plans, lock_file, mid_recovery, plan, queue_file, queue_of,
    read_queue, waiting, write_queue,
};

/// The canonical fields of an admitted acquire.
const ADMITTED: &str = "status plan_id action admission lock_path holder reclaimed waiting_count";
/// The canonical fields of a blocked acquire.
const BLOCKED: &str = "status plan_id admission blocking_plan_id lock_path waiting_count";
/// What may follow them.
const BLOCKED_MORE: &str = "position holder_since holder_where reason";

#[test]
fn the_first_acquire_is_granted() {
    let env = Env::new();
    let repo = env.init("repo");
    let run = env.merge(&repo, "acquire --as a").exits(0);
    run.fields(&format!("{ADMITTED} fence expires_at")).says(&[
        ("status", json!("success")),
        ("plan_id", json!("a")),
        ("action", json!("acquired")),
        ("admission", json!("admitted")),
        ("lock_path", json!(lock_file(&repo).to_str())),
        ("holder", json!("a")),
        ("reclaimed", json!(false)),
        ("waiting_count", json!(1)),
    ]);
    assert_eq!(holder(&repo).as_deref(), Some("a\n"));
    assert_eq!(waiting(&repo), ["a"]);
}

#[test]
fn the_queue_entry_is_what_other_programs_write() {
    let env = Env::new();
    let repo = env.init("repo");
    let before = crate::common::fixture::now();
    env.merge(&repo, "acquire --as a").exits(0);
    let queue = read_queue(&repo);
    let entry = queue["waiting"][0].as_object().expect("an entry");
    assert_eq!(entry.keys().collect::<Vec<_>>(), ["plan_id", "ts"]);
    let ts = entry["ts"].as_f64().expect("float seconds");
    assert!(
        ts >= before - 1.0 && ts <= crate::common::fixture::now() + 1.0,
        "{ts}"
    );
}

#[test]
fn the_holder_who_asks_again_already_holds() {
    let env = Env::new();
    let repo = env.init("repo");
    let first = env.merge(&repo, "acquire --as a").exits(0);
    let queue = std::fs::read(queue_file(&repo)).expect("a queue");
    let again = env.merge(&repo, "acquire --as a").exits(0);
    assert_eq!(again.number("fence"), first.number("fence"));
    again
        .fields(&format!("{ADMITTED} fence expires_at"))
        .says(&[
            ("action", json!("already_held")),
            ("admission", json!("admitted")),
            ("reclaimed", json!(false)),
            ("waiting_count", json!(0)),
        ]);
    assert_eq!(std::fs::read(queue_file(&repo)).expect("a queue"), queue);
    assert_eq!(holder(&repo).as_deref(), Some("a\n"));
}

#[test]
fn the_second_is_blocked_and_keeps_its_place() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "acquire --as b")
        .exits(75)
        .fields_then(BLOCKED, BLOCKED_MORE)
        .says(&[
            ("status", json!("blocked")),
            ("plan_id", json!("b")),
            ("admission", json!("blocked")),
            ("blocking_plan_id", json!("a")),
            ("lock_path", json!(lock_file(&repo).to_str())),
            ("waiting_count", json!(2)),
            ("position", json!(1)),
        ]);
    env.merge(&repo, "acquire --as c")
        .exits(75)
        .says(&[("position", json!(2))]);
    let queue = std::fs::read(queue_file(&repo)).expect("a queue");
    env.merge(&repo, "acquire --as b")
        .exits(75)
        .says(&[("position", json!(1)), ("waiting_count", json!(3))]);
    assert_eq!(std::fs::read(queue_file(&repo)).expect("a queue"), queue);
    assert_eq!(waiting(&repo), ["a", "b", "c"]);
}

#[test]
fn a_repoll_does_not_rewrite_the_queue() {
    use std::os::unix::fs::MetadataExt as _;
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "acquire --as b").exits(75);
    let stamp = || {
        let meta = std::fs::metadata(queue_file(&repo)).expect("a queue");
        (meta.ino(), meta.mtime(), meta.mtime_nsec())
    };
    let before = stamp();
    env.merge(&repo, "acquire --as b").exits(75);
    assert_eq!(stamp(), before);
}

#[test]
fn first_come_first_served_after_a_release() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "acquire --as b").exits(75);
    env.merge(&repo, "acquire --as c").exits(75);
    env.merge(&repo, "release --as a").exits(0);
    env.merge(&repo, "acquire --as c")
        .exits(75)
        .fields_then(BLOCKED, BLOCKED_MORE)
        .says(&[
            ("blocking_plan_id", json!(null)),
            ("position", json!(2)),
            ("waiting_count", json!(2)),
        ]);
    assert_eq!(holder(&repo), None);
    env.merge(&repo, "acquire --as b")
        .exits(0)
        .says(&[("action", json!("acquired"))]);
    env.merge(&repo, "acquire --as c")
        .exits(75)
        .says(&[("blocking_plan_id", json!("b"))]);
}

#[test]
fn the_blocked_learn_since_when_where_and_why() {
    let env = Env::new();
    let repo = env.init("repo");
    let before = crate::common::fixture::now();
    env.call(&repo)
        .args("--format json merge acquire --as a --reason")
        .arg("land the parser")
        .run()
        .exits(0);
    let run = env.merge(&repo, "acquire --as b").exits(75);
    let since = run.number("holder_since");
    assert!(
        since >= before - 1.0 && since <= crate::common::fixture::now() + 1.0,
        "{since}"
    );
    assert!(!run.text("holder_where").is_empty());
    run.says(&[("reason", json!("land the parser"))]);
    env.merge(&repo, "check")
        .says(&[("reason", json!("land the parser"))]);
}

#[test]
fn fences_only_grow() {
    let env = Env::new();
    let repo = env.init("repo");
    keep_plans(&repo);
    plan(&repo, "b");
    let mut fences = Vec::new();
    for _ in 0..2 {
        fences.push(env.merge(&repo, "acquire --as b").exits(0).number("fence"));
        env.merge(&repo, "release --as b").exits(0);
    }
    env.merge(&repo, "acquire --as dead --ttl 1h").exits(0);
    fences.push(env.merge(&repo, "check").number("fence"));
    std::fs::remove_file(lock_file(&repo)).expect("the lock");
    fences.push(env.merge(&repo, "acquire --as b").exits(0).number("fence"));
    env.merge(&repo, "release --as b").exits(0);
    hold(&repo, "gone\n");
    fences.push(env.merge(&repo, "acquire --as b").exits(0).number("fence"));
    assert!(
        fences.windows(2).all(|pair| pair[0] < pair[1]),
        "{fences:?}"
    );
}

#[test]
fn the_front_is_the_first_of_the_list_whatever_its_time() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "early");
    plan(&repo, "late");
    write_queue(
        &repo,
        &json!({"waiting": [
            {"plan_id": "late", "ts": 4_000_000_000.5},
            {"plan_id": "early", "ts": 1.0},
        ]}),
    );
    env.merge(&repo, "acquire --as early")
        .exits(75)
        .says(&[("blocking_plan_id", json!(null)), ("position", json!(2))]);
    env.merge(&repo, "acquire --as late").exits(0);
}

#[test]
fn dead_waiters_are_pruned() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "b");
    queue_of(&repo, &["dead", "../x", "b", "dead-too"]);
    env.merge(&repo, "acquire --as b")
        .exits(0)
        .says(&[("waiting_count", json!(1))]);
    assert_eq!(waiting(&repo), ["b"]);
}

#[test]
fn a_waiter_in_recovery_keeps_its_place() {
    let env = Env::new();
    let repo = env.init("repo");
    mid_recovery(&repo, "recovering");
    plan(&repo, "b");
    queue_of(&repo, &["recovering", "b"]);
    env.merge(&repo, "acquire --as b")
        .exits(75)
        .says(&[("blocking_plan_id", json!(null)), ("position", json!(2))]);
    assert_eq!(waiting(&repo), ["recovering", "b"]);
}

#[test]
fn a_stale_holder_is_reclaimed_by_the_front() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "b");
    hold(&repo, "dead\n");
    queue_of(&repo, &["dead", "b"]);
    env.merge(&repo, "acquire --as b")
        .exits(0)
        .fields(&format!("{ADMITTED} fence reclaimed_from"))
        .says(&[
            ("action", json!("acquired")),
            ("holder", json!("b")),
            ("reclaimed", json!(true)),
            ("reclaimed_from", json!("dead")),
            ("waiting_count", json!(1)),
        ]);
    assert_eq!(holder(&repo).as_deref(), Some("b\n"));
    assert_eq!(waiting(&repo), ["b"]);
}

#[test]
fn only_the_front_reclaims() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "b");
    plan(&repo, "c");
    hold(&repo, "dead\n");
    queue_of(&repo, &["dead", "b", "c"]);
    env.merge(&repo, "acquire --as c")
        .exits(75)
        .says(&[("position", json!(2))]);
    assert_eq!(holder(&repo).as_deref(), Some("dead\n"));
    env.merge(&repo, "acquire --as b")
        .exits(0)
        .says(&[("reclaimed", json!(true))]);
}

#[test]
fn a_stale_holder_with_a_live_worktree_is_left_alone() {
    let env = Env::new();
    let repo = env.init("repo");
    mid_recovery(&repo, "recovering");
    plan(&repo, "b");
    hold(&repo, "recovering\n");
    env.merge(&repo, "acquire --as b")
        .exits(75)
        .fields_then(
            &format!("{BLOCKED} stale_holder_live_worktree"),
            BLOCKED_MORE,
        )
        .says(&[
            ("stale_holder_live_worktree", json!(true)),
            ("blocking_plan_id", json!("recovering")),
        ]);
    assert_eq!(holder(&repo).as_deref(), Some("recovering\n"));
    env.merge(&repo, "check")
        .exits(0)
        .says(&[("staleness", json!("fresh"))]);
}

#[test]
fn an_id_that_nothing_vouches_for_is_granted_with_a_warning() {
    let env = Env::new();
    let repo = env.init("repo");
    keep_plans(&repo);
    let run = env.merge(&repo, "acquire --as nobody-knows").exits(0);
    assert!(run.stderr.contains("warning: "), "{run:#?}");
    env.merge(&repo, "check")
        .says(&[("staleness", json!("stale"))]);
    plan(&repo, "b");
    env.merge(&repo, "acquire --as b")
        .exits(0)
        .says(&[("reclaimed_from", json!("nobody-knows"))]);
}

#[test]
fn a_caller_who_is_vouched_for_gets_no_warning() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "a");
    assert_eq!(env.merge(&repo, "acquire --as a").exits(0).stderr, "");
    let plain = env.init("plain");
    assert_eq!(env.merge(&plain, "acquire").exits(0).stderr, "");
}

#[test]
fn check_of_a_free_lock() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "check --as a")
        .exits(0)
        .fields("status plan_id lock_path")
        .says(&[
            ("status", json!("free")),
            ("plan_id", json!("a")),
            ("lock_path", json!(lock_file(&repo).to_str())),
        ]);
    assert!(!base(&repo).exists());
}

#[test]
fn check_of_a_held_lock() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as a").exits(0);
    for (who, mine) in [("a", true), ("b", false)] {
        env.merge(&repo, &format!("check --as {who}"))
            .exits(0)
            .fields_then(
                "status plan_id holder_plan_id staleness lock_path mine fence",
                "holder_since holder_where reason",
            )
            .says(&[
                ("status", json!("held")),
                ("plan_id", json!(who)),
                ("holder_plan_id", json!("a")),
                ("staleness", json!("fresh")),
                ("lock_path", json!(lock_file(&repo).to_str())),
                ("mine", json!(mine)),
            ]);
    }
}

#[test]
fn check_exit_code_is_one_only_for_another_holder() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "check --as b --exit-code").exits(0);
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "check --as b --exit-code")
        .exits(1)
        .says(&[("status", json!("held"))]);
    env.merge(&repo, "check --as a --exit-code").exits(0);
    env.merge(&repo, "check --as b").exits(0);
}

#[test]
fn check_fence_is_zero_only_for_the_holder_of_that_grant() {
    let env = Env::new();
    let repo = env.init("repo");
    let fence = env.merge(&repo, "acquire --as a").exits(0).number("fence");
    env.merge(&repo, &format!("check --as a --fence {fence}"))
        .exits(0);
    env.merge(&repo, &format!("check --as a --fence {}", fence + 1.0))
        .exits(1);
    env.merge(&repo, &format!("check --as b --fence {fence}"))
        .exits(1);
    env.merge(&repo, "release --as a").exits(0);
    env.merge(&repo, &format!("check --as a --fence {fence}"))
        .exits(1);
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, &format!("check --as a --fence {fence}"))
        .exits(1);
}

#[test]
fn fences_grow_however_often_our_records_are_lost() {
    let env = Env::new();
    let repo = env.init("repo");
    let mut last = 0.0;
    for round in 0..3 {
        for _ in 0..5 {
            let fence = env.merge(&repo, "acquire --as a").exits(0).number("fence");
            assert!(fence > last, "{fence} after {last} in round {round}");
            last = fence;
            env.merge(&repo, "release --as a").exits(0);
        }
        std::fs::remove_dir_all(repo.join(".git/git-locks")).expect("our records");
    }
}
