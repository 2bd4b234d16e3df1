//! The files as plain values, and the store's commit on them, cut off where the model says.

use std::collections::BTreeSet;

use git_locks::identity::PlanId;
use git_locks::locks::merge::{Ending, Holder, LockFile, MergeState, Records, Verdicts, settle};
use git_locks::queue::Entry;

/// What is on the disk.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    pub lock: Option<LockFile>,
    pub queue: Vec<Entry>,
    pub records: Records,
    /// Temporary lock files that are still there.
    pub temps: BTreeSet<String>,
    stamps: i64,
}

/// How far a commit came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// All the way.
    Through,
    /// It was cut off after this step.
    Cut(u8),
    /// Another program was quicker.
    TooLate,
}

impl Disk {
    /// What the store loads.
    pub fn load(&self) -> MergeState {
        let mut state = MergeState {
            lock: self.lock.clone(),
            queue: self.queue.clone(),
            records: self.records.clone(),
            cut_off: Vec::new(),
        };
        for (id, record) in &self.records.participants {
            let temp = record.grant.as_ref().and_then(|grant| grant.temp.as_ref());
            if temp.is_some_and(|name| self.temps.contains(name)) {
                state.cut_off.push(id.clone());
            }
        }
        if state.holder_record().is_some() {
            let holder = self.holder();
            state.cut_off.retain(|id| Some(id.as_str()) != holder);
        }
        state
    }

    /// The id that the lock file names.
    pub fn holder(&self) -> Option<&str> {
        self.lock.as_ref()?.holder.id().map(PlanId::as_str)
    }

    /// A modification time that no lock file had before.
    pub fn stamp(&mut self) -> i64 {
        self.stamps += 1;
        self.stamps * 60_000_000_000
    }

    /// Another program creates the lock file, when there is none.
    pub fn barge(&mut self, id: &PlanId) -> bool {
        if self.lock.is_some() {
            return false;
        }
        let mtime_ns = self.stamp();
        self.lock = Some(LockFile {
            holder: Holder::Plan(id.clone()),
            mtime_ns,
            uid: 0,
        });
        true
    }

    /// Commits `next`, which was decided on `old`: the steps of `store::merge`, in their order.
    pub fn commit(
        &mut self,
        old: &MergeState,
        next: &MergeState,
        releases: bool,
        crash: Option<u8>,
        barges: Option<&PlanId>,
    ) -> Came {
        let mut next = next.clone();
        let lock_changed = next.lock != old.lock;
        let removes = old.lock.clone().filter(|_| lock_changed);
        let creates = next.lock.clone().filter(|_| lock_changed);
        let born = creates.map(|lock| self.prepare(lock, old, &mut next.records));
        if crash == Some(1) {
            return Came::Cut(1);
        }
        let lets_go = old.is_ending() || (removes.is_some() && releases);
        let mut first = next.records.clone();
        if let (true, Some(lock)) = (lets_go, &removes) {
            first.ending = lock.holder.id().map(|id| Ending {
                plan_id: id.as_str().to_owned(),
                mtime_ns: lock.mtime_ns,
            });
        }
        self.records = first;
        if crash == Some(2) {
            return Came::Cut(2);
        }
        self.queue.clone_from(&next.queue);
        if crash == Some(3) {
            return Came::Cut(3);
        }
        if removes.is_some() {
            self.lock = None;
        }
        if crash == Some(4) {
            return Came::Cut(4);
        }
        let gave = born.is_some();
        if let Some((lock, temp)) = born {
            if barges.is_some_and(|id| self.barge(id)) {
                return Came::TooLate;
            }
            next.lock = Some(lock.clone());
            self.lock = Some(lock);
            if crash == Some(5) {
                return Came::Cut(5);
            }
            self.temps.remove(&temp);
        }
        if removes.is_some() && !gave {
            next.records.ending = None;
            self.records = settle(&next, &Verdicts::default()).records;
        }
        Came::Through
    }

    /// The new lock file under its temporary name, and what is recorded of it.
    fn prepare(
        &mut self,
        mut lock: LockFile,
        old: &MergeState,
        records: &mut Records,
    ) -> (LockFile, String) {
        lock.mtime_ns = self.stamp();
        let temp = format!("temp-{}", self.stamps);
        self.temps.insert(temp.clone());
        let id = lock.holder.shown().unwrap_or_default();
        let fence_of = |records: &Records| {
            let record = records.participants.get(&id)?;
            record.grant.as_ref().map(|grant| grant.fence)
        };
        let put_back = fence_of(&old.records) == fence_of(records);
        let record = records.participant_mut(&id);
        if let Some(grant) = record.and_then(|record| record.grant.as_mut()) {
            grant.made = Some(lock.mtime_ns);
            if !put_back {
                grant.temp = Some(temp.clone());
            }
        }
        (lock, temp)
    }
}
