//! Whose slot is taken away, and whose is not: each entry is judged in its own project.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cast::{asks, leaves, one, two};
use crate::common::builds::foreign;
use crate::common::fixture::{keep_plans, mid_recovery, moved_plan, plan};
use crate::common::turns::{descendants, runs, waits_for};
use crate::common::{DEADLINE, Env, chmod, eventually, needs_root};
use crate::stage::{AT_ONCE, KILL, Stage};

#[test]
fn a_dead_plan_of_our_own_is_pruned() {
    let (env, repo) = one();
    for id in ["a", "b", "c"] {
        plan(&repo, id);
    }
    let queue = env.builds();
    let first = asks(&env, &repo, "a", 0).text("id");
    asks(&env, &repo, "b", 75);
    std::fs::remove_dir(repo.join(".plan/local/plans/a")).expect("its plan");
    // Only acquire prunes.
    env.build(&repo, "release --as c --max-slots 1").exits(0);
    assert_eq!(queue.active(), ["a"]);
    asks(&env, &repo, "b", 0);
    assert_eq!(
        (queue.active(), queue.waiting()),
        (vec!["b".into()], vec![])
    );
    // Also the caller's own: it begins anew.
    leaves(&env, &repo, "b");
    plan(&repo, "a");
    let again = asks(&env, &repo, "a", 0).text("id");
    assert_ne!(first, again);
    std::fs::remove_dir(repo.join(".plan/local/plans/a")).expect("its plan");
    let third = asks(&env, &repo, "a", 0).text("id");
    assert_ne!(again, third);
    assert_eq!(queue.ids("active"), [third]);
}

#[test]
fn a_foreign_projects_live_holder_is_never_pruned() {
    for moved in [false, true] {
        let (env, repo, there) = two();
        let queue = env.builds();
        if moved {
            moved_plan(&there, "theirs");
        } else {
            plan(&there, "theirs");
        }
        // A plan of that name in the caller's own project says nothing.
        keep_plans(&repo);
        let entry = foreign("theirs", &there, Some(100.0));
        queue.write_entries(std::slice::from_ref(&entry), &[]);
        asks(&env, &repo, "a", 75);
        env.build(&repo, "release --as a").exits(0);
        assert_eq!(queue.list("active"), [entry]);
    }
}

#[test]
fn a_foreign_projects_dead_holder_is_pruned() {
    let (env, repo, there) = two();
    let queue = env.builds();
    keep_plans(&there);
    plan(&repo, "theirs");
    queue.write_entries(&[foreign("theirs", &there, Some(100.0))], &[]);
    asks(&env, &repo, "a", 0);
    assert_eq!(queue.active(), ["a"]);
}

#[test]
fn a_foreign_projects_holder_in_recovery_keeps_its_slot() {
    let (env, repo, there) = two();
    let queue = env.builds();
    mid_recovery(&there, "theirs");
    queue.write_entries(&[foreign("theirs", &there, Some(100.0))], &[]);
    asks(&env, &repo, "a", 75);
    assert_eq!(queue.active(), ["theirs"]);
}

#[test]
fn an_entry_without_a_project_is_of_the_callers() {
    let (env, repo, there) = two();
    let queue = env.builds();
    plan(&repo, "x");
    keep_plans(&there);
    for root in [Value::Null, json!(3), json!([])] {
        let mut entry = foreign("x", &repo, Some(5.0));
        entry["project_root"] = root;
        queue.write_entries(&[entry.clone()], &[]);
        asks(&env, &repo, "a", 75);
        assert_eq!(queue.active(), ["x"]);
        queue.write_entries(&[entry], &[]);
        asks(&env, &there, "b", 0);
        assert_eq!(queue.active(), ["b"]);
    }
}

#[test]
fn a_deleted_repository_frees_its_slots() {
    let (env, repo, there) = two();
    let queue = env.builds();
    plan(&there, "a");
    asks(&env, &there, "a", 0);
    plan(&there, "theirs");
    queue.edit(|all| {
        let active = all["active"].as_array_mut().expect("a list");
        active.push(foreign("theirs", &there, Some(1.0)));
    });
    std::fs::remove_dir_all(&there).expect("it goes");
    asks(&env, &repo, "b", 0).says(&[("active_count", json!(1))]);
    assert_eq!(queue.active(), ["b"]);
}

#[test]
fn a_lease_outlives_its_repository() {
    let (env, repo, there) = two();
    let queue = env.builds();
    env.build(&there, "acquire --max-slots 1 --as a --ttl 1d")
        .exits(0);
    std::fs::remove_dir_all(&there).expect("it goes");
    asks(&env, &repo, "b", 75);
    assert_eq!(queue.active(), ["a"]);
    let id = queue.id_of("a");
    env.build(&repo, &format!("release --max-slots 1 --id {id}"))
        .exits(0)
        .says(&[("promoted", json!(queue.id_of("b")))]);
}

/// Whoever may not look into the directory of a project.
const ANN: u32 = 64_001;

