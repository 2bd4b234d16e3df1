//! What `-h` and `--help` print: a list that is read at a glance on the narrowest of usual terminals.

use git_locks::cli::outline::{Verb, outline};

use crate::common::{Call, Env};
use crate::ground::path_with_us;

/// The usual width of a terminal, in columns.
const WIDTH: usize = 80;

/// The names of all commands that have commands below them, or none: the program's own are empty.
fn commands(verb: &Verb, before: &[String], found: &mut Vec<Vec<String>>) {
    found.push(before.to_vec());
    for below in &verb.verbs {
        let names = [before, std::slice::from_ref(&below.name)].concat();
        commands(below, &names, found);
    }
}

/// The lines of the list of commands.
fn listed(help: &str) -> Vec<&str> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    list.take_while(|line| !line.is_empty()).collect()
}

#[test]
fn each_fits_a_terminal_and_has_a_line_for_every_command() {
    let env = Env::new();
    let program = outline();
    let mut all = Vec::new();
    commands(&program, &[], &mut all);
    assert!(all.len() > 40, "{}", all.len());
    for names in all {
        let words: Vec<&str> = names.iter().map(String::as_str).collect();
        let verb = if words.is_empty() {
            &program
        } else {
            program.find(&words).expect("a command")
        };
        for flag in ["-h", "--help"] {
            let call = words.iter().fold(env.call(env.root()), Call::arg);
            let run = call.arg(flag).run().exits(0);
            let what = format!("git-locks {} {flag}", words.join(" "));
            assert_eq!(run.stderr, "", "{what}");
            let wide: Vec<&str> = run
                .stdout
                .lines()
                .filter(|line| line.chars().count() > WIDTH)
                .collect();
            assert!(wide.is_empty(), "{what}: {wide:#?}");
            let mut expected: Vec<&str> =
                verb.verbs.iter().map(|below| below.name.as_str()).collect();
            if !expected.is_empty() {
                expected.push("help");
            }
            let lines = listed(&run.stdout);
            let found: Vec<&str> = lines
                .iter()
                .map(|line| line.split_whitespace().next().unwrap_or_default())
                .collect();
            assert_eq!(found, expected, "{what}: {lines:#?}");
        }
    }
}

#[test]
fn a_slip_is_a_usage_error_with_the_right_word() {
    let env = Env::new();
    let behind =
        |verb: &str| format!("the command stands after two dashes: git locks {verb} -- CMD");
    for (line, hint) in [
        ("merg", "'merge'".to_owned()),
        ("merge aquire", "'acquire'".to_owned()),
        ("merge rate-windw claim", "'rate-window'".to_owned()),
        ("--formt json status", "'--format'".to_owned()),
        ("merge acquire --wiat", "'--wait'".to_owned()),
        ("merge acquire --wait 5m", "--wait=5m".to_owned()),
        ("merge check --format jsn", "'json'".to_owned()),
        ("merge", "git locks merge -h".to_owned()),
        ("merge run make -j8", behind("merge run")),
        ("build run --", behind("build run")),
        ("worktree run", behind("worktree run")),
    ] {
        let run = env.locks(env.root(), line).exits(2);
        // What `run` has to say goes to standard error, in whichever form.
        let report = if line.contains(" run") {
            assert_eq!(run.stdout, "", "{line}");
            &run.stderr
        } else {
            &run.stdout
        };
        let found = report.lines().find_map(|line| line.strip_prefix("hint: "));
        assert!(found.is_some_and(|found| found.contains(&hint)), "{run:#?}");
    }
    // As a command of git it is the same.
    let run = env
        .command("git")
        .env("PATH", path_with_us())
        .args(["locks", "merg"])
        .output();
    assert_eq!(run.expect("git runs").status.code(), Some(2));
}
