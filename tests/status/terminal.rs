//! On a terminal: a table that fits, and `--watch` in place, which gives the terminal back.

use crate::cast::repository;
use crate::common::turns::{Terminal, waits_for};
use crate::common::{BIN, DEADLINE, Env, required};

const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";
const SHOW_CURSOR: &str = "\u{1b}[?25h";

fn crowded() -> (Env, std::path::PathBuf) {
    let (env, repo) = repository();
    let call = env.call(&repo).args("merge acquire --as alpha --reason");
    let reason = "a reason that is so long that no terminal of eighty columns could hold all of it";
    call.arg(reason).run().exits(0);
    env.merge(&repo, "acquire --as beta").exits(75);
    (env, repo)
}

#[test]
fn a_table_fits_the_terminal() {
    if !required("terminal::a_table_fits_the_terminal", "script") {
        return;
    }
    for columns in [200, 80, 60, 40, 20] {
        let (env, repo) = crowded();
        let line = format!("stty cols {columns}; '{BIN}' status --color never");
        let mut terminal = Terminal::start(&env, &repo, &line);
        terminal.wait(DEADLINE).exits(0);
        let raw = terminal.raw();
        let table: Vec<&str> = raw.lines().map(str::trim_end).collect();
        assert!(table[0].starts_with("LOCK"), "{raw}");
        assert!(table[1].contains("alpha"), "{columns}: {raw}");
        assert!(table[2].contains("beta"), "{columns}: {raw}");
        let widest = table.iter().map(|line| line.chars().count()).max();
        assert!(
            widest <= Some(columns.max(40)),
            "{columns}: {widest:?} {raw}"
        );
    }
}

#[test]
fn a_watch_is_redrawn_in_place_and_gives_the_terminal_back() {
    if !required(
        "terminal::a_watch_is_redrawn_in_place_and_gives_the_terminal_back",
        "script",
    ) {
        return;
    }
    let (env, repo) = crowded();
    let mut terminal = Terminal::start(&env, &repo, &format!("exec '{BIN}' status --watch"));
    terminal.shows(ENTER);
    terminal.shows("beta");
    env.merge(&repo, "acquire --as gamma").exits(75);
    terminal.shows("gamma");
    env.merge(&repo, "release --as gamma").exits(0);
    let raw = terminal.raw();
    assert_eq!(raw.matches(ENTER).count(), 1, "{raw:?}");
    assert!(!raw.contains(LEAVE), "{raw:?}");
    terminal.types("\u{3}");
    let ended = terminal.wait(DEADLINE).exits(130);
    let screen = ended.stdout;
    let leave = screen.rfind(LEAVE).expect("the screen is left");
    let cursor = screen.rfind(SHOW_CURSOR).expect("the cursor is shown");
    assert!(
        cursor < leave && !screen[leave..].contains("gamma"),
        "{screen:?}"
    );
}

#[test]
fn a_watch_that_is_stopped_gives_the_terminal_back_meanwhile() {
    if !required(
        "terminal::a_watch_that_is_stopped_gives_the_terminal_back_meanwhile",
        "script",
    ) {
        return;
    }
    let (env, repo) = crowded();
    let line =
        format!("set -m; '{BIN}' status --watch; echo stopped $?; fg >/dev/null; echo ended $?");
    let mut terminal = Terminal::start(
        &env,
        &repo,
        &format!("bash -c '{}'", line.replace('\'', "\"")),
    );
    terminal.shows("beta");
    terminal.types("\u{1a}");
    terminal.shows("stopped 1");
    let raw = terminal.raw();
    let leave = raw.rfind(LEAVE).expect("the screen is left");
    assert!(leave < raw.rfind("stopped").expect("it is"), "{raw:?}");
    waits_for("the other screen again", DEADLINE, || {
        let raw = terminal.raw();
        let again = raw.matches(ENTER).count() == 2;
        (again && raw[raw.rfind(ENTER)?..].contains("beta")).then_some(())
    });
    terminal.types("\u{3}");
    terminal.shows("ended 130");
    terminal.wait(DEADLINE);
}

#[test]
fn a_terminal_that_knows_no_place_is_written_to_line_by_line() {
    if !required(
        "terminal::a_terminal_that_knows_no_place_is_written_to_line_by_line",
        "script",
    ) {
        return;
    }
    let (env, repo) = crowded();
    let line = format!("TERM=dumb exec '{BIN}' status --watch --color never");
    let mut terminal = Terminal::start(&env, &repo, &line);
    terminal.shows("beta");
    terminal.types("\u{3}");
    let ended = terminal.wait(DEADLINE).exits(130);
    assert!(!ended.stdout.contains('\u{1b}'), "{ended:#?}");
}
