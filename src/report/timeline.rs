//! What `git locks log` says.

use serde::{Serialize, Serializer};

use super::Status;

/// `log`.
#[derive(Debug, Serialize)]
pub struct Timeline {
    /// Always `success`.
    pub status: Status,
    /// The directory of the timeline.
    pub log_dir: String,
    /// How many older entries that were asked for are left out.
    pub omitted: u64,
    /// How many lines made no sense.
    pub skipped_lines: u64,
    /// What has happened, oldest first.
    pub entries: Vec<TimelineEntry>,
}

/// Something that happened to a lock; with `log --follow`, a report of its own.
#[derive(Debug, Serialize)]
pub struct TimelineEntry {
    /// When.
    pub time: f64,
    /// `INFO`, `WARNING`, or another program's word.
    pub level: String,
    /// The lock, as `merge`.
    pub lock: String,
    /// What happened, as `acquired`.
    pub event: String,
    /// To whom.
    pub id: String,
    /// What else was said, as it was read.
    #[serde(serialize_with = "as_map")]
    pub fields: Vec<(String, String)>,
}

/// Names and values as an object, in order; of one name the last value counts.
fn as_map<S: Serializer>(fields: &[(String, String)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(fields.iter().map(|(name, value)| (name, value)))
}

/// `log --report`.
#[derive(Debug, Serialize)]
pub struct TimelineSummary {
    /// Always `success`.
    pub status: Status,
    /// The directory of the timeline.
    pub log_dir: String,
    /// The time from which entries count; null for all that there are.
    pub since: Option<f64>,
    /// How many entries it comes from.
    pub entry_count: u64,
    /// How many lines made no sense.
    pub skipped_lines: u64,
    /// Of each lock, how long was waited and held.
    pub locks: Vec<LockTimes>,
    /// Who lost a lock to another, oldest first; the last hundred.
    pub reclaimed: Vec<ReclaimedFrom>,
}

/// How long one lock was waited for and held, in seconds.
#[derive(Debug, Serialize)]
pub struct LockTimes {
    /// The lock.
    pub lock: &'static str,
    /// How many waits led to a turn.
    pub waits: u64,
    /// Half of them were no longer.
    pub wait_p50: Option<f64>,
    /// 95 of a hundred were no longer.
    pub wait_p95: Option<f64>,
    /// The longest.
    pub wait_longest: Option<f64>,
    /// How many holds ended in a release.
    pub holds: u64,
    /// Half of them were no longer.
    pub hold_p50: Option<f64>,
    /// 95 of a hundred were no longer.
    pub hold_p95: Option<f64>,
    /// The longest.
    pub hold_longest: Option<f64>,
    /// How many waits have not led to a turn.
    pub turnless: u64,
    /// The longest of those, as far as is known.
    pub turnless_longest: Option<f64>,
    /// Whose it is.
    pub turnless_id: Option<String>,
    /// When it began.
    pub turnless_since: Option<f64>,
    /// Whether it goes on.
    pub turnless_waiting: Option<bool>,
    /// How often it was taken from somebody.
    pub reclaims: u64,
}

/// Somebody who lost a lock to another.
#[derive(Debug, Serialize)]
pub struct ReclaimedFrom {
    /// When.
    pub time: f64,
    /// The lock.
    pub lock: &'static str,
    /// Who lost it.
    pub id: String,
    /// To whom, where that is told.
    pub by: Option<String>,
}
