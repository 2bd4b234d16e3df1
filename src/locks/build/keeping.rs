//! Keeping a slot while a command runs, and keeping a promise.

use std::sync::Arc;

use crate::lease::Lease;
use crate::locks::asking::{Bid, Caller};
use crate::participant::Kind;

use super::housekeeping::{is_slot_taken, lowest_free_slot, make_room};
use super::own::{is_run, take};
use super::recording::{Asking, renew_age};
use super::release::active_place;
use super::sight::Sight;
use super::state::{BuildState, Entry, Record, Recorded, Verdicts};
use super::{Keeping, Renewal, Rules, Target};

/// Decides what becomes of a run that looks after its slot: what vouches for it is recorded anew, and a
/// slot that was taken away is taken again where it is free. `was` is the run's entry as it last saw it.
pub fn keep(
    state: &BuildState,
    caller: &Caller,
    was: &Entry,
    bid: &Bid,
    verdicts: &Verdicts,
    rules: &Rules<'_>,
) -> (BuildState, Keeping) {
    let sight = Sight {
        verdicts,
        rules,
        own: Some(was.id.clone()),
    };
    let mut next = state.clone();
    if let Some(entry) = next.active.iter_mut().find(|entry| entry.id == was.id) {
        if entry.record == Recorded::Not {
            entry.record = was.record.clone();
        }
        let of_another = |record: &Record| record.who.token != bid.token;
        if entry.record.known().is_some_and(of_another) {
            return (state.clone(), Keeping::Lost);
        }
        vouch(entry, caller, bid, &sight);
        return (next, Keeping::Kept);
    }
    if bid.token.is_none() || was.record.known().is_none_or(|r| r.who.token != bid.token) {
        return (next, Keeping::Lost);
    }
    let mut entry = take(&mut next.waiting, &was.id).unwrap_or_else(|| was.clone());
    entry.record = was.record.clone();
    make_room(&mut next, &sight);
    let slot = was.record.known().and_then(|record| record.slot);
    let free = slot.is_none_or(|slot| !is_slot_taken(&next, slot));
    if next.active.len() >= rules.slots || !free {
        return (state.clone(), Keeping::Lost);
    }
    let slot = slot.unwrap_or_else(|| lowest_free_slot(&next));
    if let Some(record) = entry.record.known_mut() {
        record.slot = Some(slot);
        record.since.get_or_insert(rules.now.moment);
    }
    vouch(&mut entry, caller, bid, &sight);
    next.active.push(entry);
    (next, Keeping::Restored)
}

/// Records anew what vouches for a run, and for how long where nobody can see it.
fn vouch(entry: &mut Entry, caller: &Caller, bid: &Bid, sight: &Sight<'_>) {
    let now = &sight.rules.now;
    if let Some(record) = entry.record.known_mut() {
        record.claimed = true;
        record.passed = false;
        record.change_who(|who| {
            who.presence.clone_from(&caller.presence);
            if bid.process.is_some() {
                who.process.clone_from(&bid.process);
            }
            who.lease = Some(Lease::starting(now, who.ttl.unwrap_or(bid.ttl)));
            who.host = Arc::new(now.host.clone());
            who.ticket = now.moment;
        });
    }
    renew_age(entry, sight);
}

/// Decides the renewal of a lease.
pub fn renew(
    state: &BuildState,
    caller: &Caller,
    target: Target<'_>,
    bid: &Bid,
    verdicts: &Verdicts,
    rules: &Rules<'_>,
) -> (BuildState, Renewal) {
    let mut next = state.clone();
    let Some(place) = active_place(&next, caller, target, rules) else {
        return (next, Renewal::Lost);
    };
    let sight = Sight {
        verdicts,
        rules,
        own: None,
    };
    let asking = Asking {
        caller,
        bid,
        command: None,
        sight: &sight,
    };
    let unrecorded = |entry: &Entry| entry.record == Recorded::Not;
    if asking.adopts() && next.active.get(place).is_some_and(unrecorded) {
        asking.adopt(&mut next, place);
    }
    let Some(entry) = next.active.get_mut(place) else {
        return (next, Renewal::Lost);
    };
    let id = entry.id.clone();
    let renewable =
        |record: &Record| !is_run(record) && (record.who.kind == Kind::Leased || bid.insists);
    let record = entry.record.known();
    let slot = record.and_then(|record| record.slot);
    if !record.is_some_and(renewable) {
        return (next, Renewal::NoLease { id, slot });
    }
    let now = &rules.now;
    let lease = |ttl| Lease::starting(now, ttl);
    let mut expires_at = now.moment.wall;
    if let Some(record) = entry.record.known_mut() {
        let ttl = record.who.ttl.filter(|_| !bid.insists).unwrap_or(bid.ttl);
        record.change_who(|who| {
            if who.kind != Kind::Leased {
                who.kind = Kind::Leased;
                who.process = None;
            }
            who.ttl = Some(ttl);
            who.lease = Some(lease(ttl));
            who.host = Arc::new(now.host.clone());
            who.ticket = now.moment;
        });
        expires_at = lease(ttl).expires_at();
        record.claimed = true;
    }
    renew_age(entry, &sight);
    let renewed = Renewal::Renewed {
        id,
        slot,
        expires_at,
    };
    (next, renewed)
}

/// Decides the end of a visit to the slot of `id`: calls that show its token are no longer from inside.
pub fn end_visit(state: &BuildState, id: &str, bid: &Bid) -> BuildState {
    let mut next = state.clone();
    for entry in next.active.iter_mut().filter(|entry| entry.id == id) {
        let visited =
            |record: &Record| record.who.kind != Kind::Attached && record.who.token == bid.token;
        if entry.record.known().is_some_and(visited)
            && let Some(record) = entry.record.known_mut()
        {
            record.who.token = None;
        }
    }
    next
}
