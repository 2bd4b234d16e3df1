//! Who counts as alive, judged through the program: plans, worktrees, and what looks like them.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::common::fixture::{
    base, hold, keep_plans, mid_recovery, moved_plan, plan, plan_worktree, worktree,
};
use crate::common::{Env, chmod, needs_root};

/// The verdict on a holder `id` that another program wrote.
#[track_caller]
fn verdict(env: &Env, repo: &Path, id: &str) -> String {
    hold(repo, format!("{id}\n"));
    let run = env.merge(repo, "check").exits(0);
    assert_eq!(run.text("holder_plan_id"), id);
    run.text("staleness")
}

/// A repository that keeps plans.
fn with_plans(env: &Env) -> PathBuf {
    let repo = env.init("repo");
    keep_plans(&repo);
    repo
}

/// A worktree `id` of it that git registers elsewhere, with its admin directory.
fn registered(env: &Env, repo: &Path, id: &str) -> (PathBuf, PathBuf) {
    (
        worktree(env, repo, format!("away/{id}")),
        repo.join(".git/worktrees").join(id),
    )
}

#[test]
fn a_plan_on_main_moved_and_nowhere() {
    let env = Env::new();
    let repo = with_plans(&env);
    plan(&repo, "on-main");
    moved_plan(&repo, "moved");
    assert_eq!(verdict(&env, &repo, "on-main"), "fresh");
    assert_eq!(verdict(&env, &repo, "moved"), "fresh");
    assert_eq!(verdict(&env, &repo, "nowhere"), "stale");
}

#[test]
fn an_orphaned_shell_is_dead() {
    let env = Env::new();
    let repo = with_plans(&env);
    std::fs::create_dir_all(plan_worktree(&repo, "shell/src")).expect("a shell");
    assert_eq!(verdict(&env, &repo, "shell"), "stale");
    std::fs::create_dir_all(plan_worktree(&repo, "shell/.plan/local/plans")).expect("a shell");
    assert_eq!(verdict(&env, &repo, "shell"), "stale");
}

#[test]
fn a_git_file_or_directory_means_recovery() {
    let env = Env::new();
    let repo = with_plans(&env);
    mid_recovery(&repo, "with-file");
    std::fs::create_dir_all(plan_worktree(&repo, "with-dir/.git")).expect("a .git directory");
    assert_eq!(verdict(&env, &repo, "with-file"), "fresh");
    assert_eq!(verdict(&env, &repo, "with-dir"), "fresh");
}

#[test]
fn a_genuine_registered_worktree_elsewhere() {
    let env = Env::new();
    let repo = with_plans(&env);
    registered(&env, &repo, "there");
    assert_eq!(verdict(&env, &repo, "there"), "fresh");
    plan(&repo, "me");
    env.merge(&repo, "acquire --as me")
        .exits(75)
        .says(&[("stale_holder_live_worktree", json!(true))]);
}

#[test]
fn registered_but_deleted_emptied_or_moved_by_hand() {
    let env = Env::new();
    let repo = with_plans(&env);
    let (deleted, _) = registered(&env, &repo, "deleted");
    std::fs::remove_dir_all(&deleted).expect("a worktree");
    assert_eq!(verdict(&env, &repo, "deleted"), "stale");
    let (emptied, _) = registered(&env, &repo, "emptied");
    std::fs::remove_dir_all(&emptied).expect("a worktree");
    std::fs::create_dir(&emptied).expect("an empty directory");
    assert_eq!(verdict(&env, &repo, "emptied"), "stale");
    let (moved, _) = registered(&env, &repo, "moved");
    std::fs::rename(&moved, env.path("away/by-hand")).expect("a rename");
    assert_eq!(verdict(&env, &repo, "moved"), "stale");
    env.git(&env.path("away/by-hand"), "worktree repair");
    assert_eq!(verdict(&env, &repo, "moved"), "fresh");
}

