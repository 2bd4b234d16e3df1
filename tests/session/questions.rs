//! What a person is asked, on a terminal, and what nobody is asked elsewhere.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::turns::{Ended, Terminal};
use crate::common::{BIN, DEADLINE, Env, required};
use crate::stage::{host, lease, noted, session, silent_for, write_lease};

const ASKED: &str = "Your choice [1/2]: ";

/// Runs a verb of the family on a terminal, types `keys` once the question `asked` is there, and waits
/// for its end.
#[track_caller]
fn on_a_terminal(env: &Env, repo: &Path, args: &str, asked: &str, keys: &[&str]) -> Ended {
    let line = format!("exec env --default-signal=INT '{BIN}' session {args}");
    let mut terminal = Terminal::start(env, repo, &line);
    for (number, keys) in keys.iter().enumerate() {
        crate::common::eventually(DEADLINE, || terminal.raw().matches(asked).count() > number);
        terminal.types(keys);
    }
    terminal.wait(DEADLINE)
}

fn holder(repo: &Path) -> Value {
    noted(repo)["session_id"].clone()
}

#[test]
fn the_advised_answer_comes_first() {
    let test = "questions::the_advised_answer_comes_first";
    if !required(test, "script") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let here = host();
    for (hours, host, leave_first) in [
        (1.0, here.as_str(), true),
        (5.0, &here, false),
        (1.0, "elsewhere", true),
        (5.0, "elsewhere", true),
        (9.0, "elsewhere", false),
    ] {
        let case = format!("{hours} h on {host}");
        let (leave, take) = if leave_first {
            ("1\r", "2\r")
        } else {
            ("2\r", "1\r")
        };
        let advice = if leave_first {
            "Leave it alone"
        } else {
            "Take its place"
        };
        let there = silent_for("old", hours, host).to_string();
        for (answers, took) in [
            (&[take][..], true),
            (&[leave], false),
            (&["\r"], false),
            (&["\u{4}"], false),
            (&["yes\r", "12\r", leave], false),
        ] {
            write_lease(&repo, &there);
            let asking = "acquire --session-id new --mode deep";
            let ended = on_a_terminal(&env, &repo, asking, ASKED, answers);
            let case = format!("{case}, {answers:?}: {ended:#?}");
            let first = format!("1. (recommended) {advice}");
            assert!(ended.stdout.contains(&first), "{case}");
            let far = ended.stdout.contains("cannot be corroborated here");
            assert_eq!(far, host == "elsewhere", "{case}");
            if took {
                ended.exits(0);
                assert_eq!(holder(&repo), "new", "{case}");
            } else {
                ended.exits(75);
                assert_eq!(
                    fs::read_to_string(lease(&repo)).expect("kept"),
                    there,
                    "{case}"
                );
            }
        }
    }
}

#[test]
fn an_interrupted_question_changes_nothing() {
    let test = "questions::an_interrupted_question_changes_nothing";
    if !required(test, "script") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let there = silent_for("old", 5.0, &host()).to_string();
    write_lease(&repo, &there);
    let asking = "acquire --session-id new --mode deep";
    on_a_terminal(&env, &repo, asking, ASKED, &["\u{3}"]).exits(130);
    on_a_terminal(&env, &repo, "take --mode deep", "[y/N] ", &["\u{3}"]).exits(130);
    assert_eq!(fs::read_to_string(lease(&repo)).expect("kept"), there);
}

#[test]
fn taking_needs_a_yes() {
    let test = "questions::taking_needs_a_yes";
    if !required(test, "script") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let taking = "take --session-id new --mode deep";
    let take = |keys: &[&str]| on_a_terminal(&env, &repo, taking, "[y/N] ", keys);
    for (there, word) in [
        (silent_for("old", 1.0, &host()).to_string(), "active"),
        (silent_for("old", 5.0, &host()).to_string(), "stale"),
        ("{".to_owned(), "makes no sense"),
    ] {
        for keys in ["\r", "n\r", "\u{4}", "1\r"] {
            write_lease(&repo, &there);
            let ended = take(&[keys]).exits(1);
            assert!(ended.stdout.contains(word), "{keys:?}: {ended:#?}");
            assert_eq!(fs::read_to_string(lease(&repo)).expect("kept"), there);
        }
        take(&["y\r"]).exits(0);
        assert_eq!(holder(&repo), "new");
    }
    // One's own place, and a free one, need none.
    take(&[]).exits(0);
    session(&env, &repo, "release --session-id new").exits(0);
    take(&[]).exits(0);
}

#[test]
fn what_changes_while_a_person_thinks_is_not_replaced() {
    let test = "questions::what_changes_while_a_person_thinks_is_not_replaced";
    if !required(test, "script") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    write_lease(&repo, silent_for("old", 5.0, &host()).to_string());
    let line = format!("exec '{BIN}' session acquire --session-id new --mode deep");
    let mut terminal = Terminal::start(&env, &repo, &line);
    terminal.shows(ASKED);
    session(&env, &repo, "heartbeat --session-id old").exits(0);
    terminal.types("1\r");
    terminal.wait(DEADLINE).exits(1);
    assert_eq!(holder(&repo), "old");
}

#[test]
fn without_a_person_nothing_is_asked() {
    let test = "questions::without_a_person_nothing_is_asked";
    if !required(test, "script") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let there = silent_for("old", 5.0, &host()).to_string();
    write_lease(&repo, &there);
    let asking = "session acquire --session-id new --mode deep";
    for line in [
        format!("'{BIN}' {asking} </dev/null"),
        format!("'{BIN}' {asking} 2>errors"),
        format!("'{BIN}' {asking} | cat; exit 75"),
        format!("'{BIN}' --format json {asking}"),
        format!("'{BIN}' --format toon {asking}"),
    ] {
        let mut terminal = Terminal::start(&env, &repo, &line);
        let ended = terminal.wait(DEADLINE).exits(75);
        assert!(!ended.stdout.contains(ASKED), "{line}: {ended:#?}");
        assert_eq!(fs::read_to_string(lease(&repo)).expect("kept"), there);
    }
    for line in [
        format!("'{BIN}' session take --mode deep </dev/null"),
        format!("'{BIN}' session take --mode deep 2>errors"),
    ] {
        let mut terminal = Terminal::start(&env, &repo, &line);
        let ended = terminal.wait(DEADLINE).exits(1);
        assert!(!ended.stdout.contains("[y/N]"), "{line}: {ended:#?}");
    }
}

#[test]
fn what_others_have_written_steers_no_terminal() {
    let test = "questions::what_others_have_written_steers_no_terminal";
    if !required(test, "script") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let evil = "a\u{1b}]0;pwned\u{7}\r\n\u{202e}b";
    let mut there = silent_for(evil, 5.0, evil);
    there["mode"] = evil.into();
    there["semantic_session_id"] = evil.into();
    write_lease(&repo, there.to_string());
    for (args, asked) in [
        ("--color never acquire --mode deep", ASKED),
        ("--color never take --mode deep", "[y/N] "),
        ("--color never check", ""),
        ("--color never peers", ""),
    ] {
        let keys: &[&str] = if asked.is_empty() { &[] } else { &["\r"] };
        let ended = on_a_terminal(&env, &repo, args, asked, keys);
        for bad in ["\u{1b}", "\u{7}", "\u{202e}"] {
            assert!(!ended.stdout.contains(bad), "{args}: {ended:#?}");
        }
        assert!(ended.stdout.contains("pwned"), "{args}: {ended:#?}");
    }
}
