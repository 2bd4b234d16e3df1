//! Reports of what has happened.

use super::super::NOW;
use super::HOSTILE;
use crate::report::*;

const LOGS: &str = "/r/.plan/logs";

pub(in super::super) fn entry(event: &str, id: &str, fields: &[(&str, &str)]) -> TimelineEntry {
    let (lock, event) = event.split_once(':').expect("a lock and an event");
    TimelineEntry {
        time: NOW - 725.25,
        level: "INFO".into(),
        lock: lock.into(),
        event: event.into(),
        id: id.into(),
        fields: fields
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()))
            .collect(),
    }
}

pub(in super::super) fn blocked() -> TimelineEntry {
    let fields = [
        ("lock_file", "/r/.plan/local/merge.lock"),
        ("holder", "alpha"),
        ("waiter", "beta"),
        ("waiting_count", "2"),
    ];
    entry("merge:blocked", "beta", &fields)
}

pub(in super::super) fn reaped() -> TimelineEntry {
    let id = "alpha:0f0e4c52-7a52-4a3e-9d6a-0d3b5f0c1a11";
    TimelineEntry {
        level: "WARNING".into(),
        ..entry(
            "build:reaped-stale",
            id,
            &[("held", "1300.5"), ("threshold", "1200")],
        )
    }
}

/// By a program that writes what it likes.
pub(in super::super) fn hostile() -> TimelineEntry {
    TimelineEntry {
        level: HOSTILE.into(),
        ..entry(
            &format!("{HOSTILE}:{HOSTILE}"),
            HOSTILE,
            &[(HOSTILE, HOSTILE)],
        )
    }
}

pub(in super::super) fn timeline() -> Timeline {
    Timeline {
        status: Status::Success,
        log_dir: LOGS.into(),
        omitted: 3,
        skipped_lines: 1,
        entries: vec![
            entry("merge:acquired", "alpha", &[("waiting_count", "1")]),
            blocked(),
            reaped(),
            entry("merge:released", "alpha", &[]),
        ],
    }
}

/// All entries with the same fields.
pub(in super::super) fn alike() -> Timeline {
    Timeline {
        omitted: 0,
        skipped_lines: 0,
        entries: vec![blocked(), blocked()],
        ..timeline()
    }
}

pub(in super::super) fn nothing() -> Timeline {
    Timeline {
        entries: Vec::new(),
        ..alike()
    }
}

pub(in super::super) fn hostile_timeline() -> Timeline {
    Timeline {
        log_dir: HOSTILE.into(),
        entries: vec![hostile()],
        ..alike()
    }
}

pub(in super::super) fn no_times(lock: &'static str) -> LockTimes {
    LockTimes {
        lock,
        waits: 0,
        wait_p50: None,
        wait_p95: None,
        wait_longest: None,
        holds: 0,
        hold_p50: None,
        hold_p95: None,
        hold_longest: None,
        turnless: 0,
        turnless_longest: None,
        turnless_id: None,
        turnless_since: None,
        turnless_waiting: None,
        reclaims: 0,
    }
}

pub(in super::super) fn times(id: &str) -> LockTimes {
    LockTimes {
        waits: 12,
        wait_p50: Some(3.0),
        wait_p95: Some(125.5),
        wait_longest: Some(725.0),
        holds: 1,
        hold_p50: Some(40.0),
        hold_p95: Some(40.0),
        hold_longest: Some(40.0),
        turnless: 2,
        turnless_longest: Some(725.25),
        turnless_id: Some(id.into()),
        turnless_since: Some(NOW - 725.25),
        turnless_waiting: Some(true),
        reclaims: 2,
        ..no_times("merge")
    }
}

pub(in super::super) fn summary() -> TimelineSummary {
    let reclaimed = |lock, by: Option<&str>| ReclaimedFrom {
        time: NOW - 3600.25,
        lock,
        id: "gone".into(),
        by: by.map(Into::into),
    };
    TimelineSummary {
        status: Status::Success,
        log_dir: LOGS.into(),
        since: Some(NOW - 86_400.0),
        entry_count: 42,
        skipped_lines: 0,
        locks: vec![times("beta"), no_times("build"), no_times("rate-window")],
        reclaimed: vec![reclaimed("merge", Some("beta")), reclaimed("build", None)],
    }
}

pub(in super::super) fn hostile_summary() -> TimelineSummary {
    TimelineSummary {
        log_dir: HOSTILE.into(),
        since: None,
        locks: vec![times(HOSTILE)],
        reclaimed: vec![ReclaimedFrom {
            time: 0.0,
            lock: "merge",
            id: HOSTILE.into(),
            by: Some(HOSTILE.into()),
        }],
        ..summary()
    }
}

/// Nobody has waited or held.
pub(in super::super) fn empty_summary() -> TimelineSummary {
    TimelineSummary {
        since: None,
        entry_count: 0,
        locks: vec![no_times("build")],
        reclaimed: Vec::new(),
        ..summary()
    }
}

pub(in super::super) fn all() -> Vec<Report> {
    vec![
        Report::Timeline(timeline()),
        Report::Timeline(alike()),
        Report::Timeline(nothing()),
        Report::Timeline(hostile_timeline()),
        Report::TimelineSummary(summary()),
        Report::TimelineSummary(hostile_summary()),
        Report::TimelineSummary(empty_summary()),
    ]
}
