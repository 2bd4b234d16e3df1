//! The reaper: what is held for longer than twice the adaptive limit, unless it is provably alive.

use std::path::Path;

use serde_json::{Value, json};

use crate::cast::{asks, leaves, one, two};
use crate::common::Env;
use crate::common::builds::{foreign, limit_file, limit_of};
use crate::common::fixture::plan;
use crate::common::turns::Running;
use crate::stage::{AT_ONCE, Stage};
use crate::timeline::events;

/// A living plan of another project has had a slot for so long.
fn held_for(env: &Env, there: &Path, seconds: f64) {
    plan(there, "old");
    env.builds()
        .write_entries(&[foreign("old", there, Some(seconds))], &[]);
}

#[test]
fn past_twice_the_limit_and_not_before() {
    let (env, repo, there) = two();
    let queue = env.builds();
    for verb in ["acquire --as a", "release --as nobody"] {
        held_for(&env, &there, 1190.0);
        env.build(&repo, verb).exits(0);
        assert!(queue.active().contains(&"old".to_owned()), "{verb}");
        held_for(&env, &there, 1201.0);
        env.build(&repo, verb).exits(0);
        assert!(!queue.active().contains(&"old".to_owned()), "{verb}");
    }
}

#[test]
fn the_limit_is_a_number_of_seconds_between_ten_minutes_and_an_hour() {
    let (env, repo, there) = two();
    let queue = env.builds();
    for (limit, threshold) in [
        (json!(600), 1200.0),
        (json!(599), 1200.0),
        (json!(-5), 1200.0),
        (json!(true), 1200.0),
        (json!(900.0), 1200.0),
        (json!("900"), 1200.0),
        (Value::Null, 1200.0),
        (json!([900]), 1200.0),
        (json!(900), 1800.0),
        (json!(3600), 7200.0),
        (json!(999_999), 7200.0),
    ] {
        limit_of(&repo, &limit);
        held_for(&env, &there, threshold - 10.0);
        env.build(&repo, "acquire --as a").exits(0);
        assert_eq!(queue.active(), ["old", "a"], "{limit}");
        held_for(&env, &there, threshold + 1.0);
        env.build(&repo, "acquire --as a").exits(0);
        assert_eq!(queue.active(), ["a"], "{limit}");
    }
    for broken in [
        "",
        "not json",
        "[]",
        "{\"build\": 3}",
        "{\"build\": {\"queue\": []}}",
    ] {
        std::fs::write(limit_file(&repo), broken).expect("a configuration");
        held_for(&env, &there, 1190.0);
        env.build(&repo, "acquire --as a").exits(0);
        assert_eq!(queue.active(), ["old", "a"], "{broken}");
        held_for(&env, &there, 1201.0);
        env.build(&repo, "acquire --as a").exits(0);
        assert_eq!(queue.active(), ["a"], "{broken}");
    }
}

#[test]
fn the_larger_limit_counts() {
    let (env, repo, there) = two();
    let queue = env.builds();
    plan(&there, "old");
    limit_of(&there, &json!(3000));
    env.build(&there, "acquire --as old").exits(0);
    assert_eq!(queue.entry("old")["git_locks"]["limit"], 3000);
    queue.backdate("old", 5000.0);
    env.build(&repo, "acquire --as a").exits(0);
    assert_eq!(queue.active(), ["old", "a"]);
    queue.backdate("old", 1010.0);
    env.build(&repo, "acquire --as a").exits(0);
    assert_eq!(queue.active(), ["a"]);
    // What a record says is clamped too.
    env.build(&there, "acquire --as old").exits(0);
    queue.edit(|all| all["active"][1]["git_locks"]["limit"] = json!(999_999));
    queue.backdate("old", 7201.0);
    env.build(&repo, "acquire --as a").exits(0);
    assert_eq!(queue.active(), ["a"]);
}

/// The limit that is on record.
fn limit(repo: &Path) -> Value {
    let text = std::fs::read(limit_file(repo)).unwrap_or_default();
    let all: Value = serde_json::from_slice(&text).unwrap_or_default();
    all["build"]["queue"]["upper_limit_seconds"].clone()
}

/// Holds a slot for so long, by a lease, and lets go.
fn holds_for(env: &Env, repo: &Path, seconds: f64) {
    env.build(repo, "acquire --as a --ttl 1d").exits(0);
    env.builds().backdate("a", seconds);
    env.build(repo, "release --as a")
        .exits(0)
        .says(&[("action", json!("released"))]);
}

