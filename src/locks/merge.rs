//! The merge lock: one merge at a time, first come first served. Pure decisions.
//!
//! **State.** Three things make up a [`MergeState`]: the lock file (nobody, or a holder), the
//! queue, and what we recorded about those who take part. The holder's entry stays in the queue
//! until it releases.
//!
//! **Acquire.** A detached holder that asks again has its lease renewed and changes nothing
//! else. Otherwise dead waiters are pruned, the caller is appended unless it is queued, and only
//! the front — the first entry by position other than the holder's — may try. A free lock is
//! granted; one whose holder is provably stale is reclaimed; anything else blocks.
//!
//! **Pass-over.** Once the lock has stood idle (free, or held by a stale holder) for a while and
//! all entries ahead have been quiet for as long, the first entry that shows a sign of life is
//! granted; those ahead keep their places.
//!
//! One whose process is provably gone while its ticket keeps its place (an orphan) can use no turn:
//! it is passed over at once, and keeps its place for the next caller of its checkout, who takes
//! it over.
//!
//! **Attached** participants are processes that are there all the time. One that waits is known by
//! its presence, whatever it will be as a holder. As a holder, an attached participant is known by
//! its presence and, once it has started its command, by that; only a call that shows the holder's
//! token, or is the very process, counts as the holder.
//!
//! **Release.** The caller leaves the queue; the lock is removed when the caller holds it.
//!
//! **What a crash leaves.** The store commits a decision in this order: our records (with the
//! fence of a grant, or a note that the holder is ending), the queue, the lock file, our records
//! again. [`settle`] reads what an interrupted commit left and finishes it: a release that was
//! cut off is completed; a grant that was cut off before its lock file existed is a waiter at
//! its old place; a lock file that somebody removed stays removed, unless its holder is
//! provably present, who gets it back, also where what stands there now is provably nobody's.
//!
//! Every function here is a pure function of its arguments; run again on its own result by the
//! same caller it changes nothing.

mod acquire;
mod attached;
mod recording;
mod release;
mod settle;
mod state;

use crate::identity::PlanId;
use crate::lease::Now;
use crate::locks::asking::{self, Caller, Poll};
use crate::report::{Action, Staleness};

pub use acquire::{acquire, try_acquire};
pub use attached::{Keeping, end_visit, keep};
pub use release::{evict, leave, release, renew, view};
pub use settle::settle;
pub use state::{Ending, Holder, Idle, LockFile, MergeState, Records, Verdicts};

/// The rules that settings change.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The present.
    pub now: Now,
    /// How long idle and quiet must last before a pass-over, in seconds; `None` for never.
    pub pass_over: Option<f64>,
    /// How long a place lasts after the last poll, in seconds. One whose process is there and has not
    /// confirmed its place for that long is not running.
    pub ticket_ttl: f64,
    /// How old a recorded poll may grow before it is recorded anew, in seconds.
    pub poll_grain: f64,
    /// Whether stale holders may be reclaimed here: not on file systems that are not local.
    pub may_reclaim: bool,
    /// Whether plans are, or may be, kept here: then one without a record may be a plan.
    pub keeps_plans: bool,
}

/// What became of a request for the lock.
pub type Admission = asking::Admission<Granted, Waiting>;

/// The lock, as the caller holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Granted {
    /// `acquired` or `already_held`.
    pub action: Action,
    /// The stale holder that was removed for it.
    pub reclaimed_from: Option<String>,
    /// The number of the grant.
    pub fence: Option<u64>,
    /// The end of its lease, in seconds since the Unix epoch.
    pub expires_at: Option<f64>,
    /// When it was granted, in seconds since the Unix epoch.
    pub since: Option<f64>,
}

/// The caller's place among those who wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// The caller's place; 1 is next. `None` where it has none of its own.
    pub position: Option<usize>,
    /// The holder's plan is gone but its worktree is live.
    pub mid_recovery: bool,
    /// The holder is stale, but may not be reclaimed here.
    pub not_local: bool,
    /// Nobody who could use the next turn is ahead.
    pub next: bool,
    /// What became of this call as a sign of life.
    pub poll: Poll,
}

/// What became of a release.
#[derive(Clone, Debug, PartialEq)]
pub enum Release {
    /// The lock was removed.
    Released,
    /// The lock is not the caller's to remove.
    Noop {
        /// Who holds it, if somebody does.
        holder: Option<String>,
        /// Whether the caller gave up a place in the queue.
        left: bool,
    },
    /// The holder's process is there; only it may let go.
    HolderPresent(String),
}

/// What became of the removal of a stale holder.
#[derive(Clone, Debug, PartialEq)]
pub enum Eviction {
    /// This holder was removed.
    Evicted(String),
    /// Nobody held the lock.
    NothingHeld,
    /// The holder is not provably gone.
    Refused(String, Staleness),
}

/// What became of a renewal.
#[derive(Clone, Debug, PartialEq)]
pub enum Renewal {
    /// The lease runs anew until then.
    Renewed(f64),
    /// The holder keeps no lease.
    NoLease,
    /// Another holds the lock, or nobody.
    Lost(Option<String>),
}

/// Prunes waiters that are provably gone; never the caller's entry nor the holder's.
fn prune(state: &mut MergeState, caller: &PlanId, verdicts: &Verdicts) {
    let holder = state
        .lock
        .as_ref()
        .and_then(|lock| lock.holder.id())
        .cloned();
    state.queue.retain(|entry| {
        let id = entry.plan_id.as_str();
        id == caller.as_str()
            || holder.as_ref().is_some_and(|holder| holder.as_str() == id)
            || !verdicts
                .waiters
                .get(id)
                .is_some_and(|verdict| verdict.is_stale())
    });
}

/// Whether the caller is who the lock file names: the same id, and, for an inferred id, the
/// same user in the same checkout.
pub fn is_holder(state: &MergeState, caller: &Caller) -> bool {
    let Some(lock) = &state.lock else {
        return false;
    };
    if lock.holder.id() != Some(&caller.id) {
        return false;
    }
    match state.holder_record() {
        Some(record) => caller.is_meant_by(record),
        None => caller.explicit || lock.uid == caller.user,
    }
}

#[cfg(test)]
mod tests;
