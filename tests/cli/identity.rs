//! Who a caller is when it says so, and when it does not.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::common::Env;
use crate::common::fixture::{holder, keep_plans, plan_worktree, worktree};

/// The id a caller in `dir` gets.
#[track_caller]
fn id_in(env: &Env, dir: &Path) -> String {
    env.merge(dir, "check").exits(0).text("plan_id")
}

/// The suffix that tells `name` from others that look alike.
fn suffix(name: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(name.as_ref());
    format!("-{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2])
}

/// Whether `id` is a plan id.
fn is_id(id: &str) -> bool {
    let mut bytes = id.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_lowercase())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && id.len() <= 200
}

#[test]
fn the_main_checkout_whatever_is_checked_out() {
    let env = Env::new();
    let repo = env.init("repo");
    assert_eq!(id_in(&env, &repo), "main-checkout");
    assert_eq!(id_in(&env, &env.mkdir("repo/sub")), "main-checkout");
    env.git(&repo, "checkout -q -b Feature/X");
    assert_eq!(id_in(&env, &repo), "main-checkout");
    env.git(&repo, "checkout -q --detach");
    assert_eq!(id_in(&env, &repo), "main-checkout");
}

#[test]
fn a_branch_switch_between_acquire_and_release() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire").exits(0);
    env.git(&repo, "checkout -q -b other");
    env.merge(&repo, "release")
        .exits(0)
        .says(&[("action", json!("released"))]);
}

#[test]
fn a_linked_worktree_is_called_as_git_calls_it() {
    let env = Env::new();
    let repo = env.init("repo");
    let one = worktree(&env, &repo, "a/topic");
    let two = worktree(&env, &repo, "b/topic");
    assert_eq!(id_in(&env, &one), "topic");
    assert_eq!(id_in(&env, &two), "topic1");
    assert_eq!(id_in(&env, &env.mkdir("a/topic/sub")), "topic");
    env.git(&repo, "worktree move ../a/topic ../elsewhere");
    assert_eq!(id_in(&env, &env.path("elsewhere")), "topic");
}

#[test]
fn inside_a_plans_worktree_it_is_the_plan() {
    let env = Env::new();
    let repo = env.init("repo");
    env.git(
        &repo,
        "worktree add -q --detach .plan/local/worktrees/my-plan",
    );
    let tree = plan_worktree(&repo, "my-plan");
    std::fs::create_dir(tree.join("deep")).expect("a directory");
    assert_eq!(id_in(&env, &tree), "my-plan");
    assert_eq!(id_in(&env, &tree.join("deep")), "my-plan");
}

#[test]
fn the_plans_directory_wins_over_gits_name() {
    let env = Env::new();
    let repo = env.init("repo");
    worktree(&env, &repo, "other/my-plan");
    env.git(
        &repo,
        "worktree add -q --detach .plan/local/worktrees/my-plan",
    );
    assert!(repo.join(".git/worktrees/my-plan1").exists());
    assert_eq!(id_in(&env, &plan_worktree(&repo, "my-plan")), "my-plan");
}

#[test]
fn names_that_are_no_ids() {
    let env = Env::new();
    let repo = env.init("repo");
    for (name, start) in [
        ("Feature", "feature"),
        ("2026-x", "x-2026-x"),
        ("a_b.c", "a-b-c"),
    ] {
        let dir = worktree(&env, &repo, name);
        assert_eq!(
            id_in(&env, &dir),
            format!("{start}{}", suffix(name)),
            "{name}"
        );
    }
}

#[test]
fn names_that_are_not_ascii_or_not_utf8() {
    let env = Env::new();
    let repo = env.init("repo");
    for name in [
        OsStr::new("été"),
        OsStr::new("日本"),
        OsStr::from_bytes(b"x\xff\xfe"),
    ] {
        let dir = worktree(&env, &repo, name);
        let id = id_in(&env, &dir);
        assert!(is_id(&id), "{id}");
        assert!(id.ends_with(&suffix(name.as_bytes())), "{id}");
    }
}

