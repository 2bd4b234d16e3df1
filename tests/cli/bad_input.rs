//! What cannot be done: one line, a hint where one helps, the documented code, and a report.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde_json::json;

use crate::common::fixture::{base, hold, lock_file, plan, queue_file};
use crate::common::{Call, Env, Run, required};

const FAILED: &str = "error status error_code";

/// That a JSON call was a usage error with its report and its line.
#[track_caller]
fn usage(run: Run) -> Run {
    assert!(run.stderr.starts_with("error: "), "{run:#?}");
    run.exits(2).fields_then(FAILED, "plan_id hint").says(&[
        ("status", json!("error")),
        ("error_code", json!("INVALID_INPUT")),
    ])
}

/// That a JSON call failed for good with its report and its one line.
#[track_caller]
fn fatal(run: Run) -> Run {
    run.exits(128)
        .fields_then(FAILED, "plan_id hint")
        .says(&[("status", json!("error")), ("error_code", json!("IO"))])
        .one_line_error()
}

#[test]
fn bad_plan_ids() {
    let env = Env::new();
    let repo = env.init("repo");
    let long = "a".repeat(300);
    for id in [
        "",
        "A",
        "1a",
        "-",
        "a_b",
        "a/b",
        "../x",
        "a b",
        "a\nb",
        "é",
        "a\u{1b}[31m",
        &long,
    ] {
        for verb in ["acquire", "check", "release", "renew"] {
            let call = env.call(&repo).args("--format json merge").arg(verb);
            let run = call.arg(format!("--plan-id={id}")).run();
            assert!(!run.stderr.contains('\u{1b}'), "{run:#?}");
            usage(run).one_line_error();
        }
    }
    assert!(!repo.join(".plan").exists());
}

#[test]
fn a_plan_id_that_is_not_utf8() {
    let env = Env::new();
    let repo = env.init("repo");
    let odd = OsStr::from_bytes(b"a\xff");
    let by_flag = env
        .call(&repo)
        .args("--format json merge acquire --as")
        .arg(odd);
    usage(by_flag.run()).one_line_error();
    let by_env = env
        .call(&repo)
        .args("--format json merge acquire")
        .env("GIT_LOCKS_PLAN_ID", odd);
    usage(by_env.run()).one_line_error();
}

#[test]
fn a_bad_plan_id_from_the_environment() {
    let env = Env::new();
    let repo = env.init("repo");
    let call = env
        .call(&repo)
        .args("--format json merge acquire")
        .env("GIT_LOCKS_PLAN_ID", "Bad Id");
    let run = usage(call.run()).one_line_error();
    assert!(run.stderr.contains("GIT_LOCKS_PLAN_ID"), "{run:#?}");
}

#[test]
fn usage_errors_of_the_command_line() {
    let env = Env::new();
    let repo = env.init("repo");
    for args in [
        "merge acquire --no-such-flag",
        "merge acquire stray",
        "merge acquire --as",
        "merge acquire --ttl soon",
        "merge acquire --ttl -5s",
        "merge acquire --ttl 5m --while-pid 1",
        "merge acquire --while-pid none",
        "merge acquire --while-pid 0",
        "merge check --fence few",
        "merge nonsense",
        "nonsense",
        "merge rate-window claim",
        "merge rate-window check --bot-kind robot --pr-number 3",
        "merge check -q -v",
    ] {
        usage(env.locks(&repo, &format!("--format json {args}")));
        usage(env.locks(&repo, &format!("{args} --format=json")));
        let by_env = env
            .call(&repo)
            .env("GIT_LOCKS_FORMAT", "json")
            .args(args)
            .run();
        usage(by_env);
        let toon = env.locks(&repo, args).exits(2);
        assert!(toon.stdout.contains("status: error\n"), "{toon:#?}");
        assert!(
            toon.stdout.contains("error_code: INVALID_INPUT\n"),
            "{toon:#?}"
        );
        let human = env.locks(&repo, &format!("--format human {args}")).exits(2);
        assert_eq!(human.stdout, "", "{human:#?}");
        assert!(human.stderr.starts_with("error: "), "{human:#?}");
    }
    assert!(!repo.join(".plan").exists());
}

