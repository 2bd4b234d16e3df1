//! Who takes part in these tests: ours, flock(1) and Python.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::common::turns::{Ended, Running, waits_for};
use crate::common::{BIN, DEADLINE, Run};
use crate::stage::{AT_ONCE, DEFAULT_SIGNALS, Stage};

/// The two kernel locks: what is said of one holds of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    Repo,
    Worktree,
}

pub const BOTH: [Lock; 2] = [Lock::Repo, Lock::Worktree];

impl Lock {
    pub fn family(self) -> &'static str {
        match self {
            Self::Repo => "repo",
            Self::Worktree => "worktree",
        }
    }
}

/// A repository, one of its two locks, and what is done with it.
pub struct Ground {
    pub stage: Stage,
    pub lock: Lock,
}

/// Where the worktree at `tree` has its lock file, when the lock directory is `dir`.
pub fn worktree_lock(dir: &Path, tree: &Path) -> PathBuf {
    let real = tree.canonicalize().expect("a worktree");
    let digest = Sha256::digest(real.as_os_str().as_bytes());
    let mut name = String::new();
    for byte in &digest[..16] {
        write!(name, "{byte:02x}").expect("a string takes anything");
    }
    dir.join(name + ".lock")
}

impl Ground {
    pub fn new(lock: Lock) -> Self {
        let stage = Stage::new();
        Self { stage, lock }
    }

    /// Where worktree locks are kept by default.
    pub fn lock_dir(&self) -> PathBuf {
        self.stage.env.path("tmp/crucible-locks")
    }

    /// The lock file as the checkout at `dir` finds it.
    pub fn file_of(&self, dir: &Path) -> PathBuf {
        match self.lock {
            Lock::Repo => dir.join(".git/axm-integration.lock"),
            Lock::Worktree => worktree_lock(&self.lock_dir(), dir),
        }
    }

    /// The lock file of the stage's repository.
    pub fn file(&self) -> PathBuf {
        self.file_of(&self.stage.repo)
    }

