//! File systems and files that are not as they should be: told, and no session is stopped.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;
use serde_json::json;

use crate::common::fixture::tree;
use crate::common::turns::{Running, waits_for};
use crate::common::{BIN, DEADLINE, Env, may_trace, needs_root, required};
use crate::stage::{lease, noted, session, silent_for, write_lease};

/// What stands in a place, and how it is made there.
type Spoilt<'a> = (&'a str, &'a dyn Fn(&Path));

/// A change that the file system does not allow: every verb says so and lets the session go on.
#[track_caller]
fn degrades(env: &Env, repo: &Path, what: &str) {
    for verb in [
        "acquire --session-id me --mode deep",
        "take --yes --session-id me --mode deep",
        "heartbeat --session-id me",
        "release --session-id me",
    ] {
        let run = session(env, repo, verb).exits(0);
        let case = format!("{what}, {verb}: {run:#?}");
        assert_eq!(run.get("status"), "degraded", "{case}");
        assert_eq!(run.get("reason"), "fs-error", "{case}");
        assert_eq!(run.get("session_id"), "me", "{case}");
        assert!(!run.text("error").is_empty(), "{case}");
        assert!(run.stderr.starts_with("warning: "), "{case}");
    }
    let run = env.locks(repo, "session run --session-id me -- echo ran");
    let run = run.exits(0);
    assert_eq!(run.stdout, "ran\n", "{what}");
    assert!(run.stderr.contains("warning: "), "{what}: {run:#?}");
}

#[test]
fn what_is_no_regular_file_is_unreadable() {
    let cases: [Spoilt<'_>; 5] = [
        ("a directory", &|path| fs::create_dir(path).expect("mkdir")),
        ("a dangling link", &|path| {
            symlink("nowhere", path).expect("link");
        }),
        ("a link", &|path| symlink("../outside", path).expect("link")),
        ("a FIFO", &|path| {
            nix::unistd::mkfifo(path, Mode::S_IRWXU).expect("FIFO");
        }),
        ("a loop", &|path| {
            symlink("session.lock", path).expect("link");
        }),
    ];
    for (what, make) in cases {
        let env = Env::new();
        let repo = env.init("repo");
        fs::write(repo.join("outside"), "{}").expect("write");
        fs::create_dir(repo.join(".orchestrator")).expect("mkdir");
        make(&lease(&repo));
        let check = session(&env, &repo, "check --exit-code").exits(1);
        assert_eq!(check.get("status"), "unreadable", "{what}");
        assert!(!check.text("error").is_empty(), "{what}");
        degrades(&env, &repo, what);
        assert_eq!(
            fs::read_to_string(repo.join("outside")).expect("kept"),
            "{}"
        );
        assert!(fs::symlink_metadata(lease(&repo)).is_ok(), "{what} is gone");
    }
}

#[test]
fn the_directory_may_be_no_directory() {
    let cases: [Spoilt<'_>; 2] = [
        ("a file", &|path| fs::write(path, "x").expect("write")),
        ("a dangling link", &|path| {
            symlink("nowhere", path).expect("link");
        }),
    ];
    for (what, make) in cases {
        let env = Env::new();
        let repo = env.init("repo");
        make(&repo.join(".orchestrator"));
        degrades(&env, &repo, what);
        assert!(
            fs::symlink_metadata(repo.join("nowhere")).is_err(),
            "{what}"
        );
    }
}

#[test]
fn what_makes_no_sense_is_never_lost() {
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let cases: [(&str, Vec<u8>); 6] = [
        ("nothing", Vec::new()),
        ("bytes", vec![0xff; 64]),
        ("deep", deep.into_bytes()),
        ("long", vec![b' '; 1 << 20]),
        ("no object", b"[]".to_vec()),
        ("no time", b"{\"session_id\": \"a\"}".to_vec()),
    ];
    for (what, bytes) in cases {
        let env = Env::new();
        let repo = env.init("repo");
        write_lease(&repo, &bytes);
        let check = session(&env, &repo, "check --exit-code").exits(1);
        assert_eq!(check.get("status"), "corrupt", "{what}");
        let blocked = session(&env, &repo, "acquire --session-id a --mode deep").exits(75);
        assert_eq!(blocked.get("reason"), "corrupt", "{what}");
        for verb in ["heartbeat", "release"] {
            let refused = session(&env, &repo, &format!("{verb} --session-id a")).exits(1);
            assert_eq!(refused.get("reason"), "corrupt", "{what}");
        }
        session(&env, &repo, "take --session-id a --mode deep").exits(1);
        assert_eq!(fs::read(lease(&repo)).expect("kept"), bytes, "{what}");
        let taken = session(&env, &repo, "take --yes --session-id a --mode deep").exits(0);
        assert_eq!(taken.get("replaced_state"), "corrupt", "{what}");
        assert_eq!(taken.get("replaced"), json!(null), "{what}");
        assert_eq!(
            fs::read(taken.text("set_aside")).expect("kept"),
            bytes,
            "{what}"
        );
        assert_eq!(noted(&repo)["session_id"], "a", "{what}");
    }
}

