//! The file, as other programs and accidents leave it.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::cast::{asks, leaves, one, two};
use crate::common::builds::foreign;
use crate::common::fixture::{now, plan, same_tree, tree};
use crate::common::{DEADLINE, eventually};

#[test]
fn what_others_wrote_is_kept_to_the_byte() {
    let (env, repo, there) = two();
    plan(&there, "odd");
    plan(&there, "next");
    let queue = env.builds();
    let since = now() - 5.0;
    let root = there.display();
    let odd = format!(
        r#"{{"id": "odd:1", "plan_id":"odd",  "ts":1.50e1, "project_root": "{root}", "big": 123456789012345678901234567890, "active_since": {since}, "a\u00e9": [ 1, {{ }} ], "n": 1.10}}"#
    );
    let next = format!(
        r#"{{"zeal":  1e2, "id": "next:2", "ts": 3, "plan_id": "next", "project_root": "{root}", "esc": "\u0041\/"}}"#
    );
    queue.write_text(&format!(
        r#"{{"version": 1.0, "active": [{odd}], "between": {{"a" : [1.00]}}, "waiting": [{next}], "run_log": [], "after": "\u00fc"}}"#
    ));
    asks(&env, &repo, "a", 75);
    leaves(&env, &repo, "a");
    let text = queue.text();
    assert!(text.contains(&odd), "{text}");
    assert!(text.contains(&next), "{text}");
    for part in ["1.0", r#"{"a" : [1.00]}"#, r#""\u00fc""#] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let keys = |value: &Value| -> Vec<String> {
        value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect()
    };
    assert_eq!(
        keys(&queue.read()),
        [
            "version", "active", "between", "waiting", "run_log", "after"
        ]
    );
    // One that moves keeps what it does not have to change.
    env.build(&repo, "release --max-slots 1 --id odd:1")
        .exits(0)
        .says(&[("promoted", json!("next:2"))]);
    let text = queue.text();
    for part in [r#""zeal":"#, "1e2", r#""\u0041\/""#] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let entry = queue.entry("next");
    assert!(entry["active_since"].as_f64() > Some(since), "{entry}");
    let before: Vec<String> = ["zeal", "id", "ts", "plan_id", "project_root", "esc"]
        .map(String::from)
        .to_vec();
    assert_eq!(keys(&entry)[..6], before[..]);
    assert_eq!(entry["git_locks"], Value::Null);
}

#[test]
fn unknown_fields_of_our_own_record_are_kept() {
    let (env, repo) = one();
    let queue = env.builds();
    asks(&env, &repo, "a", 0);
    asks(&env, &repo, "b", 75);
    queue.edit(|all| all["waiting"][0]["other"] = json!({"kept": [1, 2]}));
    leaves(&env, &repo, "a");
    asks(&env, &repo, "b", 0);
    assert_eq!(queue.entry("b")["other"], json!({"kept": [1, 2]}));
}

#[test]
fn a_wrong_shape_is_empty_by_itself() {
    let (env, repo) = one();
    plan(&repo, "x");
    let queue = env.builds();
    let living = foreign("x", &repo, Some(3.0));
    queue.write(&json!({"active": 3, "waiting": {"id": "x:1"}, "run_log": "no", "kept": 1}));
    asks(&env, &repo, "a", 0).says(&[("active_count", json!(1)), ("waiting_count", json!(0))]);
    assert_eq!(queue.read()["kept"], 1);
    leaves(&env, &repo, "a");
    assert_eq!(queue.list("run_log").len(), 1);
    queue.write(&json!({
        "active": [3, null, {"id": 4}, {"plan_id": "x"}, "x:1", [], living],
        "waiting": [null, {"ts": 1.0}],
    }));
    env.build(&repo, "check")
        .exits(0)
        .says(&[("active_count", json!(1)), ("waiting_count", json!(0))]);
    env.build(&repo, "acquire --as a --ttl 1h")
        .exits(0)
        .says(&[("active_count", json!(2))]);
    assert_eq!(queue.active(), ["x", "a"]);
    assert_eq!(queue.list("active").len(), 2);
}

#[test]
fn times_that_are_none() {
    let (env, repo) = one();
    for id in ["x", "y", "z"] {
        plan(&repo, id);
    }
    let queue = env.builds();
    let root = json!(repo);
    queue.write_entries(
        &[
            json!({"id": "x:1", "plan_id": "x", "ts": "soon", "project_root": root}),
            json!({"id": "y:1", "plan_id": "y", "ts": null, "project_root": root, "active_since": "then"}),
        ],
        &[json!({"id": "z:1", "plan_id": "z", "ts": [], "project_root": root, "active_since": null})],
    );
    // Since when they are active is not known: that is no reason to think that it was long ago.
    asks(&env, &repo, "a", 75).says(&[("active_count", json!(2)), ("waiting_count", json!(2))]);
    assert_eq!(queue.active(), ["x", "y"]);
    env.build(&repo, "release --max-slots 2 --id x:1")
        .exits(0)
        .says(&[("promoted", json!("z:1"))]);
    assert_eq!(queue.active(), ["y", "z"]);
}

#[test]
fn an_id_that_names_no_plan_is_dead_and_makes_no_path() {
    let (env, repo) = one();
    let queue = env.builds();
    let entry = |id: &str| json!({"id": id, "plan_id": "x", "ts": now(), "project_root": repo, "active_since": now()});
    let odd = [
        "../../..:1",
        "UPPER:1",
        "no-colon",
        ":1",
        "a/b:1",
        "\u{1b}[31m:1",
    ];
    let active: Vec<Value> = odd.iter().map(|id| entry(id)).collect();
    queue.write_entries(&active, &[]);
    asks(&env, &repo, "a", 0).says(&[("active_count", json!(1))]);
    assert_eq!(queue.active(), ["a"]);
}

#[test]
fn what_is_no_json_object_is_set_aside_once() {
    let (env, repo) = one();
    let queue = env.builds();
    let aside = env.home_root().join("build-queue.json.corrupt");
    for text in ["not json", "[1, 2]", "{\"active\": [", "\0\0\0"] {
        queue.write_text(text);
        env.build(&repo, "check")
            .exits(0)
            .says(&[("active_count", json!(0))]);
        assert!(!aside.exists(), "check wrote");
        let run = asks(&env, &repo, "a", 0);
        assert!(
            run.stderr.contains("warning: ") && run.stderr.contains("corrupt"),
            "{run:#?}"
        );
        assert_eq!(std::fs::read_to_string(&aside).ok().as_deref(), Some(text));
        assert_eq!(queue.active(), ["a"]);
        let again = leaves(&env, &repo, "a");
        assert_eq!(again.stderr, "");
        std::fs::remove_file(&aside).expect("what was set aside");
    }
    queue.write_text("");
    let run = asks(&env, &repo, "a", 0);
    assert_eq!(run.stderr, "");
    assert!(!aside.exists());
}

#[test]
fn a_record_of_a_later_format_proves_nothing_and_is_left_alone() {
    let (env, repo) = one();
    let queue = env.builds();
    let later = json!({"format": 2, "who": "knows"});
    for unreadable in [
        later,
        json!("words"),
        json!({"format": 1, "kind": "unheard-of"}),
    ] {
        let mut entry = foreign("dead", &repo, Some(5.0));
        entry["git_locks"] = unreadable.clone();
        queue.write_entries(&[entry], &[]);
        asks(&env, &repo, "a", 75).says(&[("active_count", json!(1))]);
        assert_eq!(queue.entry("dead")["git_locks"], unreadable);
        let check = env.build(&repo, "check").exits(0);
        assert_eq!(
            check.json()["active"][0]["staleness"],
            "unknown",
            "{check:#?}"
        );
    }
}

#[test]
fn modes() {
    let (env, repo) = one();
    let queue = env.builds();
    let script = format!(
        "umask 0; exec '{}' build acquire --as a",
        crate::common::BIN
    );
    let output = env
        .command("sh")
        .current_dir(&repo)
        .args(["-c", &script])
        .output();
    assert!(output.expect("sh").status.success());
    for file in ["build-queue.json", "build-queue.json.guard"] {
        let path = env.home_root().join(file);
        let mode = std::fs::metadata(&path)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    for (path, _) in tree(&env.home_root()) {
        let mode = std::fs::metadata(&path)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", path.display());
    }
    queue.read();
}

#[test]
fn something_else_in_its_place_is_named_and_left_alone() {
    let (env, repo) = one();
    asks(&env, &repo, "a", 0);
    let path = env.builds().path();
    let real = env.path("real.json");
    std::fs::rename(&path, &real).expect("moved");
    let refused = || {
        for verb in ["acquire --as b", "release --as b", "check"] {
            let run = env.build(&repo, verb).exits(128).one_line_error();
            assert!(run.stderr.contains("build-queue.json"), "{run:#?}");
            run.says(&[("status", json!("error")), ("error_code", json!("IO"))]);
        }
    };
    let before = std::fs::read(&real).expect("the queue");
    std::os::unix::fs::symlink(&real, &path).expect("a link");
    refused();
    assert_eq!(std::fs::read(&real).expect("the queue"), before);
    std::fs::remove_file(&path).expect("the link");
    std::fs::create_dir(&path).expect("a directory");
    refused();
    std::fs::remove_dir(&path).expect("the directory");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    refused();
}

#[test]
fn check_writes_nothing() {
    let (env, repo) = one();
    for id in ["a", "b"] {
        env.build(&repo, &format!("acquire --max-slots 1 --as {id}"));
    }
    env.builds().backdate("a", 9000.0);
    let (before, logs) = (tree(env.root()), tree(&repo));
    for args in [
        "check",
        "check --as a",
        "check --as b --exit-code",
        "check --max-slots 1",
    ] {
        env.build(&repo, args);
    }
    same_tree(&before, &tree(env.root()));
    same_tree(&logs, &tree(&repo));
    // Nor where there is nothing yet.
    let (env, repo) = one();
    let before = tree(env.root());
    env.build(&repo, "check").exits(0);
    env.build(&repo, "check --as a --exit-code").exits(0);
    same_tree(&before, &tree(env.root()));
}

#[test]
fn another_programs_guard_file_is_waited_for() {
    let (env, repo) = one();
    let queue = env.builds();
    asks(&env, &repo, "a", 0);
    std::fs::write(queue.guard_file(), "4711\n").expect("another's guard");
    let mut waiting = env
        .call(&repo)
        .args("--format json build acquire --as b")
        .start();
    // It has the kernel lock while it waits for the other.
    let guard = env.home_root().join("build-queue.json.guard");
    let is_taken = || {
        let file = std::fs::File::open(&guard).expect("the guard");
        file.try_lock().is_err()
    };
    eventually(DEADLINE, is_taken);
    assert!(waiting.is_alive());
    assert_eq!(queue.active(), ["a"]);
    std::fs::remove_file(queue.guard_file()).expect("the other's guard");
    waiting.wait(DEADLINE).exits(0);
    assert_eq!(queue.active(), ["a", "b"]);
}
