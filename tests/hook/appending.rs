//! Adding the gate to a hook that is there, which goes on doing what it did.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::cast::{Field, says, script};
use crate::common::fixture::{holder, same_tree, tree};
use crate::common::{can_run, chmod};

/// A hook that notes what it is given, under this interpreter.
fn noting(field: &Field, shebang: &str) -> String {
    let at = field.env.path("noted");
    let at = at.display();
    format!("{shebang}\nset -eu\ncat >'{at}'\necho \"$# $1 $2\" >>'{at}'\nexit 0\n")
}

fn noted(field: &Field) -> String {
    std::fs::read_to_string(field.env.path("noted")).unwrap_or_default()
}

#[test]
fn the_gate_goes_before_what_the_hook_does() {
    let field = Field::bare();
    script(&field.file(), &noting(&field, "#!/bin/sh"));
    let before = tree(&field.repo);
    let added = [("action", json!("added"))];
    field.install("--append").exits(0).says(&added);
    let again = [("action", json!("noop"))];
    field.install("").exits(0).says(&again);
    field.push(&field.repo, "main").exits(0);
    let id = field.env.git(&field.repo, "rev-parse HEAD");
    let id = id.trim();
    let zeros = "0".repeat(id.len());
    assert_eq!(
        noted(&field),
        format!("refs/heads/main {id} refs/heads/main {zeros}\n2 far ../far.git\n")
    );
    assert_eq!(field.holder().as_deref(), Some("main-checkout"));
    field.is_to_be_had();
    let updated = [("action", json!("updated"))];
    field.install("--require").exits(0).says(&updated);
    std::fs::remove_file(field.env.path("noted")).expect("removed");
    let ended = field.push(&field.repo, "main:master").exits(1);
    says(&ended, "must hold the merge lock");
    assert_eq!(noted(&field), "", "a refusal ends the hook");
    field.uninstall().exits(0);
    let hooks = |tree: Vec<(std::path::PathBuf, Vec<u8>)>| -> Vec<_> {
        let hooks = field.repo.join(".git/hooks");
        tree.into_iter()
            .filter(|(path, _)| path.starts_with(&hooks))
            .collect()
    };
    same_tree(&hooks(before), &hooks(tree(&field.repo)));
}

#[test]
fn every_shell_keeps_what_git_says() {
    for shell in ["sh", "bash", "dash", "ksh", "mksh", "zsh"] {
        let name = format!("every_shell_keeps_what_git_says ({shell})");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).any(|dir| dir.join(shell).is_file());
        // One of them is enough to tell; all are there where all tests must run.
        if !found && shell != "sh" {
            let rare = ["ksh", "mksh"].contains(&shell);
            let _ = rare || can_run(&name, false, &format!("needs {shell}"));
            continue;
        }
        let field = Field::bare();
        let hook = noting(&field, &format!("#!/usr/bin/env {shell}"));
        script(&field.file(), &hook);
        field.install("--append --protect none").exits(0);
        // More than a pipe holds.
        let line = |number: usize| format!("create refs/heads/crowd/{number} HEAD\n");
        let refs = (0..1500).map(line).collect::<Vec<_>>().concat();
        let list = field.env.path("refs");
        std::fs::write(&list, refs).expect("a list");
        let mut update = field.git(&field.repo, "update-ref --stdin");
        update.stdin(std::fs::File::open(&list).expect("the list"));
        assert!(update.status().expect("git").success());
        field.push(&field.repo, "--all --dry-run").exits(0);
        let text = noted(&field);
        assert_eq!(text.lines().count(), 1502, "{shell}");
        assert!(text.lines().all(|line| !line.is_empty()), "{shell}");
        // Nothing is nothing, not an empty line.
        field.push(&field.repo, "main").exits(0);
        field.push(&field.repo, "main").exits(0);
        assert_eq!(noted(&field), "2 far ../far.git\n", "{shell}");
        field.uninstall().exits(0);
        assert_eq!(std::fs::read_to_string(field.file()).ok(), Some(hook));
    }
}

#[test]
fn whatever_it_was_it_is_again() {
    let field = Field::bare();
    for (text, mode) in [
        ("#!/bin/sh\n", 0o755),
        ("#!/bin/sh", 0o700),
        ("#!/bin/sh -e\n\n\nexit 1", 0o775),
        ("#!/bin/bash\r\n", 0o755),
        ("#!/usr/bin/env -S zsh -f\n# \u{1b}\n", 0o711),
    ] {
        script(&field.file(), text);
        chmod(&field.file(), mode);
        let run = field.install("--append");
        if text.contains('\r') {
            run.exits(1).says(&[("reason", json!("cannot_append"))]);
            continue;
        }
        run.exits(0).says(&[("action", json!("added"))]);
        field.install("--protect x --require").exits(0);
        field.uninstall().exits(0);
        let now = std::fs::read_to_string(field.file()).expect("the hook");
        assert_eq!(now, text);
        let metadata = field.file().metadata().expect("the hook");
        assert_eq!(metadata.permissions().mode() & 0o7777, mode, "{text:?}");
    }
}

#[test]
fn a_bare_shebang_without_a_newline_works_with_the_gate() {
    let field = Field::bare();
    script(&field.file(), "#!/bin/sh");
    field.install("--append --require").exits(0);
    says(
        &field.push(&field.repo, "main").exits(1),
        "must hold the merge lock",
    );
    field.push(&field.repo, "main:other").exits(0);
}

#[test]
fn what_cannot_bear_the_lines_is_left_alone() {
    let field = Field::bare();
    for (text, mode) in [
        ("#!/usr/bin/python3\npass\n", 0o755),
        ("no shebang\n", 0o755),
        ("", 0o755),
        ("#!/bin/sh\nexit 1\n", 0o644),
    ] {
        script(&field.file(), text);
        chmod(&field.file(), mode);
        let before = tree(&field.repo);
        let run = field.install("--append --protect main").exits(1);
        run.says(&[
            ("status", json!("refused")),
            ("reason", json!("cannot_append")),
            (
                "line",
                json!("git-locks hook pre-push --protect=main -- \"$@\""),
            ),
        ]);
        same_tree(&before, &tree(&field.repo));
    }
}

#[test]
fn a_hook_that_fails_after_the_gate_leaves_the_lock_free() {
    let field = Field::bare();
    script(&field.file(), "#!/bin/sh\nexit 3\n");
    field.install("--append").exits(0);
    field.push(&field.repo, "main").exits(1);
    assert!(holder(&field.repo).is_some(), "it was taken");
    field.is_to_be_had();
}
