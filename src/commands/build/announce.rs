//! What a call that asked for a slot tells: the timeline, the title, the caller.

use super::site::Site;
use crate::identity::PlanId;
use crate::locks::asking::Poll;
use crate::locks::build::{BuildState, Granted, Waiting};
use crate::report::{Admission, BuildAcquired, BuildRefused, Refusal, Report, Status};

/// Tells the timeline and the title of a slot that is new.
pub(super) fn announce_grant(
    site: &Site<'_>,
    id: &PlanId,
    granted: &Granted,
    state: &BuildState,
    no_title: bool,
) {
    if granted.new {
        if !granted.told {
            site.log("build:acquired", &granted.id, state);
        }
        site.set_title(id, true, no_title);
    }
}

/// Tells the timeline of a wait.
pub(super) fn announce_wait(site: &Site<'_>, id: &PlanId, waiting: &Waiting, state: &BuildState) {
    // A busy poller must not fill the disk with what was said before.
    if let Some(entry) = waiting
        .id
        .as_deref()
        .filter(|_| waiting.poll != Poll::Repeated)
    {
        site.log_blocked(entry, id, state);
    }
}

/// The report of a caller that has a slot.
pub(super) fn admitted_report(
    site: &Site<'_>,
    id: &PlanId,
    granted: &Granted,
    state: &BuildState,
) -> Report {
    Report::BuildAcquired(BuildAcquired {
        slot: granted.slot,
        expires_at: granted.expires_at,
        ..acquired(
            site,
            id,
            Admission::Admitted,
            Some(granted.id.clone()),
            state,
        )
    })
}

/// The report of a caller that waits.
pub(super) fn blocked_report(
    site: &Site<'_>,
    id: &PlanId,
    waiting: &Waiting,
    state: &BuildState,
) -> Report {
    Report::BuildAcquired(BuildAcquired {
        position: waiting.position,
        ..acquired(site, id, Admission::Blocked, waiting.id.clone(), state)
    })
}

fn acquired(
    site: &Site<'_>,
    id: &PlanId,
    admission: Admission,
    entry: Option<String>,
    state: &BuildState,
) -> BuildAcquired {
    BuildAcquired {
        status: Status::Success,
        plan_id: id.as_str().to_owned(),
        id: entry,
        admission,
        max_slots: site.slots,
        active_count: state.active.len(),
        waiting_count: state.waiting.len(),
        queue_path: site.queue_path(),
        slot: None,
        expires_at: None,
        position: None,
    }
}

/// A refusal; `entry` is the reason.
pub(super) fn refused(
    site: &Site<'_>,
    id: &PlanId,
    entry: Option<String>,
    reason: Refusal,
) -> Report {
    Report::BuildRefused(BuildRefused {
        status: Status::Refused,
        plan_id: id.as_str().to_owned(),
        id: entry,
        reason,
        queue_path: site.queue_path(),
    })
}
