//! How many slots there are: by flag, environment, git configuration, `marshal.json`, or default.

use std::path::Path;

use serde_json::{Value, json};

use crate::cast::one;
use crate::common::fixture::{base, worktree};
use crate::common::{Call, Env};

/// Writes a `marshal.json` into a directory.
fn marshal(dir: &Path, slots: &Value) {
    std::fs::create_dir_all(dir).expect("a directory");
    let text = json!({"build": {"queue": {"max_slots": slots}}}).to_string();
    std::fs::write(dir.join("marshal.json"), text).expect("a configuration");
}

/// The number of slots that this call goes by.
#[track_caller]
fn seen(call: Call, more: &str) -> u64 {
    let run = call
        .args("--format json build check")
        .args(more)
        .run()
        .exits(0);
    run.get("max_slots").as_u64().expect("a number")
}

#[test]
fn each_way_of_saying_it_beats_the_next() {
    let (env, repo) = one();
    assert_eq!(seen(env.call(&repo), ""), 5);
    std::fs::create_dir_all(base(&repo)).expect("the base");
    marshal(&repo.join(".plan"), &json!(2));
    assert_eq!(seen(env.call(&repo), ""), 2);
    env.git(&repo, "config locks.build.maxSlots 3");
    assert_eq!(seen(env.call(&repo), ""), 3);
    let told = || env.call(&repo).env("GIT_LOCKS_BUILD_MAX_SLOTS", "4");
    assert_eq!(seen(told(), ""), 4);
    assert_eq!(seen(told(), "--max-slots 6"), 6);
    let empty = env.call(&repo).env("GIT_LOCKS_BUILD_MAX_SLOTS", "");
    assert_eq!(seen(empty, ""), 3);
    // It is what a call goes by, not only what it says.
    let run = told()
        .args("--format json build acquire --as a")
        .run()
        .exits(0);
    run.says(&[("max_slots", json!(4))]);
    assert_eq!(env.builds().entry("a")["git_locks"]["slots"], 4);
}

#[test]
fn the_users_git_configuration_counts_too() {
    let (env, repo) = one();
    env.git(&repo, "config --global locks.build.maxSlots 7");
    assert_eq!(seen(env.call(&repo), ""), 7);
    let outside = env.mkdir("outside");
    assert_eq!(seen(env.call(&outside), ""), 7);
}

#[test]
fn where_marshal_json_stands() {
    let env = Env::new();
    let repo = env.init("repo");
    let deep = env.mkdir("repo/deep/down");
    // Without `.plan/local` anywhere: beside the caller.
    marshal(&repo.join(".plan"), &json!(2));
    assert_eq!(seen(env.call(&repo), ""), 2);
    assert_eq!(seen(env.call(&deep), ""), 5);
    marshal(&deep.join(".plan"), &json!(9));
    assert_eq!(seen(env.call(&deep), ""), 9);
    // With it: of the nearest ancestor that has it.
    std::fs::create_dir_all(base(&repo)).expect("the base");
    assert_eq!(seen(env.call(&deep), ""), 2);
    let tree = worktree(&env, &repo, "repo/.plan/local/worktrees/one");
    assert_eq!(seen(env.call(&tree), ""), 2);
    marshal(&tree.join(".plan"), &json!(3));
    assert_eq!(seen(env.call(&tree), ""), 2);
    std::fs::create_dir_all(tree.join(".plan/local")).expect("a base of its own");
    assert_eq!(seen(env.call(&tree), ""), 3);
    // The environment beats both.
    let base_dir = env.mkdir("base");
    marshal(&base_dir, &json!(11));
    let call = || env.call(&repo).env("PLAN_BASE_DIR", &base_dir);
    assert_eq!(seen(call(), "--as a"), 11);
    let tracked = env.mkdir("tracked");
    marshal(&tracked, &json!(12));
    assert_eq!(
        seen(call().env("PLAN_TRACKED_CONFIG_DIR", &tracked), "--as a"),
        12
    );
    let empty = env
        .call(&repo)
        .env("PLAN_BASE_DIR", "")
        .env("PLAN_TRACKED_CONFIG_DIR", "");
    assert_eq!(seen(empty, ""), 2);
    // By another name.
    let named = env.mkdir("repo/.work/local");
    marshal(named.parent().expect("its parent"), &json!(13));
    assert_eq!(seen(env.call(&deep).env("PLAN_DIR_NAME", ".work"), ""), 13);
}

#[test]
fn outside_git_too() {
    let env = Env::new();
    let dir = env.mkdir("plain/deep");
    assert_eq!(seen(env.call(&dir), ""), 5);
    marshal(&env.path("plain/.plan"), &json!(4));
    std::fs::create_dir_all(env.path("plain/.plan/local")).expect("a base");
    assert_eq!(seen(env.call(&dir), ""), 4);
}

