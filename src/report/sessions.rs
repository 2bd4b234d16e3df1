//! What the session leases say.

use serde::Serialize;

use super::{Action, Status};

/// A session as its lease notes it. What is not noted is null.
#[derive(Clone, Debug, Serialize)]
pub struct SessionNoted {
    /// The session's own id.
    pub session_id: String,
    /// What kind of work it is.
    pub mode: Option<String>,
    /// The name of its host.
    pub host: Option<String>,
    /// A process that once wrote the lease; it tells nothing of the session.
    pub pid: Option<i64>,
    /// When it began.
    pub started_at: Option<f64>,
    /// When it last said that it is at work.
    pub last_heartbeat: Option<f64>,
    /// For how many hours after that it counts as active.
    pub ttl_hours: f64,
    /// A label for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantic_session_id: Option<String>,
}

/// Whether a lease was still believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionState {
    /// Its heartbeat is younger than its TTL.
    Active,
    /// It is not.
    Stale,
    /// It made no sense.
    Corrupt,
    /// It was the caller's own.
    Own,
}

/// Why a session could not begin, or begins without a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionReason {
    /// Another session is at work in the checkout.
    Active,
    /// Another session is noted, and has been silent for longer than its TTL.
    StaleHeartbeat,
    /// The lease makes no sense.
    Corrupt,
    /// A session in another worktree, or this one, wants to be alone.
    ActiveIncompatibleExclusive,
    /// A session of the same kind is at work in another worktree.
    ActiveCompatibleParallel,
    /// Others are at work in other worktrees, and this one only reads.
    ActiveReadonlyBypass,
    /// The lease could not be read or written.
    FsError,
}

/// What a person is advised to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recommendation {
    /// Leave it alone.
    Abort,
    /// Take its place.
    Reclaim,
}

/// `session acquire`, `heartbeat`: the caller's lease stands.
#[derive(Debug, Serialize)]
pub struct SessionLeased {
    /// Always `success`.
    pub status: Status,
    /// The session's own id.
    pub session_id: String,
    /// `acquired`, or `renewed` where it was noted already.
    pub action: Action,
    /// What kind of work it is.
    pub mode: Option<String>,
    /// When it began.
    pub started_at: Option<f64>,
    /// When it last said that it is at work: now.
    pub last_heartbeat: f64,
    /// For how many hours after that it counts as active.
    pub ttl_hours: f64,
    /// A label for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantic_session_id: Option<String>,
    /// The lease.
    pub lock_path: String,
}

/// `session acquire`, `run`: the checkout's lease is in the way.
#[derive(Debug, Serialize)]
pub struct SessionBlocked {
    /// Always `blocked`.
    pub status: Status,
    /// The caller's session.
    pub session_id: String,
    /// `active`, `stale-heartbeat` or `corrupt`.
    pub reason: SessionReason,
    /// Whose it is; left out where it makes no sense.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub existing: Option<SessionNoted>,
    /// For how many hours that session has been going on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_hours: Option<f64>,
    /// For how many minutes it has been silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heartbeat_age_minutes: Option<f64>,
    /// Whether it is of this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_host: Option<bool>,
    /// What is best done.
    pub recommendation: Recommendation,
    /// The lease.
    pub lock_path: String,
}

/// `session acquire --consider-peers`: sessions in other worktrees decided. No lease is noted.
#[derive(Debug, Serialize)]
pub struct SessionBeside {
    /// `blocked`; or `success`, where the caller only reads.
    pub status: Status,
    /// The caller's session.
    pub session_id: String,
    /// One of the three that speak of peers.
    pub reason: SessionReason,
    /// `noop`, with `success`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// The session that decided.
    pub blocking_session_id: String,
    /// What kind of work that is.
    pub blocking_mode: Option<String>,
    /// Where it works.
    pub blocking_worktree: String,
    /// The live sessions of the other worktrees.
    pub peers: Vec<SessionPeer>,
}

/// `session acquire`, `heartbeat`, `take`, `release`: the lease could not be read or written, and the
/// session goes on without.
#[derive(Debug, Serialize)]
pub struct SessionDegraded {
    /// Always `degraded`.
    pub status: Status,
    /// The caller's session.
    pub session_id: String,
    /// Always `fs-error`.
    pub reason: SessionReason,
    /// What went wrong.
    pub error: String,
    /// The lease.
    pub lock_path: String,
}

