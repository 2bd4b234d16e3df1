//! The file of the build queue, read and written: what we do not change is kept to the byte.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::Result;
use crate::lease::Moment;
use crate::locks::build::{BuildState, Entry, Logged, Record, Recorded};
use crate::participant::Participant;
use crate::store::document::{self, Document};
use crate::sys::host::Host;

/// The format of our records that we read and write.
const FORMAT: u64 = 1;

/// The key of our record inside an entry.
const RECORD: &str = "git_locks";
const ACTIVE_SINCE: &str = "active_since";

/// The first part of a queue, which is enough to show it.
#[derive(Clone, Debug)]
pub struct Ahead {
    /// Those who have a slot, and the first of those who wait; nothing of the log.
    pub state: BuildState,
    /// How many wait in all.
    pub waiting: usize,
    /// Whether the file holds something that makes no sense and counts as empty.
    pub corrupt: bool,
}

impl Ahead {
    /// Reads the file at `path`, and of those who wait the first `limit`. An entry that is not read takes
    /// a fifth of the time of one that is.
    pub(super) fn load(path: &Path, limit: usize) -> Result<Self> {
        let bytes = document::read(path)?;
        Ok(Self::parse(&bytes, limit))
    }

    fn parse(bytes: &[u8], limit: usize) -> Self {
        if let Some(Lists { active, waiting }) = Lists::plain(bytes) {
            let active = active.into_iter().map(RawValue::get);
            let waiting = waiting.into_iter().map(RawValue::get);
            return Self::of(active, waiting, limit);
        }
        let document = Document::parse(bytes);
        let items = |key| items(&document, key);
        Self {
            corrupt: document.corrupt,
            ..Self::of(items("active"), items("waiting"), limit)
        }
    }

    fn of<'a>(
        active: impl Iterator<Item = &'a str>,
        waiting: impl Iterator<Item = &'a str>,
        limit: usize,
    ) -> Self {
        let mut first: Vec<Entry> = Vec::new();
        let mut rest = 0;
        for raw in waiting {
            if first.len() < limit {
                first.extend(entry(raw));
            } else {
                rest += usize::from(is_entry(raw));
            }
        }
        Self {
            waiting: first.len() + rest,
            state: BuildState {
                active: active.filter_map(entry).collect(),
                waiting: first,
                run_log: Vec::new(),
            },
            corrupt: false,
        }
    }
}

/// The lists of those who take part, where they stand in the file: to copy a long one takes longer than to
/// read it.
#[derive(Deserialize)]
struct Lists<'a> {
    #[serde(borrow, default)]
    active: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    waiting: Vec<&'a RawValue>,
}

impl<'a> Lists<'a> {
    /// Those of a file in which nothing is odd: an object, each list a list, and there once at most.
    fn plain(bytes: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        // A list of lists would pass for one.
        let is_object = text.trim_ascii_start().starts_with('{');
        is_object.then(|| serde_json::from_str(text).ok())?
    }
}

/// The items of the list under `key`.
fn items<'a>(document: &'a Document, key: &str) -> impl Iterator<Item = &'a str> {
    let array = document.get(key).and_then(document::array);
    array.unwrap_or_default().into_iter()
}

/// A loaded state, and the document it came from.
pub(super) struct Snapshot {
    pub(super) state: BuildState,
    pub(super) document: Document,
}

impl Snapshot {
    /// Reads the file at `path`.
    pub(super) fn load(path: &Path) -> Result<Self> {
        Ok(Self::of(Document::load(path)?))
    }

    fn of(document: Document) -> Self {
        let items = |key| items(&document, key);
        let state = BuildState {
            active: items("active").filter_map(entry).collect(),
            waiting: items("waiting").filter_map(entry).collect(),
            run_log: items("run_log").map(logged).collect(),
        };
        Self { state, document }
    }

