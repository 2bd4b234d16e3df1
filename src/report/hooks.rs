//! What `git locks hook` says.

use serde::Serialize;

use super::Status;

/// What was done to a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookAction {
    /// There was no hook; now there is ours.
    Installed,
    /// Our lines were added to the hook that was there.
    Added,
    /// Our lines were there, and say something else now.
    Updated,
    /// Our hook, or our lines, were taken away.
    Removed,
    /// There was nothing to do.
    Noop,
}

/// Why a hook was left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookRefusal {
    /// There is a hook that is not ours.
    AnotherHook,
    /// The hook that is there cannot bear our lines.
    CannotAppend,
    /// Our lines in it are not as they were written.
    Changed,
    /// The directory of hooks is not this repository's alone.
    SharedHooks,
}

/// `hook install` and `hook uninstall`.
#[derive(Debug, Serialize)]
pub struct HookChanged {
    /// `success` or `refused`.
    pub status: Status,
    /// What was done; left out when nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<HookAction>,
    /// Why nothing was done, when that was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<HookRefusal>,
    /// Always `pre-push`.
    pub hook: &'static str,
    /// The hook's file.
    pub hook_path: String,
    /// `hook install`: the patterns; none for the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protect: Option<Vec<String>>,
    /// `hook install`: whether the hook only checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require: Option<bool>,
    /// What stands in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What a hook has to run that is to do the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The next thing to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Why a push was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PushRefusal {
    /// Its turn did not come in time.
    NotAdmitted,
    /// The pusher does not hold the lock, and is required to.
    NotHeld,
    /// The pusher holds the lock, but its time is over.
    Stale,
    /// The holder waits for this very push.
    OwnParent,
}

/// `hook pre-push`: the push must not go on.
#[derive(Debug, Serialize)]
pub struct PushStopped {
    /// `blocked` or `refused`.
    pub status: Status,
    /// The pusher.
    pub plan_id: String,
    /// Why.
    pub reason: PushRefusal,
    /// The protected refs, or the first of them.
    pub refs: Vec<String>,
    /// How many protected refs there are.
    pub ref_count: usize,
    /// The lock file.
    pub lock_path: String,
    /// Who holds the lock; left out when nobody does, or nobody can tell yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// Since when the holder has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_since: Option<f64>,
    /// Where the holder works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_where: Option<String>,
    /// What the holder said it needs the lock for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_reason: Option<String>,
    /// The place that is kept for the next push of this checkout; 1 is next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// How long was waited, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited: Option<f64>,
    /// The command that would do it right.
    pub command: String,
}
