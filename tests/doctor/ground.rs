//! A repository that cannot be used, and settings that make no sense.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;

use crate::common::fixture::{same_tree, tree};
use crate::common::{Call, Run, needs_root};
use crate::stage::{OLD, Stage, kinds, leave, row, the};

/// Something that `--fix` would remove, of the repository and of the machine.
fn litter(stage: &Stage) {
    stage.used();
    stage.built();
    for dir in [stage.ours(), stage.env.home_root()] {
        leave(&dir.join(".git-locks-x1.tmp"), "", OLD);
    }
}

/// That `call` finds the one `kind`, with these words, and removes nothing; without `--fix`, too.
#[track_caller]
fn finds(stage: &Stage, call: impl Fn() -> Call, kind: &str, words: &str) -> Run {
    let before = tree(stage.env.root());
    let asked = call().run().exits(1);
    let run = call().args("--fix").run().exits(1);
    for run in [&asked, &run] {
        let finding = the(run, kind);
        assert_eq!(finding["severity"], "problem");
        assert_eq!(finding["fixable"], false);
        let what = finding["what"].as_str().expect("what");
        assert!(what.contains(words), "{what}");
        assert!(finding["action"].is_string(), "{finding}");
    }
    assert!(!asked.stderr.contains("nothing was removed"), "{asked:#?}");
    assert!(run.stderr.contains("nothing was removed"), "{run:#?}");
    assert_eq!(run.get("fixed"), 0);
    same_tree(&before, &tree(stage.env.root()));
    run
}

#[test]
fn settings_of_the_repository_that_make_no_sense() {
    let stage = Stage::new();
    litter(&stage);
    for (key, value) in [
        ("locks.ttl", "whenever"),
        ("locks.ticketTtl", "0"),
        ("locks.passOver", "soon"),
        ("locks.guardTimeout", "5x"),
        ("locks.waitTimeout", "never"),
        ("locks.title", "perhaps"),
        ("locks.build.maxSlots", "none"),
        ("locks.hook.wait", "long"),
        ("locks.format", "yaml"),
    ] {
        stage.env.git(&stage.main, &format!("config {key} {value}"));
        let call = || stage.call(&stage.main);
        let words = format!("{key} is '{value}'");
        let run = finds(&stage, call, "bad-setting", &words);
        // The rest is looked at all the same.
        let found = ["bad-setting", "temporary-file", "temporary-file"];
        assert_eq!(kinds(&run), found, "{run:#?}");
        stage.env.git(&stage.main, &format!("config --unset {key}"));
    }
    assert_eq!(stage.doctor("--fix").exits(0).get("fixed"), 2);
    stage.is_well();
    // Where no other form is asked for.
    stage.env.git(&stage.main, "config locks.format yaml");
    let run = stage.env.locks(&stage.main, "doctor").exits(1);
    assert!(run.stdout.contains("locks.format is 'yaml'"), "{run:#?}");
}

#[test]
fn settings_of_the_environment_that_make_no_sense() {
    let stage = Stage::new();
    litter(&stage);
    for name in [
        "GIT_LOCKS_TTL",
        "GIT_LOCKS_BUILD_MAX_SLOTS",
        "GIT_LOCKS_EXIT_ZERO",
        "GIT_LOCKS_FORMAT",
    ] {
        let call = || stage.call(&stage.main).env(name, "whenever");
        finds(&stage, call, "bad-setting", name);
    }
    let call = || stage.call(&stage.main).env("PLAN_DIR_NAME", "a/b");
    finds(&stage, call, "bad-setting", "PLAN_DIR_NAME");
    // Several are told one by one.
    let call = stage.call(&stage.main).env("GIT_LOCKS_TTL", "x");
    let run = call.env("GIT_LOCKS_TITLE", "y").run().exits(1);
    assert_eq!(kinds(&run)[..2], ["bad-setting", "bad-setting"]);
}

/// That git refuses the repository for `words`; the machine is looked at from there all the same.
#[track_caller]
fn is_refused(stage: &Stage, dir: &Path, words: &str) {
    let call = || stage.call(dir);
    let run = finds(stage, call, "unusable-repository", words);
    let found = ["unusable-repository", "temporary-file"];
    assert_eq!(kinds(&run), found, "{run:#?}");
    assert_eq!(row(&run, "beta")["lock"], "build");
    let said = call().args("--format human").run().exits(1).stdout;
    assert!(said.contains("problem: "), "{said}");
}

#[test]
fn a_repository_that_git_refuses() {
    let stage = Stage::new();
    stage.env.build(&stage.main, "acquire --as beta").exits(0);
    litter(&stage);
    let config = stage.main.join(".git/config");
    let sound = fs::read(&config).expect("its configuration");
    fs::write(&config, "[core\nnonsense").expect("damaged");
    is_refused(&stage, &stage.main, "config");
    fs::write(&config, sound).expect("as it was");
    fs::rename(stage.main.join(".git/HEAD"), stage.env.path("HEAD")).expect("taken away");
    is_refused(&stage, &stage.main, "repository");
    fs::rename(stage.env.path("HEAD"), stage.main.join(".git/HEAD")).expect("put back");
    assert_eq!(stage.doctor("--fix").exits(0).get("fixed"), 2);
}

#[test]
fn a_repository_of_another_user() {
    if !needs_root("a repository of another user") {
        return;
    }
    let stage = Stage::new();
    stage.env.build(&stage.main, "acquire --as beta").exits(0);
    litter(&stage);
    for path in [stage.main.clone(), stage.main.join(".git")] {
        chown(path, Some(12_345), Some(12_345)).expect("given away");
    }
    is_refused(&stage, &stage.main, "dubious ownership");
}

#[test]
fn nobody_seen_is_not_nobody() {
    let stage = Stage::new();
    fs::write(stage.main.join(".git/config"), "[core\nnonsense").expect("damaged");
    let human = stage.call(&stage.main).args("--format human");
    let said = human.run().exits(1).stdout;
    assert!(said.contains("Nobody was seen to take part"), "{said}");
}

#[test]
fn without_a_home_root_there_is_no_way() {
    let stage = Stage::new();
    fs::write(stage.main.join(".git/config"), "[core\nnonsense").expect("damaged");
    let home = stage.env.path("file");
    fs::write(&home, "").expect("a file");
    let call = stage.call(&stage.main).env("PLAN_MARSHALL_HOME", &home);
    let run = call.run().exits(128);
    assert!(run.text("error").contains("config"), "{run:#?}");
}
