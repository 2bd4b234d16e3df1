//! The words of the command line, and the answers.

use serde_json::json;

use crate::cast::{Ground, Lock, on_both, report};
use crate::common::fixture::{now, tree};
use crate::common::turns::runs;
use crate::common::{BIN, DEADLINE, can_run, required};

/// The pid namespace in which `/proc/locks` shows every lock there is.
const OUTERMOST: &str = "pid:[4026531836]";

#[test]
fn the_file_is_where_everybody_looks() {
    let ground = Ground::new(Lock::Repo);
    let path = ground.stage.env.call(&ground.stage.repo);
    let path = path.args("--format json repo path").run().exits(0);
    path.fields("status lock_path").says(&[
        ("status", json!("success")),
        ("lock_path", json!(ground.file().to_string_lossy())),
    ]);
    assert!(!ground.file().exists(), "it was made");
}

#[test]
fn nobody_has_it_at_first() {
    on_both(|ground| {
        let before = tree(ground.stage.env.root());
        let check = ground.check().exits(0);
        assert_eq!(check.text("status"), "free");
        assert_eq!(check.text("lock_path"), ground.file().to_string_lossy());
        assert_eq!(check.get("holder_pid"), json!(null));
        crate::common::fixture::same_tree(&before, &tree(ground.stage.env.root()));
    });
}

#[test]
fn check_says_who_has_it() {
    on_both(|ground| {
        let mut held = ground.held();
        let check = ground.check().exits(0);
        assert_eq!(check.text("status"), "held");
        let pid = check.number("holder_pid");
        assert!((pid - f64::from(held.pid())).abs() < 0.5, "{check:#?}");
        assert!(check.text("holder_command").contains("run"), "{check:#?}");
        let age = now() - check.number("holder_since");
        assert!((-2.0..60.0).contains(&age), "{age}: {check:#?}");
        let call = ground.stage.env.call(&ground.stage.repo);
        let call = call.args("--format json").args(ground.lock.family());
        call.args("check --exit-code").run().exits(1);
        ground.stage.let_go("me");
        held.wait(DEADLINE).exits(0);
        let call = ground.stage.env.call(&ground.stage.repo);
        let call = call.args("--format json").args(ground.lock.family());
        call.args("check --exit-code").run().exits(0);
    });
}

#[test]
fn check_takes_no_lock_of_its_own() {
    let traced = std::process::Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "true"])
        .output();
    let fine = traced.is_ok_and(|output| output.status.success());
    if !can_run(
        "asking::check_takes_no_lock_of_its_own",
        fine,
        "needs strace and permission to trace",
    ) {
        return;
    }
    on_both(|ground| {
        let mut held = ground.held();
        for _ in 0..2 {
            let trace = ground.stage.env.path("trace");
            let mut strace = ground.stage.env.command("strace");
            strace.current_dir(&ground.stage.repo);
            strace.args(["-f", "-qq", "-e", "trace=flock,fcntl,openat", "-o"]);
            strace
                .arg(&trace)
                .args([BIN, ground.lock.family(), "check"]);
            assert!(strace.status().expect("strace").success());
            let calls = std::fs::read_to_string(&trace).expect("a trace");
            assert!(calls.contains("openat"), "nothing was traced");
            for call in calls.lines() {
                let locks = ["LOCK_EX", "F_WRLCK"];
                assert!(!locks.iter().any(|lock| call.contains(lock)), "{call}");
                // Where the kernel tells, looking locks nothing at all.
                let tells = std::fs::read_link("/proc/self/ns/pid");
                let tells = tells.is_ok_and(|ns| ns.as_os_str() == OUTERMOST);
                assert!(!(tells && call.contains("flock(")), "{call}");
            }
            ground.stage.let_go("me");
            held.wait(DEADLINE).exits(0);
        }
    });
}

#[test]
fn who_is_not_admitted_hears_of_the_holder() {
    on_both(|ground| {
        let held = ground.held();
        let before = now();
        for (args, code) in [
            ("--timeout 0", 75),
            ("--no-wait", 75),
            ("--timeout 0.2 -E 9", 9),
        ] {
            let ended = ground.run(args, "log INTRUDER").exits(code);
            assert_eq!(ended.stdout, "", "{args}");
            let said = report(&ended);
            assert_eq!(said["status"], "blocked", "{args}: {said}");
            assert_eq!(said["holder_pid"], held.pid(), "{args}: {said}");
            let command = said["holder_command"].as_str().unwrap_or_default();
            assert!(command.contains("script-"), "{args}: {said}");
            let since = said["holder_since"].as_f64().unwrap_or_default();
            assert!((before - 60.0..=before + 2.0).contains(&since), "{said}");
            let host = said["holder_host"].as_str().unwrap_or_default();
            assert!(!host.is_empty(), "{args}: {said}");
            assert_eq!(said["lock_path"], json!(ground.file().to_string_lossy()));
        }
        assert!(!ground.stage.log().contains(&"INTRUDER".to_owned()));
    });
}

