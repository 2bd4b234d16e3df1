//! `git locks man`: shown on a terminal, printed elsewhere, installed where `man` and git find it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use git_locks::manual;

use crate::common::turns::Terminal;
use crate::common::{BIN, DEADLINE, Env, chmod, needs_root, required};
use crate::ground::{path_with_us, source};

/// A user that is neither root nor anybody.
const ANN: u32 = 61_001;

fn committed(name: &str) -> String {
    std::fs::read_to_string(source().join("man").join(format!("{name}.1"))).expect("a page")
}

/// A command in nothing but a home and a `PATH`.
fn bare(env: &Env, program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("HOME", env.path("home"))
        .env("PATH", path_with_us())
        .current_dir(env.root());
    command
}

fn said(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{command:?}: {out}{err}");
    out.into_owned()
}

#[test]
fn a_pipe_gets_text() {
    let env = Env::new();
    for (args, page) in [
        ("man", "git-locks"),
        ("man merge", "git-locks-merge"),
        ("man git-locks-log", "git-locks-log"),
    ] {
        // Neither a repository nor settings that make sense are needed.
        let run = env.locks(env.root(), args).exits(0);
        assert_eq!(run.stdout, manual::page(page).expect("a page").text());
        assert!(run.stderr.is_empty(), "{run:#?}");
    }
}

#[test]
fn a_page_that_is_not_there_is_said_with_those_that_are() {
    let env = Env::new();
    let run = env
        .locks(env.root(), "man ../merge --format json")
        .exits(1)
        .one_line_error();
    assert_eq!(run.text("error_code"), "NOT_FOUND");
    assert!(run.stderr.contains("git-locks-merge, "), "{run:#?}");
    env.locks(env.root(), "man merge --install")
        .exits(2)
        .one_line_error();
}

#[test]
fn a_terminal_gets_man() {
    if !required("man::a_terminal_gets_man", "script") {
        return;
    }
    let env = Env::new();
    let bin = env.mkdir("bin");
    let fake = bin.join("man");
    std::fs::write(
        &fake,
        "#!/bin/sh\nexec >man.log\necho \"$PPID: $*\"\nexec /bin/cat\n",
    )
    .expect("a man");
    chmod(&fake, 0o755);
    let start = |path: &str| {
        Terminal::start(
            &env,
            env.root(),
            &format!("PATH={path}; '{BIN}' man hook; echo \"it is $?\""),
        )
    };
    let mut terminal = start("bin");
    terminal.shows("it is 0");
    terminal.wait(DEADLINE).exits(0);
    let log = std::fs::read_to_string(env.path("man.log")).expect("what man was told");
    let (first, page) = log.split_once('\n').expect("lines");
    assert!(first.ends_with(": -l /dev/stdin"), "{first}");
    assert_eq!(page, committed("git-locks-hook"));
    // Nothing is left behind.
    assert_eq!(std::fs::read_dir(env.path("tmp")).expect("tmp").count(), 0);

    let mut without = start("nothing-here");
    without.shows("it is 0");
    without.wait(DEADLINE).exits(0);
    without.shows("GIT-LOCKS-HOOK(1)");
}

#[test]
fn the_real_man_shows_it() {
    if !required("man::the_real_man_shows_it", "man")
        || !required("man::the_real_man_shows_it", "script")
    {
        return;
    }
    let env = Env::new();
    let line = format!("MANPAGER=cat '{BIN}' man doctor");
    let mut terminal = Terminal::start(&env, env.root(), &line);
    terminal.wait(DEADLINE).exits(0);
    terminal.shows("provably nobody");
    assert!(!terminal.raw().contains(".SH"), "{}", terminal.raw());
}

#[test]
fn installed_it_is_found_by_man_and_git() {
    if !required("man::installed_it_is_found_by_man_and_git", "man") {
        return;
    }
    let env = Env::new();
    let report = said(bare(&env, BIN).args(["--format", "json", "man", "--install"]));
    let report: serde_json::Value = serde_json::from_str(&report).expect("a report");
    let section = env.path("home/.local/share/man/man1");
    assert_eq!(report["status"], "success");
    assert_eq!(report["path"], section.to_str().expect("a path"));
    for name in manual::names() {
        let page = section.join(format!("{name}.1"));
        assert_eq!(
            std::fs::read_to_string(&page).expect("a page"),
            committed(&name)
        );
        let mode = page.metadata().expect("a page").permissions().mode();
        assert_eq!(mode & 0o777, 0o644, "{name}");
    }
    assert_eq!(report["found"], false);
    let hint = report["hint"].as_str().expect("a hint");
    let (_, export) = hint.split_once(": ").expect("a command");

    // What the hint says is enough for man, for `git help locks` and for `git locks --help`.
    let script = |line: &str| format!("{export}; MANPAGER=cat {line}");
    for line in [
        "man git-locks",
        "git help locks",
        "git locks --help",
        "man git-locks-merge",
    ] {
        let shown = said(bare(&env, "sh").args(["-c", &script(line)]));
        assert!(shown.contains("GIT-LOCKS"), "{line}: {shown}");
    }
    let again =
        said(bare(&env, "sh").args(["-c", &script("git-locks man --install --format json")]));
    let again: serde_json::Value = serde_json::from_str(&again).expect("a report");
    assert_eq!((&again["found"], again.get("hint")), (&true.into(), None));
}

