//! What is said of everyone who takes part: the evidence, and what it comes to.

use std::fs;

use serde_json::{Value, json};

use crate::common::DEADLINE;
use crate::common::builds::foreign;
use crate::common::fixture::{base, hold, keep_plans, lock_file, mid_recovery, plan, queue_of};
use crate::common::turns::{child_of, edit_records, wait_until_held_by};
use crate::stage::{OLD, Stage, age, kinds, path_of, row, the};

#[track_caller]
fn says(row: &Value, staleness: &str, words: &[&str]) {
    assert_eq!(row["staleness"], staleness, "{row:#}");
    let evidence = row["evidence"].as_str().expect("evidence");
    for words in words {
        assert!(evidence.contains(words), "no '{words}' in {row:#}");
    }
}

#[test]
fn leases_and_places() {
    let stage = Stage::new();
    stage
        .env
        .merge(&stage.main, "acquire --as alpha --ttl 2h")
        .exits(0);
    stage.env.merge(&stage.main, "acquire --as beta").exits(75);
    stage.env.merge(&stage.main, "acquire --as gamma").exits(75);
    stage
        .env
        .build(&stage.main, "acquire --as delta --max-slots 1")
        .exits(0);
    stage
        .env
        .build(&stage.main, "acquire --as epsilon --max-slots 1")
        .exits(75);
    let call = stage
        .call(&stage.main)
        .env("GIT_LOCKS_BUILD_MAX_SLOTS", "1");
    let run = call.run().exits(0);
    let holder = row(&run, "alpha");
    says(&holder, "fresh", &["its lease runs for another 2h"]);
    assert_eq!(holder["role"], "holder");
    assert_eq!(holder["position"], Value::Null);
    assert_eq!(holder["verdict"], "it is there");
    for (id, place) in [("beta", 1), ("gamma", 2)] {
        let waiter = row(&run, id);
        says(
            &waiter,
            "fresh",
            &["its right to its place runs for another 15m"],
        );
        assert_eq!(waiter["role"], "waiter");
        assert_eq!(waiter["position"], place);
    }
    let slot = row(&run, "delta");
    says(&slot, "fresh", &["its lease runs for another 1h"]);
    assert_eq!(
        (&slot["lock"], &slot["role"]),
        (&json!("build"), &json!("holder"))
    );
    assert_eq!(slot["project_root"], json!(stage.main));
    let waiter = row(&run, "epsilon");
    says(&waiter, "fresh", &["its right to its place runs"]);
    assert_eq!(waiter["position"], 1);
}

#[test]
fn processes_that_are_there() {
    let stage = Stage::new();
    let mut runs = stage.env.call(&stage.main);
    runs = runs.args("merge run --as alpha -- sleep 100");
    let mut runs = runs.start();
    wait_until_held_by(&stage.main, "alpha");
    let child = child_of(runs.pid());
    let run = stage.doctor("").exits(0);
    says(
        &row(&run, "alpha"),
        "fresh",
        &["keeps its presence file locked"],
    );
    runs.signal(9);
    runs.wait(DEADLINE);
    let run = stage.doctor("").exits(0);
    let command = format!("process {child} runs");
    let words = ["nobody keeps its presence file locked", &command];
    says(&row(&run, "alpha"), "fresh", &words);
    crate::common::turns::send(child, 9);
    let gone = crate::common::turns::waits_for("a verdict", DEADLINE, || {
        let run = stage.doctor("").exits(0);
        (row(&run, "alpha")["staleness"] == "stale").then_some(run)
    });
    let ended = format!("process {child} has ended");
    says(&row(&gone, "alpha"), "stale", &[&ended]);
    let finding = the(&gone, "stale-holder");
    assert_eq!(finding["severity"], "note");
    assert_eq!(finding["action"], "git locks merge release --require-stale");
    assert_eq!(path_of(&finding), lock_file(&stage.main));
    stage.doctor("--fix").exits(0);
    assert!(lock_file(&stage.main).exists(), "a lock is never touched");
}

