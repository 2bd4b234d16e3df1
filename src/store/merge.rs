//! The merge lock on disk: loads a [`MergeState`], gathers the verdicts, runs a decision.
//!
//! **A transaction**, all of it inside the guard: load, judge, decide, commit
//! (`store::commit`). Verdicts are gathered inside: one from before would let two in.
//! When another program was quicker, or took our guard file away, everything starts over from a
//! fresh snapshot, so a decision may run several times; only the last run counts.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::identity::PlanId;
use crate::lease::Now;
use crate::liveness::{Terms, World};
use crate::locks::asking::Caller;
use crate::locks::merge::{MergeState, Records, Verdicts};
use crate::queue::Entry;
use crate::report::Note;
use crate::store::commit::{Committing, Stop};
use crate::store::document::{self, Document};
use crate::store::guard::{self, Gate, Guard};
use crate::store::transaction::{self, require_time, set_aside_note};
use crate::store::{ground, lock_file, presence, records};
use crate::sys::clock;
use crate::sys::file;

pub use crate::store::reading::{BIRTH_AGE, MergeStore, Purpose, Stamp, queue_in};

/// How many of those that wait are tried until one is found that can be woken.
const POKED: usize = 32;

/// What a transaction came to; the ids of those that take part no longer.
pub type Committed<T> = transaction::Committed<T, MergeState, String>;

impl MergeStore<'_> {
    /// Runs one decision for `caller` to its commit. `decide` may run several times, each on a
    /// fresh snapshot; only the last run counts.
    ///
    /// # Errors
    /// `Timeout` when the guard cannot be had within `patience`; or a system call failed, and
    /// nothing is lost.
    pub fn transact<T>(
        &self,
        caller: &Caller,
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
                departed: Vec::new(),
                notes: Vec::new(),
            };
            let mut committing = Committing::new(self, &guard, &snapshot, purpose);
            match committing.run(
                &mut commit.state,
                &caller.id,
                terms,
                world,
                &mut commit.notes,
            ) {
                Ok(departed) => {
                    commit.departed = departed;
                    // Nobody waits while we tidy up, or take a long queue apart.
                    drop(guard);
                    self.poke_next(&caller.id, &snapshot.state, &commit.state);
                    self.sweep(&commit.state.records);
                    return Ok(commit);
                }
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::StartOver) => {
                    noted = committing.noted.or(noted);
                    drop(guard);
                }
            }
            require_time(deadline, &self.lock_path)?;
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
                    require_time(deadline, &self.lock_path)?;
                    continue;
                }
                let aside = document::put(staged, &self.records_path, loaded.corrupt)?;
                notes.extend(aside.map(|aside| set_aside_note(&self.records_path, &aside)));
            }
            if document != before {
                let grows = document.to_text().len() > before.to_text().len();
                let staged = document.stage(&self.queue_path, grows, self.modes)?;
                if !guard.is_intact()? {
                    require_time(deadline, &self.lock_path)?;
                    continue;
                }
                let aside = document::put(staged, &self.queue_path, document.corrupt)?;
                notes.extend(aside.map(|aside| set_aside_note(&self.queue_path, &aside)));
            }
            return Ok((outcome, notes));
        }
    }

    /// Runs `tidy` inside the guard, where nobody else changes anything, on the state, which it must leave
    /// as it is; on `None` where it is not known of everybody that takes part. That the guard was entered
    /// has removed a guard file that was left.
    ///
    /// # Errors
    /// As of [`Self::transact`].
    pub fn inside<T>(
        &self,
        patience: Duration,
        tidy: impl FnOnce(Option<&MergeState>) -> T,
    ) -> Result<T> {
        let _guard = self.enter(Purpose::Ordinary, Instant::now() + patience)?;
        let state = self.snapshot()?.state;
        let known = self.knows_all(&state)?;
        Ok(tidy(known.then_some(&state)))
    }

    /// Whether everybody who takes part is known, as `state` was read: not where our records are lost.
    ///
    /// # Errors
    /// The records cannot be looked at.
    pub fn knows_all(&self, state: &MergeState) -> Result<bool> {
        Ok(state.records.lost_at.is_none() && file::instance(&self.records_path)?.is_some())
    }

    /// The guard file that was left here, though nobody is inside.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn guard_left(&self) -> Result<Option<guard::Left>> {
        guard::left_behind(&self.guard_path, &self.queue_path, clock::wall())
    }

    /// The presence files that nobody keeps and that are not on record.
    ///
    /// # Errors
    /// They cannot be looked at.
    pub fn presence_left(&self, state: &MergeState) -> Result<Vec<PathBuf>> {
        let known = presences(&state.records);
        presence::left_behind(self.ours, |name| known.contains(name))
    }

    /// Removes what [`Self::presence_left`] finds. Best effort.
    pub fn sweep_presence(&self, records: &Records) {
        let known = presences(records);
        presence::sweep(self.ours, |name| known.contains(name));
    }

    fn enter(&self, purpose: Purpose, deadline: Instant) -> Result<Guard> {
        file::make_dirs(self.ours, self.modes)?;
        let gate = Gate {
            kernel: &self.guard_path,
            state: &self.queue_path,
            modes: self.modes,
            deadline,
            tolerate_full_disk: purpose == Purpose::Release,
            interrupted: self.interrupted,
        };
        Guard::enter(&gate, || ground::prepare_base(self.base, self.modes))
    }

    /// Removes what crashes left. Only after a commit: until then a temporary file that is old may
    /// tell that a grant was cut off. Who takes part now has the lock of its presence.
    fn sweep(&self, records: &Records) {
        let now = clock::wall();
        file::sweep(self.base, now);
        file::sweep(self.ours, now);
        self.sweep_presence(records);
    }

    /// Wakes the first process that waits, where a commit of `caller` may have made room for it.
    fn poke_next(&self, caller: &PlanId, before: &MergeState, after: &MergeState) {
        let holder = after.lock.as_ref().and_then(|lock| lock.holder.id());
        let waits = |entry: &&Entry| holder.is_none_or(|id| id.as_str() != entry.plan_id);
        let front = |state: &MergeState| {
            let entry = state.queue.iter().find(waits);
            entry.map(|entry| entry.plan_id.clone())
        };
        if before.lock == after.lock && front(before) == front(after) {
            return;
        }
        let mut waiting = after.queue.iter().filter(waits).take(POKED);
        waiting.any(|entry| {
            let record = after.records.participant(&entry.plan_id);
            let presence = record.and_then(|record| record.presence.as_deref());
            entry.plan_id == caller.as_str()
                || presence.is_some_and(|name| presence::poke(self.ours, name))
        });
    }
}

/// The names of the presence files that are on record.
fn presences(records: &Records) -> HashSet<&str> {
    let participants = records.participants.values();
    participants
        .filter_map(|record| record.presence.as_deref())
        .collect()
}
