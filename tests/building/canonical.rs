//! `acquire` and `release`, to the letter.

use serde_json::{Value, json};

use crate::cast::{ACQUIRED, ACQUIRED_MORE, RELEASED, asks, leaves, one, two};
use crate::common::builds::{foreign, plan_of};
use crate::common::fixture::{keep_plans, plan, same_tree, tree};

/// Whether this is `<plan>:<uuid4>`.
fn is_id_of(id: &str, plan: &str) -> bool {
    let Some(uuid) = id.strip_prefix(&format!("{plan}:")) else {
        return false;
    };
    let parts: Vec<&str> = uuid.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 4, 4, 4, 12]
        && parts
            .concat()
            .bytes()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        && parts[2].starts_with('4')
        && parts[3].starts_with(['8', '9', 'a', 'b'])
}

fn keys(entry: &Value) -> Vec<&str> {
    let map = entry.as_object().expect("an object");
    map.keys().map(String::as_str).collect()
}

#[test]
fn admitted() {
    let (env, repo) = one();
    let queue = env.builds();
    let run = env.build(&repo, "acquire --as a").exits(0);
    let id = run.text("id");
    assert!(is_id_of(&id, "a"), "{id}");
    let run = run.fields_then(ACQUIRED, ACQUIRED_MORE).says(&[
        ("status", json!("success")),
        ("plan_id", json!("a")),
        ("admission", json!("admitted")),
        ("max_slots", json!(5)),
        ("active_count", json!(1)),
        ("waiting_count", json!(0)),
        ("queue_path", json!(queue.path())),
        ("slot", json!(1)),
    ]);
    assert!(run.number("expires_at") > crate::common::fixture::now() + 3000.0);
    let entry = queue.entry("a");
    assert_eq!(
        keys(&entry),
        [
            "id",
            "plan_id",
            "ts",
            "project_root",
            "active_since",
            "git_locks"
        ]
    );
    assert_eq!(entry["id"], json!(id));
    assert_eq!(entry["plan_id"], "a");
    assert_eq!(entry["project_root"], json!(repo));
    let now = crate::common::fixture::now();
    for time in ["ts", "active_since"] {
        let at = entry[time].as_f64().expect("float seconds");
        assert!((now - 60.0..=now).contains(&at), "{time}: {entry}");
    }
    assert_eq!(entry["git_locks"]["format"], 1);
    assert_eq!(entry["git_locks"]["slots"], 5);
    assert_eq!(queue.ids("active"), [id]);
    assert_eq!(keys(&queue.read()), ["active", "waiting", "run_log"]);
}

#[test]
fn blocked() {
    let (env, repo, there) = two();
    let queue = env.builds();
    asks(&env, &repo, "a", 0);
    let run = asks(&env, &there, "b", 75);
    let id = run.text("id");
    assert!(is_id_of(&id, "b"), "{id}");
    run.fields_then(ACQUIRED, ACQUIRED_MORE).says(&[
        ("status", json!("success")),
        ("plan_id", json!("b")),
        ("admission", json!("blocked")),
        ("max_slots", json!(1)),
        ("active_count", json!(1)),
        ("waiting_count", json!(1)),
        ("queue_path", json!(queue.path())),
        ("position", json!(1)),
        ("slot", Value::Null),
    ]);
    asks(&env, &repo, "c", 75).says(&[
        ("active_count", json!(1)),
        ("waiting_count", json!(2)),
        ("position", json!(2)),
    ]);
    let entry = queue.entry("b");
    let fields = keys(&entry);
    assert!(
        fields.starts_with(&["id", "plan_id", "ts", "project_root"]),
        "{entry}"
    );
    assert_eq!(entry["active_since"], Value::Null, "{entry}");
    assert_eq!(entry["project_root"], json!(there));
    assert_eq!(queue.ids("waiting"), [id, queue.id_of("c")]);
    // The exit code says so too, unless it must not.
    let call = env
        .call(&repo)
        .args("--exit-zero build acquire --max-slots 1 --as c");
    let run = call.run().exits(0);
    assert!(run.stdout.contains("admission: blocked"), "{run:#?}");
}

