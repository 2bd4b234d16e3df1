//! Reports of the session leases.

use super::super::NOW;
use super::HOSTILE;
use crate::report::*;

const LOCK: &str = "/r/.orchestrator/session.lock";

fn noted() -> SessionNoted {
    SessionNoted {
        session_id: "91c2".into(),
        mode: Some("deep".into()),
        host: Some("box".into()),
        pid: Some(812),
        started_at: Some(NOW - 7200.0),
        last_heartbeat: Some(NOW - 900.0),
        ttl_hours: 4.0,
        semantic_session_id: Some("the review".into()),
    }
}

/// A session of which little is known, by somebody who means harm.
fn hostile() -> SessionNoted {
    SessionNoted {
        session_id: HOSTILE.into(),
        mode: Some(HOSTILE.into()),
        host: Some(HOSTILE.into()),
        pid: None,
        started_at: None,
        last_heartbeat: None,
        ttl_hours: 0.5,
        semantic_session_id: Some(HOSTILE.into()),
    }
}

pub(in super::super) fn leased() -> SessionLeased {
    SessionLeased {
        status: Status::Success,
        session_id: "5a3f".into(),
        action: Action::Acquired,
        mode: Some("feature".into()),
        started_at: Some(NOW),
        last_heartbeat: NOW,
        ttl_hours: 4.0,
        semantic_session_id: None,
        lock_path: LOCK.into(),
    }
}

pub(in super::super) fn renewed() -> SessionLeased {
    SessionLeased {
        action: Action::Renewed,
        mode: None,
        started_at: Some(NOW - 60.0),
        semantic_session_id: Some("the review".into()),
        ..leased()
    }
}

pub(in super::super) fn blocked() -> SessionBlocked {
    SessionBlocked {
        status: Status::Blocked,
        session_id: "5a3f".into(),
        reason: SessionReason::Active,
        existing: Some(noted()),
        age_hours: Some(2.0),
        heartbeat_age_minutes: Some(15.0),
        same_host: Some(true),
        recommendation: Recommendation::Abort,
        lock_path: LOCK.into(),
    }
}

/// It is stale, and of this machine.
pub(in super::super) fn blocked_by_stale() -> SessionBlocked {
    SessionBlocked {
        reason: SessionReason::StaleHeartbeat,
        existing: Some(SessionNoted {
            started_at: Some(NOW - 36000.0),
            last_heartbeat: Some(NOW - 18000.0),
            semantic_session_id: None,
            ..noted()
        }),
        age_hours: Some(10.0),
        heartbeat_age_minutes: Some(300.0),
        recommendation: Recommendation::Reclaim,
        ..blocked()
    }
}

/// It is of another machine, and not stale for long enough.
pub(in super::super) fn blocked_from_afar() -> SessionBlocked {
    SessionBlocked {
        same_host: Some(false),
        recommendation: Recommendation::Abort,
        ..blocked_by_stale()
    }
}

pub(in super::super) fn blocked_by_corrupt() -> SessionBlocked {
    SessionBlocked {
        reason: SessionReason::Corrupt,
        existing: None,
        age_hours: None,
        heartbeat_age_minutes: None,
        same_host: None,
        ..blocked()
    }
}

fn blocked_by_hostile() -> SessionBlocked {
    SessionBlocked {
        session_id: HOSTILE.into(),
        existing: Some(hostile()),
        age_hours: None,
        lock_path: HOSTILE.into(),
        ..blocked_from_afar()
    }
}

pub(in super::super) fn beside() -> SessionBeside {
    SessionBeside {
        status: Status::Blocked,
        session_id: "5a3f".into(),
        reason: SessionReason::ActiveCompatibleParallel,
        action: None,
        blocking_session_id: "91c2".into(),
        blocking_mode: Some("deep".into()),
        blocking_worktree: "/r/wt".into(),
        peers: vec![peer()],
    }
}

pub(in super::super) fn beside_alone() -> SessionBeside {
    SessionBeside {
        reason: SessionReason::ActiveIncompatibleExclusive,
        blocking_mode: Some("housekeeping".into()),
        ..beside()
    }
}

pub(in super::super) fn bypassing() -> SessionBeside {
    SessionBeside {
        status: Status::Success,
        reason: SessionReason::ActiveReadonlyBypass,
        action: Some(Action::Noop),
        ..beside()
    }
}

pub(in super::super) fn degraded() -> SessionDegraded {
    SessionDegraded {
        status: Status::Degraded,
        session_id: "5a3f".into(),
        reason: SessionReason::FsError,
        error: "cannot create '/r/.orchestrator': Read-only file system".into(),
        lock_path: LOCK.into(),
    }
}

pub(in super::super) fn free() -> SessionChecked {
    SessionChecked {
        status: Status::Free,
        mine: Some(false),
        existing: None,
        age_hours: None,
        heartbeat_age_minutes: None,
        state: None,
        same_host: None,
        error: None,
        lock_path: LOCK.into(),
    }
}

pub(in super::super) fn held() -> SessionChecked {
    SessionChecked {
        status: Status::Held,
        mine: None,
        existing: Some(noted()),
        age_hours: Some(2.0),
        heartbeat_age_minutes: Some(15.0),
        state: Some(SessionState::Active),
        same_host: Some(true),
        ..free()
    }
}

pub(in super::super) fn mine() -> SessionChecked {
    SessionChecked {
        mine: Some(true),
        state: Some(SessionState::Stale),
        same_host: Some(false),
        ..held()
    }
}

pub(in super::super) fn corrupt() -> SessionChecked {
    SessionChecked {
        status: Status::Corrupt,
        ..free()
    }
}

pub(in super::super) fn unreadable() -> SessionChecked {
    SessionChecked {
        status: Status::Unreadable,
        error: Some("'/r/.orchestrator/session.lock' is not a regular file".into()),
        ..free()
    }
}

