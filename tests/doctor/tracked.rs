//! Lock files in git's index.

use std::fs;

use crate::common::fixture::{base, worktree};
use crate::stage::{Stage, kinds, leave, path_of, the};

#[test]
fn lock_files_in_the_index_are_a_problem_and_stay_there() {
    let stage = Stage::new();
    stage.used();
    for name in [
        ".plan/local/merge.lock",
        ".plan/local/merge-queue.json",
        ".plan/logs/lock-2026-01-01.log",
        ".orchestrator/session.lock",
    ] {
        let path = stage.main.join(name);
        let made = !path.exists();
        if made {
            leave(&path, "x", 0);
        }
        stage.env.git(&stage.main, &format!("add -f {name}"));
        if made {
            fs::remove_file(&path).expect("removed");
        }
        let index = stage.env.git(&stage.main, "ls-files");
        let run = stage.doctor("--fix").exits(1);
        assert_eq!(kinds(&run), ["tracked-file"], "{run:#?}");
        let finding = the(&run, "tracked-file");
        assert_eq!(path_of(&finding), path);
        assert_eq!(finding["severity"], "problem");
        assert_eq!(stage.env.git(&stage.main, "ls-files"), index);
        let action = finding["action"].as_str().expect("what to do");
        let typed = action.strip_suffix(", and commit that").expect("a command");
        let typed = typed.replace("git -C", "");
        let mut words = typed.split_whitespace().skip(1);
        let words: Vec<&str> = words.by_ref().collect();
        stage.env.git_args(&stage.main, &words);
        stage.is_well();
    }
}

#[test]
fn what_a_project_keeps_in_its_plan_directory_on_purpose_is_fine() {
    let stage = Stage::new();
    stage.used();
    leave(&stage.main.join(".plan/marshal.json"), "{}", 0);
    stage.env.git(
        &stage.main,
        "add -f .plan/marshal.json .plan/local/.gitignore",
    );
    stage.is_well();
}

#[test]
fn a_plan_directory_that_is_itself_tracked() {
    let stage = Stage::new();
    std::os::unix::fs::symlink("elsewhere", stage.main.join(".plan")).expect("a link");
    fs::create_dir(stage.main.join("elsewhere")).expect("made");
    stage.env.git(&stage.main, "add -f .plan");
    let run = stage.doctor("").exits(1);
    assert_eq!(
        path_of(&the(&run, "tracked-file")),
        stage.main.join(".plan")
    );
}

#[test]
fn each_checkout_has_an_index_of_its_own_wherever_the_caller_is() {
    let stage = Stage::new();
    let tree = worktree(&stage.env, &stage.main, "beside");
    let lease = tree.join(".orchestrator/session.lock");
    leave(&lease, "{}", 0);
    stage.env.git(&tree, "add -f .orchestrator/session.lock");
    fs::remove_file(&lease).expect("removed");
    for dir in [&stage.main, &tree] {
        let run = stage.call(dir).run().exits(1);
        let path = path_of(&the(&run, "tracked-file"));
        assert_eq!(path, lease);
    }
    // What a hook's environment says of the index does not count.
    let call = stage
        .call(&tree)
        .env("GIT_INDEX_FILE", stage.env.path("none"));
    the(&call.run().exits(1), "tracked-file");
    leave(&base(&stage.main).join("merge.lock"), "", 0);
    stage.env.git(&stage.main, "add -f .plan/local/merge.lock");
    let run = stage.doctor("").exits(1);
    assert_eq!(kinds(&run), ["tracked-file", "tracked-file"]);
}

#[test]
fn an_index_that_cannot_be_read_is_not_an_empty_one() {
    let stage = Stage::new();
    fs::write(stage.main.join(".git/index"), "nonsense").expect("damaged");
    let run = stage.doctor("").exits(1);
    assert_eq!(kinds(&run), ["unreadable"], "{run:#?}");
}
