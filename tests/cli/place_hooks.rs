//! The same lock file from inside every kind of hook, where git sets variables of its own.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::fixture::{lock_file, worktree};
use crate::common::{BIN, Env, chmod};

/// A hook that acquires as `in-hook` and then looks without an identity.
struct Hook<'env> {
    env: &'env Env,
    acquired: PathBuf,
    seen: PathBuf,
}

impl<'env> Hook<'env> {
    /// Installs the hook `name` into the git directory `git`.
    fn install(env: &'env Env, git: &Path, name: &str) -> Self {
        let (acquired, seen) = (env.path("acquired.json"), env.path("seen.json"));
        let script = format!(
            "#!/bin/sh\n'{BIN}' --format json merge acquire --as in-hook >'{}' 2>'{}' || exit 1\n\
             '{BIN}' --format json merge check >'{}'\n",
            acquired.display(),
            env.path("hook-errors").display(),
            seen.display()
        );
        let file = git.join("hooks").join(name);
        std::fs::create_dir_all(git.join("hooks")).expect("hooks");
        std::fs::write(&file, script).expect("a hook");
        chmod(&file, 0o755);
        Self {
            env,
            acquired,
            seen,
        }
    }

    /// Fails the test unless the hook ran once, took the lock at `lock`, and those at `outside`
    /// see it. The hook's own checkout must have been called `caller`.
    #[track_caller]
    fn took(&self, lock: &Path, outside: &[&Path], caller: Option<&str>) {
        let report = |file: &Path| -> Value {
            let text = std::fs::read_to_string(file).expect("the hook ran");
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
        };
        let (acquired, seen) = (report(&self.acquired), report(&self.seen));
        assert_eq!(acquired["admission"], json!("admitted"), "{acquired}");
        assert_eq!(acquired["lock_path"], json!(lock.to_str()));
        assert_eq!(seen["holder_plan_id"], json!("in-hook"));
        if let Some(caller) = caller {
            assert_eq!(seen["plan_id"], json!(caller));
        }
        assert_eq!(
            std::fs::read_to_string(lock).ok().as_deref(),
            Some("in-hook\n")
        );
        for place in outside {
            self.env.merge(place, "check --as looker").exits(0).says(&[
                ("holder_plan_id", json!("in-hook")),
                ("staleness", json!("fresh")),
                ("lock_path", json!(lock.to_str())),
            ]);
        }
        self.env.merge(outside[0], "release --as in-hook").exits(0);
        assert!(!lock.exists());
        for file in [&self.acquired, &self.seen] {
            std::fs::remove_file(file).expect("what the hook wrote");
        }
    }
}

fn edit(dir: &Path, text: &str) {
    std::fs::write(dir.join("file"), text).expect("a change");
}

#[test]
fn pre_commit_plain_all_and_partial() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    let hook = Hook::install(&env, &repo.join(".git"), "pre-commit");
    for (dir, caller) in [(&repo, "main-checkout"), (&linked, "linked")] {
        edit(dir, "plain");
        env.git(dir, "add file");
        env.git(dir, "commit -q -m plain");
        hook.took(&lock_file(&repo), &[&repo, &linked], Some(caller));
        edit(dir, "all");
        env.git(dir, "commit -q -a -m all");
        hook.took(&lock_file(&repo), &[&repo, &linked], Some(caller));
        edit(dir, "partial");
        env.git(dir, "commit -q -m partial file");
        hook.took(&lock_file(&repo), &[&repo, &linked], Some(caller));
    }
}

#[test]
fn pre_commit_below_a_subdirectory() {
    let env = Env::new();
    let repo = env.init("repo");
    let sub = env.mkdir("repo/sub");
    let hook = Hook::install(&env, &repo.join(".git"), "pre-commit");
    edit(&repo, "more");
    env.git(&sub, "commit -q -a -m more");
    hook.took(&lock_file(&repo), &[&repo, &sub], Some("main-checkout"));
}