#[test]
fn long_names_are_cut() {
    let env = Env::new();
    let repo = env.init("repo");
    let fits = "f".repeat(200);
    assert_eq!(id_in(&env, &worktree(&env, &repo, &fits)), fits);
    let long = "g".repeat(230);
    let id = id_in(&env, &worktree(&env, &repo, &long));
    assert!(is_id(&id) && id.ends_with(&suffix(&long)), "{id}");
}

#[test]
fn names_that_would_collide_do_not() {
    let env = Env::new();
    let repo = env.init("repo");
    let names = [
        "topic",
        "Topic",
        "to_pic",
        "to-pic",
        "main-checkout",
        "x-1",
        "1",
    ];
    let mut ids: Vec<String> = names
        .iter()
        .map(|name| id_in(&env, &worktree(&env, &repo, name)))
        .collect();
    ids.push(id_in(&env, &repo));
    assert!(ids.iter().all(|id| is_id(id)), "{ids:?}");
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
    assert_eq!(ids[4], format!("main-checkout{}", suffix("main-checkout")));
    assert_eq!(ids[0], "topic");
}

#[test]
fn what_is_said_wins() {
    let env = Env::new();
    let repo = env.init("repo");
    let by_env = |args: &str| {
        let call = env.call(&repo).env("GIT_LOCKS_PLAN_ID", "from-env");
        call.args("--format json merge check")
            .args(args)
            .run()
            .exits(0)
            .text("plan_id")
    };
    assert_eq!(by_env(""), "from-env");
    assert_eq!(by_env("--plan-id from-flag"), "from-flag");
    assert_eq!(by_env("--as from-alias"), "from-alias");
}

#[test]
fn an_empty_variable_says_nothing() {
    let env = Env::new();
    let repo = env.init("repo");
    let run = env
        .call(&repo)
        .env("GIT_LOCKS_PLAN_ID", "")
        .args("--format json merge check")
        .run();
    assert_eq!(run.exits(0).text("plan_id"), "main-checkout");
}

#[test]
fn the_longest_id_and_one_more() {
    let env = Env::new();
    let repo = env.init("repo");
    let id = "a".repeat(200);
    env.merge(&repo, &format!("acquire --as {id}")).exits(0);
    assert_eq!(holder(&repo), Some(format!("{id}\n")));
    env.merge(&repo, &format!("acquire --as {id}a")).exits(2);
}

#[test]
fn an_inferred_identity_is_never_taken_for_a_plan() {
    let env = Env::new();
    let repo = env.init("repo");
    keep_plans(&repo);
    let linked = worktree(&env, &repo, "linked");
    let run = env.merge(&linked, "acquire").exits(0);
    assert!(run.number("expires_at") > 0.0);
    env.merge(&repo, "check").says(&[
        ("holder_plan_id", json!("linked")),
        ("staleness", json!("fresh")),
        ("mine", json!(false)),
    ]);
    env.merge(&linked, "release")
        .exits(0)
        .says(&[("action", json!("released"))]);
}

#[test]
fn an_inferred_holder_who_asks_again_is_told_since_when() {
    let env = Env::new();
    let repo = env.init("repo");
    assert_eq!(env.merge(&repo, "acquire").exits(0).stderr, "");
    let again = env.merge(&repo, "acquire").exits(0);
    assert!(
        again.stderr.starts_with("note: main-checkout has held"),
        "{again:#?}"
    );
    again.says(&[("action", json!("already_held"))]);
    assert_eq!(env.merge(&repo, "acquire -q").exits(0).stderr, "");
    env.merge(&repo, "release").exits(0);
    env.merge(&repo, "acquire --as explicit").exits(0);
    assert_eq!(
        env.merge(&repo, "acquire --as explicit").exits(0).stderr,
        ""
    );
}

#[test]
fn in_a_bare_repository_callers_have_a_name_too() {
    let env = Env::new();
    env.init("origin");
    env.git(env.root(), "clone -q --bare origin bare.git");
    let bare = env.path("bare.git");
    let linked = worktree(&env, &bare, "linked");
    assert!(is_id(&id_in(&env, &bare)));
    assert_eq!(id_in(&env, &linked), "linked");
}