#[test]
fn again_with_a_slot() {
    for plans in [false, true] {
        let (env, repo) = one();
        if plans {
            plan(&repo, "a");
            plan(&repo, "b");
        }
        let queue = env.builds();
        let first = asks(&env, &repo, "a", 0);
        let before = queue.entry("a");
        asks(&env, &repo, "b", 75);
        let again = asks(&env, &repo, "a", 0);
        again.fields_then(ACQUIRED, ACQUIRED_MORE).says(&[
            ("id", first.get("id")),
            ("admission", json!("admitted")),
            ("active_count", json!(1)),
            ("waiting_count", json!(1)),
            ("slot", json!(1)),
        ]);
        assert_eq!(queue.active(), ["a"]);
        let now = queue.entry("a");
        for field in ["ts", "project_root"] {
            assert_eq!(now[field], before[field], "{field}");
        }
        assert_eq!(now["git_locks"]["since"], before["git_locks"]["since"]);
    }
}

#[test]
fn again_while_waiting() {
    let (env, repo) = one();
    let queue = env.builds();
    asks(&env, &repo, "a", 0);
    let first = asks(&env, &repo, "b", 75);
    asks(&env, &repo, "c", 75);
    let before = queue.text();
    asks(&env, &repo, "b", 75).says(&[
        ("id", first.get("id")),
        ("position", json!(1)),
        ("waiting_count", json!(2)),
    ]);
    // So soon after the first, it is not even recorded.
    assert_eq!(queue.text(), before);
    assert_eq!(queue.waiting(), ["b", "c"]);
}

#[test]
fn an_id_means_another_in_another_project() {
    let (env, repo, there) = two();
    let queue = env.builds();
    let here = env.build(&repo, "acquire --as a").exits(0);
    let other = env.build(&there, "acquire --as a").exits(0);
    assert_ne!(here.get("id"), other.get("id"));
    other.says(&[("active_count", json!(2)), ("slot", json!(2))]);
    env.build(&there, "release --as a")
        .exits(0)
        .says(&[("action", json!("released")), ("active_count", json!(1))]);
    assert_eq!(queue.ids("active"), [here.text("id")]);
    // Nor does it stand in for the other when it waits.
    asks(&env, &there, "a", 75);
    assert_eq!(
        (queue.active(), queue.waiting()),
        (vec!["a".into()], vec!["a".into()])
    );
    leaves(&env, &there, "a").says(&[("action", json!("released"))]);
    assert_eq!(queue.ids("active"), [here.text("id")]);
}

#[test]
fn released() {
    let (env, repo) = one();
    let queue = env.builds();
    let id = asks(&env, &repo, "a", 0).get("id");
    leaves(&env, &repo, "a").fields(RELEASED).says(&[
        ("status", json!("success")),
        ("plan_id", json!("a")),
        ("id", id.clone()),
        ("action", json!("released")),
        ("promoted", Value::Null),
        ("max_slots", json!(1)),
        ("active_count", json!(0)),
        ("waiting_count", json!(0)),
        ("queue_path", json!(queue.path())),
    ]);
    let log = queue.list("run_log");
    assert_eq!(log.len(), 1);
    assert_eq!(keys(&log[0]), ["id", "plan_id", "ts"]);
    assert_eq!(log[0]["id"], id);
    assert_eq!(log[0]["plan_id"], "a");
    assert!(log[0]["ts"].is_f64(), "{log:?}");
    queue.is_empty();
}

