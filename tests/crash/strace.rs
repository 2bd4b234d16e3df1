//! strace, as the hand that kills a process or fails its system calls at a chosen one.

use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Output, Stdio};

use crate::common::{BIN, can_run};
use crate::scene::Stage;

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

impl Ended {
    fn new(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs `git locks merge` with `args` under strace with `options`.
pub fn run(stage: &Stage, options: &[&str], args: &str) -> Ended {
    let mut command = stage.env.command("strace");
    command
        .current_dir(&stage.repo)
        .args(["-f", "-qq"])
        .args(options)
        .arg(BIN)
        .args(["--format", "json", "merge"])
        .args(args.split_whitespace());
    Ended::new(&command.output().expect("strace runs"))
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

/// Runs it and lets `call` fail with `error`, without effect.
pub fn fail_at(stage: &Stage, call: &Syscall, error: &str, args: &str) -> Ended {
    disturb(stage, call, &format!("error={error}"), args)
}

fn disturb(stage: &Stage, call: &Syscall, how: &str, args: &str) -> Ended {
    let trace = format!("trace={}", call.name);
    let inject = format!("inject={}:{how}:when={}", call.name, call.number);
    let options = ["-o", "/dev/null", "-e", &trace, "-e", &inject];
    run(stage, &options, args)
}

/// The system calls of one undisturbed run, in order.
pub fn calls(stage: &Stage, args: &str) -> Vec<Syscall> {
    let file = stage.env.path("trace");
    let name = file.to_string_lossy().into_owned();
    let ended = run(stage, &["-s", "256", "-o", &name, "-e", "trace=all"], args);
    assert!(ended.signal.is_none(), "{ended:?}");
    let text = std::fs::read_to_string(&file).expect("a trace");
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut calls = Vec::new();
    for line in text.lines() {
        let shown = line
            .split_once(' ')
            .map_or("", |(_pid, call)| call)
            .trim_start();
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
    let ours =
        |call: &Syscall| call.shown.contains("/.plan/") || call.shown.contains("/git-locks/merge");
    calls
        .iter()
        .position(ours)
        .expect("a call with one of our files")
}
