//! The `[LOCK]` timeline: one append-only file a day, shared with other programs.
//!
//! An entry begins with `[<UTC time>] [INFO|WARNING] [<6 hex of sha256 of the message>] ` and the
//! message `[LOCK] (<lock>:<event>) <id>`, then one `  key: value` line for each field that is
//! not empty. It is written with one `write`, outside every guard. Failing to log never affects
//! a lock.

pub mod holds;

use std::path::Path;

use chrono::{Local, SecondsFormat, Utc};

use crate::error::Result;
use crate::store::ground;
use crate::sys::clock;
use crate::sys::file::{self, Modes};
use crate::text;

/// Something that happened to a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
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
    let day = now.with_timezone(&Local).format("%Y-%m-%d");
    let path = logs.join(format!("lock-{day}.log"));
    if file::instance(&path)?.is_none() {
        file::sweep(logs, clock::wall());
    }
    let entry = entry(event, &now.to_rfc3339_opts(SecondsFormat::Secs, true));
    file::append(&path, entry.as_bytes(), modes)
}

/// The entry of `event` at `time`.
fn entry(event: &Event, time: &str) -> String {
    let message = format!("[LOCK] ({}) {}", event.name, text::log_line(&event.id));
    let hash = text::digest(message.as_bytes(), 3);
    let mut entry = format!("[{time}] [INFO] [{hash}] {message}\n");
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
    fn nothing_can_forge_a_second_entry() {
        let event = Event {
            name: "merge:blocked",
            id: "a\n[x]".to_owned(),
            fields: vec![("holder", "b\r\n[y]\u{1b}[0m".to_owned())],
        };
        let entry = entry(&event, "T");
        assert_eq!(entry.lines().count(), 2, "{entry}");
        assert!(!entry.contains('\u{1b}'));
    }
}
