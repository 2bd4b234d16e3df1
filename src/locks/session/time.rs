//! The times of a lease: seconds since the Unix epoch here, ISO 8601 in the file.

use chrono::{DateTime, SecondsFormat, Utc};

/// The first and the last millisecond that four digits of a year can tell.
const FIRST: f64 = -62_167_219_200_000.0;
const LAST: f64 = 253_402_300_799_999.0;

/// `text` as a time, to the millisecond; `None` where it is none.
pub(super) fn read(text: &str) -> Option<f64> {
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    #[expect(clippy::cast_precision_loss, reason = "exact within 200 000 years")]
    let millis = time.timestamp_millis() as f64;
    // An offset may lead out of the years that can be written again.
    Some(millis.clamp(FIRST, LAST) / 1000.0)
}

/// `time` as it is noted: to the millisecond, within the years that can be written. What is no number
/// is the epoch.
pub(super) fn noted(time: f64) -> f64 {
    millis(time) / 1000.0
}

/// `time` in UTC, with milliseconds and `Z`.
pub(super) fn write(time: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "whole and within range")]
    let millis = millis(time) as i64;
    let time = DateTime::<Utc>::from_timestamp_millis(millis).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Seconds from `since` to `now`; 0 where that is yet to come, or no number.
pub(super) fn elapsed(since: f64, now: f64) -> f64 {
    let seconds = now - since;
    if seconds.is_finite() {
        seconds.max(0.0)
    } else {
        0.0
    }
}

fn millis(time: f64) -> f64 {
    let millis = (time * 1000.0).round();
    if millis.is_nan() {
        return 0.0;
    }
    millis.clamp(FIRST, LAST)
}