/// `session check`.
#[derive(Debug, Serialize)]
pub struct SessionChecked {
    /// `free`, `held`, `corrupt` or `unreadable`.
    pub status: Status,
    /// Whether it is the session that was named; null where one is noted and none was named.
    pub mine: Option<bool>,
    /// Whose it is.
    #[serde(flatten)]
    pub existing: Option<SessionNoted>,
    /// For how many hours that session has been going on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_hours: Option<f64>,
    /// For how many minutes it has been silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heartbeat_age_minutes: Option<f64>,
    /// `active` or `stale`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
    /// Whether it is of this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_host: Option<bool>,
    /// What kept it from being read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The lease.
    pub lock_path: String,
}

/// `session take`: the caller's session is noted, whoever was before.
#[derive(Debug, Serialize)]
pub struct SessionTaken {
    /// Always `success`.
    pub status: Status,
    /// The session's own id.
    pub session_id: String,
    /// `acquired`, or `reclaimed` where another's was replaced.
    pub action: Action,
    /// Whose was replaced; null where there was none, or it made no sense.
    pub replaced: Option<SessionNoted>,
    /// What that was like; null where there was none.
    pub replaced_state: Option<SessionState>,
    /// For how many hours that session had been going on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_hours: Option<f64>,
    /// For how many minutes it had been silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heartbeat_age_minutes: Option<f64>,
    /// Where a lease that made no sense was put.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<String>,
    /// For how many hours after its last heartbeat the session counts as active.
    pub ttl_hours: f64,
    /// The lease.
    pub lock_path: String,
}

/// Why a session's request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionRefusal {
    /// Nobody has said yes.
    NotConfirmed,
    /// Another session is noted.
    NotYours,
    /// None is noted.
    NotNoted,
    /// The lease makes no sense.
    Corrupt,
    /// Somebody has written the lease since it was looked at.
    Changed,
}

/// `session heartbeat`, `release`, `take`: refused; the lease is as it was.
#[derive(Debug, Serialize)]
pub struct SessionRefused {
    /// Always `refused`.
    pub status: Status,
    /// The caller's session.
    pub session_id: String,
    /// Why.
    pub reason: SessionRefusal,
    /// Whose session is noted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub existing: Option<SessionNoted>,
    /// `active`, `stale` or `corrupt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
    /// The lease.
    pub lock_path: String,
    /// The command that would not be refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// `session release`: the session is over.
#[derive(Debug, Serialize)]
pub struct SessionReleased {
    /// Always `success`.
    pub status: Status,
    /// The session's own id.
    pub session_id: String,
    /// `released`, or `noop` where none was noted.
    pub action: Action,
    /// The lease.
    pub lock_path: String,
}

/// What tells of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionSource {
    /// Its lease.
    Lock,
    /// The front matter of a `STATE.md`.
    StateMd,
}

/// A session in a worktree of the repository. What is not known is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionPeer {
    /// The worktree's root.
    pub worktree: String,
    /// The branch that is checked out there.
    pub branch: Option<String>,
    /// What tells of it.
    pub source: SessionSource,
    /// The session's own id, or, of a `STATE.md`, the id that it bears.
    pub session_id: String,
    /// A label for people.
    pub semantic_session_id: Option<String>,
    /// What kind of work it is.
    pub mode: Option<String>,
    /// The name of its host.
    pub host: Option<String>,
    /// Whether that is this host.
    pub same_host: Option<bool>,
    /// When it began.
    pub started_at: Option<f64>,
    /// For how many hours it has been going on.
    pub age_hours: Option<f64>,
    /// For how many minutes it has been silent.
    pub heartbeat_age_minutes: Option<f64>,
    /// Whether it is younger than its TTL.
    pub live: bool,
    /// Which wave it is in, as its worktree's `STATE.md` says.
    pub current_wave: Option<i64>,
    /// Whether it is the session that was named; null where none was.
    pub mine: Option<bool>,
}

/// `session peers`.
#[derive(Debug, Serialize)]
pub struct SessionsFound {
    /// Always `success`.
    pub status: Status,
    /// How many of them are live and not the caller's.
    pub live_peers: usize,
    /// The sessions, the main checkout's first.
    pub peers: Vec<SessionPeer>,
}
