//! Asking for a slot.

use std::sync::Arc;

use crate::locks::asking::{Bid, Caller, Poll};
use crate::participant::Kind;

use super::housekeeping::{clear, give_out, lowest_free_slot};
use super::own::{self, Own};
use super::recording::{Asking, as_granted, renew_age};
use super::sight::Sight;
use super::state::{BuildState, Entry, Record, Recorded, Verdicts};
use super::{Admission, Housekeeping, Rules, Waiting};

/// Decides a request for a slot. `fresh_id` is the id of the entry of a newcomer, `command` what it
/// runs.
pub fn acquire(
    state: &BuildState,
    caller: &Caller,
    bid: &Bid,
    fresh_id: &str,
    command: Option<&str>,
    verdicts: &Verdicts,
    rules: &Rules<'_>,
) -> (BuildState, (Admission, Housekeeping)) {
    let attached = bid.kind == Kind::Attached;
    let (mut next, mut done, own) = cleared(state, caller, attached, verdicts, rules);
    let mut sight = sight(verdicts, rules, own.id(&next));
    let joins = own == Own::Nothing;
    if joins {
        // Before slots are given out: the place that it gets may be ahead of others.
        sight.own = Some(fresh_id.to_owned());
    }
    let asking = Asking {
        caller,
        bid,
        command,
        sight: &sight,
    };
    if joins {
        join(&mut next, fresh_id, &asking);
    }
    done.promoted = give_out(&mut next, caller, &sight);
    done.drop_absent(&next);
    let is_own = |id: &String| sight.own.as_ref() == Some(id);
    let just_now = done.promoted.iter().any(is_own);
    // The caller's own grant is told by its admission.
    done.promoted.retain(|id| !is_own(id));
    let own = match &sight.own {
        Some(id) => own::place_of(&next, id),
        None => own,
    };
    let mut admission = match own {
        Own::Active(place) => use_slot(&mut next, place, just_now, &asking),
        Own::Waiting(place) => wait(&mut next, place, &asking),
        Own::Namesake | Own::Nothing => Admission::Namesake,
    };
    if let Admission::Blocked(waiting) = &mut admission
        && joins
    {
        waiting.poll = Poll::Joined;
    }
    (next, (admission, done))
}

/// Decides a request that leaves no trace of the caller unless it is admitted.
pub fn try_acquire(
    state: &BuildState,
    caller: &Caller,
    bid: &Bid,
    fresh_id: &str,
    command: Option<&str>,
    verdicts: &Verdicts,
    rules: &Rules<'_>,
) -> (BuildState, (Admission, Housekeeping)) {
    match acquire(state, caller, bid, fresh_id, command, verdicts, rules) {
        (_, (Admission::Blocked(waiting), _)) => {
            let attached = bid.kind == Kind::Attached;
            let (mut next, mut done, own) = cleared(state, caller, attached, verdicts, rules);
            let sight = sight(verdicts, rules, own.id(&next));
            done.promoted = give_out(&mut next, caller, &sight);
            done.drop_absent(&next);
            let waiting = Waiting {
                id: None,
                position: None,
                ..waiting
            };
            (next, (Admission::Blocked(waiting), done))
        }
        decided => decided,
    }
}

fn sight<'a>(verdicts: &'a Verdicts, rules: &'a Rules<'_>, own: Option<String>) -> Sight<'a> {
    Sight {
        verdicts,
        rules,
        own,
    }
}

/// The state without those who go first, and the entry that is the caller's then: what it would have
/// used, or what stood in its way, may have gone.
fn cleared(
    state: &BuildState,
    caller: &Caller,
    attached: bool,
    verdicts: &Verdicts,
    rules: &Rules<'_>,
) -> (BuildState, Housekeeping, Own) {
    let mut next = state.clone();
    let mut sight = sight(verdicts, rules, None);
    sight.own = own::find(&next, caller, attached, &sight).id(&next);
    let done = Housekeeping {
        reaped: clear(&mut next, caller, &sight),
        promoted: Vec::new(),
    };
    let own = own::find(&next, caller, attached, &sight);
    (next, done, own)
}

/// What the caller has said before, in the entry that it uses.
fn before(entry: &Entry, bid: &Bid) -> Bid {
    bid.as_before(entry.record.known().map(|record| &record.who))
}

