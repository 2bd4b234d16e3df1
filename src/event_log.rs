//! The `[LOCK]` timeline: one append-only file a day, shared with other programs.
//!
//! An entry begins with `[<UTC time>] [INFO|WARNING] [<6 hex of sha256 of the message>] ` and the
//! message `[LOCK] (<lock>:<event>) <id>`, then one `  key: value` line for each field that is
//! not empty. It is written with one `write`, outside every guard. Failing to log never affects
//! a lock.
//!
//! [`entries`], [`filter`] and [`summary`] make of the lines what is asked for: pure; [`reading`] gets them
//! from the files. No lock is decided by what was read; only [`holds`] serves more than those who ask, as
//! the ground of an estimate.

pub mod entries;
pub mod filter;
pub mod holds;
pub mod reading;
pub mod summary;

use std::path::Path;

use chrono::{Local, NaiveDate, SecondsFormat, Utc};

use crate::error::Result;
use crate::store::ground;
use crate::sys::clock;
use crate::sys::file::{self, Modes};
use crate::text;

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The ordinary course of things.
    Info,
    /// Something that a person may want to look into.
    Warning,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Warning => "WARNING",
        }
    }
}

/// Something that happened to a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// How much it matters.
    pub level: Level,
    /// The lock and what happened, as `merge:acquired`.
    pub name: &'static str,
    /// To whom.
    pub id: String,
    /// What else there is to say, in order; empty values are left out.
    pub fields: Vec<(&'static str, String)>,
}

/// Appends `event` to today's file in `logs`.
///
/// # Errors
/// The directory or the file cannot be made or written; the caller decides whether to say so.
pub fn append(logs: &Path, modes: Modes, event: &Event) -> Result<()> {
    ground::prepare(logs, ground::is_in_work_tree(logs), modes)?;
    let now = Utc::now();
    let path = logs.join(file_name(now.with_timezone(&Local).date_naive()));
    if file::instance(&path)?.is_none() {
        file::sweep(logs, clock::wall());
    }
    let entry = entry(event, &now.to_rfc3339_opts(SecondsFormat::Secs, true));
    file::append(&path, entry.as_bytes(), modes)
}

/// The name of the file of the local day `day`.
fn file_name(day: NaiveDate) -> String {
    format!("lock-{}.log", day.format("%Y-%m-%d"))
}

/// The entry of `event` at `time`.
fn entry(event: &Event, time: &str) -> String {
    let message = format!("[LOCK] ({}) {}", event.name, text::log_line(&event.id));
    let hash = text::digest(message.as_bytes(), 3);
    let level = event.level.word();
    let mut entry = format!("[{time}] [{level}] [{hash}] {message}\n");
    for (key, value) in &event.fields {
        if !value.is_empty() {
            for part in ["  ", key, ": ", &text::log_line(value), "\n"] {
                entry.push_str(part);
            }
        }
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_the_message_and_its_fields() {
        let event = Event {
            level: Level::Info,
            name: "merge:acquired",
            id: "alpha".to_owned(),
            fields: vec![
                ("lock_file", "/r/.plan/local/merge.lock".to_owned()),
                ("reclaimed_from", String::new()),
                ("waiting_count", "1".to_owned()),
            ],
        };
        assert_eq!(
            entry(&event, "2026-01-02T03:04:05Z"),
            "[2026-01-02T03:04:05Z] [INFO] [414190] [LOCK] (merge:acquired) alpha\n  \
             lock_file: /r/.plan/local/merge.lock\n  waiting_count: 1\n"
        );
    }

    #[test]
    fn an_entry_says_how_much_it_matters() {
        let event = Event {
            level: Level::Warning,
            name: "build:reaped-stale",
            id: "alpha:1".to_owned(),
            fields: vec![
                ("held", "1300.5".to_owned()),
                ("threshold", "1200".to_owned()),
            ],
        };
        let entry = entry(&event, "T");
        let (before, _) = entry
            .split_once(" [LOCK] (build:reaped-stale) alpha:1\n")
            .expect("named");
        assert!(before.starts_with("[T] [WARNING] ["), "{entry}");
    }

    #[test]
    fn nothing_can_forge_a_second_entry() {
        let event = Event {
            level: Level::Info,
            name: "merge:blocked",
            id: "a\n[x]".to_owned(),
            fields: vec![("holder", "b\r\n[y]\u{1b}[0m".to_owned())],
        };
        let entry = entry(&event, "T");
        assert_eq!(entry.lines().count(), 2, "{entry}");
        assert!(!entry.contains('\u{1b}'));
    }
}