#[test]
fn a_format_that_is_none() {
    let env = Env::new();
    let repo = env.init("repo");
    let flag = env.locks(&repo, "--format yaml merge check").exits(2);
    assert!(flag.stderr.starts_with("error: "), "{flag:#?}");
    let by_env = env
        .call(&repo)
        .env("GIT_LOCKS_FORMAT", "yaml")
        .args("merge check")
        .run()
        .exits(2);
    assert!(by_env.stderr.contains("GIT_LOCKS_FORMAT"), "{by_env:#?}");
}

#[test]
fn settings_that_make_no_sense() {
    let env = Env::new();
    let repo = env.init("repo");
    for name in [
        "GIT_LOCKS_TTL",
        "GIT_LOCKS_TICKET_TTL",
        "GIT_LOCKS_PASS_OVER",
        "GIT_LOCKS_GUARD_TIMEOUT",
    ] {
        let call = env
            .call(&repo)
            .env(name, "whenever")
            .args("--format json merge acquire");
        let run = usage(call.run()).one_line_error();
        assert!(run.stderr.contains(name), "{run:#?}");
    }
    env.git(&repo, "config locks.ttl whenever");
    let run = usage(env.merge(&repo, "acquire")).one_line_error();
    assert!(run.stderr.contains("locks.ttl"), "{run:#?}");
}

#[test]
fn plan_base_dir_without_an_identity() {
    let env = Env::new();
    let repo = env.init("repo");
    let call = || env.call(&repo).env("PLAN_BASE_DIR", env.path("state"));
    for verb in [
        "acquire",
        "release",
        "renew",
        "rate-window claim --bot-kind robot",
    ] {
        let run = usage(call().args("--format json merge").args(verb).run()).one_line_error();
        assert!(run.text("hint").contains("--plan-id"), "{run:#?}");
    }
    let check = call().args("--format json merge check").run().exits(0);
    check
        .fields("status plan_id lock_path")
        .says(&[("plan_id", json!(null))]);
    assert!(!env.path("state").exists());
}

/// What may stand in the place of a state file and is not one.
fn put(env: &Env, kind: &str, place: &Path) {
    std::fs::create_dir_all(place.parent().expect("a parent")).expect("a directory");
    match kind {
        "directory" => std::fs::create_dir(place).expect("a directory"),
        "symlink" => {
            let target = env.path("target");
            std::fs::write(&target, "{}").expect("a target");
            std::os::unix::fs::symlink(target, place).expect("a symlink");
        }
        "dangling symlink" => {
            std::os::unix::fs::symlink(env.path("nothing"), place).expect("a symlink");
        }
        "fifo" => {
            let mode = nix::sys::stat::Mode::from_bits_truncate(0o644);
            nix::unistd::mkfifo(place, mode).expect("a fifo");
        }
        "socket" => drop(std::os::unix::net::UnixListener::bind(place).expect("a socket")),
        other => panic!("{other}?"),
    }
}

#[test]
fn what_is_no_file_in_a_state_files_place() {
    for kind in ["directory", "symlink", "dangling symlink", "fifo", "socket"] {
        for name in [
            "merge.lock",
            "merge-queue.json",
            "../../.git/git-locks/merge.json",
        ] {
            let env = Env::new();
            let repo = env.init("repo");
            let place = base(&repo).join(name);
            std::fs::create_dir_all(base(&repo)).expect("the base");
            put(&env, kind, &place);
            let run = fatal(env.merge(&repo, "acquire --as a"));
            let file = place
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            assert!(run.stderr.contains(&file), "{kind}: {run:#?}");
            let still = std::fs::symlink_metadata(&place)
                .expect("it is still there")
                .file_type();
            assert!(
                !still.is_file(),
                "{kind} in the place of {name} was replaced"
            );
            assert!(
                !env.path("nothing").exists(),
                "a dangling symlink was followed"
            );
        }
    }
}

#[test]
fn a_symlink_in_the_place_of_the_guards() {
    for name in [
        ".plan/local/merge-queue.json.lock",
        ".git/git-locks/merge.guard",
    ] {
        let env = Env::new();
        let repo = env.init("repo");
        put(&env, "dangling symlink", &repo.join(name));
        let call = env.call(&repo).env("GIT_LOCKS_GUARD_TIMEOUT", "1s");
        let run = call.args("--format json merge acquire --as a").run();
        assert_ne!(run.code, 0, "{run:#?}");
        run.says(&[("status", json!("error"))]).one_line_error();
        assert!(
            !env.path("nothing").exists(),
            "a dangling symlink was followed"
        );
    }
}

