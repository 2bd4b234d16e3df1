//! Runs on a terminal: the command is in the foreground, and keys reach it once.

use crate::common::DEADLINE;
use crate::common::fixture::waiting;
use crate::common::turns::{Terminal, send, state, wait_until_queued, waits_for};
use crate::common::{BIN, required};
use crate::stage::{DEFAULT_SIGNALS, Stage, TERM, groups, tool};

const CTRL_C: &str = "\x03";
const CTRL_BACKSLASH: &str = "\x1c";
const CTRL_Z: &str = "\x1a";

/// Whether there are terminals.
fn possible(test: &str) -> bool {
    required(test, "script") && required(test, "stty")
}

/// A run with this script on a terminal of its own.
fn run(stage: &Stage, args: &str, body: &str) -> Terminal {
    let command = stage.script_line(body);
    let line = format!("exec env {DEFAULT_SIGNALS} '{BIN}' merge run {args} -- {command}");
    Terminal::start(&stage.env, &stage.repo, &line)
}

/// The same through git.
fn run_through_git(stage: &Stage, body: &str) -> Terminal {
    let command = stage.script_line(body);
    let dir = std::path::Path::new(BIN).parent().expect("a directory");
    let line = format!(
        "PATH='{}':\"$PATH\"; exec env {DEFAULT_SIGNALS} git locks merge run -- {command}",
        dir.display()
    );
    Terminal::start(&stage.env, &stage.repo, &line)
}

#[test]
fn it_can_read_from_the_terminal() {
    if !possible("terminal::it_can_read_from_the_terminal") {
        return;
    }
    let stage = Stage::new();
    let body = "log begin $$; read -r x </dev/tty; read -r y; log \"got $x $y\"; \
                echo to the terminal >/dev/tty; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && exit 4";
    let mut terminal = run(&stage, "", body);
    let pid = stage.number("begin");
    let (group, foreground) = groups(pid);
    assert_eq!(group, foreground, "it is in the background");
    terminal.types("one\ntwo\n");
    assert_eq!(stage.note("got"), "one two");
    terminal.wait(DEADLINE).exits(4);
    terminal.shows("to the terminal");
    stage.is_free();
}

#[test]
fn keys_that_interrupt_reach_it_once() {
    if !possible("terminal::keys_that_interrupt_reach_it_once") {
        return;
    }
    let body = "traps INT QUIT TERM; log begin $PPID; hold me; log end; exit 5";
    for git in [false, true] {
        let stage = Stage::new();
        let mut terminal = if git {
            run_through_git(&stage, body)
        } else {
            run(&stage, "", body)
        };
        let runner = stage.number("begin");
        terminal.types(CTRL_C);
        stage.noted("INT");
        if !git {
            terminal.types(CTRL_BACKSLASH);
            stage.noted("QUIT");
        }
        // What would come twice would come before this.
        send(runner, TERM);
        stage.noted("TERM");
        stage.is_taken();
        stage.let_go("me");
        let ended = terminal.wait(DEADLINE);
        let log = stage.log();
        if git {
            // Git itself ends by what it was told.
            assert_eq!(log[1..], ["INT", "TERM", "end"], "{log:?}");
        } else {
            assert_eq!(log[1..], ["INT", "QUIT", "TERM", "end"], "{log:?}");
            assert_eq!(ended.code, Some(5), "{ended:#?}");
        }
        stage.is_free();
    }
}

#[test]
fn keys_that_end_it() {
    if !possible("terminal::keys_that_end_it") {
        return;
    }
    for (key, code) in [(CTRL_C, 130), (CTRL_BACKSLASH, 131)] {
        let stage = Stage::new();
        let body = "ulimit -c 0; log begin; read -r x </dev/tty; log end";
        let mut terminal = run(&stage, "", body);
        stage.noted("begin");
        terminal.types(key);
        let ended = terminal.wait(DEADLINE);
        assert_eq!(ended.code, Some(code), "{ended:#?}");
        assert_eq!(stage.log(), ["begin"]);
        stage.is_free();
    }
}

#[test]
fn interrupted_while_waiting() {
    if !possible("terminal::interrupted_while_waiting") {
        return;
    }
    for (key, code) in [(CTRL_C, 130), (CTRL_BACKSLASH, 131)] {
        let stage = Stage::new();
        stage.held_by("other");
        let mut terminal = run(&stage, "", "log INTRUDER");
        wait_until_queued(&stage.repo, 1);
        terminal.types(key);
        let ended = terminal.wait(DEADLINE);
        assert_eq!(ended.code, Some(code), "{ended:#?}");
        assert_eq!(waiting(&stage.repo), ["other"]);
        assert!(stage.log().is_empty());
    }
}

#[test]
fn stopped_and_continued() {
    let test = "terminal::stopped_and_continued";
    if !possible(test) || !required(test, "bash") {
        return;
    }
    let stage = Stage::new();
    let command = stage.script_line("log begin $$ $PPID; hold me; log end; exit 6");
    // A shell with jobs, as people have it.
    let shell = stage.script_line(&format!(
        "set -m\n'{BIN}' merge run --plan-id me -- {command}\n\
         log \"stopped $?\"; read -r x; fg; log \"code $?\""
    ));
    let line = format!("exec env {DEFAULT_SIGNALS} ba{shell}");
    let mut terminal = Terminal::start(&stage.env, &stage.repo, &line);
    let pids = stage.note("begin");
    let pids: Vec<i32> = pids
        .split(' ')
        .map(|pid| pid.parse().expect("a pid"))
        .collect();
    terminal.types(CTRL_Z);
    assert_eq!(stage.note("stopped"), "148");
    for pid in &pids {
        waits_for("both to be stopped", DEADLINE, || {
            (state(*pid) == Some('T')).then_some(())
        });
    }
    // Stopped is not gone.
    stage.is_taken();
    assert_eq!(stage.holder(), "me");
    terminal.types("\n");
    for pid in &pids {
        waits_for("both to go on", DEADLINE, || {
            (state(*pid) != Some('T')).then_some(())
        });
    }
    stage.is_taken();
    stage.let_go("me");
    assert_eq!(stage.note("code"), "6");
    terminal.wait(DEADLINE);
    assert_eq!(stage.log()[2..], ["end", "code 6"].map(str::to_owned));
    stage.is_free();
}

#[test]
fn a_window_that_changes_its_size() {
    if !possible("terminal::a_window_that_changes_its_size") {
        return;
    }
    let stage = Stage::new();
    let body = "trap 'log \"size $(stty size)\"' WINCH; log \"begin $(tty) $(stty size)\"; hold me";
    let mut terminal = run(&stage, "", body);
    let begin = stage.note("begin");
    let (tty, size) = begin.split_once(' ').expect("a terminal");
    assert_eq!(size, "24 80");
    tool("stty", &["-F", tty, "rows", "40"]);
    assert_eq!(stage.note("size"), "40 80");
    stage.let_go("me");
    terminal.wait(DEADLINE).exits(0);
    stage.is_free();
}

#[test]
fn a_terminal_that_goes_away() {
    if !possible("terminal::a_terminal_that_goes_away") {
        return;
    }
    let stage = Stage::new();
    let mut terminal = run(&stage, "", "log begin; hold me; log end");
    stage.noted("begin");
    // The other end hangs up, as a closed window does.
    terminal.script.kill();
    waits_for("the lock to be free", DEADLINE, || {
        crate::common::fixture::holder(&stage.repo)
            .is_none()
            .then_some(())
    });
    assert_eq!(stage.log(), ["begin"]);
    stage.next_is_admitted();
    stage.is_free();
}
