//! Odd things in the places of state files: nothing hangs, nothing is followed, nobody gets a
//! lock that another holds.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::fixture::{base, holder, lock_file, queue_file, waiting};
use crate::common::{Env, Run};

/// Longer than any call may take here.
const BOUND: Duration = Duration::from_secs(20);

/// Runs a call that must end by itself.
fn bounded(env: &Env, repo: &Path, args: &str) -> Run {
    let mut child = env
        .call(repo)
        .args("--format json merge")
        .args(args)
        .spawn();
    let end = Instant::now() + BOUND;
    while ended(&mut child).is_none() {
        if Instant::now() > end {
            child.kill().expect("it is ours");
            panic!("{args} hangs");
        }
        thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("it ended");
    Run {
        args: args.split_whitespace().map(Into::into).collect(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().unwrap_or(-1),
    }
}

fn ended(child: &mut Child) -> Option<std::process::ExitStatus> {
    child.try_wait().expect("it is ours")
}

/// The state files of a repository in which `hold` holds the lock.
fn state_files(repo: &Path) -> Vec<(&'static str, PathBuf)> {
    let (base, ours) = (base(repo), repo.join(".git/git-locks"));
    let logs = repo.join(".plan/logs");
    let log = std::fs::read_dir(logs)
        .expect("the logs")
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|e| e == "log"));
    vec![
        ("lock", base.join("merge.lock")),
        ("queue", base.join("merge-queue.json")),
        ("guard file", base.join("merge-queue.json.lock")),
        ("records", ours.join("merge.json")),
        ("guard", ours.join("merge.guard")),
        ("log", log.expect("a log")),
        ("title", ours.join("titles/me.json")),
    ]
}

const KINDS: [&str; 5] = ["symlink", "dangling symlink", "FIFO", "socket", "directory"];

/// Puts something odd at `path`.
fn put(env: &Env, kind: &str, path: &Path) {
    match kind {
        "symlink" => {
            let target = env.path("target");
            std::fs::write(&target, "precious").expect("a target");
            symlink(target, path).expect("a link");
        }
        "dangling symlink" => symlink(env.path("nowhere"), path).expect("a link"),
        "FIFO" => nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO"),
        "socket" => {
            // A long path is too long for a socket's name.
            let short = std::env::temp_dir().join(format!("git-locks-{}", std::process::id()));
            drop(UnixListener::bind(&short).expect("a socket"));
            std::fs::rename(&short, path).expect("the same file system");
        }
        _ => std::fs::create_dir(path).expect("a directory"),
    }
}

#[test]
fn nothing_odd_is_followed_or_waited_for() {
    let env = Env::new();
    for (number, kind) in KINDS.into_iter().enumerate() {
        let repo = env.init(format!("repo-{number}"));
        env.merge(&repo, "acquire --as hold").exits(0);
        for (name, path) in state_files(&repo) {
            let case = format!("{kind} in the place of the {name}");
            let aside = path.with_extension("kept");
            let there = path.exists();
            if there {
                std::fs::rename(&path, &aside).expect("put aside");
            }
            put(&env, kind, &path);
            // A log or a title never stops anybody.
            let matters = !["log", "title"].contains(&name);
            for args in [
                "acquire --as me",
                "release --as me",
                "check",
                "acquire --as hold",
            ] {
                let run = bounded(&env, &repo, args);
                let shown = format!("{case}: {run:#?}");
                let reads_it = ["lock", "records"].contains(&name);
                if matters && (args != "check" || reads_it) {
                    assert_eq!(run.code, 128, "{shown}");
                    let run = run.one_line_error();
                    assert!(run.stderr.contains(&*path.to_string_lossy()), "{shown}");
                } else {
                    assert!([0, 75].contains(&run.code), "{shown}");
                    assert!(!run.stderr.contains("error: "), "{shown}");
                }
            }
            if kind == "symlink" {
                let kept = std::fs::read_to_string(env.path("target"));
                assert_eq!(kept.expect("the target"), "precious", "{case}");
            }
            assert!(!env.path("nowhere").exists(), "{case}");
            let metadata = path.symlink_metadata();
            if metadata.is_ok_and(|metadata| metadata.is_dir()) {
                std::fs::remove_dir(&path).expect("still empty");
            } else if path.symlink_metadata().is_ok() {
                std::fs::remove_file(&path).expect("what was put there");
            }
            if there {
                std::fs::rename(&aside, &path).expect("put back");
            }
            bounded(&env, &repo, "check").exits(0).says(&[
                ("holder_plan_id", json!("hold")),
                ("staleness", json!("fresh")),
            ]);
        }
        bounded(&env, &repo, "acquire --as other").exits(75);
        bounded(&env, &repo, "release --as hold").exits(0);
    }
}

/// What may be in a file that should hold a JSON object, and whether it is set aside.
fn contents() -> Vec<(Vec<u8>, bool)> {
    let whole = br#"{"waiting": [{"plan_id": "hold", "ts": 1.5}], "more": {"a": [1, 2]}}"#;
    let mut contents: Vec<(Vec<u8>, bool)> = vec![
        (Vec::new(), false),
        (b"\n".to_vec(), false),
        (b"{}".to_vec(), false),
        (b"{\"waiting\": 3}".to_vec(), false),
        (b"{\"waiting\": {\"plan_id\": \"x\"}}".to_vec(), false),
        (
            b"{\"waiting\": [1, null, [], {\"plan_id\": 5}, {\"ts\": 1}, {\"plan_id\": \"late\", \"ts\": \"x\"}]}"
                .to_vec(),
            false,
        ),
        (b"[]".to_vec(), true),
        (b"null".to_vec(), true),
        (b"\"text\"".to_vec(), true),
        (b"\0\0\0\0".to_vec(), true),
        (b"\xff\xfe\x00{}".to_vec(), true),
        (b"{\"waiting\": [".repeat(50_000), true),
        (b"{} {}".to_vec(), true),
    ];
    for length in [1, 10, 30, whole.len() - 1] {
        contents.push((whole[..length].to_vec(), true));
    }
    contents
}

