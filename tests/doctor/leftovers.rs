//! What processes that are gone left behind: found, removed by `--fix` and by nothing else.

use std::fs;
use std::path::PathBuf;

use crate::common::fixture::{base, keep_plans, plan_worktree, queue_file, same_tree, tree};
use crate::common::turns::{edit_records, edit_records_inside, take_guard, waits_for};
use crate::common::{BIN, DEADLINE, required};
use crate::stage::{OLD, Stage, age, kinds, leave, path_of, succeeds, the};

/// Provokes a finding of `kind` at a path, which only `--fix` removes.
#[track_caller]
fn is_removed(stage: &Stage, kind: &str, path: &PathBuf) {
    let before = tree(stage.env.root());
    let run = stage.doctor("").exits(0);
    assert_eq!(kinds(&run), [kind], "{run:#?}");
    let finding = the(&run, kind);
    assert_eq!(&path_of(&finding), path);
    assert_eq!(finding["severity"], "note");
    assert_eq!(finding["fixable"], true);
    assert_eq!(finding["fixed"], false);
    assert_eq!(finding["action"], "git locks doctor --fix");
    same_tree(&before, &tree(stage.env.root()));
    let run = stage.doctor("--fix").exits(0);
    let finding = the(&run, kind);
    assert_eq!(finding["fixed"], true, "{run:#?}");
    assert_eq!(run.get("fixed"), 1);
    assert!(
        path.symlink_metadata().is_err(),
        "{} is still there",
        path.display()
    );
    let mut expected = before;
    expected.retain(|(there, _)| !there.starts_with(path));
    let mut now = tree(stage.env.root());
    // The directories that were made for a witness go with it.
    expected.retain(|(there, _)| !path.starts_with(there));
    now.retain(|(there, _)| !path.starts_with(there));
    same_tree(&expected, &now);
    stage.is_well();
}

#[test]
fn old_temporary_files_wherever_they_are_left() {
    let stage = Stage::new();
    keep_plans(&stage.main);
    stage.used();
    stage.built();
    let home = stage.env.home_root();
    let plans = plan_worktree(&stage.main, "gone").join(".plan/local/plans");
    fs::create_dir_all(&plans).expect("made");
    fs::create_dir_all(stage.main.join(".orchestrator")).expect("made");
    fs::create_dir_all(stage.ours().join("titles")).expect("made");
    fs::create_dir_all(home.join("git-locks")).expect("made");
    for dir in [
        base(&stage.main),
        stage.ours(),
        stage.main.join(".plan/logs"),
        stage.ours().join("titles"),
        stage.main.join(".orchestrator"),
        home.clone(),
        home.join("git-locks"),
        plans,
    ] {
        let path = dir.join(".git-locks-x1.tmp");
        leave(&path, "half", OLD);
        // A younger one may be a living process's; another's name is another's.
        let young = dir.join(".git-locks-x2.tmp");
        let other = dir.join("x.tmp");
        leave(&young, "half", 60);
        leave(&other, "half", OLD);
        is_removed(&stage, "temporary-file", &path);
        fs::remove_file(&young).expect("it is still there");
        fs::remove_file(&other).expect("it is still there");
    }
}

