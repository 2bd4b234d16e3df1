//! What ends the waiting: the lock comes free in whatever way.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::cast::{SOON, admitted, keeper_leaves, kept, runner, waiter, waiting_lines};
use crate::common::fixture::{hold, holder, lock_file, now, plan, waiting, write_queue};
use crate::common::turns::{
    Gate, Running, quoted_bin, records, runs, send, state, take_guard, wait_until_free,
    wait_until_held_by, wait_until_queued, waiters, waits_for,
};
use crate::common::{BIN, DEADLINE, Env, can_run, eventually};

/// CONT and STOP.
const CONT: i32 = 18;
const STOP: i32 = 19;

#[test]
fn the_holder_releases() {
    let (env, repo) = kept();
    let mut first = waiter(&env, &repo, "w");
    wait_until_queued(&repo, 1);
    let mut second = waiter(&env, &repo, "x");
    wait_until_queued(&repo, 2);
    for (place, waiter) in [("1", &first), ("2", &second)] {
        waiter.says("waiting for the merge lock");
        let said = waiter.stderr();
        let line = said.lines().next().expect("a line");
        assert!(line.contains(place), "no place {place} in {line:?}");
        assert!(line.contains("keeper"), "no holder in {line:?}");
    }
    assert_eq!(records(&repo)["participants"]["w"]["kind"], "attached");
    keeper_leaves(&env, &repo);
    let ended = first.wait(SOON);
    assert_eq!(waiting_lines(&ended.stderr).len(), 1, "{ended:#?}");
    let report = admitted(ended, "w");
    assert_eq!(report["action"], "acquired");
    assert_eq!(report["reclaimed"], json!(false));
    assert_eq!(holder(&repo).as_deref(), Some("w\n"));
    assert_eq!(records(&repo)["participants"]["w"]["kind"], "leased");
    assert!(second.is_alive());
    env.merge(&repo, "release --as w").exits(0);
    admitted(second.wait(SOON), "x");
}

#[test]
fn the_holder_s_command_ends() {
    let env = Env::new();
    let repo = env.init("repo");
    let gate = Gate::new(&env);
    let mut first = runner(&env, &repo, &gate, "r");
    gate.wait_begun("r");
    let mut second = runner(&env, &repo, &gate, "s");
    wait_until_queued(&repo, 1);
    let mut third = waiter(&env, &repo, "w");
    wait_until_queued(&repo, 2);
    gate.let_go();
    first.wait(SOON).exits(0);
    gate.wait_begun("s");
    assert_eq!(holder(&repo).as_deref(), Some("s\n"));
    assert!(third.is_alive());
    gate.let_go();
    second.wait(SOON).exits(0);
    admitted(third.wait(SOON), "w");
    gate.one_at_a_time(&[]);
}

#[test]
fn the_process_that_vouches_for_the_holder_ends() {
    let env = Env::new();
    let repo = env.init("repo");
    let mut sleeper = env.command("sleep");
    sleeper.arg("1000");
    let mut sleeper = Running::start(sleeper);
    let args = format!("acquire --as keeper --while-pid {}", sleeper.pid());
    env.merge(&repo, &args).exits(0);
    let mut waiter = waiter(&env, &repo, "w");
    wait_until_queued(&repo, 1);
    waiter.says("waiting for the merge lock");
    sleeper.kill().dies_of(9);
    let report = admitted(waiter.wait(SOON), "w");
    assert_eq!(report["reclaimed"], json!(true));
    assert_eq!(report["reclaimed_from"], json!("keeper"));
}

