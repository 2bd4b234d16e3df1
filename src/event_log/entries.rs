//! Entries of the timeline, put together again from its lines: pure.
//!
//! What other programs write in the same format counts like ours. A line that is neither the first
//! of an entry nor one of its fields is skipped and counted. An entry is whole once the next one
//! begins or nothing more comes.

use chrono::{DateTime, Utc};

/// How much the fields of one entry may hold, in bytes; what is beyond is skipped.
const ENTRY_LIMIT: usize = 64 << 10;

/// The first line of an entry about a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heading<'a> {
    pub time: DateTime<Utc>,
    pub level: &'a str,
    pub lock: &'a str,
    pub event: &'a str,
    pub id: &'a str,
}

impl<'a> Heading<'a> {
    /// `[<UTC time>] [<level>] [<hash>] [LOCK] (<lock>:<event>) <id>`; `None` for anything else.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let (time, rest) = bracketed(line)?;
        let (level, rest) = bracketed(rest)?;
        let (_hash, rest) = bracketed(rest)?;
        let message = rest.strip_prefix("[LOCK] (")?;
        let (name, id) = message.split_once(") ")?;
        let (lock, event) = name.split_once(':')?;
        let id = id.trim_end();
        let time = DateTime::parse_from_rfc3339(time).ok()?.to_utc();
        (!id.is_empty()).then_some(Self {
            time,
            level,
            lock,
            event,
            id,
        })
    }
}

/// What is in the brackets that `text` begins with, and what follows them and a space.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('[')?.split_once("] ")
}

/// `time` in seconds since the Unix epoch.
pub(super) fn seconds(time: DateTime<Utc>) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "exact for millions of years")]
    let whole = time.timestamp() as f64;
    whole + f64::from(time.timestamp_subsec_nanos()) / 1e9
}

/// Something that happened to a lock, as it was read: nothing in it is fit to be shown as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// When, in seconds since the Unix epoch.
    pub time: f64,
    /// How much it matters: `INFO`, `WARNING`, or what another program calls it.
    pub level: String,
    /// The lock, as `merge`.
    pub lock: String,
    /// What happened, as `acquired`.
    pub event: String,
    /// To whom.
    pub id: String,
    /// What else was said, in order.
    pub fields: Vec<(String, String)>,
}

impl Entry {
    fn begun_by(heading: &Heading<'_>) -> Self {
        Self {
            time: seconds(heading.time),
            level: heading.level.to_owned(),
            lock: heading.lock.to_owned(),
            event: heading.event.to_owned(),
            id: heading.id.to_owned(),
            fields: Vec::new(),
        }
    }

    /// What the field `key` says, if it says something.
    pub fn field(&self, key: &str) -> Option<&str> {
        let mut fields = self.fields.iter().filter(|(name, _)| name == key);
        let (_, value) = fields.next()?;
        (!value.is_empty()).then_some(value)
    }

    /// About how many bytes it takes.
    pub fn size(&self) -> usize {
        let names = self.level.len() + self.lock.len() + self.event.len() + self.id.len();
        size_of::<Self>() + names + self.fields.iter().map(size_of_field).sum::<usize>()
    }
}

fn size_of_field(field: &(String, String)) -> usize {
    size_of::<(String, String)>() + field.0.len() + field.1.len()
}

/// Puts lines together.
#[derive(Debug, Default)]
pub struct Assembler {
    open: Option<Entry>,
    /// What the fields of the open one hold, in bytes.
    held: usize,
    skipped: u64,
}

impl Assembler {
    /// Takes one more line, without its end; gives back the entry before, where that is whole now.
    pub fn line(&mut self, line: &str) -> Option<Entry> {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if let Some(heading) = Heading::parse(line) {
            self.held = 0;
            return self.open.replace(Entry::begun_by(&heading));
        }
        if line.trim().is_empty() || self.take_field(line) {
            return None;
        }
        self.skip(line)
    }

    /// Skips a line, of which `start` is known at least; gives back the entry before, where that is whole
    /// now.
    pub fn skip(&mut self, start: &str) -> Option<Entry> {
        self.skipped += 1;
        // What is indented belongs to what is before it; anything else ends that.
        if start.starts_with("  ") {
            None
        } else {
            self.finish()
        }
    }

    fn take_field(&mut self, line: &str) -> bool {
        let field = line.strip_prefix("  ").and_then(|it| it.split_once(": "));
        let (Some(entry), Some((key, value))) = (&mut self.open, field) else {
            return false;
        };
        if key.is_empty() || key.starts_with(char::is_whitespace) {
            return false;
        }
        let field = (key.to_owned(), value.to_owned());
        self.held += size_of_field(&field);
        let fits = self.held <= ENTRY_LIMIT;
        if fits {
            entry.fields.push(field);
        }
        fits
    }

    /// The open entry: nothing more comes.
    pub fn finish(&mut self) -> Option<Entry> {
        self.open.take()
    }

