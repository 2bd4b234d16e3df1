//! Options that every verb takes, and the ways a report leaves the program.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::{BIN, Env, Run, required};

fn blocked(env: &Env, repo: &Path) {
    env.merge(repo, "acquire --as a").exits(0);
    env.merge(repo, "acquire --as b").exits(75);
}

#[test]
fn exit_zero_by_flag_and_environment() {
    let env = Env::new();
    let repo = env.init("repo");
    blocked(&env, &repo);
    let zero = |args: &str| {
        env.merge(&repo, &format!("{args} --exit-zero")).exits(0);
        for yes in ["1", "true"] {
            let call = env
                .call(&repo)
                .env("GIT_LOCKS_EXIT_ZERO", yes)
                .args("--format json merge");
            call.args(args).run().exits(0);
        }
        let call = env
            .call(&repo)
            .env("GIT_LOCKS_EXIT_ZERO", "0")
            .args("--format json merge");
        assert_ne!(call.args(args).run().code, 0, "{args}");
    };
    zero("acquire --as b");
    zero("check --as b --exit-code");
    zero("renew --as b");
    zero("release --as b --require-stale");
    zero("acquire --as Bad");
    let outside = env.mkdir("outside");
    env.merge(&outside, "check --exit-zero")
        .exits(0)
        .says(&[("status", json!("error"))]);
}

#[test]
fn the_format_comes_from_flag_environment_config_and_pipe_in_that_order() {
    let env = Env::new();
    let repo = env.init("repo");
    let run = |format: Option<&str>, args: &str| -> Run {
        let call = env.call(&repo).args(args);
        let call = match format {
            Some(format) => call.env("GIT_LOCKS_FORMAT", format),
            None => call,
        };
        call.run().exits(0)
    };
    let is_json = |run: &Run| serde_json::from_str::<Value>(&run.stdout).is_ok();
    let is_toon = |run: &Run| run.stdout.starts_with("status: free\n");
    assert!(is_toon(&run(None, "merge check")));
    env.git(&repo, "config locks.format json");
    assert!(is_json(&run(None, "merge check")));
    assert!(is_toon(&run(Some("toon"), "merge check")));
    assert!(is_json(&run(Some("toon"), "merge check --format json")));
    let human = run(Some("toon"), "merge check --format human");
    assert!(!is_json(&human) && !is_toon(&human), "{human:#?}");
}

#[test]
fn each_format_ends_with_one_newline() {
    let env = Env::new();
    let repo = env.init("repo");
    blocked(&env, &repo);
    for format in ["toon", "json", "human"] {
        for args in ["check", "acquire --as b", "release --as b"] {
            let run = env.locks(&repo, &format!("--format {format} merge {args}"));
            assert!(
                run.stdout.ends_with('\n') && !run.stdout.ends_with("\n\n"),
                "{run:#?}"
            );
        }
    }
}

#[test]
fn toon_and_json_say_the_same() {
    let env = Env::new();
    let repo = env.init("repo");
    blocked(&env, &repo);
    for args in [
        "check --as a",
        "acquire --as b",
        "check --as Bad",
        "rate-window check --bot-kind r",
    ] {
        let json = env.merge(&repo, args).json();
        let toon = env.locks(&repo, &format!("merge {args}"));
        let keys: Vec<&str> = toon
            .stdout
            .lines()
            .filter_map(|line| line.split_once(": "))
            .map(|pair| pair.0)
            .collect();
        let expected: Vec<&String> = json.as_object().expect("a report").keys().collect();
        assert_eq!(keys, expected, "{toon:#?}");
    }
}

#[test]
fn quiet_hides_notes_but_neither_errors_nor_warnings() {
    let env = Env::new();
    let repo = env.init("repo");
    let loud = env.merge(&repo, "acquire --as a --timeout 5").exits(0);
    assert!(loud.stderr.contains("--timeout"), "{loud:#?}");
    assert!(loud.stderr.starts_with("note: "), "{loud:#?}");
    env.merge(&repo, "release --as a").exits(0);
    assert_eq!(
        env.merge(&repo, "acquire --as a --timeout 5 -q")
            .exits(0)
            .stderr,
        ""
    );
    env.merge(&repo, "release --as a").exits(0);
    for none in ["0", "-1"] {
        let run = env
            .merge(&repo, &format!("acquire --as a --timeout {none}"))
            .exits(0);
        assert_eq!(run.stderr, "");
        env.merge(&repo, "release --as a").exits(0);
    }
    env.merge(&repo, "check --as Bad -q")
        .exits(2)
        .one_line_error();
    crate::common::fixture::keep_plans(&repo);
    let warned = env.merge(&repo, "acquire --as nobody -q").exits(0);
    assert!(warned.stderr.contains("warning: "), "{warned:#?}");
}

