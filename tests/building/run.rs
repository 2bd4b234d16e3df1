//! `build run`: a command that has a slot while it runs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::cast::{asks, kill, leaves, one};
use crate::common::DEADLINE;
use crate::common::turns::{Running, waits_for};
use crate::stage::{AT_ONCE, ENDING, Stage, TERM, as_shell, json_in};

#[test]
fn what_the_command_is_told() {
    let stage = Stage::new();
    let body = "log slot $GIT_LOCKS_BUILD_SLOT\nlog id $GIT_LOCKS_BUILD_ID\nlog holder $GIT_LOCKS_HOLDER\n\
                log lock $GIT_LOCKS_LOCK\nlog token ${#GIT_LOCKS_TOKEN}\nlog plan ${GIT_LOCKS_PLAN_ID-unset}\n\
                log fence ${GIT_LOCKS_FENCE-unset}\nlog begin; hold me; cat; echo out";
    let mut run = stage.starts("--max-slots 3 --as me", body);
    stage.noted("begin");
    let queue = stage.builds();
    assert_eq!(stage.note("slot"), "1");
    assert_eq!(stage.note("id"), queue.id_of("me"));
    assert_eq!(stage.note("holder"), "me");
    assert_eq!(
        stage.note("lock"),
        format!("build:{}", queue.path().display())
    );
    assert_ne!(stage.note("token"), "0");
    assert_eq!(stage.note("plan"), "unset");
    assert_eq!(stage.note("fence"), "unset");
    assert_eq!(queue.entry("me")["git_locks"]["kind"], "attached");
    stage.let_go("me");
    let ended = run.wait(DEADLINE).exits(0);
    assert_eq!(
        (ended.stdout.as_str(), ended.stderr.as_str()),
        ("out\n", "")
    );
    queue.is_empty();
    assert_eq!(queue.list("run_log").len(), 1);
    assert_eq!(queue.list("run_log")[0]["plan_id"], "me");
}

#[test]
fn exit_codes_are_the_commands() {
    let stage = Stage::new();
    for code in [0, 1, 42, 75, 255] {
        stage
            .builds_to_the_end("", &format!("exit {code}"))
            .exits(code);
    }
    let ended = stage.builds_to_the_end("", "kill -TERM $$");
    assert_eq!(as_shell(&ended), 128 + TERM);
    stage.builds_words("", &["no-such-command"]).exits(127);
    let script = stage.env.path("not-executable");
    std::fs::write(&script, "").expect("a file");
    stage
        .builds_words("", &[script.to_str().expect("UTF-8")])
        .exits(126);
    stage.builds().is_empty();
    stage.has_a_slot();
}

#[test]
fn a_run_that_does_not_wait_leaves_nothing() {
    let stage = Stage::new();
    let queue = stage.builds();
    asks(&stage.env, &stage.repo, "keeper", 0);
    let before = queue.text();
    for (args, code) in [("", 75), ("-E 9", 9), ("-E 0", 0)] {
        let args = format!("--no-wait --max-slots 1 {args}");
        let ended = stage.builds_to_the_end(&args, "log INTRUDER").exits(code);
        assert_eq!(ended.stdout, "", "it is the command's");
        assert!(!ended.stderr.is_empty());
    }
    let mut command = stage.env.command(crate::common::BIN);
    command
        .current_dir(&stage.repo)
        .args("--format json build run --no-wait --max-slots 1 --as x -- true".split(' '));
    let ended = Running::start(command).wait(DEADLINE).exits(75);
    let report = json_in(&ended.stderr);
    assert_eq!(report["admission"], "blocked", "{report}");
    assert_eq!(report["id"], Value::Null, "{report}");
    assert_eq!(queue.text(), before);
    assert!(stage.log().is_empty());
    assert_eq!(queue.presence().len(), 0);
    // Out of time it keeps its place.
    stage
        .builds_to_the_end("--wait=100ms --max-slots 1 --as late -E 7", "log INTRUDER")
        .exits(7);
    assert_eq!(queue.waiting(), ["late"]);
    assert!(stage.log().is_empty());
}

#[test]
fn it_waits_for_its_turn() {
    let stage = Stage::new();
    let queue = stage.builds();
    asks(&stage.env, &stage.repo, "keeper", 0);
    let mut run = stage.starts("--max-slots 1 --as me", "log in $GIT_LOCKS_BUILD_SLOT");
    queue.wait_until_queued(1);
    run.says("waiting");
    leaves(&stage.env, &stage.repo, "keeper");
    run.wait(AT_ONCE).exits(0);
    assert_eq!(stage.log(), ["in 1"]);
    queue.is_empty();
}

#[test]
fn each_slot_has_its_number() {
    const SLOTS: usize = 3;
    let stage = Stage::new();
    let there = stage.env.init("there");
    // Whoever is inside has a directory named after its slot: two of the same number would meet.
    let body = "d=\"$DIR/slot-$GIT_LOCKS_BUILD_SLOT\"\nmkdir \"$d\" || log FAULT $GIT_LOCKS_BUILD_SLOT\n\
                log in $GIT_LOCKS_BUILD_SLOT; sleep 0.0$(( $$ % 6 )); rmdir \"$d\" || log FAULT";
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (stage, there) = (&stage, &there);
            scope.spawn(move || {
                let dir = if number % 2 == 0 { &stage.repo } else { there };
                for _ in 0..5 {
                    let args = format!("--max-slots {SLOTS} --as w{number}");
                    stage
                        .starts_in(dir, &args, body)
                        .wait(DEADLINE * 2)
                        .exits(0);
                }
            });
        }
    });
    let log = stage.log();
    assert!(
        !log.iter().any(|line| line.starts_with("FAULT")),
        "{log:#?}"
    );
    assert_eq!(log.len(), 40);
    let seen: BTreeSet<&str> = log
        .iter()
        .filter_map(|line| line.strip_prefix("in "))
        .collect();
    assert!(seen.is_subset(&BTreeSet::from(["1", "2", "3"])), "{seen:?}");
    stage.builds().is_empty();
}

