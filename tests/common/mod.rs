//! A hermetic place to run `git locks` and git in: own home, own configuration, no inherited
//! environment. Shared by the test binaries.
#![allow(dead_code, reason = "each test binary uses its own part of this")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, poll, and write files as others do"
)]

pub mod builds;
pub mod fixture;
pub mod snapshot;
pub mod turns;

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The program under test.
pub const BIN: &str = env!("CARGO_BIN_EXE_git-locks");

/// How long [`eventually`] waits unless told otherwise: generous, for a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// A temporary directory with a home in it; removed when dropped.
pub struct Env {
    root: PathBuf,
    _keep: tempfile::TempDir,
}

impl Env {
    /// A fresh, empty environment.
    pub fn new() -> Self {
        let keep = tempfile::Builder::new()
            .prefix("git-locks-test-")
            .tempdir()
            .expect("a temporary directory");
        let root = keep.path().canonicalize().expect("its real path");
        for part in ["home", "tmp"] {
            std::fs::create_dir(root.join(part)).expect("a directory");
        }
        Self { root, _keep: keep }
    }

    /// The real path of the temporary directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path inside it.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.join(name)
    }

    /// Makes a directory (with its parents) inside it.
    pub fn mkdir(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(&path).expect("a directory");
        path
    }

    /// A command that inherits nothing but `PATH`.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let home = self.path("home");
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("TMPDIR", self.path("tmp"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "A U Thor")
            .env("GIT_AUTHOR_EMAIL", "author@example.invalid")
            .env("GIT_COMMITTER_NAME", "C O Mitter")
            .env("GIT_COMMITTER_EMAIL", "committer@example.invalid")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("TZ", "UTC")
            .env("LC_ALL", "C")
            .current_dir(&self.root)
            .stdin(Stdio::null());
        command
    }

    /// Runs git with `args` (split at blanks) in `dir`; fails the test when git fails.
    pub fn git(&self, dir: &Path, args: &str) -> String {
        let args: Vec<&str> = args.split_whitespace().collect();
        self.git_args(dir, &args)
    }

    /// Runs git with exactly these `args` in `dir`; fails the test when git fails.
    pub fn git_args<S: AsRef<OsStr>>(&self, dir: &Path, args: &[S]) -> String {
        let output = self.try_git(dir, args);
        assert!(
            output.status.success(),
            "git {:?} in {} failed: {}{}",
            args.iter().map(AsRef::as_ref).collect::<Vec<_>>(),
            dir.display(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs git and gives back what it said, whether it failed or not.
    pub fn try_git<S: AsRef<OsStr>>(&self, dir: &Path, args: &[S]) -> Output {
        self.command("git")
            .current_dir(dir)
            .args(args)
            .output()
            .expect("git runs")
    }

    /// A repository `name` with one commit on branch `main`; gives back its path.
    pub fn init(&self, name: impl AsRef<Path>) -> PathBuf {
        self.init_with(name, "")
    }

    /// The same, with more options for `git init`.
    pub fn init_with(&self, name: impl AsRef<Path>, options: &str) -> PathBuf {
        let dir = self.mkdir(name);
        self.git(&dir, &format!("init -q -b main {options} ."));
        self.commit(&dir, "file");
        dir
    }

    /// Commits a change to `file` in `dir`.
    pub fn commit(&self, dir: &Path, file: &str) {
        let mut opened = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(dir.join(file))
            .expect("a file to commit");
        writeln!(opened, "one more line").expect("it takes a line");
        self.git(dir, &format!("add {file}"));
        self.git(dir, "commit -q -m change");
    }

    /// `git locks` in `dir`, to be given arguments and more before it runs.
    pub fn call(&self, dir: &Path) -> Call {
        Call {
            command: self.command(BIN),
            stdin: None,
        }
        .dir(dir)
    }

    /// Runs `git locks` with `args` (split at blanks) in `dir`.
    pub fn locks(&self, dir: &Path, args: &str) -> Run {
        self.call(dir).args(args).run()
    }

    /// Runs `git locks merge` with `args` (split at blanks) in `dir`; fails the test unless it
    /// prints a JSON report, whatever its exit code.
    #[track_caller]
    pub fn merge(&self, dir: &Path, args: &str) -> Run {
        let run = self.call(dir).args("--format json merge").args(args).run();
        run.text("status");
        run
    }

    /// A copy of the program where every user of the machine can run it.
    pub fn public_bin(&self) -> PathBuf {
        let copy = self.path("git-locks-for-all");
        if !copy.exists() {
            chmod(&self.root, 0o755);
            // By another process: a copy that this one has open for writing, if only through a
            // child of another test, cannot be run.
            let copied = Command::new("cp").arg(BIN).arg(&copy).status();
            assert!(copied.expect("cp").success(), "no copy of the program");
            chmod(&copy, 0o755);
        }
        copy
    }

    /// A home for another user, whose git trusts every repository.
    pub fn home_for(&self, uid: u32, gid: u32) -> PathBuf {
        let home = self.mkdir(format!("home-{uid}"));
        let config = home.join(".gitconfig");
        std::fs::write(&config, "[safe]\n\tdirectory = *\n").expect("a git configuration");
        for path in [&home, &config] {
            std::os::unix::fs::chown(path, Some(uid), Some(gid)).expect("chown");
        }
        home
    }
}

/// One call of `git locks` being put together.
#[must_use = "nothing happens before `run`"]
pub struct Call {
    command: Command,
    stdin: Option<Vec<u8>>,
}

impl Call {
    /// Starts in `dir`.
    pub fn dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Adds arguments, split at blanks.
    pub fn args(mut self, args: &str) -> Self {
        self.command.args(args.split_whitespace());
        self
    }

    /// Adds one argument as it is.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Gives it this input.
    pub fn stdin(mut self, input: &[u8]) -> Self {
        self.stdin = Some(input.to_vec());
        self
    }

    /// Runs as another user, with the copy of the program that everyone can run.
    pub fn user(self, env: &Env, uid: u32, gid: u32) -> Self {
        let bin = env.public_bin();
        let home = env.home_for(uid, gid);
        let mut command = Command::new(bin);
        command
            .args(self.command.get_args())
            .env_clear()
            .stdin(Stdio::null());
        if let Some(dir) = self.command.get_current_dir() {
            command.current_dir(dir);
        }
        for (name, value) in self.command.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join(".config"));
        command.uid(uid).gid(gid);
        Self { command, ..self }
    }

    /// Starts it with its outputs piped.
    pub fn spawn(mut self) -> Child {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        self.command.spawn().expect("git-locks starts")
    }

    /// Runs it to its end.
    pub fn run(mut self) -> Run {
        let shown: Vec<OsString> = self.command.get_args().map(OsString::from).collect();
        let input = self.stdin.take();
        if input.is_some() {
            self.command.stdin(Stdio::piped());
        }
        let mut child = self.spawn();
        if let (Some(input), Some(mut pipe)) = (input, child.stdin.take()) {
            // A program that reads nothing is not this helper's affair.
            let _ = pipe.write_all(&input);
        }
        let output = child.wait_with_output().expect("git-locks ends");
        Run::new(shown, &output)
    }
}

/// What one call of `git locks` said.
#[derive(Debug)]
pub struct Run {
    /// The arguments.
    pub args: Vec<OsString>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit code; -1 when a signal ended it.
    pub code: i32,
}

impl Run {
    fn new(args: Vec<OsString>, output: &Output) -> Self {
        Self {
            args,
            stdout: String::from_utf8(output.stdout.clone()).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr.clone()).expect("standard error is UTF-8"),
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// Fails the test unless it ended with `code`.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "unexpected exit code of {self:#?}");
        self
    }

    /// The JSON report.
    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("no JSON report ({error}) from {self:#?}"),
        }
    }

    /// One field of the JSON report; null when it is absent.
    #[track_caller]
    pub fn get(&self, field: &str) -> Value {
        self.json().get(field).cloned().unwrap_or(Value::Null)
    }

    /// One field of the JSON report that must be a string.
    #[track_caller]
    pub fn text(&self, field: &str) -> String {
        match self.get(field) {
            Value::String(text) => text,
            other => panic!("{field} is {other}, not a string, in {self:#?}"),
        }
    }

    /// One field of the JSON report that must be a number.
    #[track_caller]
    pub fn number(&self, field: &str) -> f64 {
        match self.get(field).as_f64() {
            Some(number) => number,
            None => panic!("{field} is not a number in {self:#?}"),
        }
    }

    /// Fails the test unless each named field of the JSON report has this value.
    #[track_caller]
    pub fn says(self, fields: &[(&str, Value)]) -> Self {
        for (name, expected) in fields {
            assert_eq!(&self.get(name), expected, "field {name} of {self:#?}");
        }
        self
    }

    /// Fails the test unless the JSON report has exactly these fields in this order.
    #[track_caller]
    pub fn fields(self, expected: &str) -> Self {
        let report = self.json();
        let names: Vec<&str> = report
            .as_object()
            .map(|map| map.keys().map(String::as_str).collect())
            .unwrap_or_default();
        let expected: Vec<&str> = expected.split_whitespace().collect();
        assert_eq!(names, expected, "fields of {self:#?}");
        self
    }

    /// Fails the test unless the JSON report begins with these fields in this order, and what
    /// follows is an ordered selection of `more`.
    #[track_caller]
    pub fn fields_then(self, expected: &str, more: &str) -> Self {
        let report = self.json();
        let names: Vec<&str> = report
            .as_object()
            .map(|map| map.keys().map(String::as_str).collect())
            .unwrap_or_default();
        let expected: Vec<&str> = expected.split_whitespace().collect();
        assert!(
            names.starts_with(&expected),
            "{names:?} instead of {expected:?} in {self:#?}"
        );
        let mut allowed = more.split_whitespace();
        for name in &names[expected.len()..] {
            assert!(
                allowed.any(|field| field == *name),
                "{name} is out of place in {self:#?}"
            );
        }
        self
    }

    /// Fails the test unless standard error is one `error:` line and any `hint:` lines.
    #[track_caller]
    pub fn one_line_error(self) -> Self {
        let mut lines = self.stderr.lines();
        let first = lines.next().unwrap_or_default();
        assert!(first.starts_with("error: "), "no error line in {self:#?}");
        assert!(
            lines.all(|line| line.starts_with("hint: ")),
            "more than hints in {self:#?}"
        );
        self
    }
}