    /// Whether an entry is begun that more may be said of.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// How many lines made no sense so far.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_log::{self, Event, Level};
    use proptest::prelude::*;

    /// The entries of `text`, and how many lines made no sense.
    fn read(text: &str) -> (Vec<Entry>, u64) {
        let mut assembler = Assembler::default();
        let mut entries: Vec<Entry> = text.lines().filter_map(|it| assembler.line(it)).collect();
        entries.extend(assembler.finish());
        assert!(!assembler.is_open());
        (entries, assembler.skipped())
    }

    const HEAD: &str = "[2026-12-01T08:00:00Z] [INFO] [9accee] [LOCK] (merge:acquired) topic";

    fn head(id: &str) -> String {
        HEAD.replace("topic", id)
    }

    #[test]
    fn an_entry_is_its_first_line_and_its_fields() {
        let (entries, skipped) = read(&format!(
            "{HEAD}\n  lock_file: /a: b\n  waiting_count: 1\n{}\r\n  held:  2 \r\n",
            head("b").replace("INFO", "WARNING").replace("00Z", "00.5Z")
        ));
        let field = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let first = Entry {
            time: 1_796_112_000.0,
            level: "INFO".into(),
            lock: "merge".into(),
            event: "acquired".into(),
            id: "topic".into(),
            fields: vec![field("lock_file", "/a: b"), field("waiting_count", "1")],
        };
        let second = Entry {
            time: 1_796_112_000.5,
            level: "WARNING".into(),
            id: "b".into(),
            fields: vec![field("held", " 2 ")],
            ..first.clone()
        };
        assert_eq!(entries, [first, second]);
        assert_eq!(skipped, 0);
    }

    #[test]
    fn what_makes_no_sense_is_skipped_and_counted() {
        let (entries, skipped) = read(&format!(
            "  lost: 1\nnonsense\n\n{HEAD}\n  no_value\n   : \n  a: 1\n   b: 2\nnonsense\n  c: 3\n{}\n",
            head("b")
        ));
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, ["topic", "b"]);
        assert_eq!(entries[0].fields.len(), 1, "{entries:?}");
        assert_eq!(entries[0].field("a"), Some("1"));
        assert_eq!(skipped, 7);
    }

    #[test]
    fn an_entry_is_given_once_the_next_begins_and_not_before() {
        let mut assembler = Assembler::default();
        assert_eq!(assembler.line(HEAD), None);
        assert!(assembler.is_open());
        assert_eq!(assembler.line("  a: 1"), None);
        let first = assembler.line(&head("b")).expect("whole");
        assert_eq!((first.id.as_str(), first.fields.len()), ("topic", 1));
        assert_eq!(assembler.finish().expect("the second").fields, []);
    }

    #[test]
    fn no_entry_grows_without_end() {
        let text = format!("{HEAD}\n{}", "  key: value\n".repeat(100_000));
        let (entries, skipped) = read(&text);
        assert_eq!(entries.len(), 1);
        assert!(entries[0].size() < 2 * ENTRY_LIMIT);
        assert!(skipped > 90_000);
    }

    #[test]
    fn an_empty_field_says_nothing() {
        let (entries, _) = read(&format!("{HEAD}\n  a: \n  b: x\n"));
        assert_eq!(entries[0].field("a"), None);
        assert_eq!(entries[0].field("b"), Some("x"));
        assert_eq!(entries[0].field("c"), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            id in "[a-z][a-z0-9:-]{0,20}",
            values in prop::collection::vec("[ -~\u{e9}]{1,20}", 0..5),
        ) {
            let event = Event {
                level: Level::Warning,
                name: "merge:acquired",
                id,
                fields: values.into_iter().map(|value| ("key", value)).collect(),
            };
            let (entries, skipped) = read(&event_log::entry(&event, "2026-12-01T08:00:00Z"));
            prop_assert_eq!(skipped, 0);
            prop_assert_eq!(entries.len(), 1);
            prop_assert_eq!(&entries[0].id, &event.id);
            let read: Vec<&str> = entries[0].fields.iter().map(|(_, value)| value.as_str()).collect();
            let written: Vec<&str> = event.fields.iter().map(|(_, value)| value.as_str()).collect();
            prop_assert_eq!(read, written);
        }

        #[test]
        fn any_text_can_be_read(text in any::<String>(), lines in prop::collection::vec(
            prop_oneof!["  [a-z: ]{0,6}", "[a-z\\[]{0,6}", Just(HEAD.to_owned())], 0..20)) {
            let text = text + "\n" + &lines.join("\n");
            let (entries, skipped) = read(&text);
            let fields: usize = entries.iter().map(|entry| entry.fields.len()).sum();
            let whole = entries.len() + fields + usize::try_from(skipped).unwrap();
            let blank = text.lines().filter(|line| line.trim().is_empty()).count();
            prop_assert_eq!(whole + blank, text.lines().count());
        }
    }
}