    /// The lock file, which is there even when nobody has asked yet.
    pub fn make_file(&self) -> PathBuf {
        let file = self.file();
        let dir = file.parent().expect("a directory");
        std::fs::create_dir_all(dir).expect("the lock directory");
        crate::common::chmod(dir, 0o755);
        let opened = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&file);
        opened.expect("the lock file");
        file
    }

    /// `git-locks <family> <words>`, to be given more.
    pub fn call_in(&self, dir: &Path, words: &str) -> Command {
        let mut command = self.stage.env.command("env");
        command
            .current_dir(dir)
            .args([DEFAULT_SIGNALS, BIN, "--format", "json", self.lock.family()])
            .args(words.split_whitespace());
        command
    }

    /// `git-locks <family> run` in the repository, with `args` and a script with this body.
    pub fn prepared(&self, args: &str, body: &str) -> Command {
        let mut command = self.call_in(&self.stage.repo, &format!("run {args}"));
        command.arg("--").args(self.stage.script(body));
        command
    }

    /// The same, started.
    #[track_caller]
    pub fn start(&self, args: &str, body: &str) -> Running {
        Running::start(self.prepared(args, body))
    }

    /// The same in another directory.
    #[track_caller]
    pub fn start_in(&self, dir: &Path, args: &str, body: &str) -> Running {
        let mut command = self.prepared(args, body);
        command.current_dir(dir);
        Running::start(command)
    }

    /// The same, to its end.
    #[track_caller]
    pub fn run(&self, args: &str, body: &str) -> Ended {
        self.start(args, body).wait(DEADLINE)
    }

    /// The same with exactly these words as the command.
    #[track_caller]
    pub fn run_words(&self, args: &str, words: &[&str]) -> Ended {
        self.start_words(args, words).wait(DEADLINE)
    }

    /// The same, started.
    #[track_caller]
    pub fn start_words(&self, args: &str, words: &[&str]) -> Running {
        let mut command = self.call_in(&self.stage.repo, &format!("run {args}"));
        command.arg("--").args(words);
        Running::start(command)
    }

    /// A holder that has begun; it stays until `me` is let go.
    #[track_caller]
    pub fn held(&self) -> Running {
        let held = self.start("", "log begin $$; hold me; log end");
        self.stage.note("begin");
        held
    }

    /// `check`, in a directory.
    #[track_caller]
    pub fn check_in(&self, dir: &Path) -> Run {
        let call = self.stage.env.call(dir).args("--format json");
        let run = call.args(self.lock.family()).args("check").run();
        run.text("status");
        run
    }

    #[track_caller]
    pub fn check(&self) -> Run {
        self.check_in(&self.stage.repo)
    }

    /// Whether another program would get the lock on the file now.
    pub fn flock_would(&self) -> bool {
        let mut flock = self.stage.env.command("flock");
        let status = flock.arg("-n").arg(self.file()).arg("true").status();
        status.expect("flock").success()
    }

    /// Nobody gets it: neither ours, which leaves no trace, nor another program.
    #[track_caller]
    pub fn is_taken(&self) {
        let ended = self.run("--no-wait", "log INTRUDER");
        assert_eq!(ended.code, Some(75), "{:?}: {ended:#?}", self.lock);
        assert!(!self.stage.log().contains(&"INTRUDER".to_owned()));
        assert!(!self.flock_would(), "{:?}: flock got it", self.lock);
    }

    /// The next one gets it at once, the file is still there, and others get it too.
    #[track_caller]
    pub fn is_free(&self) {
        assert_eq!(self.check().text("status"), "free", "{:?}", self.lock);
        let ended = self.start("--no-wait", "exit 0").wait(AT_ONCE);
        assert_eq!(ended.code, Some(0), "{:?}: {ended:#?}", self.lock);
        assert!(self.file().is_file(), "{:?}: the file is gone", self.lock);
        assert!(self.flock_would(), "{:?}: flock did not get it", self.lock);
    }

    /// The sentinel.
    #[track_caller]
    pub fn sentinel(&self) -> Value {
        let text = std::fs::read(self.file()).expect("the lock file");
        serde_json::from_slice(&text).expect("a sentinel")
    }

    /// flock(1) with the lock, exclusively; it stays until its process group is killed or `name` is let
    /// go.
    #[track_caller]
    pub fn flocked(&self, name: &str) -> Running {
        let file = self.make_file();
        let mut command = self.stage.env.command("flock");
        let body = format!("log {name} $$; hold {name}");
        command.arg("-x").arg(file).args(self.stage.script(&body));
        let running = Running::start(command);
        self.stage.note(name);
        running
    }

    /// Python with the lock; it stays until its standard input ends or it is killed.
    #[track_caller]
    pub fn pythoned(&self, how: &str) -> Running {
        let file = self.make_file();
        let mut command = python(&self.stage, PYTHON_HOLDS);
        command.arg(file).arg(how).stdin(Stdio::piped());
        let running = Running::start(command);
        waits_for("python to have it", DEADLINE, || {
            running.stdout().contains("in").then_some(())
        });
        running
    }

    /// Whether Python would get the lock now.
    pub fn python_would(&self) -> bool {
        let mut command = python(&self.stage, PYTHON_TRIES);
        let status = command.arg(self.file()).status().expect("python");
        status.success()
    }
}

const PYTHON_HOLDS: &str = r#"
import fcntl, sys
file = open(sys.argv[1], "a")
fcntl.flock(file, getattr(fcntl, sys.argv[2]))
print("in", flush=True)
sys.stdin.read()
"#;

const PYTHON_TRIES: &str = r#"
import fcntl, sys
file = open(sys.argv[1], "a")
try:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    sys.exit(1)
"#;

/// Python, to run this program.
pub fn python(stage: &Stage, program: &str) -> Command {
    let mut command = stage.env.command("python3");
    // Its shims look for the user's home.
    if let Some(home) = std::env::var_os("HOME") {
        command.env("HOME", home);
    }
    command.args(["-c", program]).stdin(Stdio::null());
    command
}

/// The report that a command printed on standard error.
#[track_caller]
pub fn report(ended: &Ended) -> Value {
    crate::stage::json_in(&ended.stderr)
}

/// Both locks, each on a ground of its own.
#[track_caller]
pub fn on_both(test: impl Fn(Ground)) {
    for lock in BOTH {
        test(Ground::new(lock));
    }
}
