//! The timeline's fields: which, and in which order.

use std::path::Path;

use serde_json::json;

use crate::common::Env;
use crate::common::fixture::{base, hold, mid_recovery, now, plan, queue_of, tree, write_queue};

/// The events, each with the fields that follow it.
fn events(repo: &Path) -> Vec<(String, Vec<(String, String)>)> {
    let mut events: Vec<(String, Vec<(String, String)>)> = Vec::new();
    for (path, bytes) in tree(&repo.join(".plan/logs")) {
        if path.extension().is_none_or(|ext| ext != "log") {
            continue;
        }
        for line in String::from_utf8(bytes).expect("UTF-8").lines() {
            if let Some((_, message)) = line.split_once("[LOCK] ") {
                events.push((message.to_owned(), Vec::new()));
            } else if let Some((key, value)) = line.trim_start().split_once(": ") {
                let (_, fields) = events.last_mut().expect("an event before its fields");
                fields.push((key.to_owned(), value.to_owned()));
            }
        }
    }
    events
}

/// The last event must be this one, with exactly these fields, each of this value unless that
/// is `*`.
#[track_caller]
fn last_is(repo: &Path, message: &str, fields: &[(&str, &str)]) {
    let events = events(repo);
    let (said, there) = events.last().expect("an event");
    assert_eq!(said, message);
    let keys: Vec<&str> = there.iter().map(|(key, _)| key.as_str()).collect();
    let expected: Vec<&str> = fields.iter().map(|(key, _)| *key).collect();
    assert_eq!(keys, expected, "{message}");
    for ((key, value), (_, wanted)) in there.iter().zip(fields) {
        assert!(
            *wanted == "*" || value == wanted,
            "{message}: {key}: {value}"
        );
    }
}

#[test]
fn a_release_of_a_stale_holder_says_whose_it_was() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "b");
    hold(&repo, "dead\n");
    queue_of(&repo, &["dead", "b"]);
    env.merge(&repo, "release --as b --require-stale").exits(0);
    let lock = base(&repo).join("merge.lock").display().to_string();
    last_is(
        &repo,
        "(merge:released) b",
        &[
            ("lock_file", &lock),
            ("reclaimed_from", "dead"),
            ("waiting_count", "1"),
        ],
    );
}

#[test]
fn a_block_by_a_holder_in_recovery_says_so() {
    let env = Env::new();
    let repo = env.init("repo");
    mid_recovery(&repo, "recovering");
    plan(&repo, "b");
    plan(&repo, "c");
    hold(&repo, "recovering\n");
    env.merge(&repo, "acquire --as b").exits(75);
    let lock = base(&repo).join("merge.lock").display().to_string();
    last_is(
        &repo,
        "(merge:blocked) b",
        &[
            ("lock_file", &lock),
            ("holder", "recovering"),
            ("waiter", "b"),
            ("waiting_count", "1"),
            ("stale_holder_live_worktree", "true"),
        ],
    );
    // Behind another, the holder is not what blocks.
    env.merge(&repo, "acquire --as c").exits(75);
    last_is(
        &repo,
        "(merge:blocked) c",
        &[
            ("lock_file", &lock),
            ("holder", "recovering"),
            ("waiter", "c"),
            ("waiting_count", "2"),
        ],
    );
}

#[test]
fn a_reclaim_says_from_whom() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "b");
    hold(&repo, "dead\n");
    queue_of(&repo, &["dead"]);
    env.merge(&repo, "acquire --as b").exits(0);
    let lock = base(&repo).join("merge.lock").display().to_string();
    last_is(
        &repo,
        "(merge:reclaimed) b",
        &[
            ("lock_file", &lock),
            ("reclaimed_from", "dead"),
            ("waiting_count", "1"),
        ],
    );
}

#[test]
fn the_events_of_a_window_have_their_fields_in_order() {
    let env = Env::new();
    let repo = env.init("repo");
    for id in ["a", "b"] {
        plan(&repo, id);
    }
    let window = |verb: &str, code: i32| {
        env.merge(&repo, &format!("rate-window {verb}")).exits(code);
    };
    let robot = |attempts| {
        [
            ("bot_kind", "robot"),
            ("pr_number", "7"),
            ("expires_at", "*"),
            ("attempts", attempts),
            ("attempt_cap", "2"),
        ]
    };
    window("claim --bot-kind robot --pr-number 7 --as a", 0);
    last_is(&repo, "(rate-window:claimed) a", &robot("1"));
    window("claim --bot-kind robot --pr-number 7 --as b", 75);
    let mut blocked = robot("1").to_vec();
    blocked.extend([("holder", "a"), ("waiter", "b")]);
    last_is(&repo, "(rate-window:blocked) b", &blocked);
    window("claim --bot-kind robot --pr-number 7 --as a", 0);
    last_is(&repo, "(rate-window:claimed) a", &robot("2"));
    window("release --bot-kind robot --as a", 0);
    let mut without_end = robot("2").to_vec();
    without_end.remove(2);
    last_is(&repo, "(rate-window:released) a", &without_end);
    window("claim --bot-kind robot --pr-number 7 --as b", 1);
    last_is(&repo, "(rate-window:exhausted) b", &without_end);

    let ended = json!({"holder": "a", "pr_number": 7, "expires_at": now() - 5.0, "attempts": 1});
    write_queue(
        &repo,
        &json!({"waiting": [], "rate_windows": {"robot": ended}}),
    );
    window("claim --bot-kind robot --pr-number 7 --as b", 0);
    let mut reclaimed = robot("2").to_vec();
    reclaimed.push(("reclaimed_from", "a"));
    last_is(&repo, "(rate-window:reclaimed) b", &reclaimed);
}