/// Polls `condition` until it holds; fails the test at the deadline.
#[track_caller]
pub fn eventually(deadline: Duration, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + deadline;
    while !condition() {
        assert!(
            Instant::now() < end,
            "the condition did not come true within {deadline:?}"
        );
        thread::sleep(Duration::from_millis(20));
    }
}

/// Sets a file's mode.
pub fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("chmod");
}

/// Whether a group of tests can run here. Where it cannot, says so by name on standard error,
/// or fails when `GIT_LOCKS_TEST_REQUIRE_ALL` is set.
#[must_use = "a test that cannot run must return"]
pub fn can_run(test: &str, possible: bool, why_not: &str) -> bool {
    if !possible {
        assert!(
            std::env::var_os("GIT_LOCKS_TEST_REQUIRE_ALL").is_none(),
            "{test} cannot run: {why_not}, and GIT_LOCKS_TEST_REQUIRE_ALL is set"
        );
        // Written directly: the test harness swallows what `eprintln!` says in a passing test.
        let line = format!("LEFT OUT: {test}: {why_not}\n");
        std::io::stderr()
            .write_all(line.as_bytes())
            .expect("standard error");
    }
    possible
}

/// Whether this test can run as root, which it needs.
#[must_use = "a test that cannot run must return"]
pub fn needs_root(test: &str) -> bool {
    can_run(test, nix::unistd::geteuid().is_root(), "needs root")
}

/// Whether `tool` is on the `PATH`, which this test needs.
#[must_use = "a test that cannot run must return"]
pub fn required(test: &str, tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|dir| dir.join(tool).is_file());
    can_run(test, found, &format!("needs {tool}"))
}

/// Whether strace is there and may trace, which this test needs.
#[must_use = "a test that cannot run must return"]
pub fn may_trace(test: &str) -> bool {
    let traced = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "true"])
        .stdin(Stdio::null())
        .output();
    let fine = traced.is_ok_and(|output| output.status.success());
    can_run(test, fine, "needs strace and permission to trace")
}
