//! It changes nothing, waits for nobody, and says the same in every format.

use serde_json::json;

use crate::cast::{page, repository, status};
use crate::common::builds::foreign;
use crate::common::fixture::{base, hold, keep_plans, queue_of, same_tree, tree, worktree};
use crate::common::{Env, chmod};

/// Somebody dead everywhere: what others would reclaim, prune, reap, restore or make anew.
fn leftovers(env: &Env) -> std::path::PathBuf {
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as alpha").exits(0);
    env.merge(&repo, "acquire --as beta").exits(75);
    env.build(&repo, "acquire --as alpha").exits(0);
    keep_plans(&repo);
    hold(&repo, "dead\n");
    queue_of(&repo, &["dead", "beta", "gone"]);
    let builds = env.builds();
    let long = foreign("dead", &repo, Some(1e6));
    builds.edit(|queue| queue["active"].as_array_mut().expect("a list").push(long));
    repo
}

#[test]
fn nothing_on_the_disk_is_changed() {
    let env = Env::new();
    let repo = leftovers(&env);
    worktree(&env, &repo, "linked");
    let before = tree(env.root());
    for format in ["json", "toon", "human"] {
        env.locks(&repo, &format!("status --format {format}"))
            .exits(0);
        same_tree(&before, &tree(env.root()));
    }
    // Nor is anything made where there is nothing.
    let other = env.init("other");
    let outside = env.mkdir("outside");
    let before = tree(env.root());
    for dir in [&other, &outside] {
        status(&env, dir);
    }
    same_tree(&before, &tree(env.root()));
}

#[test]
fn it_takes_no_guard_and_waits_for_none() {
    let env = Env::new();
    let repo = leftovers(&env);
    let guard = base(&repo).join("merge-queue.json.lock");
    std::fs::write(&guard, "another program's").expect("a guard");
    std::fs::write(env.builds().guard_file(), "another program's").expect("a guard");
    let _kernel = env.builds().take_kernel_lock();
    let before = tree(env.root());
    let started = std::time::Instant::now();
    status(&env, &repo);
    assert!(started.elapsed() < std::time::Duration::from_secs(5));
    same_tree(&before, &tree(env.root()));
}

#[test]
fn state_that_may_not_be_written_can_be_read() {
    let env = Env::new();
    let repo = leftovers(&env);
    let expected = status(&env, &repo)["merge"].clone();
    chmod(&base(&repo), 0o555);
    let run = env.locks(&repo, "status --format json").exits(0);
    chmod(&base(&repo), 0o755);
    assert_eq!(run.get("merge"), expected);
}

#[test]
fn it_needs_no_name_and_takes_no_part() {
    let (env, repo) = repository();
    let call = env.call(&repo).args("status --format json");
    call.env("GIT_LOCKS_PLAN_ID", "Not A Plan!").run().exits(0);
    assert_eq!(status(&env, &repo)["merge"]["waiting_count"], 0);
}

#[test]
fn as_long_as_nothing_happens_the_report_stays_the_same() {
    let (env, repo) = repository();
    env.merge(&repo, "acquire --as alpha --ttl 1h").exits(0);
    env.merge(&repo, "acquire --as beta").exits(75);
    env.merge(&repo, "rate-window claim --bot-kind reviewer --as alpha")
        .exits(0);
    env.build(&repo, "acquire --as alpha").exits(0);
    let first = status(&env, &repo);
    assert_eq!(status(&env, &repo), first);
}

#[test]
fn the_formats_say_the_same() {
    let (env, repo) = repository();
    env.merge(&repo, "acquire --as alpha").exits(0);
    env.merge(&repo, "acquire --as beta").exits(75);
    let toon = env.locks(&repo, "status").exits(0).stdout;
    for line in [
        "status: success",
        "merge:",
        "  status: held",
        "  holders[1]{plan_id,fence,since,where,staleness,evidence,mid_recovery,expires_at,pid,reason}:",
        "  waiting[1]{position,plan_id,since,where,staleness,evidence,reason}:",
        "worktrees[1]{status,path,class,pid,host,since,staleness,evidence,command,lock_path,error}:",
        "rate_windows: []",
        "sessions: []",
        "build:",
        "  active: []",
    ] {
        assert!(toon.lines().any(|it| it == line), "{line}\n{toon}");
    }
    let json = env.locks(&repo, "status --format json").exits(0).json();
    let keys: Vec<&String> = json.as_object().expect("an object").keys().collect();
    let expected = [
        "status",
        "repository",
        "merge",
        "repo",
        "worktrees",
        "rate_windows",
        "sessions",
        "build",
    ];
    assert_eq!(keys, expected);
    assert_eq!(json["merge"]["holders"][0]["plan_id"], json!("alpha"));
    let page = page(&env, &repo).exits(0);
    assert!(page.stdout.starts_with("LOCK "), "{page:#?}");
}
