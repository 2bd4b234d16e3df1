//! `session run`: the heartbeat is kept while the command runs, and whose lease is let go.

use std::fs;

use serde_json::json;

use crate::common::fixture::worktree;
use crate::common::turns::{Gate, Running, send, waits_for};
use crate::common::{BIN, DEADLINE, Env};
use crate::stage::{lease, noted, session, silent_for, write_lease};

/// A TTL of eight seconds, so that a busy machine makes nobody stale: a heartbeat every two.
const SHORT: &str = "--ttl-hours 0.002222";

fn run(env: &Env, repo: &std::path::Path, args: &str, gate: &Gate, name: &str) -> Running {
    let mut command = env.command(BIN);
    command
        .current_dir(repo)
        .args(["session", "run", "--session-id", "me"])
        .args(args.split_whitespace())
        .arg("--")
        .args(gate.cmd(name));
    Running::start(command)
}

#[test]
fn the_heartbeat_is_kept_while_the_command_runs() {
    let env = Env::new();
    let repo = env.init("repo");
    let gate = Gate::new(&env);
    let mut running = run(&env, &repo, SHORT, &gate, "one");
    gate.wait_begun("one");
    let begun = noted(&repo);
    // Longer than the TTL, and never stale.
    let mut beats = 0;
    let mut last = begun["last_heartbeat"].clone();
    waits_for("five heartbeats", DEADLINE, || {
        let blocked = session(&env, &repo, "acquire --session-id other --mode deep").exits(75);
        assert_eq!(blocked.get("reason"), "active");
        let now = noted(&repo)["last_heartbeat"].clone();
        if now != last {
            last = now;
            beats += 1;
        }
        (beats >= 5).then_some(())
    });
    assert_eq!(noted(&repo)["started_at"], begun["started_at"]);
    gate.let_go();
    running.wait(DEADLINE).exits(0);
    assert!(!lease(&repo).exists());
}

#[test]
fn another_that_takes_the_place_ends_the_command_or_not() {
    for (flags, ended_early) in [("", true), ("--on-loss continue", false)] {
        let env = Env::new();
        let repo = env.init("repo");
        let gate = Gate::new(&env);
        let mut running = run(&env, &repo, &format!("{SHORT} {flags}"), &gate, "one");
        gate.wait_begun("one");
        session(&env, &repo, "take --yes --session-id other --mode deep").exits(0);
        running.says("other");
        if !ended_early {
            assert!(running.is_alive());
            gate.let_go();
        }
        let ended = running.wait(DEADLINE).exits(76);
        assert!(ended.stderr.contains("the session lease"), "{ended:#?}");
        // It lets go of its own only.
        assert_eq!(noted(&repo)["session_id"], "other");
        drop(gate);
    }
}

#[test]
fn a_lease_that_is_removed_or_spoilt_is_noted_again() {
    let env = Env::new();
    let repo = env.init("repo");
    let gate = Gate::new(&env);
    let mut running = run(&env, &repo, SHORT, &gate, "one");
    gate.wait_begun("one");
    let begun = noted(&repo);
    fs::remove_file(lease(&repo)).expect("remove");
    waits_for("it to be noted again", DEADLINE, || {
        lease(&repo).exists().then_some(())
    });
    let restored = noted(&repo);
    assert_eq!(restored["session_id"], "me");
    assert_eq!(restored["started_at"], begun["started_at"]);
    assert!(restored["last_heartbeat"].as_str() > begun["last_heartbeat"].as_str());
    // What makes no sense may be half of what another program writes: it is left alone.
    write_lease(&repo, "{");
    let spoilt = std::time::Instant::now();
    waits_for("several heartbeats that are due", DEADLINE, || {
        assert!(running.is_alive());
        (spoilt.elapsed().as_secs_f64() > 5.0).then_some(())
    });
    gate.let_go();
    let ended = running.wait(DEADLINE).exits(0);
    assert!(
        ended.stderr.contains("makes no sense any more"),
        "{ended:#?}"
    );
    assert_eq!(fs::read_to_string(lease(&repo)).expect("left"), "{");
}

#[test]
fn a_session_that_was_noted_before_stays_noted() {
    let env = Env::new();
    let repo = env.init("repo");
    session(&env, &repo, "acquire --session-id me --mode deep").exits(0);
    let run = env.locks(&repo, "session run --session-id me -- true");
    run.exits(0);
    assert_eq!(noted(&repo)["session_id"], "me");
    let run = env.locks(&repo, "session run --session-id other -- true");
    let run = run.exits(75);
    assert_eq!(run.stdout, "");
    assert!(run.stderr.contains("active"), "{run:#?}");
    env.locks(&repo, "session run -E 9 --session-id other -- true")
        .exits(9);
}

#[test]
fn the_exit_code_is_the_commands_own() {
    let env = Env::new();
    let repo = env.init("repo");
    for (command, code) in [("true", 0), ("false", 1)] {
        env.locks(&repo, &format!("session run -- {command}"))
            .exits(code);
        assert!(!lease(&repo).exists());
    }
    let gate = Gate::new(&env);
    let mut running = run(&env, &repo, "", &gate, "one");
    gate.wait_begun("one");
    send(running.pid(), nix::libc::SIGTERM);
    running.wait(DEADLINE).exits(128 + nix::libc::SIGTERM);
    assert!(!lease(&repo).exists());
}

#[test]
fn a_runner_that_is_killed_leaves_a_lease_that_goes_stale() {
    let env = Env::new();
    let repo = env.init("repo");
    let gate = Gate::new(&env);
    let mut running = run(&env, &repo, SHORT, &gate, "one");
    gate.wait_begun("one");
    running.kill();
    assert_eq!(noted(&repo)["session_id"], "me");
    let ask = || session(&env, &repo, "acquire --session-id next --mode deep").exits(75);
    waits_for("it to go stale", DEADLINE, || {
        (ask().get("reason") == "stale-heartbeat").then_some(())
    });
    let taken = session(&env, &repo, "take --yes --session-id next --mode deep").exits(0);
    assert_eq!(taken.get("replaced_state"), "stale");
}

#[test]
fn who_only_reads_runs_beside_others_without_a_lease() {
    let env = Env::new();
    let repo = env.init("repo");
    let beside = worktree(&env, &repo, "beside");
    session(&env, &beside, "acquire --session-id old --mode deep").exits(0);
    let line = "session run --session-id me --consider-peers --mode";
    let run = env.locks(&repo, &format!("{line} plan -- find .orchestrator"));
    // There is none to be found.
    let run = run.exits(1);
    assert_eq!(run.stdout, "", "{run:#?}");
    let note = "no lease is noted: the session old is at work in";
    assert!(run.stderr.contains(note), "{run:#?}");
    let run = env.locks(&repo, &format!("{line} deep -- true")).exits(75);
    assert!(
        run.stderr.contains("active-compatible-parallel"),
        "{run:#?}"
    );
    assert!(!repo.join(".orchestrator").exists());
    // An old lease of another is in the way all the same.
    write_lease(&repo, silent_for("old", 9.0, "elsewhere").to_string());
    let run = env
        .locks(&repo, "session run --session-id me -- true")
        .exits(75);
    assert!(run.stderr.contains("stale-heartbeat"), "{run:#?}");
    assert_eq!(noted(&repo)["session_id"], json!("old"));
}