    /// The document that says what `next` does. Fills in, at `now` in seconds since the epoch, what was
    /// missing, and how each entry stands in the file from now on.
    pub(super) fn written(&self, next: &mut BuildState, now: f64) -> Document {
        let before = self.state.active.iter().chain(&self.state.waiting);
        let known: HashMap<*const u8, &Entry> =
            before.map(|entry| (place(&entry.raw), entry)).collect();
        for entry in &mut next.active {
            entry.active_since.get_or_insert(now);
        }
        for entry in next.active.iter_mut().chain(&mut next.waiting) {
            if let Some(text) = rewritten(entry, known.get(&place(&entry.raw)).copied()) {
                entry.raw = text.into();
            }
        }
        for line in &mut next.run_log {
            if line.raw.is_empty() {
                line.raw = log_line(line).into();
            }
        }
        let mut document = self.document.clone();
        let entries = |list: &[Entry]| document::lines(list.iter().map(|entry| &*entry.raw));
        let log = document::lines(next.run_log.iter().map(|line| &*line.raw));
        let lists = [
            (
                "active",
                entries(&next.active),
                self.state.active == next.active,
            ),
            (
                "waiting",
                entries(&next.waiting),
                self.state.waiting == next.waiting,
            ),
            ("run_log", log, self.state.run_log == next.run_log),
        ];
        for (key, text, same) in lists {
            if !same || document.get(key).is_none() {
                document.set(key, text);
            }
        }
        document
    }
}

/// Where a text is in memory: tells what is unchanged without reading it.
fn place(text: &Arc<str>) -> *const u8 {
    Arc::as_ptr(text).cast()
}

/// What matters of an entry, as text.
#[derive(Default, Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    plan_id: Option<&'a RawValue>,
    #[serde(borrow)]
    ts: Option<&'a RawValue>,
    #[serde(borrow)]
    project_root: Option<&'a RawValue>,
    #[serde(borrow)]
    active_since: Option<&'a RawValue>,
    #[serde(borrow)]
    git_locks: Option<&'a RawValue>,
}

/// What `read` makes of the fields of the object in `raw`; of several of one name the last counts.
fn with_fields<T>(raw: &str, read: impl FnOnce(&Fields<'_>) -> T) -> T {
    if let Ok(fields) = serde_json::from_str(raw) {
        return read(&fields);
    }
    // No object, or one that says something twice.
    let once = Document::of_value(raw).to_value();
    read(&serde_json::from_str(&once).unwrap_or_default())
}

/// An entry of the file; none where it has no string id.
fn entry(raw: &str) -> Option<Entry> {
    let entry = with_fields(raw, |fields| {
        Some(Entry {
            id: read(fields.id)?,
            ts: read(fields.ts).unwrap_or(0.0),
            project_root: read(fields.project_root),
            active_since: read(fields.active_since),
            record: fields
                .git_locks
                .map_or(Recorded::Not, |record| recorded(record.get())),
            raw: Arc::from(""),
        })
    })?;
    Some(Entry {
        raw: raw.into(),
        ..entry
    })
}

/// Whether that is an entry of the file.
fn is_entry(raw: &str) -> bool {
    #[derive(Deserialize)]
    struct Id {
        id: String,
    }
    let id = serde_json::from_str::<Id>(raw);
    // What is odd is read closely.
    id.is_ok_and(|it| !it.id.is_empty()) || entry(raw).is_some()
}

fn read<T: for<'de> Deserialize<'de>>(value: Option<&RawValue>) -> Option<T> {
    parsed(value?.get())
}

fn parsed<T: for<'de> Deserialize<'de>>(raw: &str) -> Option<T> {
    serde_json::from_str(raw).ok()
}

/// A line of the log, whatever it is.
fn logged(raw: &str) -> Logged {
    let line = with_fields(raw, |fields| Logged {
        id: read(fields.id).unwrap_or_default(),
        plan_id: read(fields.plan_id).unwrap_or_default(),
        ts: read(fields.ts).unwrap_or(0.0),
        raw: Arc::from(""),
    });
    Logged {
        raw: raw.into(),
        ..line
    }
}

fn log_line(line: &Logged) -> String {
    let mut fields = Document::default();
    fields.set("id", text(&line.id));
    fields.set("plan_id", text(&line.plan_id));
    fields.set("ts", number(line.ts));
    fields.to_value()
}

/// Our record, as it stands inside an entry: its host inline, and beside it what only builds have.
#[derive(Serialize)]
struct Stored<'a> {
    format: u64,
    #[serde(flatten)]
    who: Participant<&'a Host>,
    #[serde(flatten)]
    build: Build,
}

