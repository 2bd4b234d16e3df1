//! Repositories of unusual shape, and locks in places where we do not look.

use std::path::Path;

use crate::common::fixture::{base, worktree};
use crate::stage::{Stage, kinds, leave, path_of, the};

#[track_caller]
fn is(stage: &Stage, dir: &Path, words: &str, base: &Path) {
    let run = stage.call(dir).run().exits(0);
    assert_eq!(kinds(&run), ["layout"], "{run:#?}");
    let finding = the(&run, "layout");
    assert_eq!(finding["severity"], "note");
    assert_eq!(path_of(&finding), base);
    assert!(finding["what"].to_string().contains(words), "{finding}");
}

#[test]
fn a_bare_repository_and_its_worktree() {
    let stage = Stage::new();
    let bare = stage.env.path("bare.git");
    stage.env.git_args(
        &stage.main,
        &[
            "clone".as_ref(),
            "-q".as_ref(),
            "--bare".as_ref(),
            ".".as_ref(),
            bare.as_os_str(),
        ],
    );
    let tree = worktree(&stage.env, &bare, "of-bare");
    for dir in [&bare, &tree] {
        is(&stage, dir, "is bare", &bare.join("git-locks"));
    }
}

#[test]
fn a_git_directory_that_stands_apart() {
    let stage = Stage::new();
    let apart = stage.env.path("apart.git");
    let dir = stage.env.mkdir("checkout");
    stage.env.git_args(
        &dir,
        &[
            "init".into(),
            "-q".into(),
            format!("--separate-git-dir={}", apart.display()),
        ],
    );
    is(&stage, &dir, "stands apart", &apart.join("git-locks"));
}

#[test]
fn a_submodule() {
    let stage = Stage::new();
    let library = stage.env.init("library");
    let url = library.display().to_string();
    stage.env.git_args(
        &stage.main,
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            &url,
            "library",
        ],
    );
    let sub = stage.main.join("library");
    is(&stage, &sub, "submodule", &base(&sub));
    stage.is_well();
}

#[test]
fn a_main_checkout_that_the_configuration_names() {
    let stage = Stage::new();
    let tree = stage.env.mkdir("named");
    stage.env.git(
        &stage.main,
        &format!("config core.worktree {}", tree.display()),
    );
    is(&stage, &stage.main, "core.worktree", &base(&tree));
}

#[test]
fn state_in_the_common_directory() {
    let stage = Stage::new();
    stage.env.git(&stage.main, "config locks.stateDir common");
    is(&stage, &stage.main, "locks.stateDir", &stage.ours());
    leave(&base(&stage.main).join("merge.lock"), "alpha\n", 0);
    let run = stage.doctor("--fix").exits(1);
    assert_eq!(kinds(&run), ["state-elsewhere", "layout"], "{run:#?}");
}

#[test]
fn a_lock_in_another_place_keeps_nobody_out() {
    let stage = Stage::new();
    stage.used();
    let tree = worktree(&stage.env, &stage.main, "beside");
    for name in ["merge.lock", "merge-queue.json"] {
        let stray = base(&tree).join(name);
        leave(&stray, "{}", 0);
        let run = stage.doctor("--fix").exits(1);
        assert_eq!(kinds(&run), ["state-elsewhere"], "{run:#?}");
        let finding = the(&run, "state-elsewhere");
        assert_eq!(path_of(&finding), stray);
        assert_eq!(finding["severity"], "warning");
        std::fs::remove_file(&stray).expect("it is left alone");
    }
    stage.is_well();
}

#[test]
fn a_base_that_is_given_is_looked_at() {
    let stage = Stage::new();
    let given = stage.env.path("given");
    let acquire = stage.env.call(&stage.main).env("PLAN_BASE_DIR", &given);
    acquire.args("merge acquire --as alpha").run().exits(0);
    leave(&given.join(".git-locks-x1.tmp"), "", crate::stage::OLD);
    let call = stage.call(&stage.main).env("PLAN_BASE_DIR", &given);
    let run = call.args("--fix").run().exits(0);
    assert_eq!(the(&run, "temporary-file")["fixed"], true);
    assert_eq!(crate::stage::row(&run, "alpha")["role"], "holder");
}
