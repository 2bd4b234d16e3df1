//! Exit codes, outputs, arguments and the environment of the command.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Stdio;

use serde_json::json;

use crate::common::fixture::waiting;
use crate::common::turns::{Running, child_of, presence_files};
use crate::common::{BIN, DEADLINE, Env, chmod};
use crate::stage::{Stage, descriptors, json_in};

#[test]
fn the_commands_own_code() {
    let stage = Stage::new();
    for code in [0, 1, 3, 75, 76, 126, 127, 128, 255] {
        let ended = stage.run("", &format!("exit {code}")).exits(code);
        assert_eq!(ended.stdout, "");
        stage.is_free();
    }
    // `-E` is about not being admitted, and about nothing else.
    stage.run("-E 9", "exit 75").exits(75);
    stage.run("-E 9", "exit 0").exits(0);
}

#[test]
fn a_command_that_a_signal_ends() {
    let stage = Stage::new();
    for signal in [1, 2, 9, 10, 15] {
        stage
            .run("", &format!("log begin; kill -{signal} $$; exit 3"))
            .exits(128 + signal);
        stage.is_free();
    }
    assert_eq!(stage.log().len(), 5);
}

#[test]
fn a_command_that_is_not_there() {
    let stage = Stage::new();
    for word in ["no-such-command", "./no/such/file", "/nowhere/at/all", ""] {
        let ended = stage.run_words("", &[word]).exits(127);
        assert_eq!(ended.stdout, "");
        assert!(ended.stderr.contains(word), "{ended:#?}");
        assert!(!ended.stderr.is_empty());
        stage.is_free();
    }
}

#[test]
fn a_command_that_cannot_be_run() {
    let stage = Stage::new();
    let file = stage.env.path("not-executable");
    std::fs::write(&file, "#!/bin/sh\nexit 0\n").expect("a file");
    chmod(&file, 0o644);
    for path in [file, stage.env.root().to_owned()] {
        let ended = stage.run_words("", &[&path]).exits(126);
        assert_eq!(ended.stdout, "");
        assert!(
            ended.stderr.contains(&path.display().to_string()),
            "{ended:#?}"
        );
        stage.is_free();
    }
}

#[test]
fn not_admitted() {
    let stage = Stage::new();
    stage.held_by("other");
    for (args, code) in [
        ("--no-wait", 75),
        ("--no-wait -E 9", 9),
        ("--no-wait -E 0", 0),
        ("--no-wait --plan-id me", 75),
        ("--no-wait --plan-id me -E 1", 1),
    ] {
        let ended = stage.run(args, "log INTRUDER").exits(code);
        assert_eq!(ended.stdout, "", "{args}");
        assert!(ended.stderr.contains("other"), "{args}: {ended:#?}");
        // It leaves no entry behind, no presence, and the holder alone.
        assert_eq!(waiting(&stage.repo), ["other"], "{args}");
        assert!(presence_files(&stage.repo).is_empty(), "{args}");
    }
    assert!(stage.log().is_empty());
    stage
        .merge("check --as other")
        .says(&[("mine", json!(true)), ("staleness", json!("fresh"))]);
}

#[test]
fn out_of_time() {
    let stage = Stage::new();
    stage.held_by("other");
    for (args, code) in [("--wait=1s", 75), ("--wait=1s -E 9", 9)] {
        let ended = stage.run(args, "log INTRUDER").exits(code);
        assert_eq!(ended.stdout, "", "{args}");
        assert!(
            ended.stderr.contains("waiting for the merge lock"),
            "{ended:#?}"
        );
    }
    assert!(stage.log().is_empty());
    // The place is kept: once, because the second took over the place of the first.
    let queue = waiting(&stage.repo);
    assert_eq!(queue.len(), 2, "{queue:?}");
    assert!(queue[1].starts_with("main-checkout-"), "{queue:?}");
}

#[test]
fn the_report_in_each_format() {
    let stage = Stage::new();
    stage.held_by("other");
    let said = |format: &str| {
        let args = format!("--no-wait --plan-id me --format {format}");
        let ended = stage.run(&args, "log INTRUDER").exits(75);
        assert_eq!(ended.stdout, "", "{format}");
        ended.stderr
    };
    let report = json_in(&said("json"));
    let expected = [
        ("status", json!("blocked")),
        ("plan_id", json!("me")),
        ("admission", json!("blocked")),
        ("blocking_plan_id", json!("other")),
        ("lock_path", json!(stage.lock_file())),
    ];
    for (field, value) in expected {
        assert_eq!(report[field], value, "{field} in {report}");
    }
    let toon = said("toon");
    for line in ["status: blocked", "plan_id: me", "blocking_plan_id: other"] {
        assert!(toon.lines().any(|said| said == line), "{line} in {toon:?}");
    }
    let human = said("human");
    assert!(human.contains("other"), "{human:?}");
    assert!(
        !human.contains("status:") && !human.contains('{'),
        "{human:?}"
    );
    assert!(stage.log().is_empty());
}