#[test]
fn a_release_gives_the_slot_to_the_next_and_says_so() {
    let (env, repo, there) = two();
    let queue = env.builds();
    asks(&env, &repo, "a", 0);
    let b = asks(&env, &there, "b", 75).get("id");
    asks(&env, &repo, "c", 75);
    leaves(&env, &repo, "a").fields(RELEASED).says(&[
        ("promoted", b.clone()),
        ("active_count", json!(1)),
        ("waiting_count", json!(1)),
    ]);
    assert_eq!(queue.active(), ["b"]);
    let since = queue.entry("b")["active_since"].as_f64().expect("a time");
    assert!(since > queue.entry("b")["ts"].as_f64().expect("a time"));
    // It finds that it has it.
    asks(&env, &there, "b", 0).says(&[("id", b), ("slot", json!(1)), ("waiting_count", json!(1))]);
    asks(&env, &repo, "c", 75).says(&[("position", json!(1))]);
}

#[test]
fn a_waiter_that_lets_go_gives_nobody_a_slot() {
    let (env, repo) = one();
    let queue = env.builds();
    asks(&env, &repo, "a", 0);
    let b = asks(&env, &repo, "b", 75).get("id");
    asks(&env, &repo, "c", 75);
    leaves(&env, &repo, "b").fields(RELEASED).says(&[
        ("id", b),
        ("action", json!("released")),
        ("promoted", Value::Null),
        ("active_count", json!(1)),
        ("waiting_count", json!(1)),
    ]);
    assert_eq!(
        (queue.active(), queue.waiting()),
        (vec!["a".into()], vec!["c".into()])
    );
    assert_eq!(queue.list("run_log").len(), 1);
}

#[test]
fn nothing_to_release() {
    let (env, repo, there) = two();
    let queue = env.builds();
    let nothing = |dir, args: &str, id: Value, active: usize| {
        let run = env.build(dir, args).exits(0);
        let fields = format!("{RELEASED} message");
        run.fields(&fields).says(&[
            ("status", json!("success")),
            ("id", id),
            ("action", json!("noop")),
            ("promoted", Value::Null),
            ("active_count", json!(active)),
        ]);
    };
    nothing(&repo, "release --as a", Value::Null, 0);
    assert!(!queue.path().exists(), "a queue was made for nothing");
    asks(&env, &repo, "a", 0);
    let before = tree(&env.home_root());
    let logs = tree(&repo.join(".plan/logs"));
    nothing(&repo, "release --as b", Value::Null, 1);
    nothing(&there, "release --as a", Value::Null, 1);
    nothing(
        &repo,
        "release --as a --id a:no-such",
        json!("a:no-such"),
        1,
    );
    nothing(&repo, "release --id nothing", json!("nothing"), 1);
    same_tree(&before, &tree(&env.home_root()));
    same_tree(&logs, &tree(&repo.join(".plan/logs")));
    assert!(!there.join(".plan/logs").exists());
}

#[test]
fn release_by_the_entry() {
    let (env, repo, there) = two();
    let queue = env.builds();
    for id in ["theirs", "a", "b"] {
        plan(&there, id);
    }
    queue.write_entries(&[foreign("theirs", &there, Some(10.0))], &[]);
    let a = env.build(&there, "acquire --as a").exits(0).get("id");
    let b = asks(&env, &there, "b", 75).get("id");
    // Another's, whoever made it, from another project.
    let entry = queue.id_of("theirs");
    env.build(
        &repo,
        &format!("release --as me --max-slots 1 --id {entry}"),
    )
    .exits(0)
    .fields(RELEASED)
    .says(&[
        ("plan_id", json!("me")),
        ("id", json!(entry)),
        ("action", json!("released")),
        ("promoted", Value::Null),
    ]);
    assert_eq!(queue.list("run_log")[0]["plan_id"], "me");
    assert_eq!(queue.list("run_log")[0]["id"], json!(entry));
    let named = a.as_str().expect("an id").to_owned();
    env.build(&repo, &format!("release --max-slots 1 --id {named}"))
        .exits(0)
        .says(&[("action", json!("released")), ("promoted", b.clone())]);
    assert_eq!(queue.active(), ["b"]);
    env.build(
        &repo,
        &format!("release --id {}", b.as_str().expect("an id")),
    )
    .exits(0)
    .says(&[("action", json!("released")), ("active_count", json!(0))]);
    assert_eq!(queue.list("run_log").len(), 3);
}