#[test]
fn plans_and_their_worktrees() {
    let stage = Stage::new();
    keep_plans(&stage.main);
    let alpha = plan(&stage.main, "alpha");
    stage.env.merge(&stage.main, "acquire --as alpha").exits(0);
    says(
        &row(&stage.doctor("").exits(0), "alpha"),
        "fresh",
        &["its plan is there"],
    );
    fs::remove_dir_all(alpha).expect("gone");
    let gone = row(&stage.doctor("").exits(0), "alpha");
    says(
        &gone,
        "stale",
        &["it has no plan", "it has no live worktree"],
    );
    mid_recovery(&stage.main, "alpha");
    let run = stage.doctor("--fix").exits(1);
    says(
        &row(&run, "alpha"),
        "fresh",
        &["it has no plan", "its worktree is live"],
    );
    // The fixture's .git leads nowhere, which is told too.
    assert_eq!(
        kinds(&run),
        ["recovering-holder", "worktree-marker"],
        "{run:#?}"
    );
    let finding = the(&run, "recovering-holder");
    assert_eq!(finding["severity"], "warning");
    assert_eq!(finding["action"], "git locks merge release --as alpha");
    stage.env.merge(&stage.main, "release --as alpha").exits(0);
    stage.doctor("").exits(0);
}

#[test]
fn what_cannot_be_told_needs_a_person() {
    let stage = Stage::new();
    stage.env.merge(&stage.main, "acquire --as alpha").exits(0);
    edit_records(&stage.main, |all| {
        all["hosts"][0] = json!({"boot_id": "b", "machine_id": "m", "name": "elsewhere"});
        all["participants"]["alpha"]["lease"]["from"] = json!({"wall": 1.0});
    });
    let run = stage.doctor("--fix").exits(1);
    says(&row(&run, "alpha"), "unknown", &["which proves nothing"]);
    assert_eq!(kinds(&run), ["unknown-holder"], "{run:#?}");
    let finding = the(&run, "unknown-holder");
    assert_eq!(finding["action"], "git locks merge release --as alpha");
    assert!(lock_file(&stage.main).exists());
    stage.env.merge(&stage.main, "release --as alpha").exits(0);
    stage.is_well();
}

#[test]
fn holders_and_waiters_of_other_programs() {
    let stage = Stage::new();
    hold(&stage.main, "alpha\n");
    queue_of(&stage.main, &["alpha", "beta"]);
    let run = stage.doctor("").exits(0);
    let words = [
        "there is no record of it",
        "from when it was made runs for another",
        "no plans are kept",
    ];
    says(&row(&run, "alpha"), "fresh", &words);
    says(&row(&run, "beta"), "fresh", &words);
    age(&lock_file(&stage.main), OLD);
    let run = stage.doctor("").exits(0);
    says(&row(&run, "alpha"), "stale", &["ended 1h ago"]);
    hold(&stage.main, "../Evil\u{1b}[31m\n");
    let run = stage.doctor("").exits(0);
    let row = row(&run, "../Evil[31m");
    says(&row, "stale", &["no plan id"]);
    the(&run, "stale-holder");
}

#[test]
fn entries_of_other_programs_and_of_projects_that_are_gone() {
    let stage = Stage::new();
    keep_plans(&stage.main);
    plan(&stage.main, "alpha");
    let gone = stage.env.path("moved-away");
    let queue = stage.env.builds();
    queue.write_entries(
        &[
            foreign("alpha", &stage.main, Some(5.0)),
            foreign("beta", &gone, Some(5.0)),
        ],
        &[foreign("gamma", &stage.main, None)],
    );
    let run = stage.doctor("--fix").exits(0);
    says(
        &row(&run, "alpha"),
        "fresh",
        &["there is no record of it", "its plan is there"],
    );
    says(&row(&run, "beta"), "stale", &["its project is gone"]);
    says(&row(&run, "gamma"), "stale", &["it has no plan"]);
    assert_eq!(kinds(&run), ["stale-holder"], "{run:#?}");
    assert_eq!(path_of(&the(&run, "stale-holder")), queue.path());
    assert_eq!(
        queue.active(),
        ["alpha", "beta"],
        "an entry is never touched"
    );
    // A record of a later version proves nothing.
    let mut odd = foreign("alpha", &stage.main, Some(5.0));
    odd["git_locks"] = json!({"format": 99});
    queue.write_entries(&[odd], &[]);
    let run = stage.doctor("").exits(1);
    says(
        &row(&run, "alpha"),
        "unknown",
        &["not for this version to read"],
    );
    let action = the(&run, "unknown-holder")["action"].clone();
    let id = queue.id_of("alpha");
    assert_eq!(action, format!("git locks build release --id {id}"));
}

#[test]
fn a_lock_that_is_being_made_is_nothing_to_worry_about() {
    let stage = Stage::new();
    hold(&stage.main, "");
    let run = stage.doctor("").exits(0);
    assert_eq!(kinds(&run), [""; 0], "{run:#?}");
    says(&row(&run, ""), "unknown", &["the lock file is empty"]);
    assert!(base(&stage.main).join("merge.lock").exists());
}
