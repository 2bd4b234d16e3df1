//! `check`: who builds, who waits, and whether a newcomer would get in.

use serde_json::{Value, json};

use crate::cast::{asks, two};
use crate::common::builds::foreign;
use crate::common::fixture::plan;
use crate::stage::Stage;

const QUEUE: &str = "status plan_id max_slots active_count waiting_count queue_path user mine";
const QUEUE_MORE: &str = "position disagreeing_slots active waiting";
const HOLDER: [&str; 10] = [
    "slot",
    "id",
    "plan_id",
    "project_root",
    "since",
    "staleness",
    "max_slots",
    "expires_at",
    "command",
    "reason",
];
const WAITER: [&str; 9] = [
    "position",
    "id",
    "plan_id",
    "project_root",
    "since",
    "staleness",
    "max_slots",
    "command",
    "reason",
];

fn keys(row: &Value) -> Vec<&str> {
    row.as_object()
        .expect("a row")
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn nothing_at_all() {
    let (env, repo, _) = two();
    env.build(&repo, "check")
        .exits(0)
        .fields_then(QUEUE, QUEUE_MORE)
        .says(&[
            ("status", json!("free")),
            ("max_slots", json!(5)),
            ("active_count", json!(0)),
            ("waiting_count", json!(0)),
            ("queue_path", json!(env.builds().path())),
            ("mine", json!(false)),
            ("active", json!([])),
            ("waiting", json!([])),
        ]);
    let me = nix::unistd::User::from_uid(nix::unistd::geteuid())
        .ok()
        .flatten();
    if let Some(me) = me {
        assert_eq!(env.build(&repo, "check").get("user"), json!(me.name));
    }
}

#[test]
fn who_builds_and_who_waits() {
    let (env, repo, there) = two();
    plan(&there, "theirs");
    plan(&there, "b");
    let queue = env.builds();
    queue.write_entries(&[foreign("theirs", &there, Some(30.0))], &[]);
    env.build(
        &repo,
        "acquire --max-slots 2 --as a --ttl 1h --reason tests",
    )
    .exits(0);
    env.build(&there, "acquire --max-slots 2 --as b").exits(75);
    env.build(&repo, "acquire --max-slots 2 --as c --reason more")
        .exits(75);
    let run = env.build(&repo, "check --max-slots 2 --as a").exits(0);
    let run = run.fields_then(QUEUE, QUEUE_MORE).says(&[
        ("status", json!("held")),
        ("plan_id", json!("a")),
        ("active_count", json!(2)),
        ("waiting_count", json!(2)),
        ("mine", json!(true)),
        ("position", Value::Null),
        ("disagreeing_slots", Value::Null),
    ]);
    let report = run.json();
    let active = report["active"].as_array().expect("rows");
    assert!(active.iter().all(|row| keys(row) == HOLDER), "{active:#?}");
    let waiting = report["waiting"].as_array().expect("rows");
    assert!(
        waiting.iter().all(|row| keys(row) == WAITER),
        "{waiting:#?}"
    );
    let theirs = active
        .iter()
        .find(|row| row["plan_id"] == "theirs")
        .expect("it");
    assert_eq!(theirs["slot"], Value::Null);
    assert_eq!(theirs["project_root"], json!(there));
    assert_eq!(theirs["staleness"], "fresh");
    let held = crate::common::fixture::now() - theirs["since"].as_f64().expect("a time");
    assert!((29.0..90.0).contains(&held), "{held}");
    let ours = active.iter().find(|row| row["plan_id"] == "a").expect("it");
    for (field, value) in [
        ("slot", json!(1)),
        ("id", json!(queue.id_of("a"))),
        ("project_root", json!(repo)),
        ("staleness", json!("fresh")),
        ("max_slots", json!(2)),
        ("reason", json!("tests")),
        ("command", Value::Null),
    ] {
        assert_eq!(ours[field], value, "{field}");
    }
    assert!(ours["expires_at"].is_f64());
    let rows: Vec<(u64, &str, &str)> = waiting
        .iter()
        .map(|row| {
            let text = |field: &str| row[field].as_str().expect("text");
            (
                row["position"].as_u64().expect("a place"),
                text("plan_id"),
                text("staleness"),
            )
        })
        .collect();
    assert_eq!(rows, [(1, "b", "fresh"), (2, "c", "fresh")]);
    assert_eq!(waiting[1]["reason"], "more");
    env.build(&repo, "check --max-slots 2 --as c")
        .exits(0)
        .says(&[("mine", json!(false)), ("position", json!(2))]);
    // The same id of another project is another.
    env.build(&there, "check --max-slots 2 --as c")
        .says(&[("position", Value::Null)]);
}

#[test]
fn whether_one_would_get_in() {
    let (env, repo, there) = two();
    let asked = |dir, args: &str, code: i32, status: &str| {
        env.build(dir, &format!("check {args}"))
            .exits(0)
            .says(&[("status", json!(status))]);
        env.build(dir, &format!("check --exit-code {args}"))
            .exits(code);
    };
    asked(&repo, "--max-slots 1 --as a", 0, "free");
    asks(&env, &repo, "a", 0);
    asked(&repo, "--max-slots 1 --as a", 0, "held");
    asked(&repo, "--max-slots 1 --as b", 1, "held");
    asked(&there, "--max-slots 1 --as a", 1, "held");
    asked(&repo, "--max-slots 2 --as b", 0, "free");
    // A slot is free, but another is first in line for it.
    env.build(&there, "acquire --max-slots 1 --as w").exits(75);
    env.builds().edit(|all| all["active"] = json!([]));
    asked(&repo, "--max-slots 1 --as b", 1, "held");
    asked(&there, "--max-slots 1 --as w", 0, "held");
}

#[test]
fn callers_who_disagree_about_the_slots() {
    let (env, repo, there) = two();
    env.build(&repo, "acquire --max-slots 3 --as a").exits(0);
    let of = |args: &str| env.build(&there, args).exits(0).get("disagreeing_slots");
    assert_eq!(of("check --max-slots 3"), Value::Null);
    let seen = of("check --max-slots 2");
    let seen = seen.as_array().expect("numbers");
    assert!(seen.contains(&json!(3)), "{seen:?}");
    env.build(&there, "acquire --max-slots 4 --as b").exits(0);
    let seen = of("check --max-slots 3");
    let seen = seen.as_array().expect("numbers");
    assert!(
        seen.contains(&json!(3)) && seen.contains(&json!(4)),
        "{seen:?}"
    );
}

#[test]
fn what_runs_is_said() {
    let stage = Stage::new();
    let mut command = stage.builder_in(&stage.repo, "--max-slots 1 --as me --reason because");
    command.arg("--").args(stage.script("log begin; hold me"));
    let mut run = crate::common::turns::Running::start(command);
    stage.noted("begin");
    let mut next = stage.starts("--max-slots 1 --as next", "log next");
    stage.builds().wait_until_queued(1);
    let report = stage.build("check --max-slots 1").exits(0).json();
    for row in [&report["active"][0], &report["waiting"][0]] {
        let command = row["command"].as_str().unwrap_or_default();
        assert!(
            command.contains("sh") && command.contains("script-"),
            "{row}"
        );
    }
    assert_eq!(report["active"][0]["reason"], "because");
    assert_eq!(report["active"][0]["slot"], 1);
    stage.let_go("me");
    run.wait(crate::common::DEADLINE).exits(0);
    next.wait(crate::common::DEADLINE).exits(0);
}

#[test]
fn the_dead_are_said_to_be_so() {
    let (env, repo, there) = two();
    plan(&there, "x");
    let missing = env.path("missing");
    env.builds().write_entries(
        &[
            foreign("dead", &there, Some(5.0)),
            foreign("y", &missing, Some(5.0)),
            foreign("x", &there, Some(5.0)),
        ],
        &[],
    );
    let report = env.build(&repo, "check").exits(0).json();
    let seen: Vec<&str> = report["active"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["staleness"].as_str().expect("a word"))
        .collect();
    assert_eq!(seen, ["stale", "stale", "fresh"]);
}
