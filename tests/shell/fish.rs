//! fish: by itself, and as a command of git.

use std::path::Path;

use crate::bash::NOTHING;
use crate::common::{Env, required};
use crate::ground::{Ground, path_with_us, source};
use crate::typing::{Kind, Typist};

/// What fish offers for `line`, each with what it says about it.
fn offered(env: &Env, dir: &Path, line: &str) -> Vec<String> {
    let conf = env.mkdir("home/.config/fish/conf.d");
    std::fs::copy(
        source().join("completions/git-locks.fish"),
        conf.join("git-locks.fish"),
    )
    .expect("a copy");
    let mut fish = env.command("fish");
    fish.current_dir(dir).env("PATH", path_with_us());
    fish.args(["-c", "complete -C $argv[1]", line]);
    let output = fish.output().expect("fish runs");
    assert!(output.stderr.is_empty(), "{line}: {output:?}");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    said.lines().map(str::to_owned).collect()
}

#[test]
fn by_itself_and_as_a_command_of_git() {
    if !required("fish::by_itself_and_as_a_command_of_git", "fish") {
        return;
    }
    let ground = Ground::new();
    for program in ["git locks", "git-locks", "git -C . locks"] {
        let found = |line: &str| offered(&ground.env, &ground.repo, &format!("{program} {line}"));
        assert_eq!(
            found("mer"),
            ["merge\tThe merge lock: one merge at a time, first come first served"]
        );
        assert_eq!(
            found("merge acquire --as "),
            [
                "alpha\thas the merge lock",
                "beta\twaits for the merge lock"
            ]
        );
        assert_eq!(found("merge check --format=j"), ["--format=json\tJSON"]);
        let entry = format!("{}\tbuilds in {}", ground.entry(), ground.repo.display());
        assert_eq!(found("build release --id g"), [entry]);
        assert!(
            found("merge acquire --no-w")
                .iter()
                .any(|line| line.starts_with("--no-wait\t"))
        );
        assert!(
            found("merge run -- git-lo")
                .iter()
                .any(|line| line.starts_with("git-locks"))
        );
        let sub = ground.env.mkdir("repo/sub/inner");
        assert!(
            sub.is_dir() && found("-C su").iter().any(|line| line.starts_with("sub/")),
            "{:?}",
            found("-C su")
        );
    }
    assert!(
        offered(&ground.env, &ground.repo, "git lock")
            .iter()
            .any(|line| line.starts_with("locks\t"))
    );
    assert!(offered(&ground.env, &ground.repo, "git commit -m locks mer").is_empty());
}

#[test]
fn on_a_terminal() {
    let test = "fish::on_a_terminal";
    if !required(test, "fish") || !required(test, "script") {
        return;
    }
    let ground = Ground::new();
    Typist::start(&ground, Kind::Fish).completes_all();
}

#[test]
fn where_there_is_nothing_to_offer_nothing_is_said() {
    let test = "fish::where_there_is_nothing_to_offer_nothing_is_said";
    if !required(test, "fish") {
        return;
    }
    let env = Env::new();
    let broken = env.mkdir("broken");
    std::fs::write(broken.join(".git"), "nonsense").expect("a file");
    for program in ["git locks", "git-locks"] {
        for dir in [env.root(), &broken] {
            // There, fish's own completion of git lets git complain once, whatever is completed.
            if program == "git locks" && dir == broken {
                continue;
            }
            let found = |line: &str| offered(&env, dir, &format!("{program} {line}"));
            for line in NOTHING {
                assert!(found(line).is_empty(), "{program} {line}");
            }
            // What needs no repository is offered all the same.
            let reaped = ["reaped-stale\ta slot was taken after too long"];
            assert_eq!(found("log --event rea"), reaped);
        }
    }
}
