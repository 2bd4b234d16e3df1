//! Signals, at each stage of a run: the lock is free afterwards, the queue left, and the command
//! gets what it should, once.

use std::time::{Duration, Instant};

use crate::common::fixture::waiting;
use crate::common::turns::{
    Running, child_of, children, runs, send, state, take_guard, wait_until_queued, waits_for,
};
use crate::common::{BIN, DEADLINE, required};
use crate::stage::{
    AT_ONCE, DEFAULT_SIGNALS, ENDING, HUP, INT, QUIT, Stage, TERM, WINCH, as_shell, descriptors,
    each, is_ours, send_from_elsewhere,
};
use crate::traced::{self, Traced};

/// A command that notes every signal it gets.
const NOTES_ALL: &str = "traps INT TERM HUP QUIT WINCH; log begin $$; hold me; log end";

/// How often each line stands in the log.
fn count(stage: &Stage, line: &str) -> usize {
    stage.log().iter().filter(|noted| *noted == line).count()
}

/// The mask `name` of a process, such as `SigIgn`.
#[track_caller]
fn mask(pid: i32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let digits = line.and_then(|line| line.strip_prefix(':'));
    u64::from_str_radix(digits.expect("a mask").trim(), 16).expect("hexadecimal")
}

fn has(mask: u64, signal: i32) -> bool {
    mask >> (signal - 1) & 1 == 1
}

#[test]
fn before_the_guard_is_entered() {
    let of_each = |args| ENDING.map(|signal| (signal, args));
    let cases = ["", "--no-wait"].map(of_each).concat();
    each(&cases, |(signal, args)| {
        let stage = Stage::new();
        let guard = take_guard(&stage.repo);
        let mut running = stage.start(args, "log INTRUDER");
        let at_the_guard = || {
            let open = descriptors(running.pid());
            open.iter()
                .any(|(_, target)| target.ends_with("merge.guard"))
        };
        waits_for("the runner at the guard", DEADLINE, || {
            at_the_guard().then_some(())
        });
        running.signal(signal);
        // Although the guard stays shut.
        let ended = running.wait(AT_ONCE);
        assert_eq!(as_shell(&ended), 128 + signal, "{ended:#?}");
        assert_eq!(ended.stdout, "");
        drop(guard);
        assert!(stage.log().is_empty());
        stage.next_is_admitted();
        stage.is_free();
    });
}

#[test]
fn while_waiting() {
    each(&ENDING, |signal| {
        let stage = Stage::new();
        stage.held_by("other");
        let mut running = stage.start("", "log INTRUDER");
        wait_until_queued(&stage.repo, 1);
        running.signal(signal);
        let ended = running.wait(AT_ONCE);
        assert_eq!(as_shell(&ended), 128 + signal, "{ended:#?}");
        assert_eq!(ended.stdout, "");
        assert_eq!(waiting(&stage.repo), ["other"]);
        assert!(stage.log().is_empty());
        stage.merge("release --as other").exits(0);
        stage.is_free();
    });
}

/// Another's window says nothing to one who waits.
#[test]
fn a_resized_window_while_waiting() {
    let stage = Stage::new();
    stage.held_by("other");
    let mut running = stage.start("", "log begin");
    wait_until_queued(&stage.repo, 1);
    running.signal(WINCH);
    stage.merge("release --as other").exits(0);
    running.wait(DEADLINE).exits(0);
    assert_eq!(stage.log(), ["begin"]);
    stage.is_free();
}

#[test]
fn between_grant_and_start() {
    if !traced::possible("signals::between_grant_and_start") {
        return;
    }
    each(&ENDING, |signal| {
        let stage = Stage::new();
        let program = stage.program("log begin; hold me; log end");
        let mut traced = Traced::at_the_door(&stage, "", &program);
        assert!(stage.log().is_empty(), "it did not stand");
        send(traced.runner, signal);
        let ended = traced.strace.wait(DEADLINE);
        assert_eq!(as_shell(&ended), 128 + signal, "{ended:#?}");
        assert!(stage.log().is_empty(), "it lived: {:?}", stage.log());
        stage.is_free();
    });
}

