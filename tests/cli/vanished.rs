//! A lock file that vanishes under a holder that has no presence: its removal is respected.

use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::json;

use crate::common::Env;
use crate::common::fixture::{holder, keep_plans, lock_file, plan, plan_worktree, waiting};

/// A process that runs until its standard input closes.
fn companion(env: &Env) -> Child {
    env.command("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("cat")
}

fn remove(env: &Env, repo: &Path, how: &str) {
    if how == "rm" {
        std::fs::remove_file(lock_file(repo)).expect("the lock");
    } else {
        env.git(repo, how);
    }
    assert_eq!(holder(repo), None);
}

/// `a`, whose lock file is gone, has lost it, and the next caller has it.
#[track_caller]
fn respected(env: &Env, repo: &Path, fence: f64) {
    env.merge(repo, "check").says(&[("status", json!("free"))]);
    let next = env.merge(repo, "acquire --as b --ttl 1h").exits(0);
    assert!(next.number("fence") > fence, "{next:#?}");
    next.says(&[
        ("action", json!("acquired")),
        ("reclaimed_from", json!(null)),
        ("waiting_count", json!(1)),
    ]);
    assert_eq!(holder(repo).as_deref(), Some("b\n"));
    assert_eq!(waiting(repo), ["b"]);
    env.merge(repo, "renew --as a")
        .exits(1)
        .says(&[("reason", json!("lock_lost"))]);
    env.merge(repo, "acquire --as a")
        .exits(75)
        .says(&[("blocking_plan_id", json!("b"))]);
    env.merge(repo, "release --as a")
        .exits(0)
        .says(&[("action", json!("noop"))]);
    env.merge(repo, "release --as b")
        .exits(0)
        .says(&[("action", json!("released"))]);
    assert_eq!((holder(repo), waiting(repo)), (None, Vec::new()));
}

#[test]
fn under_a_plan() {
    let env = Env::new();
    for (number, how) in ["rm", "clean -q -fdx"].into_iter().enumerate() {
        let repo = env.init(format!("repo-{number}"));
        plan(&repo, "a");
        let fence = env.merge(&repo, "acquire --as a").exits(0).number("fence");
        remove(&env, &repo, how);
        // The plan itself lives on.
        plan(&repo, "a");
        respected(&env, &repo, fence);
    }
}

#[test]
fn under_a_process() {
    let env = Env::new();
    for (number, (how, plans)) in [
        ("rm", false),
        ("rm", true),
        ("clean -q -fdx", false),
        ("clean -q -fdx", true),
    ]
    .into_iter()
    .enumerate()
    {
        let repo = env.init(format!("repo-{number}"));
        if plans {
            keep_plans(&repo);
        }
        let mut child = companion(&env);
        let args = format!("acquire --as a --while-pid {}", child.id());
        let fence = env.merge(&repo, &args).exits(0).number("fence");
        remove(&env, &repo, how);
        respected(&env, &repo, fence);
        assert!(
            !plan_worktree(&repo, "a").exists(),
            "{how}: a witness stayed"
        );
        drop(child.stdin.take());
        child.wait().expect("it ends");
    }
}
