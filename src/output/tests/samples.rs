//! One report of each kind, and some that somebody means harm with.

pub(super) mod builds;
pub(super) mod kernels;
pub(super) mod sessions;
pub(super) mod timeline;

use super::NOW;
use crate::error::Error;
use crate::report::*;

pub(super) const HOSTILE: &str = "evil\u{1b}[2J\u{202e}\n\u{9b}x\u{7f}";

const LOCK: &str = "/r/.plan/local/merge.lock";

pub(super) fn admitted() -> MergeAdmitted {
    MergeAdmitted {
        status: Status::Success,
        plan_id: "beta".into(),
        action: Action::Acquired,
        admission: Admission::Admitted,
        lock_path: LOCK.into(),
        holder: "beta".into(),
        reclaimed: true,
        waiting_count: 3,
        fence: Some(7),
        // A few milliseconds have gone by since the grant.
        expires_at: Some(NOW + 3600.0 - 0.0625),
        reclaimed_from: Some("alpha".into()),
    }
}

pub(super) fn blocked() -> MergeBlocked {
    MergeBlocked {
        status: Status::Blocked,
        plan_id: "beta".into(),
        admission: Admission::Blocked,
        blocking_plan_id: Some("alpha".into()),
        lock_path: LOCK.into(),
        waiting_count: 2,
        stale_holder_live_worktree: false,
        position: Some(1),
        holder_since: Some(NOW - 725.0),
        holder_where: Some("/r/wt/alpha".into()),
        reason: Some("rebase, then merge".into()),
    }
}

pub(super) fn free() -> MergeFree {
    MergeFree {
        status: Status::Free,
        plan_id: None,
        lock_path: LOCK.into(),
    }
}

pub(super) fn held() -> MergeHeld {
    MergeHeld {
        status: Status::Held,
        plan_id: Some("beta".into()),
        holder_plan_id: "alpha".into(),
        staleness: Staleness::Fresh,
        lock_path: LOCK.into(),
        mine: false,
        fence: Some(7),
        holder_since: Some(NOW - 725.0),
        holder_where: Some("/r/wt/alpha".into()),
        reason: Some("rebase, then merge".into()),
    }
}

pub(super) fn released() -> MergeReleased {
    MergeReleased {
        status: Status::Success,
        plan_id: "beta".into(),
        action: Action::Released,
        lock_path: LOCK.into(),
        holder: None,
        waiting_count: 0,
        message: None,
        hint: None,
    }
}

pub(super) fn released_noop() -> MergeReleased {
    MergeReleased {
        action: Action::Noop,
        holder: Some("alpha".into()),
        waiting_count: 1,
        message: Some("beta does not hold the merge lock".into()),
        hint: Some("git locks merge release --plan-id alpha".into()),
        ..released()
    }
}

pub(super) fn evicted() -> MergeEvicted {
    MergeEvicted {
        status: Status::Success,
        plan_id: "beta".into(),
        action: Action::Released,
        staleness: Some(Staleness::Stale),
        reclaimed_from: Some("alpha".into()),
        lock_path: LOCK.into(),
        waiting_count: Some(2),
        message: None,
    }
}

pub(super) fn refused() -> MergeRefused {
    MergeRefused {
        status: Status::Refused,
        plan_id: "beta".into(),
        reason: Refusal::HolderNotProvablyDead,
        holder: Some("alpha".into()),
        staleness: Some(Staleness::Fresh),
        lock_path: LOCK.into(),
    }
}

/// The answer to a call that would wait for its own parent.
pub(super) fn own_parent() -> MergeRefused {
    MergeRefused {
        reason: Refusal::OwnParent,
        staleness: None,
        ..refused()
    }
}

pub(super) fn renewed() -> MergeRenewed {
    MergeRenewed {
        status: Status::Success,
        plan_id: "beta".into(),
        action: Action::Renewed,
        lock_path: LOCK.into(),
        fence: Some(7),
        expires_at: Some(NOW + 5400.0),
    }
}

