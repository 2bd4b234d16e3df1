//! `git locks log`.

mod follow;

use std::collections::{HashMap, VecDeque};

use crate::cli::LogArgs;
use crate::commands::context::Context;
use crate::error::Result;
use crate::event_log::entries::Entry;
use crate::event_log::filter::{EVENTS, Filter};
use crate::event_log::reading::Reader;
use crate::event_log::summary::{LockSummary, Queue, Reclaim, Summary, Summing};
use crate::exit::Exit;
use crate::place::Home;
use crate::report::{
    LockTimes, Outcome, ReclaimedFrom, Report, Status, Timeline, TimelineEntry, TimelineSummary,
};
use crate::store::build::BuildStore;
use crate::sys::clock;
use crate::text;

use super::asking::shown;
use follow::Follow;

/// How many entries one report holds at most, …
const MOST_ENTRIES: usize = 50_000;
/// … and how many bytes they take.
const MOST_BYTES: usize = 32 << 20;

/// Runs it.
///
/// # Errors
/// An option makes no sense, or the timeline cannot be read.
pub fn run(args: &LogArgs, context: &Context) -> Result<Outcome> {
    let filter = filter(args, clock::wall())?;
    let logs = &context.place.logs;
    context
        .voice
        .detail(format!("the timeline is in {}", text::path(logs)));
    if let Some(event) = args.event.as_deref().filter(|_| !filter.knows_event()) {
        context.voice.inform(format!(
            "git-locks itself tells of no {}; it tells of {}",
            text::visible(event),
            EVENTS.map(|(name, _)| name).join(", ")
        ));
    }
    let mut reader = Reader::open(logs, &filter)?;
    if args.follow {
        let next = Reader::next_or_settled;
        let latest = args.number.map(|most| Latest::of(&mut reader, next, most));
        let backlog = latest.map(|latest| latest.entries).unwrap_or_default();
        return Ok(Outcome::Stream(Box::new(Follow::new(reader, backlog)?)));
    }
    let report = if args.report {
        Report::TimelineSummary(summarise(reader, &filter, context))
    } else {
        Report::Timeline(list(reader, args.number, context))
    };
    Ok(Outcome::new(report, Exit::SUCCESS))
}

/// What is asked for, at `now`.
fn filter(args: &LogArgs, now: f64) -> Result<Filter> {
    let mut filter = Filter::default();
    if let Some(since) = &args.since {
        filter = filter.since(since, now)?;
    }
    if let Some(lock) = &args.lock {
        filter = filter.lock(lock)?;
    }
    if let Some(id) = &args.id {
        filter = filter.id(id);
    }
    if let Some(event) = &args.event {
        filter = filter.event(event)?;
    }
    Ok(filter)
}

/// The last entries, as many as there is room for.
#[derive(Debug, Default)]
struct Latest {
    entries: VecDeque<Entry>,
    bytes: usize,
    omitted: u64,
}

impl Latest {
    /// All that `reader` has, as `next` gives it, at most `most`.
    fn of(reader: &mut Reader, next: impl Fn(&mut Reader) -> Option<Entry>, most: usize) -> Self {
        let mut latest = Self::default();
        while let Some(entry) = next(reader) {
            latest.bytes += entry.size();
            latest.entries.push_back(entry);
            while latest.entries.len() > most.min(MOST_ENTRIES) || latest.bytes > MOST_BYTES {
                let Some(oldest) = latest.entries.pop_front() else {
                    break;
                };
                latest.bytes -= oldest.size();
                latest.omitted += 1;
            }
        }
        latest
    }
}

fn list(mut reader: Reader, number: Option<usize>, context: &Context) -> Timeline {
    let latest = Latest::of(
        &mut reader,
        Reader::next_or_last,
        number.unwrap_or(MOST_ENTRIES),
    );
    let shown_count = latest.entries.len();
    if latest.omitted > 0 && number.is_none_or(|number| number > shown_count) {
        context.voice.inform(format!(
            "only the last {shown_count} entries are shown, {} are left out; ask for less with --since",
            latest.omitted
        ));
    }
    tell_of(&mut reader, context);
    Timeline {
        status: Status::Success,
        log_dir: shown(&context.place.logs),
        omitted: latest.omitted,
        skipped_lines: reader.skipped(),
        entries: latest.entries.into_iter().map(row).collect(),
    }
}

