//! A `run` inside a `run`: passed through by its token, refused without; and what others may do
//! to a holder with a process.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::fixture::{base, waiting, worktree};
use crate::common::turns::{Running, wait_until_queued, waits_for};
use crate::common::{BIN, DEADLINE};
use crate::stage::{CONT, KILL, STOP, Stage, json_in, send_from_elsewhere};

/// What a script wrote into a file of the test's directory.
#[track_caller]
fn written(stage: &Stage, name: &str) -> String {
    std::fs::read_to_string(stage.env.path(name)).expect("a script's file")
}

/// The JSON report that a script wrote there.
#[track_caller]
fn report(stage: &Stage, name: &str) -> Value {
    json_in(&written(stage, name))
}

/// Notes who holds the lock, as the command's environment and as `check` has it.
const WHO: &str = r#"
who() {
    log "$1 $GIT_LOCKS_HOLDER $GIT_LOCKS_FENCE"
    "$BIN" --format json merge check >"$DIR/check-$1"
}
"#;

#[test]
fn passes_straight_through() {
    let stage = Stage::new();
    let inner = stage.script_line(&format!("{WHO} who inner; exit 5"));
    let body = format!(
        "{WHO} who before\n\
         \"$BIN\" merge run -- {inner}; log code $?\n\
         who after\n"
    );
    stage.run("", &body).exits(0);
    assert_eq!(stage.note("code"), "5");
    let holder = stage.note("before");
    // The same grant inside, and still there afterwards.
    assert_eq!(stage.note("inner"), holder);
    assert_eq!(stage.note("after"), holder);
    let id = holder.split(' ').next().expect("an id");
    for name in ["check-before", "check-inner", "check-after"] {
        let check = report(&stage, name);
        assert_eq!(check["status"], "held", "{name}: {check}");
        assert_eq!(check["holder_plan_id"], id, "{name}: {check}");
    }
    stage.is_free();
}

#[test]
fn three_deep_from_elsewhere_in_the_repository() {
    let stage = Stage::new();
    let tree = worktree(&stage.env, &stage.repo, "tree");
    let innermost = stage.script_line("log in $GIT_LOCKS_HOLDER; exit 6");
    let body = format!(
        "cd '{}' && \"$BIN\" merge run --no-wait -- \"$BIN\" merge run -- {innermost}\n\
         log code $?\n",
        tree.display()
    );
    stage.run("--plan-id me", &body).exits(0);
    assert_eq!(stage.note("in"), "me");
    assert_eq!(stage.note("code"), "6");
    stage.is_free();
}

#[test]
fn inner_codes_and_queues() {
    let stage = Stage::new();
    let body = "\"$BIN\" merge run -- no-such-command; log missing $?\n\
                \"$BIN\" merge run -- sh -c 'kill -TERM $$'; log killed $?\n\
                log begin; hold me\n\
                \"$BIN\" merge run -- true; log waited $?\n";
    let mut outer = stage.start("--plan-id me", body);
    stage.noted("begin");
    assert_eq!(stage.note("missing"), "127");
    assert_eq!(stage.note("killed"), "143");
    // Those who wait outside are not overtaken: the lock is the enclosing one's.
    let mut second = stage.start("--plan-id second", "log second");
    wait_until_queued(&stage.repo, 1);
    assert_eq!(waiting(&stage.repo), ["me", "second"]);
    stage.let_go("me");
    outer.wait(DEADLINE).exits(0);
    second.wait(DEADLINE).exits(0);
    assert_eq!(
        stage.log()[2..],
        ["begin", "waited 0", "second"].map(str::to_owned)
    );
    stage.is_free();
}

/// What makes a descendant forget its token.
const FORGETS: [&str; 5] = [
    "env -u GIT_LOCKS_TOKEN",
    "env GIT_LOCKS_TOKEN=\"${GIT_LOCKS_TOKEN#*:}\"",
    "env GIT_LOCKS_TOKEN=0123456789abcdef0123456789abcdef",
    "env GIT_LOCKS_TOKEN=",
    "env -i PATH=\"$PATH\" HOME=\"$HOME\" GIT_CONFIG_NOSYSTEM=1",
];

