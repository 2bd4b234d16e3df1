//! strace, as the hand that stops the program between the grant and the start of the command.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::common::turns::{Running, children, guard_path, runs, waits_for};
use crate::common::{BIN, DEADLINE, can_run};
use crate::stage::{DEFAULT_SIGNALS, Stage, is_ours};

/// How long strace lets a process stand.
const STANDS: Duration = Duration::from_secs(3);

/// Whether strace is there and may trace.
#[must_use = "a test that cannot run must return"]
pub fn possible(test: &str) -> bool {
    let traced = std::process::Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "true"])
        .stdin(Stdio::null())
        .output();
    let fine = traced.is_ok_and(|output| output.status.success());
    can_run(test, fine, "needs strace and permission to trace")
}

/// A `merge run` under strace, with what it starts.
pub struct Traced {
    /// Ends when everybody has ended, as the runner did.
    pub strace: Running,
    /// The runner.
    pub runner: i32,
}

impl Traced {
    /// A runner whose child stands for a while where it is about to become `program`: it has
    /// recorded itself, and has left the guard.
    #[track_caller]
    pub fn at_the_door(stage: &Stage, args: &str, program: &Path) -> Self {
        let inject = format!("execve,execveat:delay_enter={}", STANDS.as_micros());
        let traced = Self::start(stage, "execve,execveat", program, &inject, args, program);
        let holder = stage.holder();
        let child = traced.child();
        waits_for("the child on record", DEADLINE, || {
            (stage.record(&holder)["process"]["pid"] == child).then_some(())
        });
        traced
    }

    /// A runner whose child stands for a while before it asks for the guard, in which it would
    /// record itself. The runner itself stands as long before it first asks for it.
    #[track_caller]
    pub fn before_the_record(stage: &Stage, args: &str, program: &Path) -> Self {
        let guard = guard_path(&stage.repo);
        let inject = format!("openat:delay_enter={}:when=1", STANDS.as_micros());
        let traced = Self::start(stage, "openat", &guard, &inject, args, program);
        let child = traced.child();
        waits_for("the child to be ours", DEADLINE, || {
            is_ours(child).then_some(())
        });
        traced
    }

    fn start(
        stage: &Stage,
        calls: &str,
        path: &Path,
        inject: &str,
        args: &str,
        program: &Path,
    ) -> Self {
        let mut command = stage.env.command("strace");
        command
            .current_dir(&stage.repo)
            .args(["-f", "-qq", "-o", "/dev/null", "-P"])
            .arg(path)
            .args(["-e", &format!("trace={calls}")])
            .args(["-e", &format!("inject={inject}")])
            .args(["env", DEFAULT_SIGNALS, BIN, "merge", "run"])
            .args(args.split_whitespace())
            .arg("--")
            .arg(program);
        let strace = Running::start(command);
        let runner = waits_for("the runner", DEADLINE, || {
            children(strace.pid()).into_iter().find(|pid| is_ours(*pid))
        });
        Self { strace, runner }
    }

    /// The runner's child, waited for.
    #[track_caller]
    pub fn child(&self) -> i32 {
        waits_for("the runner's child", DEADLINE, || {
            children(self.runner).first().copied()
        })
    }
}

/// Waits until a process has ended.
#[track_caller]
pub fn gone(pid: i32) {
    waits_for(&format!("the end of {pid}"), DEADLINE, || {
        (!runs(pid)).then_some(())
    });
}