#[test]
fn a_missing_worktree_on_a_missing_parent_is_absent_all_the_same() {
    let env = Env::new();
    let repo = with_plans(&env);
    registered(&env, &repo, "deep");
    std::fs::remove_dir_all(env.path("away")).expect("the parent");
    assert_eq!(verdict(&env, &repo, "deep"), "stale");
}

#[test]
fn another_repository_in_its_place() {
    let env = Env::new();
    let repo = with_plans(&env);
    let (path, _) = registered(&env, &repo, "replaced");
    std::fs::remove_dir_all(&path).expect("a worktree");
    env.init("away/replaced");
    assert_eq!(verdict(&env, &repo, "replaced"), "stale");
    let (path, _) = registered(&env, &repo, "swapped");
    let other = env.init("other");
    std::fs::remove_dir_all(&path).expect("a worktree");
    env.git(&other, "worktree add -q --detach ../away/swapped");
    assert_eq!(verdict(&env, &repo, "swapped"), "stale");
}

#[test]
fn a_copy_does_not_keep_the_original_alive() {
    let env = Env::new();
    let repo = with_plans(&env);
    let (path, _) = registered(&env, &repo, "original");
    let copy = env.path("away/copy");
    std::fs::create_dir(&copy).expect("a directory");
    std::fs::copy(path.join(".git"), copy.join(".git")).expect("a copy");
    assert_eq!(verdict(&env, &repo, "original"), "fresh");
    assert_eq!(verdict(&env, &repo, "copy"), "stale");
    std::fs::remove_dir_all(&path).expect("a worktree");
    assert_eq!(verdict(&env, &repo, "original"), "stale");
}

#[test]
fn a_locked_worktree() {
    let env = Env::new();
    let repo = with_plans(&env);
    let (path, _) = registered(&env, &repo, "kept");
    env.git(&repo, "worktree lock kept");
    assert_eq!(verdict(&env, &repo, "kept"), "fresh");
    std::fs::remove_dir_all(&path).expect("a worktree");
    assert_eq!(verdict(&env, &repo, "kept"), "unknown");
    plan(&repo, "me");
    env.merge(&repo, "acquire --as me").exits(75);
    env.git(&repo, "worktree unlock kept");
    assert_eq!(verdict(&env, &repo, "kept"), "stale");
}

#[test]
fn a_worktree_that_is_being_made() {
    let env = Env::new();
    let repo = with_plans(&env);
    let (path, admin) = registered(&env, &repo, "coming");
    std::fs::write(admin.join("locked"), "initializing").expect("git's mark");
    std::fs::remove_dir_all(&path).expect("a worktree");
    assert_eq!(verdict(&env, &repo, "coming"), "unknown");
}

#[test]
fn junk_admin_directories() {
    let env = Env::new();
    let repo = with_plans(&env);
    let admin = |id: &str| repo.join(".git/worktrees").join(id);
    std::fs::create_dir_all(admin("junk")).expect("a directory");
    assert_eq!(verdict(&env, &repo, "junk"), "stale");
    std::fs::write(admin("file"), "a file").expect("a file");
    assert_eq!(verdict(&env, &repo, "file"), "stale");
    for missing in ["HEAD", "commondir", "gitdir"] {
        let id = format!("no-{}", missing.to_lowercase());
        let (_, dir) = registered(&env, &repo, &id);
        std::fs::remove_file(dir.join(missing)).expect("a file");
        assert_eq!(verdict(&env, &repo, &id), "stale", "without {missing}");
    }
}

#[test]
fn odd_gitdir_files() {
    let env = Env::new();
    let repo = with_plans(&env);
    let (path, admin) = registered(&env, &repo, "odd");
    let genuine = std::fs::read(admin.join("gitdir")).expect("a gitdir");
    for content in ["", "\n", "nonsense\n", "/\n", "/.git\n", ".git\n"] {
        std::fs::write(admin.join("gitdir"), content).expect("a gitdir");
        assert_eq!(verdict(&env, &repo, "odd"), "stale", "{content:?}");
    }
    std::fs::write(admin.join("gitdir"), path.to_str().expect("UTF-8")).expect("a gitdir");
    assert_eq!(verdict(&env, &repo, "odd"), "stale", "without /.git");
    std::fs::write(admin.join("gitdir"), "../../../../away/odd/.git\n").expect("a gitdir");
    assert_eq!(verdict(&env, &repo, "odd"), "fresh", "relative");
    std::fs::write(path.join(".git"), "gitdir: ../../repo/.git/worktrees/odd\n")
        .expect("a .git file");
    assert_eq!(verdict(&env, &repo, "odd"), "fresh", "relative both ways");
    std::fs::write(admin.join("gitdir"), genuine).expect("a gitdir");
    assert_eq!(verdict(&env, &repo, "odd"), "fresh");
}

