//! The build queue on disk: loads a [`BuildState`], gathers the verdicts, runs a decision.
//!
//! **A transaction**, all of it inside the guard: load, judge, decide, commit. The whole state is one
//! file, so that a commit is one replacement: of a crash it leaves the old file or the new one.
//! Before the replacement the guard must still be ours; when another program took it away,
//! everything starts over from a fresh snapshot, so that a decision may run several times, and only
//! the last run counts.
//!
//! **Before the replacement**, the witnesses of those who leave go: a crash in between leaves them in
//! the queue, for the next commit to see to. **After it**, still inside, comes the witness of who
//! joined. Then, outside: those who were given a slot, or could have one, are woken, and what the dead
//! left is swept.

mod reading;
mod witnesses;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::lease::Now;
use crate::liveness::Terms;
use crate::locks::asking::Caller;
use crate::locks::build::{BuildState, Entry, Projects, Record, Verdicts};
use crate::place::Home;
use crate::report::Note;
use crate::store::document;
use crate::store::guard::{self, Gate, Guard};
use crate::store::transaction::{self, require_time, set_aside_note};
use crate::store::{ground, presence};
use crate::sys::file::{self, Instance, Modes};
use crate::sys::{clock, user};
use crate::text;

use reading::Snapshot;

pub use reading::Ahead;

/// The file of the queue in the home root; what guards it begins with the same.
const QUEUE: &str = "build-queue.json";
/// How many of those that wait are tried until as many are found as can be woken to some use.
const POKED: usize = 32;

/// What a transaction came to; the entries of those that take part no longer.
pub type Committed<T> = transaction::Committed<T, BuildState, Entry>;

/// The files of one user's build queue.
#[derive(Clone)]
pub struct BuildStore<'a> {
    home: &'a Home,
    plan_dir: &'a OsStr,
    /// The file that other programs share.
    pub queue_path: PathBuf,
    guard_path: PathBuf,
    /// The directory of what is only ours, that of presence files among it.
    pub ours: PathBuf,
    /// The modes of what we make there.
    pub modes: Modes,
    /// The modes of what we make in the caller's project.
    project: Modes,
    /// Whether the caller wants to stop waiting for the guard.
    interrupted: Option<&'a dyn Fn() -> bool>,
}

impl<'a> BuildStore<'a> {
    /// The store of the queue in `home`. `plan_dir` is the name of plan directories, `project` the
    /// modes of what is made in the caller's project.
    pub fn new(home: &'a Home, plan_dir: &'a OsStr, project: Modes) -> Self {
        Self {
            home,
            plan_dir,
            queue_path: home.root.join(QUEUE),
            guard_path: home.root.join("build-queue.json.guard"),
            ours: home.ours(),
            modes: Home::MODES,
            project,
            interrupted: None,
        }
    }

    /// The same store, whose guard is not waited for any longer once `interrupted` says so.
    #[must_use]
    pub fn interruptible(mut self, interrupted: &'a dyn Fn() -> bool) -> Self {
        self.interrupted = Some(interrupted);
        self
    }

