//! Where worktree locks are kept, and where they may not be.

use std::os::unix::fs::{MetadataExt as _, chown, symlink};
use std::path::Path;

use crate::cast::{Ground, Lock, worktree_lock};
use crate::common::fixture::{same_tree, tree};
use crate::common::{Run, chmod, needs_root};

const VERBS: [&str; 3] = ["run --timeout 0", "check", "cleanup"];

/// Every verb of the family, with the lock directory that a variable names.
fn all(ground: &Ground, cwd: &Path, variable: &str, value: &Path) -> Vec<Run> {
    VERBS
        .into_iter()
        .map(|verb| {
            let call = ground.stage.env.call(cwd).env(variable, value);
            let call = call.args("--format json worktree").args(verb);
            if verb.starts_with("run") {
                call.cmd(["echo", "INTRUDER"]).run()
            } else {
                call.run()
            }
        })
        .collect()
}

#[track_caller]
fn refused(runs: Vec<Run>, words: &str) {
    for run in runs {
        assert_eq!(run.code, 128, "{run:#?}");
        assert!(!run.stdout.contains("INTRUDER"), "{run:#?}");
        assert!(run.stderr.contains(words), "no {words:?}: {run:#?}");
        assert!(run.stderr.contains("CRUCIBLE_LOCK_DIR"), "{run:#?}");
    }
}

#[test]
fn by_default_it_is_outside_the_worktree() {
    let ground = Ground::new(Lock::Worktree);
    ground.run("", "exit 0").exits(0);
    let file = ground.file();
    assert!(file.is_file() && !file.starts_with(&ground.stage.repo));
    assert_eq!(ground.check().text("lock_path"), file.to_string_lossy());
    let mode = ground.lock_dir().metadata().expect("it").mode();
    assert_eq!(mode & 0o777, 0o700, "{mode:o}");
}

#[test]
fn inside_the_worktree_it_is_refused() {
    let ground = Ground::new(Lock::Worktree);
    let repo = ground.stage.repo.clone();
    let deep = ground.stage.env.mkdir("repo/deep");
    symlink("repo", ground.stage.env.path("alias")).expect("symlink");
    let before = tree(&repo);
    let absolute = [
        repo.clone(),
        repo.join("locks"),
        repo.join("a/b/c"),
        repo.join(".git/locks"),
        ground.stage.env.path("alias/locks"),
        ground.stage.env.path("home/../repo/locks"),
    ];
    for dir in absolute {
        refused(
            all(&ground, &repo, "CRUCIBLE_LOCK_DIR", &dir),
            "inside the worktree",
        );
    }
    for dir in ["locks", ".", "..", "../repo/locks", "./x"] {
        refused(
            all(&ground, &deep, "CRUCIBLE_LOCK_DIR", Path::new(dir)),
            "inside the worktree",
        );
    }
    same_tree(&before, &tree(&repo));
}

#[test]
fn a_temporary_directory_inside_the_worktree_is_refused_too() {
    let ground = Ground::new(Lock::Worktree);
    let inside = ground.stage.env.mkdir("repo/tmp");
    refused(
        all(&ground, &ground.stage.repo, "TMPDIR", &inside),
        "inside the worktree",
    );
}

#[test]
fn outside_it_is_used() {
    let ground = Ground::new(Lock::Worktree);
    let repo = ground.stage.repo.clone();
    let there = ground.stage.env.mkdir("there");
    symlink("there", ground.stage.env.path("link")).expect("symlink");
    let used = [
        (there.clone(), there.clone()),
        (
            ground.stage.env.path("new/one"),
            ground.stage.env.path("new/one"),
        ),
        (ground.stage.env.path("link"), there.clone()),
        ("../there".into(), there.clone()),
        (
            ground.stage.env.path("repo-locks"),
            ground.stage.env.path("repo-locks"),
        ),
    ];
    for (named, real) in used {
        let runs = all(&ground, &repo, "CRUCIBLE_LOCK_DIR", &named);
        for run in runs {
            run.exits(0);
        }
        let file = worktree_lock(&real, &repo);
        assert!(file.is_file(), "{}", named.display());
        std::fs::remove_file(file).expect("removed");
    }
    // Set to nothing is not set.
    all(&ground, &repo, "CRUCIBLE_LOCK_DIR", Path::new(""));
    assert!(ground.file().is_file());
}

#[test]
fn names_that_lead_to_one_directory_are_one_lock() {
    let ground = Ground::new(Lock::Worktree);
    ground.stage.env.mkdir("there");
    symlink("there", ground.stage.env.path("link")).expect("symlink");
    let held = ground.stage.env.call(&ground.stage.repo);
    let held = held
        .env("CRUCIBLE_LOCK_DIR", "../there")
        .args("worktree run");
    let _held = held.cmd(ground.stage.script("log begin; hold me")).start();
    ground.stage.noted("begin");
    let other = ground.stage.env.call(&ground.stage.repo);
    let other = other.env("CRUCIBLE_LOCK_DIR", ground.stage.env.path("link"));
    other
        .args("worktree run --timeout 0")
        .cmd(["true"])
        .run()
        .exits(75);
}

