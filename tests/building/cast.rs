//! Who takes part in these tests.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::builds::Queue;
use crate::common::turns::{Ended, Running};
use crate::common::{BIN, DEADLINE, Env, Run, eventually};
use crate::stage::{DEFAULT_SIGNALS, Stage};

/// The canonical fields of `acquire`.
pub const ACQUIRED: &str =
    "status plan_id id admission max_slots active_count waiting_count queue_path";
/// Ours, after them.
pub const ACQUIRED_MORE: &str = "slot expires_at position";
/// The canonical fields of `release`.
pub const RELEASED: &str =
    "status plan_id id action promoted max_slots active_count waiting_count queue_path";

/// An environment with a repository `repo` in it.
pub fn one() -> (Env, PathBuf) {
    let env = Env::new();
    let repo = env.init("repo");
    (env, repo)
}

/// The same with a second repository, `there`.
pub fn two() -> (Env, PathBuf, PathBuf) {
    let (env, repo) = one();
    let there = env.init("there");
    (env, repo, there)
}

/// `id` asks for a slot of one, and gets it or does not.
#[track_caller]
pub fn asks(env: &Env, dir: &Path, id: &str, code: i32) -> Run {
    let run = env.build(dir, &format!("acquire --max-slots 1 --as {id}"));
    run.exits(code)
}

/// `id` lets go of the only slot.
#[track_caller]
pub fn leaves(env: &Env, dir: &Path, id: &str) -> Run {
    let run = env.build(dir, &format!("release --max-slots 1 --as {id}"));
    run.exits(0)
}

/// `acquire --wait` for the only slot.
pub fn waiter(env: &Env, dir: &Path, id: &str) -> Running {
    let call = env.call(dir).args("--format json build acquire --wait");
    call.args("--max-slots 1 --as").arg(id).start()
}

/// Kills a process, until nothing shows it alive any more.
#[track_caller]
pub fn kill(queue: &Queue, running: &mut Running) {
    let before = present(queue);
    running.kill().dies_of(9);
    eventually(DEADLINE, || present(queue) < before);
}

/// How many presence files somebody keeps locked.
pub fn present(queue: &Queue) -> usize {
    let locked = |path: &PathBuf| {
        std::fs::File::open(path).is_ok_and(|file| file.try_lock_shared().is_err())
    };
    queue.presence().iter().filter(|path| locked(path)).count()
}

/// The JSON report on standard output.
#[track_caller]
pub fn report(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|error| panic!("no JSON report ({error}) from {ended:#?}"))
}

impl Stage {
    /// `git-locks build` with `args`, which prints a JSON report.
    #[track_caller]
    pub fn build(&self, args: &str) -> Run {
        self.env.build(&self.repo, args)
    }

    /// The queue.
    pub fn builds(&self) -> Queue {
        self.env.builds()
    }

    /// `git-locks build run` in `dir` with `args`, to be given `--` and a command.
    pub fn builder_in(&self, dir: &Path, args: &str) -> Command {
        let mut command = self.env.command("env");
        command
            .current_dir(dir)
            .args([DEFAULT_SIGNALS, BIN, "build", "run"])
            .args(args.split_whitespace());
        command
    }

    /// `git-locks build run` in `dir` with `args` and a script with this body, started.
    #[track_caller]
    pub fn starts_in(&self, dir: &Path, args: &str, body: &str) -> Running {
        let mut command = self.builder_in(dir, args);
        command.arg("--").args(self.script(body));
        Running::start(command)
    }

    /// The same in the repository of the stage.
    #[track_caller]
    pub fn starts(&self, args: &str, body: &str) -> Running {
        self.starts_in(&self.repo, args, body)
    }

    /// The same, to its end.
    #[track_caller]
    pub fn builds_to_the_end(&self, args: &str, body: &str) -> Ended {
        self.starts(args, body).wait(DEADLINE)
    }

    /// `git-locks build run` with exactly these words as the command, to its end.
    #[track_caller]
    pub fn builds_words(&self, args: &str, words: &[&str]) -> Ended {
        let mut command = self.builder_in(&self.repo, args);
        let words = words.iter().map(OsString::from);
        command.arg("--").args(words);
        Running::start(command).wait(DEADLINE)
    }

    /// The only slot is taken: a `run` that does not wait is not admitted, and leaves nothing.
    #[track_caller]
    pub fn has_no_slot(&self) {
        let before = self.builds().ids("waiting");
        let ended = self.builds_to_the_end("--no-wait --max-slots 1 --as looks", "log INTRUDER");
        assert_eq!(ended.code, Some(75), "{ended:#?}");
        assert!(!self.log().contains(&"INTRUDER".to_owned()));
        assert_eq!(self.builds().ids("waiting"), before);
    }

    /// The only slot is had at once.
    #[track_caller]
    pub fn has_a_slot(&self) {
        let mut next = self.starts("--max-slots 1 --as next", "exit 0");
        next.wait(crate::stage::AT_ONCE).exits(0);
    }
}
