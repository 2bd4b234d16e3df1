//! Worktrees under the base.

use super::*;

use Evidence::{Absent, Alive, Unobservable};

#[test]
fn an_orphaned_shell_is_not_live() {
    let ground = Ground::new();
    assert_eq!(ground.worktree("alpha"), Absent, "nothing");
    let shell = ground.base.join("worktrees/alpha");
    make_dir(&shell);
    assert_eq!(ground.worktree("alpha"), Absent, "a bare directory");
    make_dir(&shell.join(".plan/local/plans"));
    make_file(&shell.join("README"), b"left over");
    assert_eq!(
        ground.worktree("alpha"),
        Absent,
        "no marker among what is left"
    );
}

#[test]
fn a_git_file_or_a_git_directory_makes_it_live() {
    let ground = Ground::new();
    let path = ground.base.join("worktrees/alpha");
    ground.git(&[
        "worktree",
        "add",
        "-q",
        "--detach",
        path.to_str().expect("plain"),
    ]);
    assert!(path.join(".git").is_file());
    assert_eq!(ground.worktree("alpha"), Alive, "a file");
    std::fs::remove_file(path.join(".git")).expect("removed");
    assert_eq!(ground.worktree("alpha"), Absent, "neither");
    make_dir(&path.join(".git"));
    assert_eq!(ground.worktree("alpha"), Alive, "a directory");
    assert_eq!(ground.worktree("beta"), Absent);
}

#[test]
fn a_plan_that_moved_in_makes_it_live() {
    let ground = Ground::new();
    let plan = ground.base.join("worktrees/alpha/.plan/local/plans/alpha");
    make_dir(&plan);
    assert_eq!(ground.worktree("alpha"), Alive);
}

#[test]
fn links_that_lead_nowhere_prove_nothing() {
    let ground = Ground::new();
    make_dir(&ground.base.join("worktrees/alpha"));
    link("/nowhere/at/all", &ground.base.join("worktrees/alpha/.git"));
    assert_eq!(ground.worktree("alpha"), Unobservable, ".git");
    link("/nowhere/at/all", &ground.base.join("worktrees/beta"));
    assert_eq!(ground.worktree("beta"), Unobservable, "the worktree");
    remove_dir(&ground.base.join("worktrees"));
    link("/nowhere/at/all", &ground.base.join("worktrees"));
    assert_eq!(ground.worktree("gamma"), Unobservable, "all worktrees");
    assert_eq!(ground.plan("gamma"), Unobservable, "nor its plan");
}
