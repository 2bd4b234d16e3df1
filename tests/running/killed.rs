//! Runners that are killed: the lock is held until their child is gone, and not a moment longer.

use serde_json::json;

use crate::common::fixture::waiting;
use crate::common::turns::{
    children, presence_files, runs, send, take_guard, wait_until_held_by, wait_until_queued,
    waiters, waits_for,
};
use crate::common::{DEADLINE, required};
use crate::stage::{AT_ONCE, KILL, Stage, TERM, descriptors};
use crate::traced::{self, Traced};

/// What is left of a killed process is swept by those who come after it.
fn is_free_in_the_end(stage: &Stage) {
    stage.next_is_admitted();
    stage.is_free();
}

#[test]
fn before_the_grant() {
    let stage = Stage::new();
    stage.held_by("other");
    let mut first = stage.start("--plan-id first", "log INTRUDER");
    wait_until_queued(&stage.repo, 1);
    let mut second = stage.start("--plan-id second", "log begin; hold me");
    wait_until_queued(&stage.repo, 2);
    assert_eq!(first.kill().signal, Some(KILL));
    stage.merge("release --as other").exits(0);
    // The next is passed over nobody but the dead, who keeps its place.
    wait_until_held_by(&stage.repo, "second");
    assert_eq!(waiters(&stage.repo), ["first"]);
    stage.let_go("me");
    second.wait(DEADLINE).exits(0);
    assert_eq!(waiting(&stage.repo), ["first"]);
    assert_eq!(stage.log(), ["begin"]);
    stage.merge("release --as first").exits(0);
    is_free_in_the_end(&stage);
}

/// Kills the runner while its child stands still, and lets a second one wait: they never run at
/// the same time.
#[track_caller]
fn killed_before_the_start(stage: &Stage, mut traced: Traced) {
    let child = traced.child();
    send(traced.runner, KILL);
    traced::gone(traced.runner);
    let mut second = stage.start(
        "--plan-id second",
        "log begin second; hold second; log end second",
    );
    let begun = waits_for("somebody to begin", DEADLINE, || {
        let log = stage.log();
        let begun = log.iter().find_map(|line| line.strip_prefix("begin "));
        begun.map(str::to_owned)
    });
    if begun == "first" {
        // The child went its way: it has the lock for as long as it lives.
        assert!(runs(child));
        stage.is_taken();
        assert_eq!(stage.log(), ["begin first"]);
        stage.let_go("first");
        stage.noted("begin second");
    }
    stage.is_taken();
    stage.let_go("second");
    second.wait(DEADLINE).exits(0);
    // Everybody that strace has seen has ended.
    traced.strace.wait(DEADLINE);
    let log = stage.log();
    let of_second = ["begin second", "end second"];
    let of_both = ["begin first", "end first", "begin second", "end second"];
    assert!(log == of_second || log == of_both, "{log:?}");
    is_free_in_the_end(stage);
}

const FIRST: &str = "log begin first; hold first; log end first";

#[test]
fn between_grant_and_start() {
    if !traced::possible("killed::between_grant_and_start") {
        return;
    }
    let stage = Stage::new();
    let program = stage.program(FIRST);
    let traced = Traced::at_the_door(&stage, "--plan-id first", &program);
    assert!(stage.log().is_empty(), "it did not stand");
    killed_before_the_start(&stage, traced);
    // Its child had recorded itself, so that it held the lock until it ended.
    assert_eq!(stage.log()[0], "begin first");
}

#[test]
fn between_grant_and_word() {
    if !traced::possible("killed::between_grant_and_word") {
        return;
    }
    let stage = Stage::new();
    let program = stage.program(FIRST);
    let traced = Traced::before_the_word(&stage, "--plan-id first", &program);
    killed_before_the_start(&stage, traced);
    // Its child waited for a word that could not come any more.
    assert_eq!(stage.log()[0], "begin second");
}

#[test]
fn while_running() {
    let stage = Stage::new();
    let mut first = stage.start("--plan-id first", "log begin $$; hold me; log end");
    let child = stage.number("begin");
    let mut second = stage.start("--plan-id second", "log second; hold second");
    wait_until_queued(&stage.repo, 1);
    first.kill();
    assert!(runs(child), "the child died with its runner");
    // Whoever asks, and however often.
    for _ in 0..3 {
        stage.is_taken();
        stage.merge("check").says(&[
            ("holder_plan_id", json!("first")),
            ("staleness", json!("fresh")),
        ]);
        stage
            .merge("release --require-stale --as third")
            .exits(1)
            .says(&[("status", json!("refused"))]);
        stage.merge("release --as first").exits(1).says(&[
            ("status", json!("refused")),
            ("reason", json!("holder_present")),
        ]);
    }
    assert_eq!(waiters(&stage.repo), ["second"]);
    stage.let_go("me");
    waits_for("the second to begin", AT_ONCE, || {
        stage.log().contains(&"second".to_owned()).then_some(())
    });
    assert_eq!(stage.log()[1..], ["end", "second"]);
    wait_until_held_by(&stage.repo, "second");
    assert_eq!(waiters(&stage.repo), Vec::<String>::new());
    stage.let_go("second");
    second.wait(DEADLINE).exits(0);
    is_free_in_the_end(&stage);
}

