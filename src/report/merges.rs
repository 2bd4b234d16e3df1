//! What the merge lock says.

use serde::Serialize;

use super::{Action, Admission, Refusal, Staleness, Status};

/// `merge acquire`: the caller holds the lock.
#[derive(Debug, Serialize)]
pub struct MergeAdmitted {
    /// Always `success`.
    pub status: Status,
    /// The caller.
    pub plan_id: String,
    /// `acquired` or `already_held`.
    pub action: Action,
    /// Always `admitted`.
    pub admission: Admission,
    /// The lock file.
    pub lock_path: String,
    /// The holder: the caller.
    pub holder: String,
    /// Whether a stale holder was removed for this grant.
    pub reclaimed: bool,
    /// Entries in the queue, the holder's own among them; 0 for `already_held`.
    pub waiting_count: usize,
    /// The number of this grant: larger than that of every grant before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// When the lease ends, where one is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<f64>,
    /// The stale holder that was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reclaimed_from: Option<String>,
}

/// `merge acquire`: the caller waits.
#[derive(Debug, Serialize)]
pub struct MergeBlocked {
    /// Always `blocked`.
    pub status: Status,
    /// The caller.
    pub plan_id: String,
    /// Always `blocked`.
    pub admission: Admission,
    /// The holder; null when the lock is free but others are ahead, and while another program's
    /// lock file does not say yet whose it is.
    pub blocking_plan_id: Option<String>,
    /// The lock file.
    pub lock_path: String,
    /// Entries in the queue, the holder's and the caller's among them.
    pub waiting_count: usize,
    /// Present and true only when the holder's plan is gone but its worktree is live.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stale_holder_live_worktree: bool,
    /// The caller's place: 1 is next. Left out when it has none of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// Since when the holder has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_since: Option<f64>,
    /// Where the holder works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_where: Option<String>,
    /// What the holder said it needs the lock for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `merge check`: nobody has it.
#[derive(Debug, Serialize)]
pub struct MergeFree {
    /// Always `free`.
    pub status: Status,
    /// The caller; null where nothing names one.
    pub plan_id: Option<String>,
    /// The lock file.
    pub lock_path: String,
}

/// `merge check`: somebody has it.
#[derive(Debug, Serialize)]
pub struct MergeHeld {
    /// Always `held`.
    pub status: Status,
    /// The caller; null where nothing names one.
    pub plan_id: Option<String>,
    /// The holder.
    pub holder_plan_id: String,
    /// The verdict on the holder.
    pub staleness: Staleness,
    /// The lock file.
    pub lock_path: String,
    /// Whether the caller is the holder.
    pub mine: bool,
    /// The number of the holder's grant, where it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// Since when the holder has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_since: Option<f64>,
    /// Where the holder works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_where: Option<String>,
    /// What the holder said it needs the lock for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `merge release`: the caller has let go, or had nothing.
#[derive(Debug, Serialize)]
pub struct MergeReleased {
    /// Always `success`.
    pub status: Status,
    /// The caller.
    pub plan_id: String,
    /// `released` or `noop`.
    pub action: Action,
    /// The lock file.
    pub lock_path: String,
    /// Who holds it, when that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// Entries left in the queue.
    pub waiting_count: usize,
    /// Why nothing was released, and whether a place in the queue was given up; only for a no-op.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The command that would release what the caller may have meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// `merge release --require-stale`: a stale holder was removed, or there was none.
#[derive(Debug, Serialize)]
pub struct MergeEvicted {
    /// Always `success`.
    pub status: Status,
    /// The caller.
    pub plan_id: String,
    /// `released` or `noop`.
    pub action: Action,
    /// `stale`, when a holder was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staleness: Option<Staleness>,
    /// The removed holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reclaimed_from: Option<String>,
    /// The lock file.
    pub lock_path: String,
    /// Entries left in the queue, when a holder was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_count: Option<usize>,
    /// Why nothing was removed; only for a no-op.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// `merge release` or `merge renew`: refused.
#[derive(Debug, Serialize)]
pub struct MergeRefused {
    /// Always `refused`.
    pub status: Status,
    /// The caller.
    pub plan_id: String,
    /// Why.
    pub reason: Refusal,
    /// The holder; left out when nobody holds the lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// The verdict on the holder, when that is why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staleness: Option<Staleness>,
    /// The lock file.
    pub lock_path: String,
}

/// `merge renew`: the caller still holds the lock.
#[derive(Debug, Serialize)]
pub struct MergeRenewed {
    /// Always `success`.
    pub status: Status,
    /// The caller.
    pub plan_id: String,
    /// `renewed`, or `noop` where the holder keeps no lease.
    pub action: Action,
    /// The lock file.
    pub lock_path: String,
    /// The number of the grant, where it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// When the lease ends, where one is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<f64>,
}
