//! Waits, holds, turns that never came, reclaims.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

/// Who waits now, by lock and id, since when.
#[derive(Default)]
struct Now(HashMap<(&'static str, &'static str), f64>);

impl Queue for Now {
    fn since(&self, lock: &str, id: &str) -> Option<f64> {
        let mut entries = self.0.iter().filter(|((l, i), _)| *l == lock && *i == id);
        entries.next().map(|(_, since)| *since)
    }
}

const NOW: f64 = 1000.0;

fn entry(time: f64, name: &str, id: &str) -> Entry {
    let (lock, event) = name.split_once(':').expect("a name");
    Entry {
        time,
        level: "INFO".into(),
        lock: lock.into(),
        event: event.into(),
        id: id.into(),
        fields: Vec::new(),
    }
}

fn with(mut entry: Entry, key: &str, value: &str) -> Entry {
    entry.fields.push((key.into(), value.into()));
    entry
}

fn sum(entries: &[Entry], queue: &Now) -> Summary {
    let mut summing = Summing::new(|_| true);
    for entry in entries {
        summing.take(entry);
    }
    summing.finish(queue, NOW)
}

fn of(summary: &Summary, lock: &str) -> LockSummary {
    let mut locks = summary.locks.iter().filter(|it| it.lock == lock);
    locks.next().expect("the lock").clone()
}

/// What is said of the merge lock.
fn merge(entries: &[(f64, &str, &str)]) -> LockSummary {
    let entries: Vec<Entry> = entries
        .iter()
        .map(|(time, event, id)| entry(*time, &format!("merge:{event}"), id))
        .collect();
    of(&sum(&entries, &Now::default()), "merge")
}

fn numbers(spans: &Spans) -> (u64, Option<f64>, Option<f64>, Option<f64>) {
    let [half, most] = [50, 95].map(|percent| spans.percentile(percent));
    (spans.count(), half, most, spans.longest())
}

#[test]
fn a_wait_begins_with_the_first_block_and_ends_with_the_turn() {
    let found = merge(&[
        (0.0, "acquired", "a"),
        (1.0, "blocked", "b"),
        (31.0, "blocked", "b"),
        (32.0, "blocked", "c"),
        (40.0, "released", "a"),
        (41.0, "acquired", "b"),
        (43.0, "released", "b"),
        (44.0, "reclaimed", "c"),
    ]);
    assert_eq!(
        numbers(&found.waits),
        (2, Some(12.0), Some(40.0), Some(40.0))
    );
    assert_eq!(
        numbers(&found.holds),
        (2, Some(2.0), Some(40.0), Some(40.0))
    );
    assert_eq!((found.turnless, found.longest_turnless), (0, None));
}

#[test]
fn nothing_has_no_length() {
    let found = merge(&[]);
    assert_eq!(numbers(&found.waits), (0, None, None, None));
    assert_eq!(numbers(&found.holds), (0, None, None, None));
    assert_eq!((found.turnless, found.reclaims), (0, 0));
}

#[test]
fn a_percentile_is_a_length_that_was_seen() {
    let mut spans = Spans::default();
    for seconds in 1..=100 {
        spans.add(f64::from(seconds));
    }
    let found = [0, 1, 50, 95, 99, 100, 200].map(|percent| spans.percentile(percent));
    assert_eq!(found, [1.0, 1.0, 50.0, 95.0, 99.0, 100.0, 100.0].map(Some));
    let mut spans = Spans::default();
    for seconds in [0.25, 7.0] {
        spans.add(seconds);
    }
    assert_eq!(spans.percentile(50), Some(0.25));
    assert_eq!(spans.percentile(51), Some(7.0));
}

