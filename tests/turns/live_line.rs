//! Waiting on a terminal: one line that is drawn again and again, and gone in the end.

use crate::cast::{SOON, keeper_leaves, kept};
use crate::common::fixture::waiting;
use crate::common::turns::{
    Doomed, Terminal, child_of, quoted_bin, screen, wait_until_queued, waits_for,
};
use crate::common::{DEADLINE, Env, eventually, required};

/// The ways to wait as `w`, and what the terminal shows of each in the end.
fn ways() -> [(String, &'static str); 2] {
    let bin = quoted_bin();
    [
        (format!("{bin} merge run --as w -- echo inside"), "inside"),
        (
            format!("{bin} --format json merge acquire --wait --as w >report; echo code $?"),
            "code 0",
        ),
    ]
}

/// Waits until the live line was drawn at least `times` times.
fn drawn(terminal: &Terminal, times: usize) {
    waits_for("the line to be drawn", DEADLINE, || {
        let raw = terminal.raw();
        (raw.matches("waiting for the merge lock").count() >= times).then_some(())
    });
}

#[test]
fn it_is_one_line_and_is_erased() {
    if !required("live_line::it_is_one_line_and_is_erased", "script") {
        return;
    }
    for (line, left) in ways() {
        let (env, repo) = kept();
        let mut terminal = Terminal::start(&env, &repo, &line);
        drawn(&terminal, 3);
        let raw = terminal.raw();
        assert!(!raw.contains('\n'), "more than one line: {raw:?}");
        let shown = terminal.screen();
        assert_eq!(shown.len(), 1, "{shown:?} from {raw:?}");
        for words in ["waiting for the merge lock", "keeper"] {
            assert!(shown[0].contains(words), "no {words:?} in {shown:?}");
        }
        keeper_leaves(&env, &repo);
        let ended = terminal.wait(SOON);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        assert_eq!(terminal.screen(), [left], "{:?}", terminal.raw());
    }
}

#[test]
fn it_fits_whatever_it_tells_of() {
    if !required("live_line::it_fits_whatever_it_tells_of", "script") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let holder = format!("a{}", "-very-long".repeat(15));
    let call = env.call(&repo).args("merge acquire --as").arg(&holder);
    let call = call.arg("--reason").arg("some reason ".repeat(10));
    call.run().exits(0);
    for columns in [80, 40, 20] {
        let bin = quoted_bin();
        let line = format!("stty cols {columns}; {bin} merge run --as w -- echo inside");
        let mut terminal = Terminal::start(&env, &repo, &line);
        waits_for("the line to be drawn", DEADLINE, || {
            (terminal.raw().matches('\r').count() >= 3).then_some(())
        });
        let raw = terminal.raw();
        assert!(!raw.contains('\n'), "more than one line: {raw:?}");
        for frame in raw.split('\r') {
            let widths = screen(frame).iter().map(|line| line.chars().count()).max();
            let width = widths.unwrap_or(0);
            assert!(width <= columns, "{width} of {columns}: {frame:?}");
        }
        terminal.types("\x03");
        terminal.wait(SOON).exits(130);
        eventually(DEADLINE, || waiting(&repo) == [holder.as_str()]);
    }
}

#[test]
fn ctrl_c_leaves_the_queue_and_a_clean_line() {
    if !required(
        "live_line::ctrl_c_leaves_the_queue_and_a_clean_line",
        "script",
    ) {
        return;
    }
    for (key, signal) in [("\x03", 2), ("\x1c", 3)] {
        let (env, repo) = kept();
        let bin = quoted_bin();
        let line = format!("trap : INT QUIT; {bin} merge run --as w -- true; echo code $?");
        let mut terminal = Terminal::start(&env, &repo, &line);
        drawn(&terminal, 1);
        wait_until_queued(&repo, 1);
        terminal.types(key);
        terminal.wait(SOON);
        let shown = terminal.screen();
        let code = format!("code {}", 128 + signal);
        assert!(shown.iter().any(|line| line.contains(&code)), "{shown:?}");
        let still = |line: &String| line.contains("waiting for the merge lock");
        assert!(
            !shown.iter().any(still),
            "{shown:?} from {:?}",
            terminal.raw()
        );
        assert_eq!(waiting(&repo), ["keeper"]);
    }
}

#[test]
fn patience_that_ends_leaves_no_live_line() {
    if !required(
        "live_line::patience_that_ends_leaves_no_live_line",
        "script",
    ) {
        return;
    }
    let (env, repo) = kept();
    let bin = quoted_bin();
    let line = format!("{bin} merge run --wait=1s --as w -- true");
    let mut terminal = Terminal::start(&env, &repo, &line);
    terminal.wait(SOON).exits(75);
    let shown = terminal.screen();
    let told = |line: &String| line.contains("place") && line.contains("kept");
    assert!(shown.iter().any(told), "{shown:?}");
    let live = |line: &String| line.contains("waiting for the merge lock");
    assert!(
        !shown.iter().any(live),
        "{shown:?} from {:?}",
        terminal.raw()
    );
}

#[test]
fn a_terminal_that_goes_away() {
    if !required("live_line::a_terminal_that_goes_away", "script") {
        return;
    }
    let (env, repo) = kept();
    let bin = quoted_bin();
    let line = format!("exec {bin} merge run --as w -- true");
    let mut terminal = Terminal::start(&env, &repo, &line);
    drawn(&terminal, 1);
    wait_until_queued(&repo, 1);
    let process = Doomed::new(child_of(terminal.script.pid()));
    terminal.script.kill().dies_of(9);
    eventually(DEADLINE, || !process.runs());
    assert_eq!(waiting(&repo), ["keeper"]);
}

#[test]
fn quiet_shows_nothing() {
    if !required("live_line::quiet_shows_nothing", "script") {
        return;
    }
    let (env, repo) = kept();
    let bin = quoted_bin();
    let line = format!("{bin} -q merge run --as w -- echo inside");
    let mut terminal = Terminal::start(&env, &repo, &line);
    wait_until_queued(&repo, 1);
    keeper_leaves(&env, &repo);
    terminal.wait(SOON).exits(0);
    let raw = terminal.raw();
    assert!(!raw.contains("waiting for"), "{raw:?}");
    assert_eq!(terminal.screen(), ["inside"]);
}

#[test]
fn a_file_for_standard_error_gets_whole_lines() {
    if !required(
        "live_line::a_file_for_standard_error_gets_whole_lines",
        "script",
    ) {
        return;
    }
    let (env, repo) = kept();
    let bin = quoted_bin();
    let line = format!("{bin} merge run --as w -- echo inside 2>said");
    let mut terminal = Terminal::start(&env, &repo, &line);
    let said = || std::fs::read_to_string(repo.join("said")).unwrap_or_default();
    waits_for("a line", DEADLINE, || {
        said().contains("waiting for the merge lock").then_some(())
    });
    keeper_leaves(&env, &repo);
    terminal.wait(SOON).exits(0);
    assert_eq!(terminal.screen(), ["inside"]);
    let said = said();
    assert!(!said.contains('\r') && !said.contains('\u{1b}'), "{said:?}");
}
