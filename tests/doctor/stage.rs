//! A repository, and a machine on which git finds git-locks and man its page.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::common::{BIN, Call, Env, Run, chmod};

/// Two hours, in seconds: older than anything that a living process leaves for long.
pub const OLD: u64 = 7200;

/// A machine and a repository.
pub struct Stage {
    /// The machine.
    pub env: Env,
    /// The main checkout.
    pub main: PathBuf,
}

impl Stage {
    /// A fresh one.
    pub fn new() -> Self {
        let env = Env::new();
        let bin = env.mkdir("bin");
        symlink(BIN, bin.join("git-locks")).expect("a link to the program");
        Self::answers(&env, "man", 0);
        let main = env.init("repo");
        Self { env, main }
    }

    /// Puts a program `name` on the `PATH` that ends with `code`.
    pub fn answers(env: &Env, name: &str, code: i32) {
        let path = env.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\nexit {code}\n")).expect("a program");
        chmod(&path, 0o755);
    }

    /// The `PATH` of this machine.
    pub fn search_path(&self) -> std::ffi::OsString {
        let mut path = self.env.path("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        path
    }

    /// A call in `dir`, with the JSON form.
    pub fn call(&self, dir: &Path) -> Call {
        let call = self.env.call(dir).env("PATH", self.search_path());
        call.args("--format json doctor")
    }

    /// `git locks doctor` in the main checkout.
    #[track_caller]
    pub fn doctor(&self, args: &str) -> Run {
        self.call(&self.main).args(args).run()
    }

    /// `<common dir>/git-locks`.
    pub fn ours(&self) -> PathBuf {
        self.main.join(".git/git-locks")
    }

    /// The merge lock was used once, and is free.
    pub fn used(&self) {
        self.env.merge(&self.main, "acquire --as once").exits(0);
        self.env.merge(&self.main, "release --as once").exits(0);
    }

    /// The build queue was used once, and is empty.
    pub fn built(&self) {
        self.env.build(&self.main, "acquire --as once").exits(0);
        self.env.build(&self.main, "release --as once").exits(0);
    }

    /// Nothing is found, with and without `--fix`.
    #[track_caller]
    pub fn is_well(&self) {
        for args in ["", "--fix"] {
            let run = self.doctor(args).exits(0);
            assert_eq!(kinds(&run), [""; 0], "{run:#?}");
        }
    }
}

/// Makes a file, and what it stands in; it was last changed so many seconds ago.
pub fn leave(path: &Path, content: &str, ago: u64) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("its directory");
    fs::write(path, content).expect("a file");
    age(path, ago);
}

/// Moves the time at which a file or a directory was last changed into the past.
pub fn age(path: &Path, ago: u64) {
    let then = SystemTime::now() - Duration::from_secs(ago);
    let file = File::open(path).expect("opened");
    file.set_modified(then).expect("its time");
}

/// Runs a program to its end; fails the test where it fails.
#[track_caller]
pub fn succeeds(command: &mut Command) {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
}

/// The kinds of what was found, in order.
#[track_caller]
pub fn kinds(run: &Run) -> Vec<String> {
    let kind = |finding: &Value| finding["kind"].as_str().expect("a kind").to_owned();
    findings(run).iter().map(kind).collect()
}

/// What was found.
#[track_caller]
pub fn findings(run: &Run) -> Vec<Value> {
    let findings = run.get("findings");
    findings.as_array().expect("findings").clone()
}

/// The one finding of this kind.
#[track_caller]
pub fn the(run: &Run, kind: &str) -> Value {
    let mut found = findings(run);
    found.retain(|finding| finding["kind"] == kind);
    assert_eq!(found.len(), 1, "{kind} in {run:#?}");
    found.remove(0)
}

/// The path of a finding.
#[track_caller]
pub fn path_of(finding: &Value) -> PathBuf {
    finding["path"].as_str().expect("a path").into()
}

/// The row of one who takes part.
#[track_caller]
pub fn row(run: &Run, id: &str) -> Value {
    let rows = run.get("participants");
    let rows = rows.as_array().expect("participants");
    let of = |row: &&Value| {
        let text = row["id"].as_str().unwrap_or_default();
        text == id || text.split(':').next() == Some(id)
    };
    let found: Vec<&Value> = rows.iter().filter(of).collect();
    assert_eq!(found.len(), 1, "{id} in {run:#?}");
    found[0].clone()
}