#[test]
fn what_marshal_json_may_say() {
    let (env, repo) = one();
    std::fs::create_dir_all(base(&repo)).expect("the base");
    for nothing in [
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(2.5),
        json!(2.0),
        json!("3"),
        json!([3]),
        json!({}),
        Value::Null,
    ] {
        marshal(&repo.join(".plan"), &nothing);
        assert_eq!(seen(env.call(&repo), ""), 5, "{nothing}");
    }
    marshal(&repo.join(".plan"), &json!(1));
    assert_eq!(seen(env.call(&repo), ""), 1);
    for broken in [
        "",
        "not json",
        "[]",
        "3",
        r#"{"build": []}"#,
        r#"{"build": {"queue": 3}}"#,
    ] {
        std::fs::write(repo.join(".plan/marshal.json"), broken).expect("a configuration");
        assert_eq!(seen(env.call(&repo), ""), 5, "{broken}");
    }
    std::fs::remove_file(repo.join(".plan/marshal.json")).expect("it");
    std::fs::create_dir(repo.join(".plan/marshal.json")).expect("a directory");
    assert_eq!(seen(env.call(&repo), ""), 5);
}

#[test]
fn what_others_may_not_say_is_a_usage_error_that_names_them() {
    let (env, repo) = one();
    let wrong = ["0", "-1", "x", "1.5", "true", "99999999999999999999999"];
    for value in wrong {
        let flag = env.call(&repo).args("build acquire --as a");
        let flag = flag.arg(format!("--max-slots={value}")).run().exits(2);
        assert!(flag.stderr.contains("--max-slots"), "{flag:#?}");
        let call = env.call(&repo).env("GIT_LOCKS_BUILD_MAX_SLOTS", value);
        let run = call.args("build acquire --as a").run().exits(2);
        assert!(run.stderr.contains("GIT_LOCKS_BUILD_MAX_SLOTS"), "{run:#?}");
        env.git(&repo, &format!("config locks.build.maxSlots {value}"));
        let run = env.call(&repo).args("build acquire --as a").run().exits(2);
        assert!(
            run.stderr.to_lowercase().contains("locks.build.maxslots"),
            "{run:#?}"
        );
        // What is beaten is not read.
        env.build(&repo, "check --max-slots 2").exits(0);
        env.git(&repo, "config --unset locks.build.maxSlots");
    }
    assert!(!env.builds().path().exists());
}

#[test]
fn nobody_is_admitted_beyond_its_own_number() {
    let (env, repo) = one();
    let queue = env.builds();
    for id in ["a", "b"] {
        env.build(&repo, &format!("acquire --max-slots 3 --as {id}"))
            .exits(0);
    }
    env.build(&repo, "acquire --max-slots 2 --as small")
        .exits(75)
        .says(&[("max_slots", json!(2))]);
    // One with a larger number goes ahead of one that cannot use the slot.
    env.build(&repo, "acquire --max-slots 3 --as large")
        .exits(0);
    assert_eq!(queue.active(), ["a", "b", "large"]);
    env.build(&repo, "acquire --max-slots 3 --as next")
        .exits(75)
        .says(&[("position", json!(2))]);
    let next = queue.id_of("next");
    env.build(&repo, "release --max-slots 3 --as a")
        .exits(0)
        .says(&[("promoted", json!(next))]);
    assert_eq!(
        (queue.active(), queue.waiting()),
        (
            vec!["b".into(), "large".into(), "next".into()],
            vec!["small".into()]
        )
    );
    env.build(&repo, "release --max-slots 3 --as b")
        .exits(0)
        .says(&[("promoted", Value::Null)]);
    let small = queue.id_of("small");
    env.build(&repo, "release --max-slots 3 --as large")
        .exits(0)
        .says(&[("promoted", json!(small))]);
    assert_eq!(queue.active(), ["next", "small"]);
}

#[test]
fn a_number_can_change_while_one_waits() {
    let (env, repo) = one();
    env.build(&repo, "acquire --max-slots 1 --as a").exits(0);
    let id = env
        .build(&repo, "acquire --max-slots 1 --as b")
        .exits(75)
        .get("id");
    env.build(&repo, "acquire --max-slots 2 --as b")
        .exits(0)
        .says(&[("id", id), ("active_count", json!(2))]);
    // Fewer than there are take nothing from those who have one.
    env.build(&repo, "acquire --max-slots 1 --as b").exits(0);
    env.build(&repo, "acquire --max-slots 1 --as a").exits(0);
    assert_eq!(env.builds().active(), ["a", "b"]);
}
