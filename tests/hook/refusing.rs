//! What a push is told that may not go on, and that nothing lets it through by mistake.

use serde_json::{Value, json};

use crate::cast::{Field, finish, says, script};
use crate::common::fixture::{holder, lock_file, waiting};
use crate::common::turns::{Ended, waiters};

fn kept() -> Field {
    let field = Field::gated("");
    let acquire = field
        .env
        .call(&field.repo)
        .args("merge acquire --as keeper");
    acquire.args("--reason").arg("the big merge").run().exits(0);
    field
}

/// A push to `main` with this environment, refused.
#[track_caller]
fn refused(field: &Field, environment: &[(&str, &str)]) -> Ended {
    let mut command = field.git(&field.repo, "push far main");
    command.envs(environment.iter().copied());
    let ended = finish(command).exits(1);
    assert!(!field.arrived("refs/heads/main"), "{ended:#?}");
    ended
}

#[test]
fn a_refusal_says_who_since_when_and_what_to_do() {
    let field = kept();
    let ended = refused(&field, &[("GIT_LOCKS_HOOK_WAIT", "0")]);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let place = field.repo.display();
    assert!(
        lines[0].starts_with("Blocked: the merge lock is held by keeper, for ")
            && lines[0].ends_with(&format!(", in {place}.")),
        "{ended:#?}"
    );
    assert_eq!(
        &lines[1..4],
        [
            "Reason: the big merge",
            "Nothing is pushed to refs/heads/main.",
            "To push under the lock: git locks merge run -- git push far main",
        ]
    );
    // No wait, no trace.
    assert_eq!(waiting(&field.repo), ["keeper"]);
}

#[test]
fn the_command_that_is_named_does_it_right() {
    let field = kept();
    let ended = refused(&field, &[("GIT_LOCKS_HOOK_WAIT", "0")]);
    let command = ended
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("To push under the lock: "))
        .expect("a command");
    field.env.merge(&field.repo, "release --as keeper").exits(0);
    let words = command.strip_prefix("git ").expect("git's");
    finish(field.git(&field.repo, words)).exits(0);
    assert!(field.arrived("refs/heads/main"));
    assert_eq!(holder(&field.repo), None);
}

#[test]
fn a_wait_that_was_in_vain_keeps_its_place() {
    let field = kept();
    field.env.git(&field.repo, "config locks.hook.wait 1s");
    let ended = refused(&field, &[]);
    says(&ended, "waiting for the merge lock");
    says(
        &ended,
        "Nothing is pushed to refs/heads/main, after a wait of 1s.",
    );
    says(
        &ended,
        "Place 1 in the queue is kept for the next push from here, as main-checkout.",
    );
    assert_eq!(waiters(&field.repo).len(), 1);
}

#[test]
fn a_refusal_for_machines() {
    let field = kept();
    let environment = [("GIT_LOCKS_HOOK_WAIT", "0"), ("GIT_LOCKS_FORMAT", "json")];
    let ended = refused(&field, &environment);
    let end = ended.stderr.rfind('}').expect("a report") + 1;
    let report: Value = serde_json::from_str(&ended.stderr[..end]).expect("JSON");
    let names: Vec<_> = report.as_object().expect("an object").keys().collect();
    assert_eq!(
        names,
        [
            "status",
            "plan_id",
            "reason",
            "refs",
            "ref_count",
            "lock_path",
            "holder",
            "holder_since",
            "holder_where",
            "holder_reason",
            "command"
        ]
    );
    assert_eq!(report["status"], json!("blocked"));
    assert_eq!(report["reason"], json!("not_admitted"));
    assert_eq!(report["plan_id"], json!("main-checkout"));
    assert_eq!(report["lock_path"], json!(lock_file(&field.repo).to_str()));
}

