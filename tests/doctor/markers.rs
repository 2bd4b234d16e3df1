//! What is left of worktrees that are gone.

use std::fs;

use serde_json::json;

use crate::common::fixture::{base, worktree};
use crate::stage::{OLD, Stage, age, findings, kinds, leave, path_of, the};

fn is_one(stage: &Stage, what: &str, action: &str) -> std::path::PathBuf {
    for args in ["", "--fix"] {
        let run = stage.doctor(args).exits(0);
        assert_eq!(kinds(&run), ["worktree-marker"], "{run:#?}");
        let finding = the(&run, "worktree-marker");
        assert_eq!(finding["severity"], "note");
        assert_eq!(finding["fixable"], false);
        let text = |field: &str| finding[field].as_str().expect("words").to_owned();
        assert!(text("what").contains(what), "{finding:#}");
        assert!(text("action").contains(action), "{finding:#}");
    }
    let run = stage.doctor("").exits(0);
    path_of(&the(&run, "worktree-marker"))
}

#[test]
fn a_registration_without_its_worktree() {
    let stage = Stage::new();
    let beside = worktree(&stage.env, &stage.main, "beside");
    stage.is_well();
    fs::remove_dir_all(&beside).expect("removed");
    assert_eq!(is_one(&stage, "that is gone", "git worktree prune"), beside);
    stage.env.git(&stage.main, "worktree lock ../beside");
    stage.is_well();
    stage.env.git(&stage.main, "worktree unlock ../beside");
    stage.env.git(&stage.main, "worktree prune");
    stage.is_well();
    let beside = worktree(&stage.env, &stage.main, "beside");
    fs::remove_file(beside.join(".git")).expect("removed");
    let at = is_one(&stage, "has no .git any more", "worktree repair");
    assert_eq!(at, beside);
    let run = stage.doctor("").exits(0);
    let action = the(&run, "worktree-marker")["action"].clone();
    let mut shell = stage.env.command("sh");
    shell.arg("-c").arg(action.as_str().expect("a command"));
    let _ = shell.output().expect("it runs");
    stage.env.git(&beside, "status");
    stage.is_well();
}

#[test]
fn the_place_of_a_plans_worktree_without_one() {
    let stage = Stage::new();
    stage.env.merge(&stage.main, "acquire --as other").exits(0);
    let places = base(&stage.main).join("worktrees");
    let place = places.join("alpha");
    for inside in ["", ".plan", ".plan/local/plans"] {
        let innermost = place.join(inside);
        fs::create_dir_all(&innermost).expect("mkdir");
        // Somebody may be about to fill it.
        assert!(findings(&stage.doctor("--fix").exits(0)).is_empty());
        age(&innermost, OLD);
        let run = stage.doctor("").exits(0);
        assert_eq!(kinds(&run), ["worktree-marker"], "{run:#?}");
        let finding = the(&run, "worktree-marker");
        assert_eq!(
            (path_of(&finding), &finding["fixable"]),
            (place.clone(), &json!(true))
        );
        assert!(innermost.exists(), "only looked at");
        let run = stage.doctor("--fix").exits(0);
        assert_eq!(the(&run, "worktree-marker")["fixed"], true);
        assert!(!place.exists() && places.exists(), "{inside}");
    }
    // What else may be in there is not ours to judge.
    for file in [
        "notes",
        ".plan/local/notes",
        ".plan/local/plans/alpha/notes",
    ] {
        leave(&place.join(file), "x", OLD);
        let mut directory = place.join(file);
        while directory.pop() && directory != places {
            age(&directory, OLD);
        }
        assert!(
            findings(&stage.doctor("--fix").exits(0)).is_empty(),
            "{file}"
        );
        assert!(place.join(file).exists());
        fs::remove_dir_all(&place).expect("removed");
    }
    leave(&place.join(".git"), "gitdir: /nowhere/at/all\n", 0);
    assert_eq!(
        is_one(&stage, "leads nowhere", "git worktree repair"),
        place
    );
}