#[test]
fn a_broken_queue_lets_nobody_in_and_is_kept() {
    let env = Env::new();
    let repo = env.init("repo");
    for (content, broken) in contents() {
        let _ = std::fs::remove_dir_all(repo.join(".plan"));
        let _ = std::fs::remove_dir_all(repo.join(".git/git-locks"));
        env.merge(&repo, "acquire --as hold").exits(0);
        std::fs::write(queue_file(&repo), &content).expect("a queue");
        let run = bounded(&env, &repo, "acquire --as me").exits(75);
        assert_eq!(run.stderr.contains("warning: "), broken, "{run:#?}");
        let aside = base(&repo).join("merge-queue.json.corrupt");
        assert_eq!(aside.exists(), broken, "{run:#?}");
        if broken {
            assert_eq!(std::fs::read(&aside).expect("it"), content);
        }
        assert!(waiting(&repo).contains(&"me".to_owned()));
        bounded(&env, &repo, "release --as hold")
            .exits(0)
            .says(&[("action", json!("released"))]);
        bounded(&env, &repo, "acquire --as me").exits(0);
    }
}

#[test]
fn broken_records_let_nobody_in_and_are_kept() {
    let env = Env::new();
    let repo = env.init("repo");
    for (content, _) in contents() {
        let _ = std::fs::remove_dir_all(repo.join(".plan"));
        let _ = std::fs::remove_dir_all(repo.join(".git/git-locks"));
        let fence = env
            .merge(&repo, "acquire --as hold")
            .exits(0)
            .number("fence");
        let records = repo.join(".git/git-locks/merge.json");
        std::fs::write(&records, &content).expect("records");
        let run = bounded(&env, &repo, "check").exits(0);
        run.says(&[
            ("holder_plan_id", json!("hold")),
            ("staleness", json!("unknown")),
        ]);
        let run = bounded(&env, &repo, "acquire --as me").exits(75);
        assert!(run.stderr.contains("warning: "), "{run:#?}");
        let aside = records.with_extension("json.corrupt");
        assert_eq!(std::fs::read(&aside).expect("kept"), content);
        assert_eq!(holder(&repo).as_deref(), Some("hold\n"));
        bounded(&env, &repo, "release --as hold")
            .exits(0)
            .says(&[("action", json!("released"))]);
        let run = bounded(&env, &repo, "acquire --as me").exits(0);
        assert!(run.number("fence") > fence, "{run:#?}");
    }
}

#[test]
fn records_of_the_future_are_refused() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as hold").exits(0);
    let records = repo.join(".git/git-locks/merge.json");
    let text = std::fs::read_to_string(&records).expect("records");
    let mut value: Value = serde_json::from_str(&text).expect("JSON");
    value["format"] = json!(2);
    std::fs::write(&records, value.to_string()).expect("records");
    for args in [
        "acquire --as me",
        "acquire --as hold",
        "release --as hold",
        "check",
    ] {
        let run = bounded(&env, &repo, args).exits(128).one_line_error();
        assert!(run.stderr.contains("merge.json"), "{run:#?}");
        assert!(run.stderr.contains("hint: "), "{run:#?}");
    }
    let kept = std::fs::read_to_string(&records).expect("records");
    assert_eq!(kept, value.to_string());
    assert_eq!(holder(&repo).as_deref(), Some("hold\n"));
}

#[test]
fn a_hundred_megabytes_let_nobody_in() {
    let env = Env::new();
    let repo = env.init("repo");
    let places: [(&str, PathBuf); 3] = [
        ("queue", queue_file(&repo)),
        ("records", repo.join(".git/git-locks/merge.json")),
        ("guard file", base(&repo).join("merge-queue.json.lock")),
    ];
    for (name, path) in places {
        env.merge(&repo, "acquire --as hold").exits(0);
        let kept = std::fs::read(&path).ok();
        let file = std::fs::File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .expect("a file");
        file.set_len(100 << 20).expect("a hole");
        for args in ["acquire --as me", "check"] {
            let run = env
                .call(&repo)
                .args("--format json merge")
                .args(args)
                .env("GIT_LOCKS_GUARD_TIMEOUT", "1s")
                .run();
            assert!(
                [75, 128].contains(&run.code) || args == "check",
                "{name}: {run:#?}"
            );
            assert_eq!(holder(&repo).as_deref(), Some("hold\n"), "{name}");
        }
        let _ = std::fs::remove_file(&path);
        if let Some(kept) = kept {
            std::fs::write(&path, kept).expect("as it was");
        }
    }
    // A huge lock file names nobody that lives.
    std::fs::File::create(lock_file(&repo))
        .and_then(|file| file.set_len(100 << 20))
        .expect("a hole");
    bounded(&env, &repo, "acquire --as me").exits(0);
}