#[test]
fn people_hear_of_the_holder_too() {
    on_both(|ground| {
        let held = ground.held();
        let mut command = ground.stage.env.command(BIN);
        command
            .current_dir(&ground.stage.repo)
            .args(["--format", "human", ground.lock.family(), "run"])
            .args(["--timeout", "0", "--", "true"]);
        let said = command.output().expect("it runs");
        let said = String::from_utf8(said.stderr).expect("UTF-8");
        assert!(said.contains(&held.pid().to_string()), "{said}");
        assert!(said.contains("script-"), "{said}");
    });
}

#[test]
fn outside_a_repository_there_is_no_lock() {
    let ground = Ground::new(Lock::Repo);
    let outside = ground.stage.env.mkdir("outside");
    for verb in [
        "repo path",
        "repo check",
        "repo run -- true",
        "worktree check",
        "worktree run -- true",
        "worktree cleanup",
    ] {
        let run = ground.stage.env.locks(&outside, verb);
        assert_eq!(run.code, 128, "{verb}: {run:#?}");
        assert!(run.stderr.contains("epository"), "{verb}: {run:#?}");
    }
}

#[test]
fn words_that_make_no_sense() {
    on_both(|ground| {
        for args in [
            "--timeout 1 --no-wait",
            "--timeout 1 --wait",
            "--timeout=1 --wait=5s",
            "--timeout -1",
            "--timeout=-0.5",
            "--timeout soon",
            "--timeout NaN",
            "--timeout=",
            "--wait=soon",
            "--max-hold soon",
            "--plan-id me",
            "--no-title-token",
        ] {
            let ended = ground.run(args, "log INTRUDER");
            assert_eq!(ended.code, Some(2), "{:?} {args}: {ended:#?}", ground.lock);
        }
        assert_eq!(ground.stage.log(), Vec::<String>::new());
        assert!(!ground.file().exists());
    });
}

#[test]
fn timeouts_that_do() {
    on_both(|ground| {
        for args in [
            "--timeout 0",
            "--timeout 0.25",
            "--timeout 300.0",
            "--timeout 1e9",
            "--wait",
            "--wait=1s",
            "--no-wait",
        ] {
            let ended = ground.run(args, "exit 6");
            assert_eq!(ended.code, Some(6), "{:?} {args}: {ended:#?}", ground.lock);
        }
    });
}

#[test]
fn check_names_those_who_keep_it_too() {
    if !required("asking::check_names_those_who_keep_it_too", "flock") {
        return;
    }
    on_both(|ground| {
        let mut held = ground.held();
        let child = ground.stage.number("begin");
        held.kill();
        assert!(runs(child));
        let check = ground.check();
        assert_eq!(check.text("status"), "held", "{check:#?}");
        let text = check.json().to_string();
        assert!(text.contains(&format!("{child}")), "{check:#?}");
        ground.is_taken();
        ground.stage.let_go("me");
        crate::common::eventually(DEADLINE, || ground.flock_would());
        ground.is_free();
    });
}

/// Locks that file, and asks for the lock in `b` meanwhile.
const ASK: &str = r#"
for dir in a b; do
    mount -t tmpfs none $dir
    git init -q --bare $dir/r.git
    : > $dir/r.git/axm-integration.lock
done
stat -c %i a/r.git/axm-integration.lock b/r.git/axm-integration.lock
for dir in a b; do
    flock $dir/r.git/axm-integration.lock "$BIN" -C b/r.git --format toon repo check --exit-code |
        grep ^status
done
"#;

#[test]
fn a_file_of_the_same_number_on_another_file_system_is_another() {
    let test = "asking::a_file_of_the_same_number_on_another_file_system_is_another";
    if !required(test, "unshare") || !required(test, "flock") {
        return;
    }
    let ground = Ground::new(Lock::Repo);
    let mounts = |script: &str| {
        for dir in ["a", "b"] {
            ground.stage.env.mkdir(dir);
        }
        let mut unshare = ground.stage.env.command("unshare");
        unshare.current_dir(ground.stage.env.root());
        unshare
            .args(["-m", "sh", "-ec", script])
            .env("BIN", BIN)
            .output()
            .expect("started")
    };
    let may = mounts("mount -t tmpfs none a").status.success();
    if !can_run(test, may, "needs permission to mount") {
        return;
    }
    let asked = mounts(ASK);
    let said = String::from_utf8_lossy(&asked.stdout);
    let said: Vec<&str> = said.lines().collect();
    assert_eq!(said.len(), 4, "{asked:?}");
    assert_eq!(said[0], said[1], "they have different numbers");
    assert_eq!(said[2..], ["status: free", "status: held"], "{asked:?}");
}
