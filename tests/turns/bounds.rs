//! How long one waits, and what is said meanwhile and at the end of the patience.

use serde_json::json;

use crate::cast::{SOON, TERM, admitted, keeper_leaves, kept, report, waiter, waiting_lines};
use crate::common::fixture::{holder, now, waiting};
use crate::common::turns::{Gate, presence_files, wait_until_queued, waiters};
use crate::common::{Call, DEADLINE, Env, eventually};

#[test]
fn patience_that_ends_keeps_the_place_and_says_so() {
    let (env, repo) = kept();
    let call = env.call(&repo).args("--format json merge acquire");
    let ended = call
        .args("--wait=500ms --as w")
        .start()
        .wait(SOON)
        .exits(75);
    let said = report(&ended);
    assert_eq!(said["status"], "blocked", "{ended:#?}");
    assert_eq!(said["position"], json!(1), "{ended:#?}");
    assert_eq!(said["blocking_plan_id"], "keeper", "{ended:#?}");
    place_is_kept(&ended.stderr);
    assert_eq!(waiting(&repo), ["keeper", "w"]);
    assert_eq!(presence_files(&repo).len(), 0);

    let gate = Gate::new(&env);
    let call = env.call(&repo).args("--format json merge run --wait=500ms");
    let mut running = call.args("--as r").cmd(gate.cmd("r")).start();
    let ended = running.wait(SOON).exits(75);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("\"blocked\""), "{ended:#?}");
    place_is_kept(&ended.stderr);
    assert_eq!(waiting(&repo), ["keeper", "w", "r"]);
    assert_eq!(gate.order(), [""; 0]);

    // It was meant.
    env.merge(&repo, "acquire --as late").exits(75);
    let mut back = waiter(&env, &repo, "w");
    back.says("waiting for the merge lock");
    assert_eq!(waiters(&repo), ["w", "r", "late"]);
    keeper_leaves(&env, &repo);
    admitted(back.wait(SOON), "w");
}

#[track_caller]
fn place_is_kept(stderr: &str) {
    let told = |line: &str| line.contains("place") && line.contains("kept");
    assert!(stderr.lines().any(told), "no word of the place: {stderr:?}");
}

#[test]
fn a_run_without_an_id_keeps_its_place_as_well() {
    let (env, repo) = kept();
    let call = env.call(&repo).args("merge run --wait=300ms");
    let mut running = call.cmd(["true"]).start();
    place_is_kept(&running.wait(SOON).exits(75).stderr);
    let waiters = waiters(&repo);
    assert_eq!(waiters.len(), 1);
    let suffix = waiters[0].strip_prefix("main-checkout-");
    let suffix = suffix.expect("an inferred id");
    let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    assert!(suffix.len() == 6 && suffix.chars().all(hex), "{suffix:?}");
}

/// `acquire --wait` and `run`, both without a bound of their own.
const UNBOUNDED: [&str; 2] = ["acquire --wait --as w", "run --as w -- true"];

fn ends_by_itself(call: Call) {
    let mut running = call.start();
    let ended = running.wait(SOON).exits(75);
    place_is_kept(&ended.stderr);
}

#[test]
fn the_environment_and_the_configuration_bound_the_waiting() {
    let (env, repo) = kept();
    let name = "GIT_LOCKS_WAIT_TIMEOUT";
    for args in UNBOUNDED {
        let call = env.call(&repo).env(name, "300ms");
        ends_by_itself(call.args("merge").args(args));
    }
    env.git(&repo, "config locks.waitTimeout 300ms");
    for args in UNBOUNDED {
        ends_by_itself(env.call(&repo).args("merge").args(args));
    }
    // The environment stands above the configuration, a value above both.
    env.git(&repo, "config locks.waitTimeout 1d");
    let call = env.call(&repo).env(name, "300ms");
    ends_by_itself(call.args("merge").args(UNBOUNDED[0]));
    env.git(&repo, "config locks.waitTimeout 200ms");
    let call = env.call(&repo).env(name, "200ms");
    let mut patient = call
        .args("--format json merge acquire --wait=1h --as w")
        .start();
    patient.says("waiting for the merge lock");
    let start = now();
    eventually(DEADLINE, || now() > start + 1.5);
    assert!(patient.is_alive());
    keeper_leaves(&env, &repo);
    admitted(patient.wait(SOON), "w");
}