#[test]
fn all_slots_are_used() {
    let stage = Stage::new();
    let mut all: Vec<Running> = (0..4)
        .map(|number| {
            let body = format!("log slot{number} $GIT_LOCKS_BUILD_SLOT; hold all");
            stage.starts("--max-slots 3", &body)
        })
        .collect();
    waits_for("three to run", DEADLINE, || {
        (stage.log().len() == 3).then_some(())
    });
    stage.builds().wait_until_queued(1);
    let log = stage.log();
    let mut slots: Vec<&str> = log
        .iter()
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    slots.sort_unstable();
    assert_eq!(slots, ["1", "2", "3"]);
    stage.let_go("all");
    for run in &mut all {
        run.wait(DEADLINE).exits(0);
    }
    stage.builds().is_empty();
}

#[test]
fn of_a_running_name_it_is_another() {
    let stage = Stage::new();
    let queue = stage.builds();
    let mut first = stage.starts(
        "--max-slots 2 --as me",
        "log first $GIT_LOCKS_HOLDER; hold all",
    );
    assert_eq!(stage.note("first"), "me");
    let mut second = stage.starts(
        "--max-slots 2 --as me",
        "log second $GIT_LOCKS_HOLDER; hold all",
    );
    let name = stage.note("second");
    let suffix = name.strip_prefix("me-").expect("a suffix");
    assert!(
        suffix.len() == 6 && suffix.bytes().all(|b| b.is_ascii_hexdigit()),
        "{name}"
    );
    assert_eq!(queue.active(), ["me".to_owned(), name]);
    stage.let_go("all");
    first.wait(DEADLINE).exits(0);
    second.wait(DEADLINE).exits(0);
    queue.is_empty();
}

#[test]
fn two_without_a_name_take_a_slot_each() {
    let stage = Stage::new();
    let body = "log in $GIT_LOCKS_HOLDER; hold all";
    let mut all = [
        stage.starts("--max-slots 2", body),
        stage.starts("--max-slots 2", body),
    ];
    waits_for("both", DEADLINE, || (stage.log().len() == 2).then_some(()));
    let names = stage.builds().active();
    assert_ne!(names[0], names[1]);
    assert!(
        names.iter().all(|name| name.starts_with("main-checkout-")),
        "{names:?}"
    );
    stage.let_go("all");
    for run in &mut all {
        run.wait(DEADLINE).exits(0);
    }
}

#[test]
fn from_outside_its_slot_cannot_be_released() {
    let stage = Stage::new();
    let queue = stage.builds();
    let mut run = stage.starts("--max-slots 1 --as me", "log begin; hold me");
    stage.noted("begin");
    let id = queue.id_of("me");
    for args in ["release --as me", &format!("release --as other --id {id}")] {
        stage
            .build(args)
            .exits(1)
            .fields("status plan_id id reason queue_path")
            .says(&[
                ("status", json!("refused")),
                ("id", json!(id)),
                ("reason", json!("holder_present")),
                ("queue_path", json!(queue.path())),
            ]);
    }
    assert_eq!(queue.ids("active"), [id.as_str()]);
    assert_eq!(queue.list("run_log").len(), 0);
    // Nor does its name let another in.
    let again = stage.build("acquire --max-slots 1 --as me");
    assert_ne!(again.get("admission"), json!("admitted"), "{again:#?}");
    // One whose processes are gone can be let go of.
    kill(&queue, &mut run);
    stage.let_go("me");
    crate::common::eventually(DEADLINE, || {
        let code = stage.build(&format!("release --id {id}")).code;
        code == 0
    });
    assert!(!queue.ids("active").contains(&id));
}

#[test]
fn signals_reach_the_command_and_the_slot_is_free_after_it() {
    for signal in ENDING {
        let stage = Stage::new();
        let mut run = stage.starts(
            "--max-slots 1 --as me",
            "traps INT TERM HUP QUIT; log begin; hold me; exit 9",
        );
        stage.noted("begin");
        run.signal(signal);
        waits_for("the signal", DEADLINE, || {
            (stage.log().len() > 1).then_some(())
        });
        stage.has_no_slot();
        stage.let_go("me");
        run.wait(DEADLINE).exits(9);
        stage.builds().is_empty();
    }
}

#[test]
fn a_hold_has_its_bound() {
    let stage = Stage::new();
    let body = "trap 'log TERM; exit 3' TERM; log begin; hold me";
    let mut run = stage.starts("--max-slots 1 --as me --max-hold 1s", body);
    stage.noted("begin");
    let ended = run.wait(DEADLINE);
    assert_ne!(ended.code, Some(0), "{ended:#?}");
    stage.noted("TERM");
    stage.builds().is_empty();
}

#[test]
fn no_command_is_a_usage_error() {
    let (env, repo) = one();
    env.locks(&repo, "build run").exits(2);
    env.locks(&repo, "build run --max-slots 0 -- true").exits(2);
    env.locks(&repo, "build").exits(2);
    assert!(!env.home_root().exists());
}