#[test]
fn between_grant_and_word() {
    if !traced::possible("signals::between_grant_and_word") {
        return;
    }
    each(&ENDING, |signal| {
        let stage = Stage::new();
        let program = stage.program("log begin; hold me; log end");
        let mut traced = Traced::before_the_word(&stage, "", &program);
        send(traced.runner, signal);
        let ended = traced.strace.wait(DEADLINE);
        assert_eq!(as_shell(&ended), 128 + signal, "{ended:#?}");
        assert!(stage.log().is_empty(), "it was started: {:?}", stage.log());
        stage.is_free();
    });
}

#[test]
fn while_running_each_is_passed_on_once() {
    let stage = Stage::new();
    let mut running = stage.start("", NOTES_ALL);
    stage.note("begin");
    // The next one is sent when the one before has arrived; what would come twice would come
    // before it.
    for (signal, name) in [
        (INT, "INT"),
        (WINCH, "WINCH"),
        (TERM, "TERM"),
        (HUP, "HUP"),
        (QUIT, "QUIT"),
    ] {
        running.signal(signal);
        stage.noted(name);
        assert!(running.is_alive());
        stage.is_taken();
    }
    stage.let_go("me");
    // The command decides what becomes of it.
    running.wait(DEADLINE).exits(0);
    let log = stage.log();
    assert_eq!(
        log[1..],
        ["INT", "WINCH", "TERM", "HUP", "QUIT", "end"],
        "{log:?}"
    );
    stage.is_free();
}

#[test]
fn a_command_that_dies_of_what_was_passed_on() {
    each(&ENDING, |signal| {
        let stage = Stage::new();
        let mut running = stage.start("", "log begin; hold me; log end");
        stage.noted("begin");
        running.signal(signal);
        let ended = running.wait(AT_ONCE);
        assert_eq!(ended.code, Some(128 + signal), "{ended:#?}");
        assert_eq!(stage.log(), ["begin"]);
        stage.is_free();
    });
}

#[test]
fn a_command_that_takes_its_time_is_waited_for() {
    let stage = Stage::new();
    let body = "trap 'log TERM; hold slow; log clean; exit 7' TERM; log begin; hold me; log end";
    let mut running = stage.start("", body);
    stage.noted("begin");
    running.signal(TERM);
    stage.noted("TERM");
    assert!(running.is_alive());
    stage.is_taken();
    stage.let_go("slow");
    running.wait(DEADLINE).exits(7);
    assert_eq!(stage.log(), ["begin", "TERM", "clean"]);
    stage.is_free();
}

#[test]
fn one_after_the_other_the_same_from_elsewhere() {
    let stage = Stage::new();
    let mut running = stage.start("", NOTES_ALL);
    stage.note("begin");
    for number in 1..=3 {
        send_from_elsewhere(running.pid(), TERM);
        waits_for("each to arrive", DEADLINE, || {
            (count(&stage, "TERM") == number).then_some(())
        });
    }
    stage.let_go("me");
    running.wait(DEADLINE).exits(0);
    stage.is_free();
}

#[test]
fn the_same_again_from_the_parent_changes_nothing() {
    for (signal, name) in [(TERM, "TERM"), (INT, "INT")] {
        let stage = Stage::new();
        let mut running = stage.start("", NOTES_ALL);
        stage.note("begin");
        let begin = Instant::now();
        send_from_elsewhere(running.pid(), signal);
        stage.noted(name);
        // This process is the parent.
        running.signal(signal);
        let in_time = begin.elapsed() < Duration::from_millis(900);
        running.signal(HUP);
        stage.noted("HUP");
        assert!(in_time, "this machine is too slow to tell");
        assert_eq!(count(&stage, name), 1, "{:?}", stage.log());
        stage.let_go("me");
        running.wait(DEADLINE).exits(0);
        stage.is_free();
    }
}

/// `git locks …` through git itself: git is the runner's parent.
fn through_git(stage: &Stage, body: &str) -> Running {
    let mut command = stage.env.command("env");
    let dirs = std::env::var_os("PATH").unwrap_or_default();
    let ours = std::path::Path::new(BIN).parent().expect("a directory");
    let mut path = vec![ours.to_owned()];
    path.extend(std::env::split_paths(&dirs));
    command
        .current_dir(&stage.repo)
        .env("PATH", std::env::join_paths(path).expect("a PATH"))
        .args([DEFAULT_SIGNALS, "git", "locks", "merge", "run", "--"])
        .args(stage.script(body));
    Running::start(command)
}