#[test]
fn a_disk_that_takes_nothing() {
    let test = "failing::a_disk_that_takes_nothing";
    if !(needs_root(test) && required(test, "unshare") && required(test, "mount")) {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let held = env.init("held");
    session(&env, &held, "acquire --session-id me --mode deep").exits(0);
    let before = tree(&held);
    let read_only = "mount --bind . .; mount -o remount,bind,ro .; cd \"$PWD\"";
    let full = "mount -t tmpfs -o size=1m tmpfs .; cd \"$PWD\"; git init -q .; \
                dd if=/dev/zero of=filler bs=4k 2>/dev/null || true";
    for (dir, prepare, why) in [
        (&repo, read_only, "ead-only"),
        (&held, read_only, "ead-only"),
        (&repo, full, "No space left"),
    ] {
        for verb in [
            "acquire --session-id me --mode deep",
            "heartbeat --session-id me",
        ] {
            let mut command = env.command("unshare");
            let script = format!("{prepare}; exec '{BIN}' --format json session {verb}");
            let output = command
                .current_dir(dir)
                .args(["-m", "sh", "-c", &script])
                .output()
                .expect("unshare runs");
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            let free = verb.starts_with("heartbeat") && dir == &repo;
            if free {
                // Where nothing is noted, nothing needs to be written.
                assert!(
                    [Some(0), Some(1)].contains(&output.status.code()),
                    "{said} {errors}"
                );
                continue;
            }
            assert_eq!(output.status.code(), Some(0), "{said} {errors}");
            assert!(said.contains("\"degraded\""), "{said} {errors}");
            assert!(errors.contains(why), "{said} {errors}");
        }
    }
    assert_eq!(tree(&held), before);
}

#[test]
fn killed_at_any_moment_the_lease_is_whole() {
    let env = Env::new();
    let repo = env.init("repo");
    let ids: Vec<String> = (0..8).map(|number| format!("s{number}")).collect();
    let start = |id: &String, verb: &str| -> Child {
        let mut command = env.command(BIN);
        command
            .current_dir(&repo)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .args(["session", verb, "--session-id", id, "--mode", "deep"]);
        if verb == "take" {
            command.arg("--yes");
        }
        command.spawn().expect("it starts")
    };
    let mut killed = 0;
    for round in 0..80 {
        let verb = if round % 2 == 0 { "take" } else { "acquire" };
        let started = Instant::now();
        let mut children: Vec<Child> = ids.iter().map(|id| start(id, verb)).collect();
        // Another moment each time, from the first system call to the last.
        let moment = Duration::from_micros(75 * round);
        while started.elapsed() < moment {
            std::hint::spin_loop();
        }
        for child in children.iter_mut().step_by(2) {
            child.kill().expect("killed");
        }
        for child in &mut children {
            killed += usize::from(child.wait().expect("it ends").code().is_none());
        }
        // Half of them were let live, so that one is noted.
        let whose = noted(&repo)["session_id"].clone();
        let whose = whose.as_str().expect("an id");
        assert!(ids.iter().any(|id| whose == id), "{whose}");
        // And the next call goes on.
        session(&env, &repo, "acquire --session-id last --mode deep").exits(75);
        session(&env, &repo, &format!("release --session-id {whose}")).exits(0);
        session(&env, &repo, "acquire --session-id last --mode deep").exits(0);
        session(&env, &repo, "release --session-id last").exits(0);
    }
    assert!(killed > 0, "none was killed in time");
    let mut left = fs::read_dir(repo.join(".orchestrator")).expect("list");
    let odd = left.find(|entry| {
        let name = entry.as_ref().expect("an entry").file_name();
        let name = name.to_string_lossy().into_owned();
        name != "session.lock" && name != ".gitignore" && !name.starts_with(".git-locks-")
    });
    assert!(odd.is_none(), "{odd:?}");
}

#[test]
fn who_is_quicker_by_a_hair_is_not_overwritten() {
    let test = "failing::who_is_quicker_by_a_hair_is_not_overwritten";
    if !may_trace(test) {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    session(&env, &repo, "acquire --session-id seed --mode deep").exits(0);
    let trace = env.path("trace");
    for (verb, code) in [("acquire", 75), ("take --yes", 0)] {
        fs::remove_file(lease(&repo)).expect("remove");
        let mut command = env.command("strace");
        command
            .current_dir(&repo)
            .args(["-qq", "-e", "trace=/^link", "-o"])
            .arg(&trace)
            .arg("-P")
            .arg(lease(&repo))
            // It stands where it has looked for the last time, and is about to create the lease.
            .args(["-e", "inject=/^link:delay_enter=2s:when=1"])
            .args([BIN, "--format", "json", "session"])
            .args(verb.split_whitespace())
            .args(["--session-id", "ours", "--mode", "deep"]);
        let mut running = Running::start(command);
        waits_for("it to stand", DEADLINE, || {
            let told = fs::read_to_string(&trace).unwrap_or_default();
            told.contains("session.lock").then_some(())
        });
        let theirs = silent_for("theirs", 0.1, "elsewhere").to_string();
        // Whole at once, as we do it.
        let written = repo.join("written");
        fs::write(&written, &theirs).expect("write");
        fs::hard_link(&written, lease(&repo)).expect("they are first");
        let ended = running.wait(DEADLINE).exits(code);
        let told: serde_json::Value = serde_json::from_str(&ended.stdout).expect("a report");
        if verb == "acquire" {
            assert_eq!(told["existing"]["session_id"], "theirs", "{told:#}");
            assert_eq!(fs::read_to_string(lease(&repo)).expect("kept"), theirs);
        } else {
            assert_eq!(told["replaced"]["session_id"], "theirs", "{told:#}");
            assert_eq!(noted(&repo)["session_id"], "ours");
        }
        fs::remove_file(&written).expect("remove");
        fs::remove_file(&trace).expect("remove");
    }
}

#[test]
fn of_many_rounds_each_has_one_winner_and_no_reader_sees_half() {
    let env = Env::new();
    let repo = env.init("repo");
    session(&env, &repo, "acquire --session-id seed --mode deep").exits(0);
    session(&env, &repo, "release --session-id seed").exits(0);
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let path = lease(&repo);
        let over = &over;
        let reader = scope.spawn(move || {
            let mut seen = 0;
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                if let Ok(bytes) = fs::read(&path) {
                    serde_json::from_slice::<serde_json::Value>(&bytes).expect("a whole lease");
                    seen += 1;
                }
            }
            seen
        });
        for round in 0..15 {
            let start = |number: usize| {
                let mut command = env.command(BIN);
                let id = format!("r{round}-{number}");
                command.current_dir(&repo).stdout(Stdio::null());
                command.args(["session", "acquire", "--mode", "deep", "--session-id", &id]);
                (id, command.spawn().expect("it starts"))
            };
            let started: Vec<_> = (0..8).map(start).collect();
            let mut winners = Vec::new();
            for (id, mut child) in started {
                match child.wait().expect("it ends").code() {
                    Some(0) => winners.push(id),
                    code => assert_eq!(code, Some(75)),
                }
            }
            let [winner] = &winners[..] else {
                panic!("not one: {winners:?}");
            };
            assert_eq!(noted(&repo)["session_id"], winner.as_str());
            session(&env, &repo, &format!("release --session-id {winner}")).exits(0);
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(reader.join().expect("a reader") > 0);
    });
}