    /// Which file the state stands in now: where that is the same, so is the state.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn stamp(&self) -> Result<Option<Instance>> {
        file::instance(&self.queue_path)
    }

    /// Reads the state without the guard, writing nothing: a decision on it is a guess.
    ///
    /// # Errors
    /// It cannot be read, or is not ours.
    pub fn peek(&self) -> Result<BuildState> {
        self.require_readable()?;
        Ok(Snapshot::load(&self.queue_path)?.state)
    }

    /// The same, but of those who wait only the first `limit`.
    ///
    /// # Errors
    /// As for [`Self::peek`].
    pub fn peek_ahead(&self, limit: usize) -> Result<Ahead> {
        self.require_readable()?;
        Ahead::load(&self.queue_path, limit)
    }

    fn require_readable(&self) -> Result<()> {
        ground::require_reachable(&self.home.root)?;
        require_ours(&self.queue_path)
    }

    /// Runs one decision for `caller`, of the project at `own_root` and with `slots` slots, to its
    /// commit. `decide` may run several times, each on a fresh snapshot; only the last run counts.
    ///
    /// # Errors
    /// `Timeout` when the guard cannot be had within `patience`; or a system call failed, and
    /// nothing is lost.
    #[expect(clippy::too_many_arguments, reason = "each is a part of one question")]
    pub fn transact<T>(
        &self,
        caller: &Caller,
        own_root: &Path,
        slots: usize,
        patience: Duration,
        terms: &dyn Fn() -> Terms,
        projects: &dyn Projects,
        mut decide: impl FnMut(&BuildState, &Verdicts, &Now) -> (BuildState, T),
    ) -> Result<Committed<T>> {
        let deadline = Instant::now() + patience;
        loop {
            let guard = self.enter(deadline)?;
            let snapshot = Snapshot::load(&self.queue_path)?;
            let before = &snapshot.state;
            // The time to get here counts for nobody: clocks are read inside the guard.
            let terms = &terms();
            let verdicts = before.judge(Some(caller), own_root, slots, terms, projects);
            let (mut next, outcome) = decide(before, &verdicts, &terms.now);
            let mut notes = Vec::new();
            if self.commit(
                &guard,
                &snapshot,
                &mut next,
                terms.now.moment.wall,
                &mut notes,
            )? {
                self.see_to_witness(caller, own_root, &next, &mut notes);
                // Nobody waits while we tidy up.
                drop(guard);
                self.poke(caller, before, &next);
                self.sweep(own_root, &next);
                return Ok(Committed {
                    outcome,
                    departed: departed(before, &next),
                    state: next,
                    notes,
                });
            }
            drop(guard);
            require_time(deadline, &self.queue_path)?;
        }
    }

    /// Runs `tidy` inside the guard, where nobody else changes anything, on the state, which it must leave
    /// as it is; on `None` where the queue is lost, and those who build may yet put themselves back. That
    /// the guard was entered has removed a guard file that was left.
    ///
    /// # Errors
    /// As of [`Self::transact`].
    pub fn inside<T>(
        &self,
        patience: Duration,
        tidy: impl FnOnce(Option<&BuildState>) -> T,
    ) -> Result<T> {
        let _guard = self.enter(Instant::now() + patience)?;
        let known = self.peek_known()?;
        Ok(tidy(known.as_ref()))
    }

    /// As [`Self::peek`]; `None` where there is no queue, or none that makes sense: it may be lost.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn peek_known(&self) -> Result<Option<BuildState>> {
        if file::instance(&self.queue_path)?.is_none() {
            return Ok(None);
        }
        let snapshot = Snapshot::load(&self.queue_path)?;
        Ok((!snapshot.document.corrupt).then_some(snapshot.state))
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
    pub fn presence_left(&self, state: &BuildState) -> Result<Vec<PathBuf>> {
        let known = presences(state);
        presence::left_behind(&self.ours, |name| known.contains(name))
    }

    /// Removes what [`Self::presence_left`] finds. Best effort.
    pub fn sweep_presence(&self, state: &BuildState) {
        let known = presences(state);
        presence::sweep(&self.ours, |name| known.contains(name));
    }

    fn enter(&self, deadline: Instant) -> Result<Guard> {
        self.home.prepare()?;
        let mut guard_file = self.queue_path.as_os_str().to_owned();
        guard_file.push(".lock");
        for path in [&self.queue_path, &self.guard_path, &guard_file.into()] {
            require_ours(path)?;
        }
        let gate = Gate {
            kernel: &self.guard_path,
            state: &self.queue_path,
            modes: self.modes,
            deadline,
            tolerate_full_disk: false,
            interrupted: self.interrupted,
        };
        Guard::enter(&gate, || Ok(())).map_err(|error| {
            if error.kind() != ErrorKind::Io || error.hint().is_some() {
                return error;
            }
            error.with_hint("PLAN_MARSHALL_HOME may name another place to keep the build queue in")
        })
    }

    /// Makes `next` true on the disk, and fills in what is known only then. `false` when the guard was
    /// lost: nothing was written then.
    fn commit(
        &self,
        guard: &Guard,
        old: &Snapshot,
        next: &mut BuildState,
        now: f64,
        notes: &mut Vec<Note>,
    ) -> Result<bool> {
        if *next == old.state && !old.document.corrupt {
            return Ok(true);
        }
        let path = &self.queue_path;
        let document = old.written(next, now);
        let grows = next.active.len() + next.waiting.len()
            > old.state.active.len() + old.state.waiting.len();
        let staged = document.stage(path, grows, self.modes)?;
        if !guard.is_intact()? {
            return Ok(false);
        }
        // As long as they are in the queue: of what is cut off in between, the next commit knows.
        if self.end_witnesses(&old.state, next) && !guard.is_intact()? {
            return Ok(false);
        }
        let aside = document::put(staged, path, document.corrupt)?;
        notes.extend(aside.map(|aside| set_aside_note(path, &aside)));
        Ok(true)
    }

    /// Wakes those who were given a slot, and the first of those who wait that the free slots would
    /// admit, where a commit of `caller` may have changed something for them.
    fn poke(&self, caller: &Caller, before: &BuildState, after: &BuildState) {
        let is_caller =
            |record: &Record| caller.presence.is_some() && record.who.presence == caller.presence;
        let poke = |record: &Record| {
            let presence = record.who.presence.as_deref();
            presence.is_some_and(|name| presence::poke(&self.ours, name))
        };
        let had: HashSet<&str> = ids(&before.active).collect();
        let given = after.active.iter();
        for entry in given.filter(|entry| !had.contains(entry.id.as_str())) {
            if let Some(record) = entry.record.known().filter(|record| !is_caller(record)) {
                poke(record);
            }
        }
        if only_joined(before, after) {
            return;
        }
        let mut taken = after.active.len();
        for record in after
            .waiting
            .iter()
            .take(POKED)
            .filter_map(|e| e.record.known())
        {
            if taken < record.slots && (is_caller(record) || poke(record)) {
                taken += 1;
            }
        }
    }

    /// Removes what crashes left. Who takes part now has the lock of its presence.
    fn sweep(&self, own_root: &Path, state: &BuildState) {
        let now = clock::wall();
        for dir in [&self.home.root, &self.ours, &self.base_of(own_root)] {
            file::sweep(dir, now);
        }
        self.sweep_presence(state);
    }
}

