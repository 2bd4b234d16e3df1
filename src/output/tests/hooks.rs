//! The reports of the hook, word for word.

use super::samples::HOSTILE;
use super::*;
use crate::report::*;

const PATH: &str = "/r/.git/hooks/pre-push";

fn installed() -> HookChanged {
    HookChanged {
        status: Status::Success,
        action: Some(HookAction::Installed),
        reason: None,
        hook: "pre-push",
        hook_path: PATH.into(),
        protect: Some(vec!["main".into(), "release/*".into()]),
        require: Some(false),
        message: None,
        line: None,
        hint: Some("To take it away: git locks hook uninstall".into()),
    }
}

fn in_the_way() -> HookChanged {
    HookChanged {
        status: Status::Refused,
        action: None,
        reason: Some(HookRefusal::AnotherHook),
        protect: None,
        require: None,
        message: Some(format!("there is another hook already: {PATH}.")),
        line: Some("git-locks hook pre-push -- \"$@\"".into()),
        hint: Some("To put the gate before what it does: git locks hook install --append".into()),
        ..installed()
    }
}

fn not_admitted() -> PushStopped {
    PushStopped {
        status: Status::Blocked,
        plan_id: "beta".into(),
        reason: PushRefusal::NotAdmitted,
        refs: vec!["refs/heads/main".into()],
        ref_count: 1,
        lock_path: "/r/.plan/local/merge.lock".into(),
        holder: Some("alpha".into()),
        holder_since: Some(NOW - 725.0),
        holder_where: Some("/r".into()),
        holder_reason: Some("merge alpha".into()),
        position: Some(2),
        waited: Some(300.5),
        command: "git locks merge run -- git push origin main".into(),
    }
}

fn not_held() -> PushStopped {
    PushStopped {
        status: Status::Refused,
        reason: PushRefusal::NotHeld,
        refs: vec!["refs/heads/main".into(), "refs/heads/x".into()],
        ref_count: 9,
        holder: None,
        holder_since: None,
        holder_where: None,
        holder_reason: None,
        position: None,
        waited: None,
        ..not_admitted()
    }
}

#[test]
fn a_hook_that_was_changed() {
    reads(
        &Report::HookChanged(installed()),
        &[
            "Installed: pushes to main, release/* take the merge lock (/r/.git/hooks/pre-push)",
            "To take it away: git locks hook uninstall",
        ],
    );
    let added = HookChanged {
        action: Some(HookAction::Added),
        protect: Some(Vec::new()),
        require: Some(true),
        hint: None,
        ..installed()
    };
    reads(
        &Report::HookChanged(added),
        &[
            "Installed: pushes to the remote's default branch (else main and master) are refused to \
             whoever does not hold the merge lock (added to the hook /r/.git/hooks/pre-push)",
        ],
    );
    let updated = HookChanged {
        action: Some(HookAction::Updated),
        ..installed()
    };
    let first = human(&Report::HookChanged(updated));
    assert!(first.starts_with("Updated: pushes to main, release/* take the merge lock (/r/"));
    let noop = HookChanged {
        action: Some(HookAction::Noop),
        message: Some("there is no hook".into()),
        hint: None,
        ..installed()
    };
    reads(
        &Report::HookChanged(noop),
        &["Nothing was changed: there is no hook (/r/.git/hooks/pre-push)"],
    );
}

#[test]
fn a_hook_that_was_left_alone() {
    reads(
        &Report::HookChanged(in_the_way()),
        &[
            "Refused: there is another hook already: /r/.git/hooks/pre-push.",
            "To put the gate before what it does: git locks hook install --append",
            "Or have it run this with what git says on standard input, and end when it fails:",
            "  git-locks hook pre-push -- \"$@\"",
        ],
    );
}

#[test]
fn a_push_that_was_not_admitted() {
    reads(
        &Report::PushStopped(not_admitted()),
        &[
            "Blocked: the merge lock is held by alpha, for 12m, in /r.",
            "Reason: merge alpha",
            "Nothing is pushed to refs/heads/main, after a wait of 5m.",
            "Place 2 in the queue is kept for the next push from here, as beta.",
            "To push under the lock: git locks merge run -- git push origin main",
        ],
    );
    let free = PushStopped {
        reason: PushRefusal::NotAdmitted,
        status: Status::Blocked,
        ..not_held()
    };
    reads(
        &Report::PushStopped(free),
        &[
            "Blocked: the merge lock is free, but others are ahead.",
            "Nothing is pushed to refs/heads/main, refs/heads/x and 7 more.",
            "To push under the lock: git locks merge run -- git push origin main",
        ],
    );
}