#[test]
fn who_does_not_wait_is_not_made_to() {
    let (env, repo) = kept();
    env.git(&repo, "config locks.waitTimeout 1d");
    let call = env.call(&repo).env("GIT_LOCKS_WAIT_TIMEOUT", "1d");
    let call = call.args("--format json merge acquire --as w");
    let ended = call.start().wait(SOON).exits(75);
    assert_eq!(ended.stderr, "");
    let call = env.call(&repo).args("merge acquire --no-wait --as w");
    let ended = call.start().wait(SOON).exits(75);
    assert_eq!(waiting_lines(&ended.stderr), [""; 0]);
    assert_eq!(waiters(&repo), ["w"]);
}

#[test]
fn a_setting_that_is_no_duration_is_named() {
    let (env, repo) = kept();
    for args in UNBOUNDED {
        let call = env.call(&repo).env("GIT_LOCKS_WAIT_TIMEOUT", "soon");
        let ended = call.args("merge").args(args).start().wait(SOON);
        let ended = ended.exits(2);
        assert!(
            ended.stderr.contains("GIT_LOCKS_WAIT_TIMEOUT"),
            "{ended:#?}"
        );
    }
    assert_eq!(waiting(&repo), ["keeper"]);
}

#[test]
fn a_value_without_its_sign_gets_a_hint() {
    let env = Env::new();
    let repo = env.init("repo");
    for args in [
        "acquire --wait 5m",
        "acquire --wait 5m --as w",
        "acquire --as w --wait 90",
        "run --wait 5m -- true",
        "run --as w --wait 5m -- true",
    ] {
        let call = env.call(&repo).args("--format human merge").args(args);
        let ended = call.start().wait(SOON).exits(2);
        let hinted = |line: &str| line.contains("hint: ") && line.contains("--wait=");
        assert!(ended.stderr.lines().any(hinted), "{args}: {ended:#?}");
        let value = if args.contains("90") { "90" } else { "5m" };
        assert!(
            ended.stderr.contains(&format!("--wait={value}")),
            "{args}: {ended:#?}"
        );
    }
    assert_eq!(holder(&repo), None);
    assert_eq!(waiting(&repo), [""; 0]);
    for args in ["acquire --wait=soon", "run --wait=-1s -- true"] {
        env.call(&repo)
            .args("merge")
            .args(args)
            .start()
            .wait(SOON)
            .exits(2);
    }
    assert_eq!(holder(&repo), None);
}

#[test]
fn quiet_waits_without_a_word() {
    for args in ["acquire --wait --as w", "run --as w -- true"] {
        let (env, repo) = kept();
        let call = env.call(&repo).args("-q --format json merge");
        let mut running = call.args(args).start();
        wait_until_queued(&repo, 1);
        keeper_leaves(&env, &repo);
        let ended = running.wait(SOON).exits(0);
        assert_eq!(ended.stderr, "", "{args}");
    }
}

#[test]
fn standard_output_is_the_command_s() {
    let (env, repo) = kept();
    let call = env.call(&repo).args("merge run --as w");
    let mut running = call.cmd(["echo", "mine"]).start();
    running.says("waiting for the merge lock");
    assert_eq!(running.stdout(), "");
    keeper_leaves(&env, &repo);
    assert_eq!(running.wait(SOON).exits(0).stdout, "mine\n");
}

#[test]
fn what_holds_is_shown_with_its_reason_and_no_controls() {
    let env = Env::new();
    let repo = env.init("repo");
    let call = env.call(&repo).args("merge acquire --as keeper --reason");
    call.arg("merge \u{1b}[31m of\nbranch").run().exits(0);
    let waiter = waiter(&env, &repo, "w");
    waiter.says("waiting for the merge lock");
    let said = waiter.stderr();
    assert!(!said.contains('\u{1b}'), "{said:?}");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 1, "{said:?}");
    waiter.signal(TERM);
}

#[test]
fn the_time_that_was_given_is_used() {
    let (env, repo) = kept();
    let start = std::time::Instant::now();
    let call = env.call(&repo).args("merge acquire --wait=2s --as w");
    call.start().wait(SOON).exits(75);
    let took = start.elapsed();
    assert!(took >= std::time::Duration::from_secs(2), "{took:?}");
}
