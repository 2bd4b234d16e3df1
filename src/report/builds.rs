//! What the build queue says.

use serde::Serialize;

use super::{Action, Admission, Refusal, Staleness, Status};

/// `build acquire`: the caller has a slot, or waits for one.
#[derive(Debug, Serialize)]
pub struct BuildAcquired {
    /// Always `success`: a blocked caller exits 75.
    pub status: Status,
    /// The caller.
    pub plan_id: String,
    /// The caller's entry; null where it left none.
    pub id: Option<String>,
    /// `admitted` or `blocked`.
    pub admission: Admission,
    /// The caller's number of slots.
    pub max_slots: usize,
    /// How many have a slot, the caller among them when it is admitted.
    pub active_count: usize,
    /// How many wait, the caller among them when it is blocked.
    pub waiting_count: usize,
    /// The queue's file.
    pub queue_path: String,
    /// The number of the caller's slot, from 1, where it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<usize>,
    /// When the lease ends, where one is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<f64>,
    /// The caller's place: 1 is next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
}

/// `build release`: the entry is gone, or there was none.
#[derive(Debug, Serialize)]
pub struct BuildReleased {
    /// Always `success`.
    pub status: Status,
    /// The caller.
    pub plan_id: String,
    /// The entry; null where none was named and the caller had none.
    pub id: Option<String>,
    /// `released` or `noop`.
    pub action: Action,
    /// Whose turn came with it; null where nobody's did.
    pub promoted: Option<String>,
    /// The caller's number of slots.
    pub max_slots: usize,
    /// How many have a slot.
    pub active_count: usize,
    /// How many wait.
    pub waiting_count: usize,
    /// The queue's file.
    pub queue_path: String,
    /// Why nothing was released; only for a no-op.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// `build acquire`, `build release` or `build renew`: refused.
#[derive(Debug, Serialize)]
pub struct BuildRefused {
    /// Always `refused`.
    pub status: Status,
    /// The caller.
    pub plan_id: String,
    /// The entry that is the reason, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Why.
    pub reason: Refusal,
    /// The queue's file.
    pub queue_path: String,
}

/// `build renew`: the caller still has its slot.
#[derive(Debug, Serialize)]
pub struct BuildRenewed {
    /// Always `success`.
    pub status: Status,
    /// The caller.
    pub plan_id: String,
    /// The caller's entry.
    pub id: String,
    /// `renewed`, or `noop` where the holder keeps no lease.
    pub action: Action,
    /// The queue's file.
    pub queue_path: String,
    /// The number of its slot, where it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<usize>,
    /// When the lease ends, where one is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<f64>,
}

/// `build check`: who builds, and who waits.
#[derive(Debug, Serialize)]
pub struct BuildQueue {
    /// `free` where a newcomer would be admitted at once, else `held`.
    pub status: Status,
    /// The caller; null where nothing names one.
    pub plan_id: Option<String>,
    /// The caller's number of slots.
    pub max_slots: usize,
    /// How many have a slot.
    pub active_count: usize,
    /// How many wait.
    pub waiting_count: usize,
    /// The queue's file.
    pub queue_path: String,
    /// Whose queue it is.
    pub user: String,
    /// Whether the caller has a slot.
    pub mine: bool,
    /// The caller's place among those who wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// All the numbers of slots that somebody goes by, the caller's among them, where they are not one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disagreeing_slots: Vec<usize>,
    /// Those who have a slot.
    pub active: Vec<BuildHolder>,
    /// Those who wait, first come first.
    pub waiting: Vec<BuildWaiter>,
}

/// One who has a slot. What is not known is null, so that every row has the same fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BuildHolder {
    /// The number of its slot.
    pub slot: Option<usize>,
    /// Its entry.
    pub id: String,
    /// Its plan id.
    pub plan_id: String,
    /// Its project.
    pub project_root: Option<String>,
    /// Since when it has the slot.
    pub since: Option<f64>,
    /// The verdict on it.
    pub staleness: Staleness,
    /// The number of slots it goes by.
    pub max_slots: Option<usize>,
    /// When its lease ends, where it is kept by one.
    pub expires_at: Option<f64>,
    /// What it runs.
    pub command: Option<String>,
    /// What it said it needs the slot for.
    pub reason: Option<String>,
}

/// One who waits. What is not known is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BuildWaiter {
    /// Its place: 1 is next.
    pub position: usize,
    /// Its entry.
    pub id: String,
    /// Its plan id.
    pub plan_id: String,
    /// Its project.
    pub project_root: Option<String>,
    /// Since when it waits.
    pub since: f64,
    /// The verdict on it.
    pub staleness: Staleness,
    /// The number of slots it goes by.
    pub max_slots: Option<usize>,
    /// What it would run.
    pub command: Option<String>,
    /// What it said it needs the slot for.
    pub reason: Option<String>,
}
