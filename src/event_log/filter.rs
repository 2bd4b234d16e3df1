//! Which entries of the timeline are asked for: pure.

use chrono::{DateTime, NaiveDate, NaiveDateTime};

use super::entries::{Entry, seconds};
use crate::config;
use crate::error::{Error, Result};
use crate::text;

/// The locks that the timeline tells of.
pub const LOCKS: [&str; 3] = ["merge", "build", "rate-window"];

/// The events that git-locks itself tells of, and what they say.
pub const EVENTS: [(&str, &str); 7] = [
    ("acquired", "somebody got a lock, or a slot"),
    ("blocked", "somebody has to wait"),
    ("claimed", "somebody got a rate window"),
    ("exhausted", "a rate window has no attempts left"),
    ("reaped-stale", "a slot was taken after too long"),
    ("reclaimed", "somebody got the lock of one who is gone"),
    ("released", "somebody let go"),
];

/// What `--since` may be.
const SINCE_HINT: &str = "it is a duration such as 90s, 12h or 7d, a day such as 2026-11-30, a moment in UTC such as \
     2026-11-30T08:00:00Z, or @ and seconds since 1970";
/// How moments are written, other than with a time zone.
const MOMENTS: [&str; 4] = [
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M",
];

/// What is asked for; nothing is everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    since: Option<f64>,
    lock: Option<String>,
    id: Option<String>,
    /// The lock, where it was named with the event, and the event.
    event: Option<(Option<String>, String)>,
}

impl Filter {
    /// Only what happened then or later, as seen at `now`, in seconds since the Unix epoch.
    ///
    /// # Errors
    /// `since` is no time.
    pub fn since(mut self, since: &str, now: f64) -> Result<Self> {
        let time = moment(since.trim(), now);
        self.since = Some(time.ok_or_else(|| refusal("--since", since, "a time", SINCE_HINT))?);
        Ok(self)
    }

    /// Only what happened to this lock.
    ///
    /// # Errors
    /// There is no such lock.
    pub fn lock(mut self, lock: &str) -> Result<Self> {
        if !LOCKS.contains(&lock) {
            let hint = "it is one of merge, build and rate-window";
            return Err(refusal("--lock", lock, "a lock", hint));
        }
        self.lock = Some(lock.to_owned());
        Ok(self)
    }

    /// Only what happened to this participant: a plan id, or the id of a build's entry.
    #[must_use]
    pub fn id(mut self, id: &str) -> Self {
        self.id = Some(id.to_owned());
        self
    }

    /// Only what is called so: `acquired`, or `merge:acquired`.
    ///
    /// # Errors
    /// Nothing is ever called so.
    pub fn event(mut self, event: &str) -> Result<Self> {
        let (lock, name) = match event.split_once(':') {
            Some((lock, name)) => (Some(lock), name),
            None => (None, event),
        };
        if !(is_word(name) && lock.is_none_or(is_word)) {
            let hint = "it is one word, such as acquired, reclaimed, blocked, released, reaped-stale, claimed or \
                 exhausted, or with its lock, such as merge:acquired";
            return Err(refusal("--event", event, "an event", hint));
        }
        self.event = Some((lock.map(ToOwned::to_owned), name.to_owned()));
        Ok(self)
    }

    /// Whether the event that is asked for, if one is, is among those that git-locks itself tells of.
    pub fn knows_event(&self) -> bool {
        let known = |wanted: &str| EVENTS.iter().any(|(name, _)| *name == wanted);
        self.event.as_ref().is_none_or(|(_, name)| known(name))
    }

    /// Since when, in seconds since the Unix epoch.
    pub fn start(&self) -> Option<f64> {
        self.since
    }

    /// Whether the lock `lock` is asked for.
    pub fn wants_lock(&self, lock: &str) -> bool {
        self.lock.as_deref().is_none_or(|wanted| wanted == lock)
    }

    /// Whether `entry` is asked for.
    pub fn admits(&self, entry: &Entry) -> bool {
        let late = self.since.is_none_or(|since| entry.time >= since);
        let named = self.event.as_ref().is_none_or(|(lock, name)| {
            *name == entry.event && lock.as_ref().is_none_or(|lock| *lock == entry.lock)
        });
        let concerned = self.id.as_deref().is_none_or(|id| concerns(entry, id));
        late && named && concerned && self.wants_lock(&entry.lock)
    }

    /// Whether the file of the local day `day` may hold something that is asked for, whatever the zone
    /// in which it was that day: none is further than 14 hours from UTC.
    pub fn wants_day(&self, day: NaiveDate) -> bool {
        let end = day
            .and_hms_opt(0, 0, 0)
            .map(|start| seconds(start.and_utc()) + 2.0 * DAY);
        self.since
            .is_none_or(|since| end.is_none_or(|end| end > since))
    }
}

/// A day, in seconds.
const DAY: f64 = 86_400.0;

/// Whether `entry` tells something of `id`: what it did, or that it lost the lock to another.
fn concerns(entry: &Entry, id: &str) -> bool {
    let is = |other: &str| other == id || plan_of(other) == id;
    is(&entry.id) || entry.field("reclaimed_from").is_some_and(is)
}

/// The plan id in the id of a build's entry: what is before its last colon.
fn plan_of(id: &str) -> &str {
    id.rsplit_once(':').map_or(id, |(plan, _)| plan)
}

