//! What is recorded of those who take part.

use std::sync::Arc;

use crate::lease::Moment;
use crate::locks::asking::{Bid, Caller};
use crate::participant::{Grant, Kind, Participant};

use super::Rules;
use super::state::MergeState;

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
    let mut record = bid.participant(caller, entry.map_or(lock.mtime(), |e| e.ts), &rules.now);
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
