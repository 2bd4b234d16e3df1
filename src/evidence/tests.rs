//! The real file system, worktrees that real git made, real processes.

mod git;
mod plans;
mod processes;
mod projects;
mod worktrees;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::*;
use crate::sys::file::Modes;

const MODES: Modes = Modes {
    file: 0o644,
    dir: 0o755,
    group: None,
};

/// A repository that git made, with a base for plans and a directory for presence files.
struct Ground {
    dir: tempfile::TempDir,
    /// The main checkout.
    main: PathBuf,
    /// Its plans' base.
    base: PathBuf,
    common: PathBuf,
    presence: PathBuf,
    host: Host,
}

impl Ground {
    /// Plans are kept, and the repository has one commit.
    fn new() -> Self {
        let bare = Self::without_plans();
        make_dir(&bare.base.join("plans"));
        bare
    }

    fn without_plans() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = std::fs::canonicalize(dir.path()).expect("it exists");
        let main = root.join("main");
        make_dir(&main);
        let ground = Self {
            base: main.join(".plan/local"),
            common: main.join(".git"),
            presence: root.join("presence"),
            host: Host::here(),
            main,
            dir,
        };
        make_dir(&ground.base);
        make_dir(&ground.presence);
        ground.git(&["init", "-q", "-b", "main"]);
        ground.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        ground
    }

    fn root(&self) -> PathBuf {
        std::fs::canonicalize(self.dir.path()).expect("it exists")
    }

    fn git(&self, args: &[&str]) -> Output {
        git_in(&self.main, args)
    }

    fn world(&self) -> Surroundings<'_> {
        Surroundings {
            registry: std::cell::RefCell::default(),
            base: &self.base,
            plan_dir: OsStr::new(".plan"),
            common_dir: Some(&self.common),
            presence: self.presence.clone(),
            host: self.host.clone(),
        }
    }

    fn plan(&self, name: &str) -> Evidence {
        self.world().plan(&id(name))
    }

    fn worktree(&self, name: &str) -> Evidence {
        self.world().worktree(&id(name))
    }

    /// Has git make a worktree called `name` outside the base, and returns where it is.
    fn registered(&self, name: &str) -> PathBuf {
        let path = self.root().join("elsewhere").join(name);
        let shown = path.to_str().expect("plain").to_owned();
        self.git(&["worktree", "add", "-q", "--detach", &shown]);
        path
    }

    fn admin(&self, name: &str) -> PathBuf {
        self.common.join("worktrees").join(name)
    }
}

/// Runs git with nothing of this machine's configuration; it must succeed.
fn git_in<S: AsRef<OsStr> + std::fmt::Debug>(dir: &Path, args: &[S]) -> Output {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.as_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    let output = command
        .current_dir(dir)
        .args(["-c", "user.name=x", "-c", "user.email=x@x.invalid"])
        .args(args)
        .env("HOME", dir)
        .env("XDG_CONFIG_HOME", dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::null())
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {args:?}: {output:?}");
    output
}

fn id(text: &str) -> PlanId {
    PlanId::parse(text).expect("a plan id")
}

fn make_dir(path: &Path) {
    std::fs::create_dir_all(path).expect("a directory");
}

fn make_file(path: &Path, content: &[u8]) {
    use std::io::Write as _;
    make_dir(path.parent().expect("not the root"));
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
        .expect("a file");
    file.write_all(content).expect("written");
}

fn remove_dir(path: &Path) {
    std::fs::remove_dir_all(path).expect("removed");
}

fn link(target: &str, at: &Path) {
    std::os::unix::fs::symlink(target, at).expect("a link");
}

/// Polls until `condition` holds; fails after ten seconds.
fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    let mut backoff = crate::sys::clock::Backoff::new(
        std::time::Duration::from_millis(1),
        std::time::Duration::from_millis(20),
    );
    while !condition() {
        assert!(backoff.pause_until(deadline), "timed out: {what}");
    }
}
