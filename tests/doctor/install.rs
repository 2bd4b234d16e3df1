//! Whether git finds git-locks, and man its page.

use std::fs;

use crate::common::BIN;
use crate::stage::{Stage, kinds, path_of, the};

#[test]
fn a_git_that_does_not_find_us() {
    let stage = Stage::new();
    fs::remove_file(stage.env.path("bin/git-locks")).expect("uninstalled");
    for dir in [stage.main.clone(), stage.env.mkdir("outside")] {
        let run = stage.call(&dir).args("--fix").run().exits(1);
        assert_eq!(kinds(&run), ["git-cannot-find-us"], "{run:#?}");
        let finding = the(&run, "git-cannot-find-us");
        assert_eq!(finding["severity"], "warning");
        let bin = fs::canonicalize(BIN).expect("the program");
        assert_eq!(fs::canonicalize(path_of(&finding)).expect("it"), bin);
        let action = finding["action"].as_str().expect("what to do");
        assert!(action.starts_with("export PATH="), "{action}");
    }
    // What cannot be executed is no program.
    fs::write(stage.env.path("bin/git-locks"), "").expect("a file");
    the(&stage.doctor("").exits(1), "git-cannot-find-us");
}

#[test]
fn a_git_that_finds_another() {
    let stage = Stage::new();
    fs::remove_file(stage.env.path("bin/git-locks")).expect("removed");
    Stage::answers(&stage.env, "git-locks", 0);
    let run = stage.doctor("").exits(0);
    assert_eq!(kinds(&run), ["another-git-locks"], "{run:#?}");
    let path = path_of(&the(&run, "another-git-locks"));
    assert_eq!(path, stage.env.path("bin/git-locks"));
}

#[test]
fn no_git_at_all() {
    let stage = Stage::new();
    let outside = stage.env.mkdir("outside");
    let call = stage.call(&outside).env("PATH", stage.env.path("bin"));
    let run = call.run().exits(1);
    assert_eq!(kinds(&run), ["git-cannot-find-us"], "{run:#?}");
    let what = the(&run, "git-cannot-find-us")["what"].to_string();
    assert!(what.contains("git cannot be asked"), "{what}");
}

#[test]
fn a_man_that_does_not_find_the_page() {
    let stage = Stage::new();
    Stage::answers(&stage.env, "man", 16);
    let run = stage.doctor("--fix").exits(0);
    assert_eq!(kinds(&run), ["man-cannot-find-us"], "{run:#?}");
    let finding = the(&run, "man-cannot-find-us");
    assert_eq!(finding["severity"], "note");
    assert_eq!(finding["action"], "git locks man --install");
}
