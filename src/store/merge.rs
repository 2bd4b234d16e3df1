//! The merge lock on disk: loads a [`MergeState`], gathers the verdicts, runs a decision.
//!
//! **A transaction**, all of it inside the guard: load, judge, decide, commit
//! (`store::commit`). Verdicts are gathered inside: one from before would let two in.
//! When another program was quicker, or took our guard file away, everything starts over from a
//! fresh snapshot, so a decision may run several times; only the last run counts.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::identity::PlanId;
use crate::lease::Now;
use crate::liveness::{Terms, World};
use crate::locks::merge::{Holder, MergeState, Records, Verdicts};
use crate::queue::Entry;
use crate::report::Note;
use crate::store::commit::{Committing, Stop, nobody_left};
use crate::store::document::{self, Document};
use crate::store::guard::{Gate, Guard};
use crate::store::witness::Stand;
use crate::store::{ground, lock_file, records, witness};
use crate::sys::clock;
use crate::sys::file::{self, Modes};
use crate::text;

/// An empty lock file is a lock being born until it is older than this, in seconds, …
const BIRTH_AGE: f64 = 2.0;
/// … and was seen unchanged for this long.
const BIRTH_WATCH: Duration = Duration::from_secs(2);
/// How often a reader looks again when the lock file changed under its eyes.
const READ_TRIES: usize = 20;

/// The files of one repository's merge lock.
#[derive(Clone, Debug)]
pub struct MergeStore<'a> {
    pub(super) base: &'a Path,
    ours: &'a Path,
    pub(super) stand: Stand<'a>,
    pub(super) modes: Modes,
    /// The lock file.
    pub lock_path: PathBuf,
    pub(super) queue_path: PathBuf,
    pub(super) records_path: PathBuf,
    guard_path: PathBuf,
}

/// How a transaction treats failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Everything must be written.
    Ordinary,
    /// A full disk must not keep the lock from being removed.
    Release,
}

