//! The sessions of all worktrees, by their leases and by the second witness.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::common::fixture::worktree;
use crate::common::{DEADLINE, Env, Run};
use crate::stage::{lease, session, silent_for, state, write_lease, write_state};

/// A repository with a worktree beside it, on a branch.
fn two() -> (Env, PathBuf, PathBuf) {
    let env = Env::new();
    let repo = env.init("repo");
    let beside = worktree(&env, &repo, "beside");
    env.git(&beside, "switch -q -c topic");
    (env, repo, beside)
}

fn rows(run: &Run) -> Vec<Value> {
    run.get("peers").as_array().expect("a list").clone()
}

fn ids(run: &Run) -> Vec<Value> {
    rows(run)
        .iter()
        .map(|row| row["session_id"].clone())
        .collect()
}

#[test]
fn every_worktree_tells_of_its_session() {
    let (env, repo, beside) = two();
    let alone = session(&env, &repo, "peers --exit-code").exits(0);
    assert_eq!(alone.get("live_peers"), 0);
    session(&env, &repo, "acquire --session-id first --mode feature").exits(0);
    let label = "acquire --session-id second --mode deep --semantic-session-id label";
    session(&env, &beside, label).exits(0);
    write_state(&beside, ".claude", state("label", "active", 0.5));
    for dir in [&repo, &beside] {
        let run = session(&env, dir, "peers --session-id first --exit-code").exits(1);
        assert_eq!(run.get("live_peers"), 1);
        let [first, second] = &rows(&run)[..] else {
            panic!("not two: {run:#?}");
        };
        assert_eq!(first["worktree"], json!(repo));
        assert_eq!(
            (&first["mine"], &first["live"]),
            (&json!(true), &json!(true))
        );
        let told = [
            ("worktree", json!(beside)),
            ("branch", json!("topic")),
            ("source", json!("lock")),
            ("session_id", json!("second")),
            ("semantic_session_id", json!("label")),
            ("mode", json!("deep")),
            ("same_host", json!(true)),
            ("live", json!(true)),
            ("current_wave", json!(3)),
            ("mine", json!(false)),
        ];
        for (field, value) in told {
            assert_eq!(second[field], value, "{field} of {second:#}");
        }
        assert!(second["age_hours"].as_f64() < Some(0.1), "{second:#}");
    }
    // Stale is told, and is no live peer.
    write_lease(&beside, silent_for("second", 5.0, "elsewhere").to_string());
    fs::remove_file(beside.join(".claude/STATE.md")).expect("remove");
    let run = session(&env, &repo, "peers --session-id first --exit-code").exits(0);
    assert_eq!(rows(&run)[1]["live"], false);
    assert_eq!(rows(&run)[1]["same_host"], false);
    // Nobody is named: nobody's is the caller's.
    let run = session(&env, &repo, "peers --exit-code").exits(1);
    assert_eq!(rows(&run)[0]["mine"], json!(null));
}

#[test]
fn a_state_of_its_own_is_a_second_witness() {
    let (env, repo, beside) = two();
    for directory in [".pi", ".cursor", ".codex", ".claude"] {
        // The first that exists counts.
        write_state(&beside, directory, state(directory, "active", 1.0));
        let run = session(&env, &repo, "peers --exit-code --session-id me").exits(1);
        let [row] = &rows(&run)[..] else {
            panic!("not one: {run:#?}");
        };
        assert_eq!(row["session_id"], directory);
        assert_eq!(row["source"], "state-md");
        assert_eq!(row["branch"], "topic");
        assert_eq!(row["current_wave"], 3);
        assert_eq!(row["host"], json!(null));
    }
    let own = "peers --exit-code --session-id raw --semantic-session-id label";
    for (text, peer) in [
        (state("raw", "active", 1.0), false),
        (state("label", "active", 1.0), false),
        (state("labels", "active", 1.0), true),
        (state("other", "completed", 1.0), false),
        (state("other", "active", 4.1), false),
        (state("other", "active", 3.9), true),
    ] {
        write_state(&beside, ".claude", &text);
        let run = session(&env, &repo, own);
        assert_eq!(ids(&run).len(), usize::from(peer), "{text}");
        run.exits(i32::from(peer));
    }
    // The label that the caller's lease bears is known.
    let label = "acquire --session-id raw --semantic-session-id label --mode deep";
    session(&env, &repo, label).exits(0);
    write_state(&beside, ".claude", state("label", "active", 1.0));
    session(&env, &repo, "peers --exit-code --session-id raw").exits(0);
    session(&env, &repo, "peers --exit-code --session-id other").exits(1);
}

