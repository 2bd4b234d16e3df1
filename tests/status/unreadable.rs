//! What cannot be read is shown as that, says why, and hides nothing else.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::cast::{only, page, repository, says, status};
use crate::common::fixture::{base, hold, lock_file, queue_file, queue_of, worktree};
use crate::common::{Env, chmod};

/// Puts a directory in the place of a file: nobody, not even root, reads that.
fn block(path: &Path) {
    std::fs::create_dir_all(path).expect("a directory in the way");
}

#[track_caller]
fn names(part: &Value, path: &Path) {
    let error = part["error"].as_str().expect("a reason");
    let name = path.file_name().expect("a name").to_string_lossy();
    assert!(error.contains(&*name), "{error}");
}

#[test]
fn a_lock_file_that_is_none() {
    let (env, repo) = repository();
    env.build(&repo, "acquire --as alpha").exits(0);
    block(&lock_file(&repo));
    let it = status(&env, &repo);
    assert_eq!(it["status"], "degraded");
    says(
        &it["merge"],
        &[
            ("status", json!("unreadable")),
            ("holders", json!([])),
            ("waiting_count", json!(null)),
        ],
    );
    names(&it["merge"], &lock_file(&repo));
    assert_eq!(only(&it["build"]["active"])["plan_id"], "alpha");
    assert_eq!(it["repo"]["status"], "free");
    let page = page(&env, &repo).exits(0);
    assert!(page.stdout.contains("unreadable"), "{page:#?}");
    assert!(page.stdout.contains("merge.lock"), "{page:#?}");
    assert!(page.stdout.contains("git locks doctor"), "{page:#?}");
}

#[test]
fn a_queue_that_cannot_be_read_leaves_the_holder() {
    let (env, repo) = repository();
    hold(&repo, "alpha\n");
    block(&queue_file(&repo));
    let it = status(&env, &repo);
    assert_eq!(it["status"], "degraded");
    says(
        &it["merge"],
        &[("status", json!("held")), ("waiting_count", json!(null))],
    );
    assert_eq!(only(&it["merge"]["holders"])["plan_id"], "alpha");
    names(&it["merge"], &queue_file(&repo));
    says(
        only(&it["rate_windows"]),
        &[("status", json!("unreadable")), ("bot_kind", json!(null))],
    );
}

#[test]
fn files_that_make_no_sense_count_as_empty_and_it_is_said() {
    let (env, repo) = repository();
    hold(&repo, "alpha\n");
    std::fs::write(queue_file(&repo), "garbage").expect("written");
    env.builds().write_text("[]");
    let it = status(&env, &repo);
    assert_eq!(it["status"], "degraded");
    says(
        &it["merge"],
        &[("status", json!("held")), ("waiting_count", json!(0))],
    );
    names(&it["merge"], &queue_file(&repo));
    says(
        &it["build"],
        &[("status", json!("free")), ("active_count", json!(0))],
    );
    names(&it["build"], &env.builds().path());
    let page = page(&env, &repo).exits(0);
    assert_eq!(
        page.stdout.matches("is no JSON object").count(),
        2,
        "{page:#?}"
    );
}

#[test]
fn records_of_a_newer_program() {
    let (env, repo) = repository();
    env.merge(&repo, "acquire --as alpha").exits(0);
    std::fs::write(repo.join(".git/git-locks/merge.json"), r#"{"format": 99}"#).expect("written");
    let it = status(&env, &repo);
    assert_eq!(it["merge"]["status"], "unreadable");
    assert!(
        it["merge"]["error"]
            .as_str()
            .expect("why")
            .contains("newer"),
        "{it:#}"
    );
    assert_eq!(it["build"]["status"], "free");
}

#[test]
fn a_base_that_a_link_leads_to_nowhere() {
    let (env, repo) = repository();
    std::fs::create_dir_all(repo.join(".plan")).expect("a directory");
    symlink(env.path("nowhere"), base(&repo)).expect("a link");
    let it = status(&env, &repo);
    assert_eq!(it["merge"]["status"], "unreadable");
    assert!(
        it["merge"]["error"]
            .as_str()
            .expect("why")
            .contains("nowhere"),
        "{it:#}"
    );
}

#[test]
fn kernel_locks_whose_files_are_none() {
    let (env, repo) = repository();
    let linked = worktree(&env, &repo, "linked");
    block(&repo.join(".git/axm-integration.lock"));
    let lock_path = only_of(&status(&env, &repo), &linked)["lock_path"].clone();
    let lock_path = Path::new(lock_path.as_str().expect("a path")).to_owned();
    std::fs::create_dir_all(lock_path.parent().expect("a directory")).expect("made");
    chmod(lock_path.parent().expect("a directory"), 0o755);
    block(&lock_path);
    let it = status(&env, &repo);
    assert_eq!(it["repo"]["status"], "unreadable");
    names(&it["repo"], Path::new("axm-integration.lock"));
    let row = only_of(&it, &linked);
    says(
        row,
        &[("status", json!("unreadable")), ("class", json!(null))],
    );
    names(row, &lock_path);
    assert_eq!(only_of(&it, &repo)["status"], "free");
    assert_eq!(it["merge"]["status"], "free");
}

/// The row of the worktree at `path`.
#[track_caller]
fn only_of<'a>(it: &'a Value, path: &Path) -> &'a Value {
    let rows = it["worktrees"].as_array().expect("rows");
    rows.iter()
        .find(|row| row["path"] == json!(path))
        .expect("its row")
}

#[test]
fn a_build_queue_of_no_use_hides_no_other_lock() {
    let (env, repo) = repository();
    hold(&repo, "alpha\n");
    queue_of(&repo, &["alpha", "beta"]);
    block(&env.builds().path());
    let it = status(&env, &repo);
    says(
        &it["build"],
        &[
            ("status", json!("unreadable")),
            ("max_slots", json!(null)),
            ("active_count", json!(null)),
        ],
    );
    names(&it["build"], &env.builds().path());
    assert_eq!(only(&it["merge"]["waiting"])["plan_id"], "beta");
    // Nor does a home root that may not be used.
    let call = env.call(&repo).args("status --format json");
    let it = call.env("PLAN_MARSHALL_HOME", "/").run().exits(0).json();
    says(
        &it["build"],
        &[("status", json!("unreadable")), ("queue_path", json!(null))],
    );
    assert_eq!(only(&it["merge"]["waiting"])["plan_id"], "beta");
}

#[test]
fn where_nothing_can_be_read_at_all_it_fails() {
    let env = Env::new();
    let outside = env.mkdir("outside");
    block(&env.builds().path());
    let run = env.locks(&outside, "status --format json").exits(128);
    assert_eq!(run.text("status"), "unreadable");
    let run = env
        .locks(&outside, "status --format json --exit-zero")
        .exits(0);
    assert_eq!(run.text("status"), "unreadable");
}
