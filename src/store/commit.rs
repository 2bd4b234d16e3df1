//! Committing a decision on the merge lock.
//!
//! **The steps**, of which only what changed is written:
//!
//! 1. the new lock file, under a temporary name;
//! 2. our records: the grant with its fence, or a note that the holder is ending;
//! 3. the witness of the caller;
//! 4. the queue;
//! 5. the old lock file is read again (same bytes, same instance), its holder judged again where
//!    staleness is the reason, and removed;
//! 6. the new lock file gets its name, exclusively;
//! 7. witnesses of those who left; then our records again without them and without the note.
//!
//! Before each of them the guard file must still be ours. When it is not, or another program was
//! quicker at 5 or 6, the commit stops and everything starts over from a fresh snapshot: each
//! step can be repeated. From step 2 on, the temporary file of step 1 stays behind when the commit
//! stops: it tells a grant that was cut off from one whose lock file was removed. What a crash
//! after each step leaves is settled by the next decision, see [`crate::locks::merge`].
//!
//! A full disk may keep 2 and 4 from being written. For a release the lock is removed all the
//! same, and that is said; the records are then left as they are, so that the next decision
//! finds a holder whose lock file is gone and drops its entry. Whatever keeps 7 from being written
//! is said, too, and nothing more: the lock is gone by then.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::identity::PlanId;
use crate::liveness::{Evidence, Terms, Verdict, World};
use crate::locks::merge::{Ending, Holder, LockFile, MergeState, Records, Verdicts, settle};
use crate::participant::Kind;
use crate::report::Note;
use crate::store::guard::Guard;
use crate::store::reading::{MergeStore, Purpose, Snapshot, write_queue};
use crate::store::transaction::set_aside_note;
use crate::store::witness::{self, Owner};
use crate::store::{document, lock_file, records};
use crate::sys::file::{self, Temp};

/// Why a commit did not go through.
pub(super) enum Stop {
    /// The snapshot is out of date.
    StartOver,
    /// A system call failed; nothing is lost.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

type Step<T = ()> = Result<T, Stop>;

/// One commit: from which snapshot, inside which guard.
pub(super) struct Committing<'c> {
    store: &'c MergeStore<'c>,
    guard: &'c Guard,
    old: &'c Snapshot,
    purpose: Purpose,
    /// Whether everything that should be written was.
    complete: bool,
    /// The holder that this commit may have noted as ending.
    pub(super) noted: Option<Ending>,
}

impl<'c> Committing<'c> {
    pub(super) fn new(
        store: &'c MergeStore<'c>,
        guard: &'c Guard,
        old: &'c Snapshot,
        purpose: Purpose,
    ) -> Self {
        Self {
            store,
            guard,
            old,
            purpose,
            complete: true,
            noted: None,
        }
    }

    /// Makes `next` true on the disk; fills in what is known only then. Returns those that were
    /// recorded and take part no longer.
    pub(super) fn run(
        &mut self,
        next: &mut MergeState,
        caller: &PlanId,
        terms: &Terms,
        world: &dyn World,
        notes: &mut Vec<Note>,
    ) -> Step<Vec<String>> {
        let changed = next.lock != self.old.state.lock;
        let removed = self.old.lock.as_ref().filter(|_| changed);
        let mut born = match next.lock.as_mut().filter(|_| changed) {
            Some(lock) => Some(self.prepare_lock(lock, &mut next.records)?),
            None => None,
        };
        // A holder that lets go is noted as ending, so that whoever comes next completes a
        // release that is cut off. One that is removed for being stale is judged again instead.
        let freed = self.purpose == Purpose::Release && next.lock.is_none();
        let lets_go = self.old.state.is_ending() || freed;
        let mut first = next.records.clone();
        if let Some(read) = removed.filter(|_| lets_go) {
            first.ending = ending(&read.lock);
            self.noted.clone_from(&first.ending);
        }
        self.write_records(&first, notes)?;
        if let Some(temp) = &mut born {
            temp.keep();
        }
        self.stand_witness(caller, next, world)?;
        self.write_queue(next, notes)?;
        if let Some(read) = removed {
            let stale = || {
                self.old
                    .state
                    .judge_holder(terms, world)
                    .is_some_and(Verdict::is_stale)
            };
            self.remove_lock(read, || lets_go || stale())?;
        }
        let releases = removed.is_some() && born.is_none();
        if let (Some(temp), Some(lock)) = (born, next.lock.as_mut()) {
            self.require_guard()?;
            let made = temp.create(&self.store.lock_path)?.ok_or(Stop::StartOver)?;
            lock.mtime_ns = made.mtime_ns;
        }
        let departed = self.dismiss_departed(next);
        // Whoever waits is about to commit, and finishes what is left: it need not wait for that.
        if releases && next.queue.is_empty() {
            self.finish_release(next, &first, notes);
        }
        self.clear_cut_off();
        Ok(departed)
    }

