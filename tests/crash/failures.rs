//! System calls that fail: a documented exit code, one line that names the path, nothing lost.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Output;

use serde_json::Value;

use crate::aftermath;
use crate::common::fixture::{holder, waiting};
use crate::common::{BIN, required};
use crate::runs;
use crate::scene::{self, Family, Scene, Stage};
use crate::strace::{self, Ended, Syscall};

/// How the calls that write, make, move and remove may fail.
const WAYS: &[(&[&str], &[&str])] = &[
    (
        &["write", "pwrite64"],
        &["ENOSPC", "EDQUOT", "EIO", "EINTR"],
    ),
    (
        &["openat", "open"],
        &[
            "EMFILE", "EACCES", "ENOSPC", "EROFS", "EINTR", "EDQUOT", "EIO",
        ],
    ),
    (
        &["link", "linkat", "rename", "renameat", "renameat2"],
        &["ENOSPC", "EIO", "EACCES", "EDQUOT", "EROFS"],
    ),
    (
        &["mkdir", "mkdirat"],
        &["ENOSPC", "EACCES", "EROFS", "EDQUOT", "EIO"],
    ),
    (
        &["unlink", "unlinkat", "rmdir"],
        &["EACCES", "EIO", "EROFS"],
    ),
    (
        &["fdatasync", "fsync"],
        &["EIO", "ENOSPC", "EINTR", "EDQUOT"],
    ),
    (&["flock"], &["EINTR", "ENOLCK", "EIO"]),
    (
        &[
            "ftruncate",
            "fchmod",
            "chmod",
            "fchown",
            "lchown",
            "utimensat",
        ],
        &["EIO", "EROFS", "EACCES"],
    ),
    (&["read", "getdents64"], &["EIO", "EINTR"]),
];

/// How many of the ways a call may fail are tried in a short run.
const SHORT: usize = 1;

fn ways(call: &Syscall) -> &'static [&'static str] {
    if !writes(call) {
        return &["EACCES", "EMFILE", "EINTR", "EIO"];
    }
    let row = WAYS
        .iter()
        .find(|(names, _)| names.contains(&call.name.as_str()));
    row.map_or(&[], |(_, errors)| errors)
}

/// Whether it is more than the opening of something to read.
fn writes(call: &Syscall) -> bool {
    !call.name.starts_with("open") || call.shown.contains("O_CREAT")
}

/// Lets each call of the scene fail.
pub fn every_failure(scene: Scene) {
    let test = format!("failures: {}", scene.name);
    if !strace::possible(&test) {
        return;
    }
    let full = std::env::var_os("GIT_LOCKS_TEST_EVERY_CALL").is_some();
    let stage = Stage::new(&scene);
    let calls = strace::calls(&stage, scene.args);
    stage.reset();
    let sound = strace::run(&stage, &["-o", "/dev/null", "-e", "trace=none"], scene.args);
    let first = strace::first_of_ours(&calls);
    let (mut turn, mut faults) = (0, Vec::new());
    for call in &calls[first..] {
        let errors = ways(call);
        let count = if full {
            errors.len()
        } else {
            errors.len().min(SHORT)
        };
        for step in 0..count {
            let error = errors[(turn + step) % errors.len()];
            stage.reset();
            let before = stage.env.builds().text();
            let ended = strace::fail_at(&stage, call, error, scene.args);
            let fine = catch_unwind(AssertUnwindSafe(|| {
                is_clean(&stage, &ended, call, error, &sound);
                if ended.code == Some(128) && !call.shown.starts_with("write(1,") {
                    // Of the build queue, nothing was done halfway.
                    assert_eq!(
                        stage.env.builds().text(),
                        before,
                        "not told that it went through"
                    );
                }
                (scene.after)(&stage, turn);
            }));
            if fine.is_err() {
                faults.push(format!("{error} from {call:?}: {ended:?}"));
            }
        }
        turn += usize::from(count > 0);
    }
    eprintln!("{test}: {turn} calls failed");
    assert!(faults.is_empty(), "{}: {faults:#?}", scene.name);
    assert!(turn >= scene.least().1, "only {turn} calls failed");
}

