//! Beside another program, which knows plans and ages only.

use serde_json::{Value, json};

use crate::cast::{asks, leaves, two};
use crate::common::builds::Other;
use crate::common::fixture::{keep_plans, plan};
use crate::stage::{AT_ONCE, Stage};

#[test]
fn each_sees_the_others_slots() {
    let (env, repo, there) = two();
    let queue = env.builds();
    for id in ["x", "y"] {
        plan(&there, id);
    }
    plan(&repo, "a");
    let other = Other::new(&env, &there, 2);
    assert!(other.acquire("x"));
    assert!(other.acquire("x"));
    env.build(&repo, "acquire --max-slots 2 --as a")
        .exits(0)
        .says(&[("active_count", json!(2))]);
    assert!(!other.acquire("y"));
    asks(&env, &repo, "b", 75).says(&[("position", json!(2))]);
    env.build(&repo, "release --max-slots 2 --as a")
        .exits(0)
        .says(&[("promoted", json!(queue.id_of("y")))]);
    assert!(other.acquire("y"));
    assert_eq!(
        (queue.active(), queue.waiting()),
        (vec!["x".into(), "y".into()], vec!["b".into()])
    );
}

#[test]
fn it_gives_us_a_slot_and_we_find_it() {
    let (env, repo, there) = two();
    let queue = env.builds();
    plan(&there, "x");
    plan(&repo, "b");
    let other = Other::new(&env, &there, 1);
    assert!(other.acquire("x"));
    let id = asks(&env, &repo, "b", 75).text("id");
    assert_eq!(other.release("x").as_deref(), Some(id.as_str()));
    let record = queue.entry("b")["git_locks"].clone();
    assert_ne!(record["claimed"], json!(true), "it keeps what we wrote");
    asks(&env, &repo, "b", 0).says(&[("id", json!(id)), ("slot", json!(1))]);
    let record = queue.entry("b")["git_locks"].clone();
    assert_eq!(record["claimed"], json!(true));
    assert_eq!(record["slot"], json!(1));
    leaves(&env, &repo, "b").says(&[("action", json!("released"))]);
    queue.is_empty();
}

#[test]
fn it_gives_a_waiting_run_its_slot() {
    let stage = Stage::new();
    let queue = stage.builds();
    let there = stage.env.init("there");
    plan(&there, "x");
    let other = Other::new(&stage.env, &there, 1);
    assert!(other.acquire("x"));
    let mut run = stage.starts(
        "--max-slots 1 --as b",
        "log slot $GIT_LOCKS_BUILD_SLOT; hold b",
    );
    queue.wait_until_queued(1);
    other.release("x");
    assert_eq!(stage.note("slot"), "1");
    assert_eq!(queue.active(), ["b"]);
    stage.has_no_slot();
    stage.let_go("b");
    run.wait(AT_ONCE).exits(0);
    queue.is_empty();
}

#[test]
fn a_process_of_ours_is_seen_alive_by_it_where_plans_are_kept() {
    let stage = Stage::new();
    let queue = stage.builds();
    let there = stage.env.init("there");
    plan(&there, "x");
    keep_plans(&stage.repo);
    let mut run = stage.starts("--max-slots 1 --as b", "log begin; hold b");
    stage.noted("begin");
    let other = Other::new(&stage.env, &there, 1);
    for _ in 0..3 {
        assert!(!other.acquire("x"));
        assert_eq!(queue.active(), ["b"]);
    }
    stage.let_go("b");
    run.wait(AT_ONCE).exits(0);
    assert!(other.acquire("x"));
    assert_eq!(queue.active(), ["x"]);
    assert_eq!(
        std::fs::read_dir(stage.repo.join(".plan/local/worktrees")).map_or(0, Iterator::count),
        0,
        "what stood for the run is left"
    );
}

#[test]
fn a_process_of_ours_is_seen_alive_by_it_wherever_it_is_about() {
    for its_slot in [true, false] {
        let stage = Stage::new();
        let queue = stage.builds();
        let there = stage.env.init("there");
        plan(&there, "x");
        plan(&there, "y");
        let other = Other::new(&stage.env, &there, 2);
        if its_slot {
            assert!(other.acquire("x"));
        } else {
            // It keeps other things in the home root, and has yet to build.
            let home = stage.env.home_root();
            std::fs::create_dir_all(&home).expect("a home root");
            std::fs::write(home.join("registry.json"), "{}").expect("a file of its own");
        }
        let mut run = stage.starts("--max-slots 2 --as b", "log begin; hold b");
        stage.noted("begin");
        assert!(other.acquire("x"));
        for _ in 0..3 {
            assert!(!other.acquire("y"), "its slot: {its_slot}");
            assert!(queue.active().contains(&"b".to_owned()));
        }
        stage.let_go("b");
        run.wait(AT_ONCE).exits(0);
        assert_eq!(queue.active(), ["x", "y"]);
        let worktrees = std::fs::read_dir(stage.repo.join(".plan/local/worktrees"));
        let left = worktrees.map_or(0, Iterator::count);
        assert_eq!(left, 0, "what stood for the run is left");
    }
}

