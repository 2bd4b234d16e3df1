//! Real processes of the program, some of which a killer ends before their time.

use std::io::Read as _;
use std::path::Path;
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use serde_json::Value;

use crate::chance::Chance;
use crate::common::Env;

/// What one process said before it ended by itself.
#[derive(Debug)]
pub struct Said {
    /// Its exit code.
    pub code: i32,
    /// Its report.
    pub report: Value,
    /// Everything it said, for the record of a fault.
    pub text: String,
}

impl Said {
    /// A field that is text; empty where there is none.
    pub fn text(&self, field: &str) -> &str {
        self.report[field].as_str().unwrap_or_default()
    }
}

/// The running processes, one place for each worker.
pub struct Calls<'a> {
    env: &'a Env,
    repo: &'a Path,
    running: Vec<Mutex<Option<Child>>>,
    killed: AtomicU64,
}

impl<'a> Calls<'a> {
    /// Places for `workers`.
    pub fn new(env: &'a Env, repo: &'a Path, workers: usize) -> Self {
        Self {
            env,
            repo,
            running: (0..workers).map(|_| Mutex::new(None)).collect(),
            killed: AtomicU64::new(0),
        }
    }

    /// Runs `git locks merge` with `args` for one worker; `None` when it was killed.
    pub fn run(&self, worker: usize, args: &str) -> Option<Said> {
        let place = &self.running[worker];
        let call = self.env.call(self.repo).args("--format json merge");
        let mut child = call.args(args).spawn();
        let (mut out, mut err) = (
            child.stdout.take().expect("its output"),
            child.stderr.take().expect("its errors"),
        );
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid"));
        *place.lock().expect("the place") = Some(child);
        let mut text = String::new();
        out.read_to_string(&mut text).expect("UTF-8");
        let mut errors = String::new();
        err.read_to_string(&mut errors).expect("UTF-8");
        // Left unreaped, its pid stays its own for as long as the killer may see it.
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        waitid(Id::Pid(pid), flags).expect("it ends");
        let mut child = place.lock().expect("the place").take().expect("a child");
        let code = child.wait().expect("it ended").code()?;
        Some(Said {
            code,
            report: serde_json::from_str(&text).unwrap_or_default(),
            text: format!("exit {code}: {text} {errors}"),
        })
    }

    /// Kills some worker's process, if it runs one.
    pub fn kill_one(&self, chance: &mut Chance) {
        let at = chance.below(self.running.len() as u64);
        let place = &self.running[usize::try_from(at).expect("a place")];
        if let Some(child) = place.lock().expect("the place").as_mut()
            && child.kill().is_ok()
        {
            self.killed.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// How often the killer struck.
    pub fn killed(&self) -> u64 {
        self.killed.load(Ordering::SeqCst)
    }
}