#[test]
fn pre_push() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    env.git(env.root(), "init -q --bare far.git");
    env.git(&repo, "remote add far ../far.git");
    let hook = Hook::install(&env, &repo.join(".git"), "pre-push");
    env.git(&repo, "push -q far HEAD:refs/heads/one");
    hook.took(&lock_file(&repo), &[&repo, &linked], Some("main-checkout"));
    env.git(&linked, "push -q far HEAD:refs/heads/two");
    hook.took(&lock_file(&repo), &[&repo, &linked], Some("linked"));
}

#[test]
fn post_merge() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    env.git(&linked, "checkout -q -b feature");
    env.commit(&linked, "feature");
    let hook = Hook::install(&env, &repo.join(".git"), "post-merge");
    env.git(&repo, "merge -q --no-ff -m merge feature");
    hook.took(&lock_file(&repo), &[&repo, &linked], Some("main-checkout"));
    env.git(&linked, "merge -q --ff-only main");
    hook.took(&lock_file(&repo), &[&repo, &linked], Some("linked"));
}

#[test]
fn post_checkout_while_a_worktree_is_added() {
    let env = Env::new();
    let repo = env.init("repo");
    let hook = Hook::install(&env, &repo.join(".git"), "post-checkout");
    let linked = worktree(&env, &repo, "linked");
    hook.took(&lock_file(&repo), &[&repo, &linked], Some("linked"));
}

#[test]
fn pre_receive_in_a_bare_repository() {
    let env = Env::new();
    let repo = env.init("repo");
    env.git(env.root(), "clone -q --bare repo far.git");
    let far = env.path("far.git");
    let linked = worktree(&env, &far, "linked");
    let hook = Hook::install(&env, &far, "pre-receive");
    env.commit(&repo, "file");
    env.git(&repo, "push -q ../far.git HEAD:refs/heads/new");
    hook.took(&far.join("git-locks/merge.lock"), &[&far, &linked], None);
}

#[test]
fn pre_receive_in_a_checked_out_repository() {
    let env = Env::new();
    let repo = env.init("repo");
    env.git(env.root(), "clone -q repo clone");
    let hook = Hook::install(&env, &repo.join(".git"), "pre-receive");
    env.commit(&env.path("clone"), "file");
    env.git(&env.path("clone"), "push -q origin HEAD:refs/heads/new");
    hook.took(&lock_file(&repo), &[&repo], None);
}

#[test]
fn pre_commit_in_a_submodule() {
    let env = Env::new();
    env.init("library");
    let above = env.init("above");
    env.git(
        &above,
        "-c protocol.file.allow=always submodule --quiet add ../library lib",
    );
    let module = above.join("lib");
    let hook = Hook::install(&env, &above.join(".git/modules/lib"), "pre-commit");
    edit(&module, "more");
    env.git(&module, "commit -q -a -m more");
    hook.took(&lock_file(&module), &[&module], None);
}

#[test]
fn an_alias_and_an_external_command() {
    let env = Env::new();
    let repo = env.init("repo");
    let sub = env.mkdir("repo/sub");
    let bin = env.mkdir("bin");
    std::os::unix::fs::symlink(BIN, bin.join("git-locks")).expect("a symlink");
    let path = format!(
        "{}:{}",
        bin.display(),
        std::env::var("PATH").expect("a PATH")
    );
    env.git(&repo, "config alias.turn !git-locks");
    for (verb, args) in [
        ("acquire", ["locks", "merge"]),
        ("release", ["turn", "merge"]),
    ] {
        let output = env
            .command("git")
            .env("PATH", &path)
            .current_dir(&sub)
            .args(args)
            .args([verb, "--as", "a", "--format", "json"])
            .output()
            .expect("git runs");
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
        assert_eq!(report["lock_path"], json!(lock_file(&repo).to_str()));
    }
}
