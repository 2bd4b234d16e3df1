//! Where there is no place for a lock: one clear line, exit 128, nothing written.

use std::path::Path;

use serde_json::json;

use crate::common::fixture::{same_tree, tree, worktree};
use crate::common::{BIN, Call, Env, Run, chmod, needs_root};

/// That `call` is refused with exit 128 by each verb, in one line and with an error report.
#[track_caller]
fn refused(call: impl Fn() -> Call) -> Run {
    for verb in ["check", "acquire", "release"] {
        let run = call()
            .args(&format!("--format json merge {verb} --as a"))
            .run()
            .exits(128);
        assert!(run.text("error").len() > 5, "{run:#?}");
        run.says(&[("status", json!("error"))]).one_line_error();
    }
    call().args("--format json merge check").run()
}

/// The same for a directory that a caller merely stands in.
#[track_caller]
fn refused_in(env: &Env, dir: &Path) -> Run {
    let before = tree(dir);
    let run = refused(|| env.call(dir));
    same_tree(&before, &tree(dir));
    run
}

#[test]
fn no_repository() {
    let env = Env::new();
    let dir = env.mkdir("plain");
    let run = refused_in(&env, &dir);
    assert_eq!(run.get("error_code"), json!("NOT_FOUND"));
    assert!(run.stderr.to_lowercase().contains("repository"), "{run:#?}");
}

#[test]
fn no_repository_and_no_git() {
    let env = Env::new();
    let (dir, nothing) = (env.mkdir("plain"), env.mkdir("no-programs"));
    let run = refused(|| env.call(&dir).env("PATH", &nothing));
    assert!(run.stderr.to_lowercase().contains("repository"), "{run:#?}");
}

#[test]
fn a_git_file_that_leads_nowhere() {
    let env = Env::new();
    env.init("around");
    for content in ["gitdir: /nowhere/at/all\n", "nonsense\n", ""] {
        let dir = env.mkdir("around/broken");
        std::fs::write(dir.join(".git"), content).expect("a .git file");
        refused_in(&env, &dir);
    }
}

#[test]
fn a_git_directory_without_its_contents() {
    let env = Env::new();
    let repo = env.init("repo");
    std::fs::remove_file(repo.join(".git/HEAD")).expect("HEAD");
    refused_in(&env, &repo);
}

#[test]
fn a_broken_configuration() {
    let env = Env::new();
    let repo = env.init("repo");
    std::fs::write(repo.join(".git/config"), "[core\nnonsense").expect("a config");
    refused_in(&env, &repo);
}

#[test]
fn an_unknown_extension() {
    let env = Env::new();
    let repo = env.init("repo");
    env.git(&repo, "config core.repositoryFormatVersion 1");
    env.git(&repo, "config extensions.fromTheFuture yes");
    let run = refused_in(&env, &repo);
    assert!(
        run.stderr.to_lowercase().contains("fromthefuture"),
        "git's words are missing: {run:#?}"
    );
}

#[test]
fn an_unknown_format_version() {
    let env = Env::new();
    let repo = env.init("repo");
    env.git(&repo, "config core.repositoryFormatVersion 99");
    refused_in(&env, &repo);
}

#[test]
fn the_worktree_of_a_repository_that_is_gone() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    std::fs::remove_dir_all(&repo).expect("the repository");
    refused_in(&env, &linked);
}

#[test]
fn a_git_dir_that_is_none() {
    let env = Env::new();
    let repo = env.init("repo");
    refused(|| env.call(&repo).env("GIT_DIR", "/nowhere/at/all"));
    refused(|| env.call(env.root()).env("GIT_DIR", "home"));
}

#[test]
fn a_deleted_current_directory() {
    let env = Env::new();
    let repo = env.init("repo");
    env.mkdir("repo/doomed");
    let script = format!("rmdir ../doomed; exec '{BIN}' --format json merge acquire --as a");
    let output = env
        .command("sh")
        .current_dir(repo.join("doomed"))
        .args(["-c", &script])
        .output()
        .expect("sh runs");
    let shown = format!("{output:?}");
    assert_eq!(output.status.code(), Some(128), "{shown}");
    let errors = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(errors.starts_with("error: "), "{shown}");
    assert!(errors.contains("current directory"), "{shown}");
    assert!(!repo.join(".plan").exists());
}

#[test]
fn a_directory_for_dash_c_that_does_not_exist() {
    let env = Env::new();
    refused(|| env.call(env.root()).args("-C nowhere"));
}

#[test]
fn a_foreign_owner() {
    if !needs_root("place_refusals::a_foreign_owner") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let stranger = || {
        let home = env.mkdir("untrusting");
        env.call(&repo)
            .user(&env, 64_001, 64_001)
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home)
    };
    let run = refused(stranger);
    assert!(
        run.stderr.contains("safe.directory"),
        "git's words are missing: {run:#?}"
    );
}

#[test]
fn an_unreadable_git_directory() {
    if !needs_root("place_refusals::an_unreadable_git_directory") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    chmod(&repo.join(".git"), 0o700);
    refused(|| env.call(&repo).user(&env, 64_001, 64_001));
    let linked = worktree(&env, &repo, "linked");
    refused(|| env.call(&linked).user(&env, 64_001, 64_001));
}