#[test]
fn an_admitted_run_says_nothing_of_its_own() {
    let stage = Stage::new();
    for format in ["json", "toon", "human"] {
        let args = format!("--format {format}");
        let ended = stage.run(&args, "echo out; echo err >&2").exits(0);
        assert_eq!(ended.stdout, "out\n");
        assert!(ended.stderr.contains("err\n"), "{ended:#?}");
        assert!(!ended.stderr.contains("admitted"), "{ended:#?}");
    }
    let quiet = stage.run("-q", "echo err >&2").exits(0);
    assert_eq!(quiet.stderr, "err\n");
}

#[test]
fn standard_output_and_input_are_the_commands() {
    let stage = Stage::new();
    let path = stage.env.path("output");
    let file = std::fs::File::create(&path).expect("a file");
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let mut command = stage.runner("");
    command.args(["--", "cat"]).stdin(Stdio::piped());
    let mut running = Running::start_into(command, Stdio::from(file));
    let mut input = running.take_stdin().expect("a pipe");
    input.write_all(&bytes).expect("it is read");
    drop(input);
    running.wait(DEADLINE).exits(0);
    assert!(std::fs::read(&path).expect("the output") == bytes);
}

#[test]
fn the_commands_arguments_are_not_ours() {
    let stage = Stage::new();
    let odd = OsStr::from_bytes(b"\xff\n'\" $HOME");
    let mut words: Vec<OsString> = stage
        .script("for word; do printf '[%s]' \"$word\"; done >\"$DIR/words\"")
        .into();
    let given = [
        "--help",
        "",
        "a b",
        "-E",
        "--no-wait",
        "--",
        "-C",
        "/nowhere",
    ];
    words.extend(given.iter().map(OsString::from));
    words.push(odd.to_owned());
    stage.run_words("", &words).exits(0);
    let mut expected = b"[--help][][a b][-E][--no-wait][--][-C][/nowhere][".to_vec();
    expected.extend(odd.as_bytes());
    expected.push(b']');
    let seen = std::fs::read(stage.env.path("words")).expect("its words");
    assert_eq!(seen, expected);
}

#[test]
fn where_it_runs() {
    let stage = Stage::new();
    let dir = stage.repo.join("below/here");
    std::fs::create_dir_all(&dir).expect("a directory");
    let mut command = stage.prepared("", "log at $(pwd -P)");
    command.current_dir(&dir);
    Running::start(command).wait(DEADLINE).exits(0);
    assert_eq!(stage.note("at"), dir.display().to_string());
}

#[test]
fn the_environment() {
    let stage = Stage::new();
    let body = "env | grep ^GIT_LOCKS_ >\"$DIR/env\"; log begin; hold me";
    let mut running = stage.start("", body);
    stage.noted("begin");
    let text = std::fs::read_to_string(stage.env.path("env")).expect("its environment");
    let value = |name: &str| {
        let begin = format!("{name}=");
        let found = text.lines().find_map(|line| line.strip_prefix(&begin));
        found.map(str::to_owned)
    };
    assert_eq!(
        value("GIT_LOCKS_LOCK"),
        Some(format!("merge:{}", stage.lock_file().display()))
    );
    let holder = value("GIT_LOCKS_HOLDER").expect("a holder");
    assert_eq!(holder, stage.holder());
    let suffix = holder.strip_prefix("main-checkout-").expect("its name");
    assert_eq!(suffix.len(), 6, "{holder}");
    assert!(
        suffix.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{holder}"
    );
    let fence = value("GIT_LOCKS_FENCE").expect("a fence");
    let check = stage.merge("check").exits(0);
    assert_eq!(check.get("fence").to_string(), fence);
    assert_eq!(check.text("holder_plan_id"), holder);
    assert_eq!(check.text("staleness"), "fresh");
    assert_eq!(value("GIT_LOCKS_PLAN_ID"), None);

    // The secret is nowhere but in the command's environment.
    let token = value("GIT_LOCKS_TOKEN").expect("a token");
    assert!(token.len() >= 16, "{token:?} can be guessed");
    for dir in [".git/git-locks", ".plan"] {
        for (path, bytes) in crate::common::fixture::tree(&stage.repo.join(dir)) {
            let found = bytes
                .windows(token.len())
                .any(|part| part == token.as_bytes());
            assert!(!found, "the token is in {}", path.display());
        }
    }
    assert!(!running.stderr().contains(&token));
    stage.let_go("me");
    running.wait(DEADLINE).exits(0);
    stage.is_free();
}