#[test]
fn the_process_that_vouches_becomes_a_zombie() {
    let env = Env::new();
    let repo = env.init("repo");
    // A parent that does not ask for its child's end.
    let mut parent = env.command("sh");
    parent.args(["-c", "sleep 1000 & echo $!; exec sleep 1000"]);
    let parent = Running::start(parent);
    eventually(DEADLINE, || parent.stdout().ends_with('\n'));
    let pid: i32 = parent.stdout().trim().parse().expect("a pid");
    env.merge(&repo, &format!("acquire --as keeper --while-pid {pid}"))
        .exits(0);
    let mut waiter = waiter(&env, &repo, "w");
    wait_until_queued(&repo, 1);
    send(pid, 9);
    let report = admitted(waiter.wait(SOON), "w");
    assert_eq!(report["reclaimed"], json!(true));
    assert_eq!(state(pid), Some('Z'));
}

#[test]
fn the_holder_s_lease_runs_out() {
    let env = Env::new();
    let repo = env.init("repo");
    let run = env.merge(&repo, "acquire --as keeper --ttl 2s").exits(0);
    let ends = run.number("expires_at");
    let mut waiter = waiter(&env, &repo, "w");
    wait_until_queued(&repo, 1);
    let report = admitted(waiter.wait(SOON), "w");
    assert!(now() >= ends - 0.1, "{} s too early", ends - now());
    assert_eq!(report["reclaimed"], json!(true));
    assert_eq!(report["reclaimed_from"], json!("keeper"));
}

#[test]
fn a_lease_that_is_renewed_is_waited_for() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as keeper --ttl 3s").exits(0);
    let mut waiter = waiter(&env, &repo, "w");
    wait_until_queued(&repo, 1);
    let run = env.merge(&repo, "renew --as keeper --ttl 6s").exits(0);
    let ends = run.number("expires_at");
    admitted(waiter.wait(SOON), "w");
    assert!(now() >= ends - 0.1, "{} s too early", ends - now());
}

#[test]
fn another_program_removes_the_lock_file() {
    let env = Env::new();
    let repo = env.init("repo");
    hold(&repo, "other\n");
    let mut waiter = waiter(&env, &repo, "w");
    wait_until_queued(&repo, 1);
    waiter.says("other");
    assert!(waiter.is_alive());
    std::fs::remove_file(lock_file(&repo)).expect("its lock");
    let report = admitted(waiter.wait(SOON), "w");
    assert_eq!(report["reclaimed"], json!(false));
}

#[test]
fn somebody_removes_the_lock_file_of_a_holder_without_a_process() {
    let (env, repo) = kept();
    let mut waiter = waiter(&env, &repo, "w");
    wait_until_queued(&repo, 1);
    waiter.says("waiting for the merge lock");
    std::fs::remove_file(lock_file(&repo)).expect("the lock");
    admitted(waiter.wait(SOON), "w");
    assert_eq!(waiters(&repo), [""; 0]);
}

#[test]
fn another_program_takes_its_turn_first() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "f");
    plan(&repo, "w");
    let entry = |id: &str| json!({"plan_id": id, "ts": now()});
    write_queue(&repo, &json!({ "waiting": [entry("f")] }));
    let mut waiter = waiter(&env, &repo, "w");
    waits_for("a place", DEADLINE, || {
        (waiting(&repo) == ["f", "w"]).then_some(())
    });
    waiter.says("waiting for the merge lock");
    hold(&repo, "f\n");
    // Another program keeps no more of an entry, and replaces the whole file.
    {
        let _guard = take_guard(&repo);
        let queue = json!({ "waiting": [entry("w")] });
        let temporary = repo.join(".plan/local/other.tmp");
        std::fs::write(&temporary, queue.to_string()).expect("a queue");
        let path = repo.join(".plan/local/merge-queue.json");
        std::fs::rename(&temporary, path).expect("the queue");
    }
    assert!(waiter.is_alive());
    assert_eq!(holder(&repo).as_deref(), Some("f\n"));
    std::fs::remove_file(lock_file(&repo)).expect("its lock");
    admitted(waiter.wait(SOON), "w");
}

