//! A process that stands still inside the guard.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::fixture::base;
use crate::common::{BIN, DEADLINE, Run, eventually};
use crate::scene::Stage;

/// The guard file that programs share.
pub fn guard_file(repo: &Path) -> PathBuf {
    base(repo).join("merge-queue.json.lock")
}

/// Whether some process is inside the guard.
pub fn kernel_lock_is_taken(repo: &Path) -> bool {
    let file = File::open(repo.join(".git/git-locks/merge.guard"));
    file.is_ok_and(|file| file.try_lock_shared().is_err())
}

/// A `git locks` that stopped inside the guard.
pub struct Stopped {
    strace: Child,
    /// The process.
    pub pid: Pid,
}

impl Stopped {
    /// Stops it at the `number`-th sync of data: what it is about to put in place is written.
    pub fn at(stage: &Stage, args: &str, number: usize) -> Self {
        let inject = format!("inject=fdatasync:signal=SIGSTOP:when={number}");
        let mut command = stage.env.command("strace");
        command
            .current_dir(&stage.repo)
            .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync"])
            .args(["-e", &inject, BIN])
            .args(["--format", "json", "merge"])
            .args(args.split_whitespace())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let strace = command.spawn().expect("strace starts");
        let children = format!("/proc/{0}/task/{0}/children", strace.id());
        let mut pid = None;
        eventually(DEADLINE, || {
            let text = std::fs::read_to_string(&children).unwrap_or_default();
            pid = text.split_whitespace().next().and_then(|p| p.parse().ok());
            let Some(pid) = pid else { return false };
            let shown = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let letter = shown.rsplit(')').next().unwrap_or_default();
            let stopped = letter.trim_start().starts_with(['t', 'T']);
            let inside = kernel_lock_is_taken(&stage.repo) && guard_file(&stage.repo).exists();
            stopped && inside && signalled(pid)
        });
        let pid = Pid::from_raw(pid.expect("a process"));
        Self { strace, pid }
    }

    /// Lets it go on to its end.
    pub fn goes_on(self) -> Run {
        kill(self.pid, Signal::SIGCONT).expect("it is ours");
        let output = self.strace.wait_with_output().expect("it ends");
        Run {
            args: Vec::new(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// Kills it where it stands.
    pub fn dies(mut self) {
        kill(self.pid, Signal::SIGKILL).expect("it is ours");
        self.strace.wait().expect("it ends");
    }
}

/// Whether the process is stopped for good, and not only while strace looks at it.
fn signalled(pid: i32) -> bool {
    let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let switches = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let before = (state(), switches());
    thread::sleep(Duration::from_millis(100));
    before == (state(), switches())
}
