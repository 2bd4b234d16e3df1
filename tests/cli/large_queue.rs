//! A queue file that another program has filled: past 32 MiB nothing is added, but everybody can
//! still leave.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::fixture::{holder, queue_file, read_queue, waiting};
use crate::common::{Env, Run};

const PADDING: usize = 40 << 20;

/// `a` holds, `b` and `c` wait; then another program fills the file, and formats it as it likes.
fn crowded(env: &Env, spread: bool) -> std::path::PathBuf {
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "acquire --as b").exits(75);
    env.merge(&repo, "acquire --as c").exits(75);
    let mut queue = read_queue(&repo);
    queue["padding"] = json!("x".repeat(PADDING));
    let text = if spread {
        serde_json::to_string_pretty(&queue)
    } else {
        for number in 0..100 {
            queue[format!("key-{number}")] = json!(number);
        }
        serde_json::to_string(&queue)
    };
    std::fs::write(queue_file(&repo), text.expect("JSON")).expect("a large queue");
    repo
}

#[track_caller]
fn nothing_is_lost(repo: &Path, ids: &[&str]) {
    assert_eq!(waiting(repo), ids);
    let queue = read_queue(repo);
    let padding = queue.get("padding").and_then(Value::as_str);
    assert_eq!(padding.map(str::len), Some(PADDING));
}

#[track_caller]
fn refused(run: Run) {
    let run = run.exits(128).one_line_error();
    assert!(run.stderr.contains("merge-queue.json"), "{run:#?}");
    assert!(run.stderr.contains("too large"), "{run:#?}");
    run.says(&[("status", json!("error")), ("error_code", json!("IO"))]);
}

#[test]
fn a_crowded_queue_lets_everybody_leave_and_nobody_in() {
    let env = Env::new();
    let repo = crowded(&env, true);
    let before = std::fs::read(queue_file(&repo)).expect("a queue");
    refused(env.merge(&repo, "acquire --as newcomer"));
    env.merge(&repo, "acquire --as b")
        .exits(75)
        .says(&[("position", json!(1)), ("blocking_plan_id", json!("a"))]);
    let same = std::fs::read(queue_file(&repo)).expect("a queue") == before;
    assert!(same, "the queue was rewritten");
    env.merge(&repo, "check")
        .exits(0)
        .says(&[("holder_plan_id", json!("a"))]);

    env.merge(&repo, "release --as c").exits(0);
    nothing_is_lost(&repo, &["a", "b"]);
    let run = env.merge(&repo, "release --as a").exits(0);
    assert!(!run.stderr.contains("error"), "{run:#?}");
    run.says(&[("action", json!("released")), ("waiting_count", json!(1))]);
    assert_eq!(holder(&repo), None);
    nothing_is_lost(&repo, &["b"]);
    env.merge(&repo, "acquire --as b").exits(0);
    assert_eq!(holder(&repo).as_deref(), Some("b\n"));
    env.merge(&repo, "release --as b")
        .exits(0)
        .says(&[("action", json!("released"))]);
    nothing_is_lost(&repo, &[]);
}

#[test]
fn a_crowded_queue_that_another_program_formats_its_own_way() {
    let env = Env::new();
    let repo = crowded(&env, false);
    refused(env.merge(&repo, "acquire --as newcomer"));
    env.merge(&repo, "release --as c").exits(0);
    env.merge(&repo, "release --as a")
        .exits(0)
        .says(&[("action", json!("released"))]);
    assert_eq!(holder(&repo), None);
    nothing_is_lost(&repo, &["b"]);
    assert_eq!(read_queue(&repo)["key-99"], json!(99));
}