#[test]
fn another_that_man_finds_first_is_named() {
    if !required("man::another_that_man_finds_first_is_named", "man") {
        return;
    }
    let env = Env::new();
    said(bare(&env, BIN).args(["man", "--install", "old"]));
    let mut other = bare(&env, BIN);
    other
        .args(["--format", "json", "man", "--install", "new"])
        .env("MANPATH", env.path("old"));
    let report: serde_json::Value = serde_json::from_str(&said(&mut other)).expect("a report");
    assert_eq!(report["found"], false);
    let hint = report["hint"].as_str().expect("a hint");
    assert!(hint.contains("old/man1/git-locks.1"), "{hint}");
}

#[test]
fn what_is_in_the_way_stays_and_nothing_is_installed() {
    let env = Env::new();
    let section = env.mkdir("pages/man1");
    let page = section.join("git-locks-session.1");
    let theirs = env.path("theirs");
    let hindrances: [(&str, &dyn Fn()); 3] = [
        ("is no page of git-locks", &|| {
            std::fs::write(&page, ".TH OTHER 1\n").expect("written");
        }),
        ("is a symbolic link", &|| {
            std::fs::write(&theirs, "theirs").expect("written");
            std::os::unix::fs::symlink(&theirs, &page).expect("linked");
        }),
        ("is a directory", &|| {
            std::fs::create_dir(&page).expect("made");
        }),
    ];
    for (words, hinder) in hindrances {
        hinder();
        let run = env.locks(env.root(), "--format json man --install pages");
        let run = run.exits(128).one_line_error();
        assert!(run.stderr.contains(words), "{run:#?}");
        assert!(run.text("hint").contains("mv "), "{run:#?}");
        assert_eq!(std::fs::read_dir(&section).expect("it").count(), 1);
        std::fs::rename(&page, env.path(words)).expect("still there");
    }
    assert_eq!(std::fs::read_to_string(&theirs).expect("it"), "theirs");
    // An older page of ours gives way.
    let ours = committed("git-locks-session");
    let (first, _) = ours.split_once('\n').expect("lines");
    std::fs::write(&page, format!("{first}\n.TH OLD 1\n")).expect("written");
    env.locks(env.root(), "man --install pages").exits(0);
    assert_eq!(std::fs::read_to_string(&page).expect("it"), ours);
}

#[test]
fn a_home_that_may_not_be_written_is_named_and_stays_as_it_is() {
    // Nothing is forbidden to root itself.
    if !needs_root("man::a_home_that_may_not_be_written_is_named_and_stays_as_it_is") {
        return;
    }
    let env = Env::new();
    let home = env.home_for(ANN, ANN);
    chmod(&home, 0o500);
    let call = env.call(env.root()).args("--format json man --install");
    let run = call.user(&env, ANN, ANN).run().exits(128).one_line_error();
    assert_eq!(run.text("error_code"), "IO");
    let path = home.join(".local");
    assert!(
        run.stderr.contains(path.to_str().expect("a path")),
        "{run:#?}"
    );
    assert!(!path.exists());
    // Elsewhere it can still be put.
    let there = env.mkdir("there");
    std::os::unix::fs::chown(&there, Some(ANN), Some(ANN)).expect("chown");
    let call = env.call(env.root()).args("man --install there");
    call.user(&env, ANN, ANN).run().exits(0);
    assert!(there.join("man1/git-locks-merge.1").is_file());
}

#[test]
fn a_directory_that_cannot_be_typed_is_in_no_command() {
    let env = Env::new();
    let run = env
        .call(env.root())
        .args("--format json man --install")
        .arg("a\nb");
    let hint = run.run().exits(0).text("hint");
    assert!(!hint.contains("MANPATH"), "{hint}");
}

#[test]
fn where_it_goes_can_be_said() {
    let env = Env::new();
    let pages = |dir: &Path| std::fs::read_dir(dir).map_or(0, Iterator::count);
    said(bare(&env, BIN).args(["man", "--install", "my pages"]));
    assert_eq!(pages(&env.path("my pages/man1")), 10);
    said(
        bare(&env, BIN)
            .args(["man", "--install"])
            .env("XDG_DATA_HOME", env.path("data")),
    );
    assert_eq!(pages(&env.path("data/man/man1")), 10);
    // A relative one is none, as the specification of these directories says.
    said(
        bare(&env, BIN)
            .args(["man", "--install"])
            .env("XDG_DATA_HOME", "relative"),
    );
    assert_eq!(pages(&env.path("home/.local/share/man/man1")), 10);
    let nowhere = bare(&env, BIN)
        .args(["man", "--install"])
        .env_remove("HOME")
        .output()
        .expect("it runs");
    assert_eq!(nowhere.status.code(), Some(2));
    std::fs::write(env.path("file"), "").expect("a file");
    let run = env
        .locks(env.root(), "man --install file")
        .exits(128)
        .one_line_error();
    assert!(run.stderr.contains("file"), "{run:#?}");
    // Without a man, nobody knows.
    let run = env
        .call(env.root())
        .args("man --install x --format json")
        .env("PATH", "/nowhere")
        .run()
        .exits(0);
    assert_eq!(run.get("found"), serde_json::Value::Null);
}
