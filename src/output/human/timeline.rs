//! `git locks log` in lines and sentences.

use owo_colors::Style as Paint;

use super::{Style, quote};
use crate::report::{LockTimes, ReclaimedFrom, Timeline, TimelineEntry, TimelineSummary};
use crate::text;

/// What every entry of one program says alike.
const COMMON: [&str; 1] = ["lock_file"];

/// How wide the columns of a line are, in characters.
struct Widths {
    name: usize,
    id: usize,
}

/// Where the lines are not known before they are written.
const USUAL: Widths = Widths { name: 19, id: 30 };
/// The widest that a column becomes; what is longer pushes what follows aside.
const WIDEST: Widths = Widths { name: 30, id: 40 };

pub(super) fn timeline(it: &Timeline, style: &Style) -> Vec<String> {
    if it.entries.is_empty() {
        let place = text::visible(&it.log_dir);
        return vec![format!("Nothing that was asked for is told in {place}.")];
    }
    let widest = |of: fn(&TimelineEntry) -> String, most: usize| {
        let widths = it.entries.iter().map(|entry| of(entry).chars().count());
        widths.filter(|width| *width <= most).max().unwrap_or(0)
    };
    let widths = Widths {
        name: widest(name, WIDEST.name),
        id: widest(id, WIDEST.id),
    };
    let lines = it.entries.iter().map(|entry| line(entry, &widths, style));
    lines.collect()
}

/// One entry by itself.
pub(super) fn entry(it: &TimelineEntry, style: &Style) -> Vec<String> {
    vec![line(it, &USUAL, style)]
}

fn name(entry: &TimelineEntry) -> String {
    quote(&format!("{}:{}", entry.lock, entry.event))
}

/// Whom it happened to: of a build's entry, the plan and the beginning of what tells its entries apart.
fn id(entry: &TimelineEntry) -> String {
    match entry.id.rsplit_once(':') {
        Some((plan, rest)) => quote(&format!("{plan}:{}", text::clip(rest, 8))),
        None => quote(&entry.id),
    }
}

/// `2026-12-01T08:00:00Z  merge:blocked  topic  holder=fix-login  waiting_count=2`.
fn line(entry: &TimelineEntry, widths: &Widths, style: &Style) -> String {
    let name = padded(&name(entry), widths.name);
    let columns = [
        text::moment(entry.time),
        paint(entry, &name, style),
        padded(&id(entry), widths.id),
    ];
    let told = entry.fields.iter().filter(|(key, value)| {
        let is_the_id = key == "waiter" && *value == entry.id;
        !is_the_id && !COMMON.contains(&key.as_str())
    });
    let told = told.map(|(key, value)| format!("{}={}", quote(key), quote(value)));
    let line: Vec<String> = columns.into_iter().chain(told).collect();
    line.join("  ").trim_end().to_owned()
}

fn padded(words: &str, width: usize) -> String {
    format!("{words:<width$}")
}

fn paint(entry: &TimelineEntry, words: &str, style: &Style) -> String {
    match entry.event.as_str() {
        "acquired" | "claimed" => style.good(words),
        "blocked" => style.wait(words),
        "reclaimed" | "reaped-stale" | "exhausted" => style.bad(words),
        "released" => style.paint(words, Paint::new().cyan()),
        _ if entry.level != "INFO" => style.bad(words),
        _ => words.to_owned(),
    }
}

pub(super) fn summary(it: &TimelineSummary, style: &Style) -> Vec<String> {
    let seen = it.locks.iter().filter(|lock| has_happened(lock));
    let mut lines: Vec<String> = seen.flat_map(|lock| times(lock, style)).collect();
    if lines.is_empty() {
        let place = text::visible(&it.log_dir);
        lines.push(format!(
            "Nobody has waited or held, as far as is told in {place}."
        ));
    }
    lines.extend(it.reclaimed.iter().map(|reclaim| reclaimed(reclaim, style)));
    lines
}

fn has_happened(lock: &LockTimes) -> bool {
    lock.waits + lock.holds + lock.turnless + lock.reclaims > 0
}

fn times(lock: &LockTimes, style: &Style) -> Vec<String> {
    let called = match lock.lock {
        "merge" => "The merge lock",
        "build" => "The build queue",
        _ => "The rate windows",
    };
    let waits = [lock.wait_p50, lock.wait_p95, lock.wait_longest];
    let holds = [lock.hold_p50, lock.hold_p95, lock.hold_longest];
    let mut lines = vec![
        style.bold(called),
        format!("  waits:     {}", spans(lock.waits, waits)),
        format!("  holds:     {}", spans(lock.holds, holds)),
        format!("  turnless:  {}", turnless(lock, style)),
    ];
    if lock.reclaims > 0 {
        let count = style.bad(&lock.reclaims.to_string());
        lines.push(format!("  reclaims:  {count}"));
    }
    lines
}

/// "12; half 3s at most, 95% 2m at most, the longest 5m".
fn spans(count: u64, lengths: [Option<f64>; 3]) -> String {
    let [Some(half), Some(most), Some(longest)] = lengths.map(|it| it.map(text::span)) else {
        return count.to_string();
    };
    format!("{count}; half {half} at most, 95% {most} at most, the longest {longest}")
}

fn turnless(lock: &LockTimes, style: &Style) -> String {
    let count = lock.turnless.to_string();
    let (Some(id), Some(span), Some(since)) = (
        &lock.turnless_id,
        lock.turnless_longest,
        lock.turnless_since,
    ) else {
        return count;
    };
    let waits = if lock.turnless_waiting == Some(true) {
        style.wait("and waits still")
    } else {
        "and was not seen since".to_owned()
    };
    format!(
        "{count}; the longest {}, for {}, since {}, {waits}",
        style.name(id),
        text::span(span),
        text::moment(since)
    )
}

/// "Reclaimed: merge from gone, by topic, at 2026-12-01T08:00:00Z".
fn reclaimed(it: &ReclaimedFrom, style: &Style) -> String {
    let by = it.by.as_ref().map(|by| format!(", by {}", style.name(by)));
    format!(
        "{} {} from {}{}, at {}",
        style.bad("Reclaimed:"),
        it.lock,
        style.name(&it.id),
        by.unwrap_or_default(),
        text::moment(it.time)
    )
}