#[test]
fn the_longest_hold_raises_the_limit() {
    let (env, repo) = one();
    holds_for(&env, &repo, 500.0);
    assert!(
        !limit_file(&repo).exists(),
        "it is no longer than the least limit"
    );
    holds_for(&env, &repo, 1000.5);
    let seconds = limit(&repo);
    let seconds = seconds.as_u64().expect("an integer");
    assert!((1000..1010).contains(&seconds), "{seconds}");
    let made: Value =
        serde_json::from_slice(&std::fs::read(limit_file(&repo)).expect("it")).expect("JSON");
    assert_eq!(
        made,
        json!({"version": 1, "commands": {}, "build": {"queue": {"upper_limit_seconds": seconds}}})
    );
    let keys: Vec<&String> = made.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["version", "commands", "build"]);
    // Never lowered, and not written anew for nothing.
    let before = std::fs::read(limit_file(&repo)).expect("it");
    holds_for(&env, &repo, 700.0);
    assert_eq!(std::fs::read(limit_file(&repo)).expect("it"), before);
    holds_for(&env, &repo, 1500.0);
    let more = limit(&repo).as_u64().expect("an integer");
    assert!((1500..1510).contains(&more), "{more}");
    holds_for(&env, &repo, 5000.0);
    assert_eq!(limit(&repo), 3600);
    holds_for(&env, &repo, 9000.0);
    assert_eq!(limit(&repo), 3600);
    // The next one is reaped later for it.
    env.builds().is_empty();
}

#[test]
fn what_else_the_configuration_says_is_kept() {
    let (env, repo) = one();
    limit_of(&repo, &json!(600));
    let text = r#"{"version": 3, "commands": {"x": [1.00]}, "build": {"more": 1e1, "queue": {"also": "\u0041", "upper_limit_seconds": 600}}, "last": null}"#;
    std::fs::write(limit_file(&repo), text).expect("a configuration");
    holds_for(&env, &repo, 2000.0);
    let now = std::fs::read_to_string(limit_file(&repo)).expect("it");
    for part in ["1.00", "1e1", r#""\u0041""#, "\"last\"", "\"version\": 3"] {
        assert!(now.contains(part), "{part} in {now}");
    }
    assert!(limit(&repo).as_u64().expect("an integer") >= 2000);
}

#[test]
fn a_configuration_that_cannot_be_read_is_set_aside_with_a_word() {
    let (env, repo) = one();
    limit_of(&repo, &json!(600));
    std::fs::write(limit_file(&repo), "[1]").expect("a configuration");
    env.build(&repo, "acquire --as a --ttl 1d").exits(0);
    env.builds().backdate("a", 2000.0);
    let run = env.build(&repo, "release --as a").exits(0);
    let aside = limit_file(&repo).with_extension("json.corrupt");
    assert_eq!(std::fs::read_to_string(&aside).expect("kept"), "[1]");
    let said = format!("was kept as '{}'", aside.display());
    assert!(run.stderr.contains(&said), "{run:#?}");
}

#[test]
fn only_a_hold_that_ended_raises_the_limit() {
    let (env, repo, there) = two();
    // A waiter that leaves, a reaped one, a dead one: nothing was observed.
    asks(&env, &repo, "a", 0);
    asks(&env, &repo, "b", 75);
    env.builds().edit(|all| {
        let ts = all["waiting"][0]["ts"].as_f64().expect("a time");
        all["waiting"][0]["ts"] = json!(ts - 3000.0);
    });
    leaves(&env, &repo, "b");
    assert!(!limit_file(&repo).exists());
    leaves(&env, &repo, "a");
    held_for(&env, &there, 3000.0);
    env.build(&repo, "release --as nobody").exits(0);
    assert_eq!(env.builds().active(), [""; 0]);
    assert!(!limit_file(&repo).exists() && !limit_file(&there).exists());
}

#[test]
fn a_running_lease_is_not_reaped() {
    let (env, repo, there) = two();
    let queue = env.builds();
    env.build(&there, "acquire --as a --ttl 1d").exits(0);
    queue.backdate("a", 50_000.0);
    asks(&env, &repo, "b", 75);
    env.build(&repo, "release --as nobody").exits(0);
    assert_eq!(queue.active(), ["a"]);
}