#[test]
fn the_first_usable_temporary_directory_counts() {
    let ground = Ground::new(Lock::Worktree);
    let repo = &ground.stage.repo;
    let (a, b) = (ground.stage.env.mkdir("a"), ground.stage.env.mkdir("b"));
    let missing = ground.stage.env.path("missing");
    let path = |names: [(&str, Option<&Path>); 3]| {
        let mut call = ground
            .stage
            .env
            .call(repo)
            .args("--format json worktree check");
        for (name, value) in names {
            call = match value {
                Some(value) => call.env(name, value),
                None => call.without(name),
            };
        }
        call.run().exits(0).text("lock_path")
    };
    let in_dir = |dir: &Path| {
        worktree_lock(&dir.join("crucible-locks"), repo)
            .to_string_lossy()
            .into_owned()
    };
    let (a_, b_, none) = (Some(&*a), Some(&*b), Some(&*missing));
    assert_eq!(
        path([("TMPDIR", a_), ("TEMP", b_), ("TMP", None)]),
        in_dir(&a)
    );
    assert_eq!(
        path([("TMPDIR", none), ("TEMP", b_), ("TMP", a_)]),
        in_dir(&b)
    );
    assert_eq!(
        path([("TMPDIR", None), ("TEMP", none), ("TMP", a_)]),
        in_dir(&a)
    );
    assert_eq!(
        path([
            ("TMPDIR", Some(Path::new("../b"))),
            ("TEMP", a_),
            ("TMP", None)
        ]),
        in_dir(&b)
    );
    symlink("b", ground.stage.env.path("link")).expect("symlink");
    let link = ground.stage.env.path("link");
    assert_eq!(
        path([("TMPDIR", Some(&link)), ("TEMP", None), ("TMP", None)]),
        in_dir(&b)
    );
}

#[test]
fn python_finds_the_same_place() {
    if !crate::common::required("lock_dir::python_finds_the_same_place", "python3") {
        return;
    }
    let ground = Ground::new(Lock::Worktree);
    let program = r#"
import hashlib, os, tempfile, sys
from pathlib import Path
name = hashlib.sha256(os.fsencode(Path(sys.argv[1]).resolve())).hexdigest()[:32]
print((Path(tempfile.gettempdir()) / "crucible-locks" / (name + ".lock")).resolve())
"#;
    let repo = &ground.stage.repo;
    symlink("repo", ground.stage.env.path("alias")).expect("symlink");
    for (temporary, tree) in [("tmp", "repo"), ("missing", "alias"), ("home", "alias")] {
        let temporary = ground.stage.env.path(temporary);
        let mut python = crate::cast::python(&ground.stage, program);
        python.arg(ground.stage.env.path(tree));
        python
            .env("TMPDIR", &temporary)
            .env("TMP", ground.stage.env.path("home"));
        let output = python.output().expect("python");
        let expected = String::from_utf8(output.stdout).expect("UTF-8");
        let call = ground
            .stage
            .env
            .call(repo)
            .args("--format json worktree check");
        let call = call
            .env("TMPDIR", &temporary)
            .env("TMP", ground.stage.env.path("home"));
        assert_eq!(call.run().exits(0).text("lock_path"), expected.trim_end());
    }
}

#[test]
fn in_a_shared_temporary_directory_it_must_be_ours() {
    let ground = Ground::new(Lock::Worktree);
    let repo = ground.stage.repo.clone();
    let shared = ground.stage.env.mkdir("shared");
    let dir = shared.join("crucible-locks");
    let run = |words: &str| refused(all(&ground, &repo, "TMPDIR", &shared), words);
    chmod(&shared, 0o1777);
    for run in all(&ground, &repo, "TMPDIR", &shared) {
        run.exits(0);
    }
    for mode in [0o770, 0o707, 0o1777] {
        chmod(&dir, mode);
        run("changed by others");
    }
    chmod(&dir, 0o700);
    chmod(&shared, 0o777);
    run("everybody may rename");
    chmod(&shared, 0o1777);
    std::fs::rename(&dir, ground.stage.env.path("aside")).expect("moved");
    symlink(ground.stage.env.path("aside"), &dir).expect("symlink");
    run("symbolic link");
    std::fs::remove_file(&dir).expect("removed");
    std::fs::write(&dir, "").expect("a file");
    run("not a directory");
}

#[test]
fn one_of_another_user_is_refused() {
    if !needs_root("lock_dir::one_of_another_user_is_refused") {
        return;
    }
    let ground = Ground::new(Lock::Worktree);
    let repo = ground.stage.repo.clone();
    let shared = ground.stage.env.mkdir("shared");
    chmod(&shared, 0o1777);
    let dir = ground.stage.env.mkdir("shared/crucible-locks");
    chmod(&dir, 0o755);
    chown(&dir, Some(12345), None).expect("chown");
    refused(all(&ground, &repo, "TMPDIR", &shared), "belongs to");
    // Named, it is what somebody wants.
    for run in all(&ground, &repo, "CRUCIBLE_LOCK_DIR", &dir) {
        run.exits(0);
    }
}