/// What a transaction came to.
#[derive(Debug)]
pub struct Committed<T> {
    /// What the decision said.
    pub outcome: T,
    /// The state it led to.
    pub state: MergeState,
    /// The verdicts it relied on.
    pub verdicts: Verdicts,
    /// Those that were recorded and take part no longer.
    pub departed: Vec<String>,
    /// What a person should know.
    pub notes: Vec<Note>,
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
        }
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

    /// Reads our records without the guard.
    pub fn peek_records(&self) -> Result<Records> {
        Ok(records::load(&self.records_path, true, clock::wall())?.records)
    }

    /// Runs one decision for `caller` to its commit. `decide` may run several times, each on a
    /// fresh snapshot; only the last run counts.
    ///
    /// # Errors
    /// `Timeout` when the guard cannot be had within `patience`; or a system call failed, and
    /// nothing is lost.
    pub fn transact<T>(
        &self,
        caller: &PlanId,
        purpose: Purpose,
        patience: Duration,
        terms: &dyn Fn() -> Terms,
        world: &dyn World,
        mut decide: impl FnMut(&MergeState, &Verdicts, &Now) -> (MergeState, T),
    ) -> Result<Committed<T>> {
        let deadline = Instant::now() + patience;
        let mut noted = None;
        loop {
            let guard = self.enter(purpose, deadline)?;
            let mut snapshot = self.snapshot()?;
            if noted.is_some() && snapshot.state.records.ending == noted {
                // This very call began that release, and is about to report it.
                snapshot.state.records.ending = None;
            }
            // The time to get here counts for nobody: clocks are read inside the guard.
            let terms = &terms();
            let verdicts = snapshot.state.judge(Some(caller), terms, world);
            let (next, outcome) = decide(&snapshot.state, &verdicts, &terms.now);
            let mut commit = Committed {
                outcome,
                state: next,
                verdicts,
                departed: Vec::new(),
                notes: Vec::new(),
            };
            let mut committing = Committing::new(self, &guard, &snapshot, purpose);
            match committing.run(&mut commit.state, caller, terms, world, &mut commit.notes) {
                Ok(()) => {
                    self.sweep();
                    // Nobody waits while a long queue is taken apart.
                    drop(guard);
                    commit.departed = departed(&snapshot.state, &commit.state);
                    return Ok(commit);
                }
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::StartOver) => {
                    noted = committing.noted.or(noted);
                    drop(guard);
                }
            }
            if Instant::now() >= deadline {
                return Err(Error::new(
                    crate::error::ErrorKind::Timeout,
                    format!(
                        "timed out: {} changes faster than it can be read",
                        text::path(&self.lock_path)
                    ),
                )
                .with_hint(
                    "another program keeps creating and removing it; look at what else runs here",
                ));
            }
        }
    }

    /// Changes the shared document and our records under the guard, leaving the mutex alone.
    pub fn edit_document<T>(
        &self,
        patience: Duration,
        mut edit: impl FnMut(&mut Document, &mut Records) -> T,
    ) -> Result<(T, Vec<Note>)> {
        let deadline = Instant::now() + patience;
        loop {
            let guard = self.enter(Purpose::Ordinary, deadline)?;
            let before = Document::load(&self.queue_path)?;
            let loaded = self.load_records(lock_file::read(&self.lock_path)?.as_ref())?;
            let (mut document, mut records) = (before.clone(), loaded.records.clone());
            let outcome = edit(&mut document, &mut records);
            let mut notes = Vec::new();
            if records != loaded.records {
                let staged = records::stage(&records, &self.records_path, self.modes)?;
                if !guard.is_intact()? {
                    continue;
                }
                let aside = document::put(staged, &self.records_path, loaded.corrupt)?;
                notes.extend(aside.map(|aside| set_aside_note(&self.records_path, &aside)));
            }
            if document != before {
                let grows = document.to_text().len() > before.to_text().len();
                let staged = document.stage(&self.queue_path, grows, self.modes)?;
                if !guard.is_intact()? {
                    continue;
                }
                let aside = document::put(staged, &self.queue_path, document.corrupt)?;
                notes.extend(aside.map(|aside| set_aside_note(&self.queue_path, &aside)));
            }
            return Ok((outcome, notes));
        }
    }

    fn enter(&self, purpose: Purpose, deadline: Instant) -> Result<Guard> {
        file::make_dirs(self.ours, self.modes)?;
        let gate = Gate {
            kernel: &self.guard_path,
            state: &self.queue_path,
            modes: self.modes,
            deadline,
            tolerate_full_disk: purpose == Purpose::Release,
        };
        Guard::enter(&gate, || {
            // In the root of a checkout it would ignore all that is the user's.
            let ignore = ground::is_in_work_tree(self.base) && !ground::is_checkout(self.base);
            ground::prepare(self.base, ignore, self.modes)
        })
    }

    /// Removes what crashes left. Only after a commit: until then a temporary file may tell that
    /// a grant was cut off.
    fn sweep(&self) {
        let now = clock::wall();
        file::sweep(self.base, now);
        file::sweep(self.ours, now);
    }

    fn load_records(&self, lock: Option<&lock_file::Read>) -> Result<records::Loaded> {
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
        id.is_some_and(|id| witness::is_witness(&self.stand.plan(id)).unwrap_or(false))
    }

    fn snapshot(&self) -> Result<Snapshot> {
        let lock = self.settled_lock()?;
        let queue = Document::load(&self.queue_path)?;
        let loaded = self.load_records(lock.as_ref())?;
        let entries = queue.get("waiting").map(parse_queue).unwrap_or_default();
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

/// Those recorded in `before` that neither hold nor wait in `after`.
fn departed(before: &MergeState, after: &MergeState) -> Vec<String> {
    if nobody_left(before, after) {
        return Vec::new();
    }
    let mut there: HashSet<&str> = after
        .queue
        .iter()
        .map(|entry| entry.plan_id.as_str())
        .collect();
    there.extend(
        after
            .lock
            .as_ref()
            .and_then(|lock| lock.holder.id())
            .map(PlanId::as_str),
    );
    let recorded = before.records.participants.keys();
    recorded
        .filter(|id| !there.contains(id.as_str()))
        .cloned()
        .collect()
}

pub(super) fn set_aside_note(path: &Path, aside: &Path) -> Note {
    Note::Warning(format!(
        "{} could not be read and was kept as {}",
        text::path(path),
        text::path(aside)
    ))
}

/// What matters of an entry; of other fields only that they are there.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    plan_id: Option<&'a RawValue>,
    #[serde(borrow)]
    ts: Option<&'a RawValue>,
}

/// The entries of the queue: one without a string id is dropped, a `ts` that is no number is 0.
fn parse_queue(raw: &str) -> Vec<Entry> {
    let items = document::array(raw).unwrap_or_default();
    items
        .into_iter()
        .filter_map(|raw| {
            let fields: Fields<'_> = serde_json::from_str(&raw).ok()?;
            let plan_id = serde_json::from_str(fields.plan_id?.get()).ok()?;
            let ts = fields.ts.and_then(|ts| serde_json::from_str(ts.get()).ok());
            Some(Entry {
                plan_id,
                ts: ts.unwrap_or(0.0),
                raw,
            })
        })
        .collect()
}

pub(super) fn write_queue(queue: &[Entry]) -> String {
    let mut text = String::from("[");
    for (index, entry) in queue.iter().enumerate() {
        text.push_str(if index == 0 { "\n    " } else { ",\n    " });
        text.push_str(&entry.raw);
    }
    text.push_str(if queue.is_empty() { "]" } else { "\n  ]" });
    text
}
