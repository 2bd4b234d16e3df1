//! `make install`: the program, its pages and its completions where systems look for them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bash::BASH_COMPLETION;
use crate::common::fixture::tree;
use crate::common::{BIN, Env, required};
use crate::ground::source;

/// What is installed, below the prefix.
const FILES: [&str; 14] = [
    "bin/git-locks",
    "share/bash-completion/completions/git-locks",
    "share/fish/vendor_conf.d/git-locks.fish",
    "share/man/man1/git-locks-build.1",
    "share/man/man1/git-locks-doctor.1",
    "share/man/man1/git-locks-hook.1",
    "share/man/man1/git-locks-log.1",
    "share/man/man1/git-locks-merge.1",
    "share/man/man1/git-locks-repo.1",
    "share/man/man1/git-locks-session.1",
    "share/man/man1/git-locks-status.1",
    "share/man/man1/git-locks-worktree.1",
    "share/man/man1/git-locks.1",
    "share/zsh/site-functions/_git-locks",
];

/// `make` in nothing but a home and a `PATH`.
fn make(env: &Env, target: &str, settings: &[String]) {
    let mut make = Command::new("make");
    make.env_clear()
        .env("HOME", env.path("home"))
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .current_dir(source())
        .arg(target)
        .arg(format!("BINARY={BIN}"))
        .args(settings);
    let output = make.output().expect("make runs");
    assert!(output.status.success(), "{output:?}");
}

fn files(root: &Path) -> Vec<PathBuf> {
    let all = tree(root)
        .into_iter()
        .map(|(path, _)| path)
        .filter(|path| path.is_file());
    all.map(|path| path.strip_prefix(root).expect("below").to_owned())
        .collect()
}

#[test]
fn all_is_put_in_its_place_and_taken_away_again() {
    if !required(
        "install::all_is_put_in_its_place_and_taken_away_again",
        "make",
    ) {
        return;
    }
    let env = Env::new();
    let stage = env.mkdir("my stage");
    let settings = [
        "PREFIX=/usr".to_owned(),
        format!("DESTDIR={}", stage.display()),
    ];
    make(&env, "install", &settings);
    let expected: Vec<PathBuf> = FILES
        .iter()
        .map(|file| Path::new("usr").join(file))
        .collect();
    assert_eq!(files(&stage), expected);
    for file in &expected {
        let mode = stage
            .join(file)
            .metadata()
            .expect("a file")
            .permissions()
            .mode()
            & 0o777;
        let executable = file.ends_with("bin/git-locks");
        assert_eq!(
            mode,
            if executable { 0o755 } else { 0o644 },
            "{}",
            file.display()
        );
    }
    // What is somebody else's stays.
    let other = stage.join("usr/share/man/man1/other.1");
    std::fs::write(&other, "").expect("a page");
    make(&env, "uninstall", &settings);
    assert_eq!(files(&stage), [PathBuf::from("usr/share/man/man1/other.1")]);
}

#[test]
fn git_finds_what_is_installed() {
    let test = "install::git_finds_what_is_installed";
    if !required(test, "make") || !required(test, "man") {
        return;
    }
    let env = Env::new();
    let prefix = env.mkdir("prefix");
    let settings = [format!("PREFIX={}", prefix.display())];
    make(&env, "install", &settings);
    // Over what an older one has left, too.
    for file in FILES {
        std::fs::write(prefix.join(file), "old").expect("an old file");
    }
    make(&env, "install", &settings);
    let path = std::env::var("PATH").unwrap_or_default();
    let shown = |line: &str| {
        let mut git = Command::new("sh");
        git.env_clear()
            .env("HOME", env.path("home"))
            .env("PATH", format!("{}/bin:{path}", prefix.display()))
            .env("MANPAGER", "cat")
            .env("MANPATH", format!("{}/share/man:", prefix.display()))
            .current_dir(env.root())
            .args(["-c", line]);
        let output = git.output().expect("sh runs");
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(shown("git locks --version").starts_with("git-locks "));
    for (line, title) in [
        ("git help locks", "GIT-LOCKS(1)"),
        ("git locks --help", "GIT-LOCKS(1)"),
        ("man git-locks", "GIT-LOCKS(1)"),
        ("man git-locks-merge", "GIT-LOCKS-MERGE(1)"),
        ("git help git-locks-merge", "GIT-LOCKS-MERGE(1)"),
    ] {
        assert!(shown(line).contains(title), "{line}");
    }
    assert!(shown("git-locks --help").contains("Usage: git locks"));
}

#[test]
fn each_shell_finds_its_completion() {
    let test = "install::each_shell_finds_its_completion";
    if !required(test, "make") {
        return;
    }
    let env = Env::new();
    let prefix = env.mkdir("prefix");
    make(&env, "install", &[format!("PREFIX={}", prefix.display())]);
    let path = std::env::var("PATH").unwrap_or_default();
    let said = |shell: &str, line: &str| {
        let mut command = Command::new(shell);
        command
            .env_clear()
            .env("HOME", env.path("home"))
            .env("PATH", format!("{}/bin:{path}", prefix.display()))
            .env(
                "XDG_DATA_DIRS",
                format!("{}/share:/usr/share", prefix.display()),
            )
            .current_dir(env.root());
        if shell == "zsh" {
            command.arg("-f");
        }
        let output = command.args(["-c", line]).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    if Path::new(BASH_COMPLETION).is_file() && required(test, "bash") {
        let line =
            format!(". {BASH_COMPLETION}; _completion_loader git-locks; declare -F _git_locks");
        assert_eq!(said("bash", &line), "_git_locks\n");
    }
    if required(test, "fish") {
        for line in ["git locks mer", "git-locks mer"] {
            let found = said("fish", &format!("complete -C '{line}'"));
            assert!(found.starts_with("merge\t"), "{line}: {found}");
        }
    }
    if required(test, "zsh") {
        let line = format!(
            "fpath=({}/share/zsh/site-functions $fpath); autoload -U compinit; compinit -u -D; \
             print $_comps[git-locks]",
            prefix.display()
        );
        assert_eq!(said("zsh", &line), "_git-locks\n");
    }
}
