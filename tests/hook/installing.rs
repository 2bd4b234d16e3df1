//! Installing the hook, again and otherwise, and taking it away.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::cast::{Field, script};
use crate::common::chmod;
use crate::common::fixture::{same_tree, tree};

fn mode(field: &Field) -> u32 {
    let metadata = field.file().metadata().expect("the hook");
    metadata.permissions().mode() & 0o7777
}

#[test]
fn installed_and_taken_away() {
    let field = Field::bare();
    let before = tree(&field.repo);
    let run = field.install("--protect main --protect release/*").exits(0);
    let path = json!(field.file().to_str());
    run.fields("status action hook hook_path protect require hint")
        .says(&[
            ("status", json!("success")),
            ("action", json!("installed")),
            ("hook", json!("pre-push")),
            ("hook_path", path.clone()),
            ("protect", json!(["main", "release/*"])),
            ("require", json!(false)),
        ]);
    assert_eq!(mode(&field), 0o755);
    let run = field.uninstall().exits(0);
    run.fields("status action hook hook_path")
        .says(&[("action", json!("removed")), ("hook_path", path)]);
    same_tree(&before, &tree(&field.repo));
    let run = field.uninstall().exits(0);
    run.says(&[
        ("action", json!("noop")),
        ("message", json!("there is no hook")),
    ]);
}

#[test]
fn installed_again() {
    let field = Field::gated("");
    let first = std::fs::read(field.file()).expect("the hook");
    field
        .install("")
        .exits(0)
        .says(&[("action", json!("noop"))]);
    assert_eq!(std::fs::read(field.file()).ok(), Some(first.clone()));
    let run = field.install("--require --protect main").exits(0);
    run.says(&[
        ("action", json!("updated")),
        ("protect", json!(["main"])),
        ("require", json!(true)),
    ]);
    assert_ne!(std::fs::read(field.file()).ok(), Some(first.clone()));
    field.install("pre-push").exits(0);
    assert_eq!(std::fs::read(field.file()).ok(), Some(first));
    field.uninstall().exits(0);
    assert!(!field.file().exists());
}

#[test]
fn a_hook_of_ours_that_lost_its_mode_gets_it_back() {
    let field = Field::gated("");
    chmod(&field.file(), 0o644);
    field
        .install("")
        .exits(0)
        .says(&[("action", json!("updated"))]);
    assert_eq!(mode(&field), 0o755);
}

#[test]
fn a_pattern_that_makes_no_sense_is_refused() {
    let field = Field::bare();
    for pattern in ["a?", "", "a b", "-x"] {
        let call = field.hook(&field.repo, "install");
        let run = call.arg(format!("--protect={pattern}")).run().exits(2);
        assert!(run.stderr.contains("matches no branch"), "{run:#?}");
    }
    assert!(!field.file().exists());
}

#[test]
fn odd_patterns_reach_the_gate_as_they_are() {
    let field = Field::bare();
    let odd = [
        "it's", "$HOME", "a`id`", "a;b", "a\"b", "grün", "a*", "a$(id)", "a|b&c",
    ];
    let mut call = field.hook(&field.repo, "install --require");
    for pattern in odd {
        call = call.arg(format!("--protect={pattern}"));
    }
    call.run().exits(0);
    for name in odd {
        let mut command = field.git(&field.repo, "push far");
        command.arg(format!("HEAD:refs/heads/{}", name.replace('*', "-x")));
        let ended = crate::cast::finish(command).exits(1);
        crate::cast::says(&ended, "must hold the merge lock");
    }
    field.push(&field.repo, "HEAD:b").exits(0);
}

#[test]
fn another_hook_stays_as_it_is() {
    let field = Field::bare();
    for (text, executable) in [
        ("#!/bin/sh\nexit 0\n", true),
        ("#!/bin/sh\nexit 0\n", false),
        ("#!/usr/bin/python3\npass\n", true),
        ("", true),
    ] {
        script(&field.file(), text);
        chmod(&field.file(), if executable { 0o755 } else { 0o644 });
        let before = tree(&field.repo);
        let run = field.install("--protect main").exits(1);
        run.says(&[
            ("status", json!("refused")),
            ("reason", json!("another_hook")),
            (
                "line",
                json!("git-locks hook pre-push --protect=main -- \"$@\""),
            ),
            (
                "hint",
                json!(
                    "To put the gate before what it does: \
                     git locks hook install --protect=main --append"
                ),
            ),
        ]);
        let run = field.uninstall().exits(0);
        run.says(&[("action", json!("noop"))]);
        same_tree(&before, &tree(&field.repo));
    }
}

#[test]
fn what_is_no_file_is_never_written_through() {
    let field = Field::bare();
    let target = field.repo.join("elsewhere");
    script(&target, "#!/bin/sh\nexit 0\n");
    std::fs::create_dir_all(field.repo.join(".git/hooks")).expect("hooks");
    std::os::unix::fs::symlink(&target, field.file()).expect("a symlink");
    let before = tree(&field.repo);
    let refused = [("reason", json!("another_hook"))];
    field.install("").exits(1).says(&refused);
    let refused = [("reason", json!("cannot_append"))];
    field.install("--append").exits(1).says(&refused);
    field.uninstall().exits(0);
    same_tree(&before, &tree(&field.repo));
    std::fs::remove_file(field.file()).expect("removed");
    std::fs::create_dir(field.file()).expect("a directory");
    field.install("--append").exits(1);
    assert!(field.file().is_dir());
}

#[test]
fn lines_that_somebody_changed_are_left_alone() {
    let field = Field::gated("");
    let text = std::fs::read_to_string(field.file()).expect("the hook");
    let edited = text.replace("exit $?", "exit 0");
    assert_ne!(text, edited);
    std::fs::write(field.file(), &edited).expect("the hook");
    let last = edited.lines().count();
    let expected = format!("Delete them by hand (lines 2 to {last}), then try again.");
    for run in [field.uninstall(), field.install("--append")] {
        run.exits(1)
            .says(&[("reason", json!("changed")), ("hint", json!(expected))]);
    }
    assert_eq!(std::fs::read_to_string(field.file()).ok(), Some(edited));
}

#[test]
fn what_others_wrote_into_our_hook_stays() {
    let field = Field::gated("");
    let text = std::fs::read_to_string(field.file()).expect("the hook");
    std::fs::write(field.file(), format!("{text}echo theirs\n")).expect("the hook");
    field.uninstall().exits(0);
    let rest = std::fs::read_to_string(field.file()).expect("the hook");
    assert_eq!(rest, "#!/bin/sh\necho theirs\n");
    assert_eq!(mode(&field), 0o755);
}

#[test]
fn what_people_are_told() {
    let field = Field::bare();
    let human = |words: &str| {
        let call = field.env.call(&field.repo).args("--format human hook");
        call.args(words).run()
    };
    let path = field.file();
    let path = path.display();
    assert_eq!(
        human("install").exits(0).stdout,
        format!(
            "Installed: pushes to the remote's default branch (else main and master) take the merge \
             lock ({path})\nTo take it away: git locks hook uninstall\n"
        )
    );
    assert_eq!(
        human("uninstall").exits(0).stdout,
        format!("Removed: pushes ask for no lock any more ({path})\n")
    );
    script(&field.file(), "#!/bin/sh\n");
    assert_eq!(
        human("install --require").exits(1).stdout,
        format!(
            "Refused: there is another hook already: {path}.\n\
             To put the gate before what it does: git locks hook install --require --append\n\
             Or have it run this with what git says on standard input, and end when it fails:\n  \
             git-locks hook pre-push --require -- \"$@\"\n"
        )
    );
}