/// It ended as documented, said one thing, and lost nothing.
fn is_clean(stage: &Stage, ended: &Ended, call: &Syscall, error: &str, sound: &Ended) {
    assert_eq!(ended.signal, None, "a signal");
    assert!(!ended.stderr.contains("panicked"), "a panic");
    let code = ended.code.expect("an exit code");
    assert!([0, 1, 75, 128].contains(&code), "exit code {code}");
    let report_lost = call.shown.starts_with("write(1,");
    if code == 128 {
        let errors: Vec<&str> = ended
            .stderr
            .lines()
            .filter(|line| line.starts_with("error: "))
            .collect();
        assert_eq!(errors.len(), 1, "error lines");
        let root = stage.env.root().to_string_lossy();
        let named = [&*root, "/dev/urandom"]
            .iter()
            .any(|path| errors[0].contains(path));
        assert!(named || report_lost, "no path in {}", errors[0]);
        let report = serde_json::from_str::<Value>(&ended.stdout);
        assert!(
            report_lost || report.is_ok_and(|report| report["status"] == "error"),
            "no report of the error"
        );
    } else if code == 75 && (!writes(call) || call.name == "read") {
        // What could not be looked at is unknown, and unknown blocks.
        assert!(
            ended.stdout.contains("\"admission\": \"blocked\""),
            "no report"
        );
    } else {
        assert_eq!(ended.code, sound.code, "another outcome");
    }
    if error == "EINTR" {
        assert_eq!(ended.code, sound.code, "not tried again");
        assert_eq!(ended.stderr, sound.stderr, "something else was said");
    }
    let full_disk = ["ENOSPC", "EDQUOT"].contains(&error);
    let merges = stage.family == Family::Merge;
    if merges && full_disk && !report_lost && scene_releases(sound) {
        assert_eq!(code, 0, "a full disk kept the lock from being released");
        assert_ne!(holder(&stage.repo).as_deref(), Some("hold\n"));
    }
    stage.keeps_others_keys();
}

fn scene_releases(sound: &Ended) -> bool {
    let report: Value = serde_json::from_str(&sound.stdout).unwrap_or_default();
    report["action"] == "released" && report.get("staleness").is_none()
}

#[test]
fn in_acquire() {
    every_failure(scene::ACQUIRE);
}

#[test]
fn in_an_acquire_that_queues() {
    every_failure(scene::QUEUE);
}

#[test]
fn in_release() {
    every_failure(scene::RELEASE);
}

#[test]
fn in_reclaim() {
    every_failure(scene::RECLAIM);
}

#[test]
fn in_an_acquire_with_a_witness() {
    every_failure(scene::WITNESS);
}

/// How the calls of a run fail where there is no room, where nothing may be changed, or where too
/// much is open already.
fn shortages(call: &Syscall) -> &'static [&'static str] {
    match call.name.as_str() {
        // Of what is written into a pipe, nothing goes to a disk.
        "write" if call.shown.contains("\"GIT_LOCKS_HOLDER=") => &[],
        "openat" | "open" if writes(call) => &["EMFILE", "ENOSPC", "EROFS"],
        "link" | "linkat" | "rename" | "renameat" | "renameat2" | "mkdir" | "mkdirat" | "mknod"
        | "mknodat" => &["ENOSPC", "EROFS"],
        "unlink" | "unlinkat" | "rmdir" => &["EROFS"],
        "write" | "pwrite64" | "fdatasync" | "fsync" => &["ENOSPC"],
        "pipe2" | "socketpair" => &["EMFILE"],
        "clone" | "clone3" | "fork" | "vfork" => &["EAGAIN"],
        _ => &[],
    }
}

/// Lets the calls of a run's scene fail for want of something; `ran` is how many commands ran.
pub fn every_shortage(scene: Scene, ran: fn(&Stage) -> usize) {
    if !strace::possible(&format!("failures: {}", scene.name)) {
        return;
    }
    let full = std::env::var_os("GIT_LOCKS_TEST_EVERY_CALL").is_some();
    let stage = Stage::new(&scene);
    let calls = strace::calls(&stage, scene.args);
    let first = strace::first_of_ours(&calls);
    let (mut turn, mut faults) = (0, Vec::new());
    for call in &calls[first..] {
        let errors = shortages(call);
        let count = errors.len().min(if full { errors.len() } else { SHORT });
        for step in 0..count {
            let error = errors[(turn + step) % errors.len()];
            stage.reset();
            let ended = strace::fail_at(&stage, call, error, scene.args);
            let fine = catch_unwind(AssertUnwindSafe(|| {
                ran_if_admitted(&stage, &ended, ran(&stage));
                (scene.after)(&stage, turn);
            }));
            if fine.is_err() {
                faults.push(format!("{error} from {call:?}: {ended:?}"));
            }
        }
        turn += usize::from(count > 0);
    }
    eprintln!("failures: {}: {turn} calls failed", scene.name);
    assert!(faults.is_empty(), "{}: {faults:#?}", scene.name);
    assert!(turn > 30, "only {turn} calls failed");
}

/// The command ran and its exit code is that of the run, or it did not and the error is told.
fn ran_if_admitted(stage: &Stage, ended: &Ended, count: usize) {
    assert_eq!(ended.signal, None, "a signal");
    assert!(!ended.stderr.contains("panicked"), "a panic");
    assert_eq!(ended.stdout, "", "standard output is the command's");
    // A report of JSON, after any notes.
    let failed = ended.stderr.contains("\"status\": \"error\"");
    match ended.code {
        Some(0) => assert_eq!((count, failed), (1, false), "no command was run"),
        code => assert_eq!((code, count, failed), (Some(128), 0, true), "another end"),
    }
    stage.keeps_others_keys();
}

#[test]
fn in_a_run() {
    every_shortage(runs::RUN, |stage| runs::ran(stage).len());
}