/// Tells what could not be read.
fn tell_of(reader: &mut Reader, context: &Context) {
    while let Some(error) = reader.trouble() {
        context.voice.warn(format!("not read: {error}"));
    }
    if let Some(words) = skipped_words(reader.skipped()) {
        context.voice.detail(words);
    }
}

/// What is said of so many lines that made no sense.
fn skipped_words(lines: u64) -> Option<String> {
    match lines {
        0 => None,
        1 => Some("1 line of the timeline makes no sense, and was skipped".to_owned()),
        more => Some(format!(
            "{more} lines of the timeline make no sense, and were skipped"
        )),
    }
}

fn row(entry: Entry) -> TimelineEntry {
    TimelineEntry {
        time: entry.time,
        level: entry.level,
        lock: entry.lock,
        event: entry.event,
        id: entry.id,
        fields: entry.fields,
    }
}

fn summarise(mut reader: Reader, filter: &Filter, context: &Context) -> TimelineSummary {
    let mut summing = Summing::new(|lock| filter.wants_lock(lock));
    while let Some(entry) = reader.next_or_last() {
        summing.take(&entry);
    }
    tell_of(&mut reader, context);
    let Summary {
        entries,
        locks,
        reclaims,
    } = summing.finish(&Waiting::now(context), clock::wall());
    TimelineSummary {
        status: Status::Success,
        log_dir: shown(&context.place.logs),
        since: filter.start(),
        entry_count: entries,
        skipped_lines: reader.skipped(),
        locks: locks.into_iter().map(times).collect(),
        reclaimed: reclaims.into_iter().map(reclaimed).collect(),
    }
}

fn times(it: LockSummary) -> LockTimes {
    let longest = it.longest_turnless;
    LockTimes {
        lock: it.lock,
        waits: it.waits.count(),
        wait_p50: it.waits.percentile(50),
        wait_p95: it.waits.percentile(95),
        wait_longest: it.waits.longest(),
        holds: it.holds.count(),
        hold_p50: it.holds.percentile(50),
        hold_p95: it.holds.percentile(95),
        hold_longest: it.holds.longest(),
        turnless: it.turnless,
        turnless_longest: longest.as_ref().map(|wait| wait.seconds),
        turnless_since: longest.as_ref().map(|wait| wait.since),
        turnless_waiting: longest.as_ref().map(|wait| wait.waits),
        turnless_id: longest.map(|wait| wait.id),
        reclaims: it.reclaims,
    }
}

fn reclaimed(it: Reclaim) -> ReclaimedFrom {
    ReclaimedFrom {
        time: it.time,
        lock: it.lock,
        id: it.id,
        by: it.by,
    }
}

/// Who stands in a queue now, by lock, with the time at which it joined. Best effort: without it, waits
/// that go on count as far as the timeline tells.
#[derive(Debug, Default)]
struct Waiting {
    merge: HashMap<String, f64>,
    build: HashMap<String, f64>,
}

impl Waiting {
    fn now(context: &Context) -> Self {
        let merge = context.merge_store().peek_all().map(|state| {
            let entries = state.queue.into_iter();
            entries.map(|entry| (entry.plan_id, entry.ts)).collect()
        });
        let build = Home::find(&context.cwd).and_then(|home| {
            let store = BuildStore::new(&home, &context.place.plan_dir, context.modes());
            let entries = store.peek()?.waiting.into_iter();
            Ok(entries.map(|entry| (entry.id, entry.ts)).collect())
        });
        let or_nobody = |found: Result<HashMap<String, f64>>, queue: &str| {
            found.unwrap_or_else(|error| {
                let words = format!("who waits for {queue} now is not known: {error}");
                context.voice.detail(words);
                HashMap::new()
            })
        };
        Self {
            merge: or_nobody(merge, "the merge lock"),
            build: or_nobody(build, "a build slot"),
        }
    }
}

impl Queue for Waiting {
    fn since(&self, lock: &str, id: &str) -> Option<f64> {
        let queue = match lock {
            "merge" => &self.merge,
            "build" => &self.build,
            _ => return None,
        };
        queue.get(id).copied()
    }
}
