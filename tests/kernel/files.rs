//! File systems and files that are not as they should be.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::cast::{Ground, Lock, on_both};
use crate::common::turns::Running;
use crate::common::{BIN, DEADLINE, can_run, chmod, needs_root};

fn can_trace(test: &str) -> bool {
    let mut strace = Command::new("strace");
    let traced = strace
        .args(["-f", "-qq", "-o", "/dev/null", "true"])
        .output();
    let fine = traced.is_ok_and(|output| output.status.success());
    can_run(test, fine, "needs strace and permission to trace")
}

/// A run whose `flock` calls go as strace says.
fn injected(ground: &Ground, how: &str, words: &[&str]) -> Running {
    let mut strace = ground.stage.env.command("strace");
    strace
        .current_dir(&ground.stage.repo)
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=flock", "-e"])
        .arg(format!("inject=flock:{how}"))
        .args([BIN, "--format", "json", ground.lock.family(), "run"])
        .args(words);
    Running::start(strace)
}

#[test]
fn where_locks_do_not_work_nothing_is_run() {
    if !can_trace("files::where_locks_do_not_work_nothing_is_run") {
        return;
    }
    on_both(|ground| {
        for error in ["ENOLCK", "ENOSYS", "EOPNOTSUPP", "EINVAL", "EIO"] {
            for wait in ["--no-wait", "--timeout=5", "--wait"] {
                let how = format!("error={error}");
                let mut run = injected(&ground, &how, &[wait, "--", "echo", "INTRUDER"]);
                let ended = run.wait(DEADLINE);
                assert_eq!(ended.code, Some(128), "{error} {wait}: {ended:#?}");
                assert_eq!(ended.stdout, "", "{error} {wait}");
                let file = ground.file();
                let name = file.file_name().expect("a name").to_string_lossy();
                assert!(ended.stderr.contains(&*name), "{error}: {ended:#?}");
            }
        }
    });
}

#[test]
fn a_call_that_was_interrupted_is_made_again() {
    if !can_trace("files::a_call_that_was_interrupted_is_made_again") {
        return;
    }
    on_both(|ground| {
        let mut run = injected(
            &ground,
            "error=EINTR:when=1..3",
            &["--no-wait", "--", "true"],
        );
        run.wait(DEADLINE).exits(0);
    });
}

#[test]
fn only_a_regular_file_is_a_lock_file() {
    on_both(|ground| {
        let file = ground.make_file();
        std::fs::remove_file(&file).expect("removed");
        let target = ground.stage.env.path("target");
        for kind in ["link", "dangling", "directory", "fifo"] {
            match kind {
                "link" => {
                    std::fs::write(&target, "precious").expect("a file");
                    symlink(&target, &file).expect("symlink");
                }
                "dangling" => symlink(ground.stage.env.path("nowhere"), &file).expect("symlink"),
                "directory" => std::fs::create_dir(&file).expect("a directory"),
                _ => nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO"),
            }
            let ended = ground.run("--timeout 1", "log INTRUDER");
            assert_eq!(
                ended.code,
                Some(128),
                "{:?} {kind}: {ended:#?}",
                ground.lock
            );
            let name = file.file_name().expect("a name").to_string_lossy();
            assert!(ended.stderr.contains(&*name), "{kind}: {ended:#?}");
            if kind == "directory" {
                std::fs::remove_dir(&file).expect("it is empty");
            } else {
                std::fs::remove_file(&file).expect("still there");
            }
        }
        assert!(!ground.stage.env.path("nowhere").exists());
        let target = std::fs::read_to_string(target).expect("it is there");
        assert_eq!(target, "precious");
        assert_eq!(ground.stage.log(), Vec::<String>::new());
        ground.is_free();
    });
}

/// A user who is not root.
const NOBODY: u32 = 65534;

#[test]
fn a_lock_directory_that_cannot_be_written() {
    if !needs_root("files::a_lock_directory_that_cannot_be_written") {
        return;
    }
    let ground = Ground::new(Lock::Worktree);
    let closed = ground.stage.env.mkdir("closed");
    chmod(&closed, 0o555);
    for dir in [closed.clone(), closed.join("below")] {
        let call = ground.stage.env.call(&ground.stage.repo);
        let call = call
            .args("worktree run --timeout 0")
            .cmd(["echo", "INTRUDER"]);
        let call = call.env("CRUCIBLE_LOCK_DIR", &dir);
        let run = call.user(&ground.stage.env, NOBODY, NOBODY).run();
        assert_eq!(run.code, 128, "{run:#?}");
        assert_eq!(run.stdout, "");
        let shown = run.stderr.contains("closed");
        assert!(shown && run.stderr.contains("ermission"), "{run:#?}");
    }
}

#[test]
fn a_second_user_takes_part_in_what_it_may_only_read() {
    if !needs_root("files::a_second_user_takes_part") {
        return;
    }
    on_both(|ground| {
        let dir = ground.stage.env.mkdir("shared");
        chmod(&dir, 0o755);
        let env = &ground.stage.env;
        let call = |args: &str| {
            let call = env.call(&ground.stage.repo).env("CRUCIBLE_LOCK_DIR", &dir);
            call.args(ground.lock.family()).args(args)
        };
        call("run --timeout 0").cmd(["true"]).run().exits(0);
        let as_nobody = || {
            call("run --timeout 0")
                .cmd(["echo", "in"])
                .user(env, NOBODY, NOBODY)
        };
        let run = as_nobody().run().exits(0);
        assert_eq!(run.stdout, "in\n");
        let held = call("run").cmd(ground.stage.script("log begin; hold me"));
        let mut held = held.start();
        ground.stage.noted("begin");
        as_nobody().run().exits(75);
        ground.stage.let_go("me");
        held.wait(DEADLINE).exits(0);
    });
}

#[test]
fn a_full_disk_does_not_free_the_lock() {
    let ground = Ground::new(Lock::Worktree);
    ground.run("", "exit 0").exits(0);
    // What is written fails, as on a full disk; the lock is the kernel's.
    let mut shell = ground.stage.env.command("bash");
    shell
        .current_dir(&ground.stage.repo)
        .args([
            "-c",
            "ulimit -f 0; exec \"$@\"",
            "bash",
            BIN,
            "worktree",
            "run",
        ])
        .args(["--timeout", "20", "--"])
        .args(ground.stage.script("hold me"))
        .env("DIR", ground.stage.env.root());
    let mut held = Running::start(shell);
    crate::common::eventually(DEADLINE, || !ground.flock_would() || !held.is_alive());
    ground.is_taken();
    ground.stage.let_go("me");
    held.wait(DEADLINE).exits(0);
    ground.is_free();
}
