//! What the locks say whose authority is the kernel.

use serde::Serialize;

use super::{Refusal, Status, WorktreeClass};

/// `repo run` or `worktree run`: the lock was not to be had in time.
#[derive(Debug, Serialize)]
pub struct KernelBlocked {
    /// Always `blocked`.
    pub status: Status,
    /// The lock file.
    pub lock_path: String,
    /// The worktree, where the lock is one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The process that has the lock, where that can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_pid: Option<i64>,
    /// Where it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_host: Option<String>,
    /// Since when it has the lock, or, where that is not told, since when it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_since: Option<f64>,
    /// What it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_command: Option<String>,
    /// For how many seconds it was waited for; left out where a wait had no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
}

/// `repo run` or `worktree run`: refused.
#[derive(Debug, Serialize)]
pub struct KernelRefused {
    /// Always `refused`.
    pub status: Status,
    /// Why.
    pub reason: Refusal,
    /// The lock file.
    pub lock_path: String,
    /// The worktree, where the lock is one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The process that has the lock, where that can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_pid: Option<i64>,
    /// What it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_command: Option<String>,
}

/// `repo check`: whether the lock is held, and by whom, as far as the kernel tells.
#[derive(Debug, Serialize)]
pub struct KernelState {
    /// `free` or `held`.
    pub status: Status,
    /// The lock file.
    pub lock_path: String,
    /// The process that has the lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_pid: Option<i64>,
    /// What it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_command: Option<String>,
    /// Since when it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_since: Option<f64>,
    /// Whether it is one that the caller descends from; left out when nobody has the lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mine: Option<bool>,
    /// The other processes that have the locked file open: the lock is held until all have ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keepers: Vec<KernelKeeper>,
}

/// A process that keeps a lock which another took. What is not known is null.
#[derive(Debug, Serialize)]
pub struct KernelKeeper {
    /// The process.
    pub pid: i64,
    /// Since when it runs.
    pub since: Option<f64>,
    /// What it runs.
    pub command: Option<String>,
}

/// `repo path`: the lock file.
#[derive(Debug, Serialize)]
pub struct KernelPath {
    /// Always `success`.
    pub status: Status,
    /// The lock file; it need not be there.
    pub lock_path: String,
}

/// `worktree check`: the same as of the repository lock, and what the lock file says.
#[derive(Debug, Serialize)]
pub struct WorktreeState {
    /// The lock.
    #[serde(flatten)]
    pub lock: KernelState,
    /// The worktree.
    pub workspace: String,
    /// What is to be said of it.
    pub class: WorktreeClass,
    /// Who took the lock last, as it wrote itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<WorktreeOwner>,
}

/// Who took a worktree's lock last, as it wrote itself. What it did not write is null.
#[derive(Debug, Serialize)]
pub struct WorktreeOwner {
    /// The process.
    pub pid: i64,
    /// The name of its host.
    pub host: String,
    /// When it took the lock.
    pub since: Option<f64>,
    /// What it ran.
    pub command: Option<String>,
}

/// `worktree cleanup`: every worktree of the repository.
#[derive(Debug, Serialize)]
pub struct WorktreeCleanup {
    /// `success`, or `refused` where sentinels were to be rewritten and nobody has said yes.
    pub status: Status,
    /// How many sentinels were rewritten.
    pub refreshed: usize,
    /// The worktrees as they were found, the main checkout first.
    pub worktrees: Vec<WorktreeRow>,
    /// Why it was refused: `not_confirmed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The command that would not be refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// One worktree and its lock. What is not known is null.
#[derive(Debug, Serialize)]
pub struct WorktreeRow {
    /// Its root.
    pub path: String,
    /// What is to be said of its lock; never `idle`: an owner that may still be there is `live`.
    pub class: WorktreeClass,
    /// The process that has the lock, or took it last.
    pub pid: Option<i64>,
    /// The name of its host.
    pub host: Option<String>,
    /// Since when it has, or had, the lock; where that is not told, since when it runs.
    pub since: Option<f64>,
    /// What it runs, or ran.
    pub command: Option<String>,
    /// The lock file.
    pub lock_path: String,
}
