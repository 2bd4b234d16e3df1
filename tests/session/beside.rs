//! Who is weighed as a neighbour, and who is not.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::fixture::worktree;
use crate::common::{Env, Run, chmod, needs_root};
use crate::stage::{lease, noted, session, silent_for, write_lease, write_state};

/// The front matter of a session that began half an hour ago.
fn state(session: &str) -> String {
    crate::stage::state(session, "active", 0.5)
}

/// `acquire --consider-peers` of the session `raw`, with more arguments.
fn ask(env: &Env, dir: &Path, more: &str) -> Run {
    let args = format!("acquire --consider-peers --session-id raw --mode deep {more}");
    session(env, dir, &args)
}

#[test]
fn a_session_is_not_in_its_own_way() {
    let env = Env::new();
    let repo = env.init("repo");
    let beside = worktree(&env, &repo, "beside");
    for (text, more, blocked) in [
        (state("raw"), "", false),
        (state("label"), "--semantic-session-id label", false),
        (state("label"), "--semantic-session-id lab", true),
        (state("label"), "", true),
    ] {
        write_state(&beside, ".claude", &text);
        let case = format!("{more}: {text}");
        let run = ask(&env, &repo, more);
        if blocked {
            let run = run.exits(75);
            assert_eq!(run.get("blocking_session_id"), "label", "{case}");
            assert!(!lease(&repo).exists(), "{case}");
        } else {
            assert_eq!(run.exits(0).get("action"), "acquired", "{case}");
            session(&env, &repo, "release --session-id raw").exits(0);
            // A run is no different.
            let run = format!("session run --consider-peers --session-id raw {more} -- true");
            env.locks(&repo, &run).exits(0);
        }
    }
    fs::remove_file(beside.join(".claude/STATE.md")).expect("remove");
    // A label proves nothing: whose lease bears it is another all the same.
    let other = "acquire --session-id other --semantic-session-id label --mode deep";
    session(&env, &beside, other).exits(0);
    let run = ask(&env, &repo, "--semantic-session-id label").exits(75);
    assert_eq!(run.get("blocking_session_id"), "other");
    // The same session is, wherever it is noted.
    session(&env, &beside, "release --session-id other").exits(0);
    session(&env, &beside, "acquire --session-id raw --mode deep").exits(0);
    ask(&env, &repo, "").exits(0);
}

#[test]
fn worktrees_are_told_apart_by_every_byte_of_their_names() {
    let env = Env::new();
    let repo = env.init("repo");
    let named = |byte: u8| worktree(&env, &repo, OsString::from_vec(vec![b'w', byte]));
    let [one, two] = [named(0xff), named(0xfe)];
    session(&env, &one, "acquire --session-id one --mode housekeeping").exits(0);
    let run = ask(&env, &two, "").exits(75);
    assert_eq!(run.get("reason"), "active-incompatible-exclusive");
    assert_eq!(run.get("blocking_session_id"), "one");
    assert!(!lease(&two).exists());
}

#[test]
fn what_stands_in_the_own_checkout_is_no_neighbour() {
    let env = Env::new();
    let repo = env.init("repo");
    let beside = worktree(&env, &repo, "beside");
    let alias = env.path("alias");
    std::os::unix::fs::symlink(&beside, &alias).expect("a link");
    write_state(&beside, ".pi", state("other"));
    let below = beside.join("below");
    fs::create_dir(&below).expect("mkdir");
    for dir in [&beside, &alias, &below] {
        ask(&env, dir, "").exits(0);
        session(&env, dir, "release --session-id raw").exits(0);
    }
    ask(&env, &repo, "").exits(75);
}

#[test]
fn worktrees_that_cannot_be_told_stop_no_session() {
    if !needs_root("beside::worktrees_that_cannot_be_told_stop_no_session") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    worktree(&env, &repo, "beside");
    let home = env.home_for(4242, 4242);
    fs::write(home.join(".gitconfig"), "[safe]\n\tdirectory = *\n").expect("write");
    let registry = repo.join(".git/worktrees");
    chmod(&registry, 0);
    let asked = "--format json session acquire --consider-peers --session-id raw --mode deep";
    let run = env.call(&repo).args(asked).user(&env, 4242, 4242).run();
    let run = run.exits(0);
    assert_eq!(run.get("status"), "degraded", "{run:#?}");
    assert_eq!(run.get("reason"), "fs-error", "{run:#?}");
    assert!(run.text("error").contains("worktrees"), "{run:#?}");
    assert!(run.stderr.starts_with("warning: "), "{run:#?}");
    let run = "session run --consider-peers --session-id raw -- echo ran";
    let run = env.call(&repo).args(run).user(&env, 4242, 4242).run();
    assert_eq!(run.exits(0).stdout, "ran\n");
    assert!(!lease(&repo).exists());
    // Who asked for nothing but the list is told that there is none.
    let peers = env.call(&repo).args("session peers");
    peers.user(&env, 4242, 4242).run().exits(128);
    chmod(&registry, 0o755);
}

#[test]
fn the_words_of_a_neighbour_steer_no_terminal() {
    let env = Env::new();
    let repo = env.init("repo");
    let beside = worktree(&env, &repo, "beside");
    let evil = "a\u{1b}[31m\n\u{202e}b";
    let mut there = silent_for(evil, 1.0, evil);
    there["mode"] = evil.into();
    write_lease(&beside, there.to_string());
    let asked = "acquire --consider-peers --session-id raw --mode";
    for (args, code) in [
        (format!("--format human session {asked} deep"), 75),
        (format!("--format human session {asked} plan"), 0),
        (
            "session run --consider-peers --mode deep -- true".to_owned(),
            75,
        ),
        (
            "session run --consider-peers --mode plan -- true".to_owned(),
            0,
        ),
    ] {
        let run = env.locks(&repo, &args).exits(code);
        let shown = format!("{}{}", run.stdout, run.stderr);
        assert!(shown.contains(r"a\u{1b}[31m\n\u{202e}b"), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
    }
}

#[test]
fn a_head_on_no_branch_has_none_and_a_label_takes_no_place() {
    let env = Env::new();
    let repo = env.init("repo");
    let beside = worktree(&env, &repo, "beside");
    let begin = "acquire --session-id raw --semantic-session-id label --mode deep";
    session(&env, &beside, begin).exits(0);
    let peers = session(&env, &repo, "peers --session-id label --exit-code").exits(1);
    let row = peers.get("peers")[0].clone();
    assert_eq!(row["branch"], Value::Null, "{row:#}");
    assert_eq!(row["mine"], json!(false), "{row:#}");
    let before = noted(&beside);
    for id in ["label", "ra", "RAW", "raw-"] {
        let taking = format!("take --session-id {id} --mode deep");
        let refused = session(&env, &beside, &taking).exits(1);
        assert_eq!(refused.get("reason"), "not_confirmed", "{id}");
    }
    for id in ["", " raw", "raw ", "raw\n", "raw\u{a0}"] {
        for verb in ["take", "heartbeat", "release"] {
            let call = env.call(&beside).args("session").arg(verb);
            let call = if verb == "take" {
                call.args("--mode deep")
            } else {
                call
            };
            call.arg("--session-id").arg(id).run().exits(2);
        }
    }
    assert_eq!(noted(&beside), before);
    // One's own needs no consent.
    let own = session(&env, &beside, "take --session-id raw --mode deep").exits(0);
    assert_eq!(own.get("replaced_state"), "own");
}