/// The last holder lets go, whose lock is gone before its records are.
const LAST: Scene = Scene {
    family: Family::Merge,
    name: "last release",
    set: |stage| scene::setup(stage, &[("acquire --as hold", 0)]),
    args: "release --as hold",
    after: |stage, _| aftermath::in_turn(stage, &["other"], "", stage.fence_before()),
};

#[test]
fn what_fails_once_the_lock_is_gone_does_not_make_it_a_lost_one() {
    if !strace::possible("failures::what_fails_once_the_lock_is_gone_does_not_make_it_a_lost_one") {
        return;
    }
    for (scene, count) in [(runs::RUN, 1), (LAST, 0)] {
        let stage = Stage::new(&scene);
        let calls = strace::calls(&stage, scene.args);
        let gone = |call: &Syscall| {
            call.name.starts_with("unlink") && call.shown.contains("/merge.lock\"")
        };
        let gone = calls.iter().position(gone).expect("the lock's end");
        let records = |call: &&Syscall| {
            let parts = ["/git-locks/.git-locks-", "O_CREAT"];
            call.name.starts_with("open") && parts.iter().all(|part| call.shown.contains(part))
        };
        let call = calls[gone..].iter().find(records).expect("new records");
        for (turn, error) in ["EMFILE", "EROFS", "EIO", "ENOSPC"].iter().enumerate() {
            stage.reset();
            let ended = strace::fail_at(&stage, call, error, scene.args);
            assert_eq!(ended.code, Some(0), "{error}: {ended:?}");
            let warnings = ended.stderr.matches("warning: ").count();
            let said = ended.stderr.contains("could not be recorded as complete");
            assert!(said && warnings == 1, "{error}: {ended:?}");
            assert_eq!(holder(&stage.repo), None, "{error}");
            assert_eq!(runs::ran(&stage).len(), count);
            (scene.after)(&stage, turn);
        }
    }
}

/// Runs the scene's call with files limited to so many bytes: what is longer is cut short.
fn limited(stage: &Stage, args: &str, bytes: u64, prelude: &str) -> Output {
    let script = format!(
        "{prelude} exec prlimit --fsize={bytes}:{bytes} '{BIN}' --format json {} {args}",
        stage.family.name()
    );
    let mut command = stage.env.command("sh");
    command.current_dir(&stage.repo).args(["-c", &script]);
    command.output().expect("sh runs")
}

#[test]
fn writes_that_are_cut_short() {
    cut_short(&[scene::ACQUIRE, scene::QUEUE, scene::RELEASE, scene::RECLAIM]);
}

/// Cuts the writes of each scene short.
pub fn cut_short(scenes: &[Scene]) {
    if !required("failures: writes that are cut short", "prlimit") {
        return;
    }
    for scene in scenes {
        let stage = Stage::new(scene);
        for (turn, bytes) in [0, 1, 5, 20, 40, 100, 200, 400, 800, 1600]
            .into_iter()
            .enumerate()
        {
            // Ignored, the signal becomes an error.
            stage.reset();
            let output = limited(&stage, scene.args, bytes, "trap '' XFSZ;");
            let said = format!("{} limited to {bytes}: {output:?}", scene.name);
            let code = output.status.code().unwrap_or(-1);
            assert!([0, 75, 128].contains(&code), "{said}");
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(
                errors.matches("error: ").count(),
                usize::from(code == 128),
                "{said}"
            );
            stage.keeps_others_keys();
            (scene.after)(&stage, turn);
            // Not ignored, it kills.
            stage.reset();
            limited(&stage, scene.args, bytes, "");
            stage.keeps_others_keys();
            (scene.after)(&stage, turn + 1);
        }
    }
}

#[test]
fn no_descriptors_to_spare() {
    few_descriptors(&[scene::ACQUIRE, scene::RELEASE, scene::RECLAIM]);
}

/// Runs each scene with few descriptors.
pub fn few_descriptors(scenes: &[Scene]) {
    if !required("failures: no descriptors to spare", "prlimit") {
        return;
    }
    for scene in scenes {
        let stage = Stage::new(scene);
        for (turn, count) in [3, 4, 5, 6, 7, 8].into_iter().enumerate() {
            stage.reset();
            let before = (waiting(&stage.repo), stage.env.builds().text());
            let script = format!(
                "exec prlimit --nofile={count}:{count} '{BIN}' --format json {} {}",
                stage.family.name(),
                scene.args
            );
            let mut command = stage.env.command("sh");
            command.current_dir(&stage.repo).args(["-c", &script]);
            let output = command.output().expect("sh runs");
            let said = format!("{} with {count} descriptors: {output:?}", scene.name);
            let code = output.status.code().unwrap_or(-1);
            // With so few, the program itself may not be loaded: 127.
            assert!([0, 75, 127, 128].contains(&code), "{said}");
            assert!(!said.contains("panicked"), "{said}");
            if code > 75 {
                let after = (waiting(&stage.repo), stage.env.builds().text());
                assert_eq!(after, before, "{said}");
            }
            (scene.after)(&stage, turn);
        }
    }
}