#[test]
fn git_as_the_parent() {
    let stage = Stage::new();
    let mut git = through_git(&stage, "exit 3");
    git.wait(DEADLINE).exits(3);
    stage.is_free();

    // It passes a signal on to the runner, and waits.
    let mut git = through_git(&stage, NOTES_ALL);
    stage.note("begin");
    let runner = child_of(git.pid());
    assert!(is_ours(runner));
    git.signal(TERM);
    stage.noted("TERM");
    send_from_elsewhere(runner, HUP);
    stage.noted("HUP");
    assert_eq!(count(&stage, "TERM"), 1);
    assert!(git.is_alive() && runs(runner));
    stage.let_go("me");
    let ended = git.wait(DEADLINE);
    assert_eq!(as_shell(&ended), 128 + TERM, "{ended:#?}");
    stage.is_free();
}

#[test]
fn git_and_the_runner_both_told() {
    let stage = Stage::new();
    let mut git = through_git(&stage, NOTES_ALL);
    stage.note("begin");
    let runner = child_of(git.pid());
    let begin = Instant::now();
    send_from_elsewhere(runner, INT);
    stage.noted("INT");
    git.signal(INT);
    let in_time = begin.elapsed() < Duration::from_millis(900);
    // Git answers by telling the runner the same again, and then only waits.
    git_waits(git.pid());
    send_from_elsewhere(runner, HUP);
    stage.noted("HUP");
    assert!(in_time, "this machine is too slow to tell");
    assert_eq!(count(&stage, "INT"), 1, "{:?}", stage.log());
    stage.let_go("me");
    git.wait(DEADLINE);
    stage.is_free();
}

/// Waits until git has dealt with INT: it tells its child first, and then waits for it in the
/// handler, where INT is blocked.
fn git_waits(git: i32) {
    waits_for("git to have answered", DEADLINE, || {
        (has(mask(git, "SigBlk"), INT) && state(git) == Some('S')).then_some(())
    });
}

#[test]
fn ignored_from_the_start_stays_ignored() {
    if !required("signals::ignored_from_the_start_stays_ignored", "nohup") {
        return;
    }
    let stage = Stage::new();
    let nohup = |body: &str| {
        let mut command = stage.env.command("nohup");
        command
            .current_dir(&stage.repo)
            .args(["env", "--default-signal=INT,QUIT,TERM"])
            .args([BIN, "merge", "run", "--"])
            .args(stage.script(body));
        Running::start(command)
    };
    // While waiting …
    stage.held_by("other");
    let mut waits = nohup(NOTES_ALL);
    wait_until_queued(&stage.repo, 1);
    assert!(has(mask(waits.pid(), "SigIgn"), HUP));
    waits.signal(HUP);
    stage.merge("release --as other").exits(0);
    // … and while running, for the command too.
    let child = stage.number("begin");
    assert!(has(mask(child, "SigIgn"), HUP));
    assert!(has(mask(waits.pid(), "SigIgn"), HUP));
    assert!(!has(mask(child, "SigIgn"), TERM));
    waits.signal(HUP);
    send(child, HUP);
    waits.signal(TERM);
    stage.noted("TERM");
    stage.let_go("me");
    waits.wait(DEADLINE).exits(0);
    assert_eq!(stage.log()[1..], ["TERM", "end"]);
    stage.is_free();
}

/// The signals 32 and 33 are the C library's own: it sets them to be ignored in what it starts,
/// and lets nobody change that.
const OF_THE_LIBRARY: u64 = 0b11 << 31;

#[test]
fn nothing_of_ours_is_ignored_or_blocked_for_the_command() {
    let stage = Stage::new();
    let mut command = stage.env.command("env");
    command
        .current_dir(&stage.repo)
        .args(["--default-signal", BIN, "merge", "run", "--"])
        .args(["sleep", "1000"]);
    let mut running = Running::start(command);
    let child = waits_for("the command", DEADLINE, || {
        let child = children(running.pid()).first().copied()?;
        let name = std::fs::read_to_string(format!("/proc/{child}/comm")).ok()?;
        (name == "sleep\n").then_some(child)
    });
    assert_eq!(mask(child, "SigIgn") & !OF_THE_LIBRARY, 0, "ignored");
    assert_eq!(mask(child, "SigBlk"), 0, "blocked");
    running.signal(TERM);
    running.wait(DEADLINE).exits(143);
    stage.is_free();
}

