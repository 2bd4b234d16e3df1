//! Every place from which one may build: which project it is of, and under which name.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::Env;
use crate::common::fixture::{plan, tree, worktree};

/// The entry that a caller in `dir` without a name gets, and lets go of again.
#[track_caller]
fn entry_from(env: &Env, dir: &Path) -> Value {
    let run = env.build(dir, "acquire").exits(0);
    let entry = env.builds().entry(&run.text("plan_id"));
    env.build(dir, "release")
        .exits(0)
        .says(&[("action", json!("released"))]);
    entry
}

/// Callers in these directories without a name are of this project.
#[track_caller]
fn all_of(env: &Env, root: &Path, dirs: &[(&Path, &str)]) {
    for (dir, name) in dirs {
        let entry = entry_from(env, dir);
        assert_eq!(entry["project_root"], json!(root), "{}", dir.display());
        assert_eq!(entry["plan_id"], *name, "{}", dir.display());
    }
}

#[test]
fn a_main_checkout_and_its_worktrees() {
    let env = Env::new();
    let repo = env.init("repo");
    let deep = env.mkdir("repo/deep/down");
    let linked = worktree(&env, &repo, "linked");
    let seen = [
        (&*repo, "main-checkout"),
        (&*deep, "main-checkout"),
        (&*linked, "linked"),
    ];
    all_of(&env, &repo, &seen);
    assert_eq!(env.git(&repo, "status --porcelain"), "");
    assert_eq!(env.git(&linked, "status --porcelain"), "");
    let planned = worktree(&env, &repo, "repo/.plan/local/worktrees/task");
    all_of(&env, &repo, &[(&*planned, "task")]);
}

#[test]
fn a_bare_repository_and_its_worktrees() {
    let env = Env::new();
    env.init("origin");
    env.git(env.root(), "clone -q --bare origin bare.git");
    let bare = env.path("bare.git");
    let linked = worktree(&env, &bare, "linked");
    let inside = entry_from(&env, &bare);
    assert_eq!(inside["project_root"], json!(bare));
    all_of(&env, &bare, &[(&linked, "linked")]);
    let logs = bare.join("git-locks/logs");
    assert!(!tree(&logs).is_empty(), "no timeline in {}", logs.display());
}

#[test]
fn a_submodule_is_a_project_of_its_own() {
    let env = Env::new();
    env.init("library");
    let above = env.init("above");
    env.git(
        &above,
        "-c protocol.file.allow=always submodule --quiet add ../library lib/one",
    );
    let module = above.join("lib/one");
    assert_eq!(entry_from(&env, &module)["project_root"], json!(module));
    assert_eq!(entry_from(&env, &above)["project_root"], json!(above));
}

#[test]
fn a_separate_git_directory() {
    let env = Env::new();
    let repo = env.init_with("repo", "--separate-git-dir=../store.git");
    assert_eq!(
        entry_from(&env, &repo)["project_root"],
        json!(env.path("store.git"))
    );
}

#[test]
fn outside_git() {
    let env = Env::new();
    let dir = env.mkdir("My Project");
    let entry = entry_from(&env, &dir);
    assert_eq!(entry["project_root"], json!(dir));
    let id = entry["plan_id"].as_str().expect("an id");
    assert!(id.starts_with("my-project-"), "{id}");
    let plain = env.mkdir("plain");
    all_of(&env, &plain, &[(&plain, "plain")]);
    assert_eq!(tree(&plain), [], "something was written there");
    // Elsewhere of the same name is another.
    let other = env.mkdir("other/plain");
    env.build(&plain, "acquire --max-slots 1").exits(0);
    env.build(&other, "acquire --max-slots 1").exits(75);
    env.build(&other, "release --max-slots 1").exits(0);
    env.build(&plain, "check")
        .exits(0)
        .says(&[("mine", json!(true))]);
    env.build(&other, "check")
        .exits(0)
        .says(&[("mine", json!(false))]);
}

#[test]
fn outside_git_a_command_runs_too() {
    let stage = crate::stage::Stage::new();
    let plain = stage.env.mkdir("plain");
    let mut run = stage.starts_in(&plain, "", "log $GIT_LOCKS_HOLDER; exit 3");
    run.wait(crate::common::DEADLINE).exits(3);
    let holder = stage.log()[0].clone();
    assert!(holder.starts_with("plain-"), "{holder}");
    stage.builds().is_empty();
}

#[test]
fn a_deleted_directory_is_said_to_be_so() {
    let env = Env::new();
    let gone = env.mkdir("gone");
    let script = format!(
        "cd '{}' && rmdir '{}' && exec '{}' build acquire --as a",
        gone.display(),
        gone.display(),
        crate::common::BIN
    );
    let output = env
        .command("sh")
        .args(["-c", &script])
        .output()
        .expect("sh");
    assert_eq!(output.status.code(), Some(128), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("error: "), "{said}");
}

#[test]
fn a_base_of_its_own() {
    let env = Env::new();
    let repo = env.init("repo");
    let base = env.mkdir("base");
    let call = || env.call(&repo).env("PLAN_BASE_DIR", &base);
    let acquire = "--format json build acquire --as a";
    let run = call().args(acquire).run().exits(0);
    run.says(&[("active_count", json!(1))]);
    plan(&repo, "unseen");
    call()
        .args("--format json build release --as a")
        .run()
        .exits(0)
        .says(&[("action", json!("released"))]);
    env.builds().is_empty();
}

#[test]
fn in_a_hook() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    let hook = repo.join(".git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().expect("hooks")).expect("hooks");
    let script = format!(
        "#!/bin/sh\nexec '{}' --format json build acquire --as hooked >'{}'\n",
        crate::common::BIN,
        env.path("said").display()
    );
    std::fs::write(&hook, script).expect("a hook");
    crate::common::chmod(&hook, 0o755);
    for dir in [&repo, &linked] {
        env.commit(dir, "file");
        assert_eq!(env.builds().entry("hooked")["project_root"], json!(repo));
        env.build(&repo, "release --as hooked")
            .exits(0)
            .says(&[("action", json!("released"))]);
    }
}