#[test]
fn ids_differ_from_directory_names() {
    let env = Env::new();
    let repo = with_plans(&env);
    worktree(&env, &repo, "a/topic");
    worktree(&env, &repo, "b/topic");
    assert_eq!(verdict(&env, &repo, "topic1"), "fresh");
    env.git(&repo, "worktree move ../a/topic ../renamed");
    assert_eq!(verdict(&env, &repo, "topic"), "fresh");
}

#[test]
fn an_id_that_is_not_utf8_disturbs_nobody() {
    use std::os::unix::ffi::OsStrExt as _;
    let env = Env::new();
    let repo = with_plans(&env);
    let odd = std::ffi::OsStr::from_bytes(b"x\xffy");
    if std::fs::create_dir(env.path("probe")).is_ok()
        && std::fs::create_dir(env.path("probe").join(odd)).is_err()
    {
        let test = "liveness::an_id_that_is_not_utf8_disturbs_nobody";
        assert!(!crate::common::can_run(
            test,
            false,
            "the file system takes only UTF-8 names"
        ));
        return;
    }
    worktree(&env, &repo, odd);
    registered(&env, &repo, "there");
    assert_eq!(verdict(&env, &repo, "there"), "fresh");
    assert_eq!(verdict(&env, &repo, "nowhere"), "stale");
}

#[test]
fn an_id_that_git_uses_again() {
    let env = Env::new();
    let repo = with_plans(&env);
    let (path, _) = registered(&env, &repo, "again");
    env.git_args(
        &repo,
        &["worktree".as_ref(), "remove".as_ref(), path.as_os_str()],
    );
    assert_eq!(verdict(&env, &repo, "again"), "stale");
    std::fs::create_dir_all(path.join("src")).expect("a shell in its place");
    assert_eq!(verdict(&env, &repo, "again"), "stale");
    worktree(&env, &repo, "elsewhere/again");
    assert_eq!(verdict(&env, &repo, "again"), "fresh");
}

#[test]
fn a_name_that_means_something_to_the_file_system() {
    let env = Env::new();
    let repo = with_plans(&env);
    plan(&repo, "a");
    std::fs::create_dir_all(base(&repo).join("plans/a/b")).expect("a directory");
    for id in ["a/b", "./a", "..", ".", "../plans/a", "a/"] {
        hold(&repo, format!("{id}\n"));
        env.merge(&repo, "check")
            .exits(0)
            .says(&[("staleness", json!("stale"))]);
    }
}

#[test]
fn what_may_not_be_looked_at_is_unknown() {
    if !needs_root("liveness::what_may_not_be_looked_at_is_unknown") {
        return;
    }
    let env = Env::new();
    let repo = with_plans(&env);
    plan(&repo, "hidden");
    hold(&repo, "hidden\n");
    for (dir, mode) in [
        (base(&repo).join("plans"), 0o700),
        (base(&repo).join("plans"), 0o000),
    ] {
        chmod(&dir, mode);
        let call = env.call(&repo).user(&env, 64_001, 64_001);
        let run = call
            .args("--format json merge check --as other")
            .run()
            .exits(0);
        chmod(&dir, 0o755);
        run.says(&[("staleness", json!("unknown"))]);
    }
    let call = env.call(&repo).user(&env, 64_001, 64_001);
    let run = call.args("--format json merge check --as other").run();
    run.exits(0).says(&[("staleness", json!("fresh"))]);
}