pub(super) fn window_claimed() -> WindowClaimed {
    WindowClaimed {
        status: Status::Success,
        plan_id: "beta".into(),
        bot_kind: "reviewer".into(),
        action: Action::Reclaimed,
        holder: "beta".into(),
        pr_number: 12,
        expires_at: NOW + 3600.0,
        seconds_remaining: 3600.0,
        attempts: 1,
        attempt_cap: 2,
        attempts_remaining: 1,
        reclaimed_from: Some("alpha".into()),
    }
}

pub(super) fn window_blocked() -> WindowBlocked {
    WindowBlocked {
        status: Status::Blocked,
        plan_id: "beta".into(),
        bot_kind: "reviewer".into(),
        reason: "window_held_by_other_plan",
        holder: "alpha".into(),
        pr_number: Some(12),
        expires_at: NOW + 90.5,
        seconds_remaining: 90.5,
        attempts: 1,
        attempt_cap: 2,
    }
}

pub(super) fn window_exhausted() -> WindowExhausted {
    WindowExhausted {
        status: Status::Refused,
        plan_id: "beta".into(),
        bot_kind: "reviewer".into(),
        reason: "recovery_cap_exhausted",
        pr_number: 12,
        attempts: 2,
        attempt_cap: 2,
    }
}

pub(super) fn window_free() -> WindowState {
    WindowState {
        status: Status::Free,
        plan_id: None,
        bot_kind: "reviewer".into(),
        holder: None,
        pr_number: None,
        expires_at: None,
        seconds_remaining: 0.0,
        expired: true,
        attempts: 0,
        attempt_cap: 2,
        attempts_remaining: 2,
    }
}

pub(super) fn window_held() -> WindowState {
    WindowState {
        status: Status::Held,
        holder: Some("alpha".into()),
        pr_number: Some(12),
        expires_at: Some(NOW + 90.5),
        seconds_remaining: 90.5,
        expired: false,
        attempts: 1,
        attempts_remaining: 1,
        ..window_free()
    }
}

pub(super) fn window_released() -> WindowReleased {
    WindowReleased {
        status: Status::Success,
        plan_id: "beta".into(),
        bot_kind: "reviewer".into(),
        action: Action::Released,
        holder: None,
        attempts: 1,
        attempt_cap: 2,
    }
}

pub(super) fn failed() -> Failed {
    let error = Error::usage("'x y' is not a plan id").with_hint("use a-z, 0-9 and dashes");
    Failed::new(&error, Some("beta".into()))
}

pub(super) fn hostile_held() -> MergeHeld {
    MergeHeld {
        plan_id: None,
        holder_plan_id: HOSTILE.into(),
        staleness: Staleness::Stale,
        lock_path: format!("/{HOSTILE}"),
        fence: None,
        holder_where: Some(HOSTILE.into()),
        reason: Some(HOSTILE.into()),
        ..held()
    }
}

/// One report of each variant, in the order of [`Report`], then the hostile one and another refusal;
/// then those of the build queue and of the kernel's locks.
pub(super) fn all() -> Vec<Report> {
    let mut reports = others();
    reports.extend(builds::all());
    reports.extend(kernels::all());
    reports.extend(sessions::all());
    reports.extend(timeline::all());
    reports
}

/// All but those of the build queue and of the kernel's locks.
pub(super) fn others() -> Vec<Report> {
    vec![
        Report::MergeAdmitted(admitted()),
        Report::MergeBlocked(blocked()),
        Report::MergeFree(free()),
        Report::MergeHeld(held()),
        Report::MergeReleased(released_noop()),
        Report::MergeEvicted(evicted()),
        Report::MergeRefused(refused()),
        Report::MergeRenewed(renewed()),
        Report::WindowClaimed(window_claimed()),
        Report::WindowBlocked(window_blocked()),
        Report::WindowExhausted(window_exhausted()),
        Report::WindowState(window_free()),
        Report::WindowReleased(window_released()),
        Report::Failed(failed()),
        Report::MergeHeld(hostile_held()),
        Report::MergeRefused(own_parent()),
    ]
}
