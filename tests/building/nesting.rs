//! A `run` inside a `run`, and of a holder without a process.

use serde_json::{Value, json};

use crate::cast::{asks, leaves};
use crate::common::DEADLINE;
use crate::common::fixture::worktree;
use crate::stage::{Stage, json_in};

#[test]
fn inside_a_run_another_passes_through() {
    let stage = Stage::new();
    let tree = worktree(&stage.env, &stage.repo, "tree");
    let inner = stage.script_line("log inner $GIT_LOCKS_BUILD_ID $GIT_LOCKS_BUILD_SLOT; exit 5");
    let body = format!(
        "log outer $GIT_LOCKS_BUILD_ID $GIT_LOCKS_BUILD_SLOT\n\
         \"$BIN\" build run --max-slots 1 -- {inner}; log code $?\n\
         cd '{}'; \"$BIN\" build run --no-wait --max-slots 1 -- \"$BIN\" build run -- {inner}; log deep $?\n\
         cd /; \"$BIN\" build run --max-slots 1 -- true; log outside $?\n",
        tree.display()
    );
    stage.builds_to_the_end("--max-slots 1", &body).exits(0);
    assert_eq!(stage.note("inner"), stage.note("outer"));
    for word in ["code", "deep"] {
        assert_eq!(stage.note(word), "5");
    }
    // The queue is the machine's: it is the same one from everywhere.
    assert_eq!(stage.note("outside"), "0");
    assert_eq!(stage.builds().list("run_log").len(), 1);
    stage.builds().is_empty();
}

#[test]
fn without_its_token_a_descendant_that_would_wait_is_refused() {
    let stage = Stage::new();
    let body = "for forgets in 'env -u GIT_LOCKS_TOKEN' 'env GIT_LOCKS_TOKEN=' 'env GIT_LOCKS_TOKEN=0123'; do\n\
                $forgets \"$BIN\" --format json build run --max-slots 1 -- echo in >>\"$DIR/out\" 2>\"$DIR/run\"; log run $?\n\
                $forgets \"$BIN\" --format json build acquire --max-slots 1 --wait >\"$DIR/wait\"; log wait $?\n\
                cat \"$DIR/run\" \"$DIR/wait\" | grep -o own_parent >>\"$DIR/reasons\"\n\
                done";
    stage
        .builds_to_the_end("--max-slots 1 --as me", body)
        .exits(0);
    assert_eq!(
        stage.log(),
        ["run 1", "wait 1", "run 1", "wait 1", "run 1", "wait 1"]
    );
    let read = |name: &str| std::fs::read_to_string(stage.env.path(name)).expect("a script's file");
    assert_eq!(read("out"), "");
    assert_eq!(read("reasons"), "own_parent\n".repeat(6));
    stage.builds().is_empty();
}

#[test]
fn a_merge_inside_a_build_and_the_reverse() {
    let stage = Stage::new();
    let innermost = stage.script_line("log innermost $GIT_LOCKS_HOLDER; exit 3");
    // Each is its own lock: the inner one is taken, and let go of before the outer one.
    let body = format!(
        "log outer $GIT_LOCKS_LOCK\n\
         \"$BIN\" merge run --as me -- {}; log code $?\n\
         \"$BIN\" --format json merge check >\"$DIR/after\"\n",
        stage.script_line(&format!(
            "log inner $GIT_LOCKS_LOCK; \"$BIN\" build run --max-slots 1 -- {innermost}"
        ))
    );
    stage
        .builds_to_the_end("--max-slots 1 --as me", &body)
        .exits(0);
    assert!(stage.note("outer").starts_with("build:"));
    assert!(stage.note("inner").starts_with("merge:"));
    let after = std::fs::read_to_string(stage.env.path("after")).expect("a report");
    assert_eq!(json_in(&after)["status"], "free");
    // What the build's command started in the merge's command is refused or passes: it never waits.
    let code = stage.note("code");
    assert!(code == "3" || code == "1", "{code}");
    stage.is_free();
    stage.builds().is_empty();

    let stage = Stage::new();
    let inner = stage.script_line("log inner $GIT_LOCKS_LOCK $GIT_LOCKS_BUILD_SLOT; exit 4");
    let body = format!("\"$BIN\" build run --max-slots 1 --as me -- {inner}; log code $?");
    stage.run("--plan-id me", &body).exits(0);
    assert_eq!(stage.note("code"), "4");
    let inner = stage.note("inner");
    assert!(
        inner.starts_with("build:") && inner.ends_with(" 1"),
        "{inner}"
    );
    stage.is_free();
    stage.builds().is_empty();
}

#[test]
fn of_a_holder_without_a_process_it_is_a_visit() {
    let stage = Stage::new();
    let queue = stage.builds();
    let id = asks(&stage.env, &stage.repo, "me", 0).text("id");
    asks(&stage.env, &stage.repo, "waits", 75);
    let inner = stage.script_line("log inner $GIT_LOCKS_BUILD_ID");
    let body = format!(
        "log in $GIT_LOCKS_BUILD_ID $GIT_LOCKS_BUILD_SLOT\n\
         \"$BIN\" build run --max-slots 1 -- {inner}\n\
         \"$BIN\" --format json build release --as me >\"$DIR/release\"; log release $?\n\
         exit 4"
    );
    stage
        .builds_to_the_end("--max-slots 1 --as me", &body)
        .exits(4);
    assert_eq!(stage.note("in"), format!("{id} 1"));
    assert_eq!(stage.note("inner"), id);
    // As it was found, also when the command dies or was never there.
    stage
        .builds_to_the_end("--max-slots 1 --as me", "kill -KILL $$")
        .exits(137);
    stage
        .builds_words("--max-slots 1 --as me", &["no-such-command"])
        .exits(127);
    assert_eq!(queue.ids("active"), [id]);
    assert_eq!(queue.waiting(), ["waits"]);
    let token = &queue.entry("me")["git_locks"]["token"];
    assert_eq!(*token, Value::Null, "a visit's token is left");
    leaves(&stage.env, &stage.repo, "me").says(&[("action", json!("released"))]);
    assert_eq!(queue.active(), ["waits"]);
}

#[test]
fn release_inside_leaves_the_slot() {
    let stage = Stage::new();
    let queue = stage.builds();
    let body = "\"$BIN\" --format json build release >\"$DIR/plain\"; log plain $?\n\
                \"$BIN\" --format json build release --id $GIT_LOCKS_BUILD_ID >\"$DIR/id\"; log id $?\n\
                log begin; hold me";
    let mut run = stage.starts("--max-slots 1 --as me", body);
    stage.noted("begin");
    assert_eq!(queue.active(), ["me"]);
    assert_eq!(stage.note("plain"), "0");
    let plain = std::fs::read_to_string(stage.env.path("plain")).expect("a report");
    assert_eq!(json_in(&plain)["action"], "noop");
    stage.has_no_slot();
    stage.let_go("me");
    run.wait(DEADLINE).exits(0);
    queue.is_empty();
}
