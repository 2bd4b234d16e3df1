//! The sessions in every worktree, by their leases.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cast::{column, page, repository, says, status};
use crate::common::fixture::worktree;
use crate::common::turns::{send, waits_for};
use crate::common::{DEADLINE, Env};
use crate::watch::{reports, watch};

fn lease(checkout: &Path) -> PathBuf {
    checkout.join(".orchestrator/session.lock")
}

fn write_lease(checkout: &Path, text: &str) {
    fs::create_dir_all(checkout.join(".orchestrator")).expect("mkdir");
    fs::write(lease(checkout), text).expect("write");
}

fn begin(env: &Env, checkout: &Path, id: &str) {
    let args = format!("session acquire --mode deep --session-id {id}");
    env.locks(checkout, &args).exits(0);
}

#[test]
fn every_worktree_tells_of_its_session() {
    let (env, repo) = repository();
    let stale = worktree(&env, &repo, "stale");
    let bad = worktree(&env, &repo, "bad");
    let odd = worktree(&env, &repo, "odd");
    worktree(&env, &repo, "empty");
    env.git(&stale, "switch -q -c topic");
    begin(&env, &repo, "first");
    let old = json!({
        "session_id": "old", "started_at": "2020-01-01T00:00:00Z", "mode": "feature",
        "host": "elsewhere.example", "ttl_hours": 4,
    });
    write_lease(&stale, &old.to_string());
    write_lease(&bad, "{");
    fs::create_dir_all(lease(&odd)).expect("mkdir");
    let it = status(&env, &stale);
    assert_eq!(it["status"], "degraded");
    let sessions = &it["sessions"];
    assert_eq!(column(sessions, "session_id"), ["first", "old"]);
    assert_eq!(column(sessions, "worktree"), [json!(repo), json!(stale)]);
    assert_eq!(column(sessions, "live"), [true, false]);
    assert_eq!(column(sessions, "same_host"), [true, false]);
    says(
        &sessions[1],
        &[
            ("branch", json!("topic")),
            ("mode", json!("feature")),
            ("source", json!("lock")),
            ("mine", json!(null)),
        ],
    );
    let errors = it["session_errors"].as_array().expect("a list");
    let [bad_one, odd_one] = &errors[..] else {
        panic!("not two: {errors:?}");
    };
    let told = |checkout: &Path, error: &serde_json::Value| {
        let path = lease(checkout).display().to_string();
        error.as_str().expect("words").contains(&path)
    };
    assert!(told(&bad, bad_one) && told(&odd, odd_one), "{errors:?}");
    let page = page(&env, &repo).exits(0);
    let row = |word: &str| {
        page.stdout
            .lines()
            .any(|line| line.starts_with("session") && line.contains(word))
    };
    assert!(row("first") && row("old"), "{page:#?}");
    assert!(page.stdout.contains("makes no sense"), "{page:#?}");
}

#[test]
fn a_session_that_comes_and_goes_is_news() {
    let (env, repo) = repository();
    let beside = worktree(&env, &repo, "beside");
    let mut watching = watch(&env, &repo, "json");
    let count = |wanted: usize| {
        waits_for(&format!("{wanted} reports"), DEADLINE, || {
            (reports(&watching.stdout()).len() >= wanted).then_some(())
        });
        reports(&watching.stdout())
    };
    assert_eq!(count(1)[0]["sessions"], json!([]));
    begin(&env, &beside, "guest");
    let seen = count(2);
    assert_eq!(column(&seen[1]["sessions"], "session_id"), ["guest"]);
    env.locks(&beside, "session release --session-id guest")
        .exits(0);
    assert_eq!(count(3)[2]["sessions"], json!([]));
    write_lease(&beside, "{");
    let seen = count(4);
    assert_eq!(seen[3]["status"], "degraded");
    assert_eq!(seen[3]["session_errors"].as_array().map(Vec::len), Some(1));
    fs::remove_file(lease(&beside)).expect("removed");
    assert_eq!(count(5)[4]["status"], "success");
    // The second witness. A time yet to come is now.
    let state = "---\nstatus: active\nsession: other\nstarted_at: 2999-01-01T00:00:00Z\n---\n";
    fs::create_dir(beside.join(".claude")).expect("mkdir");
    fs::write(beside.join(".claude/new"), state).expect("write");
    fs::rename(beside.join(".claude/new"), beside.join(".claude/STATE.md")).expect("its name");
    let sessions = count(6)[5]["sessions"].clone();
    assert_eq!(column(&sessions, "session_id"), ["other"]);
    assert_eq!(column(&sessions, "source"), ["state-md"]);
    send(watching.pid(), nix::libc::SIGINT);
    watching.wait(DEADLINE).exits(130);
}
