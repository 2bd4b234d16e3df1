//! What `git locks status` says.
//!
//! Times are moments: but for the ages of sessions, the report stays the same as long as nothing happens.

use serde::Serialize;

use super::{BuildHolder, BuildWaiter, Grounds, SessionPeer, Staleness, Status};

/// `status`: every lock of the repository, and of the machine. Outside a repository, the machine's only.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overview {
    /// `success`; `degraded` where some of it could not be read, `unreadable` where nothing could.
    pub status: Status,
    /// The repository; null outside of one.
    pub repository: Option<String>,
    /// The merge lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeOverview>,
    /// The repository lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<RepoOverview>,
    /// The lock of every worktree, the main checkout's first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktrees: Option<Vec<WorktreeOverview>>,
    /// The rate window of every bot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_windows: Option<Vec<WindowOverview>>,
    /// The sessions, the main checkout's first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Vec<SessionPeer>>,
    /// Which leases of sessions could not be read or make no sense, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub session_errors: Vec<String>,
    /// The build queue.
    pub build: BuildOverview,
}

/// The merge lock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MergeOverview {
    /// `free`, `held` or `unreadable`.
    pub status: Status,
    /// The lock file.
    pub lock_path: String,
    /// How many wait; the holder is not among them. Null where that cannot be read.
    pub waiting_count: Option<usize>,
    /// Who has it, if somebody does.
    pub holders: Vec<MergeHolder>,
    /// Those who wait, first come first; the first 100 of them.
    pub waiting: Vec<MergeWaiter>,
    /// What could not be read, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Who has the merge lock. What is not known is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MergeHolder {
    /// Its plan id; null while another program's lock file does not say yet whose it is.
    pub plan_id: Option<String>,
    /// The number of its grant.
    pub fence: Option<u64>,
    /// Since when it has the lock.
    pub since: Option<f64>,
    /// Where it works.
    #[serde(rename = "where")]
    pub workplace: Option<String>,
    /// The verdict on it.
    pub staleness: Staleness,
    /// What that rests on.
    pub evidence: Grounds,
    /// Whether its plan is gone and its worktree is live: a person must decide.
    pub mid_recovery: bool,
    /// When its lease ends, where it is kept by one.
    pub expires_at: Option<f64>,
    /// The process that it named or started.
    pub pid: Option<i64>,
    /// What it said it needs the lock for.
    pub reason: Option<String>,
}

/// One who waits for the merge lock. What is not known is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MergeWaiter {
    /// Its place: 1 is next.
    pub position: usize,
    /// Its plan id.
    pub plan_id: String,
    /// Since when it waits.
    pub since: Option<f64>,
    /// Where it works.
    #[serde(rename = "where")]
    pub workplace: Option<String>,
    /// The verdict on it; `stale` too where its process is gone and its ticket keeps its place.
    pub staleness: Staleness,
    /// What that rests on.
    pub evidence: Grounds,
    /// What it said it needs the lock for.
    pub reason: Option<String>,
}

/// The repository lock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RepoOverview {
    /// `free`, `held` or `unreadable`.
    pub status: Status,
    /// The lock file; null where the repository itself cannot be opened.
    pub lock_path: Option<String>,
    /// The process that has it, and after it those that keep it too, as far as the kernel tells.
    pub holders: Vec<RepoHolder>,
    /// What could not be read, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A process that keeps the repository lock. What is not known is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RepoHolder {
    /// The process.
    pub pid: Option<i64>,
    /// Since when it runs.
    pub since: Option<f64>,
    /// The verdict on it: `fresh`.
    pub staleness: Staleness,
    /// What that rests on: `kernel`.
    pub evidence: Grounds,
    /// What it runs.
    pub command: Option<String>,
}

/// The lock of one worktree. What is not known is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorktreeOverview {
    /// `free`, `held` or `unreadable`.
    pub status: Status,
    /// The worktree's root.
    pub path: String,
    /// What is to be said of the lock.
    pub class: Option<super::WorktreeClass>,
    /// The process that has the lock, or took it last.
    pub pid: Option<i64>,
    /// The name of its host.
    pub host: Option<String>,
    /// Since when it has, or had, the lock; where that is not told, since when it runs.
    pub since: Option<f64>,
    /// The verdict on a holder: `fresh`.
    pub staleness: Option<Staleness>,
    /// What that rests on: `kernel`.
    pub evidence: Option<Grounds>,
    /// What it runs, or ran.
    pub command: Option<String>,
    /// The lock file.
    pub lock_path: Option<String>,
    /// What could not be read, and why.
    pub error: Option<String>,
}

/// The rate window of one bot. What is not known is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowOverview {
    /// `free`, `held` or `unreadable`.
    pub status: Status,
    /// The bot; null where no window can be read.
    pub bot_kind: Option<String>,
    /// Who has it, or had it last.
    pub holder: Option<String>,
    /// The verdict on a holder.
    pub staleness: Option<Staleness>,
    /// What that rests on.
    pub evidence: Option<Grounds>,
    /// When it ends, or has ended.
    pub expires_at: Option<f64>,
    /// The pull request.
    pub pr_number: Option<i64>,
    /// Attempts used for that.
    pub attempts: Option<u64>,
    /// Attempts allowed.
    pub attempt_cap: u64,
    /// What could not be read, and why.
    pub error: Option<String>,
}

/// The build queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BuildOverview {
    /// `free` where a newcomer would be admitted at once, else `held`; or `unreadable`.
    pub status: Status,
    /// The number of slots that a call made here goes by.
    pub max_slots: Option<usize>,
    /// How many have a slot.
    pub active_count: Option<usize>,
    /// How many wait.
    pub waiting_count: Option<usize>,
    /// The queue's file.
    pub queue_path: Option<String>,
    /// Whose queue it is.
    pub user: String,
    /// All the numbers of slots that those in this report go by, where they are not one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disagreeing_slots: Vec<usize>,
    /// Those who have a slot.
    pub active: Vec<Evident<BuildHolder>>,
    /// Those who wait, first come first; the first 100 of them.
    pub waiting: Vec<Evident<BuildWaiter>>,
    /// What could not be read, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A participant as its own report has it, and what the verdict on it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evident<T> {
    /// The participant.
    #[serde(flatten)]
    pub who: T,
    /// What the verdict rests on.
    pub evidence: Grounds,
}
