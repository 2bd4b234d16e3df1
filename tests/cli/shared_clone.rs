//! Two Unix users in one clone. These tests need root, to act as others.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::common::fixture::{base, holder, lock_file, plan, tree};
use crate::common::{Env, Run, needs_root};

/// The first user, the second, and the group they share.
const ANN: u32 = 64_001;
const BEN: u32 = 64_002;
const GROUP: u32 = 64_000;

fn as_user(env: &Env, repo: &Path, uid: u32, args: &str) -> Run {
    env.call(repo)
        .user(env, uid, GROUP)
        .args("--format json merge")
        .args(args)
        .run()
}

/// A clone that belongs to Ann; shared with the group or not.
fn clone(env: &Env, shared: bool) -> PathBuf {
    env.public_bin();
    let repo = env.init_with("repo", if shared { "--shared=group" } else { "" });
    if shared {
        let status = env
            .command("chmod")
            .args(["-R", "g+rwX"])
            .arg(&repo)
            .status();
        assert!(status.expect("chmod runs").success());
        crate::common::chmod(&repo, 0o2775);
    }
    let owner = format!("{ANN}:{GROUP}");
    let status = env
        .command("chown")
        .args(["-R", &owner])
        .arg(&repo)
        .status();
    assert!(status.expect("chown runs").success());
    repo
}

#[test]
fn two_users_take_turns() {
    if !needs_root("shared_clone::two_users_take_turns") {
        return;
    }
    let env = Env::new();
    let repo = clone(&env, true);
    for _ in 0..2 {
        for (first, second) in [(ANN, BEN), (BEN, ANN)] {
            as_user(&env, &repo, first, "acquire --as one").exits(0);
            as_user(&env, &repo, second, "check --as two")
                .exits(0)
                .says(&[
                    ("holder_plan_id", json!("one")),
                    ("staleness", json!("fresh")),
                ]);
            as_user(&env, &repo, second, "acquire --as two").exits(75);
            as_user(&env, &repo, first, "renew --as one").exits(0);
            as_user(&env, &repo, first, "release --as one").exits(0);
            let run = as_user(&env, &repo, second, "acquire --as two").exits(0);
            assert_eq!(run.stderr, "");
            as_user(&env, &repo, second, "release --as two").exits(0);
        }
    }
    as_user(
        &env,
        &repo,
        BEN,
        "rate-window claim --bot-kind robot --as two",
    )
    .exits(0);
    as_user(
        &env,
        &repo,
        ANN,
        "rate-window claim --bot-kind robot --as one",
    )
    .exits(75);
}

#[test]
fn each_may_be_the_first() {
    if !needs_root("shared_clone::each_may_be_the_first") {
        return;
    }
    for (first, second) in [(ANN, BEN), (BEN, ANN)] {
        let env = Env::new();
        let repo = clone(&env, true);
        as_user(&env, &repo, first, "acquire --as one").exits(0);
        as_user(&env, &repo, first, "release --as one").exits(0);
        as_user(&env, &repo, second, "acquire --as two").exits(0);
        for (path, _) in tree(&repo.join(".git/git-locks"))
            .iter()
            .chain(&tree(&base(&repo)))
        {
            let meta = std::fs::symlink_metadata(path).expect("a file");
            let wanted = if meta.is_dir() { 0o070 } else { 0o060 };
            assert_eq!(
                meta.mode() & 0o070,
                wanted,
                "{}: {:o}",
                path.display(),
                meta.mode()
            );
            assert_eq!(meta.gid(), GROUP, "{}", path.display());
        }
    }
}

#[test]
fn a_dead_holder_of_the_other_user_is_reclaimed() {
    if !needs_root("shared_clone::a_dead_holder_of_the_other_user_is_reclaimed") {
        return;
    }
    let env = Env::new();
    let repo = clone(&env, true);
    as_user(&env, &repo, ANN, "acquire --as one --ttl 1s").exits(0);
    let stale = || as_user(&env, &repo, BEN, "check --as two").get("staleness") == json!("stale");
    crate::common::eventually(crate::common::DEADLINE, stale);
    as_user(&env, &repo, BEN, "acquire --as two")
        .exits(0)
        .says(&[("reclaimed_from", json!("one"))]);
}

