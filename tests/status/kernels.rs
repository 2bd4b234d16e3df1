//! The kernel's locks: held by ours, by another program, by what an ended process left.

use serde_json::json;

use crate::cast::{column, only, page, repository, says, status};
use crate::common::fixture::worktree;
use crate::common::turns::{Gate, Running, waits_for};
use crate::common::{DEADLINE, required};

#[test]
fn the_repository_lock_and_who_keeps_it() {
    let (env, repo) = repository();
    let gate = Gate::new(&env);
    let mut run = env
        .call(&repo)
        .args("repo run")
        .cmd(gate.cmd("alpha"))
        .start();
    let begun = gate.wait_begun("alpha");
    let repo_lock = status(&env, &repo)["repo"].clone();
    says(
        &repo_lock,
        &[
            ("status", json!("held")),
            ("lock_path", json!(repo.join(".git/axm-integration.lock"))),
        ],
    );
    assert_eq!(column(&repo_lock["holders"], "pid"), [run.pid(), begun.pid]);
    assert_eq!(
        column(&repo_lock["holders"], "evidence"),
        ["kernel", "kernel"]
    );
    assert_eq!(
        column(&repo_lock["holders"], "staleness"),
        ["fresh", "fresh"]
    );
    let page = page(&env, &repo).exits(0);
    let shown = format!("process {}", run.pid());
    assert!(page.stdout.contains(&shown), "{page:#?}");
    gate.let_go();
    run.wait(DEADLINE).exits(0);
    says(
        &status(&env, &repo)["repo"],
        &[("status", json!("free")), ("holders", json!([]))],
    );
}

#[test]
fn another_program_has_the_repository_lock() {
    if !required("kernels::another_program_has_the_repository_lock", "flock") {
        return;
    }
    let (env, repo) = repository();
    let gate = Gate::new(&env);
    let mut command = env.command("flock");
    command
        .arg(repo.join(".git/axm-integration.lock"))
        .args(gate.cmd("other"));
    let mut other = Running::start(command);
    gate.wait_begun("other");
    let lock = status(&env, &repo)["repo"].clone();
    assert_eq!(lock["status"], "held");
    assert_eq!(lock["holders"][0]["pid"], other.pid());
    gate.let_go();
    other.wait(DEADLINE).exits(0);
}

#[test]
fn every_worktree_has_its_own_line() {
    let (env, repo) = repository();
    let linked = worktree(&env, &repo, "linked");
    let idle = worktree(&env, &repo, "idle");
    let gate = Gate::new(&env);
    let call = env
        .call(&linked)
        .args("worktree run")
        .cmd(gate.cmd("alpha"));
    let mut run = call.start();
    gate.wait_begun("alpha");
    let rows = waits_for("the sentinel", DEADLINE, || {
        let rows = status(&env, &repo)["worktrees"].clone();
        let commands = column(&rows, "command");
        commands.iter().any(|it| !it.is_null()).then_some(rows)
    });
    let rows = rows.as_array().expect("rows");
    let paths: Vec<_> = rows.iter().map(|row| row["path"].clone()).collect();
    assert_eq!(paths, [json!(repo), json!(idle), json!(linked)]);
    says(
        &rows[2],
        &[
            ("status", json!("held")),
            ("class", json!("live")),
            ("pid", json!(run.pid())),
            ("evidence", json!("kernel")),
            ("staleness", json!("fresh")),
            ("error", json!(null)),
        ],
    );
    says(
        &rows[1],
        &[
            ("status", json!("free")),
            ("class", json!("no-lock-file")),
            ("pid", json!(null)),
            ("evidence", json!(null)),
        ],
    );
    let page = page(&env, &repo).exits(0);
    let lines: Vec<&str> = page
        .stdout
        .lines()
        .filter(|it| it.starts_with("worktree"))
        .collect();
    assert_eq!(lines.len(), 2, "{page:#?}");
    assert!(lines[0].contains("linked"), "{page:#?}");
    assert!(lines[1].ends_with("2 worktrees"), "{page:#?}");
    run.kill();
    gate.let_go();
    // Killed, it has left its name: nobody has the lock, and that is what is said.
    let row = waits_for("a stale sentinel", DEADLINE, || {
        let row = status(&env, &repo)["worktrees"][2].clone();
        (row["status"] == "free").then_some(row)
    });
    says(
        &row,
        &[
            ("class", json!("stale")),
            ("pid", json!(run.pid())),
            ("evidence", json!(null)),
        ],
    );
}

#[test]
fn state_that_is_kept_elsewhere_has_a_repository_all_the_same() {
    let (env, repo) = repository();
    let base = env.mkdir("base");
    let gate = Gate::new(&env);
    let mut run = env
        .call(&repo)
        .args("repo run")
        .cmd(gate.cmd("alpha"))
        .start();
    gate.wait_begun("alpha");
    let call = |args: &str| {
        let call = env.call(&repo).args(args).env("PLAN_BASE_DIR", &base);
        call.run().exits(0)
    };
    call("merge acquire --as alpha");
    let it = call("status --format json").json();
    says(
        &it,
        &[("status", json!("success")), ("repository", json!(repo))],
    );
    assert_eq!(it["repo"]["status"], "held");
    assert_eq!(it["merge"]["lock_path"], json!(base.join("merge.lock")));
    assert_eq!(only(&it["merge"]["holders"])["plan_id"], "alpha");
    assert_eq!(only(&it["worktrees"])["path"], json!(repo));
    // And none where the caller stands in none.
    let outside = env.mkdir("outside");
    let call = env
        .call(&outside)
        .args("status --format json")
        .env("PLAN_BASE_DIR", &base);
    let it = call.run().exits(0).json();
    assert_eq!(only(&it["merge"]["holders"])["plan_id"], "alpha");
    assert!(it.get("repo").is_none(), "{it:#}");
    gate.let_go();
    run.wait(DEADLINE).exits(0);
}
