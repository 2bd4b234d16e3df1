//! Leases through the command line: `--ttl`, `--while-pid`, `renew`.

use std::process::{Child, Stdio};

use serde_json::json;

use crate::common::fixture::{holder, keep_plans, now, plan};
use crate::common::{DEADLINE, Env, eventually};

/// A process that runs until its standard input closes.
fn companion(env: &Env) -> Child {
    env.command("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("cat")
}

#[test]
fn a_ttl_sets_the_end_of_the_lease() {
    let env = Env::new();
    let repo = env.init("repo");
    for (who, ttl, seconds) in [
        ("a", "90s", 90.0),
        ("b", "5m", 300.0),
        ("c", "1h30m", 5400.0),
    ] {
        let ends = env
            .merge(&repo, &format!("acquire --as {who} --ttl {ttl}"))
            .number("expires_at");
        assert!((ends - now() - seconds).abs() < 30.0, "{ttl}: {ends}");
        env.merge(&repo, &format!("release --as {who}")).exits(0);
    }
}

#[test]
fn the_default_ttl_is_an_hour_and_can_be_set() {
    let env = Env::new();
    let repo = env.init("repo");
    let ends = env.merge(&repo, "acquire --as a").number("expires_at");
    assert!((ends - now() - 3600.0).abs() < 30.0, "{ends}");
    env.merge(&repo, "release --as a").exits(0);
    env.git(&repo, "config locks.ttl 10m");
    let ends = env.merge(&repo, "acquire --as a").number("expires_at");
    assert!((ends - now() - 600.0).abs() < 30.0, "{ends}");
    env.merge(&repo, "release --as a").exits(0);
    let run = env
        .call(&repo)
        .env("GIT_LOCKS_TTL", "20m")
        .args("--format json merge acquire --as a")
        .run();
    let ends = run.exits(0).number("expires_at");
    assert!((ends - now() - 1200.0).abs() < 30.0, "{ends}");
}

#[test]
fn an_ended_lease_is_stale_and_reclaimed() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as a --ttl 1s").exits(0);
    eventually(DEADLINE, || {
        env.merge(&repo, "check").get("staleness") == json!("stale")
    });
    env.merge(&repo, "acquire --as b")
        .exits(0)
        .says(&[("reclaimed", json!(true)), ("reclaimed_from", json!("a"))]);
    env.merge(&repo, "renew --as a").exits(1).says(&[
        ("status", json!("refused")),
        ("reason", json!("lock_lost")),
        ("holder", json!("b")),
    ]);
}

#[test]
fn renew_moves_the_end() {
    let env = Env::new();
    let repo = env.init("repo");
    let first = env.merge(&repo, "acquire --as a --ttl 5m").exits(0);
    let run = env.merge(&repo, "renew --as a --ttl 2h").exits(0);
    assert_eq!(run.number("fence"), first.number("fence"));
    let ends = run.number("expires_at");
    assert!((ends - now() - 7200.0).abs() < 30.0, "{ends}");
    run.fields("status plan_id action lock_path fence expires_at")
        .says(&[("status", json!("success")), ("action", json!("renewed"))]);
}

#[test]
fn renew_keeps_the_length_of_the_lease() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as a --ttl 5m").exits(0);
    let ends = env
        .merge(&repo, "renew --as a")
        .exits(0)
        .number("expires_at");
    assert!((ends - now() - 300.0).abs() < 30.0, "{ends}");
}

#[test]
fn renew_of_what_is_not_held_is_refused() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "renew --as a")
        .exits(1)
        .fields("status plan_id reason lock_path")
        .says(&[("status", json!("refused")), ("reason", json!("lock_lost"))]);
    env.merge(&repo, "acquire --as b").exits(0);
    env.merge(&repo, "renew --as a")
        .exits(1)
        .fields("status plan_id reason holder lock_path")
        .says(&[("holder", json!("b"))]);
}

#[test]
fn acquiring_again_renews() {
    let env = Env::new();
    let repo = env.init("repo");
    let first = env
        .merge(&repo, "acquire --as a --ttl 5m")
        .number("expires_at");
    let later = || {
        env.merge(&repo, "acquire --as a --ttl 5m")
            .number("expires_at")
            > first
    };
    eventually(DEADLINE, later);
}

#[test]
fn a_plan_keeps_no_lease() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "a");
    env.merge(&repo, "acquire --as a")
        .exits(0)
        .says(&[("expires_at", json!(null))]);
    env.merge(&repo, "renew --as a")
        .exits(0)
        .says(&[("action", json!("noop"))]);
    plan(&repo, "b");
    env.merge(&repo, "release --as a").exits(0);
    let ends = env
        .merge(&repo, "acquire --as b --ttl 5m")
        .exits(0)
        .number("expires_at");
    assert!((ends - now() - 300.0).abs() < 30.0, "{ends}");
}

#[test]
fn while_pid_ends_with_its_process_even_as_a_zombie() {
    let env = Env::new();
    let repo = env.init("repo");
    for plans in [false, true] {
        if plans {
            keep_plans(&repo);
        }
        let mut child = companion(&env);
        let run = env
            .merge(&repo, &format!("acquire --as a --while-pid {}", child.id()))
            .exits(0);
        run.says(&[("expires_at", json!(null))]);
        env.merge(&repo, "check")
            .says(&[("staleness", json!("fresh"))]);
        env.merge(&repo, "acquire --as b --ttl 1h").exits(75);
        child.kill().expect("a signal");
        // Not waited for: it stays a zombie meanwhile.
        eventually(DEADLINE, || {
            env.merge(&repo, "check").get("staleness") == json!("stale")
        });
        child.wait().expect("an exit status");
        env.merge(&repo, "check")
            .says(&[("staleness", json!("stale"))]);
        env.merge(&repo, "acquire --as b --ttl 1h")
            .exits(0)
            .says(&[("reclaimed_from", json!("a"))]);
        env.merge(&repo, "release --as b").exits(0);
    }
}