#[test]
fn an_inferred_identity_that_two_users_share_is_two_holders() {
    if !needs_root("shared_clone::an_inferred_identity_that_two_users_share_is_two_holders") {
        return;
    }
    let env = Env::new();
    let repo = clone(&env, true);
    as_user(&env, &repo, ANN, "acquire")
        .exits(0)
        .says(&[("plan_id", json!("main-checkout"))]);
    as_user(&env, &repo, BEN, "check")
        .exits(0)
        .says(&[("status", json!("held")), ("mine", json!(false))]);
    let run = as_user(&env, &repo, BEN, "acquire");
    assert_ne!(run.code, 0, "{run:#?}");
    assert_ne!(run.get("admission"), json!("admitted"), "{run:#?}");
    let run = as_user(&env, &repo, BEN, "release").exits(1);
    assert!(
        run.text("hint").contains("git locks merge release"),
        "{run:#?}"
    );
    run.says(&[("action", json!("noop"))]);
    assert_eq!(holder(&repo).as_deref(), Some("main-checkout\n"));
    as_user(&env, &repo, BEN, "renew").exits(1);
    as_user(&env, &repo, ANN, "acquire")
        .exits(0)
        .says(&[("action", json!("already_held"))]);
    as_user(&env, &repo, ANN, "release")
        .exits(0)
        .says(&[("action", json!("released"))]);
    as_user(&env, &repo, BEN, "acquire").exits(0);
    as_user(&env, &repo, BEN, "release")
        .exits(0)
        .says(&[("action", json!("released"))]);
}

#[test]
fn without_sharing_the_second_learns_whose_it_is_and_what_to_set() {
    if !needs_root("shared_clone::without_sharing_the_second_learns_whose_it_is_and_what_to_set") {
        return;
    }
    let env = Env::new();
    let repo = clone(&env, false);
    for used_before in [false, true] {
        if used_before {
            as_user(&env, &repo, ANN, "acquire --as one").exits(0);
        }
        let run = as_user(&env, &repo, BEN, "acquire --as two")
            .exits(128)
            .one_line_error();
        assert!(
            run.stderr.contains(&ANN.to_string()),
            "the owner is missing: {run:#?}"
        );
        assert!(
            run.stderr.contains("core.sharedRepository"),
            "the setting is missing: {run:#?}"
        );
        run.says(&[("status", json!("error"))]);
        as_user(&env, &repo, BEN, "check --as two").exits(0);
    }
    as_user(&env, &repo, ANN, "release --as one").exits(0);
    assert!(!lock_file(&repo).exists());
}

#[test]
fn what_root_makes_belongs_to_the_owner_of_the_repository() {
    if !needs_root("shared_clone::what_root_makes_belongs_to_the_owner_of_the_repository") {
        return;
    }
    let env = Env::new();
    let repo = clone(&env, false);
    plan(&repo, "x");
    let status = env
        .command("chown")
        .args(["-R", &format!("{ANN}:{GROUP}")])
        .arg(&repo)
        .status();
    assert!(status.expect("chown runs").success());
    env.git(&repo, "config --global safe.directory *");
    env.merge(&repo, "acquire --as root --ttl 1h").exits(0);
    env.merge(&repo, "release --as root").exits(0);
    for (path, _) in tree(&repo) {
        let meta = std::fs::symlink_metadata(&path).expect("a file");
        assert_eq!(meta.uid(), ANN, "{}", path.display());
    }
    as_user(&env, &repo, ANN, "acquire --as one --ttl 1h").exits(0);
    as_user(&env, &repo, ANN, "release --as one").exits(0);
}
