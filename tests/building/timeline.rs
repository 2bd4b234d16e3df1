//! The `[LOCK]` timeline of builds.

use std::path::Path;

use serde_json::json;

use crate::cast::{asks, leaves, one, two};
use crate::common::fixture::{plan, tree};

/// One entry.
#[derive(Debug)]
pub struct Event {
    /// `INFO` or `WARNING`.
    pub level: String,
    /// What comes after `[LOCK] `.
    pub message: String,
    /// What follows it.
    pub fields: Vec<(String, String)>,
}

/// The entries of a repository's timeline.
pub fn events(repo: &Path) -> Vec<Event> {
    events_in(&repo.join(".plan/logs"))
}

/// The entries in a directory of timelines; none where there is none.
pub fn events_in(dir: &Path) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    if !dir.exists() {
        return events;
    }
    for (path, bytes) in tree(dir) {
        if path.extension().is_none_or(|extension| extension != "log") {
            continue;
        }
        for line in String::from_utf8(bytes).expect("UTF-8").lines() {
            if let Some((head, message)) = line.split_once("[LOCK] ") {
                let level = head.split(['[', ']']).nth(3).unwrap_or_default();
                events.push(Event {
                    level: level.to_owned(),
                    message: message.to_owned(),
                    fields: Vec::new(),
                });
            } else if let Some((key, value)) = line.trim_start().split_once(": ") {
                let event = events.last_mut().expect("an event before its fields");
                event.fields.push((key.to_owned(), value.to_owned()));
            }
        }
    }
    events
}

/// The events since the first `after`, each with its fields as one line.
fn since(repo: &Path, after: usize) -> Vec<String> {
    let shown = |event: &Event| {
        let fields = event
            .fields
            .iter()
            .map(|(key, value)| format!(" {key}={value}"));
        format!(
            "{} {}{}",
            event.level,
            event.message,
            fields.collect::<String>()
        )
    };
    events(repo).iter().skip(after).map(shown).collect()
}

#[test]
fn acquired_blocked_and_released() {
    let (env, repo) = one();
    let a = asks(&env, &repo, "a", 0).text("id");
    let b = asks(&env, &repo, "b", 75).text("id");
    leaves(&env, &repo, "a");
    leaves(&env, &repo, "b");
    let mut told = since(&repo, 0);
    // Which of the two comes first at a hand-over is nobody's promise.
    told[2..4].sort();
    assert_eq!(
        told,
        [
            format!("INFO (build:acquired) {a} active_count=1 waiting_count=0"),
            format!("INFO (build:blocked) {b} waiter=b active_count=1 waiting_count=1"),
            format!("INFO (build:acquired) {b} active_count=1 waiting_count=0"),
            format!("INFO (build:released) {a} active_count=1 waiting_count=0"),
            format!("INFO (build:released) {b} active_count=0 waiting_count=0"),
        ]
    );
}

#[test]
fn a_promotion_is_told_once_where_the_waiter_works() {
    let (env, repo, there) = two();
    asks(&env, &repo, "a", 0);
    let b = asks(&env, &there, "b", 75).text("id");
    leaves(&env, &repo, "a");
    let acquired = format!("(build:acquired) {b}");
    let count = |dir: &Path| {
        let events = events(dir);
        events
            .iter()
            .filter(|event| event.message == acquired)
            .count()
    };
    // By whoever caused it, and once it shows itself in its own repository.
    assert_eq!((count(&repo), count(&there)), (1, 0));
    asks(&env, &there, "b", 0);
    asks(&env, &there, "b", 0);
    assert_eq!((count(&repo), count(&there)), (1, 1));
    // Where that is the same, only once.
    let c = asks(&env, &there, "c", 75).text("id");
    leaves(&env, &there, "b");
    asks(&env, &there, "c", 0);
    let told = events(&there);
    let acquired = format!("(build:acquired) {c}");
    let told = told.iter().filter(|event| event.message == acquired);
    assert_eq!(told.count(), 1);
}

#[test]
fn what_changes_nothing_is_not_told() {
    let (env, repo) = one();
    env.build(&repo, "release --as a").exits(0);
    env.build(&repo, "check --as a").exits(0);
    assert_eq!(events(&repo).len(), 0);
    asks(&env, &repo, "a", 0);
    let before = events(&repo).len();
    asks(&env, &repo, "a", 0);
    env.build(&repo, "renew --as a").exits(0);
    env.build(&repo, "check --as b").exits(0);
    env.build(&repo, "release --as b").exits(0);
    env.build(&repo, "release --id a:none").exits(0);
    assert_eq!(events(&repo).len(), before);
}

#[test]
fn a_wait_is_told_once() {
    let (env, repo) = one();
    asks(&env, &repo, "a", 0);
    let mut waiting = crate::cast::waiter(&env, &repo, "b");
    env.builds().wait_until_queued(1);
    waiting.says("waiting");
    leaves(&env, &repo, "a");
    waiting.wait(crate::common::DEADLINE).exits(0);
    let about_b = since(&repo, 0);
    let blocked = about_b
        .iter()
        .filter(|line| line.contains("(build:blocked)"));
    assert_eq!(blocked.count(), 1, "{about_b:#?}");
    let acquired = about_b
        .iter()
        .filter(|line| line.contains("(build:acquired) b:"));
    assert_eq!(acquired.count(), 1, "{about_b:#?}");
}

#[test]
fn outside_git_it_is_kept_under_the_home_root() {
    let env = crate::common::Env::new();
    let dir = env.mkdir("plain");
    let id = env.build(&dir, "acquire --as a").exits(0).text("id");
    let told = events_in(&env.home_root().join("git-locks/logs"));
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(told[0].message, format!("(build:acquired) {id}"));
    assert_eq!(tree(&dir), []);
}

#[test]
fn a_run_is_told_like_an_acquire_and_a_release() {
    let stage = crate::stage::Stage::new();
    stage
        .builds_to_the_end("--as me", "log $GIT_LOCKS_BUILD_ID")
        .exits(0);
    let id = stage.log()[0].clone();
    assert_eq!(
        since(&stage.repo, 0),
        [
            format!("INFO (build:acquired) {id} active_count=1 waiting_count=0"),
            format!("INFO (build:released) {id} active_count=0 waiting_count=0"),
        ]
    );
    plan(&stage.repo, "x");
    let run = stage.build("acquire --as x").exits(0);
    run.says(&[("active_count", json!(1))]);
}
