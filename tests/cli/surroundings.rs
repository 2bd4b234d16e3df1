//! Odd surroundings: limits, mounts and namespaces. The last two need root and `unshare`.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::fixture::{holder, lock_file, read_queue};
use crate::common::{BIN, DEADLINE, Env, eventually, needs_root, required};

fn possible(test: &str) -> bool {
    needs_root(test) && required(test, "unshare") && required(test, "mount")
}

/// Runs a shell script in a mount namespace of its own, with `locks` as a function that prints
/// the JSON report, its exit code and its standard error into the file named first.
#[track_caller]
fn in_a_namespace(env: &Env, dir: &Path, script: &str) {
    let out = env.mkdir("out");
    let prelude = format!(
        "set -e\nlocks() {{ name='{}'/$1; shift; code=0\n\
         '{BIN}' --format json merge \"$@\" >\"$name\" 2>\"$name.err\" || code=$?\n\
         echo $code >\"$name.code\"; }}\n",
        out.display()
    );
    let mut command = env.command("unshare");
    command
        .current_dir(dir)
        .args(["-m", "sh", "-c", &(prelude + script)]);
    let output = command.output().expect("unshare runs");
    assert!(output.status.success(), "{output:?}");
}

/// What `locks NAME …` printed there: report, exit code, standard error.
#[track_caller]
fn said(env: &Env, name: &str) -> (Value, i32, String) {
    let read =
        |file: String| std::fs::read_to_string(env.path("out").join(file)).expect("an output");
    let report = read(name.to_owned());
    let value = serde_json::from_str(&report).unwrap_or_else(|error| panic!("{error}: {report:?}"));
    let code = read(format!("{name}.code"))
        .trim()
        .parse()
        .expect("a number");
    (value, code, read(format!("{name}.err")))
}

#[test]
fn few_file_descriptors() {
    let env = Env::new();
    let repo = env.init("repo");
    let mut admitted = 0;
    for limit in 3..=12 {
        for verb in ["acquire", "release"] {
            let script =
                format!("ulimit -n {limit}; exec '{BIN}' --format json merge {verb} --as a");
            let mut command = env.command("sh");
            let output = command
                .current_dir(&repo)
                .args(["-c", &script])
                .output()
                .expect("sh runs");
            let errors = String::from_utf8(output.stderr).expect("UTF-8");
            if output.status.success() {
                admitted += 1;
                continue;
            }
            // Below a handful the dynamic loader itself may give up, in its own words.
            if output.status.code() != Some(127) {
                assert_eq!(output.status.code(), Some(128), "{limit}: {errors}");
                assert!(errors.starts_with("error: "), "{limit}: {errors}");
                assert!(errors.contains("Too many open files"), "{limit}: {errors}");
            }
        }
        env.merge(&repo, "release --as a").exits(0);
        env.merge(&repo, "check")
            .exits(0)
            .says(&[("status", json!("free"))]);
    }
    assert!(admitted >= 2, "twelve file descriptors are enough");
}

#[test]
fn a_plan_directory_that_is_none() {
    let env = Env::new();
    for dangling in [false, true] {
        let repo = env.init(format!("repo-{dangling}"));
        if dangling {
            std::os::unix::fs::symlink("nowhere", repo.join(".plan")).expect("a symlink");
        } else {
            std::fs::write(repo.join(".plan"), "a file\n").expect("a file");
        }
        let run = env
            .merge(&repo, "acquire --as a")
            .exits(128)
            .one_line_error();
        assert!(run.stderr.contains(".plan"), "{run:#?}");
        assert_eq!(run.get("error_code"), json!("IO"));
        env.git(&repo, "config locks.stateDir common");
        env.merge(&repo, "acquire --as a").exits(0);
    }
}