    /// Removes the temporary files of grants that were cut off, now that they are taken back.
    fn clear_cut_off(&self) {
        let records = &self.old.state.records;
        for id in &self.old.state.cut_off {
            let grant = records
                .participant(id)
                .and_then(|record| record.grant.as_ref());
            if let Some(name) = grant.and_then(|grant| grant.temp.as_deref())
                && file::is_temp_name(name.as_ref())
                && !name.contains('/')
            {
                // What stays is swept when it is old.
                let _ = file::remove(&self.store.base.join(name));
            }
        }
    }

    fn require_guard(&self) -> Step {
        if self.guard.is_intact()? {
            Ok(())
        } else {
            Err(Stop::StartOver)
        }
    }

    /// Lets a release go on where a full disk keeps something from being written.
    fn tolerate(&mut self, stop: Stop, what: &str, notes: &mut Vec<Note>) -> Step {
        match stop {
            Stop::Failed(error) if self.purpose == Purpose::Release && error.is_out_of_space() => {
                self.complete = false;
                notes.push(Note::Warning(format!("{what}: {error}")));
                Ok(())
            }
            stop => Err(stop),
        }
    }

    /// Writes the lock file under a temporary name and records which file it will be.
    fn prepare_lock(&self, lock: &mut LockFile, records: &mut Records) -> Step<Temp> {
        let name = lock.holder.shown().unwrap_or_default();
        let content = format!("{name}\n");
        let temp = Temp::write(self.store.base, content.as_bytes(), self.store.modes, false)?;
        let made = temp.stamp()?;
        lock.mtime_ns = made;
        let granted = |records: &Records| Some(records.participant(&name)?.grant.as_ref()?.fence);
        // A holder that is only put back was granted before: cut off, it is no waiter.
        let put_back = granted(records) == granted(&self.old.state.records);
        let record = records.participant_mut(&name);
        if let Some(grant) = record.and_then(|record| record.grant.as_mut()) {
            grant.made = Some(made);
            if !put_back {
                grant.temp = Some(temp.name());
            }
        }
        Ok(temp)
    }

    fn write_records(&mut self, records: &Records, notes: &mut Vec<Note>) -> Step {
        let old = &self.old.state.records;
        if records == old {
            return Ok(());
        }
        self.retire(records);
        let path = &self.store.records_path;
        match self.replace_records(records, self.old.records_corrupt) {
            Ok(aside) => notes.extend(aside.map(|aside| set_aside_note(path, &aside))),
            Err(stop) => self.tolerate(stop, "the release could not be recorded", notes)?,
        }
        Ok(())
    }

    /// Puts the records in their place, unless the guard was lost while the disk was waited for.
    fn replace_records(&self, records: &Records, corrupt: bool) -> Step<Option<PathBuf>> {
        let path = &self.store.records_path;
        let staged = records::stage(records, path, self.store.modes)?;
        self.require_guard()?;
        Ok(document::put(staged, path, corrupt)?)
    }

    fn write_queue(&mut self, next: &MergeState, notes: &mut Vec<Note>) -> Step {
        if next.queue == self.old.state.queue && !self.old.queue.corrupt {
            return Ok(());
        }
        match self.save_queue(next) {
            Ok(aside) => {
                notes.extend(aside.map(|aside| set_aside_note(&self.store.queue_path, &aside)));
            }
            Err(stop) => {
                let what = "the queue could not be written, and the entry stays in it for now";
                self.tolerate(stop, what, notes)?;
            }
        }
        Ok(())
    }

