//! `renew`: a slot that a lease keeps, kept for longer.

use serde_json::{Value, json};

use crate::cast::{asks, leaves, one, two};
use crate::common::fixture::{now, plan};
use crate::common::{DEADLINE, eventually};
use crate::stage::Stage;

const RENEWED: &str = "status plan_id id action queue_path";

#[test]
fn a_lease_runs_anew() {
    let (env, repo) = one();
    let queue = env.builds();
    let id = env
        .build(&repo, "acquire --as a --ttl 10m")
        .exits(0)
        .get("id");
    let run = env.build(&repo, "renew --as a").exits(0);
    let run = run.fields(&format!("{RENEWED} slot expires_at")).says(&[
        ("status", json!("success")),
        ("plan_id", json!("a")),
        ("id", id.clone()),
        ("action", json!("renewed")),
        ("queue_path", json!(queue.path())),
        ("slot", json!(1)),
    ]);
    let left = run.number("expires_at") - now();
    assert!(
        (540.0..=600.0).contains(&left),
        "its own length again: {left}"
    );
    let run = env.build(&repo, "renew --as a --ttl 5h").exits(0);
    assert!(run.number("expires_at") - now() > 17_000.0);
    let run = env.build(&repo, "renew --as a").exits(0);
    assert!(run.number("expires_at") - now() > 17_000.0);
}

#[test]
fn by_the_entry_from_elsewhere() {
    let (env, repo, there) = two();
    let id = env
        .build(&repo, "acquire --as a --ttl 10m")
        .exits(0)
        .text("id");
    env.build(&there, &format!("renew --as other --id {id} --ttl 2h"))
        .exits(0)
        .says(&[("id", json!(id)), ("action", json!("renewed"))]);
    env.build(&there, "renew --as a").exits(1);
}

#[test]
fn what_is_lost() {
    let (env, repo) = one();
    let queue = env.builds();
    let lost = |args: &str| {
        env.build(&repo, args).exits(1).says(&[
            ("status", json!("refused")),
            ("reason", json!("lock_lost")),
            ("queue_path", json!(queue.path())),
        ])
    };
    lost("renew --as a");
    assert!(!queue.path().exists());
    asks(&env, &repo, "a", 0);
    asks(&env, &repo, "b", 75);
    // One that waits has nothing to lose yet.
    lost("renew --as b");
    lost("renew --as c");
    lost("renew --id a:none");
    leaves(&env, &repo, "a");
    lost("renew --as a");
}

#[test]
fn a_plan_keeps_no_lease() {
    let (env, repo) = one();
    plan(&repo, "a");
    asks(&env, &repo, "a", 0);
    let run = env.build(&repo, "renew --as a").exits(0);
    let run = run.fields(&format!("{RENEWED} slot"));
    assert_eq!(run.get("action"), "noop");
    // Unless it asks for one.
    let run = env.build(&repo, "renew --as a --ttl 1h").exits(0);
    assert_eq!(run.get("action"), "renewed");
    assert!(run.number("expires_at") > now());
    assert_eq!(env.builds().entry("a")["git_locks"]["kind"], "leased");
}

#[test]
fn one_whose_lease_is_over_is_pruned_by_the_next() {
    let (env, repo, there) = two();
    let queue = env.builds();
    env.build(&repo, "acquire --max-slots 1 --as a --ttl 1s")
        .exits(0);
    eventually(DEADLINE, || {
        let code = env.build(&there, "acquire --max-slots 1 --as b").code;
        code == 0
    });
    assert_eq!(queue.active(), ["b"]);
    env.build(&repo, "renew --as a")
        .exits(1)
        .says(&[("reason", json!("lock_lost"))]);
}

#[test]
fn not_the_slot_of_a_run() {
    let stage = Stage::new();
    let mut run = stage.starts("--as me", "log begin; hold me");
    stage.noted("begin");
    let record = |field: &str| stage.builds().entry("me")["git_locks"][field].clone();
    let before = record("kind");
    let renewed = stage.build("renew --as me --ttl 9h");
    assert_ne!(renewed.get("action"), json!("renewed"), "{renewed:#?}");
    assert_eq!(record("kind"), before);
    assert_ne!(record("kind"), Value::Null);
    stage.let_go("me");
    run.wait(DEADLINE).exits(0);
}
