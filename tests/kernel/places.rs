//! Which lock it is, seen from wherever.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::cast::{Ground, Lock, worktree_lock};
use crate::common::DEADLINE;
use crate::common::fixture::worktree;

fn lock_path(ground: &Ground, dir: &Path) -> String {
    ground.check_in(dir).text("lock_path")
}

#[test]
fn every_worktree_of_a_repository_has_the_same_repository_lock() {
    let ground = Ground::new(Lock::Repo);
    let repo = ground.stage.repo.clone();
    let tree = worktree(&ground.stage.env, &repo, "tree");
    let deep = ground.stage.env.mkdir("tree/deep/er");
    let alias = ground.stage.env.path("alias");
    symlink("repo", &alias).expect("symlink");
    let expected = ground.file().to_string_lossy().into_owned();
    for dir in [&repo, &tree, &deep, &alias, &repo.join(".git")] {
        assert_eq!(lock_path(&ground, dir), expected, "{}", dir.display());
    }
    let mut held = ground.held();
    for dir in [&tree, &deep, &alias] {
        let mut other = ground.start_in(dir, "--no-wait", "log INTRUDER");
        other.wait(DEADLINE).exits(75);
    }
    ground.stage.let_go("me");
    held.wait(DEADLINE).exits(0);
}

#[test]
fn repositories_never_contend() {
    for lock in crate::cast::BOTH {
        let ground = Ground::new(lock);
        let there = ground.stage.env.init("there");
        let _held = ground.held();
        let mut other = ground.start_in(&there, "--no-wait", "exit 4");
        other.wait(DEADLINE).exits(4);
        assert_ne!(
            lock_path(&ground, &there),
            lock_path(&ground, &ground.stage.repo)
        );
    }
}

#[test]
fn a_bare_repository_has_a_repository_lock() {
    let ground = Ground::new(Lock::Repo);
    let bare = ground.stage.env.mkdir("bare.git");
    ground.stage.env.git(&bare, "init -q --bare .");
    let expected = bare.join("axm-integration.lock");
    assert_eq!(lock_path(&ground, &bare), expected.to_string_lossy());
    ground
        .start_in(&bare, "--no-wait", "exit 3")
        .wait(DEADLINE)
        .exits(3);
    assert!(expected.is_file());
}

#[test]
fn a_bare_repository_has_no_worktree() {
    let ground = Ground::new(Lock::Worktree);
    let bare = ground.stage.env.mkdir("bare.git");
    ground.stage.env.git(&bare, "init -q --bare .");
    let ended = ground
        .start_in(&bare, "--no-wait", "log INTRUDER")
        .wait(DEADLINE);
    assert_eq!(ended.code, Some(128), "{ended:#?}");
    assert!(ended.stderr.contains("worktree"), "{ended:#?}");
}

#[test]
fn worktrees_do_not_contend() {
    let ground = Ground::new(Lock::Worktree);
    let tree = worktree(&ground.stage.env, &ground.stage.repo, "tree");
    let _held = ground.held();
    ground
        .start_in(&tree, "--no-wait", "exit 4")
        .wait(DEADLINE)
        .exits(4);
    let expected = worktree_lock(&ground.lock_dir(), &tree);
    assert_eq!(lock_path(&ground, &tree), expected.to_string_lossy());
}

#[test]
fn two_names_of_a_worktree_are_one() {
    let ground = Ground::new(Lock::Worktree);
    let env = &ground.stage.env;
    let deep = env.mkdir("repo/deep/er");
    symlink("repo", env.path("alias")).expect("symlink");
    symlink("repo/deep", env.path("inside")).expect("symlink");
    let expected = ground.file().to_string_lossy().into_owned();
    let dirs = [
        deep,
        env.path("alias"),
        env.path("alias/deep"),
        env.path("inside/er"),
    ];
    for dir in &dirs {
        assert_eq!(lock_path(&ground, dir), expected, "{}", dir.display());
    }
    let held = ground.held();
    for dir in &dirs {
        let mut command = ground.prepared("--no-wait", "log INTRUDER");
        // As shells tell their children.
        command.current_dir(dir).env("PWD", dir);
        let ended = crate::common::turns::Running::start(command).wait(DEADLINE);
        assert_eq!(ended.code, Some(75), "{}: {ended:#?}", dir.display());
    }
    drop(held);
}

#[test]
fn names_of_any_bytes() {
    use std::os::unix::ffi::OsStrExt as _;
    for name in [&b"with space"[..], b"new\nline", b"not\xffutf8", b"-dash"] {
        for lock in crate::cast::BOTH {
            let ground = Ground::new(lock);
            let repo = ground.stage.env.init(std::ffi::OsStr::from_bytes(name));
            let mut held = ground.start_in(&repo, "", "log begin; hold me");
            ground.stage.noted("begin");
            assert!(ground.file_of(&repo).is_file(), "{lock:?} {name:?}");
            let mut other = ground.start_in(&repo, "--no-wait", "log INTRUDER");
            other.wait(DEADLINE).exits(75);
            ground.stage.let_go("me");
            held.wait(DEADLINE).exits(0);
        }
    }
}

#[test]
fn a_moved_repository_takes_its_lock_along() {
    let ground = Ground::new(Lock::Repo);
    let _held = ground.held();
    let moved = ground.stage.env.path("moved");
    std::fs::rename(&ground.stage.repo, &moved).expect("moved");
    let mut other = ground.start_in(&moved, "--no-wait", "log INTRUDER");
    other.wait(DEADLINE).exits(75);
}
