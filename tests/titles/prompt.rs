//! `git locks prompt`: the glyphs of the caller, or nothing, and never an error.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::common::fixture::{lock_file, now, plan, worktree};
use crate::common::{Call, DEADLINE, Env, Run, chmod};

/// Fails the test unless this prints `glyphs` and nothing else at all.
#[track_caller]
fn prints(call: Call, glyphs: &str) {
    let run = call.run();
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (0, glyphs, ""),
        "{run:#?}"
    );
}

/// The prompt in `dir`.
fn prompt(env: &Env, dir: &Path) -> Call {
    env.call(dir).arg("prompt")
}

/// Why nothing is shown, as `-v` tells.
fn why(call: Call) -> Run {
    let run = call.arg("-v").run().exits(0);
    assert_eq!(run.stdout, "", "{run:#?}");
    run
}

fn title_file(repo: &Path, id: &str) -> PathBuf {
    repo.join(".git/git-locks/titles")
        .join(format!("{id}.json"))
}

/// A lock that `main-checkout` holds, a place in the queue, and a slot.
fn busy() -> (Env, PathBuf) {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire").exits(0);
    env.merge(&repo, "acquire --as w").exits(75);
    env.build(&repo, "acquire").exits(0);
    (env, repo)
}

#[test]
fn it_shows_what_its_caller_has_and_waits_for() {
    let (env, repo) = busy();
    prints(prompt(&env, &repo), "🔒🔨");
    prints(prompt(&env, &repo.join(".git")), "🔒🔨");
    prints(prompt(&env, &repo).args("--as w"), "⏳");
    prints(prompt(&env, &repo).env("GIT_LOCKS_PLAN_ID", "w"), "⏳");
    env.build(&repo, "acquire --as w").exits(0);
    prints(prompt(&env, &repo).args("--as w"), "⏳🔨");
    prints(prompt(&env, &repo).args("--as nobody"), "");
    let linked = worktree(&env, &repo, "linked");
    prints(prompt(&env, &linked), "");
    env.merge(&linked, "acquire").exits(75);
    prints(prompt(&env, &linked), "⏳");
    prints(
        env.call(env.root()).arg("-C").arg(&linked).arg("prompt"),
        "⏳",
    );
    env.merge(&repo, "release").exits(0);
    prints(prompt(&env, &repo), "🔨");
    env.build(&repo, "release").exits(0);
    prints(prompt(&env, &repo), "");
    env.merge(&repo, "acquire --as w").exits(0);
    prints(prompt(&env, &repo).args("--as w"), "🔒🔨");
}

#[test]
fn the_form_of_reports_is_nothing_to_it() {
    let (env, repo) = busy();
    for args in [
        "--format json",
        "--format human",
        "-q",
        "-v",
        "--color always",
    ] {
        let run = prompt(&env, &repo).args(args).run().exits(0);
        assert_eq!(run.stdout, "🔒🔨", "{args}");
    }
}

#[test]
fn inside_a_run_it_shows_that_run() {
    let env = Env::new();
    let repo = env.init("repo");
    let bin = crate::common::BIN;
    let within = |args: &str| {
        let call = env.call(&repo).args(args).arg("--");
        // The command need not wait for the title of its run.
        let until = format!(
            "for n in $(seq 500); do shown=$('{bin}' prompt); [ -z \"$shown\" ] || break; done; \
             printf %s \"$shown\""
        );
        call.arg("sh").arg("-c").arg(until)
    };
    prints(within("merge run"), "🔒");
    prints(within("build run"), "🔨");
    prints(within("merge run --as me"), "🔒");
    prints(prompt(&env, &repo), "");
    // What is left in the environment afterwards says nothing.
    prints(
        prompt(&env, &repo).env("GIT_LOCKS_HOLDER", "main-checkout-0a0b0c"),
        "",
    );
    prints(
        prompt(&env, &repo).env("GIT_LOCKS_HOLDER", "../../../x"),
        "",
    );
}

#[test]
fn a_title_is_not_believed_for_ever() {
    let (env, repo) = busy();
    let about = |id: &str, owner: &str, state: &str, age: f64| {
        let token = json!({"state": state, "set_at": now() - age});
        std::fs::write(title_file(&repo, id), json!({owner: token}).to_string()).expect("a title");
    };
    for (age, glyphs) in [(0.0, "🔒"), (3500.0, "🔒"), (3601.0, ""), (-3601.0, "")] {
        about("main-checkout", "merge-lock", "lock-owned", age);
        prints(prompt(&env, &repo), glyphs);
    }
    for (state, age, glyphs) in [("lock-waiting", 3500.0, "⏳"), ("lock-waiting", 3601.0, "")] {
        about("w", "merge-lock", state, age);
        prints(prompt(&env, &repo).args("--as w"), glyphs);
    }
    about("w", "build-queue", "build-busy", 3601.0);
    prints(prompt(&env, &repo).args("--as w"), "");
}

