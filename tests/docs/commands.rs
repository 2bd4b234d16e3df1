//! The commands themselves, block by block, in the order in which a reader comes to them: a fresh
//! checkout for each section.

use std::process::Command;

use crate::common::required;
use crate::pages::{Block, read, root};
use crate::scene::Scene;

/// Blocks that are not run here, by their first lines, and why not.
const NOT_RUN: [(&str, &str); 3] = [
    (
        "cargo install --locked --path .",
        "it would build the program once more",
    ),
    (
        "cargo run --locked --release -- merge acquire",
        "the same; run with the program that is built",
    ),
    ("bash scripts/test", "it is what runs this test"),
];

#[track_caller]
fn section_of(file: &str, section: &str) -> Vec<Block> {
    let (_, blocks) = read(file);
    let found: Vec<Block> = blocks
        .into_iter()
        .filter(|block| block.section == section)
        .collect();
    assert!(!found.is_empty(), "{file} has no commands in {section:?}");
    found
}

/// What a reader sees, whatever the place and the time: blanks and spans are of no account.
fn gist(scene: &Scene, text: &str) -> Vec<String> {
    let root = scene.env.root().display().to_string();
    let text = text.replace(&root, "/home/you");
    let is_span = |word: &str| {
        let word = word.trim_end_matches(';');
        let digits = word.trim_end_matches(['s', 'm', 'h', 'd']);
        digits.len() + 1 == word.len() && digits.parse::<u32>().is_ok()
    };
    let line = |line: &str| {
        let words = line.split_whitespace().map(|word| {
            if is_span(word) {
                word.replace(|c: char| c.is_ascii_alphanumeric(), "") + "#"
            } else {
                word.to_owned()
            }
        });
        words.collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect()
}

/// Runs the blocks of a section one after the other in one checkout. A block of text is what the one
/// before it has printed.
#[track_caller]
fn runs(file: &str, section: &str, scene: &Scene) {
    let mut said = String::new();
    for block in section_of(file, section) {
        let first = block.text.lines().next().unwrap_or_default();
        if NOT_RUN.iter().any(|(line, _)| *line == first) {
            continue;
        }
        if block.language == "text" {
            shows(&block, scene, &said);
        } else {
            said = scene.runs(&block);
        }
    }
}

#[test]
fn every_section_with_commands_is_run() {
    // A section that nobody runs would be missed silently.
    let run_here = [
        ("README.md", "Install"),
        ("README.md", "Four things to do with it"),
        ("README.md", "From scripts and agents"),
        ("README.md", "More"),
        ("doc/recipes.md", "The prompt"),
    ];
    for file in ["README.md", "doc/recipes.md"] {
        for block in read(file).1 {
            let section = (file, block.section.as_str());
            let known = run_here.contains(&section) || RECIPES.contains(&section.1);
            assert!(known, "{}: {section:?} is run by no test", block.at());
        }
    }
    let (_, blocks) = read("README.md");
    for (line, why) in NOT_RUN {
        let stands = blocks.iter().any(|block| block.text == format!("{line}\n"));
        assert!(
            stands,
            "{line:?} ({why}) does not stand in the README any more"
        );
    }
    // What is not run is at least there.
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--offline", "--no-deps", "--format-version=1"]);
    let metadata = cargo.current_dir(root()).output().expect("cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let targets = metadata["packages"][0]["targets"].as_array();
    let is_program =
        |target: &serde_json::Value| target["kind"][0] == "bin" && target["name"] == "git-locks";
    assert!(targets.is_some_and(|targets| targets.iter().any(is_program)));
    for file in ["Cargo.lock", "scripts/test"] {
        assert!(root().join(file).is_file(), "{file}");
    }
}

#[test]
fn the_installation() {
    let test = "commands::the_installation";
    if !required(test, "make") {
        return;
    }
    let scene = Scene::new();
    runs("README.md", "Install", &scene);
    let home = scene.env.path("home");
    for file in [
        ".local/bin/git-locks",
        ".local/share/man/man1/git-locks-merge.1",
        ".local/share/bash-completion/completions/git-locks",
    ] {
        assert!(home.join(file).is_file(), "{file} was not installed");
    }
    let runs = NOT_RUN
        .iter()
        .filter(|(line, _)| line.starts_with("cargo run "));
    for (line, _) in runs {
        let (_, args) = line.split_once(" -- ").expect("arguments");
        scene.env.locks(&scene.shop, args).exits(0);
    }
    scene.env.locks(&scene.shop, "merge release").exits(0);
    assert_eq!(scene.env.git(&scene.shop, "status --porcelain"), "");
}

/// Fails the test unless the block shows what was said, whatever the place and the time.
#[track_caller]
fn shows(block: &Block, scene: &Scene, said: &str) {
    assert_eq!(block.language, "text", "{}", block.at());
    let (shown, said) = (gist(scene, &block.text), gist(scene, said));
    assert_eq!(shown, said, "{}", block.at());
}

#[test]
fn four_things() {
    let blocks = section_of("README.md", "Four things to do with it");
    let [merge, waiting, build, gate, installed, status, shown] = &blocks[..] else {
        panic!("not the four things and what three of them say: {blocks:#?}");
    };
    let scene = Scene::busy();
    let (env, shop) = (&scene.env, &scene.shop);
    let said = scene.runs_and_waits(merge);
    let notes = said.lines().find_map(|line| line.strip_prefix("note: "));
    shows(waiting, &scene, notes.unwrap_or(&said));
    let origin = env.path("origin.git");
    let pushed = |branch: &str| {
        let there = env.git(&origin, "rev-parse main");
        assert_eq!(there, env.git(shop, &format!("rev-parse {branch}")));
    };
    pushed("topic");

    env.git(shop, "config --global locks.format human");
    assert!(scene.runs(build).starts_with("made all\n"));
    shows(installed, &scene, &scene.runs(gate));
    assert!(shop.join(".git/hooks/pre-push").is_file());
    env.commit(shop, "more");
    let push = scene
        .command("git")
        .args(["push", "origin", "main"])
        .output();
    assert!(push.expect("git runs").status.success());
    pushed("main");
    let log = env
        .locks(shop, "log --event merge:acquired --format toon")
        .exits(0);
    assert!(log.stdout.contains("main-checkout"), "{log:?}");

    let scene = Scene::busy();
    let (env, shop) = (&scene.env, &scene.shop);
    let begin = "session acquire --mode feature --session-id s-91c2";
    env.locks(&env.path("fix-login"), begin).exits(0);
    let ask = env.call(shop).args("merge acquire --reason");
    ask.arg("merge topic").run().exits(75);
    env.git(shop, "config --global locks.build.maxSlots 2");
    env.git(shop, "config locks.format human");
    shows(shown, &scene, &scene.runs(status));
}

#[test]
fn scripts_and_agents() {
    let section = "From scripts and agents";
    let scene = Scene::busy();
    let mut waited = false;
    for block in section_of("README.md", section) {
        if block.text.starts_with("until ") {
            scene.runs_and_waits(&block);
            let origin = scene.env.path("origin.git");
            let pushed = scene.env.git(&origin, "rev-parse main");
            assert_eq!(pushed, scene.env.git(&scene.shop, "rev-parse topic"));
            let check = scene.env.merge(&scene.shop, "check").exits(0);
            assert_eq!(check.get("status"), "free", "it lets go in the end");
            waited = true;
        } else {
            let said = scene.runs(&block);
            assert!(said.starts_with("free\n"), "{said}");
        }
    }
    assert!(waited, "there is no poll loop");
}

/// The sections of the recipes that run by themselves.
const RECIPES: [&str; 9] = [
    "A merge script",
    "A gate before pushes",
    "A hook that wants the lock for merges",
    "CI on one machine",
    "Worktree managers",
    "Integrators, in any language",
    "From `flock` to `git locks`",
    "Scripts that hold the lock by their own life",
    "What has happened",
];

#[test]
fn the_recipes() {
    let test = "commands::the_recipes";
    if !(required(test, "make") && required(test, "python3") && required(test, "flock")) {
        return;
    }
    for section in RECIPES {
        let scene = Scene::new();
        runs("doc/recipes.md", section, &scene);
        let check = scene.env.merge(&scene.shop, "check").exits(0);
        assert_eq!(
            check.get("status"),
            "free",
            "{section}: the lock is left behind"
        );
        let env = &scene.env;
        let check = env.locks(&scene.shop, "build check --format json").exits(0);
        assert_eq!(
            check.get("active_count"),
            0,
            "{section}: a slot is left behind"
        );
    }
}

#[test]
fn the_hook_for_merges_refuses_them_without_the_lock() {
    let scene = Scene::new();
    let section = "A hook that wants the lock for merges";
    runs("doc/recipes.md", section, &scene);
    let (env, shop) = (&scene.env, &scene.shop);
    env.git(shop, "switch -q -c more");
    env.commit(shop, "more");
    let merge = |scene: &Scene| {
        let mut git = scene.command("git");
        git.args(["merge", "-q", "--no-ff", "--no-edit", "more"]);
        git.output().expect("git runs")
    };
    env.git(shop, "switch -q main");
    let refused = merge(&scene);
    assert!(!refused.status.success(), "{refused:?}");
    let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(errors.contains("merge under the lock"), "{errors}");
    env.git(shop, "merge --abort");
    env.locks(shop, "merge acquire").exits(0);
    let merged = merge(&scene);
    assert!(merged.status.success(), "{merged:?}");
    // Elsewhere than on main nobody is asked.
    env.locks(shop, "merge release").exits(0);
    env.git(shop, "switch -q -c other HEAD^");
    let merged = merge(&scene);
    assert!(merged.status.success(), "{merged:?}");
}

#[test]
fn the_prompt() {
    let test = "commands::the_prompt";
    if !(required(test, "zsh") && required(test, "fish")) {
        return;
    }
    let blocks = section_of("doc/recipes.md", "The prompt");
    let scene = Scene::new();
    let shown = |language: &str| {
        let block = blocks.iter().find(|block| block.language == language);
        let block = block.expect("a block for the shell");
        match language {
            "bash" => scene.prompt(block, &["bash", "--norc"], "printf '%s' \"${PS1@P}\""),
            "zsh" => scene.prompt(block, &["zsh", "-f"], "print -rnP -- \"$PROMPT\""),
            _ => scene.prompt(block, &["fish", "--no-config"], "fish_prompt"),
        }
    };
    assert_eq!(blocks.len(), 4, "{blocks:#?}");
    for language in ["bash", "zsh", "fish"] {
        assert!(!shown(language).contains('🔒'), "{language}");
    }
    scene.env.locks(&scene.shop, "merge acquire").exits(0);
    for language in ["bash", "zsh", "fish"] {
        let prompt = shown(language);
        assert!(prompt.contains('🔒'), "{language}: {prompt:?}");
    }
    let silent = blocks.iter().find(|block| block.language == "sh");
    scene.runs(silent.expect("how to have no sign"));
    for language in ["bash", "zsh", "fish"] {
        assert!(!shown(language).contains('🔒'), "{language}");
    }
}
