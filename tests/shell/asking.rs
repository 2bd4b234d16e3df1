//! `git locks complete`, which the completions ask: it answers at once, from wherever, whatever is in
//! the files, and leaves everything as it was.

use std::time::{Duration, Instant};

use crate::common::fixture::{base, plan, queue_of, same_tree, tree, write_queue};
use crate::common::{Env, Run, chmod};
use crate::ground::Ground;

/// Asks for the line, of which the last word is being typed.
fn ask(env: &Env, dir: &std::path::Path, line: &str) -> Run {
    let mut call = env.call(dir).args("complete --");
    for word in line.split(' ') {
        call = call.arg(word);
    }
    let run = call.run().exits(0);
    assert!(run.stderr.is_empty(), "{run:#?}");
    run
}

fn words(env: &Env, dir: &std::path::Path, line: &str) -> Vec<String> {
    let run = ask(env, dir, line);
    let lines = run.stdout.lines().skip(1);
    lines
        .map(|line| line.split('\t').next().expect("a word").to_owned())
        .collect()
}

#[test]
fn it_tells_who_is_there() {
    let ground = Ground::new();
    let (env, repo) = (&ground.env, &ground.repo);
    let before = tree(repo);
    assert_eq!(words(env, repo, "merge release --as "), ["alpha", "beta"]);
    assert_eq!(words(env, repo, "build check --as "), ["gamma"]);
    assert_eq!(words(env, repo, "build release --id "), [ground.entry()]);
    assert_eq!(words(env, repo, "log --id "), ["alpha", "beta", "gamma"]);
    assert_eq!(
        words(env, repo, "session heartbeat --session-id="),
        ["--session-id=s-1"]
    );
    assert_eq!(words(env, repo, "-C "), [repo.to_str().expect("a path")]);
    env.git(repo, "branch release/1.0");
    assert_eq!(
        words(env, repo, "hook install --protect "),
        ["main", "release/1.0"]
    );
    env.git(repo, "branch -D release/1.0");
    let locks = ["merge", "build", "rate-window"];
    assert_eq!(words(env, repo, "log --lock "), locks);
    for (line, word) in [
        ("log --event ", "reclaimed"),
        ("session acquire --mode ", "repo-audit"),
    ] {
        let offered = words(env, repo, line);
        assert!(offered.iter().any(|offered| offered == word), "{offered:?}");
    }
    same_tree(&before, &tree(repo));
    plan(repo, "planned");
    for odd in ["Not A Plan", "$(x)"] {
        std::fs::create_dir(base(repo).join("plans").join(odd)).expect("a directory");
    }
    assert_eq!(
        words(env, repo, "merge acquire --as p"),
        ["alpha", "beta", "planned"]
    );
    // In another repository the same id is another caller.
    let other = env.init("other");
    assert!(words(env, &other, "build check --as ").is_empty());
    assert_eq!(words(env, &other, "build release --id "), [ground.entry()]);
    // From there it is asked with -C.
    assert_eq!(
        words(env, &other, "-C ../repo merge release --as "),
        ["alpha", "beta", "planned"]
    );
}

#[test]
fn it_answers_from_wherever() {
    let env = Env::new();
    let broken = env.mkdir("broken");
    std::fs::write(broken.join(".git"), "nonsense").expect("a file");
    let deleted = env.mkdir("deleted");
    for (dir, line) in [(env.root(), ""), (&broken, "-C x")] {
        for ends in [
            "merge acquire --as ",
            "build release --id ",
            "-C ",
            "session check --session-id ",
            "log --id ",
        ] {
            let line = format!("{line} {ends}");
            ask(&env, dir, line.trim_start());
        }
        assert!(words(&env, dir, "mer").iter().any(|word| word == "merge"));
    }
    let mut shell = env.command("sh");
    shell.current_dir(&deleted).arg("-c");
    shell.arg(format!(
        "rmdir ../deleted && exec '{}' complete -- merge acquire --as ''",
        crate::common::BIN
    ));
    let output = shell.output().expect("sh runs");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    for (name, value) in [
        ("GIT_LOCKS_FORMAT", "x"),
        ("PLAN_DIR_NAME", "a/b"),
        ("PLAN_MARSHALL_HOME", "/dev/null"),
        ("GIT_DIR", "/nowhere"),
    ] {
        let run = env
            .call(env.root())
            .args("complete -- merge")
            .env(name, value)
            .run()
            .exits(0);
        assert!(run.stderr.is_empty(), "{run:#?}");
        let run = env
            .call(env.root())
            .args("complete -- build check --as")
            .arg("")
            .env(name, value)
            .run()
            .exits(0);
        assert!(run.stderr.is_empty(), "{run:#?}");
    }
}

#[test]
fn odd_files_are_no_reason_to_fail_or_to_wait() {
    let ground = Ground::new();
    let (env, repo) = (&ground.env, &ground.repo);
    let queue = base(repo).join("merge-queue.json");
    for (what, content) in [
        ("text", "no JSON"),
        ("array", "[1]"),
        ("deep", &"[".repeat(100_000)),
        ("empty", ""),
    ] {
        std::fs::write(&queue, content).expect("a queue");
        assert_eq!(words(env, repo, "merge release --as "), ["alpha"], "{what}");
    }
    for odd in ["$(touch pwned)", "a b", "-x", "a\nb", "\u{1b}[2J", "é", ""] {
        write_queue(
            repo,
            &serde_json::json!({"waiting": [{"plan_id": odd, "ts": 1}], "rate_windows": {odd: {}}}),
        );
        // What no option would take is not offered.
        assert_eq!(
            words(env, repo, "merge release --as "),
            ["alpha"],
            "{odd:?}"
        );
        let bots = ask(env, repo, "merge rate-window check --bot-kind ").stdout;
        assert!(
            !bots.contains('\u{1b}') && bots.lines().count() <= 2,
            "{bots:?}"
        );
    }
    std::fs::remove_file(&queue).expect("removed");
    let made = env.command("mkfifo").arg(&queue).status().expect("mkfifo");
    assert!(made.success());
    let start = Instant::now();
    ask(env, repo, "merge release --as ");
    std::fs::remove_file(&queue).expect("removed");
    std::fs::create_dir(&queue).expect("a directory");
    ask(env, repo, "merge release --as ");
    chmod(&base(repo), 0o000);
    ask(env, repo, "merge release --as ");
    chmod(&base(repo), 0o755);
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_long_queue_is_no_reason_to_wait() {
    let ground = Ground::new();
    let ids: Vec<String> = (0..10_000).map(|n| format!("w-{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    queue_of(&ground.repo, &ids);
    let found = words(&ground.env, &ground.repo, "merge release --as w-12");
    assert_eq!(found.len(), 111);
}

#[test]
fn it_is_not_shown() {
    let env = Env::new();
    let help = env.locks(env.root(), "--help").exits(0);
    assert!(!help.stdout.contains("complete "), "{help:#?}");
}
