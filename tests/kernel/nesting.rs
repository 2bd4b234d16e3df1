//! Neither lock is re-entrant: who would wait for its own parent is told so at once.

use std::time::Instant;

use serde_json::Value;

use crate::cast::{Ground, Lock, on_both};
use crate::common::fixture::worktree;
use crate::common::turns::{Doomed, waits_for};
use crate::common::{DEADLINE, can_run, eventually};
use crate::stage::{AT_ONCE, json_in};

#[track_caller]
fn said(ground: &Ground, name: &str) -> Value {
    let text = std::fs::read_to_string(ground.stage.env.path(name)).expect("what it said");
    json_in(&text)
}

/// What a command inside may have done with its environment.
const CALLERS: [&str; 4] = [
    "",
    "env -i PATH=\"$PATH\" HOME=\"$HOME\" TMPDIR=\"$TMPDIR\"",
    "sh -c '\"$@\"; exit $?' sh",
    "setsid -w",
];

#[test]
fn in_itself_it_is_refused_at_once() {
    on_both(|ground| {
        let family = ground.lock.family();
        for caller in CALLERS {
            for timeout in [
                "",
                "--timeout 0",
                "--timeout 60",
                "--wait",
                "--no-wait -E 9",
            ] {
                let body = format!(
                    "{caller} \"$BIN\" --format json {family} run {timeout} -- echo in >\"$DIR/out\" 2>\"$DIR/err\"; exit $?"
                );
                let start = Instant::now();
                let ended = ground.start("", &body).wait(AT_ONCE);
                let what = format!("{family}: {caller} {timeout} ({:?})", start.elapsed());
                assert_eq!(ended.code, Some(1), "{what}: {ended:#?}");
                let report = said(&ground, "err");
                assert_eq!(report["status"], "refused", "{what}: {report}");
                assert_eq!(report["reason"], "own_parent", "{what}: {report}");
                let out = std::fs::read_to_string(ground.stage.env.path("out")).expect("out");
                assert_eq!(out, "", "{what}");
            }
        }
        ground.is_free();
    });
}

#[test]
fn the_command_of_a_killed_runner_is_refused_too() {
    on_both(|ground| {
        let family = ground.lock.family();
        let body = format!(
            "log begin; hold me\n\
             \"$BIN\" --format json {family} run -- echo in >\"$DIR/out\" 2>\"$DIR/err\"; log code $?"
        );
        let mut held = ground.start("", &body);
        ground.stage.noted("begin");
        held.kill();
        ground.stage.let_go("me");
        assert_eq!(ground.stage.note("code"), "1", "{family}");
        assert_eq!(said(&ground, "err")["reason"], "own_parent");
    });
}

#[test]
fn one_inside_the_other_is_fine() {
    let ground = Ground::new(Lock::Worktree);
    let body = "\"$BIN\" repo run --timeout 0 -- true; log one $?\n\
                \"$BIN\" repo run --timeout 0 -- \"$BIN\" worktree run --timeout 0 -- true; log two $?";
    ground.run("", body).exits(0);
    assert_eq!(ground.stage.log(), ["one 0", "two 1"]);
}

#[test]
fn another_repository_is_another_lock() {
    on_both(|ground| {
        let there = ground.stage.env.init("there");
        let body = format!(
            "cd '{}' && \"$BIN\" {} run --timeout 0 -- echo in; exit $?",
            there.display(),
            ground.lock.family()
        );
        let ended = ground.run("", &body).exits(0);
        assert_eq!(ended.stdout, "in\n");
    });
}

#[test]
fn another_worktree_is_another_worktree_lock_only() {
    on_both(|ground| {
        let tree = worktree(&ground.stage.env, &ground.stage.repo, "tree");
        let body = format!(
            "cd '{}' && \"$BIN\" --format json {} run --timeout 60 -- echo in 2>\"$DIR/err\"; exit $?",
            tree.display(),
            ground.lock.family()
        );
        let ended = ground.start("", &body).wait(AT_ONCE);
        let expected = i32::from(ground.lock == Lock::Repo);
        assert_eq!(ended.code, Some(expected), "{:?}: {ended:#?}", ground.lock);
    });
}

#[test]
fn a_marker_of_a_lock_that_another_holds_proves_nothing() {
    on_both(|ground| {
        ground
            .run("", "env | grep ^GIT_LOCKS_ >\"$DIR/marker\"; true")
            .exits(0);
        let marker = std::fs::read_to_string(ground.stage.env.path("marker")).expect("a marker");
        let mut command = ground.prepared("--timeout 0", "log fine");
        let marked = |command: &mut std::process::Command| {
            for line in marker.lines() {
                let (name, value) = line.split_once('=').expect("a variable");
                command.env(name, value);
            }
        };
        marked(&mut command);
        crate::common::turns::Running::start(command)
            .wait(DEADLINE)
            .exits(0);
        let _held = ground.held();
        let mut command = ground.prepared("--timeout 0", "log INTRUDER");
        marked(&mut command);
        crate::common::turns::Running::start(command)
            .wait(DEADLINE)
            .exits(75);
    });
}

#[test]
fn inside_flock_of_the_same_file_it_is_refused_too() {
    on_both(|ground| {
        let file = ground.make_file();
        let body = format!(
            "\"$BIN\" --format json {} run --timeout 60 -- echo in 2>\"$DIR/err\"; exit $?",
            ground.lock.family()
        );
        let mut command = ground.stage.env.command("flock");
        command.current_dir(&ground.stage.repo);
        command.arg(file).args(ground.stage.script(&body));
        let mut running = crate::common::turns::Running::start(command);
        running.wait(AT_ONCE).exits(1);
        assert_eq!(said(&ground, "err")["reason"], "own_parent");
    });
}

#[test]
fn who_has_inherited_the_lock_is_refused_whoever_is_above_it() {
    on_both(|ground| {
        let family = ground.lock.family();
        // What is left behind becomes the caller, and nothing above it has the file open.
        let body = format!(
            "( hold heir; exec \"$BIN\" --format json {family} run --timeout 60 -- true \
             >/dev/null 2>\"$DIR/err\" ) </dev/null >/dev/null 2>&1 & log begin $$; hold me"
        );
        let mut held = ground.start("", &body);
        let command = Doomed::new(ground.stage.number("begin"));
        held.kill();
        ground.stage.let_go("me");
        eventually(DEADLINE, || !command.runs());
        assert_eq!(ground.check().text("status"), "held");
        ground.stage.let_go("heir");
        let report = waits_for("the heir to be told", DEADLINE, || {
            let text = std::fs::read_to_string(ground.stage.env.path("err")).ok()?;
            serde_json::from_str::<Value>(&text).ok()
        });
        assert_eq!(report["reason"], "own_parent", "{report}");
        eventually(DEADLINE, || ground.flock_would());
        ground.is_free();
    });
}

#[test]
fn where_the_kernel_does_not_tell_the_marker_counts() {
    let unshared = std::process::Command::new("unshare")
        .args(["-pf", "true"])
        .output();
    let fine = unshared.is_ok_and(|output| output.status.success());
    let test = "nesting::where_the_kernel_does_not_tell_the_marker_counts";
    if !can_run(test, fine, "needs permission to make a pid namespace") {
        return;
    }
    on_both(|ground| {
        // Its /proc is still ours, and shows other processes under its numbers.
        let body = format!(
            "unshare -pf \"$BIN\" --format json {} run --timeout 5 -- echo in 2>\"$DIR/err\"; exit $?",
            ground.lock.family()
        );
        ground.run("", &body).exits(1);
        assert_eq!(said(&ground, "err")["reason"], "own_parent");
    });
}