#[test]
fn verbose_says_more_on_standard_error_only() {
    let env = Env::new();
    let repo = env.init("repo");
    let run = env.merge(&repo, "check -v").exits(0);
    run.fields("status plan_id lock_path");
}

#[test]
fn colour_only_in_the_human_form_and_only_when_wanted() {
    let env = Env::new();
    let repo = env.init("repo");
    blocked(&env, &repo);
    let coloured = |args: &str, no_color: Option<&str>| {
        let call = env.call(&repo).args(args).args("merge acquire --as b");
        let call = match no_color {
            Some(value) => call.env("NO_COLOR", value),
            None => call,
        };
        let run = call.run().exits(75);
        run.stdout.contains('\u{1b}') || run.stderr.contains('\u{1b}')
    };
    assert!(coloured("--format human --color always", None));
    assert!(coloured("--format human --color always", Some("1")));
    assert!(!coloured("--format human", None));
    assert!(!coloured("--format human --color never", None));
    assert!(!coloured("--format json --color always", None));
    assert!(!coloured("--format toon --color always", None));
}

/// What `git locks` prints on a terminal, by way of `script`.
fn on_a_terminal(env: &Env, repo: &Path, args: &str, no_color: Option<&str>) -> String {
    let mut command = env.command("script");
    command.current_dir(repo).env("TERM", "xterm");
    if let Some(value) = no_color {
        command.env("NO_COLOR", value);
    }
    let line = format!("'{BIN}' {args}");
    let output = command
        .args(["-q", "-e", "-c", &line, "/dev/null"])
        .output()
        .expect("script runs");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn on_a_terminal_it_is_the_human_form_in_colour() {
    if !required(
        "options::on_a_terminal_it_is_the_human_form_in_colour",
        "script",
    ) {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    blocked(&env, &repo);
    let shown = on_a_terminal(&env, &repo, "merge acquire --as b", None);
    assert!(!shown.contains("status: "), "{shown}");
    assert!(shown.contains('\u{1b}'), "{shown:?}");
    let plain = on_a_terminal(&env, &repo, "merge acquire --as b", Some("1"));
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
    let coloured = on_a_terminal(&env, &repo, "merge acquire --as b", Some(""));
    assert!(
        coloured.contains('\u{1b}'),
        "an empty NO_COLOR says nothing: {coloured:?}"
    );
    let toon = on_a_terminal(&env, &repo, "--format toon merge acquire --as b", None);
    assert!(toon.starts_with("status: blocked"), "{toon:?}");
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let env = Env::new();
    let repo = env.init("repo");
    for format in ["toon", "json", "human"] {
        for (verb, code) in [("acquire --as a", 0), ("check", 0), ("acquire --as b", 75)] {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            let output = env
                .command(BIN)
                .current_dir(&repo)
                .args(["--format", format, "merge"])
                .args(verb.split_whitespace())
                .stdout(writer)
                .stderr(std::process::Stdio::piped())
                .output()
                .expect("git-locks runs");
            assert_eq!(
                output.status.code(),
                Some(code),
                "{format} {verb}: {output:?}"
            );
            assert_eq!(output.stderr, b"", "{format} {verb}: {output:?}");
        }
    }
}

#[test]
fn a_closed_pipe_for_help_is_not_an_error() {
    let env = Env::new();
    for args in ["--help", "merge acquire --help", "--version"] {
        assert!(!env.locks(env.root(), args).stdout.is_empty());
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = env.command(BIN);
        command
            .args(args.split_whitespace())
            .stdout(writer)
            .stderr(std::process::Stdio::piped());
        let output = command.output().expect("git-locks runs");
        assert_eq!(
            (output.status.code(), output.stderr.as_slice()),
            (Some(0), &b""[..]),
            "{args}"
        );
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    let env = Env::new();
    for args in [
        "--help",
        "-h",
        "merge --help",
        "merge acquire --help",
        "help merge check",
    ] {
        let run = env.locks(env.root(), args).exits(0);
        assert!(run.stdout.contains("Usage: git locks"), "{run:#?}");
        assert_eq!(run.stderr, "");
    }
    let run = env.locks(env.root(), "--version").exits(0);
    assert!(run.stdout.contains(env!("CARGO_PKG_VERSION")), "{run:#?}");
}

#[test]
fn no_flag_is_needed_in_an_ordinary_repository() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = crate::common::fixture::worktree(&env, &repo, "linked");
    assert_eq!(env.locks(&repo, "merge acquire").exits(0).stderr, "");
    env.locks(&linked, "merge check").exits(0);
    env.locks(&linked, "merge acquire").exits(75);
    env.locks(&repo, "merge release").exits(0);
    env.locks(&linked, "merge acquire").exits(0);
    env.locks(&linked, "merge release").exits(0);
}

#[test]
fn old_callers_flags_are_taken() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --plan-id a --timeout 0 --no-title-token")
        .exits(0);
    env.merge(&repo, "release --plan-id a --no-title-token")
        .exits(0);
}