#[test]
fn with_its_child() {
    let stage = Stage::new();
    let mut first = stage.start("--plan-id first", "log begin $$; hold me; log end");
    let child = stage.number("begin");
    let mut second = stage.start("--plan-id second", "log second");
    wait_until_queued(&stage.repo, 1);
    first.kill();
    send(child, KILL);
    second.wait(AT_ONCE).exits(0);
    assert_eq!(stage.log()[1..], ["second"]);
    is_free_in_the_end(&stage);
}

#[test]
fn the_child_alone() {
    let stage = Stage::new();
    let mut first = stage.start("--plan-id first", "log begin $$; hold me; log end");
    send(stage.number("begin"), KILL);
    first.wait(AT_ONCE).exits(137);
    stage.is_free();
}

#[test]
fn while_releasing() {
    let stage = Stage::new();
    let mut first = stage.start("--plan-id first", "log begin; hold me; log end");
    stage.noted("begin");
    let mut second = stage.start("--plan-id second", "log second");
    wait_until_queued(&stage.repo, 1);
    let guard = take_guard(&stage.repo);
    stage.let_go("me");
    waits_for("the command's end", DEADLINE, || {
        let ended = children(first.pid()).is_empty();
        (ended && stage.log().contains(&"end".to_owned())).then_some(())
    });
    first.kill();
    drop(guard);
    second.wait(AT_ONCE).exits(0);
    assert_eq!(stage.log(), ["begin", "end", "second"]);
    is_free_in_the_end(&stage);
}

#[test]
fn its_presence_is_swept_by_those_after_it() {
    let stage = Stage::new();
    for round in 0..3 {
        let mut first = stage.start("--plan-id first", "log begin $$; hold me");
        waits_for("it to begin", DEADLINE, || {
            (stage.log().len() == round + 1).then_some(())
        });
        let child = stage.log()[round].clone();
        let child = child.trim_start_matches("begin ").parse().expect("a pid");
        first.kill();
        send(child, KILL);
        stage.next_is_admitted();
    }
    let left = presence_files(&stage.repo);
    assert!(left.is_empty(), "{left:?}");
    stage.is_free();
}

/// Starts a daemon of its own session that stays until it is let go.
const DAEMON: &str = "setsid sh -c '
    DIR=$1
    echo \"daemon $$\" >>\"$DIR/log\"
    while [ -d \"$DIR\" ] && [ ! -e \"$DIR/go-daemon\" ]; do sleep 0.05; done
' sh \"$DIR\" </dev/null >/dev/null 2>&1 &
until grep -q ^daemon \"$DIR/log\"; do sleep 0.02; done
log begin";

/// Nothing that the daemon has open is ours.
#[track_caller]
fn has_nothing_of_ours(daemon: i32) {
    assert!(runs(daemon), "the daemon has ended");
    for (number, target) in descriptors(daemon) {
        assert!(
            !target.contains("git-locks/") && !target.contains(".plan"),
            "the daemon's {number} is {target}"
        );
    }
}

#[test]
fn a_daemon_left_behind_keeps_nothing() {
    if !required("killed::a_daemon_left_behind_keeps_nothing", "setsid") {
        return;
    }
    let stage = Stage::new();
    let mut first = stage.start("--plan-id first", DAEMON);
    let daemon = stage.number("daemon");
    first.wait(DEADLINE).exits(0);
    has_nothing_of_ours(daemon);
    stage.is_free();
    stage.next_is_admitted();
    has_nothing_of_ours(daemon);
    stage.let_go("daemon");
}

#[test]
fn a_daemon_of_a_killed_runner_keeps_nothing() {
    if !required(
        "killed::a_daemon_of_a_killed_runner_keeps_nothing",
        "setsid",
    ) {
        return;
    }
    let stage = Stage::new();
    let mut first = stage.start("--plan-id first", &format!("{DAEMON}; hold me; log end"));
    let daemon = stage.number("daemon");
    stage.noted("begin");
    first.kill();
    stage.is_taken();
    let mut second = stage.start("--plan-id second", "log second");
    wait_until_queued(&stage.repo, 1);
    stage.let_go("me");
    second.wait(AT_ONCE).exits(0);
    has_nothing_of_ours(daemon);
    is_free_in_the_end(&stage);
    stage.let_go("daemon");
}

#[test]
fn a_background_job_in_the_same_group_keeps_nothing() {
    let stage = Stage::new();
    let body = "hold job >/dev/null 2>&1 & log job $!; log end";
    // The group is ended when this is dropped, and the job with it.
    let mut first = stage.start("--plan-id first", body);
    first.wait(DEADLINE).exits(0);
    let job = stage.number("job");
    assert!(runs(job), "the job has ended");
    stage.is_free();
    stage.next_is_admitted();
    assert!(runs(job), "the job was ended");
    send(job, TERM);
}