#[test]
fn eight_go_in_the_order_in_which_they_came() {
    let (env, repo) = kept();
    let mut gate = Gate::new(&env);
    let mut all = Vec::new();
    let mut ids = Vec::new();
    for number in 0..8 {
        let id = format!("w{number}");
        all.push(if number % 2 == 0 {
            runner(&env, &repo, &gate, &id)
        } else {
            // Between its two calls this one holds without a process of ours.
            let bin = quoted_bin();
            let line = format!(
                "{bin} merge acquire --wait --as {id} && {} && {bin} merge release --as {id}",
                gate.line(&id)
            );
            let mut command = env.command("sh");
            command.current_dir(&repo).args(["-c", &line]);
            Running::start(command)
        });
        ids.push(id);
        wait_until_queued(&repo, ids.len());
    }
    assert_eq!(waiters(&repo), ids);
    assert_eq!(gate.order(), [""; 0]);
    gate.open();
    keeper_leaves(&env, &repo);
    for running in &mut all {
        running.wait(DEADLINE).exits(0);
    }
    assert_eq!(gate.order(), ids);
    gate.one_at_a_time(&[]);
    let fences: Vec<u64> = gate
        .begun()
        .iter()
        .filter_map(|begun| begun.fence.parse().ok())
        .collect();
    assert_eq!(fences.len(), 4, "runs without a fence");
    assert!(fences.is_sorted_by(|a, b| a < b), "{fences:?}");
    wait_until_free(&repo);
    assert_eq!(waiting(&repo), [""; 0]);
}

#[test]
fn whoever_holds_already_does_not_wait() {
    let (env, repo) = kept();
    let mut again = waiter(&env, &repo, "keeper");
    let report = admitted(again.wait(SOON), "keeper");
    assert_eq!(report["action"], "already_held");
    assert_eq!(again.stderr(), "");
    keeper_leaves(&env, &repo);
    let free = env.merge(&repo, "acquire --wait --as w").exits(0);
    assert_eq!(
        (free.text("action").as_str(), free.stderr.as_str()),
        ("acquired", "")
    );
}

#[test]
fn an_own_earlier_place_is_kept() {
    let (env, repo) = kept();
    env.merge(&repo, "acquire --as x").exits(75);
    env.merge(&repo, "acquire --as b").exits(75);
    let gate = Gate::new(&env);
    let running = runner(&env, &repo, &gate, "x");
    running.says("waiting for the merge lock");
    assert_eq!(waiters(&repo), ["x", "b"]);
    keeper_leaves(&env, &repo);
    assert_eq!(gate.wait_begun("x").name, "x");
}

/// Until this many seconds after `start`.
fn past(start: f64, seconds: f64) {
    eventually(DEADLINE, || now() > start + seconds);
}

#[test]
fn a_living_waiter_outlives_its_ticket() {
    let (env, repo) = kept();
    let short = "GIT_LOCKS_TICKET_TTL";
    let call = env.call(&repo).env(short, "1s");
    let mut waiter = call
        .args("--format json merge acquire --wait --as w")
        .start();
    wait_until_queued(&repo, 1);
    past(now(), 2.5);
    let call = env.call(&repo).env(short, "1s");
    let run = call.args("--format json merge acquire --as b").run();
    run.exits(75).says(&[("position", json!(2))]);
    assert_eq!(waiters(&repo), ["w", "b"]);
    keeper_leaves(&env, &repo);
    admitted(waiter.wait(SOON), "w");
}

#[test]
fn a_stopped_waiter_keeps_its_place_and_goes_on() {
    let (env, repo) = kept();
    let mut first = waiter(&env, &repo, "w");
    wait_until_queued(&repo, 1);
    // Stopped any earlier, it might keep the guard.
    first.says("waiting for the merge lock");
    first.signal(STOP);
    eventually(DEADLINE, || state(first.pid()) == Some('T'));
    keeper_leaves(&env, &repo);
    env.merge(&repo, "acquire --as b")
        .exits(75)
        .says(&[("position", json!(2)), ("blocking_plan_id", json!(null))]);
    first.signal(CONT);
    admitted(first.wait(SOON), "w");
    assert_eq!(waiters(&repo), ["b"]);
}

