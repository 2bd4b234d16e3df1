//! Times that cannot be right: recorded in the future, or before the clock was set.
//!
//! On the boot that recorded it a lease goes by the time since then, whatever the clock says; after a
//! reboot, between machines, and for other programs, the clock is all there is.

use std::path::Path;

use crate::lease::{Moment, Now};
use crate::locks::build::{BuildState, Entry};
use crate::locks::merge::MergeState;
use crate::participant::Participant;
use crate::report::{Finding, FindingKind, Severity};
use crate::sys::host::Host;
use crate::text;

/// How far two clocks, or one and what it said, may be apart, in seconds.
const TOLERANCE: f64 = 300.0;

/// A time that somebody recorded.
#[derive(Clone, Copy, Debug)]
struct Recorded<'a> {
    whose: &'a str,
    moment: Moment,
    /// Whose clock it was, where that is known.
    host: Option<&'a Host>,
}

/// What is wrong with the times of the merge lock, whose lock file is at `path`.
pub fn of_merge(state: &MergeState, path: &Path, now: &Now) -> Vec<Finding> {
    let mut all = Vec::new();
    let holder = state.lock.as_ref().and_then(|lock| lock.holder.id());
    if let (Some(lock), Some(id)) = (&state.lock, holder) {
        all.push(plain(id.as_str(), lock.mtime()));
    }
    all.extend(
        state
            .queue
            .iter()
            .map(|entry| plain(&entry.plan_id, entry.ts)),
    );
    for (id, record) in &state.records.participants {
        all.extend(of_participant(id, record));
    }
    findings(&all, path, now)
}

/// What is wrong with the times of the build queue, whose file is at `path`.
pub fn of_build(state: &BuildState, path: &Path, now: &Now) -> Vec<Finding> {
    let mut all = Vec::new();
    for entry in state.active.iter().chain(&state.waiting) {
        all.extend(of_entry(entry));
    }
    findings(&all, path, now)
}

fn plain(whose: &str, wall: f64) -> Recorded<'_> {
    let moment = Moment { wall, boot: None };
    let host = None;
    Recorded {
        whose,
        moment,
        host,
    }
}

fn of_participant<'a>(
    whose: &'a str,
    record: &'a Participant,
) -> impl Iterator<Item = Recorded<'a>> {
    let granted = record.grant.as_ref().map(|grant| grant.since);
    let leased = record.lease.map(|lease| lease.from);
    let all = [Some(record.ticket), granted, leased];
    let host = Some(&*record.host);
    all.into_iter().flatten().map(move |moment| Recorded {
        whose,
        moment,
        host,
    })
}

fn of_entry(entry: &Entry) -> Vec<Recorded<'_>> {
    let times = [Some(entry.ts), entry.active_since];
    let mut all: Vec<_> = times
        .into_iter()
        .flatten()
        .map(|wall| plain(&entry.id, wall))
        .collect();
    if let Some(record) = entry.record.known() {
        all.extend(of_participant(&entry.id, &record.who));
    }
    all
}

fn findings(all: &[Recorded<'_>], path: &Path, now: &Now) -> Vec<Finding> {
    let ahead = farthest(all, |it| it.moment.wall - now.moment.wall);
    let stepped = farthest(all, |it| stepped(it, now).abs());
    let ahead = ahead.map(|(whose, span, count)| {
        let what = format!(
            "{} recorded in the future, that of '{whose}' {}: the clock here, or where it was \
             recorded, is wrong",
            times(count),
            text::span(span)
        );
        Finding::new(FindingKind::Clock, Severity::Warning, what)
            .to_do("set the clock, then have the holder renew")
    });
    // Where one is in the future, that it was stepped says the same again.
    let stepped = stepped.filter(|_| ahead.is_none()).map(|(whose, span, count)| {
        let what = format!(
            "since {} recorded, that of '{whose}' among them, the clock was set by {}; leases of \
             this boot do not go by it",
            times(count),
            text::span(span)
        );
        Finding::new(FindingKind::Clock, Severity::Note, what)
    });
    let found = ahead.into_iter().chain(stepped);
    found.map(|finding| finding.at(path)).collect()
}

fn times(count: usize) -> String {
    match count {
        1 => "1 time was".to_owned(),
        more => format!("{more} times were"),
    }
}

/// Of those that are off by more than is tolerated: whose is the farthest, by how much, and how many.
fn farthest<'a>(
    all: &[Recorded<'a>],
    off: impl Fn(&Recorded<'_>) -> f64,
) -> Option<(&'a str, f64, usize)> {
    let beyond = all.iter().map(|it| (it.whose, off(it)));
    let beyond: Vec<_> = beyond.filter(|(_, off)| *off > TOLERANCE).collect();
    let most = beyond.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((most.0, most.1, beyond.len()))
}

/// By how much the clock was set forward since then, in seconds; 0 where that cannot be told.
fn stepped(it: &Recorded<'_>, now: &Now) -> f64 {
    let Some(host) = it.host.filter(|host| now.host.shares_boot_clock(host)) else {
        return 0.0;
    };
    match (it.moment.boot, now.elapsed(it.moment, host)) {
        (Some(_), Some(elapsed)) => (now.moment.wall - it.moment.wall) - elapsed,
        _ => 0.0,
    }
}