#[test]
fn kill_after_a_term_that_does_not_help() {
    let stage = Stage::new();
    let body = "trap '' TERM; traps INT; log begin; hold me; log end";
    let mut running = stage.start("--kill-after 1s", body);
    stage.noted("begin");
    // An INT is no TERM.
    running.signal(INT);
    stage.noted("INT");
    let begin = Instant::now();
    running.signal(TERM);
    let ended = running.wait(DEADLINE);
    let took = begin.elapsed();
    assert_eq!(ended.code, Some(137), "{ended:#?}");
    assert!(took >= Duration::from_millis(950), "{took:?}");
    assert!(took < Duration::from_secs(8), "{took:?}");
    assert_eq!(stage.log(), ["begin", "INT"]);
    stage.is_free();
}

#[test]
fn without_kill_after_nothing_is_killed() {
    let stage = Stage::new();
    let mut running = stage.start("", NOTES_ALL);
    stage.note("begin");
    let begin = Instant::now();
    running.signal(TERM);
    stage.noted("TERM");
    // Longer than any time that somebody else may have to end.
    waits_for("time to pass", DEADLINE, || {
        (begin.elapsed() > Duration::from_secs(12)).then_some(())
    });
    assert!(running.is_alive());
    stage.let_go("me");
    running.wait(DEADLINE).exits(0);
}

#[test]
fn max_hold_ends_the_command() {
    let stage = Stage::new();
    let begin = Instant::now();
    let ended = stage.run("--max-hold 1s", "log begin; hold me; log end");
    let took = begin.elapsed();
    assert_eq!(ended.code, Some(143), "{ended:#?}");
    assert!(took >= Duration::from_millis(950), "{took:?}");
    assert!(!ended.stderr.is_empty(), "it does not say why");
    assert_eq!(stage.log(), ["begin"]);
    stage.is_free();
}

#[test]
fn max_hold_kills_what_does_not_end() {
    // After the time that was given, or else after ten seconds.
    each(&[("--kill-after 1s", 2, 9), ("", 11, 25)], |case| {
        let (more, least, most) = case;
        let stage = Stage::new();
        let begin = Instant::now();
        let args = format!("--max-hold 1s {more}");
        let ended = stage.run(&args, "trap 'log TERM' TERM; log begin; hold me; log end");
        let took = begin.elapsed();
        assert_eq!(ended.code, Some(137), "{ended:#?}");
        assert!(took >= Duration::from_millis(least * 1000 - 50), "{took:?}");
        assert!(took < Duration::from_secs(most), "{took:?}");
        assert_eq!(stage.log(), ["begin", "TERM"]);
        stage.is_free();
    });
}

#[test]
fn max_hold_counts_from_the_grant() {
    let stage = Stage::new();
    stage.held_by("other");
    let mut running = stage.start("--max-hold 3s", "traps TERM; log begin; log end");
    wait_until_queued(&stage.repo, 1);
    let begin = Instant::now();
    waits_for("more time to pass than it may hold", DEADLINE, || {
        (begin.elapsed() > Duration::from_millis(3500)).then_some(())
    });
    assert!(running.is_alive());
    stage.merge("release --as other").exits(0);
    running.wait(DEADLINE).exits(0);
    assert_eq!(stage.log(), ["begin", "end"]);
    stage.is_free();
}

#[test]
fn while_releasing() {
    each(&ENDING, |signal| {
        let stage = Stage::new();
        let mut running = stage.start("--plan-id me", "log begin; hold me; log end; exit 3");
        stage.noted("begin");
        let guard = take_guard(&stage.repo);
        stage.let_go("me");
        stage.noted("end");
        waits_for("the command's end", DEADLINE, || {
            children(running.pid()).is_empty().then_some(())
        });
        // However impatient.
        for _ in 0..3 {
            running.signal(signal);
            send_from_elsewhere(running.pid(), signal);
        }
        assert!(running.is_alive(), "it did not stay to release");
        assert_eq!(stage.holder(), "me");
        drop(guard);
        let ended = running.wait(DEADLINE);
        let code = as_shell(&ended);
        assert!([3, 128 + signal].contains(&code), "{ended:#?}");
        assert_eq!(ended.signal, None, "{ended:#?}");
        stage.is_free();
    });
}
