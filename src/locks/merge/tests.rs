//! Each decision on states made for it. `committed` does what the store does with a decision,
//! so that what a decision says of its own result can be tested.

mod attached;
mod crashes;
mod decisions;
mod identities;
mod order;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::lease::Lease;
use crate::liveness::Verdict;
use crate::locks::asking::{Bid, Caller, Poll};
use crate::locks::samples::{
    NOW, ORPHAN, PRESENT, TTL, bid, caller, host, id, inferred, moment, newcomer, process, run_bid,
    waits_as,
};
use crate::participant::Kind;
use crate::participant::{Grant, Participant};
use crate::queue::Entry;
use crate::sys::host::Host;
use crate::sys::process::ProcessId;

fn rules(after: f64) -> Rules {
    Rules {
        now: Now {
            moment: moment(after),
            host: host(),
        },
        pass_over: Some(120.0),
        ticket_ttl: 900.0,
        poll_grain: 10.0,
        may_reclaim: true,
        keeps_plans: false,
    }
}

fn free() -> MergeState {
    MergeState {
        lock: None,
        queue: Vec::new(),
        records: Records::default(),
        cut_off: Vec::new(),
    }
}

fn lock_of(name: &str, mtime_ns: i64) -> LockFile {
    LockFile {
        holder: Holder::Plan(id(name)),
        mtime_ns,
        uid: 1000,
    }
}

/// The time in nanoseconds, as lock files made at `moment(after)` bear it.
fn stamp(after: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "fits")]
    let ns = ((NOW + after) * 1e6) as i64 * 1000;
    ns
}

/// What is on the disk once the store has committed `next`, which was decided on `before`.
fn committed(before: &MergeState, next: &MergeState, after: f64) -> MergeState {
    let mut next = next.clone();
    if next.lock != before.lock
        && let Some(lock) = next.lock.as_mut()
    {
        lock.mtime_ns = stamp(after);
        let record = lock
            .holder
            .id()
            .and_then(|id| next.records.participant_mut(id.as_str()));
        if let Some(grant) = record.and_then(|record| record.grant.as_mut()) {
            grant.made = Some(stamp(after));
            grant.temp = Some("temp".to_owned());
        }
    }
    next
}

/// A queue of these, first come first.
fn queue_of(names: &[&str]) -> Vec<Entry> {
    names
        .iter()
        .map(|name| Entry {
            plan_id: (*name).to_owned(),
            ts: NOW - 500.0,
            raw: format!("{{\"plan_id\": \"{name}\", \"ts\": 1.0, \"other\": 1}}"),
        })
        .collect()
}

/// A record of a participant that last polled at `moment(after)`.
fn record(kind: Kind, after: f64) -> Participant {
    Participant {
        ticket: moment(after),
        queued_ts: NOW - 500.0,
        ..bid(kind).participant(&caller("any"), NOW, &rules(0.0).now)
    }
}

/// The record of a holder of the lock file made at `moment(after)`.
fn holder_of(kind: Kind, after: f64) -> Participant {
    Participant {
        grant: Some(Grant {
            fence: 7,
            since: moment(after),
            made: Some(stamp(after)),
            temp: None,
        }),
        lease: (kind == Kind::Leased).then_some(Lease {
            from: moment(after),
            seconds: TTL,
        }),
        ..record(kind, after)
    }
}

/// `h` holds since a minute ago; its entry and those of `waiting` are queued, all recorded.
fn held(kind: Kind, waiting: &[&str]) -> MergeState {
    let mut names = vec!["h"];
    names.extend(waiting);
    let mut participants: BTreeMap<String, Arc<Participant>> = waiting
        .iter()
        .map(|name| ((*name).to_owned(), record(Kind::Leased, -1.0).into()))
        .collect();
    participants.insert("h".to_owned(), holder_of(kind, -60.0).into());
    MergeState {
        lock: Some(lock_of("h", stamp(-60.0))),
        queue: queue_of(&names),
        records: Records {
            fence: 7,
            participants,
            ..Records::default()
        },
        cut_off: Vec::new(),
    }
}

/// Verdicts: on the holder, and on waiters by id.
fn verdicts(holder: Option<Verdict>, waiters: &[(&str, Verdict)]) -> Verdicts {
    Verdicts {
        holder,
        waiters: waiters
            .iter()
            .map(|(name, verdict)| ((*name).to_owned(), *verdict))
            .collect(),
        bereft: BTreeMap::new(),
    }
}

fn names(state: &MergeState) -> Vec<&str> {
    state
        .queue
        .iter()
        .map(|entry| entry.plan_id.as_str())
        .collect()
}

fn holder(state: &MergeState) -> Option<String> {
    state.lock.as_ref().and_then(|lock| lock.holder.shown())
}

fn granted(admission: Admission) -> Granted {
    match admission {
        Admission::Admitted(granted) => granted,
        other => panic!("not admitted: {other:?}"),
    }
}

fn waiting(admission: Admission) -> Waiting {
    match admission {
        Admission::Blocked(waiting) => waiting,
        other => panic!("not blocked: {other:?}"),
    }
}