/// The names of the presence files that are on record.
fn presences(state: &BuildState) -> HashSet<&str> {
    everybody(state)
        .filter_map(|entry| entry.record.known()?.who.presence.as_deref())
        .collect()
}

/// Those who have a slot and those who wait.
fn everybody(state: &BuildState) -> impl Iterator<Item = &Entry> {
    state.active.iter().chain(&state.waiting)
}

fn ids(entries: &[Entry]) -> impl Iterator<Item = &str> {
    entries.iter().map(|entry| entry.id.as_str())
}

/// Our entries of `before` that `after` has no more.
fn departed(before: &BuildState, after: &BuildState) -> Vec<Entry> {
    let there: HashSet<&str> = everybody(after).map(|entry| entry.id.as_str()).collect();
    everybody(before)
        .filter(|entry| entry.record.known().is_some() && !there.contains(entry.id.as_str()))
        .cloned()
        .collect()
}

/// Whether nothing happened between two states but that somebody joined at the end.
fn only_joined(before: &BuildState, after: &BuildState) -> bool {
    ids(&before.active).eq(ids(&after.active))
        && after.waiting.len() >= before.waiting.len()
        && ids(&before.waiting)
            .zip(ids(&after.waiting))
            .all(|(was, is)| was == is)
}

/// Refuses a state file of somebody else: it says whatever that user likes.
fn require_ours(path: &Path) -> Result<()> {
    match file::instance(path)? {
        Some(there) if there.uid != user::me() => {
            let (shown, owner) = (text::path(path), user::name(there.uid));
            let message = format!("{shown} belongs to {owner}");
            Err(Error::new(ErrorKind::Io, message).with_hint(file::aside_hint(path)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