/// The moment that `text` names at `now`.
fn moment(text: &str, now: f64) -> Option<f64> {
    if let Some(span) = config::duration(text) {
        return Some(now - span.as_secs_f64());
    }
    if let Some(number) = text.strip_prefix('@') {
        return number
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite());
    }
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(seconds(time.to_utc()));
    }
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let day = day.and_then(|day| day.and_hms_opt(0, 0, 0));
    let times = || {
        let mut read = MOMENTS
            .iter()
            .map(|form| NaiveDateTime::parse_from_str(text, form).ok());
        read.find_map(|time| time)
    };
    day.or_else(times).map(|time| seconds(time.and_utc()))
}

fn is_word(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !text.is_empty() && text.chars().all(plain)
}

fn refusal(flag: &str, given: &str, what: &str, hint: &str) -> Error {
    let shown = text::clip(given, 100);
    Error::usage(format!("{flag}: '{shown}' is not {what}")).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    /// 2026-12-01T08:00:00Z.
    const NOW: f64 = 1_796_112_000.0;

    fn entry(lock: &str, event: &str, id: &str) -> Entry {
        Entry {
            time: NOW,
            level: "INFO".into(),
            lock: lock.into(),
            event: event.into(),
            id: id.into(),
            fields: Vec::new(),
        }
    }

    fn none() -> Filter {
        Filter::default()
    }

    #[test]
    fn times_as_people_write_them() {
        for (text, expected) in [
            ("90s", NOW - 90.0),
            ("12h", NOW - 43_200.0),
            (" 7d ", NOW - 604_800.0),
            ("0", NOW),
            ("2026-12-01", NOW - 28_800.0),
            ("2026-12-01T08:00:00Z", NOW),
            ("2026-12-01T08:00:00.25", NOW + 0.25),
            ("2026-12-01 07:59:59", NOW - 1.0),
            ("2026-12-01T08:01", NOW + 60.0),
            ("2026-12-01 08:01", NOW + 60.0),
            ("2026-12-01T09:00:00+01:00", NOW),
            ("@1796112000.5", NOW + 0.5),
        ] {
            let found = none().since(text, NOW).map(|filter| filter.start());
            assert_eq!(found.ok(), Some(Some(expected)), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_a_usage_error_with_what_would_be_one() {
        for text in [
            "",
            "soon",
            "-1h",
            "2026-13-01",
            "2026-12-01T25:00",
            "@",
            "@inf",
            "@NaN",
            "5 m",
        ] {
            let error = none().since(text, NOW).expect_err(text);
            assert_eq!(error.kind(), ErrorKind::Usage);
            assert_eq!(
                error.to_string(),
                format!("--since: '{text}' is not a time")
            );
            let hint = error.hint().unwrap_or_default();
            assert!(
                hint.contains("12h") && hint.contains("2026-11-30T08:00:00Z"),
                "{hint}"
            );
        }
    }

    #[test]
    fn only_known_locks_and_words_are_asked_for() {
        for lock in LOCKS {
            assert!(none().lock(lock).is_ok());
        }
        for lock in ["", "Merge", "repo", "merge "] {
            let error = none().lock(lock).expect_err(lock);
            assert_eq!(error.kind(), ErrorKind::Usage);
            assert_eq!(
                error.hint(),
                Some("it is one of merge, build and rate-window")
            );
        }
        for event in ["acquired", "reaped-stale", "merge:acquired", "other_word2"] {
            assert!(none().event(event).is_ok(), "{event}");
        }
        for event in ["", "a b", ":", "merge:", ":acquired", "a:b:c", "(a)"] {
            assert_eq!(
                none().event(event).expect_err(event).kind(),
                ErrorKind::Usage
            );
        }
    }

    #[test]
    fn each_part_keeps_out_what_is_not_asked_for() {
        let it = entry("merge", "acquired", "alpha");
        assert!(none().admits(&it));
        let since = |time: &str| none().since(time, NOW).expect("a time").admits(&it);
        assert!(since("0s") && since("1s") && !since("@1796112000.5"));
        let lock = |lock| none().lock(lock).expect("a lock").admits(&it);
        assert!(lock("merge") && !lock("build"));
        let event = |event| none().event(event).expect("an event").admits(&it);
        assert!(event("acquired") && event("merge:acquired"));
        assert!(!event("build:acquired") && !event("released"));
        assert!(none().id("alpha").admits(&it) && !none().id("alph").admits(&it));
    }

    #[test]
    fn an_id_is_that_of_a_build_too_and_of_one_who_lost_the_lock() {
        let build = entry("build", "acquired", "alpha:b1");
        assert!(none().id("alpha").admits(&build));
        assert!(none().id("alpha:b1").admits(&build));
        assert!(!none().id("b1").admits(&build) && !none().id("alpha:b2").admits(&build));
        let mut taken = entry("merge", "reclaimed", "beta");
        taken.fields.push(("reclaimed_from".into(), "alpha".into()));
        assert!(none().id("alpha").admits(&taken) && none().id("beta").admits(&taken));
        assert!(!none().id("gamma").admits(&taken));
    }

    #[test]
    fn no_day_is_passed_over_that_may_hold_something() {
        let filter = none().since("@1796112000", NOW).expect("a time");
        let day = |day| NaiveDate::from_ymd_opt(2026, 11, day).expect("a day");
        // The 30th lasts until noon of the next day, UTC, where the sun sets last.
        assert!(filter.wants_day(day(30)));
        assert!(!filter.wants_day(day(29)));
        assert!(none().wants_day(day(1)));
    }
}