/// What only builds have. Read apart from the rest: taking a flattened text apart costs twice as much.
#[derive(Serialize, Deserialize)]
struct Build {
    /// Written by what is around it.
    #[serde(skip_serializing)]
    format: u64,
    slots: usize,
    limit: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slot: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<Moment>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    claimed: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    passed: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    told: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

fn recorded(raw: &str) -> Recorded {
    if raw == "null" {
        return Recorded::Not;
    }
    let build = parsed::<Build>(raw).filter(|build| build.format <= FORMAT);
    let parts = build.and_then(|build| Some((parsed::<Participant<Host>>(raw)?, build)));
    let Some((who, build)) = parts else {
        return Recorded::Unreadable;
    };
    Recorded::As(Arc::new(Record {
        who: shared(who),
        slots: build.slots,
        limit: build.limit,
        slot: build.slot,
        since: build.since,
        claimed: build.claimed,
        passed: build.passed,
        told: build.told,
        command: build.command,
    }))
}

fn shared(who: Participant<Host>) -> Participant {
    let host = Arc::new(who.host.clone());
    who.with_host(host)
}

fn record_text(record: &Record) -> Option<String> {
    let host: &Host = &record.who.host;
    let stored = Stored {
        format: FORMAT,
        who: record.who.clone().with_host(host),
        build: Build {
            format: FORMAT,
            slots: record.slots,
            limit: record.limit,
            slot: record.slot,
            since: record.since,
            claimed: record.claimed,
            passed: record.passed,
            told: record.told,
            command: record.command.clone(),
        },
    };
    serde_json::to_string(&stored).ok()
}

/// How `entry` stands in the file where that changes; `was` is what its text says, if that is known.
fn rewritten(entry: &Entry, was: Option<&Entry>) -> Option<String> {
    // Unknown is what was taken from another state than this one.
    let read = was.is_none().then(|| self::entry(&entry.raw));
    let was = was.or(read.as_ref().and_then(Option::as_ref));
    if was == Some(entry) {
        return None;
    }
    let mut fields = Document::of_value(&entry.raw);
    if was.is_none_or(|was| was.id != entry.id) {
        fields.set("id", text(&entry.id));
        fields.set("plan_id", text(entry.plan_id()));
    }
    if was.is_none_or(|was| was.ts.to_bits() != entry.ts.to_bits()) {
        fields.set("ts", number(entry.ts));
    }
    if was.is_none_or(|was| was.project_root != entry.project_root) {
        let root = entry.project_root.as_deref();
        put(&mut fields, "project_root", root.map(text));
    }
    if was.is_none_or(|was| was.active_since != entry.active_since) {
        put(&mut fields, ACTIVE_SINCE, entry.active_since.map(number));
    }
    if was.is_none_or(|was| was.record != entry.record) {
        match &entry.record {
            Recorded::As(record) => put(&mut fields, RECORD, record_text(record)),
            Recorded::Not => put(&mut fields, RECORD, None),
            // As it is.
            Recorded::Unreadable => {}
        }
    }
    Some(fields.to_value())
}

/// Gives `key` a value in its place, our record being the last, or takes it away.
fn put(fields: &mut Document, key: &str, value: Option<String>) {
    match value {
        Some(value) => fields.set_before(RECORD, key, value),
        None => fields.remove(key),
    }
}

fn text(value: &str) -> String {
    Value::from(value).to_string()
}

fn number(value: f64) -> String {
    Value::from(value).to_string()
}

#[cfg(test)]
mod tests;
