//! What git has under way in the main checkout.

use std::fs;
use std::path::Path;

use crate::common::Env;
use crate::common::fixture::worktree;
use crate::stage::{Stage, kinds, path_of, the};

/// A branch `other` that conflicts with `main` in `file`, twice.
fn diverge(env: &Env, main: &Path) {
    env.git(main, "branch other");
    fs::write(main.join("file"), "ours\n").expect("a change");
    env.git(main, "commit -qam ours");
    env.git(main, "switch -q other");
    fs::write(main.join("file"), "theirs\n").expect("a change");
    env.git(main, "commit -qam theirs");
    fs::write(main.join("file"), "theirs again\n").expect("a change");
    env.git(main, "commit -qam again");
    env.git(main, "switch -q main");
}

#[test]
fn each_of_them_needs_a_person_until_it_is_over() {
    for (words, sign, begin, end) in [
        ("a merge is", "MERGE_HEAD", "merge other", "merge --abort"),
        (
            "a rebase is",
            "rebase-merge",
            "rebase other",
            "rebase --abort",
        ),
        (
            "a rebase is",
            "rebase-apply",
            "rebase --apply other",
            "rebase --abort",
        ),
        (
            "a cherry-pick is",
            "CHERRY_PICK_HEAD",
            "cherry-pick other",
            "cherry-pick --abort",
        ),
        (
            "a revert is",
            "REVERT_HEAD",
            "revert --no-edit other~1",
            "revert --abort",
        ),
        ("a bisect is", "BISECT_LOG", "bisect start", "bisect reset"),
    ] {
        let stage = Stage::new();
        diverge(&stage.env, &stage.main);
        let begin: Vec<&str> = begin.split_whitespace().collect();
        stage.env.try_git(&stage.main, &begin);
        let run = stage.doctor("--fix").exits(1);
        assert_eq!(kinds(&run), ["unfinished-operation"], "{run:#?}");
        let finding = the(&run, "unfinished-operation");
        assert_eq!(finding["severity"], "warning");
        assert_eq!(path_of(&finding), stage.main.join(".git").join(sign));
        let what = finding["what"].as_str().expect("what");
        assert!(what.starts_with(words), "{what}");
        let action = finding["action"].as_str().expect("what to do");
        let last = format!("git -C {} {end}", stage.main.display());
        assert!(action.ends_with(&last), "{action}");
        stage.env.git(&stage.main, end);
        stage.is_well();
    }
}

#[test]
fn a_sequence_between_two_steps() {
    for (name, begin) in [
        ("cherry-pick", "cherry-pick other~1 other"),
        ("revert", "revert --no-edit other~1 other"),
    ] {
        let stage = Stage::new();
        diverge(&stage.env, &stage.main);
        let begin: Vec<&str> = begin.split(' ').collect();
        stage.env.try_git(&stage.main, &begin);
        // The one that did not apply is committed by hand, and the rest forgotten.
        fs::write(stage.main.join("file"), "mine\n").expect("resolved");
        stage.env.git(&stage.main, "commit -qam by-hand");
        let git_dir = stage.main.join(".git");
        for head in ["CHERRY_PICK_HEAD", "REVERT_HEAD"] {
            assert!(!git_dir.join(head).exists(), "{head} is there");
        }
        let run = stage.doctor("--fix").exits(1);
        assert_eq!(kinds(&run), ["unfinished-operation"], "{run:#?}");
        let finding = the(&run, "unfinished-operation");
        assert_eq!(path_of(&finding), git_dir.join("sequencer"));
        let what = finding["what"].as_str().expect("what");
        assert!(what.starts_with(&format!("a {name} is")), "{what}");
        let action = finding["action"].as_str().expect("what to do");
        assert!(action.ends_with(&format!("{name} --abort")), "{action}");
        stage.env.git(&stage.main, &format!("{name} --abort"));
        stage.is_well();
    }
}

#[test]
fn am_is_told_from_rebase() {
    let stage = Stage::new();
    diverge(&stage.env, &stage.main);
    let patch = stage
        .env
        .git(&stage.main, "format-patch --stdout main..other");
    let file = stage.env.path("patch");
    fs::write(&file, patch).expect("a patch");
    stage
        .env
        .try_git(&stage.main, &["am".as_ref(), file.as_os_str()]);
    let run = stage.doctor("").exits(1);
    let what = the(&run, "unfinished-operation")["what"].to_string();
    assert!(what.contains("an am is"), "{what}");
}

#[test]
fn under_the_merge_lock_it_is_only_worth_knowing() {
    let stage = Stage::new();
    diverge(&stage.env, &stage.main);
    stage.env.merge(&stage.main, "acquire --as alpha").exits(0);
    stage.env.try_git(&stage.main, &["merge", "other"]);
    let run = stage.doctor("").exits(0);
    let finding = the(&run, "unfinished-operation");
    assert_eq!(finding["severity"], "note");
    assert!(finding["what"].to_string().contains("'alpha'"), "{finding}");
    stage.env.merge(&stage.main, "release --as alpha").exits(0);
    stage.doctor("").exits(1);
}

#[test]
fn another_checkouts_is_its_own_affair() {
    let stage = Stage::new();
    diverge(&stage.env, &stage.main);
    let tree = worktree(&stage.env, &stage.main, "beside");
    stage.env.try_git(&tree, &["merge", "other"]);
    stage.is_well();
    stage.env.try_git(&stage.main, &["merge", "other"]);
    let run = stage.call(&tree).run().exits(1);
    let sign = path_of(&the(&run, "unfinished-operation"));
    assert_eq!(sign, stage.main.join(".git/MERGE_HEAD"));
}
