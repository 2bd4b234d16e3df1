//! State files that make no sense, and the copies of such: for a person to look at.

use std::fs;

use crate::common::fixture::{base, queue_file};
use crate::stage::{Stage, kinds, leave, path_of, the};

#[test]
fn a_file_that_makes_no_sense_is_a_problem_and_stays() {
    let stage = Stage::new();
    stage.used();
    stage.built();
    for path in [
        queue_file(&stage.main),
        base(&stage.main).join("run-configuration.json"),
        stage.ours().join("merge.json"),
        stage.env.builds().path(),
    ] {
        let before = fs::read(&path).unwrap_or_else(|_| b"{}".to_vec());
        fs::write(&path, "[1").expect("damaged");
        let run = stage.doctor("--fix").exits(1);
        assert_eq!(kinds(&run), ["corrupt-file"], "{run:#?}");
        let finding = the(&run, "corrupt-file");
        assert_eq!(path_of(&finding), path);
        assert_eq!(finding["severity"], "problem");
        assert_eq!(fs::read_to_string(&path).expect("there"), "[1");
        fs::write(&path, before).expect("as it was");
        stage.is_well();
    }
}

#[test]
fn a_copy_that_was_set_aside_is_for_a_person() {
    let stage = Stage::new();
    stage.used();
    stage.built();
    fs::write(queue_file(&stage.main), "[1").expect("damaged");
    stage.env.merge(&stage.main, "acquire --as alpha").exits(0);
    let aside = base(&stage.main).join("merge-queue.json.corrupt");
    assert_eq!(fs::read_to_string(&aside).expect("set aside"), "[1");
    for args in ["", "--fix"] {
        let run = stage.doctor(args).exits(1);
        assert_eq!(kinds(&run), ["corrupt-copy"], "{run:#?}");
        let finding = the(&run, "corrupt-copy");
        assert_eq!(path_of(&finding), aside);
        assert_eq!(finding["severity"], "warning");
        assert_eq!(finding["fixable"], false);
        let action = finding["action"].as_str().expect("what to do");
        assert!(
            action.contains(&format!("rm {}", aside.display())),
            "{action}"
        );
    }
    fs::remove_file(&aside).expect("nobody removed it");
    for path in [
        base(&stage.main).join("run-configuration.json.corrupt.2"),
        stage.ours().join("merge.json.corrupt"),
        stage.env.home_root().join("build-queue.json.corrupt"),
    ] {
        leave(&path, "[1", 0);
        let run = stage.doctor("--fix").exits(1);
        assert_eq!(path_of(&the(&run, "corrupt-copy")), path);
        fs::remove_file(&path).expect("nobody removed it");
    }
    stage.is_well();
}

#[test]
fn what_cannot_be_read_is_said_and_hides_nothing_else() {
    let stage = Stage::new();
    stage.used();
    stage.env.build(&stage.main, "acquire --as alpha").exits(0);
    let queue = queue_file(&stage.main);
    fs::remove_file(&queue).expect("removed");
    fs::create_dir(&queue).expect("a directory in its place");
    let run = stage.doctor("--fix").exits(1);
    let kinds = kinds(&run);
    assert!(kinds.iter().all(|kind| kind == "unreadable"), "{run:#?}");
    assert!(!kinds.is_empty());
    assert!(run.stdout.contains("a directory"));
    assert_eq!(crate::stage::row(&run, "alpha")["lock"], "build");
}
