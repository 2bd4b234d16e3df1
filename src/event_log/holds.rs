//! How long a lock was held lately, read back from the timeline: the ground of an estimate.
//!
//! Entries of other programs count like ours. What is damaged, cut off or missing only makes the
//! estimate poorer: nothing is decided by it.

use std::collections::HashMap;
use std::path::Path;

use chrono::{DateTime, Days, Local};

use super::entries::{Heading, seconds};
use super::file_name;
use crate::sys::file;

/// How much of a day's file is read, from its end, in bytes.
const READ_LIMIT: u64 = 256 << 10;
/// How many holds are looked back on.
const MOST_HOLDS: usize = 50;
/// Fewer holds than this are typical of nothing.
const FEWEST_HOLDS: usize = 3;

/// Later than any clock shows, in seconds since the Unix epoch.
const LAST_TIME: f64 = 1e11;

/// Who holds a lock since when, as the timeline tells: from each `acquired`, `reclaimed` or `claimed`
/// of an id to its `released`.
#[derive(Debug, Default)]
pub struct Holds {
    since: HashMap<String, f64>,
}

impl Holds {
    /// Takes one more `event` of `id` at `time`, in seconds; gives back how long the hold lasted that it
    /// ends, in seconds.
    pub fn take(&mut self, event: &str, id: &str, time: f64) -> Option<f64> {
        if is_grant(event) {
            self.since.insert(id.to_owned(), time);
            return None;
        }
        if event != "released" {
            return None;
        }
        let start = self.forget(id)?;
        // The clock may have been set back meanwhile.
        (time >= start).then_some(time - start)
    }

    /// Forgets since when `id` holds the lock: it was taken from it.
    pub fn forget(&mut self, id: &str) -> Option<f64> {
        self.since.remove(id)
    }

    /// How many hold it.
    pub fn count(&self) -> usize {
        self.since.len()
    }

    /// Forgets who has held it for longest, but for about `most` of them.
    pub fn keep_latest(&mut self, most: usize) {
        let mut since: Vec<f64> = self.since.values().copied().collect();
        since.sort_unstable_by(|one, other| other.total_cmp(one));
        if let Some(&limit) = since.get(most) {
            self.since.retain(|_, since| *since > limit);
        }
    }
}

/// Whether `event` gives somebody the lock.
pub fn is_grant(event: &str) -> bool {
    matches!(event, "acquired" | "reclaimed" | "claimed")
}

/// How long `lock` was held each time, in seconds, as the timeline `text` tells, in the order of the
/// releases.
pub fn holds(text: &str, lock: &str) -> Vec<f64> {
    let mut holds = Holds::default();
    let headings = text.lines().filter_map(Heading::parse);
    let ours = headings.filter(|heading| heading.lock == lock);
    ours.filter_map(|it| holds.take(it.event, it.id, seconds(it.time)))
        .collect()
}

/// How long `lock` was held lately, in seconds, oldest first: at most the last 50 times that end
/// today or yesterday, as seen at `now` in seconds since the Unix epoch. Best effort.
pub fn recent(logs: &Path, lock: &str, now: f64) -> Vec<f64> {
    // Near the end of the calendar, the local date of a time may not exist.
    if !(0.0..LAST_TIME).contains(&now) {
        return Vec::new();
    }
    #[expect(clippy::cast_possible_truncation, reason = "in range, as just seen")]
    let Some(now) = DateTime::from_timestamp(now as i64, 0) else {
        return Vec::new();
    };
    let today = now.with_timezone(&Local).date_naive();
    let yesterday = today.checked_sub_days(Days::new(1));
    let mut text = String::new();
    for day in yesterday.into_iter().chain([today]) {
        let path = logs.join(file_name(day));
        if let Ok(Some(bytes)) = file::read_end(&path, READ_LIMIT) {
            text.push_str(&String::from_utf8_lossy(&bytes));
            // Whatever the end of one day is, the next one's first entry begins a line.
            text.push('\n');
        }
    }
    let mut holds = holds(&text, lock);
    holds.drain(..holds.len().saturating_sub(MOST_HOLDS));
    holds
}