#[test]
fn a_frozen_lease_of_another_program_is_read_and_kept() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/session");
    let mut seen = 0;
    for fixture in fs::read_dir(fixtures).expect("fixtures") {
        let path = fixture.expect("one").path();
        let text = fs::read_to_string(&path).expect("text");
        let before: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let id = before["session_id"].as_str().expect("an id").to_owned();
        let env = Env::new();
        let repo = env.init("repo");
        write_lease(&repo, &text);
        let check = session(&env, &repo, &format!("check --session-id {id}")).exits(0);
        assert_eq!(
            (check.get("status"), check.get("mine")),
            (json!("held"), json!(true))
        );
        assert_eq!(check.get("state"), "stale", "{path:?}");
        session(&env, &repo, "heartbeat --session-id other").exits(1);
        assert_eq!(fs::read_to_string(lease(&repo)).expect("kept"), text);
        session(&env, &repo, &format!("heartbeat --session-id {id}")).exits(0);
        let mut after = noted(&repo);
        let beat = after["last_heartbeat"].take();
        assert!(beat.as_str() > before["last_heartbeat"].as_str(), "{beat}");
        // All else is as the other program wrote it.
        let mut expected = before.clone();
        expected["last_heartbeat"] = json!(null);
        assert_eq!(after, expected, "{path:?}");
        waits_for("it to be active", DEADLINE, || {
            let check = session(&env, &repo, "check --session-id x");
            (check.get("state") == "active").then_some(())
        });
        session(&env, &repo, &format!("release --session-id {id}")).exits(0);
        assert!(!lease(&repo).exists());
        seen += 1;
    }
    assert!(seen >= 8, "{seen}");
}