#[test]
fn a_lock_that_another_has_by_now_is_not_shown() {
    let (env, repo) = busy();
    // By other hands: whoever owned the title was not asked.
    std::fs::write(lock_file(&repo), "another\n").expect("a lock");
    prints(prompt(&env, &repo), "🔨");
    std::fs::remove_file(lock_file(&repo)).expect("a lock");
    prints(prompt(&env, &repo), "🔨");
    std::fs::write(lock_file(&repo), "main-checkout\n").expect("a lock");
    prints(prompt(&env, &repo), "🔒🔨");
}

#[test]
fn the_title_of_a_killed_run_goes_when_its_lock_does() {
    let env = Env::new();
    let repo = env.init("repo");
    let gate = crate::common::turns::Gate::new(&env);
    let call = env.call(&repo).args("merge run --as me");
    let mut run = call.cmd(gate.cmd("me")).start();
    gate.wait_begun("me");
    crate::common::eventually(DEADLINE, || {
        prompt(&env, &repo).args("--as me").run().stdout == "🔒"
    });
    run.kill().dies_of(9);
    // Its command runs on, and the lock is held.
    prints(prompt(&env, &repo).args("--as me"), "🔒");
    gate.let_go();
    crate::common::eventually(DEADLINE, || env.merge(&repo, "acquire --as next").code == 0);
    prints(prompt(&env, &repo).args("--as me"), "");
    prints(prompt(&env, &repo).args("--as next"), "🔒");
}

#[test]
fn where_titles_are_not_wanted_it_shows_none() {
    let (env, repo) = busy();
    prints(prompt(&env, &repo).env("GIT_LOCKS_TITLE", "no"), "");
    env.git(&repo, "config locks.title off");
    prints(prompt(&env, &repo), "");
    prints(prompt(&env, &repo).env("GIT_LOCKS_TITLE", "yes"), "🔒🔨");
    let quiet = env.init("quiet");
    env.merge(&quiet, "acquire --no-title-token").exits(0);
    prints(prompt(&env, &quiet), "");
}

#[test]
fn whatever_is_amiss_it_is_silent() {
    let (env, repo) = busy();
    let outside = env.mkdir("outside");
    prints(prompt(&env, &outside), "");
    let odd = [
        ("GIT_LOCKS_FORMAT", "xml"),
        ("GIT_LOCKS_EXIT_ZERO", "perhaps"),
        ("GIT_LOCKS_TTL", "soon"),
    ];
    for (name, value) in odd {
        // No business of a prompt.
        prints(prompt(&env, &repo).env(name, value), "🔒🔨");
    }
    for (name, value) in [
        ("GIT_LOCKS_PLAN_ID", "Not an id"),
        ("GIT_LOCKS_TITLE", "perhaps"),
        ("PLAN_DIR_NAME", "a/b"),
        ("GIT_DIR", "nowhere"),
        ("PLAN_BASE_DIR", "base"),
    ] {
        prints(prompt(&env, &repo).env(name, value), "");
        let told = why(prompt(&env, &repo).env(name, value)).stderr;
        assert!(
            told.starts_with("detail: nothing to show: "),
            "{name}: {told}"
        );
    }
    prints(prompt(&env, &repo).args("-C nowhere"), "");
    prints(prompt(&env, &repo).args("--as Not-an-id"), "");
    std::fs::write(repo.join(".git/config"), "[core\n").expect("a configuration");
    prints(prompt(&env, &repo), "");
}

#[test]
fn whatever_stands_in_the_place_of_a_title_it_is_silent() {
    let (env, repo) = busy();
    let file = title_file(&repo, "main-checkout");
    let huge = format!("{{\"x\": \"{}\"}}", "x".repeat(1 << 17));
    for text in ["", "{", "[1]", "\u{1b}[2J", "{\"merge-lock\": 1}", &huge] {
        std::fs::write(&file, text).expect("a title");
        prints(prompt(&env, &repo), "");
    }
    std::fs::remove_file(&file).expect("a title");
    std::fs::create_dir(&file).expect("a directory");
    prints(prompt(&env, &repo), "");
    std::fs::remove_dir(&file).expect("a directory");
    nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    prints(prompt(&env, &repo), "");
}

#[test]
fn a_directory_that_is_gone() {
    let (env, repo) = busy();
    let script = format!(
        "mkdir here && cd here && rmdir ../here && exec '{}' prompt",
        crate::common::BIN
    );
    let mut command = env.command("sh");
    let output = command.current_dir(&repo).arg("-c").arg(script).output();
    let output = output.expect("a shell");
    assert!(output.status.success());
    assert!(
        output.stdout.is_empty() && output.stderr.is_empty(),
        "{output:?}"
    );
}

#[test]
fn it_writes_nothing() {
    let (env, repo) = busy();
    plan(&repo, "x");
    let before = crate::common::fixture::tree(&repo);
    prints(prompt(&env, &repo), "🔒🔨");
    let fresh = env.init("fresh");
    let untouched = crate::common::fixture::tree(&fresh);
    prints(prompt(&env, &fresh), "");
    chmod(&fresh.join(".git"), 0o555);
    prints(prompt(&env, &fresh), "");
    chmod(&fresh.join(".git"), 0o755);
    crate::common::fixture::same_tree(&before, &crate::common::fixture::tree(&repo));
    crate::common::fixture::same_tree(&untouched, &crate::common::fixture::tree(&fresh));
}
