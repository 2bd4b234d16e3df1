//! strace, as the hand that kills a process or fails its system calls at a chosen one.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common::BIN;
use crate::scene::Stage;

pub use crate::common::may_trace as possible;

/// How a traced process ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that did.
    pub signal: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Runs `git locks` for the lock of the scene with `args` under strace with `options`: that process alone, and not
/// what it starts, which may outlive it.
pub fn run(stage: &Stage, options: &[&str], args: &str) -> Ended {
    // Files: of a pipe, what outlives it would keep the other end.
    let [out, err] = ["stdout", "stderr"].map(|name| stage.env.path(name));
    let write = |path: &PathBuf| File::create(path).expect("a file for its output");
    let mut command = stage.env.command("strace");
    command
        .current_dir(&stage.repo)
        .arg("-qq")
        .args(options)
        .arg(BIN)
        .args(["--format", "json", stage.family.name()])
        .args(args.split_whitespace())
        .stdout(write(&out))
        .stderr(write(&err));
    let over = AtomicBool::new(false);
    let status = thread::scope(|scope| {
        if let Some(beside) = stage.beside.get() {
            scope.spawn(|| beside(stage, &|| over.load(Ordering::SeqCst)));
        }
        let status = command.status();
        over.store(true, Ordering::SeqCst);
        status.expect("strace runs")
    });
    let said = |path: &PathBuf| {
        let bytes = std::fs::read(path).expect("its output");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ended {
        code: status.code(),
        signal: status.signal(),
        stdout: said(&out),
        stderr: said(&err),
    }
}

/// One system call of a run: strace counts those of each name for itself.
#[derive(Clone, Debug)]
pub struct Syscall {
    /// Its name.
    pub name: String,
    /// Which of that name it is, from 1.
    pub number: usize,
    /// The whole call, as strace shows it.
    pub shown: String,
}

/// Runs it and kills it when it enters `call`.
pub fn kill_at(stage: &Stage, call: &Syscall, args: &str) -> Ended {
    disturb(stage, call, "signal=SIGKILL", args)
}

/// How many calls of that name the last run made that was to be killed, or to have one fail.
pub fn made(stage: &Stage, name: &str) -> usize {
    let made = traced(stage);
    made.iter().filter(|call| call.name == name).count()
}

/// Runs it and lets `call` fail with `error`, without effect.
pub fn fail_at(stage: &Stage, call: &Syscall, error: &str, args: &str) -> Ended {
    disturb(stage, call, &format!("error={error}"), args)
}

fn disturb(stage: &Stage, call: &Syscall, how: &str, args: &str) -> Ended {
    let trace = format!("trace={}", call.name);
    let inject = format!("inject={}:{how}:when={}", call.name, call.number);
    let file = trace_file(stage);
    run(stage, &["-o", &file, "-e", &trace, "-e", &inject], args)
}

/// The system calls of one undisturbed run, in order.
pub fn calls(stage: &Stage, args: &str) -> Vec<Syscall> {
    let file = trace_file(stage);
    let ended = run(stage, &["-s", "256", "-o", &file, "-e", "trace=all"], args);
    assert!(ended.signal.is_none(), "{ended:?}");
    traced(stage)
}

fn trace_file(stage: &Stage) -> String {
    stage.env.path("trace").to_string_lossy().into_owned()
}

/// The system calls that the last run made, of those that were to be traced.
fn traced(stage: &Stage) -> Vec<Syscall> {
    let text = std::fs::read_to_string(trace_file(stage)).expect("a trace");
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut calls = Vec::new();
    for shown in text.lines() {
        let Some((name, _)) = shown.split_once('(') else {
            continue;
        };
        if !name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') {
            continue;
        }
        let count = counts.entry(name.to_owned()).or_default();
        *count += 1;
        calls.push(Syscall {
            name: name.to_owned(),
            number: *count,
            shown: shown.to_owned(),
        });
    }
    calls
}

/// Where the first of `calls` is that has to do with our own files.
pub fn first_of_ours(calls: &[Syscall]) -> usize {
    let ours = |call: &Syscall| {
        let files = [
            "/.plan/",
            "/git-locks/merge",
            "/git-locks/presence",
            "/build-queue",
            "/.orchestrator",
        ];
        files.iter().any(|file| call.shown.contains(file))
    };
    calls
        .iter()
        .position(ours)
        .expect("a call with one of our files")
}

/// Whether others may notice that the call was made: it writes, makes, moves, removes, locks,
/// starts a process, or waits for something.
pub fn changes(call: &Syscall) -> bool {
    const CHANGES: [&str; 29] = [
        "clone",
        "clone3",
        "epoll_pwait",
        "epoll_wait",
        "execve",
        "flock",
        "fork",
        "kill",
        "link",
        "linkat",
        "mkdir",
        "mkdirat",
        "mknod",
        "mknodat",
        "pidfd_send_signal",
        "poll",
        "ppoll",
        "pwrite64",
        "rename",
        "renameat",
        "renameat2",
        "rmdir",
        "sendto",
        "unlink",
        "unlinkat",
        "vfork",
        "wait4",
        "waitid",
        "write",
    ];
    let makes = call.name.starts_with("open") && call.shown.contains("O_CREAT");
    makes || CHANGES.contains(&call.name.as_str())
}