#[test]
fn a_process_is_not_reaped_and_its_end_ends_it() {
    let (env, repo, there) = two();
    let queue = env.builds();
    let mut command = env.command("sleep");
    command.arg("1000");
    let mut process = Running::start(command);
    env.build(
        &there,
        &format!("acquire --as a --while-pid {}", process.pid()),
    )
    .exits(0);
    queue.backdate("a", 50_000.0);
    asks(&env, &repo, "b", 75);
    assert_eq!(queue.active(), ["a"]);
    process.kill();
    asks(&env, &repo, "b", 0);
    assert_eq!(queue.active(), ["b"]);
}

#[test]
fn a_run_is_not_reaped() {
    let stage = Stage::new();
    let queue = stage.builds();
    let there = stage.env.init("there");
    let mut run = stage.starts("--max-slots 1 --as a", "log begin; hold a");
    stage.noted("begin");
    queue.backdate("a", 50_000.0);
    asks(&stage.env, &there, "b", 75);
    assert_eq!(queue.active(), ["a"]);
    assert!(run.is_alive());
    stage.let_go("a");
    run.wait(AT_ONCE).exits(0);
    asks(&stage.env, &there, "b", 0);
}

#[test]
fn a_long_plan_is_reaped_where_it_is_noticed() {
    let (env, repo, there) = two();
    let queue = env.builds();
    plan(&there, "long");
    let id = asks(&env, &there, "long", 0).text("id");
    let next = asks(&env, &repo, "next", 75).text("id");
    queue.backdate("long", 1300.0);
    let quiet = events(&there).len();
    asks(&env, &repo, "new", 75).says(&[("active_count", json!(1)), ("position", json!(1))]);
    assert_eq!(queue.ids("active"), [next.as_str()]);
    let since = queue.entry("next")["active_since"]
        .as_f64()
        .expect("a time");
    assert!(since > crate::common::fixture::now() - 60.0);
    assert_eq!(events(&there).len(), quiet, "told where it was not noticed");
    let told = events(&repo);
    let reaped: Vec<_> = told
        .iter()
        .filter(|event| event.message.starts_with("(build:reaped-stale)"))
        .collect();
    assert_eq!(reaped.len(), 1, "{told:#?}");
    assert_eq!(reaped[0].level, "WARNING");
    assert_eq!(reaped[0].message, format!("(build:reaped-stale) {id}"));
    let [held, threshold] = &reaped[0].fields[..] else {
        panic!("{reaped:#?}");
    };
    assert_eq!(held.0, "held");
    let seconds: f64 = held.1.parse().expect("a number");
    assert!(
        held.1.contains('.') && (1300.0..1400.0).contains(&seconds),
        "{held:?}"
    );
    assert_eq!(threshold, &("threshold".to_owned(), "1200".to_owned()));
    let promoted = format!("(build:acquired) {next}");
    assert!(
        told.iter().any(|event| event.message == promoted),
        "{told:#?}"
    );
    // Whoever was reaped has no slot, and stands behind those who wait.
    asks(&env, &there, "long", 75).says(&[("position", json!(2))]);
    assert_ne!(queue.id_of("long"), id);
}

#[test]
fn everyone_who_is_too_old_at_once() {
    let (env, repo, there) = two();
    let queue = env.builds();
    let mut active = Vec::new();
    for (id, held) in [("x", 2000.0), ("y", 100.0), ("z", 3000.0)] {
        plan(&there, id);
        active.push(foreign(id, &there, Some(held)));
    }
    let mut waiting = Vec::new();
    for id in ["p", "q", "r"] {
        plan(&there, id);
        waiting.push(foreign(id, &there, None));
    }
    queue.write_entries(&active, &waiting);
    env.build(&repo, "release --as nobody --max-slots 3")
        .exits(0)
        .says(&[("action", json!("noop"))]);
    assert_eq!(queue.active(), ["y", "p", "q"]);
    assert_eq!(queue.waiting(), ["r"]);
}

#[test]
fn one_that_renews_grows_no_older() {
    let (env, _, there) = two();
    let queue = env.builds();
    env.build(&there, "acquire --as a --ttl 1d").exits(0);
    queue.backdate("a", 1100.0);
    env.build(&there, "renew --as a").exits(0);
    let age =
        crate::common::fixture::now() - queue.entry("a")["active_since"].as_f64().expect("a time");
    assert!(
        age < 60.0,
        "another program would take it for {age} seconds old"
    );
    // For us it is as old as it is: what is learned from it is not less.
    env.build(&there, "release --as a").exits(0);
    let learned = limit(&there);
    assert!(learned.as_u64().expect("an integer") >= 1100, "{learned}");
}
