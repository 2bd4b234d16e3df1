//! The merge lock's files, and how they are read.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::Result;
use crate::locks::merge::{Holder, MergeState, Records};
use crate::queue::Entry;
use crate::store::document::{self, Document};
use crate::store::witness::{self, Owner, Stand};
use crate::store::{ground, lock_file, records};
use crate::sys::clock;
use crate::sys::file::{self, Instance, Modes};

/// An empty lock file is a lock being born until it is older than this, in seconds, …
pub const BIRTH_AGE: f64 = 2.0;
/// … and was seen unchanged for this long.
const BIRTH_WATCH: Duration = Duration::from_secs(2);
/// How often a reader looks again when the lock file changed under its eyes.
const READ_TRIES: usize = 20;

/// The files of one repository's merge lock.
#[derive(Clone)]
pub struct MergeStore<'a> {
    pub(super) base: &'a Path,
    pub(super) ours: &'a Path,
    pub(super) stand: Stand<'a>,
    pub(super) modes: Modes,
    /// The lock file.
    pub lock_path: PathBuf,
    /// The file that other programs share: the queue, and the rate windows.
    pub queue_path: PathBuf,
    pub(super) records_path: PathBuf,
    pub(super) guard_path: PathBuf,
    /// Whether the caller wants to stop waiting for the guard.
    pub(super) interrupted: Option<&'a dyn Fn() -> bool>,
}

/// Which files a state was read from: the lock file, the queue, our records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp([Option<Instance>; 3]);

impl Stamp {
    /// Whether there is a lock file.
    pub fn has_lock(&self) -> bool {
        self.0[0].is_some()
    }
}

/// How a transaction treats failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Everything must be written.
    Ordinary,
    /// A full disk must not keep the lock from being removed.
    Release,
}

/// A loaded state, and what its files were.
pub(super) struct Snapshot {
    pub(super) state: MergeState,
    pub(super) lock: Option<lock_file::Read>,
    pub(super) queue: Document,
    pub(super) records_corrupt: bool,
}

impl<'a> MergeStore<'a> {
    /// The store of the repository whose state lives in `base` and `ours`.
    pub fn new(base: &'a Path, ours: &'a Path, plan_dir: &'a OsStr, modes: Modes) -> Self {
        Self {
            base,
            ours,
            stand: Stand { base, plan_dir },
            modes,
            lock_path: base.join("merge.lock"),
            queue_path: base.join("merge-queue.json"),
            records_path: ours.join("merge.json"),
            guard_path: ours.join("merge.guard"),
            interrupted: None,
        }
    }

    /// The same store, whose guard is not waited for any longer once `interrupted` says so.
    #[must_use]
    pub fn interruptible(mut self, interrupted: &'a dyn Fn() -> bool) -> Self {
        self.interrupted = Some(interrupted);
        self
    }

    /// Which files the state stands in now: where none of them changed, the state did not.
    pub fn stamp(&self) -> Result<Stamp> {
        Ok(Stamp([
            file::instance(&self.lock_path)?,
            file::instance(&self.queue_path)?,
            file::instance(&self.records_path)?,
        ]))
    }

    /// Who the lock file names, whoever that is and whatever became of it.
    pub fn holder(&self) -> Result<Option<Holder>> {
        let read = lock_file::read(&self.lock_path)?;
        Ok(read.map(|read| read.lock.holder))
    }

    /// Reads everything without the guard, writing nothing: a decision on it is a guess.
    pub fn peek_all(&self) -> Result<MergeState> {
        let queue = self.peek_document()?;
        let mut state = self.peek()?;
        state.queue = queue_in(&queue);
        Ok(state)
    }

    /// Reads lock and records without the guard, writing nothing. The queue is left empty.
    pub fn peek(&self) -> Result<MergeState> {
        let mut tries = 0;
        loop {
            let before = lock_file::read(&self.lock_path)?;
            if before.is_none() {
                ground::require_reachable(self.base)?;
            }
            let records = self.load_records(before.as_ref())?;
            tries += 1;
            let settled = match &before {
                Some(read) => lock_file::is_unchanged(&self.lock_path, read)?,
                None => file::instance(&self.lock_path)?.is_none(),
            };
            if settled || tries == READ_TRIES {
                return Ok(self.assemble(before.as_ref(), Vec::new(), records.records));
            }
        }
    }

    /// Reads the shared document without the guard.
    pub fn peek_document(&self) -> Result<Document> {
        ground::require_reachable(self.base)?;
        Document::load(&self.queue_path)
    }

