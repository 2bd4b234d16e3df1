//! The machine formats, word for word: field names and their order are wire.

mod builds;
mod kernels;
mod sessions;
mod timeline;

use super::samples::{all, others};
use super::*;

/// For each report of [`others`]: its TOON and its JSON.
const EXPECTED: [(&str, &str); 16] = [
    (
        r"status: success
plan_id: beta
action: acquired
admission: admitted
lock_path: /r/.plan/local/merge.lock
holder: beta
reclaimed: true
waiting_count: 3
fence: 7
expires_at: 1764520740.1875
reclaimed_from: alpha
",
        r#"{
  "status": "success",
  "plan_id": "beta",
  "action": "acquired",
  "admission": "admitted",
  "lock_path": "/r/.plan/local/merge.lock",
  "holder": "beta",
  "reclaimed": true,
  "waiting_count": 3,
  "fence": 7,
  "expires_at": 1764520740.1875,
  "reclaimed_from": "alpha"
}
"#,
    ),
    (
        r#"status: blocked
plan_id: beta
admission: blocked
blocking_plan_id: alpha
lock_path: /r/.plan/local/merge.lock
waiting_count: 2
position: 1
holder_since: 1764516415.25
holder_where: /r/wt/alpha
reason: "rebase, then merge"
"#,
        r#"{
  "status": "blocked",
  "plan_id": "beta",
  "admission": "blocked",
  "blocking_plan_id": "alpha",
  "lock_path": "/r/.plan/local/merge.lock",
  "waiting_count": 2,
  "position": 1,
  "holder_since": 1764516415.25,
  "holder_where": "/r/wt/alpha",
  "reason": "rebase, then merge"
}
"#,
    ),
    (
        r"status: free
plan_id: null
lock_path: /r/.plan/local/merge.lock
",
        r#"{
  "status": "free",
  "plan_id": null,
  "lock_path": "/r/.plan/local/merge.lock"
}
"#,
    ),
    (
        r#"status: held
plan_id: beta
holder_plan_id: alpha
staleness: fresh
lock_path: /r/.plan/local/merge.lock
mine: false
fence: 7
holder_since: 1764516415.25
holder_where: /r/wt/alpha
reason: "rebase, then merge"
"#,
        r#"{
  "status": "held",
  "plan_id": "beta",
  "holder_plan_id": "alpha",
  "staleness": "fresh",
  "lock_path": "/r/.plan/local/merge.lock",
  "mine": false,
  "fence": 7,
  "holder_since": 1764516415.25,
  "holder_where": "/r/wt/alpha",
  "reason": "rebase, then merge"
}
"#,
    ),
    (
        r"status: success
plan_id: beta
action: noop
lock_path: /r/.plan/local/merge.lock
holder: alpha
waiting_count: 1
message: beta does not hold the merge lock
hint: git locks merge release --plan-id alpha
",
        r#"{
  "status": "success",
  "plan_id": "beta",
  "action": "noop",
  "lock_path": "/r/.plan/local/merge.lock",
  "holder": "alpha",
  "waiting_count": 1,
  "message": "beta does not hold the merge lock",
  "hint": "git locks merge release --plan-id alpha"
}
"#,
    ),
    (
        r"status: success
plan_id: beta
action: released
staleness: stale
reclaimed_from: alpha
lock_path: /r/.plan/local/merge.lock
waiting_count: 2
",
        r#"{
  "status": "success",
  "plan_id": "beta",
  "action": "released",
  "staleness": "stale",
  "reclaimed_from": "alpha",
  "lock_path": "/r/.plan/local/merge.lock",
  "waiting_count": 2
}
"#,
    ),
    (
        r"status: refused
plan_id: beta
reason: holder_not_provably_dead
holder: alpha
staleness: fresh
lock_path: /r/.plan/local/merge.lock
",
        r#"{
  "status": "refused",
  "plan_id": "beta",
  "reason": "holder_not_provably_dead",
  "holder": "alpha",
  "staleness": "fresh",
  "lock_path": "/r/.plan/local/merge.lock"
}
"#,
    ),
    (
        r"status: success
plan_id: beta
action: renewed
lock_path: /r/.plan/local/merge.lock
fence: 7
expires_at: 1764522540.25
",
        r#"{
  "status": "success",
  "plan_id": "beta",
  "action": "renewed",
  "lock_path": "/r/.plan/local/merge.lock",
  "fence": 7,
  "expires_at": 1764522540.25
}
"#,
    ),
    (
        r"status: success
plan_id: beta
bot_kind: reviewer
action: reclaimed
holder: beta
pr_number: 12
expires_at: 1764520740.25
seconds_remaining: 3600
attempts: 1
attempt_cap: 2
attempts_remaining: 1
reclaimed_from: alpha
",
        r#"{
  "status": "success",
  "plan_id": "beta",
  "bot_kind": "reviewer",
  "action": "reclaimed",
  "holder": "beta",
  "pr_number": 12,
  "expires_at": 1764520740.25,
  "seconds_remaining": 3600.0,
  "attempts": 1,
  "attempt_cap": 2,
  "attempts_remaining": 1,
  "reclaimed_from": "alpha"
}
"#,
    ),
    (
        r"status: blocked
plan_id: beta
bot_kind: reviewer
reason: window_held_by_other_plan
holder: alpha
pr_number: 12
expires_at: 1764517230.75
seconds_remaining: 90.5
attempts: 1
attempt_cap: 2
",
        r#"{
  "status": "blocked",
  "plan_id": "beta",
  "bot_kind": "reviewer",
  "reason": "window_held_by_other_plan",
  "holder": "alpha",
  "pr_number": 12,
  "expires_at": 1764517230.75,
  "seconds_remaining": 90.5,
  "attempts": 1,
  "attempt_cap": 2
}
"#,
    ),
    (
        r"status: refused
plan_id: beta
bot_kind: reviewer
reason: recovery_cap_exhausted
pr_number: 12
attempts: 2
attempt_cap: 2
",
        r#"{
  "status": "refused",
  "plan_id": "beta",
  "bot_kind": "reviewer",
  "reason": "recovery_cap_exhausted",
  "pr_number": 12,
  "attempts": 2,
  "attempt_cap": 2
}
"#,
    ),
    (
        r"status: free
plan_id: null
bot_kind: reviewer
holder: null
pr_number: null
expires_at: null
seconds_remaining: 0
expired: true
attempts: 0
attempt_cap: 2
attempts_remaining: 2
",
        r#"{
  "status": "free",
  "plan_id": null,
  "bot_kind": "reviewer",
  "holder": null,
  "pr_number": null,
  "expires_at": null,
  "seconds_remaining": 0.0,
  "expired": true,
  "attempts": 0,
  "attempt_cap": 2,
  "attempts_remaining": 2
}
"#,
    ),
    (
        r"status: success
plan_id: beta
bot_kind: reviewer
action: released
holder: null
attempts: 1
attempt_cap: 2
",
        r#"{
  "status": "success",
  "plan_id": "beta",
  "bot_kind": "reviewer",
  "action": "released",
  "holder": null,
  "attempts": 1,
  "attempt_cap": 2
}
"#,
    ),
    (
        r#"error: 'x y' is not a plan id
status: error
error_code: INVALID_INPUT
plan_id: beta
hint: "use a-z, 0-9 and dashes"
"#,
        r#"{
  "error": "'x y' is not a plan id",
  "status": "error",
  "error_code": "INVALID_INPUT",
  "plan_id": "beta",
  "hint": "use a-z, 0-9 and dashes"
}
"#,
    ),
    (
        r#"status: held
plan_id: null
holder_plan_id: "evil[2J\nx"
staleness: stale
lock_path: "/evil[2J\nx"
mine: false
holder_since: 1764516415.25
holder_where: "evil[2J\nx"
reason: "evil[2J\nx"
"#,
        r#"{
  "status": "held",
  "plan_id": null,
  "holder_plan_id": "evil[2J\nx",
  "staleness": "stale",
  "lock_path": "/evil[2J\nx",
  "mine": false,
  "holder_since": 1764516415.25,
  "holder_where": "evil[2J\nx",
  "reason": "evil[2J\nx"
}
"#,
    ),
    (
        r"status: refused
plan_id: beta
reason: own_parent
holder: alpha
lock_path: /r/.plan/local/merge.lock
",
        r#"{
  "status": "refused",
  "plan_id": "beta",
  "reason": "own_parent",
  "holder": "alpha",
  "lock_path": "/r/.plan/local/merge.lock"
}
"#,
    ),
];

#[test]
fn every_report_reads_as_it_always_did() {
    read_as(&others(), &EXPECTED);
    read_as(&super::samples::builds::all(), &builds::EXPECTED);
    read_as(&super::samples::kernels::all(), &kernels::EXPECTED);
    read_as(&super::samples::sessions::looks(), &sessions::EXPECTED);
    let changes = super::samples::sessions::changes();
    read_as(&changes, &sessions::changes::EXPECTED);
    read_as(&super::samples::timeline::all(), &timeline::EXPECTED);
}

fn read_as(reports: &[Report], expected: &[(&str, &str)]) {
    assert_eq!(reports.len(), expected.len());
    for (report, (expected_toon, expected_json)) in reports.iter().zip(expected) {
        assert_eq!(toon(report), *expected_toon);
        assert_eq!(json(report), *expected_json);
    }
}

#[test]
fn style_changes_nothing_for_a_machine() {
    let bright = Style {
        color: true,
        columns: None,
        now: 0.0,
    };
    for report in all() {
        assert_eq!(render(&report, Format::Toon, &bright), toon(&report));
        assert_eq!(render(&report, Format::Json, &bright), json(&report));
    }
}