#[test]
fn the_hook_itself_exits_75_when_it_was_not_admitted() {
    let field = kept();
    let probe = field.repo.join(".git/hooks/pre-push");
    let gate = std::fs::read_to_string(&probe).expect("the hook");
    let code = field.env.path("code");
    let noting = gate.replace(
        "|| exit $?",
        &format!("|| {{ echo $? >'{}'; exit 1; }}", code.display()),
    );
    std::fs::write(&probe, noting).expect("the hook");
    refused(&field, &[("GIT_LOCKS_HOOK_WAIT", "0")]);
    assert_eq!(std::fs::read_to_string(&code).expect("a code"), "75\n");
}

#[test]
fn exit_zero_lets_nothing_through() {
    let field = kept();
    let zero = ("GIT_LOCKS_EXIT_ZERO", "1");
    let toon = ("GIT_LOCKS_FORMAT", "toon");
    refused(&field, &[zero, toon, ("GIT_LOCKS_HOOK_WAIT", "0")]);
    // A setting, an id and a lock that make no sense.
    refused(&field, &[zero, toon, ("GIT_LOCKS_HOOK_WAIT", "soon")]);
    refused(&field, &[zero, toon, ("GIT_LOCKS_TTL", "soon")]);
    refused(&field, &[zero, toon, ("GIT_LOCKS_PLAN_ID", "No Id")]);
    for words in ["--nonsense", "--protect -x -- far url", "--protect a?"] {
        let call = field.hook(&field.repo, &format!("pre-push {words}"));
        let run = call.env(zero.0, zero.1).stdin(b"").run().exits(2);
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn a_lock_that_cannot_be_read_stops_the_push() {
    let field = Field::gated("");
    std::fs::create_dir_all(lock_file(&field.repo)).expect("a directory in its place");
    let ended = refused(&field, &[]);
    says(&ended, "error: ");
    says(&ended, "should be a regular file, but is a directory");
}

#[test]
fn without_the_program_nothing_is_pushed() {
    let field = Field::gated("");
    // Without the directory that has it.
    let mut command = field.env.command("git");
    command
        .current_dir(&field.repo)
        .args(["push", "far", "main"]);
    let ended = finish(command).exits(1);
    says(
        &ended,
        "error: nothing is pushed: the pre-push hook needs git-locks, which is not on PATH",
    );
    says(&ended, "git push --no-verify");
    assert!(!field.arrived("refs/heads/main"));
    finish(field.git(&field.repo, "push --no-verify far main")).exits(0);
}

#[test]
fn a_hook_that_no_push_runs_takes_no_lock() {
    let field = Field::gated("");
    let line = b"refs/heads/main 27ce1d38be74af2b3c107806c8a90ac0d5f21469 refs/heads/main 0000000000000000000000000000000000000000\n";
    let run = field.hook(&field.repo, "pre-push -- far url").stdin(line);
    let run = run.run().exits(1);
    assert!(
        run.stderr.contains("cannot be seen among its parents"),
        "{run:#?}"
    );
    assert_eq!(holder(&field.repo), None);
}

#[test]
fn a_push_whose_hook_is_run_by_others_is_found() {
    // As hook managers do: programs between git and the gate, another git among them.
    let field = Field::bare();
    let managed = "#!/bin/sh\nsh -c 'sh \"${0%/*}/second\" \"$@\"; exit $?' \"$0\" \"$@\"\n";
    script(&field.file(), managed);
    script(
        &field.repo.join(".git/hooks/second"),
        "#!/bin/sh\ngit locks hook pre-push -- \"$@\" || exit\necho passed >&2\n",
    );
    let ended = field.push(&field.repo, "main").exits(0);
    says(&ended, "passed");
    assert_eq!(field.holder().as_deref(), Some("main-checkout"));
    field.is_to_be_had();
}

#[test]
fn a_password_is_not_repeated() {
    let field = kept();
    let mut command = field.git(&field.repo, "push https://me:secret@127.0.0.1:9/x main");
    command.env("GIT_LOCKS_HOOK_WAIT", "0");
    let ended = finish(command);
    assert_ne!(ended.code, Some(0));
    assert!(!ended.stderr.contains("me:secret"), "{ended:#?}");
}
