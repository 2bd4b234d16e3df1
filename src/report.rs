//! The output contract: one report per call, the same in every format.
//!
//! Field names and their order are wire: other programs read them (`doc/output.md`). Fields of
//! our own come after the canonical ones. An absent field is left out; `null` is written only
//! where an `Option` below is not skipped. Times are float seconds since the Unix epoch.

mod builds;
mod doctor;
mod hooks;
mod kernels;
mod manual;
mod merges;
mod sessions;
mod status;
mod timeline;
mod windows;

use std::fmt::Debug;

use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::exit::Exit;

pub use builds::*;
pub use doctor::*;
pub use hooks::*;
pub use kernels::*;
pub use manual::*;
pub use merges::*;
pub use sessions::*;
pub use status::*;
pub use timeline::*;
pub use windows::*;

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
    BuildAcquired(BuildAcquired),
    BuildReleased(BuildReleased),
    BuildRefused(BuildRefused),
    BuildRenewed(BuildRenewed),
    BuildQueue(BuildQueue),
    KernelBlocked(KernelBlocked),
    KernelRefused(KernelRefused),
    KernelState(KernelState),
    KernelPath(KernelPath),
    WorktreeState(WorktreeState),
    WorktreeCleanup(WorktreeCleanup),
    SessionLeased(SessionLeased),
    SessionBlocked(SessionBlocked),
    SessionBeside(SessionBeside),
    SessionDegraded(SessionDegraded),
    SessionChecked(SessionChecked),
    SessionTaken(SessionTaken),
    SessionRefused(SessionRefused),
    SessionReleased(SessionReleased),
    SessionsFound(SessionsFound),
    Overview(Box<Overview>),
    Timeline(Timeline),
    TimelineEntry(TimelineEntry),
    TimelineSummary(TimelineSummary),
    Diagnosis(Diagnosis),
    HookChanged(HookChanged),
    PushStopped(PushStopped),
    ManualInstalled(ManualInstalled),
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
    /// It is there, and makes no sense.
    Corrupt,
    /// It is there, and cannot be read.
    Unreadable,
    /// Done without: a file could not be read or written.
    Degraded,
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

/// What a verdict on a participant rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grounds {
    /// Its own process, or the command that it started.
    Presence,
    /// A process that it named.
    Process,
    /// A promise with an end.
    Lease,
    /// Its plan, or the worktree of that.
    Plan,
    /// That it has asked lately.
    Ticket,
    /// The age of its file or entry: nothing else is known of it.
    Age,
    /// A kernel lock that is held.
    Kernel,
    /// Nothing yet: our record of it was lost, or cannot be read.
    Lost,
    /// Nothing at all: what is written there is nobody's name.
    Nothing,
}

/// What is to be said of a worktree's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorktreeClass {
    /// There is no lock file.
    NoLockFile,
    /// The lock is held.
    Live,
    /// It is not held, and what its file says makes no sense.
    Orphan,
    /// It is not held, and who took it last has ended.
    Stale,
    /// It is not held, and who took it last may still be there.
    Idle,
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
    /// Reports for standard output that come one after another.
    Stream(Box<dyn Stream>),
    /// Text for standard output, as it is, whatever the format.
    Text(String, Exit),
    /// Nothing to add to what another command said and to its exit code.
    Silent(Exit),
}

impl Outcome {
    /// A report and its exit code.
    pub fn new(report: Report, exit: Exit) -> Self {
        Self::Report(Box::new(report), exit)
    }
}

/// Reports that come one after another, for as long as somebody reads them.
pub trait Stream: Debug {
    /// What comes next; waits for it.
    ///
    /// # Errors
    /// Nothing more can come.
    fn next(&mut self) -> Result<Next>;
    /// Waits until standard output takes words; the end, where that comes first.
    fn room(&mut self) -> Option<Exit>;
}

/// What a [`Stream`] gives.
#[derive(Debug)]
pub enum Next {
    /// A report.
    Report(Box<Report>),
    /// A line for standard error.
    Note(Note),
    /// Nothing more.
    End(Exit),
}
