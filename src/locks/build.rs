//! The build queue: at most k builds on one machine at once, first come first served. Pure decisions.
//!
//! **State.** A [`BuildState`]: those who have a slot (`active`), those who wait, and the last
//! releases (`run_log`). Every entry stands for one participant of one project; what we recorded
//! about it is kept inside the entry, since another program that shares the file keeps entries whole
//! and nothing else.
//!
//! **Slots.** Each caller has its own number of slots, k, and is admitted only while fewer than that
//! are active. What callers say may differ.
//!
//! **First, always** (acquire and release): the reaper removes active entries that were held for
//! longer than twice the adaptive limit, unless a process or a running lease vouches for them; then
//! those who wait first are promoted into the free slots. Where a waiter shows life and lacks but one
//! slot, one that was given a slot and has not shown itself since steps back to the front of the queue,
//! and its slot is given out again.
//!
//! **Acquire.** Dead active entries are pruned, and dead waiters of ours, and their slots given out,
//! until nothing is left to be done. A caller that has a slot keeps it; one that waits keeps its place;
//! a newcomer is appended, or takes over the foremost place that a killed call of its checkout left,
//! where it named nobody. It is admitted when it is within the free prefix: when fewer able waiters are
//! ahead of it than slots are free. A run that has yet to start its command is given the slot
//! unclaimed, and claims it once it has.
//!
//! **One id, several processes.** Detached callers of one id and project are one participant. A run is
//! one by itself: another run of its id needs an id of its own, a detached caller has an entry beside
//! it. A run whose id holds detached is a visitor: it builds in that slot and leaves it as it is.
//!
//! **Release.** The entry is removed, noted in the `run_log`, and one waiter is promoted into the slot
//! that it frees. A run whose process is there is let go by that alone.
//!
//! **Promotion** gives a slot to the first waiter, by list position, that can use it: not one that is
//! provably gone, not one that let a slot pass and is silent still, not one whose own number of slots
//! forbids it. It holds the slot *unclaimed* until it shows itself: as long as a waiter is believed, and
//! no longer. Where nobody can, the slot goes to another program's waiter that is gone, since only what
//! is active is removed of other programs'.
//!
//! **Keeping.** A run looks after its entry while its command runs. One that was taken away is put back
//! where there is room and nobody has its number; else the slot is lost.
//!
//! **What a crash leaves.** A decision is one replacement of one file: it happened or it did not. A
//! process that dies while it holds or waits leaves an entry that the verdict will judge; one that dies
//! between its promotion and its claim leaves an unclaimed slot, which is free at once where its
//! presence is gone.
//!
//! Every function here is a pure function of its arguments; run again on its own result by the
//! same caller it changes nothing.

mod acquire;
mod housekeeping;
mod judging;
mod keeping;
mod own;
mod recording;
mod release;
mod sight;
mod state;

use std::path::Path;

use crate::lease::Now;
use crate::locks::asking::{self, Poll};
use crate::participant::Kind;

pub use acquire::{acquire, try_acquire};
pub use judging::entry_grounds;
pub use keeping::{end_visit, keep, renew};
pub use recording::given;
pub use release::{leave, release};
pub use state::{BuildState, Entry, Logged, Projects, Record, Recorded, Verdicts};

/// The least that the adaptive limit can be, in seconds.
pub const LEAST_LIMIT: u64 = 600;
/// The most that it can be, in seconds.
pub const MOST_LIMIT: u64 = 3600;
/// How many releases are remembered.
pub const LOG_LENGTH: usize = 100;

/// The rules that settings change, and where the caller stands.
#[derive(Clone, Debug)]
pub struct Rules<'a> {
    /// The present.
    pub now: Now,
    /// The caller's number of slots, at least 1.
    pub slots: usize,
    /// The caller's adaptive limit, in seconds.
    pub limit: u64,
    /// The caller's project: its main root, else its common directory, else its directory.
    pub project_root: &'a Path,
    /// How long a slot may stay unclaimed, and its owner silent, before it goes to another, in
    /// seconds; `None` for never.
    pub pass_over: Option<f64>,
    /// How old a recorded poll may grow before it is recorded anew, in seconds.
    pub poll_grain: f64,
    /// Whether the dead may be removed here: not on file systems that are not local.
    pub may_reclaim: bool,
}

/// What was done for others before the caller's own turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Housekeeping {
    /// Active entries that were held for too long.
    pub reaped: Vec<Reaped>,
    /// The ids of waiters that were given a slot, the one for a released slot among them.
    pub promoted: Vec<String>,
}

/// An active entry that was held for too long.
#[derive(Clone, Debug, PartialEq)]
pub struct Reaped {
    /// Its id.
    pub id: String,
    /// For how long it was held, in seconds.
    pub held: f64,
    /// What was allowed, in seconds.
    pub threshold: u64,
}

/// What became of a request for a slot.
pub type Admission = asking::Admission<Granted, Waiting>;

/// A slot, as the caller has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Granted {
    /// The id of its entry.
    pub id: String,
    /// Whether it has this slot since this very call, or since a promotion that this call claims.
    pub new: bool,
    /// Whether the timeline of its project was told so already, by who promoted it.
    pub told: bool,
    /// Its number, from 1; none for what another program recorded.
    pub slot: Option<usize>,
    /// What vouches for it, where that is recorded.
    pub kind: Option<Kind>,
    /// The end of its lease, in seconds since the Unix epoch, where it is kept by one.
    pub expires_at: Option<f64>,
    /// Since when it has the slot, in seconds since the Unix epoch.
    pub since: f64,
}

/// The caller's place among those who wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// The id of its entry; none where it leaves no trace.
    pub id: Option<String>,
    /// The caller's place by list position; 1 is next. None where it has none.
    pub position: Option<usize>,
    /// Whether nobody who could use the next slot is ahead.
    pub next: bool,
    /// What became of this call as a sign of life.
    pub poll: Poll,
}

/// Which entry is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// The caller's own.
    Own,
    /// The one of this id.
    Id(&'a str),
}

/// What became of a release.
#[derive(Clone, Debug, PartialEq)]
pub enum Release {
    /// The entry was removed.
    Released {
        /// Its id.
        id: String,
        /// Who was given the slot that it freed.
        promoted: Option<String>,
        /// For how long it was active, in seconds; none where it waited.
        held: Option<f64>,
    },
    /// There is no such entry.
    Noop {
        /// The id that was named, where one was.
        id: Option<String>,
    },
    /// The process of this run is there; only it may let go.
    HolderPresent {
        /// The id of its entry.
        id: String,
    },
}

/// What a run that looks after its slot finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// It has its slot as before.
    Kept,
    /// Its slot was taken away, nobody had it, and it has been taken again.
    Restored,
    /// Its slot was taken away, and another has it, or none may be taken.
    Lost,
}

/// What became of a renewal.
#[derive(Clone, Debug, PartialEq)]
pub enum Renewal {
    /// The lease runs anew.
    Renewed {
        /// The id of the entry.
        id: String,
        /// The number of its slot.
        slot: Option<usize>,
        /// Until then, in seconds since the Unix epoch.
        expires_at: f64,
    },
    /// What has the slot keeps no lease.
    NoLease {
        /// The id of the entry.
        id: String,
        /// The number of its slot, where it is recorded.
        slot: Option<usize>,
    },
    /// The caller has no slot.
    Lost,
}

#[cfg(test)]
mod tests;