pub(in super::super) fn taken() -> SessionTaken {
    SessionTaken {
        status: Status::Success,
        session_id: "5a3f".into(),
        action: Action::Reclaimed,
        replaced: Some(noted()),
        replaced_state: Some(SessionState::Active),
        age_hours: Some(2.0),
        heartbeat_age_minutes: Some(15.0),
        set_aside: None,
        ttl_hours: 4.0,
        lock_path: LOCK.into(),
    }
}

pub(in super::super) fn taken_from_corrupt() -> SessionTaken {
    SessionTaken {
        replaced: None,
        replaced_state: Some(SessionState::Corrupt),
        age_hours: None,
        heartbeat_age_minutes: None,
        set_aside: Some("/r/.orchestrator/session.lock.corrupt".into()),
        ..taken()
    }
}

pub(in super::super) fn refused() -> SessionRefused {
    SessionRefused {
        status: Status::Refused,
        session_id: "5a3f".into(),
        reason: SessionRefusal::NotYours,
        existing: Some(noted()),
        state: Some(SessionState::Active),
        lock_path: LOCK.into(),
        hint: None,
    }
}

pub(in super::super) fn unconfirmed() -> SessionRefused {
    SessionRefused {
        reason: SessionRefusal::NotConfirmed,
        hint: Some("git locks session take --yes --mode deep --session-id 5a3f".into()),
        ..refused()
    }
}

pub(in super::super) fn not_noted() -> SessionRefused {
    SessionRefused {
        reason: SessionRefusal::NotNoted,
        existing: None,
        state: None,
        ..refused()
    }
}

fn hostilely_refused() -> SessionRefused {
    SessionRefused {
        reason: SessionRefusal::Changed,
        existing: Some(hostile()),
        hint: Some(HOSTILE.into()),
        ..refused()
    }
}

pub(in super::super) fn released(action: Action) -> SessionReleased {
    SessionReleased {
        status: Status::Success,
        session_id: "5a3f".into(),
        action,
        lock_path: LOCK.into(),
    }
}

fn peer() -> SessionPeer {
    SessionPeer {
        worktree: "/r/wt".into(),
        branch: Some("topic".into()),
        source: SessionSource::Lock,
        session_id: "91c2".into(),
        semantic_session_id: None,
        mode: Some("deep".into()),
        host: Some("box".into()),
        same_host: Some(true),
        started_at: Some(NOW - 7200.0),
        age_hours: Some(2.0),
        heartbeat_age_minutes: Some(15.0),
        live: true,
        current_wave: Some(3),
        mine: Some(false),
    }
}

pub(in super::super) fn found() -> SessionsFound {
    let own = SessionPeer {
        worktree: "/r".into(),
        branch: None,
        session_id: "5a3f".into(),
        mode: None,
        mine: Some(true),
        current_wave: None,
        ..peer()
    };
    let witnessed = SessionPeer {
        source: SessionSource::StateMd,
        session_id: "the review".into(),
        host: None,
        same_host: None,
        heartbeat_age_minutes: None,
        ..peer()
    };
    let far = SessionPeer {
        host: Some("elsewhere".into()),
        same_host: Some(false),
        live: false,
        ..peer()
    };
    SessionsFound {
        status: Status::Success,
        live_peers: 1,
        peers: vec![own, witnessed, far],
    }
}

pub(in super::super) fn alone() -> SessionsFound {
    SessionsFound {
        status: Status::Success,
        live_peers: 0,
        peers: Vec::new(),
    }
}

fn found_hostile() -> SessionsFound {
    let evil = SessionPeer {
        worktree: HOSTILE.into(),
        branch: Some(HOSTILE.into()),
        session_id: HOSTILE.into(),
        semantic_session_id: Some(HOSTILE.into()),
        mode: Some(HOSTILE.into()),
        host: Some(HOSTILE.into()),
        same_host: Some(false),
        mine: None,
        ..peer()
    };
    SessionsFound {
        peers: vec![evil],
        ..found()
    }
}

/// One report of each variant, and some that somebody means harm with.
pub(in super::super) fn all() -> Vec<Report> {
    let mut reports = looks();
    reports.extend(changes());
    reports
}

/// Of those that ask and look.
pub(in super::super) fn looks() -> Vec<Report> {
    vec![
        Report::SessionLeased(leased()),
        Report::SessionLeased(renewed()),
        Report::SessionBlocked(blocked()),
        Report::SessionBlocked(blocked_by_stale()),
        Report::SessionBlocked(blocked_from_afar()),
        Report::SessionBlocked(blocked_by_corrupt()),
        Report::SessionBlocked(blocked_by_hostile()),
        Report::SessionBeside(beside()),
        Report::SessionBeside(beside_alone()),
        Report::SessionBeside(bypassing()),
        Report::SessionDegraded(degraded()),
        Report::SessionChecked(free()),
        Report::SessionChecked(held()),
        Report::SessionChecked(mine()),
        Report::SessionChecked(corrupt()),
        Report::SessionChecked(unreadable()),
    ]
}

/// Of what changes a lease, and who else is there.
pub(in super::super) fn changes() -> Vec<Report> {
    vec![
        Report::SessionTaken(taken()),
        Report::SessionTaken(taken_from_corrupt()),
        Report::SessionRefused(refused()),
        Report::SessionRefused(unconfirmed()),
        Report::SessionRefused(not_noted()),
        Report::SessionRefused(hostilely_refused()),
        Report::SessionReleased(released(Action::Released)),
        Report::SessionReleased(released(Action::Noop)),
        Report::SessionsFound(found()),
        Report::SessionsFound(alone()),
        Report::SessionsFound(found_hostile()),
    ]
}