    fn save_queue(&self, next: &MergeState) -> Step<Option<PathBuf>> {
        let path = &self.store.queue_path;
        if !self.guard.may_write_state() {
            return Err(file::out_of_space(path).into());
        }
        let mut document = self.old.queue.clone();
        document.set("waiting", write_queue(&next.queue));
        let grows = next.queue.len() > self.old.state.queue.len();
        let staged = document.stage(path, grows, self.store.modes)?;
        self.require_guard()?;
        Ok(document::put(staged, path, document.corrupt)?)
    }

    /// Removes the old lock file when it is still what was read and `may_go` says so.
    fn remove_lock(&self, read: &lock_file::Read, may_go: impl Fn() -> bool) -> Step {
        self.require_guard()?;
        if !may_go() || !lock_file::is_unchanged(&self.store.lock_path, read)? {
            return Err(Stop::StartOver);
        }
        file::remove(&self.store.lock_path)?;
        Ok(())
    }

    /// Drops the note and the record of a holder whose lock file is gone. That it is gone is not
    /// undone by anything that fails here: whoever comes next finishes what is left.
    fn finish_release(&self, next: &mut MergeState, written: &Records, notes: &mut Vec<Note>) {
        next.records.ending = None;
        next.records = settle(next, &Verdicts::default()).records;
        if !self.complete || next.records == *written {
            return;
        }
        if let Err(Stop::Failed(error)) = self.replace_records(&next.records, false) {
            notes.push(Note::Warning(format!(
                "the release could not be recorded as complete: {error}"
            )));
        }
    }

    /// Removes the witnesses of those whose records are about to be dropped: a witness never
    /// outlives its record.
    fn retire(&self, next: &Records) {
        let old = &self.old.state.records;
        if next.participants.len() > old.participants.len() {
            // A decision adds at most its caller, so none was dropped.
            return;
        }
        for id in old.participants.keys() {
            if !next.participants.contains_key(id) {
                witness::remove(self.store.stand, id, Owner::Merge);
            }
        }
    }

    /// Removes the witnesses of those who have just left the queue or lost the lock, and tells
    /// who they are.
    fn dismiss_departed(&self, next: &MergeState) -> Vec<String> {
        let old = &self.old.state;
        if nobody_left(old, next) {
            return Vec::new();
        }
        let there = next.taking_part();
        let recorded = old.records.participants.iter();
        let departed = recorded.filter(|(id, _)| !there.contains(id.as_str()));
        departed
            .map(|(id, _)| {
                witness::remove(self.store.stand, id, Owner::Merge);
                id.clone()
            })
            .collect()
    }

    /// Lets programs that know only plans see the caller alive.
    fn stand_witness(&self, caller: &PlanId, next: &MergeState, world: &dyn World) -> Step {
        let record = next.records.participant(caller.as_str());
        let takes_part = next
            .queue
            .iter()
            .any(|entry| entry.plan_id == caller.as_str())
            || next
                .lock
                .as_ref()
                .is_some_and(|lock| lock.holder == Holder::Plan(caller.clone()));
        let Some(record) = record.filter(|_| takes_part) else {
            return Ok(());
        };
        if record.kind == Kind::Plan {
            // One that waited as a process and holds as a plan.
            let waited = self.old.state.records.participant(caller.as_str());
            if waited.is_some_and(|waited| waited.kind != Kind::Plan) {
                witness::remove(self.store.stand, caller.as_str(), Owner::Merge);
            }
        } else if world.keeps_plans() == Evidence::Alive {
            witness::make(self.store.stand, caller, Owner::Merge, self.store.modes)?;
        }
        Ok(())
    }
}

/// Whether it can be told at a glance that nobody left between two states: the lock is as it was,
/// and the queue, to which a decision adds at most its caller, has grown.
fn nobody_left(before: &MergeState, after: &MergeState) -> bool {
    let grown = after.queue.len() > before.queue.len();
    before.lock == after.lock && (grown || before.queue == after.queue)
}

/// The note that the holder of `lock` is ending. One that is no plan id is dead anyway.
fn ending(lock: &LockFile) -> Option<Ending> {
    Some(Ending {
        plan_id: lock.holder.id()?.as_str().to_owned(),
        mtime_ns: lock.mtime_ns,
    })
}