#[test]
fn the_environment_with_an_id() {
    let stage = Stage::new();
    let body = "log holder $GIT_LOCKS_HOLDER; log plan ${GIT_LOCKS_PLAN_ID-none}";
    stage.run("--plan-id me", body).exits(0);
    assert_eq!(stage.log(), ["holder me", "plan none"]);
    let mut command = stage.prepared("", "log named $GIT_LOCKS_HOLDER");
    command.env("GIT_LOCKS_PLAN_ID", "by-name");
    Running::start(command).wait(DEADLINE).exits(0);
    assert_eq!(stage.note("named"), "by-name");
}

#[test]
fn each_run_has_a_token_and_a_fence_of_its_own() {
    let stage = Stage::new();
    for _ in 0..3 {
        let body = "log token $GIT_LOCKS_TOKEN; log fence $GIT_LOCKS_FENCE";
        stage.run("--plan-id me", body).exits(0);
    }
    let values = |word: &str| -> Vec<String> {
        let log = stage.log();
        let found = log.iter().filter_map(|line| line.strip_prefix(word));
        found.map(str::to_owned).collect()
    };
    let mut tokens = values("token ");
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), 3, "{tokens:?}");
    let fences: Vec<u64> = values("fence ")
        .iter()
        .map(|fence| fence.parse().expect("a number"))
        .collect();
    assert!(fences.is_sorted_by(|a, b| a < b), "{fences:?}");
}

#[test]
fn the_command_is_the_recorded_child_and_gets_no_descriptor_of_ours() {
    let stage = Stage::new();
    let mut running = stage.start("--plan-id me --reason why", "log begin $$; hold me");
    let pid = stage.number("begin");
    // The runner's child became the command, and is in its group.
    assert_eq!(child_of(running.pid()), pid);
    assert_eq!(
        crate::stage::groups(pid).0,
        crate::stage::groups(running.pid()).0
    );
    let record = stage.record("me");
    assert_eq!(record["kind"], "attached", "{record}");
    assert_eq!(record["process"]["pid"], pid, "{record}");
    assert_eq!(record["reason"], "why", "{record}");
    // Its presence is locked, and its bell stands beside it.
    let mut presence = presence_files(&stage.repo);
    presence.retain(|path| path.extension().is_none());
    assert_eq!(presence.len(), 1, "{presence:?}");
    let name = presence[0].file_name().and_then(OsStr::to_str);
    assert_eq!(record["presence"].as_str(), name);
    let file = std::fs::File::open(&presence[0]).expect("the presence");
    assert!(file.try_lock_shared().is_err(), "nobody is present");
    for (number, target) in descriptors(pid) {
        assert!(
            !target.contains("git-locks/") && !target.contains(".plan"),
            "{number} is {target}"
        );
    }
    let check = stage.merge("check").exits(0);
    assert_eq!(check.text("reason"), "why");
    stage.let_go("me");
    running.wait(DEADLINE).exits(0);
    stage.is_free();
}

#[test]
fn exit_zero_is_not_for_commands() {
    let stage = Stage::new();
    stage.run("--exit-zero", "exit 3").exits(3);
    stage
        .run_words("--exit-zero", &["no-such-command"])
        .exits(127);
    let mut command = stage.prepared("", "kill -TERM $$");
    command.env("GIT_LOCKS_EXIT_ZERO", "1");
    Running::start(command).wait(DEADLINE).exits(143);
    stage.held_by("other");
    stage.run("--exit-zero --no-wait", "exit 0").exits(75);
}

#[test]
fn usage() {
    let stage = Stage::new();
    for args in [
        "merge run",
        "merge run --",
        "merge run --no-wait --wait=1s -- true",
        "merge run -E 256 -- true",
        "merge run -E -1 -- true",
        "merge run -E x -- true",
        "merge run --max-hold soon -- true",
        "merge run --kill-after -3s -- true",
        "merge run --on-loss=maybe -- true",
        "merge run --wait=soon -- true",
        "merge run --plan-id Not_One -- true",
    ] {
        let run = stage.env.locks(&stage.repo, args);
        assert_eq!(run.code, 2, "{args}: {run:#?}");
        assert_eq!(run.stdout, "", "{args}");
        assert!(!run.stderr.is_empty(), "{args}");
    }
    assert_eq!(waiting(&stage.repo), Vec::<String>::new());
}

#[test]
fn outside_of_a_repository_nothing_is_run() {
    let env = Env::new();
    let touched = env.path("touched");
    let mut command = env.command(BIN);
    command
        .args(["merge", "run", "--", "touch"])
        .arg(&touched)
        .env("GIT_CEILING_DIRECTORIES", env.root());
    let ended = Running::start(command).wait(DEADLINE).exits(128);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("error"), "{ended:#?}");
    assert!(!touched.exists());
}
