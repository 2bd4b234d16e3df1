//! Finishing what an interrupted commit, or another program, left undone.

use crate::identity::PlanId;
use crate::liveness::Verdict;
use crate::queue;

use super::state::{Ending, Holder, LockFile, MergeState, Verdicts};

/// Finishes what an interrupted commit or another program left undone: see the module header.
pub fn settle(state: &MergeState, verdicts: &Verdicts) -> MergeState {
    let mut next = state.clone();
    if let Some(ending) = next.records.ending.take() {
        if state.is_ending() {
            next.lock = None;
            queue::dequeue(&mut next.queue, &ending.plan_id);
        }
        if next.lock.is_none() && has_ended(&next, &ending) {
            forget_grant(&mut next, &ending.plan_id);
        }
    }
    let bereft: Vec<String> = next.bereft().map(|(id, _)| id.clone()).collect();
    // Overwritten with what is provably nobody's, a lock file is as good as gone.
    let nobodys = next.lock == state.lock && verdicts.holder.is_some_and(Verdict::is_stale);
    for id in bereft {
        let present = verdicts
            .bereft
            .get(&id)
            .is_some_and(|verdict| verdict.present);
        let free = next.lock.is_none() || (nobodys && next.lock == state.lock);
        match PlanId::parse(&id) {
            Some(plan) if free && present => next.lock = Some(restored(&next, plan)),
            _ => forget_grant(&mut next, &id),
        }
    }
    for id in std::mem::take(&mut next.cut_off) {
        if let Some(record) = next.records.participant_mut(&id) {
            *record = record.without_grant();
        }
    }
    drop_departed(&mut next);
    next
}

/// Whether the recorded grant of that id is the one that was let go.
fn has_ended(state: &MergeState, ending: &Ending) -> bool {
    let record = state.records.participant(&ending.plan_id);
    record
        .and_then(|record| record.grant.as_ref())
        .is_some_and(|grant| grant.made_lock_of(ending.mtime_ns))
}

/// The verdict on who holds the lock in `next`, which `state` was settled to: whoever the lock
/// file named need not be the one.
pub(super) fn holder_verdict(
    state: &MergeState,
    next: &MergeState,
    verdicts: &Verdicts,
) -> Option<Verdict> {
    let lock = next.lock.as_ref()?;
    if state.lock.as_ref() == Some(lock) {
        return verdicts.holder;
    }
    verdicts.bereft.get(lock.holder.id()?.as_str()).copied()
}

/// The lock file of a holder that is provably present, made anew.
fn restored(state: &MergeState, plan: PlanId) -> LockFile {
    let record = state.records.participant(plan.as_str());
    let made = record
        .and_then(|record| record.grant.as_ref())
        .and_then(|grant| grant.made);
    LockFile {
        mtime_ns: made.unwrap_or_default(),
        uid: record.map_or(0, |record| record.user),
        holder: Holder::Plan(plan),
    }
}

/// Ends a grant: the entry that it stood on leaves the queue, a later one of the same id stays.
fn forget_grant(state: &mut MergeState, id: &str) {
    let Some(record) = state.records.participant_mut(id) else {
        return;
    };
    record.grant = None;
    record.lease = None;
    let old = record.queued_ts;
    // A file that was written and read again holds exactly the number that was recorded.
    #[expect(clippy::float_cmp, reason = "the same number or another entry")]
    state
        .queue
        .retain(|entry| entry.plan_id != id || entry.ts != old);
}

/// Drops the records of those who neither hold nor wait.
fn drop_departed(state: &mut MergeState) {
    let mut participants = std::mem::take(&mut state.records.participants);
    let there = state.taking_part();
    participants.retain(|id, _| there.contains(id.as_str()));
    state.records.participants = participants;
}
