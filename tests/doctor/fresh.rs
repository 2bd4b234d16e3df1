//! Where nothing is wrong, nothing is found, and nothing is made.

use serde_json::json;

use crate::common::fixture::{keep_plans, same_tree, tree, worktree};
use crate::stage::{Stage, kinds};

#[test]
fn a_fresh_repository_is_well_and_stays_as_it_is() {
    let stage = Stage::new();
    let before = tree(stage.env.root());
    stage.is_well();
    same_tree(&before, &tree(stage.env.root()));
    let run = stage.doctor("").exits(0);
    let run = run.fields("status needs_person fixed findings participants");
    run.says(&[
        ("status", json!("success")),
        ("needs_person", json!(false)),
        ("fixed", json!(0)),
        ("participants", json!([])),
    ]);
}

#[test]
fn a_repository_in_use_is_well_from_everywhere() {
    let stage = Stage::new();
    keep_plans(&stage.main);
    stage.used();
    let tree_of = worktree(&stage.env, &stage.main, "beside");
    stage
        .env
        .merge(&stage.main, "acquire --as alpha --ttl 1h")
        .exits(0);
    stage
        .env
        .merge(&stage.main, "acquire --as beta --ttl 1h")
        .exits(75);
    stage
        .env
        .build(&stage.main, "acquire --as alpha --ttl 1h")
        .exits(0);
    stage.env.build(&tree_of, "acquire").exits(0);
    stage.env.locks(&tree_of, "worktree run -- true").exits(0);
    stage.env.locks(&stage.main, "repo run -- true").exits(0);
    let before = tree(stage.env.root());
    for dir in [&stage.main, &tree_of, &stage.env.mkdir("repo/sub/deep")] {
        for args in ["", "--fix"] {
            let run = stage.call(dir).args(args).run().exits(0);
            assert_eq!(kinds(&run), [""; 0], "{run:#?}");
        }
    }
    std::fs::remove_dir_all(stage.main.join("sub")).expect("removed");
    same_tree(&before, &tree(stage.env.root()));
}

#[test]
fn outside_a_repository_the_machine_is_looked_at() {
    let stage = Stage::new();
    let outside = stage.env.mkdir("outside");
    stage.env.build(&stage.main, "acquire --as alpha").exits(0);
    for args in ["", "--fix"] {
        let run = stage.call(&outside).args(args).run().exits(0);
        assert_eq!(kinds(&run), [""; 0], "{run:#?}");
        assert_eq!(run.get("participants")[0]["lock"], "build");
    }
}
