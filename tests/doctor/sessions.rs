//! The leases of sessions.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::common::fixture::worktree;
use crate::stage::{Stage, findings, kinds, leave, path_of, the};

fn lease(checkout: &Path) -> PathBuf {
    checkout.join(".orchestrator/session.lock")
}

/// A lease that was renewed so many years ago.
fn old(host: &str) -> String {
    let lease = json!({
        "session_id": "old one", "started_at": "2020-01-01T00:00:00Z",
        "last_heartbeat": "2020-01-01T00:00:00Z", "mode": "deep", "host": host, "ttl_hours": 4,
    });
    lease.to_string()
}

#[test]
fn one_that_is_active_is_fine() {
    let stage = Stage::new();
    let acquire = "session acquire --mode deep --session-id mine";
    stage.env.locks(&stage.main, acquire).exits(0);
    stage.is_well();
}

#[test]
fn one_that_is_over_is_worth_knowing_and_stays() {
    let stage = Stage::new();
    let beside = worktree(&stage.env, &stage.main, "beside");
    leave(&lease(&beside), &old("elsewhere.example"), 0);
    for args in ["", "--fix"] {
        let run = stage.doctor(args).exits(0);
        assert_eq!(kinds(&run), ["stale-session"], "{run:#?}");
        let finding = the(&run, "stale-session");
        assert_eq!(finding["severity"], "note");
        assert_eq!(finding["fixable"], false);
        assert_eq!(path_of(&finding), lease(&beside));
        let what = finding["what"].as_str().expect("what");
        assert!(what.contains("'old one'") && what.contains("another machine"));
        let action = finding["action"].as_str().expect("what to do");
        let take = format!("git -C {} locks session take --mode MODE", beside.display());
        assert!(action.ends_with(&take), "{action}");
    }
    assert!(lease(&beside).exists());
    let take = "session take --yes --session-id new --mode deep";
    stage.env.locks(&beside, take).exits(0);
    stage.is_well();
}

#[test]
fn one_that_makes_no_sense_and_what_was_set_aside_of_it_are_for_a_person() {
    let stage = Stage::new();
    leave(&lease(&stage.main), "{", 0);
    let run = stage.doctor("--fix").exits(1);
    assert_eq!(kinds(&run), ["corrupt-file"], "{run:#?}");
    let finding = the(&run, "corrupt-file");
    assert_eq!(finding["severity"], "warning");
    assert_eq!(path_of(&finding), lease(&stage.main));
    assert_eq!(fs::read_to_string(lease(&stage.main)).expect("there"), "{");
    let take = "session take --yes --session-id new --mode deep";
    stage.env.locks(&stage.main, take).exits(0);
    let run = stage.doctor("--fix").exits(1);
    assert_eq!(kinds(&run), ["corrupt-copy"], "{run:#?}");
    let copy = path_of(&the(&run, "corrupt-copy"));
    assert_eq!(copy, lease(&stage.main).with_extension("lock.corrupt"));
    fs::remove_file(&copy).expect("nobody removed it");
    stage.is_well();
}

#[test]
fn one_that_cannot_be_read_hides_no_other() {
    let stage = Stage::new();
    let [bad, over, gone] = ["bad", "over", "gone"].map(|name| {
        let tree = worktree(&stage.env, &stage.main, name);
        fs::create_dir_all(tree.join(".orchestrator")).expect("a directory");
        tree
    });
    fs::create_dir(lease(&bad)).expect("a directory in its place");
    leave(&lease(&over), &old("elsewhere.example"), 0);
    fs::remove_dir_all(&gone).expect("removed");
    let run = stage.doctor("--fix").exits(1);
    let expected = ["unreadable", "stale-session", "worktree-marker"];
    assert_eq!(kinds(&run), expected, "{run:#?}");
    let unreadable = findings(&run).remove(0);
    let what = unreadable["what"].as_str().expect("what");
    assert!(what.contains(&lease(&bad).display().to_string()), "{what}");
}

#[test]
fn hostile_words_steer_no_terminal() {
    let stage = Stage::new();
    let hostile = json!({
        "session_id": "\u{1b}[2J\u{202e}x", "started_at": "2020-01-01T00:00:00Z",
        "host": "\u{1b}]0;gotcha\u{7}",
    });
    leave(&lease(&stage.main), &hostile.to_string(), 0);
    for form in ["human", "toon", "json"] {
        let call = stage.env.call(&stage.main).env("PATH", stage.search_path());
        let run = call.args(&format!("--format {form} --color never doctor"));
        let said = run.run().exits(0).stdout;
        assert!(said.contains("has not been heard of"), "{said}");
        let bad = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!said.contains(bad), "{said:?}");
    }
}
