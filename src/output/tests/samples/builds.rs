//! Reports of the build queue.

use super::super::NOW;
use super::HOSTILE;
use crate::report::*;

const QUEUE: &str = "/home/u/.plan-marshall/build-queue.json";

pub(in super::super) const ALPHA: &str = "alpha:0f0e4c52-7a52-4a3e-9d6a-0d3b5f0c1a11";
pub(in super::super) const BETA: &str = "beta:1b4e28ba-2fa1-41d2-883f-0016d3cca427";
pub(in super::super) const GAMMA: &str = "gamma:6fa459ea-ee8a-4ca4-894e-db77e160355e";

pub(in super::super) fn admitted() -> BuildAcquired {
    BuildAcquired {
        status: Status::Success,
        plan_id: "beta".into(),
        id: Some(BETA.into()),
        admission: Admission::Admitted,
        max_slots: 5,
        active_count: 2,
        waiting_count: 0,
        queue_path: QUEUE.into(),
        slot: Some(2),
        expires_at: Some(NOW + 3600.0 - 0.0625),
        position: None,
    }
}

pub(in super::super) fn blocked() -> BuildAcquired {
    BuildAcquired {
        admission: Admission::Blocked,
        active_count: 5,
        waiting_count: 3,
        slot: None,
        expires_at: None,
        position: Some(3),
        ..admitted()
    }
}

/// A caller that is blocked and leaves no trace.
pub(in super::super) fn turned_away() -> BuildAcquired {
    BuildAcquired {
        id: None,
        waiting_count: 0,
        position: None,
        ..blocked()
    }
}

pub(in super::super) fn released() -> BuildReleased {
    BuildReleased {
        status: Status::Success,
        plan_id: "beta".into(),
        id: Some(BETA.into()),
        action: Action::Released,
        promoted: Some(GAMMA.into()),
        max_slots: 5,
        active_count: 5,
        waiting_count: 1,
        queue_path: QUEUE.into(),
        message: None,
    }
}

pub(in super::super) fn released_noop() -> BuildReleased {
    BuildReleased {
        id: None,
        action: Action::Noop,
        promoted: None,
        active_count: 0,
        waiting_count: 0,
        message: Some("beta is not in the build queue".into()),
        ..released()
    }
}

pub(in super::super) fn refused() -> BuildRefused {
    BuildRefused {
        status: Status::Refused,
        plan_id: "beta".into(),
        id: Some(ALPHA.into()),
        reason: Refusal::HolderPresent,
        queue_path: QUEUE.into(),
    }
}

pub(in super::super) fn lost() -> BuildRefused {
    BuildRefused {
        id: None,
        reason: Refusal::LockLost,
        ..refused()
    }
}

pub(in super::super) fn renewed() -> BuildRenewed {
    BuildRenewed {
        status: Status::Success,
        plan_id: "beta".into(),
        id: BETA.into(),
        action: Action::Renewed,
        queue_path: QUEUE.into(),
        slot: Some(2),
        expires_at: Some(NOW + 5400.0),
    }
}

pub(in super::super) fn holder() -> BuildHolder {
    BuildHolder {
        slot: Some(1),
        id: ALPHA.into(),
        plan_id: "alpha".into(),
        project_root: Some("/r".into()),
        since: Some(NOW - 725.0),
        staleness: Staleness::Fresh,
        max_slots: Some(5),
        expires_at: None,
        command: Some("make -j8".into()),
        reason: Some("nightly, all".into()),
    }
}

/// One that another program has recorded.
pub(in super::super) fn foreign_holder() -> BuildHolder {
    BuildHolder {
        slot: None,
        id: BETA.into(),
        plan_id: "beta".into(),
        project_root: None,
        since: Some(NOW - 5.0),
        staleness: Staleness::Unknown,
        max_slots: None,
        expires_at: None,
        command: None,
        reason: None,
    }
}

pub(in super::super) fn waiter() -> BuildWaiter {
    BuildWaiter {
        position: 1,
        id: GAMMA.into(),
        plan_id: "gamma".into(),
        project_root: Some("/r/other project".into()),
        since: NOW - 90.0,
        staleness: Staleness::Fresh,
        max_slots: Some(3),
        command: Some("cargo test".into()),
        reason: None,
    }
}

pub(in super::super) fn queue() -> BuildQueue {
    BuildQueue {
        status: Status::Held,
        plan_id: Some("beta".into()),
        max_slots: 2,
        active_count: 2,
        waiting_count: 1,
        queue_path: QUEUE.into(),
        user: "u".into(),
        mine: false,
        position: None,
        disagreeing_slots: vec![2, 3, 5],
        active: vec![holder(), foreign_holder()],
        waiting: vec![waiter()],
    }
}

pub(in super::super) fn empty_queue() -> BuildQueue {
    BuildQueue {
        status: Status::Free,
        plan_id: None,
        max_slots: 5,
        active_count: 0,
        waiting_count: 0,
        disagreeing_slots: Vec::new(),
        active: Vec::new(),
        waiting: Vec::new(),
        ..queue()
    }
}

pub(in super::super) fn hostile_queue() -> BuildQueue {
    let text = || Some(HOSTILE.to_owned());
    BuildQueue {
        plan_id: None,
        active_count: 1,
        queue_path: format!("/{HOSTILE}"),
        user: HOSTILE.into(),
        disagreeing_slots: Vec::new(),
        active: vec![BuildHolder {
            id: format!("{HOSTILE}:,\"|- "),
            plan_id: HOSTILE.into(),
            project_root: text(),
            command: text(),
            reason: text(),
            ..foreign_holder()
        }],
        waiting: vec![BuildWaiter {
            id: HOSTILE.into(),
            plan_id: String::new(),
            project_root: text(),
            command: text(),
            reason: text(),
            ..waiter()
        }],
        ..queue()
    }
}

/// One report of each shape.
pub(in super::super) fn all() -> Vec<Report> {
    vec![
        Report::BuildAcquired(admitted()),
        Report::BuildAcquired(blocked()),
        Report::BuildAcquired(turned_away()),
        Report::BuildReleased(released()),
        Report::BuildReleased(released_noop()),
        Report::BuildRefused(refused()),
        Report::BuildRefused(lost()),
        Report::BuildRenewed(renewed()),
        Report::BuildQueue(queue()),
        Report::BuildQueue(empty_queue()),
        Report::BuildQueue(hostile_queue()),
    ]
}
