//! The output contract: one report per call, the same in every format.
//!
//! Field names and their order are wire: other programs read them (`doc/output.md`). Fields of
//! our own come after the canonical ones. An absent field is left out; `null` is written only
//! where an `Option` below is not skipped. Times are float seconds since the Unix epoch.

use serde::Serialize;
use serde_json::Value;

use crate::error::Error;
use crate::exit::Exit;

/// What one call has to say.
#[derive(Debug, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "each variant is named after the type it holds")]
pub enum Report {
    MergeAdmitted(MergeAdmitted),
    MergeBlocked(MergeBlocked),
    MergeFree(MergeFree),
    MergeHeld(MergeHeld),
    MergeReleased(MergeReleased),
    MergeEvicted(MergeEvicted),
    MergeRefused(MergeRefused),
    MergeRenewed(MergeRenewed),
    WindowClaimed(WindowClaimed),
    WindowBlocked(WindowBlocked),
    WindowExhausted(WindowExhausted),
    WindowState(WindowState),
    WindowReleased(WindowReleased),
    Failed(Failed),
}

impl Report {
    /// The report as plain data, its fields in wire order.
    pub fn to_value(&self) -> Value {
        // Structs of strings, numbers and booleans always serialise.
        serde_json::to_value(self).unwrap_or(Value::Null)
    }
}

/// The first word of every report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Done.
    Success,
    /// Not now: try again later.
    Blocked,
    /// Not at all, as things stand.
    Refused,
    /// Nobody has it.
    Free,
    /// Somebody has it.
    Held,
    /// Something failed.
    Error,
}

/// Whether the caller got in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Admission {
    /// The caller holds the lock.
    Admitted,
    /// The caller stands in the queue.
    Blocked,
}

/// What a call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words are the contract's own")]
pub enum Action {
    Acquired,
    AlreadyHeld,
    Released,
    Noop,
    Renewed,
    Claimed,
    Reclaimed,
}

/// Whether a participant is provably there, provably gone, or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Staleness {
    /// Alive, or recovering.
    Fresh,
    /// Provably gone: may be reclaimed.
    Stale,
    /// Could not be observed: never reclaimed.
    Unknown,
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// `--require-stale` met a holder that is alive or cannot be judged.
    HolderNotProvablyDead,
    /// The holder's process is there; only it may let go.
    HolderPresent,
    /// The caller does not hold what it wants to renew.
    LockLost,
    /// The holder waits for the caller, which descends from its command.
    OwnParent,
}

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

/// `merge rate-window claim`: the caller has the window.
#[derive(Debug, Serialize)]
pub struct WindowClaimed {
    /// Always `success`.
    pub status: Status,
    /// The caller.
    pub plan_id: String,
    /// The bot whose window it is.
    pub bot_kind: String,
    /// `claimed`, `renewed` or `reclaimed`.
    pub action: Action,
    /// The holder: the caller.
    pub holder: String,
    /// The pull request.
    pub pr_number: i64,
    /// When the window ends.
    pub expires_at: f64,
    /// Seconds until then.
    pub seconds_remaining: f64,
    /// Attempts used for this bot and pull request.
    pub attempts: u64,
    /// Attempts allowed.
    pub attempt_cap: u64,
    /// Attempts left.
    pub attempts_remaining: u64,
    /// The holder it was taken from; null unless reclaimed.
    pub reclaimed_from: Option<String>,
}

/// `merge rate-window claim`: another plan has the window.
#[derive(Debug, Serialize)]
pub struct WindowBlocked {
    /// Always `blocked`.
    pub status: Status,
    /// The caller.
    pub plan_id: String,
    /// The bot whose window it is.
    pub bot_kind: String,
    /// Always `window_held_by_other_plan`.
    pub reason: &'static str,
    /// Who has it.
    pub holder: String,
    /// The pull request it is for.
    pub pr_number: Option<i64>,
    /// When it ends.
    pub expires_at: f64,
    /// Seconds until then.
    pub seconds_remaining: f64,
    /// Attempts used for this bot and pull request.
    pub attempts: u64,
    /// Attempts allowed.
    pub attempt_cap: u64,
}

/// `merge rate-window claim`: no attempts are left.
#[derive(Debug, Serialize)]
pub struct WindowExhausted {
    /// Always `refused`.
    pub status: Status,
    /// The caller.
    pub plan_id: String,
    /// The bot whose window it is.
    pub bot_kind: String,
    /// Always `recovery_cap_exhausted`.
    pub reason: &'static str,
    /// The pull request.
    pub pr_number: i64,
    /// Attempts used for this bot and pull request.
    pub attempts: u64,
    /// Attempts allowed.
    pub attempt_cap: u64,
}

/// `merge rate-window check`.
#[derive(Debug, Serialize)]
pub struct WindowState {
    /// `free` or `held`.
    pub status: Status,
    /// The caller; null where nothing names one.
    pub plan_id: Option<String>,
    /// The bot whose window it is.
    pub bot_kind: String,
    /// Who has it; null when unclaimed.
    pub holder: Option<String>,
    /// The pull request; null when unclaimed.
    pub pr_number: Option<i64>,
    /// When it ends; null when unclaimed.
    pub expires_at: Option<f64>,
    /// Seconds until then, 0.0 when that has passed.
    pub seconds_remaining: f64,
    /// Whether it has ended; true when unclaimed.
    pub expired: bool,
    /// Attempts used for this bot and its last pull request.
    pub attempts: u64,
    /// Attempts allowed.
    pub attempt_cap: u64,
    /// Attempts left.
    pub attempts_remaining: u64,
}

/// `merge rate-window release`.
#[derive(Debug, Serialize)]
pub struct WindowReleased {
    /// Always `success`.
    pub status: Status,
    /// The caller.
    pub plan_id: String,
    /// The bot whose window it is.
    pub bot_kind: String,
    /// `released` or `noop`.
    pub action: Action,
    /// Who has it now; null after a release.
    pub holder: Option<String>,
    /// Attempts used: a release gives none back.
    pub attempts: u64,
    /// Attempts allowed.
    pub attempt_cap: u64,
}

/// A failure, as a report.
#[derive(Debug, Serialize)]
pub struct Failed {
    /// What went wrong, in one line.
    pub error: String,
    /// Always `error`.
    pub status: Status,
    /// `NOT_FOUND`, `INVALID_INPUT`, `TIMEOUT` or `IO`.
    pub error_code: &'static str,
    /// The caller, where it was known by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// The next thing to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Failed {
    /// The report of `error`, met by `plan_id` where the caller was known.
    pub fn new(error: &Error, plan_id: Option<String>) -> Self {
        Self {
            error: error.message().to_owned(),
            status: Status::Error,
            error_code: error.kind().code(),
            plan_id,
            hint: error.hint().map(ToOwned::to_owned),
        }
    }
}

/// A line for standard error beside the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Something is not as it should be.
    Warning(String),
    /// Something worth knowing; silenced by `-q`.
    Info(String),
    /// Detail for the curious; shown with `-v`.
    Detail(String),
}

/// What a command gives back to be rendered.
#[derive(Debug)]
pub enum Outcome {
    /// A report for standard output, and the exit code, unless `--exit-zero` says otherwise.
    Report(Box<Report>, Exit),
    /// A report for standard error, where standard output is another command's.
    Aside(Box<Report>, Exit),
    /// Nothing to add to what another command said and to its exit code.
    Silent(Exit),
}

impl Outcome {
    /// A report and its exit code.
    pub fn new(report: Report, exit: Exit) -> Self {
        Self::Report(Box::new(report), exit)
    }
}