#[test]
fn waiting_where_the_base_is_somewhere_else() {
    let env = Env::new();
    let dir = env.mkdir("no-repository");
    let base = env.mkdir("base");
    let call = |args: &str| {
        let call = env.call(&dir).env("PLAN_BASE_DIR", &base);
        call.args("--format json merge").args(args)
    };
    call("acquire --as keeper").run().exits(0);
    let mut waiter = call("acquire --wait --as w").start();
    waiter.says("waiting for the merge lock");
    call("release --as keeper").run().exits(0);
    admitted(waiter.wait(SOON), "w");
}

#[test]
fn waiting_without_any_watch() {
    let test = "waiting::waiting_without_any_watch";
    let script = "echo 0 >/proc/sys/user/max_inotify_instances && exec \"$@\"";
    let (env, repo) = kept();
    let namespace = || {
        let mut command = env.command("unshare");
        command
            .current_dir(&repo)
            .args(["-U", "-r", "sh", "-c", script, "sh"]);
        command
    };
    let mut probe = namespace();
    let possible = probe.arg("true").output();
    let possible = possible.is_ok_and(|output| output.status.success());
    if !can_run(test, possible, "needs user namespaces") {
        return;
    }
    let mut command = namespace();
    command.args([BIN, "--format", "json", "merge", "acquire", "--wait"]);
    command.args(["--as", "w"]);
    let mut waiter = Running::start(command);
    wait_until_queued(&repo, 1);
    keeper_leaves(&env, &repo);
    admitted(waiter.wait(SOON), "w");
}

#[test]
fn one_that_waits_in_a_worktree_and_one_in_the_main_checkout() {
    let (env, repo) = kept();
    let linked = crate::common::fixture::worktree(&env, &repo, "linked");
    let mut gate = Gate::new(&env);
    let mut first = crate::cast::nameless(&env, &linked, &gate);
    wait_until_queued(&repo, 1);
    let mut second = crate::cast::nameless(&env, &repo, &gate);
    wait_until_queued(&repo, 2);
    let ids = waiters(&repo);
    assert!(ids[0].starts_with("linked-"), "{ids:?}");
    assert!(ids[1].starts_with("main-checkout-"), "{ids:?}");
    gate.open();
    keeper_leaves(&env, &repo);
    first.wait(SOON).exits(0);
    second.wait(SOON).exits(0);
    assert_eq!(gate.order(), ids);
    gate.one_at_a_time(&[]);
}

/// How long it is watched that nothing happens.
const WATCHED: Duration = Duration::from_secs(3);

#[test]
fn nothing_is_admitted_while_the_holder_lives() {
    let env = Env::new();
    let repo = env.init("repo");
    let gate = Gate::new(&env);
    let mut first = runner(&env, &repo, &gate, "r");
    let held = gate.wait_begun("r");
    let mut second = waiter(&env, &repo, "w");
    wait_until_queued(&repo, 1);
    // Its runner is gone, its command is not.
    first.kill().dies_of(9);
    let start = std::time::Instant::now();
    eventually(DEADLINE, || {
        assert!(second.is_alive(), "{:?}", second.stdout());
        start.elapsed() > WATCHED
    });
    assert!(runs(held.pid));
    wait_until_held_by(&repo, "r");
    gate.let_go();
    let report = admitted(second.wait(SOON), "w");
    assert_eq!(report["reclaimed"], json!(true));
    assert!(gate.has_ended("r"));
}

#[test]
fn git_status_stays_clean_while_one_waits() {
    let (env, repo) = kept();
    let waiter = waiter(&env, &repo, "w");
    wait_until_queued(&repo, 1);
    waiter.says("waiting for the merge lock");
    let clean = |dir: &Path| env.git(dir, "status --porcelain --untracked-files=all");
    assert_eq!(clean(&repo), "");
}