#[test]
fn a_descendant_without_the_token_is_refused_at_once() {
    for forgets in FORGETS {
        let stage = Stage::new();
        let body = format!(
            "{forgets} \"$BIN\" --format json merge run -- echo in >\"$DIR/out\" 2>\"$DIR/run\"\n\
             log run $?\n\
             {forgets} \"$BIN\" --format json merge run --no-wait -E 9 -- echo in >>\"$DIR/out\" 2>\"$DIR/no-wait\"\n\
             log no-wait $?\n\
             {forgets} \"$BIN\" --format json merge acquire >\"$DIR/acquire\"\n\
             log acquire $?\n\
             {forgets} \"$BIN\" --format json merge acquire --wait >\"$DIR/wait\"\n\
             log wait $?\n"
        );
        stage.run("--plan-id me", &body).exits(0);
        for name in ["run", "acquire", "wait"] {
            assert_eq!(stage.note(name), "1", "{forgets}: {name}");
        }
        for name in ["run", "no-wait", "acquire", "wait"] {
            let report = report(&stage, name);
            assert_eq!(report["status"], "refused", "{forgets}: {name}: {report}");
            assert_eq!(
                report["reason"], "own_parent",
                "{forgets}: {name}: {report}"
            );
        }
        assert_eq!(written(&stage, "out"), "", "{forgets}");
        stage.is_free();
    }
}