/// Decides for a caller that has the active entry at `place`; `just_now` is whether it waited until this
/// very call.
fn use_slot(next: &mut BuildState, place: usize, just_now: bool, asking: &Asking<'_>) -> Admission {
    let (caller, bid, sight) = (asking.caller, asking.bid, asking.sight);
    let attached = bid.kind == Kind::Attached;
    let free = lowest_free_slot(next);
    let Some(entry) = next.active.get_mut(place) else {
        return Admission::Namesake;
    };
    let stale = sight.is_dead(entry);
    let adopts = entry.record == Recorded::Not && !attached && asking.adopts();
    let very = own::is_of_process(entry, caller);
    // What waited as a process is the caller's to claim: others' slots it was not referred to.
    let waited = |record: &Record| record.who.kind == Kind::Attached;
    let to_claim = just_now || very || !attached || entry.record.known().is_some_and(waited);
    let as_said = Asking {
        bid: &before(entry, bid),
        ..*asking
    };
    let now = &sight.rules.now;
    let mut new = false;
    match entry.record.known_mut() {
        Some(record) if !record.claimed && to_claim => {
            if !bid.can_hold() {
                return not_yet(entry, free, &as_said);
            }
            as_said.claim(next, place);
            new = true;
        }
        // It asks again because the commit of its grant failed halfway: what it is about to run now need
        // not be what it was to run then.
        Some(record) if very && record.who.kind == Kind::Attached => {
            if bid.process.is_some() {
                record.who.process.clone_from(&bid.process);
            }
            new = true;
        }
        Some(record) => {
            if attached {
                record.change_who(|who| bid.visit(who, now));
                // Somebody builds in it.
                record.claimed = true;
            } else {
                record.change_who(|who| bid.hold_again(who, stale, now));
            }
            if record.who.kind == Kind::Leased {
                renew_age(entry, sight);
            }
        }
        None if just_now => {
            if !bid.can_hold() {
                return not_yet(entry, free, &as_said);
            }
            as_said.claim(next, place);
            new = true;
        }
        None if adopts => asking.adopt(next, place),
        None => {}
    }
    Admission::Admitted(as_granted(next, place, new, sight))
}

/// What is said to a process that was given a slot, and has yet to start what will hold it.
fn not_yet(entry: &mut Entry, free: usize, asking: &Asking<'_>) -> Admission {
    let poll = asking.poll(entry);
    if let Some(record) = entry.record.known_mut() {
        // Another program gives out no numbers.
        record.slot.get_or_insert(free);
        record.since.get_or_insert(asking.sight.rules.now.moment);
    }
    Admission::Blocked(Waiting {
        id: Some(entry.id.clone()),
        position: None,
        next: true,
        poll,
    })
}

/// Gives a newcomer a place: the foremost that a killed call of its checkout left, where it named nobody,
/// else the last.
fn join(next: &mut BuildState, fresh_id: &str, asking: &Asking<'_>) {
    let (caller, sight) = (asking.caller, asking.sight);
    let left = |entry: &Entry| {
        let record = entry.record.known();
        caller.is_nameless()
            && sight.verdict(entry).orphaned
            && sight.is_here(entry)
            && record.is_some_and(|record| caller.shares_checkout(&record.who))
    };
    let found = next.waiting.iter().position(left);
    let place = found.unwrap_or(next.waiting.len());
    if found.is_none() {
        let now = sight.rules.now.moment.wall;
        let root = sight.rules.project_root.to_string_lossy();
        next.waiting.push(Entry {
            id: fresh_id.to_owned(),
            ts: now,
            project_root: Some(root.into_owned()),
            active_since: None,
            record: Recorded::Not,
            raw: Arc::from(""),
        });
    }
    if let Some(entry) = next.waiting.get_mut(place) {
        fresh_id.clone_into(&mut entry.id);
        entry.record = Recorded::As(Arc::new(asking.waiter(entry.ts)));
    }
}

/// Decides for a caller that waits at `place`, and was given no slot.
fn wait(next: &mut BuildState, place: usize, asking: &Asking<'_>) -> Admission {
    let (caller, sight) = (asking.caller, asking.sight);
    let active = next.active.len();
    let Some(entry) = next.waiting.get_mut(place) else {
        return Admission::Namesake;
    };
    // Another process may wait there; what vouches for the place stays.
    let guest = sight.verdict(entry).present && !own::is_of_process(entry, caller);
    let poll = if guest {
        Poll::Repeated
    } else {
        let bid = &before(entry, asking.bid);
        Asking { bid, ..*asking }.poll(entry)
    };
    let id = Some(entry.id.clone());
    // So many are left when the next slot is the caller's.
    let left = active.min(sight.rules.slots.saturating_sub(1));
    let mut ahead = next.waiting.iter().take(place);
    Admission::Blocked(Waiting {
        id,
        position: Some(place + 1),
        next: !ahead.any(|entry| sight.is_able(entry, left)),
        poll,
    })
}
