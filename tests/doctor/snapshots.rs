//! One text per form of the report.

use crate::common::fixture::{base, keep_plans, plan};
use crate::common::snapshot;
use crate::stage::{OLD, Stage, leave};

/// A repository with something of each severity, and everybody taking part.
fn scene() -> Stage {
    let stage = Stage::new();
    keep_plans(&stage.main);
    plan(&stage.main, "alpha");
    stage.env.merge(&stage.main, "acquire --as alpha").exits(0);
    stage
        .env
        .merge(&stage.main, "acquire --as beta --ttl 1h")
        .exits(75);
    leave(&base(&stage.main).join("merge-queue.json.corrupt"), "[1", 0);
    leave(&stage.ours().join(".git-locks-x1.tmp"), "", OLD);
    stage.env.git(&stage.main, "add -f .plan/local/merge.lock");
    stage
}

#[test]
fn each_form_of_an_ill_repository() {
    let stage = scene();
    for form in ["human", "toon", "json"] {
        let call = stage.env.call(&stage.main).env("PATH", stage.search_path());
        let run = call
            .args(&format!("--format {form} --color never doctor"))
            .run();
        snapshot::check(
            &format!("doctor-ill-{form}"),
            &snapshot::text(&stage.env, &run),
        );
    }
}

#[test]
fn each_form_of_what_was_removed() {
    for form in ["human", "toon", "json"] {
        let stage = Stage::new();
        stage.used();
        leave(&stage.ours().join(".git-locks-x1.tmp"), "", OLD);
        let call = stage.env.call(&stage.main).env("PATH", stage.search_path());
        let run = call
            .args(&format!("--format {form} --color never doctor --fix"))
            .run();
        snapshot::check(
            &format!("doctor-removed-{form}"),
            &snapshot::text(&stage.env, &run),
        );
    }
}
