//! strace, as the hand that stops the program between the grant and the start of the command.

use std::path::Path;
use std::time::Duration;

use crate::common::fixture::base;
use crate::common::turns::{Running, children, runs, waits_for};
use crate::common::{BIN, DEADLINE};
use crate::stage::{DEFAULT_SIGNALS, Stage, descriptors, is_ours};

pub use crate::common::may_trace as possible;

/// How long strace lets a process stand.
const STANDS: Duration = Duration::from_secs(3);

/// A `merge run` under strace, with what it starts.
pub struct Traced {
    /// Ends when everybody has ended, as the runner did.
    pub strace: Running,
    /// The runner.
    pub runner: i32,
}

impl Traced {
    /// A runner whose child stands for a while where it is about to become `program`: it is on
    /// record, and was told to begin.
    #[track_caller]
    pub fn at_the_door(stage: &Stage, args: &str, program: &Path) -> Self {
        let inject = format!("execve,execveat:delay_enter={}", STANDS.as_micros());
        let traced = Self::start(stage, "execve,execveat", program, &inject, args, program);
        let child = traced.recorded(stage);
        // What it is told comes through a pipe from the runner, which both leave behind.
        let pipes = |pid: i32| {
            let open = descriptors(pid).into_iter().map(|(_, target)| target);
            open.filter(|target| target.starts_with("pipe:"))
        };
        let me = i32::try_from(std::process::id()).expect("a pid");
        let ours: Vec<String> = pipes(me).collect();
        waits_for("the child to be told", DEADLINE, || {
            let left: Vec<String> = pipes(child).filter(|pipe| !ours.contains(pipe)).collect();
            left.is_empty().then_some(())
        });
        traced
    }

    /// A runner that stands for a while when it has the lock, and has not told its child to begin:
    /// it is about to leave the guard.
    #[track_caller]
    pub fn before_the_word(stage: &Stage, args: &str, program: &Path) -> Self {
        let guard = base(&stage.repo).join("merge-queue.json.lock");
        let inject = format!("/^unlink:delay_exit={}:when=1", STANDS.as_micros());
        let traced = Self::start(stage, "/^unlink", &guard, &inject, args, program);
        traced.recorded(stage);
        traced
    }

    /// The runner's child, once it is on record as what the holder runs.
    #[track_caller]
    fn recorded(&self, stage: &Stage) -> i32 {
        let holder = stage.holder();
        let child = self.child();
        waits_for("the child on record", DEADLINE, || {
            (stage.record(&holder)["process"]["pid"] == child).then_some(child)
        })
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
