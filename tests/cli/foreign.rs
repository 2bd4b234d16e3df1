//! State that other programs wrote: what we keep, what we make of it, where plans are kept and not.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::common::fixture::{
    base, hold, holder, keep_plans, lock_file, moved_plan, now, plan, plan_worktree, queue_file,
    queue_of, read_queue, waiting, write_queue,
};
use crate::common::{DEADLINE, Env, eventually};

/// Makes `file` this old.
fn age(file: &Path, seconds: u64) {
    let then = SystemTime::now() - Duration::from_secs(seconds);
    File::options()
        .write(true)
        .open(file)
        .expect("a file")
        .set_modified(then)
        .expect("utimes");
}

/// A queue as only another program could have written it.
const FOREIGN: &str = r#"{
  "zeta": 123456789012345678901234567890,
  "waiting": [
    {"note": "caf\u00e9", "plan_id": "a", "ts": 1.10, "weight": 1.000, "deep": {"z": 1, "a": [1E5]}},
    {"plan_id": "b", "ts": 2.5}
  ],
  "alpha": {"y": 0.1000, "x": null},
  "rate_windows": {"robot": {"holder": null, "pr_number": 3, "expires_at": null, "attempts": 1, "more": 12345678901234567890123}}
}
"#;

/// `text` without the blanks between tokens.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn unknown_keys_are_kept_to_the_byte() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "a");
    plan(&repo, "b");
    plan(&repo, "c");
    std::fs::write(queue_file(&repo), FOREIGN).expect("a queue");
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "acquire --as c").exits(75);
    let text = squeezed(&std::fs::read_to_string(queue_file(&repo)).expect("a queue"));
    for kept in [
        r#"{"zeta":123456789012345678901234567890,"waiting":[{"note":"#,
        r#""plan_id":"a","ts":1.10,"weight":1.000,"deep":{"z":1,"a":[1E5]}},{"plan_id":"b","ts":2.5},{"plan_id":"c","ts":"#,
        r#""alpha":{"y":0.1000,"x":null},"rate_windows":{"robot":{"holder":null,"pr_number":3,"#,
        r#""attempts":1,"more":12345678901234567890123}}}"#,
    ] {
        assert!(text.contains(kept), "{kept} is missing from {text}");
    }
    assert_eq!(read_queue(&repo)["waiting"][0]["note"], json!("café"));
    env.merge(&repo, "release --as a").exits(0);
    let queue = read_queue(&repo);
    let keys: Vec<_> = queue.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["zeta", "waiting", "alpha", "rate_windows"]);
    assert_eq!(waiting(&repo), ["b", "c"]);
}

#[test]
fn a_claim_keeps_unknown_keys_of_its_window_and_all_others() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "a");
    std::fs::write(queue_file(&repo), FOREIGN).expect("a queue");
    env.merge(
        &repo,
        "rate-window claim --bot-kind robot --pr-number 3 --as a",
    )
    .exits(0);
    let text = squeezed(&std::fs::read_to_string(queue_file(&repo)).expect("a queue"));
    for kept in [
        r#""zeta":123456789012345678901234567890"#,
        r#""ts":1.10,"weight":1.000,"deep":{"z":1,"a":[1E5]}"#,
        r#""more":12345678901234567890123"#,
        r#""alpha":{"y":0.1000,"x":null}"#,
    ] {
        assert!(text.contains(kept), "{kept} is missing from {text}");
    }
}

#[test]
fn a_living_plan_that_holds_is_respected() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "on-main");
    moved_plan(&repo, "moved");
    plan(&repo, "me");
    for who in ["on-main", "moved"] {
        hold(&repo, format!("{who}\n"));
        queue_of(&repo, &[who]);
        env.merge(&repo, "check").says(&[
            ("holder_plan_id", json!(who)),
            ("staleness", json!("fresh")),
            ("fence", json!(null)),
        ]);
        env.merge(&repo, "acquire --as me")
            .exits(75)
            .says(&[("blocking_plan_id", json!(who)), ("position", json!(1))]);
        std::fs::remove_file(lock_file(&repo)).expect("the lock");
        queue_of(&repo, &[]);
    }
}

#[test]
fn a_holder_written_by_hand_without_its_newline() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "other");
    hold(&repo, "other");
    env.merge(&repo, "check").says(&[
        ("holder_plan_id", json!("other")),
        ("staleness", json!("fresh")),
    ]);
    env.merge(&repo, "release --as other")
        .exits(0)
        .says(&[("action", json!("released"))]);
    assert_eq!(holder(&repo), None);
}

#[test]
fn the_holder_itself_may_come_through_us() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "me");
    hold(&repo, "me\n");
    queue_of(&repo, &["me"]);
    env.merge(&repo, "acquire --as me")
        .exits(0)
        .says(&[("action", json!("already_held"))]);
    env.merge(&repo, "release --as me")
        .exits(0)
        .says(&[("action", json!("released"))]);
    assert_eq!((holder(&repo), waiting(&repo)), (None, vec![]));
}