#[test]
fn a_run_that_it_removed_comes_back_while_a_slot_is_free() {
    let stage = Stage::new();
    let queue = stage.builds();
    let mut run = stage.starts("--max-slots 1 --as b", "log begin; hold b");
    stage.noted("begin");
    let before = queue.entry("b");
    queue.edit(|all| all["active"] = json!([]));
    queue.wait_until_active(&["b"]);
    let now = queue.entry("b");
    assert_eq!(now["id"], before["id"]);
    assert_eq!(now["git_locks"]["slot"], before["git_locks"]["slot"]);
    stage.has_no_slot();
    // Also when it was put among those who wait.
    queue.edit(|all| {
        all["waiting"] = all["active"].clone();
        all["active"] = json!([]);
    });
    queue.wait_until_active(&["b"]);
    assert_eq!(queue.waiting(), [""; 0]);
    stage.let_go("b");
    run.wait(AT_ONCE).exits(0);
    queue.is_empty();
}

#[test]
fn a_run_whose_slot_went_to_another_has_lost_it() {
    let stage = Stage::new();
    let queue = stage.builds();
    let body = "trap 'log TERM; exit 0' TERM; log begin; hold b";
    let mut run = stage.starts("--max-slots 1 --as b", body);
    stage.noted("begin");
    plan(&stage.repo, "x");
    // Both at once, before the runner can look.
    queue.edit(|all| {
        let mut entry = all["active"][0].clone();
        let fields = entry.as_object_mut().expect("an entry");
        fields.remove("git_locks");
        entry["id"] = json!("x:1");
        entry["plan_id"] = json!("x");
        all["active"] = json!([entry]);
    });
    let ended = run.wait(crate::common::DEADLINE);
    assert_eq!(ended.code, Some(76), "{ended:#?}");
    assert!(ended.stderr.contains("lost"), "{ended:#?}");
    stage.noted("TERM");
    assert_eq!(queue.active(), ["x"]);
}

#[test]
fn a_run_goes_on_without_its_slot_when_it_is_told_to() {
    let stage = Stage::new();
    let queue = stage.builds();
    let mut run = stage.starts(
        "--max-slots 1 --as b --on-loss=continue",
        "log begin; hold b",
    );
    stage.noted("begin");
    plan(&stage.repo, "x");
    let entry = crate::common::builds::foreign("x", &stage.repo, Some(0.0));
    queue.edit(|all| all["active"] = json!([entry]));
    run.says("lost");
    assert!(run.is_alive());
    stage.let_go("b");
    run.wait(crate::common::DEADLINE).exits(76);
    assert_eq!(queue.active(), ["x"], "another's slot was let go");
}

#[test]
fn an_entry_of_its_own_is_ours_by_its_plan_and_project() {
    let (env, repo, there) = two();
    let queue = env.builds();
    plan(&repo, "x");
    plan(&there, "x");
    let other = Other::new(&env, &repo, 2);
    assert!(other.acquire("x"));
    let id = queue.id_of("x");
    asks(&env, &repo, "x", 0).says(&[("id", json!(id)), ("active_count", json!(1))]);
    assert_eq!(
        queue.entry("x")["git_locks"],
        Value::Null,
        "what it wrote is left alone"
    );
    asks(&env, &there, "x", 75);
    leaves(&env, &repo, "x").says(&[("id", json!(id)), ("action", json!("released"))]);
    assert_eq!(queue.active(), ["x"]);
}

#[test]
fn what_stands_for_a_lease_is_there_as_long_as_either_lock_needs_it() {
    let (env, repo, there) = two();
    let queue = env.builds();
    plan(&there, "x");
    keep_plans(&repo);
    let other = Other::new(&env, &there, 1);
    for build_first in [false, true] {
        env.build(&repo, "acquire --max-slots 1 --as b --ttl 1h")
            .exits(0);
        assert!(!other.acquire("x"));
        env.merge(&repo, "acquire --as b --ttl 1h").exits(0);
        if build_first {
            leaves(&env, &repo, "b").says(&[("promoted", json!(queue.id_of("x")))]);
            env.merge(&repo, "release --as b").exits(0);
        } else {
            env.merge(&repo, "release --as b").exits(0);
            assert!(!other.acquire("x"), "the merge lock took it away");
            leaves(&env, &repo, "b").says(&[("action", json!("released"))]);
        }
        assert_eq!(queue.active(), ["x"]);
        other.release("x");
        let left = std::fs::read_dir(repo.join(".plan/local/worktrees"));
        assert_eq!(left.map_or(0, Iterator::count), 0, "{build_first}");
    }
}
