//! `--require`: the hook only looks.

use serde_json::json;

use crate::cast::{Field, finish, says};
use crate::common::fixture::{holder, same_tree, tree, worktree};
use crate::common::turns::records;

#[test]
fn who_does_not_hold_the_lock_is_refused() {
    let field = Field::gated("--require");
    let before = tree(&field.repo);
    let ended = field.push(&field.repo, "main").exits(1);
    let lines: Vec<&str> = ended.stderr.lines().take(3).collect();
    assert_eq!(
        lines,
        [
            "Refused: who pushes to refs/heads/main must hold the merge lock; main-checkout does not.",
            "The merge lock is free.",
            "To push under the lock: git locks merge run -- git push far main",
        ]
    );
    same_tree(&before, &tree(&field.repo));
    field.env.merge(&field.repo, "acquire --as keeper").exits(0);
    let ended = field.push(&field.repo, "main").exits(1);
    says(&ended, "The merge lock is held by keeper, for ");
    assert!(!field.arrived("refs/heads/main"));
    field.push(&field.repo, "main:other").exits(0);
}

#[test]
fn who_holds_it_passes() {
    let field = Field::gated("--require");
    let linked = worktree(&field.env, &field.repo, "linked");
    field.env.merge(&field.repo, "acquire").exits(0);
    let before = records(&field.repo);
    says(
        &field.push(&linked, "HEAD:refs/heads/main").exits(1),
        "; linked does not.",
    );
    field.push(&field.repo, "main").exits(0);
    assert_eq!(records(&field.repo), before);
    assert_eq!(holder(&field.repo).as_deref(), Some("main-checkout\n"));
    field.env.merge(&field.repo, "release").exits(0);
    field.env.merge(&field.repo, "acquire --as me").exits(0);
    says(
        &field.push(&field.repo, "main:master").exits(1),
        "held by me",
    );
    let mut command = field.git(&field.repo, "push far main:master");
    command.env("GIT_LOCKS_PLAN_ID", "me");
    finish(command).exits(0);
}

#[test]
fn inside_a_run_it_is_held() {
    let field = Field::gated("--require");
    let mut command = field.git(&field.repo, "locks merge run --");
    command.args(["git", "push", "far", "main"]);
    finish(command).exits(0);
    // The id of a run that goes on elsewhere proves nothing.
    let script = "GIT_LOCKS_PLAN_ID=me GIT_LOCKS_TOKEN= git push far main:master";
    let mut command = field.git(&field.repo, "locks merge run --as me --");
    command.args(["sh", "-c", script]);
    says(
        &finish(command).exits(1),
        "must hold the merge lock; me does not.",
    );
}

#[test]
fn a_lease_that_is_over_is_not_enough() {
    let field = Field::gated("--require");
    field.env.merge(&field.repo, "acquire --ttl 1ms").exits(0);
    crate::common::eventually(crate::common::DEADLINE, || {
        let check = field.env.merge(&field.repo, "check");
        check.get("staleness") == json!("stale")
    });
    let ended = field.push(&field.repo, "main").exits(1);
    says(&ended, "main-checkout has it, for ");
    says(&ended, "but its time is over.");
    assert!(!field.arrived("refs/heads/main"));
}
