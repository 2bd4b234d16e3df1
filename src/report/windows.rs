//! What a bot's rate window says.

use serde::Serialize;

use super::{Action, Status};

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