#[test]
fn what_cannot_be_looked_at_keeps_its_slot() {
    if !needs_root("liveness::what_cannot_be_looked_at_keeps_its_slot") {
        return;
    }
    let env = Env::new();
    env.public_bin();
    let (dir, closed) = (env.mkdir("plain"), env.mkdir("closed/there"));
    let home = env.home_for(ANN, ANN).join(".plan-marshall");
    let ask = || {
        env.call(&dir)
            .user(&env, ANN, ANN)
            .args("--format json build acquire --max-slots 1 --as a")
            .run()
    };
    ask().exits(0);
    let queue = crate::common::builds::Queue::of(&home);
    let theirs = foreign("theirs", &closed, Some(5.0));
    let seen_from = |mode: u32| {
        queue.edit(|all| *all = json!({"active": [theirs.clone()], "waiting": [], "run_log": []}));
        std::os::unix::fs::chown(queue.path(), Some(ANN), Some(ANN)).expect("chown");
        chmod(&env.path("closed"), mode);
        ask()
    };
    seen_from(0o700).exits(75);
    assert_eq!(queue.active(), ["theirs"]);
    // Also where it is not there at all: nobody could tell.
    std::fs::remove_dir(&closed).expect("it goes");
    seen_from(0o700).exits(75);
    assert_eq!(queue.active(), ["theirs"]);
    seen_from(0o755).exits(0);
    assert_eq!(queue.active(), ["a"]);
}

#[test]
fn a_running_command_keeps_its_slot_when_its_repository_is_deleted() {
    let stage = Stage::new();
    let there = stage.env.init("there");
    let mut run = stage.starts_in(&there, "--max-slots 1 --as a", "log begin; hold a");
    stage.noted("begin");
    // What the runner has to write there is written by then.
    waits_for("the timeline", DEADLINE, || {
        let told = crate::timeline::events(&there);
        told.iter()
            .any(|event| event.message.starts_with("(build:acquired)"))
            .then_some(())
    });
    let title = there.join(".git/git-locks/titles/a.json");
    eventually(DEADLINE, || title.exists());
    std::fs::remove_dir_all(&there).expect("it goes");
    asks(&stage.env, &stage.repo, "b", 75);
    assert_eq!(stage.builds().active(), ["a"]);
    assert!(run.is_alive());
    // Its slot is the machine's: it is given back in the ordinary way.
    assert_eq!(stage.builds().waiting(), ["b"]);
    stage.let_go("a");
    let ended = run.wait(DEADLINE).exits(0);
    assert!(!ended.stderr.contains("given back"), "{ended:#?}");
    assert_eq!(stage.builds().active(), ["b"], "promoted");
    assert!(!there.exists(), "something was made in the old place");
    asks(&stage.env, &stage.repo, "b", 0);
    assert_eq!(stage.builds().active(), ["b"]);
}

#[test]
fn a_killed_runs_slot_is_free_at_once() {
    let stage = Stage::new();
    let queue = stage.builds();
    let mut run = stage.starts("--max-slots 1 --as a", "log begin; hold a");
    stage.noted("begin");
    let command = descendants(run.pid());
    run.signal_group(KILL);
    run.wait(AT_ONCE).dies_of(KILL);
    waits_for("the command to be gone", DEADLINE, || {
        (!command.iter().any(|pid| runs(*pid))).then_some(())
    });
    asks(&stage.env, &stage.repo, "b", 0);
    assert_eq!(queue.active(), ["b"]);
}

#[test]
fn a_killed_runner_keeps_its_slot_while_the_command_runs_and_no_longer() {
    let stage = Stage::new();
    let queue = stage.builds();
    let mut run = stage.starts("--max-slots 1 --as a", "log begin; hold a; log end");
    stage.noted("begin");
    run.kill();
    asks(&stage.env, &stage.repo, "b", 75);
    queue.backdate("a", 9000.0);
    asks(&stage.env, &stage.repo, "b", 75);
    assert_eq!(queue.active(), ["a"]);
    stage.let_go("a");
    stage.noted("end");
    eventually(AT_ONCE, || env_code(&stage, "b") == 0);
    assert_eq!(queue.active(), ["b"]);
}

fn env_code(stage: &Stage, id: &str) -> i32 {
    stage
        .build(&format!("acquire --max-slots 1 --as {id}"))
        .code
}

#[test]
fn the_end_of_a_killed_runs_command_wakes_who_waits() {
    let stage = Stage::new();
    let mut run = stage.starts("--max-slots 1 --as a", "log begin; hold a");
    stage.noted("begin");
    let mut next = stage.starts("--max-slots 1 --as b", "log next");
    stage.builds().wait_until_queued(1);
    run.kill();
    assert!(next.is_alive());
    stage.let_go("a");
    next.wait(DEADLINE).exits(0);
    stage.noted("next");
    assert_eq!(stage.builds().active(), [""; 0]);
}

/// What is left of files in a directory.
fn names(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).expect("a directory");
    entries.flatten().map(|entry| entry.path()).collect()
}

#[test]
fn nothing_is_left_over() {
    let stage = Stage::new();
    stage.builds_to_the_end("--as a", "exit 0").exits(0);
    asks(&stage.env, &stage.repo, "b", 0);
    leaves(&stage.env, &stage.repo, "b");
    stage.builds().is_empty();
    let mut left = names(&stage.env.home_root());
    left.sort();
    let known = ["build-queue.json", "build-queue.json.guard", "git-locks"];
    let known: Vec<PathBuf> = known
        .iter()
        .map(|name| stage.env.home_root().join(name))
        .collect();
    assert_eq!(left, known);
    assert_eq!(stage.env.git(&stage.repo, "status --porcelain"), "");
}