/// The median of `holds`; `None` while there are fewer than three.
pub fn typical(holds: &[f64]) -> Option<f64> {
    if holds.len() < FEWEST_HOLDS {
        return None;
    }
    let mut sorted = holds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get((sorted.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_log::{self, Event, Level};
    use crate::sys::clock;
    use crate::sys::file::Modes;
    use proptest::prelude::*;

    fn entry(time: &str, event: &str, id: &str) -> String {
        format!("[2026-01-02T{time}Z] [INFO] [0123ab] [LOCK] ({event}) {id}\n  waiting_count: 1\n")
    }

    fn merge(entries: &[(&str, &str, &str)]) -> Vec<f64> {
        let text: String = entries
            .iter()
            .map(|(time, event, id)| entry(time, event, id))
            .collect();
        holds(&text, "merge")
    }

    #[test]
    fn a_hold_lasts_from_acquired_or_reclaimed_to_released() {
        let found = merge(&[
            ("03:00:00", "merge:acquired", "alpha"),
            ("03:00:01", "merge:blocked", "beta"),
            ("03:01:30", "merge:released", "alpha"),
            ("03:02:00", "merge:reclaimed", "beta"),
            ("03:02:07", "merge:released", "beta"),
        ]);
        assert_eq!(found, [90.0, 7.0]);
    }

    #[test]
    fn holds_that_overlap_are_told_apart_by_id_and_lock() {
        let found = merge(&[
            ("03:00:00", "merge:acquired", "alpha"),
            ("03:00:01", "build:acquired", "alpha"),
            ("03:00:02", "merge:reclaimed", "beta"),
            ("03:00:03", "build:released", "alpha"),
            ("03:00:05", "merge:released", "beta"),
            ("03:00:10", "merge:released", "alpha"),
        ]);
        assert_eq!(found, [3.0, 10.0]);
    }

    #[test]
    fn a_second_acquired_starts_anew_and_a_release_without_one_is_nothing() {
        let found = merge(&[
            ("03:00:00", "merge:released", "alpha"),
            ("03:00:01", "merge:acquired", "alpha"),
            ("03:00:05", "merge:acquired", "alpha"),
            ("03:00:07", "merge:released", "alpha"),
            ("03:00:09", "merge:released", "alpha"),
            ("03:00:11", "merge:acquired", "alpha"),
        ]);
        assert_eq!(found, [2.0]);
    }

    #[test]
    fn a_clock_that_was_set_back_makes_no_hold() {
        let found = merge(&[
            ("03:00:05", "merge:acquired", "alpha"),
            ("03:00:01", "merge:released", "alpha"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn damaged_lines_are_skipped() {
        let text = [
            "0:00Z] [INFO] [0123ab] [LOCK] (merge:acquired) cut\n",
            &entry("03:00:00", "merge:acquired", "alpha"),
            "[yesterday] [INFO] [0123ab] [LOCK] (merge:released) alpha\n",
            "  [2026-01-02T03:00:01Z] [INFO] [0123ab] [LOCK] (merge:released) alpha\n",
            "[2026-01-02T03:00:02Z] [INFO] [0123ab] [OTHER] (merge:released) alpha\n",
            "[2026-01-02T03:00:03Z] [INFO] [0123ab] [LOCK] (merge) alpha\n",
            "[2026-01-02T03:00:03Z] [INFO] [0123ab] [LOCK] (merge:released) \n",
            "[2026-01-02T03:00:03Z] [INFO\n\u{fffd}\u{fffd}\n\n",
            "[2026-01-02T03:00:04Z] [WARNING] [0123ab] [LOCK] (merge:released) alpha\r\n",
        ]
        .concat();
        assert_eq!(holds(&text, "merge"), [4.0]);
    }

    #[test]
    fn what_we_append_can_be_read_back() {
        let logs = tempfile::tempdir().expect("temp dir");
        let modes = Modes {
            file: 0o644,
            dir: 0o755,
            group: None,
        };
        for name in ["merge:acquired", "merge:released"] {
            let event = Event {
                level: Level::Info,
                name,
                id: "alpha".to_owned(),
                fields: vec![("waiting_count", "0".to_owned())],
            };
            event_log::append(logs.path(), modes, &event).expect("appended");
        }
        // Midnight may have passed meanwhile, and one day is looked back.
        let found = recent(logs.path(), "merge", clock::wall());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0] < 60.0, "{found:?}");
        assert!(recent(logs.path(), "build", clock::wall()).is_empty());
    }

    /// Writes `text` as the timeline of the local day `days` before `now`.
    fn write_day(logs: &Path, now: f64, days: f64, text: &str) {
        #[expect(clippy::cast_possible_truncation, reason = "a test's own number")]
        let then = DateTime::from_timestamp((now - days * 86_400.0) as i64, 0).expect("a time");
        let day = then.with_timezone(&Local).format("%Y-%m-%d");
        std::fs::write(logs.join(format!("lock-{day}.log")), text).expect("write");
    }

    /// Noon UTC of a day on which no zone changes its clocks.
    const NOW: f64 = 1_767_355_200.0;

    #[test]
    fn today_and_yesterday_are_one_timeline_and_older_days_are_not_read() {
        let logs = tempfile::tempdir().expect("temp dir");
        assert!(recent(logs.path(), "merge", NOW).is_empty());
        let before = entry("00:00:00", "merge:acquired", "old")
            + &entry("00:00:01", "merge:released", "old");
        write_day(logs.path(), NOW, 2.0, &before);
        // Cut off in the middle of a line.
        let yesterday = entry("01:00:00", "merge:acquired", "alpha") + "[2026-01-02T01";
        write_day(logs.path(), NOW, 1.0, &yesterday);
        let today = entry("01:00:09", "merge:released", "alpha");
        write_day(logs.path(), NOW, 0.0, &today);
        assert_eq!(recent(logs.path(), "merge", NOW), [9.0]);
    }

    #[test]
    fn only_the_end_of_a_long_timeline_counts() {
        let logs = tempfile::tempdir().expect("temp dir");
        let hold = |seconds: usize| {
            entry("03:00:00", "merge:acquired", "alpha")
                + &entry(&format!("03:00:{seconds:02}"), "merge:released", "alpha")
        };
        let long = "\u{e9}".repeat(usize::try_from(READ_LIMIT).expect("fits"));
        let text = hold(59) + &long + "\n" + &(0..55).map(hold).collect::<String>();
        write_day(logs.path(), NOW, 0.0, &text);
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let expected: Vec<f64> = (5..55).map(|seconds: usize| seconds as f64).collect();
        assert_eq!(recent(logs.path(), "merge", NOW), expected);
        let text = hold(59) + &long + "\n" + &hold(1);
        write_day(logs.path(), NOW, 0.0, &text);
        assert_eq!(recent(logs.path(), "merge", NOW), [1.0]);
    }

    #[test]
    fn no_time_is_too_odd_to_ask_about() {
        let logs = tempfile::tempdir().expect("temp dir");
        for now in [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -1.0,
            8.2e12,
            9.9e10,
        ] {
            assert!(recent(logs.path(), "merge", now).is_empty(), "{now}");
        }
    }

    #[test]
    fn the_typical_hold_is_the_median_of_three_or_more() {
        assert_eq!(typical(&[]), None);
        assert_eq!(typical(&[1.0, 2.0]), None);
        assert_eq!(typical(&[900.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(typical(&[4.0, 900.0, 1.0, 2.0]), Some(3.0));
    }

    proptest! {
        #[test]
        fn any_text_has_holds_that_can_be_told(text in any::<String>(), lock in any::<String>()) {
            let found = holds(&text, &lock);
            prop_assert!(found.iter().all(|hold| *hold >= 0.0));
        }

        #[test]
        fn entries_in_any_order_and_cut_anywhere_have_no_more_holds_than_releases(
            entries in prop::collection::vec(
                ("[0-2][0-9]:[0-6][0-9]:[0-6][0-9]", 0..4_usize, "[ab]"), 0..20),
            cut in any::<prop::sample::Index>(),
        ) {
            let names = ["merge:acquired", "merge:reclaimed", "merge:released", "build:released"];
            let text: String = entries
                .iter()
                .map(|(time, event, id)| entry(time, names[*event], id))
                .collect();
            let text = &text[cut.index(text.len() + 1)..];
            let found = holds(text, "merge");
            prop_assert!(found.len() <= text.matches("merge:released").count());
            prop_assert!(found.iter().all(|hold| (0.0..=86_400.0).contains(hold)));
        }

        #[test]
        fn the_typical_hold_lies_among_the_holds(found in prop::collection::vec(0.0..1e9, 0..60)) {
            match typical(&found) {
                None => prop_assert!(found.len() < FEWEST_HOLDS),
                Some(median) => {
                    let below = found.iter().filter(|hold| **hold < median).count();
                    let above = found.iter().filter(|hold| **hold > median).count();
                    prop_assert!(below <= found.len() / 2 && above <= found.len() / 2);
                }
            }
        }
    }
}