#[test]
fn where_no_plans_are_kept_a_foreign_holder_is_leased_from_its_files_time() {
    let env = Env::new();
    let repo = env.init("repo");
    hold(&repo, "other\n");
    env.merge(&repo, "check")
        .says(&[("staleness", json!("fresh"))]);
    env.merge(&repo, "acquire --as me").exits(75);
    env.merge(&repo, "release --as me").exits(0);
    age(&lock_file(&repo), 2 * 3600);
    env.merge(&repo, "check")
        .says(&[("staleness", json!("stale"))]);
    env.merge(&repo, "acquire --as me")
        .exits(0)
        .says(&[("reclaimed_from", json!("other"))]);
}

#[test]
fn where_no_plans_are_kept_a_foreign_waiter_is_leased_from_its_time() {
    let env = Env::new();
    let repo = env.init("repo");
    let now = crate::common::fixture::now();
    write_queue(
        &repo,
        &json!({"waiting": [{"plan_id": "old", "ts": now - 7200.0}, {"plan_id": "new", "ts": now}]}),
    );
    env.merge(&repo, "acquire --as me")
        .exits(75)
        .says(&[("position", json!(2))]);
    assert_eq!(waiting(&repo), ["new", "me"]);
}

#[test]
fn a_lock_being_born_blocks_and_an_empty_one_is_dead() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "me");
    hold(&repo, "");
    env.merge(&repo, "acquire --as me").exits(75);
    age(&lock_file(&repo), 60);
    eventually(DEADLINE, || env.merge(&repo, "acquire --as me").code == 0);
    assert_eq!(holder(&repo).as_deref(), Some("me\n"));
}

#[test]
fn wrong_shapes_are_empty_by_themselves() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "a");
    plan(&repo, "b");
    write_queue(
        &repo,
        &json!({"kept": 1, "waiting": {"not": "a list"}, "also": [2]}),
    );
    env.merge(&repo, "acquire --as a")
        .exits(0)
        .says(&[("waiting_count", json!(1))]);
    let queue = read_queue(&repo);
    assert_eq!((&queue["kept"], &queue["also"]), (&json!(1), &json!([2])));
    write_queue(
        &repo,
        &json!({"waiting": [
            3, null, {"plan_id": 4}, {"ts": 1.0}, "a",
            {"plan_id": "a", "ts": "early"},
            {"plan_id": "b"},
        ]}),
    );
    env.merge(&repo, "release --as a")
        .exits(0)
        .says(&[("waiting_count", json!(1))]);
    assert_eq!(waiting(&repo), ["b"]);
}

#[test]
fn what_is_no_json_object_is_set_aside_once() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "a");
    let aside = base(&repo).join("merge-queue.json.corrupt");
    for text in ["not json", "[1, 2]", "{\"waiting\": [", "\0\0\0"] {
        std::fs::write(queue_file(&repo), text).expect("a broken queue");
        let seen = env.merge(&repo, "check").exits(0);
        assert_eq!(seen.get("status"), json!("free"));
        assert!(!aside.exists(), "check wrote");
        let run = env.merge(&repo, "acquire --as a").exits(0);
        assert!(
            run.stderr.contains("warning: ") && run.stderr.contains("corrupt"),
            "{run:#?}"
        );
        assert_eq!(std::fs::read_to_string(&aside).ok().as_deref(), Some(text));
        assert_eq!(waiting(&repo), ["a"]);
        env.merge(&repo, "release --as a").exits(0);
        std::fs::remove_file(&aside).expect("what was set aside");
    }
}

#[test]
fn an_empty_queue_file_is_an_empty_queue() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "a");
    std::fs::write(queue_file(&repo), "").expect("an empty queue");
    env.merge(&repo, "acquire --as a").exits(0);
    assert_eq!(waiting(&repo), ["a"]);
}

#[test]
fn our_own_broken_state_does_not_let_a_second_in() {
    let env = Env::new();
    let repo = env.init("repo");
    let first = env.merge(&repo, "acquire --as a").exits(0).number("fence");
    std::fs::write(repo.join(".git/git-locks/merge.json"), "{broken").expect("broken records");
    env.merge(&repo, "acquire --as b")
        .exits(75)
        .says(&[("blocking_plan_id", json!("a"))]);
    env.merge(&repo, "release --as a")
        .exits(0)
        .says(&[("action", json!("released"))]);
    let next = env.merge(&repo, "acquire --as b").exits(0).number("fence");
    assert!(next > first && next > 1e9, "{next}");
}

