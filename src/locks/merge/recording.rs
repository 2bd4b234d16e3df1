//! What is recorded of those who take part.

use std::sync::Arc;

use crate::lease::Moment;
use crate::participant::{Grant, Kind, Participant};

use super::state::MergeState;
use super::{Bid, Caller, Rules};

/// Whether an unrecorded holder that asks again is to be recorded: not where it may be a plan,
/// whose plan vouches for longer than any lease, unless the caller insists.
pub(super) fn adopts(state: &MergeState, bid: &Bid, rules: &Rules) -> bool {
    let may_be_plan = bid.kind == Kind::Plan || rules.keeps_plans;
    state.holder_record().is_none() && (bid.insists || !may_be_plan)
}

/// Records a holder that another program, or a lost record, left unrecorded.
pub(super) fn adopt(next: &mut MergeState, caller: &Caller, bid: &Bid, rules: &Rules) {
    let Some(lock) = next.lock.clone() else {
        return;
    };
    let entry = next
        .queue
        .iter()
        .find(|entry| entry.plan_id == caller.id.as_str());
    let mut record = participant(caller, bid, entry.map_or(lock.mtime(), |e| e.ts), rules);
    next.records.fence = next.records.fence.saturating_add(1);
    record.grant = Some(Grant {
        fence: next.records.fence,
        since: Moment {
            wall: lock.mtime(),
            boot: None,
        },
        made: Some(lock.mtime_ns),
        temp: None,
    });
    next.records
        .participants
        .insert(caller.id.as_str().to_owned(), Arc::new(record));
}

pub(super) fn holder_record_mut(state: &mut MergeState) -> Option<&mut Participant> {
    state.holder_record()?;
    let id = state.lock.as_ref()?.holder.id()?.as_str().to_owned();
    state.records.participant_mut(&id)
}

/// How long the lease lasts of one that asks so, in seconds, where it has one.
pub(super) fn length_of_lease(bid: &Bid) -> Option<f64> {
    matches!(bid.kind, Kind::Leased | Kind::Attached).then_some(bid.ttl)
}

/// The record of a holder.
pub(super) fn participant(
    caller: &Caller,
    bid: &Bid,
    queued_ts: f64,
    rules: &Rules,
) -> Participant {
    Participant {
        kind: bid.kind,
        host: Arc::new(rules.now.host.clone()),
        ticket: rules.now.moment,
        queued_ts,
        user: caller.user,
        inferred: !caller.explicit,
        checkout: caller.checkout.clone(),
        workplace: bid.workplace.clone(),
        reason: bid.reason.clone(),
        ttl: length_of_lease(bid),
        lease: None,
        process: bid.process.clone(),
        // Of one that only waited as a process: cut off, its grant leaves such a waiter again.
        presence: caller.presence.clone(),
        token: bid.token.clone(),
        grant: None,
    }
}

/// The record of a waiter: as long as its process is there, that vouches for it.
pub(super) fn waiter(caller: &Caller, bid: &Bid, queued_ts: f64, rules: &Rules) -> Participant {
    let holder = participant(caller, bid, queued_ts, rules);
    if caller.presence.is_none() {
        return holder;
    }
    Participant {
        kind: Kind::Attached,
        process: None,
        token: None,
        ..holder
    }
}
