use super::*;
use crate::cli::outline::outline;

/// Asks for the line, of which the last word is being typed.
fn asked(line: &str) -> Asked {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    ask(&outline(), &words, &["git-locks-merge".to_owned()])
}

fn words(line: &str) -> Vec<String> {
    asked(line)
        .known
        .into_iter()
        .map(|candidate| candidate.word)
        .collect()
}

#[track_caller]
fn offers(line: &str, expected: &[&str]) {
    let found = words(line);
    for word in expected {
        assert!(
            found.iter().any(|other| other == word),
            "{line:?} offers {found:?}, not {word}"
        );
    }
}

#[test]
fn commands_come_where_commands_go() {
    offers("", &["merge", "build", "status", "completions"]);
    offers("mer", &["merge"]);
    offers("merge ", &["acquire", "run", "rate-window"]);
    offers(
        "-q --format json merge rate-window ",
        &["claim", "check", "release"],
    );
    for hidden in ["become", "complete"] {
        assert!(!words("").iter().any(|word| word == hidden), "{hidden}");
    }
}

#[test]
fn options_are_the_commands_own_and_the_programs() {
    offers(
        "merge acquire --",
        &["--as", "--plan-id", "--wait", "--format", "--help"],
    );
    offers("merge acquire -", &["-C", "-q"]);
    offers("merge acquire ", &["--ttl"]);
    offers("merge run --", &["--", "--max-hold"]);
    let given = words("merge acquire --as x --no-wait --");
    for word in ["--as", "--plan-id", "--no-wait", "--version"] {
        assert!(
            !given.iter().any(|other| other == word),
            "{word} is offered again"
        );
    }
    offers("-C x merge acquire -", &["-C"]);
}

#[test]
fn values_are_those_of_their_option() {
    assert_eq!(words("--format "), ["toon", "json", "human"]);
    assert_eq!(words("merge check --format j"), ["toon", "json", "human"]);
    assert_eq!(words("completions "), ["bash", "zsh", "fish"]);
    assert_eq!(words("merge run --on-loss "), ["end", "continue"]);
    assert_eq!(words("log --lock "), ["merge", "build", "rate-window"]);
    offers("log --event=", &["acquired", "reaped-stale"]);
    offers("session run --mode ", &["deep", "housekeeping"]);
    let attached = asked("merge check --format=j");
    assert_eq!(
        attached.answer(Vec::new(), true),
        "nothing\n--format=json\tJSON\n"
    );
    offers("man ", &["git-locks-merge"]);
    let install = asked("man --install ");
    assert_eq!(
        (install.besides, install.known.len()),
        (Besides::Directories, 0)
    );
    offers("man --install -", &["--format"]);
}

#[test]
fn what_lives_is_looked_up_where_it_belongs() {
    let live = |line: &str| asked(line).live;
    assert_eq!(live("merge acquire --as "), Some(Live::Mergers));
    assert_eq!(live("merge acquire --plan-id="), Some(Live::Mergers));
    assert_eq!(live("build check --as "), Some(Live::Builders));
    assert_eq!(live("build release --id "), Some(Live::Entries));
    assert_eq!(
        live("session heartbeat --session-id "),
        Some(Live::Sessions)
    );
    assert_eq!(
        live("merge rate-window check --bot-kind "),
        Some(Live::Bots)
    );
    assert_eq!(live("-C "), Some(Live::Worktrees));
    assert_eq!(live("hook install --protect "), Some(Live::Branches));
    assert_eq!(live("merge acquire --reason "), None);
    assert_eq!(live("merge acquire "), None);
}

#[test]
fn a_value_is_no_command_and_a_command_to_run_is_its_own() {
    offers("-C merge merge ", &["acquire"]);
    offers("-Cmerge merge ", &["acquire"]);
    offers("-qC merge build ", &["release"]);
    let asked_for = asked("-C a -Cb merge run --reason -- --wait -- git -");
    assert_eq!(asked_for.besides, Besides::Command);
    assert_eq!(asked_for.directories, ["a", "b"]);
    assert!(asked_for.known.is_empty());
    assert_eq!(asked("merge check -- ").besides, Besides::Nothing);
    // The length of a wait is attached, so what follows is no value.
    offers("merge acquire --wait --", &["--ttl"]);
}

#[test]
fn what_is_no_command_leads_nowhere() {
    for line in [
        "nothing ",
        "nothing merge ",
        "merge nothing --",
        "merge nothing run -- ",
    ] {
        let asked = asked(line);
        assert!(
            asked.known.is_empty() && asked.live.is_none(),
            "{line:?}: {asked:?}"
        );
        assert_eq!(asked.besides, Besides::Nothing, "{line:?}");
    }
}

#[test]
fn what_stands_in_files_is_a_line_or_nothing() {
    let asked = asked("merge acquire --as ");
    let found = ["good", "a\nb", "a\tb", "\u{1b}[2J", "", "$(touch x)"];
    let found = found.map(|word| Candidate::new(word, "here\n\u{1b}"));
    assert_eq!(
        asked.answer(found.to_vec(), true),
        "nothing\ngood\there\n$(touch x)\there\n"
    );
}

#[test]
fn a_long_queue_is_cut_to_what_begins_right() {
    let asked = asked("merge acquire --as p19");
    let found: Vec<Candidate> = (0..20_000)
        .map(|n| Candidate::new(format!("p{n}"), ""))
        .collect();
    let said = asked.answer(found, false);
    assert_eq!(said.lines().count(), LIMIT + 1);
    assert!(
        said.lines().skip(1).all(|line| line.starts_with("p19")),
        "{said}"
    );
}

#[test]
fn nothing_that_is_typed_is_too_odd() {
    for line in [
        "-",
        "--",
        "---",
        "--=",
        "-=",
        "--format==",
        "é",
        "-é ",
        "nothing ",
        "merge -Eé ",
        " ",
        "-- ",
    ] {
        asked(line);
    }
    ask(&outline(), &[], &[]);
}

#[test]
fn quotes_are_read_as_a_shell_reads_them() {
    for (typed, word) in [
        (r"a\ b", "a b"),
        (r#""a b"#, "a b"),
        (r"'a\b'", r"a\b"),
        (r#""\$\x\"""#, r#"$\x""#),
        (r"x\", "x"),
        ("'it'\\''s'", "it's"),
    ] {
        assert_eq!(unquoted(typed), word, "{typed}");
    }
}