#[test]
fn who_is_without_a_turn_has_waited_as_far_as_is_known() {
    let entries = [
        entry(100.0, "merge:blocked", "gave-up"),
        entry(190.0, "merge:blocked", "gave-up"),
        entry(200.0, "merge:blocked", "waits"),
    ];
    let found = of(&sum(&entries, &Now::default()), "merge");
    let gave_up = Turnless {
        id: "gave-up".into(),
        since: 100.0,
        seconds: 90.0,
        waits: false,
    };
    assert_eq!((found.turnless, found.longest_turnless), (2, Some(gave_up)));
    // One entry says nothing of how long it went on; the queue does, and since when.
    for (since, expected) in [(200.25, 200.25), (150.0, 150.0), (0.0, 200.0)] {
        let queue = Now([(("merge", "waits"), since), (("build", "gave-up"), 1.0)].into());
        let found = of(&sum(&entries, &queue), "merge");
        let waits = Turnless {
            id: "waits".into(),
            since: expected,
            seconds: NOW - expected,
            waits: true,
        };
        assert_eq!((found.turnless, found.longest_turnless), (2, Some(waits)));
    }
}

#[test]
fn who_lets_go_had_a_turn() {
    let found = merge(&[(1.0, "blocked", "a"), (5.0, "released", "a")]);
    assert_eq!(
        (found.turnless, found.waits.count(), found.holds.count()),
        (0, 0, 0)
    );
}

#[test]
fn a_clock_that_was_set_back_makes_no_wait_and_no_negative_one() {
    let found = merge(&[
        (9.0, "blocked", "a"),
        (5.0, "acquired", "a"),
        (4.0, "released", "a"),
        (3.0, "blocked", "b"),
        (1.0, "blocked", "b"),
    ]);
    assert_eq!((found.waits.count(), found.holds.count()), (0, 0));
    assert_eq!(found.longest_turnless.map(|it| it.seconds), Some(0.0));
}

#[test]
fn a_reclaim_says_from_whom_by_whom_and_ends_the_hold() {
    let entries = [
        entry(1.0, "merge:acquired", "gone"),
        with(entry(5.0, "merge:reclaimed", "b"), "reclaimed_from", "gone"),
        // Who removes a holder that is gone lets nothing of its own go.
        entry(6.0, "merge:blocked", "c"),
        with(entry(7.0, "merge:released", "c"), "reclaimed_from", "b"),
        entry(8.0, "merge:released", "gone"),
        entry(9.0, "build:acquired", "p:1"),
        entry(99.0, "build:reaped-stale", "p:1"),
    ];
    let summary = sum(&entries, &Now::default());
    let reclaim = |time, lock, id: &str, by: Option<&str>| Reclaim {
        time,
        lock,
        id: id.into(),
        by: by.map(Into::into),
    };
    let expected = [
        reclaim(5.0, "merge", "gone", Some("b")),
        reclaim(7.0, "merge", "b", Some("c")),
        reclaim(99.0, "build", "p:1", None),
    ];
    assert_eq!(summary.reclaims, expected);
    let found = of(&summary, "merge");
    assert_eq!(
        (found.reclaims, found.holds.count(), found.turnless),
        (2, 0, 1)
    );
    let found = of(&summary, "build");
    assert_eq!((found.reclaims, found.holds.count()), (1, 0));
}

#[test]
fn each_bot_has_a_window_of_its_own() {
    let robot = |time, event: &str, bot: &str| {
        with(
            entry(time, &format!("rate-window:{event}"), "a"),
            "bot_kind",
            bot,
        )
    };
    let summary = sum(
        &[
            robot(1.0, "claimed", "x"),
            robot(2.0, "blocked", "y"),
            robot(3.0, "claimed", "z"),
            robot(4.0, "released", "x"),
            robot(6.0, "claimed", "y"),
        ],
        &Now::default(),
    );
    let found = of(&summary, "rate-window");
    assert_eq!(numbers(&found.waits), (1, Some(4.0), Some(4.0), Some(4.0)));
    assert_eq!(numbers(&found.holds), (1, Some(3.0), Some(3.0), Some(3.0)));
}

#[test]
fn only_the_locks_that_are_wanted_are_told_of() {
    let mut summing = Summing::new(|lock| lock == "build");
    for name in ["merge:acquired", "build:acquired", "other:acquired"] {
        summing.take(&entry(1.0, name, "a"));
    }
    let summary = summing.finish(&Now::default(), NOW);
    assert_eq!(summary.entries, 1);
    let locks: Vec<&str> = summary.locks.iter().map(|it| it.lock).collect();
    assert_eq!(locks, ["build"]);
}

