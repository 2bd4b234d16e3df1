//! Letting go of the lock: by its holder, by force where the holder is gone, and not yet.

use std::sync::Arc;

use crate::lease::Lease;
use crate::locks::asking::{Bid, Caller};
use crate::participant::Kind;
use crate::queue;
use crate::report::Staleness;

use super::acquire::note_idle;
use super::attached;
use super::recording::{adopt, adopts, holder_record_mut};
use super::settle::{holder_verdict, settle};
use super::state::{Holder, MergeState, Verdicts};
use super::{Eviction, Release, Renewal, Rules, is_holder, prune};

/// Decides a release.
pub fn release(
    state: &MergeState,
    caller: &Caller,
    verdicts: &Verdicts,
    rules: &Rules,
) -> (MergeState, Release) {
    let mut next = settle(state, verdicts);
    let verdict = holder_verdict(state, &next, verdicts);
    prune(&mut next, &caller.id, verdicts);
    let holder = next.lock.as_ref().map(|lock| lock.holder.clone());
    let names_caller = holder.as_ref().and_then(Holder::id) == Some(&caller.id);
    if !is_holder(&next, caller) && !attached::is_holding(&next, caller) {
        let left = !names_caller && queue::dequeue(&mut next.queue, caller.id.as_str());
        if next.queue.is_empty() {
            // Nobody waits: the next to do so must not find that it has waited long.
            next.records.idle = None;
        }
        let holder = holder.and_then(|holder| holder.shown());
        return (next, Release::Noop { holder, left });
    }
    let attached = next
        .holder_record()
        .is_some_and(|record| record.kind == Kind::Attached);
    let by_itself = attached::is_holding(&next, caller);
    if attached && !by_itself && verdict.is_some_and(|verdict| verdict.present) {
        return (next, Release::HolderPresent(caller.id.as_str().to_owned()));
    }
    let_go(&mut next, caller.id.as_str(), rules);
    if state.lock.is_none() {
        // Its lock file had vanished: nothing is left to be gone before its record.
        next.records.participants.remove(caller.id.as_str());
    }
    (next, Release::Released)
}

/// Decides what becomes of a process that was told to end before it had its turn: its place is given
/// up, or the lock where it was granted meanwhile. What others have under the same id stays.
pub fn leave(
    state: &MergeState,
    caller: &Caller,
    verdicts: &Verdicts,
    rules: &Rules,
) -> (MergeState, ()) {
    let mut next = settle(state, verdicts);
    prune(&mut next, &caller.id, verdicts);
    let id = caller.id.as_str();
    if attached::is_holding(&next, caller) {
        let_go(&mut next, id, rules);
    } else if next.is_place_of(caller) {
        queue::dequeue(&mut next.queue, id);
        if next.queue.is_empty() {
            next.records.idle = None;
        }
    }
    (next, ())
}

/// Removes the holder `id` and its entry. Its record goes once the lock file is gone.
fn let_go(next: &mut MergeState, id: &str, rules: &Rules) {
    next.lock = None;
    queue::dequeue(&mut next.queue, id);
    next.records.idle = None;
    if !next.queue.is_empty() {
        note_idle(next, true, rules);
    }
}

/// Decides the removal of a holder that is provably gone.
pub fn evict(
    state: &MergeState,
    caller: &Caller,
    verdicts: &Verdicts,
    rules: &Rules,
) -> (MergeState, Eviction) {
    let mut next = settle(state, verdicts);
    prune(&mut next, &caller.id, verdicts);
    let Some(lock) = next.lock.clone() else {
        return (next, Eviction::NothingHeld);
    };
    let shown = lock.holder.shown().unwrap_or_default();
    let staleness = holder_verdict(state, &next, verdicts)
        .map_or(Staleness::Unknown, |verdict| verdict.staleness);
    if staleness != Staleness::Stale || !rules.may_reclaim {
        return (next, Eviction::Refused(shown, staleness));
    }
    let_go(&mut next, &shown, rules);
    (next, Eviction::Evicted(shown))
}

/// Decides the renewal of a lease; `ttl` in seconds, `None` for its length so far.
pub fn renew(
    state: &MergeState,
    caller: &Caller,
    bid: &Bid,
    verdicts: &Verdicts,
    rules: &Rules,
) -> (MergeState, Renewal) {
    let mut next = settle(state, verdicts);
    if !is_holder(&next, caller) {
        let holder = next.lock.as_ref().and_then(|lock| lock.holder.shown());
        return (next, Renewal::Lost(holder));
    }
    if adopts(&next, bid, rules) {
        adopt(&mut next, caller, bid, rules);
    }
    let Some(record) = holder_record_mut(&mut next).filter(|record| record.kind == Kind::Leased)
    else {
        return (next, Renewal::NoLease);
    };
    if bid.insists {
        record.ttl = Some(bid.ttl);
    }
    record.host = Arc::new(rules.now.host.clone());
    record.ticket = rules.now.moment;
    let lease = Lease::starting(&rules.now, record.ttl.unwrap_or(bid.ttl));
    record.lease = Some(lease);
    next.records.idle = None;
    (next, Renewal::Renewed(lease.expires_at()))
}

/// Who holds the lock, as a reader sees it: a release that was cut off has let go, and a holder
/// that is provably present holds it although its lock file vanished.
pub fn view(state: &MergeState, verdicts: &Verdicts) -> MergeState {
    settle(state, verdicts)
}
