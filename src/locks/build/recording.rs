//! What is recorded of those who wait and of those who have a slot.

use std::sync::Arc;

use crate::lease::{Lease, Moment};
use crate::locks::asking::{Bid, Caller, Poll};
use crate::participant::{Kind, Participant};

use super::housekeeping::lowest_free_slot;
use super::own::is_of_process;
use super::sight::Sight;
use super::state::{BuildState, Entry, Record, Recorded, Verdicts};
use super::{Granted, Rules};

/// Who records itself, and by what.
pub(super) struct Asking<'a> {
    pub caller: &'a Caller,
    pub bid: &'a Bid,
    /// What it runs, for people.
    pub command: Option<&'a str>,
    pub sight: &'a Sight<'a>,
}

impl Asking<'_> {
    /// A record of one that waits; its entry was made at `ts`.
    pub fn waiter(&self, ts: f64) -> Record {
        let who = self.bid.waiter(self.caller, ts, &self.sight.rules.now);
        let run = self.bid.kind == Kind::Attached;
        Record {
            who: Participant {
                process: self.bid.process.clone().filter(|_| run).or(who.process),
                token: self.bid.token.clone().filter(|_| run).or(who.token),
                ..who
            },
            slots: self.sight.rules.slots,
            limit: self.sight.rules.limit,
            slot: None,
            since: None,
            claimed: false,
            passed: false,
            told: false,
            command: self.command.map(str::to_owned),
        }
    }

    /// Records a poll of one that waits, or that has a slot it did not claim.
    pub fn poll(&self, entry: &mut Entry) -> Poll {
        let fresh = self.waiter(entry.ts);
        let record = match &mut entry.record {
            Recorded::Unreadable => return Poll::Repeated,
            Recorded::Not => {
                entry.record = Recorded::As(Arc::new(fresh));
                return Poll::Noted;
            }
            Recorded::As(record) => record,
        };
        let rules = self.sight.rules;
        let same = !record.passed
            && (record.slots, record.limit) == (fresh.slots, fresh.limit)
            && (fresh.command.is_none() || fresh.command == record.command);
        let repeats = self
            .bid
            .repeats(&record.who, &fresh.who, &rules.now, rules.poll_grain);
        if same && repeats {
            return Poll::Repeated;
        }
        let reason = fresh.who.reason.or_else(|| record.who.reason.clone());
        *record = Arc::new(Record {
            who: Participant {
                reason,
                ..fresh.who
            },
            command: fresh.command.or_else(|| record.command.clone()),
            slot: record.slot,
            since: record.since,
            told: record.told,
            ..fresh
        });
        Poll::Noted
    }

    /// Records that the caller has the slot of the active entry at `place`, which it has not claimed
    /// before.
    pub fn claim(&self, next: &mut BuildState, place: usize) {
        let now = &self.sight.rules.now;
        let free = lowest_free_slot(next);
        let Some(entry) = next.active.get_mut(place) else {
            return;
        };
        if entry.record == Recorded::Unreadable {
            return;
        }
        let waited = entry.record.known();
        let mut record = Record {
            who: self.bid.participant(self.caller, entry.ts, now),
            slot: Some(waited.and_then(|it| it.slot).unwrap_or(free)),
            since: Some(now.moment),
            claimed: true,
            told: waited.is_some_and(|it| it.told),
            ..self.waiter(entry.ts)
        };
        if let Some(waited) = waited {
            let said = || waited.who.reason.clone();
            record.who.reason = record.who.reason.or_else(said);
            record.command = record.command.or_else(|| waited.command.clone());
        }
        // That of an attached holder bounds the doubt where its process cannot be observed.
        record.who.lease = record.who.ttl.map(|ttl| Lease::starting(now, ttl));
        // What vouches for it may be another now: it must not be too old for that at once.
        renew_age(entry, self.sight);
        entry.record = Recorded::As(Arc::new(record));
    }

    /// Records an active entry of another program as the caller's.
    pub fn adopt(&self, next: &mut BuildState, place: usize) {
        let since = next.active.get(place).and_then(|entry| entry.active_since);
        self.claim(next, place);
        let record = next
            .active
            .get_mut(place)
            .and_then(|entry| entry.record.known_mut());
        if let Some((record, wall)) = record.zip(since) {
            record.since = Some(Moment { wall, boot: None });
        }
    }

    /// Whether another program's entry is to be recorded when its holder asks again: not where it may be
    /// a plan, whose plan vouches for longer than any lease, unless the caller insists. Who named itself
    /// and is leased all the same stands in a project that keeps no plans.
    pub fn adopts(&self) -> bool {
        self.bid.insists || (self.bid.kind == Kind::Leased && self.caller.explicit)
    }
}

/// Keeps the other program, which knows nothing but ages, from reaping one that has just renewed its
/// promise: `since` tells how long it is really there.
pub(super) fn renew_age(entry: &mut Entry, sight: &Sight<'_>) {
    entry.active_since = Some(sight.rules.now.moment.wall);
}

/// The slot that a process was given which waits to run a command, and had recorded what it will run by
/// then: nothing is left to be recorded before that begins. `None` where it has none, or asks anew.
pub fn given(state: &BuildState, caller: &Caller, bid: &Bid, rules: &Rules<'_>) -> Option<Granted> {
    let very = |entry: &Entry| is_of_process(entry, caller);
    let place = state.active.iter().position(very)?;
    let record = state.active.get(place)?.record.known()?;
    let complete = record.slot.is_some()
        && record.who.process.is_some()
        && (&record.who.process, &record.who.token) == (&bid.process, &bid.token);
    let none = Verdicts::default();
    let sight = Sight {
        verdicts: &none,
        rules,
        own: None,
    };
    complete.then(|| as_granted(state, place, true, &sight))
}

/// The slot of the active entry at `place`, as its holder has it.
pub(super) fn as_granted(
    state: &BuildState,
    place: usize,
    new: bool,
    sight: &Sight<'_>,
) -> Granted {
    let entry = state.active.get(place);
    let record = entry.and_then(|entry| entry.record.known());
    let since = record.and_then(|record| record.since);
    let shared = entry.and_then(|entry| entry.active_since);
    let now = sight.rules.now.moment.wall;
    Granted {
        id: entry.map(|entry| entry.id.clone()).unwrap_or_default(),
        new,
        told: record.is_some_and(|record| record.told),
        slot: record.and_then(|record| record.slot),
        kind: record.map(|record| record.who.kind),
        expires_at: record.and_then(|record| record.who.end_of_lease()),
        since: since.map(|since| since.wall).or(shared).unwrap_or(now),
    }
}