#[test]
fn what_makes_no_sense_is_no_peer_and_is_told_of_on_request() {
    let (env, repo, beside) = two();
    let path = beside.join(".claude/STATE.md");
    fs::create_dir_all(beside.join(".claude")).expect("mkdir");
    let fifo: &dyn Fn() = &|| {
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    };
    let text = |text: Vec<u8>| {
        let path = path.clone();
        move || fs::write(&path, &text).expect("write")
    };
    let unclosed = text(b"---\nstatus: active\nsession: x\n".to_vec());
    let binary = text(vec![0xff; 100]);
    let evil = text(b"---\nstatus: active\nsession: \"a\\u001b[31m\nstarted_at: x\n---\n".to_vec());
    let huge = text([&b"---\n"[..], &vec![b'a'; 1 << 20][..]].concat());
    let directory = || fs::create_dir(&path).expect("mkdir");
    let dangling = || symlink("nowhere", &path).expect("a link");
    let makers: [&dyn Fn(); 7] = [
        &unclosed, &binary, &evil, &huge, &directory, &dangling, fifo,
    ];
    for (number, make) in makers.iter().enumerate() {
        make();
        let quiet = session(&env, &repo, "peers --exit-code").exits(0);
        assert_eq!(
            (quiet.stderr.as_str(), ids(&quiet).len()),
            ("", 0),
            "{number}"
        );
        let told = session(&env, &repo, "peers -v").exits(0);
        assert!(told.stderr.contains("STATE.md"), "{number}: {told:#?}");
        assert!(!told.stderr.contains('\u{1b}'), "{number}: {told:#?}");
        if path.is_dir() {
            fs::remove_dir(&path).expect("remove");
        } else {
            fs::remove_file(&path).expect("remove");
        }
    }
    // A lease is no different.
    for (text, why) in [
        ("", "makes no sense"),
        ("{\"session_id\": 1}", "makes no sense"),
    ] {
        write_lease(&beside, text);
        let told = session(&env, &repo, "peers -v --exit-code").exits(0);
        assert!(told.stderr.contains(why), "{told:#?}");
    }
    fs::remove_file(lease(&beside)).expect("remove");
    nix::unistd::mkfifo(&lease(&beside), nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    let mut child = env.call(&repo).args("session peers -v").spawn();
    crate::common::eventually(DEADLINE, || child.try_wait().expect("it runs").is_some());
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn missing_worktrees_and_bare_repositories() {
    let (env, repo, beside) = two();
    let third = worktree(&env, &repo, "third");
    session(&env, &third, "acquire --session-id gone --mode deep").exits(0);
    fs::remove_dir_all(&third).expect("remove");
    session(&env, &beside, "acquire --session-id there --mode deep").exits(0);
    let run = session(&env, &repo, "peers").exits(0);
    assert_eq!(ids(&run), ["there"]);
    let bare = env.path("bare.git");
    env.git_args(env.root(), &["clone", "-q", "--bare", "repo", "bare.git"]);
    let tree = env.path("tree");
    env.git_args(&bare, &["worktree", "add", "-q", "-b", "new", "../tree"]);
    session(&env, &tree, "acquire --session-id bare --mode deep").exits(0);
    let run = session(&env, &tree, "peers").exits(0);
    assert_eq!(ids(&run), ["bare"]);
    assert_eq!(rows(&run)[0]["branch"], "new");
}

#[test]
fn peers_are_weighed_when_that_is_asked_for() {
    let (env, repo, beside) = two();
    let ask = |mode: &str| {
        let args = format!("acquire --session-id new --consider-peers --mode {mode}");
        session(&env, &repo, &args)
    };
    for (theirs, mine, reason) in [
        ("housekeeping", "deep", "active-incompatible-exclusive"),
        ("deep", "bootstrap", "active-incompatible-exclusive"),
        ("feature", "deep", "active-compatible-parallel"),
        ("unheard-of", "feature", "active-compatible-parallel"),
        ("memory-cleanup", "plan", "active-readonly-bypass"),
        ("deep", "repo-audit", "active-readonly-bypass"),
    ] {
        let args = format!("take --yes --session-id old --mode {theirs}");
        session(&env, &beside, &args).exits(0);
        let bypass = reason == "active-readonly-bypass";
        let run = ask(mine).exits(if bypass { 0 } else { 75 });
        let case = format!("{mine} beside {theirs}: {run:#?}");
        assert_eq!(run.get("reason"), reason, "{case}");
        assert_eq!(run.get("blocking_session_id"), "old", "{case}");
        assert_eq!(run.get("blocking_mode"), theirs, "{case}");
        assert_eq!(run.get("blocking_worktree"), json!(beside), "{case}");
        assert_eq!(ids(&run), ["old"], "{case}");
        let warned = run
            .stderr
            .contains("warning: the mode of the session old is unheard-of");
        assert_eq!(warned, theirs == "unheard-of", "{case}");
        assert!(!repo.join(".orchestrator").exists(), "{case}");
    }
    // Who only reads is in nobody's way, and who is stale neither.
    session(&env, &beside, "take --yes --session-id old --mode plan").exits(0);
    assert_eq!(ask("deep").exits(0).get("action"), "acquired");
    session(&env, &repo, "release --session-id new").exits(0);
    write_lease(&beside, silent_for("old", 5.0, "elsewhere").to_string());
    assert_eq!(ask("housekeeping").exits(0).get("action"), "acquired");
    // Without the flag nobody else is weighed.
    session(
        &env,
        &beside,
        "take --yes --session-id old --mode housekeeping",
    )
    .exits(0);
    session(&env, &repo, "release --session-id new").exits(0);
    session(&env, &repo, "acquire --session-id new --mode deep").exits(0);
}