#[test]
fn a_plan_directory_that_is_a_link() {
    let env = Env::new();
    let repo = env.init("repo");
    let elsewhere = env.mkdir("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, repo.join(".plan")).expect("a symlink");
    env.merge(&repo, "acquire --as a").exits(0);
    let linked = crate::common::fixture::worktree(&env, &repo, "linked");
    env.merge(&linked, "check")
        .exits(0)
        .says(&[("holder_plan_id", json!("a"))]);
    assert!(elsewhere.join("local/merge.lock").exists());
    env.merge(&linked, "release --as a")
        .exits(0)
        .says(&[("action", json!("released"))]);
}

#[test]
fn a_read_only_mount() {
    if !possible("surroundings::a_read_only_mount") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let fresh = env.init("fresh");
    env.merge(&repo, "acquire --as a").exits(0);
    for dir in [&repo, &fresh] {
        in_a_namespace(
            &env,
            dir,
            "mount --bind . .; mount -o remount,bind,ro .; cd \"$PWD\"\n\
             locks check check; locks acquire acquire --as b; locks release release --as a\n\
             locks window rate-window check --bot-kind robot",
        );
        let (report, code, _) = said(&env, "check");
        let status = if dir == &repo { "held" } else { "free" };
        assert_eq!(
            (report["status"].as_str(), code),
            (Some(status), 0),
            "{report}"
        );
        assert_eq!(said(&env, "window").1, 0);
        let (report, code, errors) = said(&env, "acquire");
        assert_eq!(
            (report["status"].as_str(), code),
            (Some("error"), 128),
            "{report}"
        );
        assert!(errors.contains("ead-only"), "{errors}");
        if dir == &repo {
            assert_eq!(
                (said(&env, "release").1, holder(&repo).as_deref()),
                (128, Some("a\n"))
            );
        }
    }
    env.merge(&repo, "release --as a")
        .exits(0)
        .says(&[("action", json!("released"))]);
}

#[test]
fn a_full_disk_keeps_nobody_from_letting_go() {
    if !possible("surroundings::a_full_disk_keeps_nobody_from_letting_go") {
        return;
    }
    let env = Env::new();
    let dir = env.mkdir("mounted");
    in_a_namespace(
        &env,
        &dir,
        "mount -t tmpfs -o size=4m tmpfs .; cd \"$PWD\"; git init -q .\n\
         locks first acquire --as a\nlocks second acquire --as b\n\
         dd if=/dev/zero of=filler bs=4k 2>/dev/null || true\n\
         locks full acquire --as c\nlocks still check\nlocks release release --as a\n\
         test ! -e .plan/local/merge.lock && echo gone >\"$name.gone\"\n\
         rm filler\nlocks after acquire --as b\nlocks last check",
    );
    assert_eq!((said(&env, "first").1, said(&env, "second").1), (0, 75));
    let (report, code, errors) = said(&env, "full");
    assert_eq!(
        (report["status"].as_str(), code),
        (Some("error"), 128),
        "{report}"
    );
    assert!(errors.contains("No space left"), "{errors}");
    assert_eq!(said(&env, "still").0["holder_plan_id"], json!("a"));
    let (report, _, errors) = said(&env, "release");
    assert!(
        env.path("out/release.gone").exists(),
        "the lock stayed: {report} {errors}"
    );
    assert!(
        errors.contains("No space left"),
        "it is not said: {report} {errors}"
    );
    assert_eq!(said(&env, "after").1, 0);
    assert_eq!(said(&env, "last").0["holder_plan_id"], json!("b"));
}

#[test]
fn a_process_in_another_pid_namespace_is_unknown() {
    if !possible("surroundings::a_process_in_another_pid_namespace_is_unknown") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let script = format!("'{BIN}' merge acquire --as a --while-pid $$ && exec cat");
    let mut command = env.command("unshare");
    command
        .args(["-p", "-f", "--mount-proc", "sh", "-c", &script])
        .current_dir(&repo);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("unshare");
    eventually(DEADLINE, || lock_file(&repo).exists());
    env.merge(&repo, "check")
        .exits(0)
        .says(&[("staleness", json!("unknown"))]);
    env.merge(&repo, "acquire --as b").exits(75);
    env.merge(&repo, "release --as b --require-stale")
        .exits(1)
        .says(&[
            ("reason", json!("holder_not_provably_dead")),
            ("staleness", json!("unknown")),
        ]);
    drop(child.stdin.take());
    child.wait().expect("it ends");
    env.merge(&repo, "check")
        .exits(0)
        .says(&[("staleness", json!("unknown"))]);
    env.merge(&repo, "release --as a")
        .exits(0)
        .says(&[("action", json!("released"))]);
    assert_eq!(read_queue(&repo)["waiting"][0]["plan_id"], json!("b"));
}
