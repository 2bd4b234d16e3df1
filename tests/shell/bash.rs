//! bash: through git's own completion and by itself, with bash-completion and without.

use std::path::{Path, PathBuf};

use crate::common::{Env, can_run, required};
use crate::ground::{Ground, path_with_us, source};

/// Where systems keep git's completion of bash.
const OF_GIT: [&str; 4] = [
    "/usr/share/bash-completion/completions/git",
    "/usr/local/share/bash-completion/completions/git",
    "/opt/homebrew/etc/bash_completion.d/git-completion.bash",
    "/usr/share/doc/git/contrib/completion/git-completion.bash",
];
pub const BASH_COMPLETION: &str = "/usr/share/bash-completion/bash_completion";

/// What is about somebody who is nowhere outside of a repository.
pub const NOTHING: [&str; 3] = [
    "merge acquire --as ",
    "hook install --protect ",
    "session check --session-id ",
];

/// What offers what for the words of a line: as bash itself calls it.
const DRIVER: &str = r#"
offer() {
    local function=$1
    COMP_LINE=$2 COMP_POINT=${#2}
    shift 2
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    "$function" "$1" "${!#}" "${@: -2:1}"
    printf '%s\n' "${COMPREPLY[@]}"
}
"#;

pub fn of_git() -> Option<PathBuf> {
    OF_GIT.iter().map(PathBuf::from).find(|path| path.is_file())
}

fn possible(test: &str) -> bool {
    required(test, "bash") && can_run(test, of_git().is_some(), "needs git's completion of bash")
}

/// How the completions are loaded.
fn setup(bash_completion: bool) -> String {
    let git = of_git().expect("git's completion");
    let ours = source().join("completions/git-locks.bash");
    if bash_completion {
        // Both are found by themselves.
        format!(". {BASH_COMPLETION}; _completion_loader git; {DRIVER}")
    } else {
        format!(". '{}'; . '{}'; {DRIVER}", git.display(), ours.display())
    }
}

/// The words that bash splits `line` into.
fn pieces(line: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    for word in line.split(' ') {
        let mut piece = String::new();
        for c in word.chars() {
            if "=:".contains(c) {
                if !piece.is_empty() {
                    pieces.push(std::mem::take(&mut piece));
                }
                pieces.push(c.to_string());
            } else {
                piece.push(c);
            }
        }
        if !piece.is_empty() || word.is_empty() {
            pieces.push(piece);
        }
    }
    pieces
}

/// What is offered for `line`.
fn offered(env: &Env, dir: &Path, setup: &str, line: &str) -> Vec<String> {
    let function = if line.starts_with("git ") {
        "__git_wrap__git_main"
    } else {
        "__git_locks_main"
    };
    let data = env.mkdir("home/.local/share/bash-completion/completions");
    std::fs::copy(
        source().join("completions/git-locks.bash"),
        data.join("git-locks"),
    )
    .expect("a copy");
    let load = "declare -F __git_locks_main >/dev/null || _completion_loader git-locks";
    let load = if function == "__git_locks_main" {
        load
    } else {
        ""
    };
    let mut bash = env.command("bash");
    bash.current_dir(dir).env("PATH", path_with_us());
    bash.args(["--norc", "--noprofile", "-c"]);
    bash.arg(format!("{setup}\n{load}\noffer \"$@\""))
        .args(["bash", function, line])
        .args(pieces(line));
    let output = bash.output().expect("bash runs");
    assert!(output.stderr.is_empty(), "{line}: {output:?}");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    said.lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

#[track_caller]
fn offers(ground: &Ground, setup: &str, line: &str, expected: &[&str]) {
    let found = offered(&ground.env, &ground.repo, setup, line);
    assert_eq!(found, expected, "{line:?}");
}

fn everything(ground: &Ground, setup: &str) {
    for program in ["git locks", "git-locks"] {
        let offers = |line: &str, expected: &[&str]| {
            offers(ground, setup, &format!("{program} {line}"), expected);
        };
        offers("mer", &["merge "]);
        offers("merge re", &["release ", "renew "]);
        offers("merge acquire --no-w", &["--no-wait "]);
        offers("merge acquire --as ", &["alpha ", "beta "]);
        offers("merge acquire --as=b", &["beta "]);
        offers("merge check --format=j", &["json "]);
        offers("merge check --color ne", &["never "]);
        offers("session heartbeat --session-id ", &["s-1 "]);
        offers("man git-locks-w", &["git-locks-worktree "]);
        // After a colon, only what follows it is replaced.
        let entry = ground.entry();
        let (plan, uuid) = entry.split_once(':').expect("an entry");
        offers(
            &format!("build release --id {plan}"),
            &[&format!("{entry} ")],
        );
        offers(
            &format!("build release --id {plan}:{}", &uuid[..4]),
            &[&format!("{uuid} ")],
        );
    }
    offers(ground, setup, "git locks-is-not merge acquire --as ", &[]);
}

#[test]
fn through_gits_completion_and_by_itself() {
    let test = "bash::through_gits_completion_and_by_itself";
    if possible(test) {
        everything(&Ground::new(), &setup(false));
    }
}

#[test]
fn found_by_bash_completion() {
    let test = "bash::found_by_bash_completion";
    let there = Path::new(BASH_COMPLETION).is_file();
    if possible(test) && can_run(test, there, "needs bash-completion") {
        everything(&Ground::new(), &setup(true));
    }
}

#[test]
fn without_any_other_completion() {
    if !required("bash::without_any_other_completion", "bash") {
        return;
    }
    let ground = Ground::new();
    let setup = format!(
        ". '{}'; {DRIVER}",
        source().join("completions/git-locks.bash").display()
    );
    offers(&ground, &setup, "git-locks mer", &["merge "]);
    offers(
        &ground,
        &setup,
        "git-locks merge check --format=j",
        &["json "],
    );
    let entry = ground.entry();
    let (plan, uuid) = entry.split_once(':').expect("an entry");
    let line = format!("git-locks build release --id {plan}:{}", &uuid[..4]);
    offers(&ground, &setup, &line, &[&format!("{uuid} ")]);
    let commands = offered(
        &ground.env,
        &ground.repo,
        &setup,
        "git-locks merge run -- git-lo",
    );
    assert_eq!(commands, ["git-locks "]);
}

#[test]
fn gits_own_options_count() {
    if !possible("bash::gits_own_options_count") {
        return;
    }
    let ground = Ground::new();
    let (env, setup) = (&ground.env, setup(false));
    for line in [
        "git -C repo locks merge acquire --as a",
        "git --git-dir repo/.git locks merge acquire --as a",
    ] {
        assert_eq!(offered(env, env.root(), &setup, line), ["alpha "], "{line}");
    }
    assert!(offered(env, env.root(), &setup, "git locks merge acquire --as a").is_empty());
    let found = offered(env, &ground.repo, &setup, "git loc");
    assert_eq!(found, ["locks "]);
}

#[test]
fn where_there_is_nothing_to_offer_nothing_is_said() {
    if !possible("bash::where_there_is_nothing_to_offer_nothing_is_said") {
        return;
    }
    let env = Env::new();
    let (setup, broken) = (setup(false), env.mkdir("broken"));
    std::fs::write(broken.join(".git"), "nonsense").expect("a file");
    for program in ["git locks", "git-locks"] {
        for dir in [env.root(), &broken] {
            let found = |line: &str| offered(&env, dir, &setup, &format!("{program} {line}"));
            for line in NOTHING {
                assert!(found(line).is_empty(), "{program} {line}");
            }
            // What needs no repository is offered all the same.
            assert_eq!(found("log --lock "), ["merge ", "build ", "rate-window "]);
        }
    }
}