#[test]
fn a_directory_is_not_read_anew_for_each_temporary_file() {
    let test = "leftovers::a_directory_is_not_read_anew_for_each_temporary_file";
    if !required(test, "strace") {
        return;
    }
    let stage = Stage::new();
    stage.used();
    for number in 0..200 {
        let name = format!(".git-locks-left{number}.tmp");
        leave(&stage.ours().join(name), "", OLD);
    }
    let trace = stage.env.path("trace");
    let mut strace = stage.env.command("strace");
    strace
        .current_dir(&stage.main)
        .env("PATH", stage.search_path())
        .args(["-qq", "-e", "trace=openat,open", "-o"])
        .arg(&trace)
        .args([BIN, "--format", "json", "doctor", "--fix"]);
    let output = strace.output().expect("strace runs");
    assert!(output.status.success(), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(report["fixed"], 200, "{report:#}");
    let calls = fs::read_to_string(&trace).expect("a trace");
    let directory = format!("\"{}\"", stage.ours().display());
    let read = calls
        .lines()
        .filter(|call| call.contains(&directory))
        .count();
    assert!((1..40).contains(&read), "read {read} times");
}

#[test]
fn what_was_staged_to_become_a_witness() {
    let stage = Stage::new();
    keep_plans(&stage.main);
    stage.used();
    stage.built();
    for owner in ["merge", "build"] {
        let plans = plan_worktree(&stage.main, "gone").join(".plan/local/plans");
        let path = plans.join(format!(".git-locks-{owner}-x1.tmp"));
        leave(&path.join(".git-locks-witness"), "4", 60);
        assert_eq!(kinds(&stage.doctor("").exits(0)), [""; 0], "it is young");
        age(&path, OLD);
        is_removed(&stage, "temporary-file", &path);
    }
}

#[test]
fn the_temporary_file_of_a_grant_that_was_cut_off_is_no_leftover() {
    let stage = Stage::new();
    stage.env.merge(&stage.main, "acquire --as alpha").exits(0);
    let temp = base(&stage.main).join(".git-locks-cut.tmp");
    leave(&temp, "alpha\n", OLD);
    edit_records(&stage.main, |all| {
        all["participants"]["alpha"]["grant"]["temp"] = ".git-locks-cut.tmp".into();
    });
    stage.is_well();
    let other = base(&stage.main).join(".git-locks-other.tmp");
    leave(&other, "alpha\n", OLD);
    is_removed(&stage, "temporary-file", &other);
    assert!(temp.exists());
}

#[test]
fn a_temporary_file_that_a_grant_names_meanwhile_is_a_leftover_no_longer() {
    let stage = Stage::new();
    stage.env.merge(&stage.main, "acquire --as alpha").exits(0);
    let (temp, other) = (".git-locks-cut.tmp", ".git-locks-other.tmp");
    let [temp_path, other_path] = [temp, other].map(|name| base(&stage.main).join(name));
    leave(&temp_path, "alpha\n", OLD);
    leave(&other_path, "alpha\n", OLD);
    // Both are looked at before the guard is asked for, and man after that.
    let inside = take_guard(&stage.main);
    let asked = stage.env.path("asked");
    let man = format!("#!/bin/sh\n: >'{}'\n", asked.display());
    fs::write(stage.env.path("bin/man"), man).expect("a program");
    let mut fixing = stage.call(&stage.main).args("--fix").start();
    waits_for("the last look", DEADLINE, || asked.exists().then_some(()));
    edit_records_inside(&stage.main, |all| {
        all["participants"]["alpha"]["grant"]["temp"] = temp.into();
    });
    drop(inside);
    fixing.wait(DEADLINE).exits(0);
    assert!(temp_path.exists() && !other_path.exists());
}

#[test]
fn guard_files_of_the_dead() {
    let stage = Stage::new();
    let queue = stage.env.builds();
    for path in [
        queue_file(&stage.main).with_extension("json.lock"),
        base(&stage.main).join("run-configuration.json.lock"),
        queue.guard_file(),
    ] {
        for (content, ago) in [("git-locks guard 1\npid 1\n", 0), ("4711\n", 120)] {
            stage.used();
            stage.built();
            drop(crate::common::turns::take_kernel_lock(
                &stage.ours().join("run-configuration.guard"),
            ));
            leave(&path, content, ago);
            if content.starts_with("git-locks") || !path.ends_with("run-configuration.json.lock") {
                is_removed(&stage, "guard-file", &path);
            } else {
                fs::remove_file(&path).expect("left alone");
            }
        }
        // One of another program that is young is in use.
        leave(&path, "4711\n", 5);
        stage.is_well();
        fs::remove_file(&path).expect("left alone");
    }
}

#[test]
fn presence_files_and_bells_of_the_dead() {
    let stage = Stage::new();
    stage.used();
    stage.built();
    for ours in [stage.ours(), stage.env.home_root().join("git-locks")] {
        let presence = ours.join("presence");
        let path = presence.join("0123456789abcdef");
        leave(&path, "", 0);
        is_removed(&stage, "presence-file", &path);
        let bell = presence.join("0123456789abcdef.bell");
        let mut mkfifo = stage.env.command("mkfifo");
        succeeds(mkfifo.arg(&bell));
        is_removed(&stage, "presence-file", &bell);
        fs::create_dir(presence.join("dir")).expect("made");
        stage.is_well();
    }
}

#[test]
fn a_presence_that_is_on_record_is_left_to_the_verdict() {
    let stage = Stage::new();
    let mut waits = stage
        .env
        .call(&stage.main)
        .args("merge run --as alpha -- sleep 100")
        .start();
    crate::common::turns::wait_until_held_by(&stage.main, "alpha");
    let child = crate::common::turns::child_of(waits.pid());
    waits.kill();
    crate::common::turns::send(child, 9);
    crate::common::turns::waits_for("its end", crate::common::DEADLINE, || {
        (!crate::common::turns::runs(child)).then_some(())
    });
    let run = stage.doctor("--fix").exits(0);
    assert_eq!(kinds(&run), ["stale-holder"], "{run:#?}");
    assert!(
        base(&stage.main).join("merge.lock").exists(),
        "a lock is never touched"
    );
}

#[test]
fn witnesses_of_those_who_take_part_no_longer() {
    let stage = Stage::new();
    keep_plans(&stage.main);
    stage.used();
    stage.built();
    for marker in [".git-locks-witness", ".git-locks-witness-build"] {
        let witness = plan_worktree(&stage.main, "gone").join(".plan/local/plans/gone");
        leave(&witness.join(marker), "4", 0);
        is_removed(&stage, "witness", &witness);
    }
    // A plan is nobody's but its own.
    let plan = plan_worktree(&stage.main, "plan").join(".plan/local/plans/plan");
    leave(&plan.join("status.json"), "{}", OLD);
    leave(&plan.join(".git-locks-witness"), "4", OLD);
    stage.is_well();
}

#[test]
fn a_witness_of_one_lock_goes_and_of_the_other_stays() {
    let stage = Stage::new();
    keep_plans(&stage.main);
    stage.used();
    stage
        .env
        .build(&stage.main, "acquire --as alpha --ttl 1h")
        .exits(0);
    let witness = plan_worktree(&stage.main, "alpha").join(".plan/local/plans/alpha");
    assert!(witness.join(".git-locks-witness-build").exists());
    leave(&witness.join(".git-locks-witness"), "4", 0);
    let run = stage.doctor("--fix").exits(0);
    assert_eq!(the(&run, "witness")["fixed"], true);
    assert!(!witness.join(".git-locks-witness").exists());
    assert!(witness.join(".git-locks-witness-build").exists());
    stage.is_well();
}

#[test]
fn titles_of_those_who_take_part_no_longer() {
    let stage = Stage::new();
    stage.used();
    let titles = stage.ours().join("titles");
    let token = r#"{"merge-lock": {"state": "lock-owned", "set_at": 1.0}}"#;
    let path = titles.join("gone.json");
    leave(&path, token, OLD);
    // Believed still; of a participant; not a title at all.
    leave(&titles.join("young.json"), token, 60);
    stage.env.merge(&stage.main, "acquire --as alpha").exits(0);
    stage.env.build(&stage.main, "acquire --as beta").exits(0);
    leave(&titles.join("alpha.json"), token, OLD);
    leave(&titles.join("beta.json"), token, OLD);
    leave(&titles.join("notes.txt"), token, OLD);
    fs::create_dir(titles.join("directory.json")).expect("made");
    age(&titles.join("directory.json"), OLD);
    is_removed(&stage, "title-file", &path);
}
