//! Who takes part in these tests.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::fixture::holder;
use crate::common::turns::{Ended, Gate, Running};
use crate::common::{BIN, Call, DEADLINE, Env, Run, chmod};

/// TERM.
pub const TERM: i32 = 15;
/// KILL.
pub const KILL: i32 = 9;

/// A repository `repo` with a remote `far`, a bare repository; and a `PATH` on which git-locks is.
pub struct Field {
    pub env: Env,
    pub repo: PathBuf,
    pub far: PathBuf,
    path: OsString,
}

impl Field {
    /// Without a hook.
    pub fn bare() -> Self {
        let env = Env::new();
        let repo = env.init("repo");
        env.git(env.root(), "init -q --bare far.git");
        let far = env.path("far.git");
        env.git(&repo, "remote add far ../far.git");
        let path = path_with_program(&env);
        Self {
            env,
            repo,
            far,
            path,
        }
    }

    /// With the hook, installed with these words.
    #[track_caller]
    pub fn gated(words: &str) -> Self {
        let field = Self::bare();
        field.install(words).exits(0);
        field
    }

    /// `git locks hook install` with these words.
    pub fn install(&self, words: &str) -> Run {
        self.hook(&self.repo, &format!("install {words}")).run()
    }

    /// `git locks hook uninstall`.
    pub fn uninstall(&self) -> Run {
        self.hook(&self.repo, "uninstall").run()
    }

    /// `git locks hook` in `dir`, with its report as JSON.
    pub fn hook(&self, dir: &Path, words: &str) -> Call {
        let call = self.env.call(dir).args("--format json hook");
        call.args(words).env("PATH", &self.path)
    }

    /// The file of the hook.
    pub fn file(&self) -> PathBuf {
        self.repo.join(".git/hooks/pre-push")
    }

    /// `git` in `dir`, with git-locks on its `PATH`, and these words.
    pub fn git(&self, dir: &Path, words: &str) -> Command {
        let mut command = self.env.command("git");
        command.current_dir(dir).env("PATH", &self.path);
        command.args(words.split_whitespace());
        command
    }

    /// `git push far` with these words, to its end.
    pub fn push(&self, dir: &Path, words: &str) -> Ended {
        finish(self.git(dir, &format!("push far {words}")))
    }

    /// `git push far` of `HEAD` to the branch `gated/<name>`, started.
    #[track_caller]
    pub fn start(&self, dir: &Path, name: &str) -> Running {
        Running::start(self.git(dir, &format!("push far HEAD:refs/heads/gated/{name}")))
    }

    /// Keeps every push in `gate` once the remote has heard of it, under the last part of its branch's
    /// name.
    pub fn keep_in(&self, gate: &Gate) {
        let line = gate.line("\"${ref##*/}\"");
        let text = format!("#!/bin/sh\nread old new ref\nexec {line}\n");
        script(&self.far.join("hooks/pre-receive"), &text);
    }

    /// Whether the remote has this ref.
    pub fn arrived(&self, name: &str) -> bool {
        let shown = self
            .env
            .try_git(&self.far, &["show-ref", "--verify", "--quiet", name]);
        shown.status.success()
    }

    /// The holder, without the six digits at its end.
    #[track_caller]
    pub fn holder(&self) -> Option<String> {
        let id = holder(&self.repo)?;
        let (id, digits) = id.trim_end().rsplit_once('-').expect("a suffix");
        assert_eq!(digits.len(), 6, "{id}-{digits}");
        Some(id.to_owned())
    }

    /// Fails the test unless `other` is admitted at once, and lets go again.
    #[track_caller]
    pub fn is_to_be_had(&self) -> Run {
        let run = self.env.merge(&self.repo, "acquire --as other").exits(0);
        self.env.merge(&self.repo, "release --as other").exits(0);
        run
    }
}

/// Writes a script that can be run.
pub fn script(file: &Path, text: &str) {
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    std::fs::write(file, text).expect("a script");
    chmod(file, 0o755);
}

/// The end of a command.
pub fn finish(command: Command) -> Ended {
    Running::start(command).wait(DEADLINE)
}

/// A `PATH` with the program in front.
fn path_with_program(env: &Env) -> OsString {
    let bin = env.mkdir("bin");
    std::os::unix::fs::symlink(BIN, bin.join("git-locks")).expect("a symlink");
    let mut path = bin.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").expect("a PATH"));
    path
}

/// Fails the test unless standard error has a line with `words`.
#[track_caller]
pub fn says(ended: &Ended, words: &str) {
    let found = ended.stderr.lines().any(|line| line.contains(words));
    assert!(found, "{words:?} is not in {ended:#?}");
}