#[test]
fn while_pid_of_no_process_is_an_error() {
    let env = Env::new();
    let repo = env.init("repo");
    let mut child = companion(&env);
    child.kill().expect("a signal");
    child.wait().expect("an exit status");
    let run = env
        .merge(&repo, &format!("acquire --as a --while-pid {}", child.id()))
        .exits(1);
    run.says(&[
        ("status", json!("error")),
        ("error_code", json!("NOT_FOUND")),
    ])
    .one_line_error();
    assert_eq!(holder(&repo), None);
}

#[test]
fn durations_as_people_write_them_and_not_otherwise() {
    let env = Env::new();
    let repo = env.init("repo");
    for (good, seconds) in [
        ("45", 45.0),
        ("2h", 7200.0),
        ("1d", 86_400.0),
        ("1d2h", 93_600.0),
    ] {
        let run = env
            .merge(&repo, &format!("acquire --as a --ttl {good}"))
            .exits(0);
        let length = run.number("expires_at") - now();
        assert!((length - seconds).abs() < 30.0, "{good}: {length}");
        env.merge(&repo, "release --as a").exits(0);
    }
    for bad in [
        "0",
        "0s",
        "m",
        "1h1h",
        "5x",
        "99999999999d",
        "18446744073709551616s",
        "1e9",
        "inf",
        "NaN",
    ] {
        let run = env
            .merge(&repo, &format!("acquire --as a --ttl {bad}"))
            .exits(2);
        run.says(&[("error_code", json!("INVALID_INPUT"))])
            .one_line_error();
    }
    assert_eq!(holder(&repo), None);
}

#[test]
fn while_pid_of_a_zombie_is_an_error() {
    let env = Env::new();
    let repo = env.init("repo");
    let mut child = companion(&env);
    child.kill().expect("a signal");
    let args = format!("acquire --as a --while-pid {}", child.id());
    // Until the signal has arrived, the process may still be there.
    eventually(DEADLINE, || {
        let run = env.merge(&repo, &args);
        env.merge(&repo, "release --as a").exits(0);
        run.code == 1 && run.get("error_code") == json!("NOT_FOUND")
    });
    child.wait().expect("an exit status");
}

/// Starts a call that waits for the guard, and returns it once it does.
#[cfg(target_os = "linux")]
fn waiting_at_the_guard(
    env: &Env,
    repo: &std::path::Path,
    guard: &std::path::Path,
    args: &str,
) -> Child {
    let call = env.call(repo).args(&format!("--format json merge {args}"));
    let child = call.spawn();
    let open_files = format!("/proc/{}/fd", child.id());
    eventually(DEADLINE, || {
        let open = std::fs::read_dir(&open_files).into_iter().flatten();
        open.flatten()
            .any(|fd| std::fs::read_link(fd.path()).is_ok_and(|file| file == guard))
    });
    child
}

#[test]
#[cfg(target_os = "linux")]
fn a_lease_begins_inside_the_guard() {
    let env = Env::new();
    let repo = env.init("repo");
    let guard = std::fs::canonicalize(repo.join(".git"))
        .expect("a repository")
        .join("git-locks/merge.guard");
    for verb in [
        "acquire --as a --ttl 5m",
        "renew --as a",
        "acquire --as a",
        "rate-window claim --as a --bot-kind b --window-seconds 300",
    ] {
        env.merge(&repo, "check --as a").exits(0);
        env.merge(&repo, "release --as b").exits(0);
        let inside = std::fs::File::open(&guard).expect("the guard");
        inside.lock().expect("the guard is free");
        let waiting = waiting_at_the_guard(&env, &repo, &guard, verb);
        let entered = now();
        drop(inside);
        let output = waiting.wait_with_output().expect("an answer");
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
        let ends = answer["expires_at"].as_f64().expect("an end");
        assert!(ends >= entered + 300.0, "{verb}: {ends} after {entered}");
    }
}

#[test]
fn a_lease_whose_record_is_lost_is_unknown_where_plans_are_kept() {
    let env = Env::new();
    let repo = env.init("repo");
    keep_plans(&repo);
    env.merge(&repo, "acquire --as a --ttl 1h").exits(0);
    std::fs::remove_dir_all(repo.join(".git/git-locks")).expect("our records");
    env.merge(&repo, "check --as b")
        .says(&[("staleness", json!("unknown"))]);
    // Whoever writes the records next must not forget that they were lost.
    env.merge(&repo, "rate-window claim --bot-kind bot")
        .exits(0);
    env.merge(&repo, "acquire --as b --ttl 1h").exits(75);
    env.merge(&repo, "release --as b --require-stale").exits(1);
    env.merge(&repo, "acquire --as a --ttl 1h")
        .says(&[("action", json!("already_held"))]);
    env.merge(&repo, "check --as b")
        .says(&[("staleness", json!("fresh"))]);
    // A dead plan that another program let hold the lock stays a dead plan.
    env.merge(&repo, "release --as a").exits(0);
    std::fs::remove_dir_all(repo.join(".git/git-locks")).expect("our records");
    crate::common::fixture::hold(&repo, "gone\n");
    env.merge(&repo, "check --as b")
        .says(&[("staleness", json!("stale"))]);
}
