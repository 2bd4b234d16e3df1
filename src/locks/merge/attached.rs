//! Participants whose process is there all the time: a place left by a killed one, the command that
//! a holder started, and the lock that is kept while the command runs.

use std::sync::Arc;

use crate::lease::Lease;
use crate::liveness::Verdict;
use crate::locks::asking::{Bid, Caller};
use crate::participant::{Grant, Kind, Participant};
use crate::queue::Entry;

use super::Rules;
use super::recording::{adopt, holder_record_mut};
use super::settle::{holder_verdict, settle};
use super::state::{Holder, LockFile, MergeState, Verdicts};

/// What a holder that looks after its lock finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// It holds the lock as before.
    Kept,
    /// The lock was taken away, nobody had it, and it has been taken again.
    Restored,
    /// Somebody is about to say who holds it.
    Unclear,
    /// Another holds the lock.
    Lost(String),
}

/// Whether the caller is the very process that holds the lock.
pub(super) fn is_holding(state: &MergeState, caller: &Caller) -> bool {
    let record = state.holder_record();
    caller.presence.is_some()
        && names(state.lock.as_ref(), caller)
        && record.is_some_and(|r| r.kind == Kind::Attached && r.presence == caller.presence)
}

/// Gives the lock to the very process that holds it, where that asks again because the commit of
/// its grant failed halfway: what it is about to run now need not be what it was to run then.
pub(super) fn take_up(next: &mut MergeState, bid: &Bid) {
    let Some(record) = holder_record_mut(next) else {
        return;
    };
    if bid.process.is_some() && bid.process != record.process {
        record.process.clone_from(&bid.process);
        confirm(record);
    }
}

/// From now on, a lock file that vanishes is no sign of a grant that was cut off.
fn confirm(record: &mut Participant) {
    if let Some(grant) = record.grant.as_mut() {
        grant.temp = None;
    }
}

/// Lets a command run under a lock that its id holds detached, and keeps from running out what
/// lease there is. Returns whether there is a holder to visit: not when what vouched for it is gone.
pub(super) fn visit(next: &mut MergeState, bid: &Bid, stale: bool, rules: &Rules) -> bool {
    let Some(record) = holder_record_mut(next) else {
        return !stale;
    };
    if record.kind != Kind::Leased && stale {
        return false;
    }
    bid.visit(record, &rules.now);
    true
}

/// Decides the end of a visit: calls that show its token are no longer from inside.
pub fn end_visit(state: &MergeState, bid: &Bid, verdicts: &Verdicts) -> MergeState {
    let mut next = settle(state, verdicts);
    let visited = holder_record_mut(&mut next).filter(|record| record.kind != Kind::Attached);
    if let Some(record) = visited.filter(|record| record.token == bid.token) {
        record.token = None;
    }
    next
}

/// Whether a lock file names the caller.
fn names(lock: Option<&LockFile>, caller: &Caller) -> bool {
    lock.and_then(|lock| lock.holder.id()) == Some(&caller.id)
}

/// Whether another process takes part under the caller's id: two runs are two participants.
pub(super) fn has_namesake(state: &MergeState, caller: &Caller, verdicts: &Verdicts) -> bool {
    if names(state.lock.as_ref(), caller) {
        return true;
    }
    let id = caller.id.as_str();
    let record = state.records.participant(id);
    let is_present = verdicts.waiters.get(id).is_some_and(|v| v.present);
    is_present && record.is_some_and(|record| record.presence != caller.presence)
}

/// Gives a newcomer that named nobody the foremost place that a killed call of its checkout left.
/// Returns whether there was one. An entry of the id that the lock file names is the holder's, and
/// goes with it.
pub(super) fn take_over(next: &mut MergeState, caller: &Caller, verdicts: &Verdicts) -> bool {
    if names(next.lock.as_ref(), caller) || !next.may_be_given_a_place(caller) {
        return false;
    }
    let left = |entry: &Entry| {
        let record = next.records.participant(&entry.plan_id);
        verdicts.is_orphan(&entry.plan_id)
            && !names_entry(next.lock.as_ref(), entry)
            && record.is_some_and(|record| caller.shares_checkout(record))
    };
    let Some(place) = next.queue.iter().position(left) else {
        return false;
    };
    if let Some(entry) = next.queue.get_mut(place) {
        // What is recorded of who left it stays until the queue is written: without it, a crash in
        // between would leave an entry of which nobody knows that it is an orphan's.
        *entry = Entry::new(&caller.id, entry.ts);
    }
    true
}