    pub(super) fn load_records(&self, lock: Option<&lock_file::Read>) -> Result<records::Loaded> {
        // Only worth a look when the records are missing.
        let used_before = lock.is_some() || file::instance(&self.queue_path)?.is_some();
        let now = clock::wall();
        let mut loaded = records::load(&self.records_path, used_before, now)?;
        if loaded.missing && lock.is_some_and(|read| self.is_witnessed(read)) {
            // The holder was recorded once, and is no plan to be judged by.
            loaded.records.lost_at = Some(now);
        }
        Ok(loaded)
    }

    /// Whether a witness of ours stands for whoever the lock file names.
    fn is_witnessed(&self, read: &lock_file::Read) -> bool {
        let id = read.lock.holder.id();
        id.is_some_and(|id| witness::is_kept(self.stand, id, Owner::Merge))
    }

    pub(super) fn snapshot(&self) -> Result<Snapshot> {
        let lock = self.settled_lock()?;
        let queue = Document::load(&self.queue_path)?;
        let loaded = self.load_records(lock.as_ref())?;
        let entries = queue_in(&queue);
        Ok(Snapshot {
            state: self.assemble(lock.as_ref(), entries, loaded.records),
            lock,
            queue,
            records_corrupt: loaded.corrupt,
        })
    }

    fn assemble(
        &self,
        lock: Option<&lock_file::Read>,
        queue: Vec<Entry>,
        records: Records,
    ) -> MergeState {
        let cut_off = records.participants.iter().filter(|(_, record)| {
            let temp = record
                .grant
                .as_ref()
                .and_then(|grant| grant.temp.as_deref());
            temp.is_some_and(|name| {
                !name.contains('/') && self.base.join(name).symlink_metadata().is_ok()
            })
        });
        let cut_off = cut_off.map(|(id, _)| id.clone());
        let mut state = MergeState {
            cut_off: cut_off.collect(),
            lock: lock.map(|read| read.lock.clone()),
            queue,
            records,
        };
        // A grant whose lock file is there was given, whatever name is left over beside it.
        if let Some(holder) = state
            .lock
            .as_ref()
            .and_then(|lock| lock.holder.id())
            .cloned()
            && state.holder_record().is_some()
        {
            state.cut_off.retain(|id| id != holder.as_str());
        }
        state
    }

    /// The lock file; an empty one that nobody writes to, as the malformed holder that it is.
    fn settled_lock(&self) -> Result<Option<lock_file::Read>> {
        let start = Instant::now();
        let mut backoff =
            clock::Backoff::new(Duration::from_millis(20), Duration::from_millis(100));
        let Some(mut read) = lock_file::read(&self.lock_path)? else {
            return Ok(None);
        };
        while read.lock.holder == Holder::Unborn
            && (clock::wall() - read.lock.mtime()).abs() > BIRTH_AGE
        {
            if !lock_file::is_unchanged(&self.lock_path, &read)? {
                return lock_file::read(&self.lock_path);
            }
            if !backoff.pause_until(start + BIRTH_WATCH) {
                read.lock.holder = Holder::Malformed(String::new());
            }
        }
        Ok(Some(read))
    }
}

/// What matters of an entry; of other fields only that they are there.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    plan_id: Option<&'a RawValue>,
    #[serde(borrow)]
    ts: Option<&'a RawValue>,
}

/// The queue in the shared document.
pub fn queue_in(document: &Document) -> Vec<Entry> {
    document.get("waiting").map(parse_queue).unwrap_or_default()
}

/// The entries of the queue: one without a string id is dropped, a `ts` that is no number is 0.
fn parse_queue(raw: &str) -> Vec<Entry> {
    let items = document::array(raw).unwrap_or_default();
    items
        .into_iter()
        .filter_map(|raw| {
            let fields: Fields<'_> = serde_json::from_str(raw).ok()?;
            let plan_id = serde_json::from_str(fields.plan_id?.get()).ok()?;
            let ts = fields.ts.and_then(|ts| serde_json::from_str(ts.get()).ok());
            Some(Entry {
                plan_id,
                ts: ts.unwrap_or(0.0),
                raw: raw.to_owned(),
            })
        })
        .collect()
}

/// The text of the queue.
pub(super) fn write_queue(queue: &[Entry]) -> String {
    document::lines(queue.iter().map(|entry| entry.raw.as_str()))
}