#[test]
fn a_future_format_is_refused() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as a").exits(0);
    let ours = repo.join(".git/git-locks/merge.json");
    let newer = r#"{"format": 999, "something": "else"}"#;
    std::fs::write(&ours, newer).expect("a newer state");
    let run = fatal(env.merge(&repo, "acquire --as b"));
    assert!(run.stderr.contains("merge.json"), "{run:#?}");
    fatal(env.merge(&repo, "release --as a"));
    assert_eq!(std::fs::read_to_string(&ours).expect("it"), newer);
    assert!(lock_file(&repo).exists());
}

#[test]
fn a_queue_that_is_far_too_large() {
    let env = Env::new();
    let repo = env.init("repo");
    std::fs::create_dir_all(base(&repo)).expect("the base");
    let file = std::fs::File::create(queue_file(&repo)).expect("a queue");
    file.set_len(100 << 20).expect("a sparse file");
    let run = fatal(env.merge(&repo, "acquire --as a"));
    assert!(run.stderr.contains("merge-queue.json"), "{run:#?}");
    assert_eq!(file.metadata().expect("its size").len(), 100 << 20);
}

#[test]
fn a_guard_of_another_program_that_does_not_go_away() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "a");
    let guard = base(&repo).join("merge-queue.json.lock");
    std::fs::write(&guard, "").expect("a guard");
    let call = |args: &str| -> Call {
        env.call(&repo)
            .env("GIT_LOCKS_GUARD_TIMEOUT", "1s")
            .args("--format json merge")
            .args(args)
    };
    let run = call("acquire --as a").run().exits(75).one_line_error();
    assert!(run.stderr.contains("merge-queue.json.lock"), "{run:#?}");
    run.says(&[("status", json!("error")), ("error_code", json!("TIMEOUT"))]);
    assert!(guard.exists());
    call("check").run().exits(0);
    std::fs::remove_file(&guard).expect("the guard");
    call("acquire --as a").run().exits(0);
}

#[test]
fn odd_holders_never_reach_a_terminal_raw() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "b");
    let odd: [&[u8]; 6] = [
        b"../x\n",
        b"a\0b\n",
        b"a\nb\n",
        b"\x1b[31mred\x1b[0m\n",
        b"\xff\xfe\n",
        "\u{202e}evil\n".as_bytes(),
    ];
    for content in odd {
        hold(&repo, content);
        for format in ["toon", "json", "human"] {
            let run = env
                .locks(&repo, &format!("--format {format} merge check --as b"))
                .exits(0);
            let shown = format!("{}{}", run.stdout, run.stderr);
            let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!shown.contains(bad), "{run:#?}");
        }
        env.merge(&repo, "check")
            .says(&[("staleness", json!("stale"))]);
        env.merge(&repo, "acquire --as b")
            .exits(0)
            .says(&[("reclaimed", json!(true))]);
        env.merge(&repo, "release --as b").exits(0);
    }
}

#[test]
fn a_huge_holder_is_dead() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "b");
    hold(&repo, vec![b'a'; 10 << 20]);
    let run = env.merge(&repo, "check").exits(0);
    assert!(run.stdout.len() < 10_000);
    run.says(&[("staleness", json!("stale"))]);
    env.merge(&repo, "acquire --as b")
        .exits(0)
        .says(&[("reclaimed", json!(true))]);
}

#[test]
fn files_without_permission_are_named() {
    if !crate::common::needs_root("bad_input::files_without_permission_are_named")
        || !required("bad_input::files_without_permission_are_named", "chown")
    {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as a").exits(0);
    let status = env
        .command("chown")
        .args(["-R", "64001:64001"])
        .arg(&repo)
        .status();
    assert!(status.expect("chown runs").success());
    crate::common::chmod(&queue_file(&repo), 0);
    let call = env
        .call(&repo)
        .user(&env, 64_001, 64_001)
        .args("--format json merge acquire --as b");
    let run = fatal(call.run());
    assert!(run.stderr.contains("merge-queue.json"), "{run:#?}");
}

#[test]
fn a_link_that_leads_nowhere_shows_no_free_lock() {
    let env = Env::new();
    let repo = env.init("repo");
    std::os::unix::fs::symlink("/nowhere/at/all", repo.join(".plan")).expect("a link");
    for verb in ["check", "acquire", "rate-window check --bot-kind b"] {
        env.merge(&repo, verb).exits(128).one_line_error();
    }
}