#[test]
fn another_kind_of_holder_leaves_a_witness_for_programs_that_know_plans_only() {
    let env = Env::new();
    let repo = env.init("repo");
    keep_plans(&repo);
    let witness = plan_worktree(&repo, "me").join(".plan/local/plans/me");
    env.merge(&repo, "acquire --as me --ttl 1h").exits(0);
    assert!(witness.is_dir());
    env.merge(&repo, "release --as me").exits(0);
    assert!(!plan_worktree(&repo, "me").exists());
    env.merge(&repo, "acquire --as me --ttl 1s").exits(0);
    assert!(witness.is_dir());
    // The witness is not evidence: the lease alone decides.
    eventually(DEADLINE, || {
        env.merge(&repo, "check").get("staleness") == json!("stale")
    });
    plan(&repo, "b");
    env.merge(&repo, "acquire --as b")
        .exits(0)
        .says(&[("reclaimed_from", json!("me"))]);
    assert!(!plan_worktree(&repo, "me").exists());
}

#[test]
fn a_witness_never_takes_anything_else_with_it() {
    let env = Env::new();
    let repo = env.init("repo");
    keep_plans(&repo);
    let theirs = plan_worktree(&repo, "me");
    std::fs::create_dir_all(&theirs).expect("a directory of theirs");
    std::fs::write(theirs.join("precious"), "x").expect("a file of theirs");
    env.merge(&repo, "acquire --as me --ttl 1h").exits(0);
    env.merge(&repo, "release --as me").exits(0);
    assert_eq!(
        std::fs::read_to_string(theirs.join("precious"))
            .ok()
            .as_deref(),
        Some("x")
    );
    assert!(!theirs.join(".plan").exists());
}

#[test]
fn where_no_plans_are_kept_there_is_no_witness() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as me").exits(0);
    assert!(!base(&repo).join("worktrees").exists());
}

#[test]
fn a_lock_that_vanished_is_free_again_and_its_holder_renews_nothing() {
    let env = Env::new();
    let repo = env.init("repo");
    let first = env.merge(&repo, "acquire --as a").exits(0).number("fence");
    env.git(&repo, "clean -q -fdx");
    assert!(!lock_file(&repo).exists());
    env.merge(&repo, "check").says(&[("status", json!("free"))]);
    env.merge(&repo, "renew --as a")
        .exits(1)
        .says(&[("reason", json!("lock_lost"))]);
    let next = env.merge(&repo, "acquire --as b").exits(0).number("fence");
    assert!(next > first);
    env.merge(&repo, "release --as a")
        .exits(0)
        .says(&[("action", json!("noop"))]);
    assert_eq!(holder(&repo).as_deref(), Some("b\n"));
}

#[test]
fn a_lock_file_made_anew_for_the_same_plan_is_not_our_lease() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "a");
    plan(&repo, "b");
    env.merge(&repo, "acquire --as a --ttl 1s").exits(0);
    // Another program releases and acquires for the same plan, at once.
    std::fs::remove_file(lock_file(&repo)).expect("held");
    hold(&repo, "a\n");
    let made = now();
    eventually(DEADLINE, || now() > made + 1.1);
    env.merge(&repo, "check --as b")
        .says(&[("staleness", json!("fresh"))]);
    env.merge(&repo, "acquire --as b").exits(75);
}

/// The worktree of plan `p`, which another program recorded as the holder.
fn holding_plan(env: &Env, repo: &Path) -> std::path::PathBuf {
    env.git(repo, "worktree add -q --detach .plan/local/worktrees/p");
    let tree = plan_worktree(repo, "p");
    moved_plan(repo, "p");
    hold(repo, "p\n");
    queue_of(repo, &["p"]);
    tree
}

#[test]
fn a_foreign_plan_that_asks_again_without_its_name_is_still_judged_as_a_plan() {
    for (verb, action) in [("acquire", "already_held"), ("renew", "noop")] {
        let env = Env::new();
        let repo = env.init("repo");
        let tree = holding_plan(&env, &repo);
        let call = env.call(&tree).env("GIT_LOCKS_TTL", "1s");
        let run = call.args("--format json merge").args(verb).run().exits(0);
        run.says(&[("action", json!(action)), ("plan_id", json!("p"))]);
        let start = now();
        eventually(DEADLINE, || {
            let run = env
                .call(&repo)
                .env("GIT_LOCKS_TTL", "1s")
                .args("--format json merge check")
                .run();
            run.exits(0).says(&[
                ("holder_plan_id", json!("p")),
                ("staleness", json!("fresh")),
            ]);
            now() > start + 1.5
        });
        plan(&repo, "other");
        env.merge(&repo, "acquire --as other")
            .exits(75)
            .says(&[("blocking_plan_id", json!("p"))]);
        // And it is gone when the plan is gone.
        std::fs::remove_dir_all(&tree).expect("its worktree");
        env.git(&repo, "worktree prune");
        env.merge(&repo, "acquire --as other")
            .exits(0)
            .says(&[("reclaimed_from", json!("p"))]);
    }
}