fn names_entry(lock: Option<&LockFile>, entry: &Entry) -> bool {
    let holder = lock.and_then(|lock| lock.holder.id());
    holder.is_some_and(|holder| holder.as_str() == entry.plan_id)
}

/// Decides whether an attached holder still has its lock, renews its lease, and takes the lock
/// again when it was taken away and nobody has it.
pub fn keep(
    state: &MergeState,
    caller: &Caller,
    bid: &Bid,
    verdicts: &Verdicts,
    rules: &Rules,
) -> (MergeState, Keeping) {
    let mut next = settle(state, verdicts);
    let is_mine = |record: &Participant| record.token.is_some() && record.token == bid.token;
    if next.holder_record().is_some_and(is_mine) {
        renew(&mut next, caller, bid, rules);
        let restored = state.lock.as_ref() != next.lock.as_ref();
        let keeping = if restored {
            Keeping::Restored
        } else {
            Keeping::Kept
        };
        return (next, keeping);
    }
    let verdict = holder_verdict(state, &next, verdicts);
    let nobody = verdict.is_some_and(Verdict::is_stale) && rules.may_reclaim;
    match next.lock.as_ref().map(|lock| lock.holder.clone()) {
        Some(Holder::Unborn) => (next, Keeping::Unclear),
        // Written anew by hand: it names the holder that it named before.
        Some(Holder::Plan(id)) if id == caller.id && next.holder_record().is_none() => {
            let before = state.records.participant(caller.id.as_str()).cloned();
            let before = before.filter(is_mine);
            adopt(&mut next, caller, bid, rules);
            if let (Some(record), Some(before)) = (holder_record_mut(&mut next), before) {
                let adopted = record.grant.take();
                *record = before;
                // Without one where somebody has asked since, and saw the holder's lock gone.
                match (record.grant.as_mut(), adopted) {
                    (Some(grant), Some(adopted)) => grant.made = adopted.made,
                    (_, adopted) => record.grant = adopted,
                }
            }
            renew(&mut next, caller, bid, rules);
            (next, Keeping::Restored)
        }
        Some(holder) if !nobody => {
            let shown = holder.shown().unwrap_or_default();
            (next, Keeping::Lost(shown))
        }
        _ => {
            let before = state.records.participant(caller.id.as_str()).cloned();
            take_again(&mut next, before.filter(is_mine), caller, bid, rules);
            (next, Keeping::Restored)
        }
    }
}

/// Makes the caller the holder that it was, as recorded `before` its lock was taken away.
fn take_again(
    next: &mut MergeState,
    before: Option<Participant>,
    caller: &Caller,
    bid: &Bid,
    rules: &Rules,
) {
    let id = caller.id.as_str();
    next.lock = Some(LockFile {
        holder: Holder::Plan(caller.id.clone()),
        mtime_ns: 0,
        uid: caller.user,
    });
    // One that was granted to another since is another grant.
    let latest = |record: &Participant| {
        let grant = record.grant.as_ref();
        grant.is_some_and(|grant| grant.fence == next.records.fence)
    };
    let before = before.map(|record| Participant {
        grant: record.grant.clone().filter(|_| latest(&record)),
        ..record
    });
    if before.as_ref().is_none_or(|record| record.grant.is_none()) {
        next.records.fence = next.records.fence.saturating_add(1);
    }
    let fence = next.records.fence;
    let now = rules.now.moment;
    let mut record = before.unwrap_or_else(|| bid.participant(caller, now.wall, &rules.now));
    let grant = record.grant.get_or_insert(Grant {
        fence,
        since: now,
        made: None,
        temp: None,
    });
    grant.made = None;
    if !next.queue.iter().any(|entry| entry.plan_id == id) {
        next.queue.insert(0, Entry::new(&caller.id, now.wall));
        record.queued_ts = now.wall;
    }
    next.records
        .participants
        .insert(id.to_owned(), Arc::new(record));
    next.records.idle = None;
    renew(next, caller, bid, rules);
}

/// Records anew what vouches for the holder, and for how long where nobody can see it.
fn renew(next: &mut MergeState, caller: &Caller, bid: &Bid, rules: &Rules) {
    let now = &rules.now;
    if let Some(record) = next.records.participant_mut(caller.id.as_str()) {
        record.presence.clone_from(&caller.presence);
        if bid.process.is_some() {
            record.process.clone_from(&bid.process);
        }
        record.lease = Some(Lease::starting(now, record.ttl.unwrap_or(bid.ttl)));
        record.ticket = now.moment;
        confirm(record);
    }
}