#[test]
fn the_last_hundred_releases_are_remembered() {
    let (env, repo) = one();
    let queue = env.builds();
    let line = |number: usize| json!({"id": format!("x:{number}"), "plan_id": "x", "ts": 1.5, "more": [number]});
    let old: Vec<Value> = (0..100).map(line).collect();
    queue.write(&json!({"active": [], "waiting": [], "run_log": old}));
    asks(&env, &repo, "a", 0);
    leaves(&env, &repo, "a");
    let log = queue.list("run_log");
    assert_eq!(log.len(), 100);
    assert_eq!(log[..99], old[1..]);
    assert_eq!(plan_of(log[99]["id"].as_str().expect("an id")), "a");
    // Nor does one that another wrote too long stay so.
    let old: Vec<Value> = (0..150).map(line).collect();
    queue.write(&json!({"active": [], "waiting": [], "run_log": old}));
    asks(&env, &repo, "a", 0);
    leaves(&env, &repo, "a");
    let log = queue.list("run_log");
    assert_eq!(log.len(), 100);
    assert_eq!(log[..99], old[51..]);
}

#[test]
fn where_plans_are_kept_a_plan_vouches() {
    let (env, repo) = one();
    keep_plans(&repo);
    plan(&repo, "a");
    let queue = env.builds();
    let run = asks(&env, &repo, "a", 0);
    assert_eq!(run.get("expires_at"), Value::Null, "{run:#?}");
    assert_eq!(queue.entry("a")["git_locks"]["kind"], "plan");
    let leased = env.build(&repo, "acquire --as b --ttl 10m").exits(0);
    assert!(leased.number("expires_at") > crate::common::fixture::now() + 500.0);
    assert_eq!(queue.entry("b")["git_locks"]["kind"], "leased");
}

#[test]
fn a_waiter_keeps_the_length_of_lease_that_it_asked_for() {
    let (env, repo) = one();
    let queue = env.builds();
    asks(&env, &repo, "a", 0);
    env.build(&repo, "acquire --max-slots 1 --as b --ttl 7h --reason why")
        .exits(75);
    leaves(&env, &repo, "a");
    let run = asks(&env, &repo, "b", 0);
    let left = run.number("expires_at") - crate::common::fixture::now();
    assert!(
        (7.0 * 3600.0 - 60.0..=7.0 * 3600.0).contains(&left),
        "{left}"
    );
    assert_eq!(queue.entry("b")["git_locks"]["reason"], "why");
}

#[test]
fn titles_come_and_go() {
    let (env, repo) = one();
    let title = |id: &str| {
        let path = repo
            .join(".git/git-locks/titles")
            .join(format!("{id}.json"));
        let text = std::fs::read(path).unwrap_or_default();
        let title: Value = serde_json::from_slice(&text).unwrap_or_default();
        title["build-queue"]["state"].clone()
    };
    env.merge(&repo, "acquire --as a").exits(0);
    asks(&env, &repo, "a", 0);
    assert_eq!(title("a"), "build-busy");
    asks(&env, &repo, "b", 75);
    assert_eq!(title("b"), Value::Null, "it has no slot");
    leaves(&env, &repo, "a");
    assert_eq!(title("a"), Value::Null);
    let path = repo.join(".git/git-locks/titles/a.json");
    let left = std::fs::read_to_string(path).expect("another owner's title");
    assert!(left.contains("lock-owned"), "{left}");
    env.build(&repo, "acquire --as c --no-title-token").exits(0);
    assert_eq!(title("c"), Value::Null);
}