#[test]
fn the_last_reclaims_are_told_and_all_are_counted() {
    let entries: Vec<Entry> = (0..250)
        .map(|number| entry(f64::from(number), "build:reaped-stale", &number.to_string()))
        .collect();
    let summary = sum(&entries, &Now::default());
    assert_eq!(of(&summary, "build").reclaims, 250);
    assert_eq!(summary.reclaims.len(), MOST_RECLAIMS);
    assert_eq!(summary.reclaims.first().map(|it| it.time), Some(150.0));
}

#[test]
fn however_many_never_get_a_turn_only_so_many_are_kept() {
    let mut summing = Summing::new(|_| true);
    let most = u32::try_from(5 * MOST_OPEN).expect("a number");
    for number in 0..most {
        let name = if number % 2 == 0 {
            "merge:blocked"
        } else {
            "merge:acquired"
        };
        summing.take(&entry(f64::from(number), name, &number.to_string()));
    }
    // The first one comes again: that it was there before is forgotten.
    let ledger = &summing.locks[0];
    assert!(ledger.open.len() < 2 * MOST_OPEN && ledger.holding.count() < 2 * MOST_OPEN);
    let found = of(&summing.finish(&Now::default(), NOW), "merge");
    assert_eq!(found.turnless, u64::from(most / 2));
}

proptest! {
    #[test]
    fn no_order_of_events_is_too_odd(
        entries in prop::collection::vec(
            (0.0..100.0_f64, 0..6_usize, "[ab]", any::<bool>()), 0..40),
    ) {
        let names = ["blocked", "acquired", "reclaimed", "released", "reaped-stale", "other"];
        let entries: Vec<Entry> = entries
            .into_iter()
            .map(|(time, name, id, taken)| {
                let entry = entry(time, &format!("merge:{}", names[name]), &id);
                if taken { with(entry, "reclaimed_from", "a") } else { entry }
            })
            .collect();
        let count = |names: &[&str]| {
            let named = entries.iter().filter(|entry| names.contains(&entry.event.as_str()));
            u64::try_from(named.count()).unwrap()
        };
        let found = of(&sum(&entries, &Now::default()), "merge");
        prop_assert!(found.waits.count() <= count(&["acquired", "reclaimed"]));
        prop_assert!(found.holds.count() <= count(&["released"]));
        prop_assert!(found.waits.count() + found.turnless <= count(&["blocked"]));
        prop_assert!(found.turnless <= 2);
        prop_assert_eq!(found.turnless > 0, found.longest_turnless.is_some());
        for spans in [&found.waits, &found.holds] {
            let (count, half, most, longest) = numbers(spans);
            prop_assert_eq!(count == 0, longest.is_none());
            prop_assert!(half <= most && most <= longest);
            prop_assert!(longest.is_none_or(|it| (0.0..=100.0).contains(&it)));
        }
    }

    #[test]
    fn the_same_holds_as_an_estimate_counts(
        entries in prop::collection::vec((0..1000_i64, 0..3_usize, "[abc]"), 0..30),
    ) {
        let names = ["acquired", "reclaimed", "released"];
        let epoch = 1_796_112_000;
        let mut text = String::new();
        let mut read = Vec::new();
        for (second, name, id) in entries {
            let time = chrono::DateTime::from_timestamp(epoch + second, 0).unwrap();
            let time = time.to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
            let message = format!("[LOCK] (merge:{}) {id}", names[name]);
            text = text + "[" + &time + "] [INFO] [0123ab] " + &message + "\n";
            #[expect(clippy::cast_precision_loss, reason = "a small number")]
            let seconds = (epoch + second) as f64;
            read.push(entry(seconds, &format!("merge:{}", names[name]), &id));
        }
        let mut estimated = super::super::holds::holds(&text, "merge");
        estimated.sort_by(f64::total_cmp);
        let found = of(&sum(&read, &Now::default()), "merge");
        prop_assert_eq!(found.holds.longest(), estimated.last().copied());
        prop_assert_eq!(found.holds.count(), u64::try_from(estimated.len()).unwrap());
    }
}