#[test]
fn a_push_by_one_who_does_not_hold_the_lock() {
    reads(
        &Report::PushStopped(not_held()),
        &[
            "Refused: who pushes to refs/heads/main, refs/heads/x and 7 more must hold the merge \
             lock; beta does not.",
            "The merge lock is free.",
            "To push under the lock: git locks merge run -- git push origin main",
        ],
    );
    let stale = PushStopped {
        reason: PushRefusal::Stale,
        holder_since: Some(NOW - 7200.0),
        ref_count: 2,
        ..not_held()
    };
    reads(
        &Report::PushStopped(stale),
        &[
            "Refused: who pushes to refs/heads/main, refs/heads/x must hold the merge lock; beta has \
             it, for 2h, but its time is over.",
            "To push under the lock: git locks merge run -- git push origin main",
        ],
    );
}

#[test]
fn a_push_that_would_wait_for_itself() {
    let inside = PushStopped {
        status: Status::Refused,
        reason: PushRefusal::OwnParent,
        holder_reason: None,
        position: None,
        waited: None,
        ..not_admitted()
    };
    reads(
        &Report::PushStopped(inside),
        &[
            "Refused: alpha holds the merge lock, for 12m, for the very command that pushes: it would \
             wait for itself.",
            "Inside a run the lock is held already; keep GIT_LOCKS_TOKEN in the environment to go \
             straight through.",
        ],
    );
}

#[test]
fn for_machines() {
    let said = |report: &Report| format!("{}{}", toon(report), json(report));
    assert_eq!(
        said(&Report::HookChanged(installed())),
        r#"status: success
action: installed
hook: pre-push
hook_path: /r/.git/hooks/pre-push
protect[2]: main,release/*
require: false
hint: "To take it away: git locks hook uninstall"
{
  "status": "success",
  "action": "installed",
  "hook": "pre-push",
  "hook_path": "/r/.git/hooks/pre-push",
  "protect": [
    "main",
    "release/*"
  ],
  "require": false,
  "hint": "To take it away: git locks hook uninstall"
}
"#
    );
    assert_eq!(
        said(&Report::HookChanged(in_the_way())),
        r#"status: refused
reason: another_hook
hook: pre-push
hook_path: /r/.git/hooks/pre-push
message: "there is another hook already: /r/.git/hooks/pre-push."
line: "git-locks hook pre-push -- \"$@\""
hint: "To put the gate before what it does: git locks hook install --append"
{
  "status": "refused",
  "reason": "another_hook",
  "hook": "pre-push",
  "hook_path": "/r/.git/hooks/pre-push",
  "message": "there is another hook already: /r/.git/hooks/pre-push.",
  "line": "git-locks hook pre-push -- \"$@\"",
  "hint": "To put the gate before what it does: git locks hook install --append"
}
"#
    );
    assert_eq!(
        said(&Report::PushStopped(not_admitted())),
        r#"status: blocked
plan_id: beta
reason: not_admitted
refs[1]: refs/heads/main
ref_count: 1
lock_path: /r/.plan/local/merge.lock
holder: alpha
holder_since: 1764516415.25
holder_where: /r
holder_reason: merge alpha
position: 2
waited: 300.5
command: git locks merge run -- git push origin main
{
  "status": "blocked",
  "plan_id": "beta",
  "reason": "not_admitted",
  "refs": [
    "refs/heads/main"
  ],
  "ref_count": 1,
  "lock_path": "/r/.plan/local/merge.lock",
  "holder": "alpha",
  "holder_since": 1764516415.25,
  "holder_where": "/r",
  "holder_reason": "merge alpha",
  "position": 2,
  "waited": 300.5,
  "command": "git locks merge run -- git push origin main"
}
"#
    );
    assert_eq!(
        said(&Report::PushStopped(not_held())),
        r#"status: refused
plan_id: beta
reason: not_held
refs[2]: refs/heads/main,refs/heads/x
ref_count: 9
lock_path: /r/.plan/local/merge.lock
command: git locks merge run -- git push origin main
{
  "status": "refused",
  "plan_id": "beta",
  "reason": "not_held",
  "refs": [
    "refs/heads/main",
    "refs/heads/x"
  ],
  "ref_count": 9,
  "lock_path": "/r/.plan/local/merge.lock",
  "command": "git locks merge run -- git push origin main"
}
"#
    );
}

#[test]
fn what_others_say_steers_no_terminal() {
    let text = || HOSTILE.to_owned();
    let changed = HookChanged {
        hook_path: text(),
        message: Some(text()),
        line: Some(text()),
        hint: Some(text()),
        ..in_the_way()
    };
    let stopped = PushStopped {
        plan_id: text(),
        refs: vec![text()],
        holder: Some(text()),
        holder_where: Some(text()),
        holder_reason: Some(text()),
        command: text(),
        ..not_admitted()
    };
    let odd = HookChanged {
        protect: Some(vec![text()]),
        hook_path: text(),
        hint: Some(text()),
        ..installed()
    };
    for report in [
        Report::HookChanged(changed),
        Report::HookChanged(odd),
        Report::PushStopped(stopped),
    ] {
        for shown in [human(&report), toon(&report), json(&report)] {
            let clean = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
            assert!(shown.chars().all(clean), "{shown:?}");
        }
        assert!(human(&report).contains("\\u{1b}"));
    }
}