#[test]
fn a_token_of_another_lock_proves_nothing() {
    let stage = Stage::new();
    let body = r#"
        secret=${GIT_LOCKS_TOKEN#*:}
        for token in "0123456789abcdef:$secret" ":$secret" "merge:$secret" \
            "$GIT_LOCKS_LOCK:$secret" "${GIT_LOCKS_TOKEN%%:*}:"; do
            GIT_LOCKS_TOKEN=$token "$BIN" --format json merge run -- echo in >>"$DIR/out" 2>"$DIR/run"
            log "code $?"
            grep -o own_parent "$DIR/run" >>"$DIR/reasons"
        done
    "#;
    stage.run("--plan-id me", body).exits(0);
    assert_eq!(stage.log(), ["code 1"; 5]);
    assert_eq!(written(&stage, "reasons"), "own_parent\n".repeat(5));
    assert_eq!(written(&stage, "out"), "");
    stage.is_free();
}

#[test]
fn a_descendant_of_a_killed_runner_is_refused_too() {
    let stage = Stage::new();
    let body = "log begin; hold me\n\
                env -u GIT_LOCKS_TOKEN \"$BIN\" --format json merge run -- echo in >\"$DIR/out\" 2>\"$DIR/run\"\n\
                log code $?; hold on\n";
    let mut outer = stage.start("--plan-id me", body);
    stage.noted("begin");
    outer.kill();
    stage.let_go("me");
    assert_eq!(stage.note("code"), "1");
    assert_eq!(report(&stage, "run")["reason"], "own_parent");
    stage.is_taken();
    stage.let_go("on");
    stage.next_is_admitted();
}

#[test]
fn an_outdated_marker_proves_nothing() {
    let stage = Stage::new();
    stage
        .run("--plan-id me", "env | grep ^GIT_LOCKS_ >\"$DIR/marker\"")
        .exits(0);
    let marker = written(&stage, "marker");
    let marked = |args: &str, body: &str| {
        let mut command = stage.prepared(args, body);
        for line in marker.lines() {
            let (name, value) = line.split_once('=').expect("a variable");
            command.env(name, value);
        }
        Running::start(command).wait(DEADLINE)
    };
    // Of a lock that is free: it is taken properly.
    marked("", "log new $GIT_LOCKS_HOLDER $GIT_LOCKS_TOKEN").exits(0);
    let new = stage.note("new");
    assert!(new.starts_with("main-checkout-"), "{new}");
    let token = new.split(' ').nth(1).expect("a token");
    assert!(!marker.contains(token), "the old token again");
    // Of a lock that another holds, or another run of the same name.
    stage.held_by("other");
    marked("--no-wait", "log INTRUDER").exits(75);
    stage.merge("release --as other").exits(0);
    let mut other = stage.start("--plan-id me", "log begin; hold me");
    stage.noted("begin");
    marked("--no-wait", "log INTRUDER").exits(75);
    stage.let_go("me");
    other.wait(DEADLINE).exits(0);
    assert!(!stage.log().contains(&"INTRUDER".to_owned()));
    stage.is_free();
}

#[test]
fn another_repository_is_another_lock() {
    let stage = Stage::new();
    let there = stage.env.init("there");
    let inner =
        stage.script_line("log in $GIT_LOCKS_LOCK; test -s ../there/.plan/local/merge.lock");
    let body = format!(
        "cd '{}' && \"$BIN\" merge run --plan-id guest -- {inner}\n\
         log code $?\n\
         \"$BIN\" --format json merge acquire --as other --ttl 1h >\"$DIR/other\"\n\
         \"$BIN\" merge run --no-wait -- echo in >\"$DIR/out\" 2>/dev/null; log held $?\n\
         GIT_LOCKS_LOCK='merge:{}' \"$BIN\" merge run --no-wait -- echo in >>\"$DIR/out\" 2>/dev/null\n\
         log forged $?\n",
        there.display(),
        base(&there).join("merge.lock").display()
    );
    stage.run("--plan-id me", &body).exits(0);
    assert_eq!(stage.note("code"), "0");
    assert_eq!(
        stage.note("in"),
        format!("merge:{}", base(&there).join("merge.lock").display())
    );
    assert_eq!(stage.note("held"), "75");
    assert_eq!(stage.note("forged"), "75");
    assert_eq!(written(&stage, "out"), "");
    stage.is_free();
}

#[test]
fn acquire_inside_has_the_lock_already() {
    let stage = Stage::new();
    let body = format!(
        "{WHO}\n\
         \"$BIN\" --format json merge acquire >\"$DIR/acquire\"; log acquire $?\n\
         who after\n"
    );
    stage.run("--plan-id me", &body).exits(0);
    assert_eq!(stage.note("acquire"), "0");
    let acquired = report(&stage, "acquire");
    for (field, value) in [
        ("status", "success"),
        ("action", "already_held"),
        ("admission", "admitted"),
        ("holder", "me"),
    ] {
        assert_eq!(acquired[field], value, "{field} of {acquired}");
    }
    assert_eq!(report(&stage, "check-after")["holder_plan_id"], "me");
    // What was acquired inside does not outlive the run.
    stage.is_free();
}

#[test]
fn release_inside_leaves_the_lock() {
    let stage = Stage::new();
    let body = format!(
        "{WHO}\n\
         \"$BIN\" --format json merge release >\"$DIR/release\"; log release $?\n\
         who plain\n\
         \"$BIN\" --format json merge release --as me >\"$DIR/named\"; log named $?\n\
         who named\n\
         \"$BIN\" --format json merge release --require-stale >\"$DIR/stale\"; log stale $?\n\
         who stale\n\
         env -u GIT_LOCKS_TOKEN \"$BIN\" --format json merge release --as me >\"$DIR/bare\"\n\
         log bare $?\n\
         who bare\n\
         log begin; hold me\n"
    );
    let mut outer = stage.start("--plan-id me", &body);
    stage.noted("begin");
    assert_eq!(stage.note("release"), "0");
    let released = report(&stage, "release");
    assert_eq!(released["status"], "success", "{released}");
    assert_eq!(released["action"], "noop", "{released}");
    assert_eq!(
        stage.log().iter().filter(|line| *line == "stale 1").count(),
        1
    );
    for name in ["plain", "named", "stale", "bare"] {
        let check = report(&stage, &format!("check-{name}"));
        assert_eq!(check["holder_plan_id"], "me", "{name}: {check}");
        assert_eq!(check["staleness"], "fresh", "{name}: {check}");
    }
    stage.is_taken();
    stage.let_go("me");
    outer.wait(DEADLINE).exits(0);
    stage.is_free();
}

#[test]
fn release_from_outside_is_refused() {
    let stage = Stage::new();
    let mut running = stage.start("--plan-id me", "log begin; hold me");
    stage.noted("begin");
    for args in ["release --plan-id me", "release --as me"] {
        stage
            .merge(args)
            .exits(1)
            .fields_then("status plan_id reason holder lock_path", "hint message")
            .says(&[
                ("status", json!("refused")),
                ("plan_id", json!("me")),
                ("reason", json!("holder_present")),
                ("holder", json!("me")),
                ("lock_path", json!(stage.lock_file())),
            ]);
    }
    assert_eq!(stage.holder(), "me");
    assert_eq!(waiting(&stage.repo), ["me"]);
    stage.is_taken();
    // Its name is not its token.
    let again = stage.merge("acquire --as me");
    assert_ne!(again.get("admission"), json!("admitted"), "{again:#?}");
    assert_ne!(again.code, 0);
    stage.let_go("me");
    running.wait(DEADLINE).exits(0);
    assert_eq!(crate::common::fixture::holder(&stage.repo), None);
    stage
        .merge("release --as me")
        .exits(0)
        .says(&[("action", json!("noop"))]);
    stage.is_free();
}

#[test]
fn of_a_holder_without_a_process() {
    let stage = Stage::new();
    stage.held_by("me");
    stage.merge("acquire --as waits").exits(75);
    let lock = std::fs::read(stage.lock_file()).expect("a lock file");
    let fence = stage.merge("check").get("fence").to_string();
    let body = format!("{WHO} who inside; exit 4");
    stage.run("--plan-id me", &body).exits(4);
    assert_eq!(stage.note("inside"), format!("me {fence}"));
    // As it was found.
    assert_eq!(std::fs::read(stage.lock_file()).expect("it"), lock);
    assert_eq!(waiting(&stage.repo), ["me", "waits"]);
    let check = stage.merge("check --as me");
    check.says(&[("mine", json!(true)), ("staleness", json!("fresh"))]);
    assert_eq!(stage.merge("check").get("fence").to_string(), fence);
    // Also when the command dies, or was never there.
    stage.run("--plan-id me", "kill -KILL $$").exits(137);
    stage
        .run_words("--plan-id me", &["no-such-command"])
        .exits(127);
    assert_eq!(std::fs::read(stage.lock_file()).expect("it"), lock);
    // It is the holder's, not the run's: it can still be let go.
    stage
        .merge("release --as me")
        .exits(0)
        .says(&[("action", json!("released"))]);
    assert_eq!(waiting(&stage.repo), ["waits"]);
}

#[test]
fn inside_a_visit_of_a_holder_without_a_process() {
    let stage = Stage::new();
    stage.held_by("me");
    let inner = stage.script_line(&format!("{WHO} who inner"));
    let body = format!(
        "{WHO} who before\n\
         \"$BIN\" merge run -- {inner}; log code $?\n\
         \"$BIN\" --format json merge release --as me >\"$DIR/released\"; log release $?\n\
         \"$BIN\" --format json merge acquire >\"$DIR/acquired\"\n\
         log token $GIT_LOCKS_TOKEN\n"
    );
    stage.run("--plan-id me", &body).exits(0);
    assert_eq!(stage.note("inner"), stage.note("before"), "passed through");
    assert_eq!(
        (stage.note("code"), stage.note("release")),
        ("0".into(), "0".into())
    );
    assert_eq!(report(&stage, "released")["action"], "noop");
    assert_eq!(report(&stage, "acquired")["action"], "already_held");
    // It is as it was, and the visit's token is worth nothing any more.
    stage.is_taken();
    let token = stage.note("token");
    let lock = format!("merge:{}", stage.lock_file().display());
    let call = stage.env.call(&stage.repo);
    let call = call
        .env("GIT_LOCKS_TOKEN", token)
        .env("GIT_LOCKS_LOCK", lock);
    let late = call.args("--format json merge run --no-wait -- true").run();
    late.exits(75);
    stage
        .merge("release --as me")
        .exits(0)
        .says(&[("action", json!("released"))]);
}

#[test]
fn of_a_holder_whose_lease_is_shorter_than_the_command() {
    let stage = Stage::new();
    stage.merge("acquire --as me --ttl 2s").exits(0);
    let begin = Instant::now();
    let mut running = stage.start("--plan-id me", "log begin; hold me");
    stage.noted("begin");
    waits_for("the lease to be over", DEADLINE, || {
        (begin.elapsed() > Duration::from_secs(4)).then_some(())
    });
    stage.is_taken();
    stage.merge("check").says(&[
        ("holder_plan_id", json!("me")),
        ("staleness", json!("fresh")),
    ]);
    assert!(running.is_alive());
    stage.let_go("me");
    running.wait(DEADLINE).exits(0);
}

#[test]
fn a_holder_that_is_let_go_and_holds_again_is_not_the_one_that_was_visited() {
    for run in [false, true] {
        let stage = Stage::new();
        stage.merge("acquire --as me --ttl 1h").exits(0);
        let body = "trap 'log TERM; exit 0' TERM; log begin; hold me";
        let mut running = stage.start("--plan-id me", body);
        stage.noted("begin");
        // Both before the runner can look, which stands still.
        running.signal(STOP);
        stage.merge("release --as me").exits(0);
        let mut other = run.then(|| stage.start("--plan-id me", "log begin other; hold other"));
        if run {
            stage.noted("begin other");
        } else {
            stage.merge("acquire --as me --ttl 1h").exits(0);
        }
        running.signal(CONT);
        let ended = running.wait(DEADLINE).exits(76);
        assert!(ended.stderr.contains("lost"), "{ended:#?}");
        stage.noted("TERM");
        stage.is_taken();
        stage.let_go("other");
        if let Some(other) = &mut other {
            other.wait(DEADLINE).exits(0);
        }
    }
}

#[test]
fn a_run_of_a_running_name_queues_under_another() {
    let stage = Stage::new();
    let mut first = stage.start("--plan-id me", "log first $GIT_LOCKS_HOLDER; hold first");
    assert_eq!(stage.note("first"), "me");
    let mut second = stage.start("--plan-id me", "log second $GIT_LOCKS_HOLDER; hold second");
    wait_until_queued(&stage.repo, 1);
    let queue = waiting(&stage.repo);
    let suffix = queue[1].strip_prefix("me-").expect("a suffix");
    assert_eq!(suffix.len(), 6, "{queue:?}");
    assert!(suffix.bytes().all(|b| b.is_ascii_hexdigit()), "{queue:?}");
    stage
        .run("--plan-id me --no-wait", "log INTRUDER")
        .exits(75);
    assert_eq!(waiting(&stage.repo), queue);
    stage.let_go("first");
    first.wait(DEADLINE).exits(0);
    assert_eq!(stage.note("second"), queue[1]);
    assert_eq!(stage.holder(), queue[1]);
    stage.let_go("second");
    second.wait(DEADLINE).exits(0);
    stage.is_free();
}

#[test]
fn runs_in_one_checkout_are_several() {
    let stage = Stage::new();
    let mut first = stage.start("", "log first $GIT_LOCKS_HOLDER; hold first");
    let id = stage.note("first");
    let mut second = stage.start("", "log second $GIT_LOCKS_HOLDER");
    wait_until_queued(&stage.repo, 1);
    stage.let_go("first");
    first.wait(DEADLINE).exits(0);
    second.wait(DEADLINE).exits(0);
    assert_ne!(stage.note("second"), id);
    stage.is_free();
}

#[test]
fn an_inner_run_that_outlives_the_outer_has_lost_the_lock() {
    let stage = Stage::new();
    let inner =
        stage.script_line("trap 'log inner TERM; exit 0' TERM; log begin inner; hold inner");
    let body = format!(
        "( \"$BIN\" merge run -- {inner}; log code $? ) >/dev/null 2>\"$DIR/inner\" &\n\
         until grep -q 'begin inner' \"$DIR/log\"; do sleep 0.02; done\n"
    );
    // The group is ended when this is dropped, and the inner run with it.
    let mut outer = stage.start("--plan-id me", &body);
    outer.wait(DEADLINE).exits(0);
    stage.next_is_admitted();
    assert_eq!(stage.note("code"), "76");
    stage.noted("inner TERM");
    assert!(!written(&stage, "inner").is_empty(), "it does not say so");
    stage.is_free();
}

#[test]
fn an_inner_runner_that_is_killed_takes_nothing_with_it() {
    let stage = Stage::new();
    let inner = stage.script_line("log begin $PPID; hold inner");
    let body = format!("\"$BIN\" merge run -- {inner}; log code $?; hold me");
    let mut outer = stage.start("--plan-id me", &body);
    let runner = stage.number("begin");
    send_from_elsewhere(runner, KILL);
    assert_eq!(stage.note("code"), "137");
    assert_eq!(stage.holder(), "me");
    stage.is_taken();
    stage.let_go("me");
    outer.wait(DEADLINE).exits(0);
    stage.let_go("inner");
    stage.next_is_admitted();
    stage.is_free();
}

#[test]
fn a_hook_that_runs_git_locks_in_a_bare_environment_of_git() {
    // git's own variables in a hook do not make it another repository.
    let stage = Stage::new();
    let hook = stage.repo.join(".git/hooks/pre-commit");
    let inner = stage.script_line("log in $GIT_LOCKS_HOLDER");
    let text = format!("#!/bin/sh\n'{BIN}' merge run -- {inner}\n");
    let staged = stage.env.path("hook");
    std::fs::write(&staged, text).expect("a hook");
    std::fs::create_dir_all(hook.parent().expect("hooks")).expect("hooks");
    crate::stage::tool(
        "install",
        &[
            "-m".as_ref(),
            "755".as_ref(),
            staged.as_os_str(),
            hook.as_os_str(),
        ],
    );
    let ended = stage.run("--plan-id me", "git commit -q --allow-empty -m change");
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(stage.log(), ["in me"]);
    stage.is_free();
}
