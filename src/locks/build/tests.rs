//! Each decision on states made for it, and properties of all of them.

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::lease::Lease;
use crate::liveness::Verdict;
use crate::locks::asking::{Bid, Caller};
use crate::locks::samples::{
    NOW, ORPHAN, PRESENT, TTL, bid, caller, host, inferred, moment, newcomer, process, run_bid,
    waits_as,
};
use crate::participant::Participant;

mod acquire;
mod housekeeping;
mod judging;
mod keeping;
mod processes;
mod properties;
mod release;

/// The caller's project.
const ROOT: &str = "/p";

/// `after` seconds later, with so many slots.
fn rules(slots: usize, after: f64) -> Rules<'static> {
    Rules {
        now: Now {
            moment: moment(after),
            host: host(),
        },
        slots,
        limit: 600,
        project_root: Path::new(ROOT),
        pass_over: Some(120.0),
        poll_grain: 10.0,
        may_reclaim: true,
    }
}

/// Another program's entry, which waits.
fn foreign(name: &str) -> Entry {
    Entry {
        id: format!("{name}:1"),
        ts: NOW - 500.0,
        project_root: Some(ROOT.to_owned()),
        active_since: None,
        record: Recorded::Not,
        raw: Arc::from("{}"),
    }
}

/// A record of one that waits, and last asked at `moment(after)`.
fn record(name: &str, kind: Kind, after: f64) -> Record {
    let by_process = kind == Kind::Attached;
    let who = if by_process {
        waits_as(name, &format!("{name}.presence"))
    } else {
        caller(name)
    };
    let ticket = moment(after);
    Record {
        who: Participant {
            ticket,
            process: None,
            ..bid(kind).participant(&who, NOW - 500.0, &rules(2, 0.0).now)
        },
        slots: 2,
        limit: 600,
        slot: None,
        since: None,
        claimed: false,
        passed: false,
        told: false,
        command: None,
    }
}

fn ours(name: &str, record: Record) -> Entry {
    Entry {
        record: Recorded::As(Arc::new(record)),
        ..foreign(name)
    }
}

/// One of ours that waits by asking now and then.
fn asking(name: &str) -> Entry {
    ours(name, record(name, Kind::Leased, -5.0))
}

/// One of ours that waits as a process, known by a presence of its name.
fn waiting(name: &str) -> Entry {
    ours(name, record(name, Kind::Attached, -5.0))
}

/// The run of `name`, waiting.
fn queued_run(name: &str) -> Entry {
    let mut record = record(name, Kind::Attached, -5.0);
    record.who.token = Some(format!("{name}.token"));
    ours(name, record)
}

/// The same with a slot since `moment(since)`, claimed or not.
fn active(mut entry: Entry, slot: usize, since: f64, claimed: bool) -> Entry {
    entry.active_since = Some(NOW + since);
    if let Some(record) = entry.record.known_mut() {
        record.slot = Some(slot);
        record.since = Some(moment(since));
        record.claimed = claimed;
        record.who.ticket = moment(since);
        record.who.lease = record.who.ttl.filter(|_| claimed).map(|seconds| Lease {
            from: moment(since),
            seconds,
        });
    }
    entry
}

/// One of ours that has held detached for a minute.
fn holding(name: &str, kind: Kind, slot: usize) -> Entry {
    active(ours(name, record(name, kind, -60.0)), slot, -60.0, true)
}

/// A run of ours that has built for a minute.
fn running(name: &str, slot: usize) -> Entry {
    active(queued_run(name), slot, -60.0, true)
}

fn queue(active: Vec<Entry>, waiting: Vec<Entry>) -> BuildState {
    BuildState {
        active,
        waiting,
        run_log: Vec::new(),
    }
}

/// On those of these names; others are fresh.
fn verdicts(state: &BuildState, said: &[(&str, Verdict)]) -> Verdicts {
    let all = state.active.iter().chain(&state.waiting);
    let verdict = |entry: &Entry| {
        let found = said.iter().find(|(name, _)| *name == entry.plan_id());
        found.map_or(Verdict::FRESH, |(_, verdict)| *verdict)
    };
    Verdicts(
        all.map(|entry| (entry.id.clone(), verdict(entry)))
            .collect(),
    )
}

fn names(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(Entry::plan_id).collect()
}

fn known<'a>(state: &'a BuildState, name: &str) -> &'a Record {
    let mut all = state.active.iter().chain(&state.waiting);
    let entry = all.find(|entry| entry.plan_id() == name);
    entry
        .and_then(|entry| entry.record.known())
        .expect("a record")
}

fn granted(admission: Admission) -> Granted {
    match admission {
        Admission::Admitted(granted) => granted,
        other => panic!("not admitted: {other:?}"),
    }
}

fn blocked(admission: Admission) -> Waiting {
    match admission {
        Admission::Blocked(waiting) => waiting,
        other => panic!("not blocked: {other:?}"),
    }
}
