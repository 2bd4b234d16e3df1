//! The session leases' part of the command line.

use clap::{Args, Subcommand};

use super::Conduct;

/// The verbs of the session leases.
#[derive(Debug, Subcommand)]
pub enum Session {
    /// Note the session in this checkout; exits 75 when another is noted
    Acquire(SessionAcquire),
    /// Say whose session is noted in this checkout, without touching it
    Check(SessionCheck),
    /// Say that the session is still at work; exits 1 when it is not noted
    Heartbeat(SessionBeat),
    /// Put the session in the place of whichever is noted
    Take(SessionTake),
    /// Say that the session is over; exits 1 when another one is noted
    Release(SessionOver),
    /// Say which sessions are noted in the worktrees of the repository
    Peers(SessionPeers),
    /// Note a session, run a command as that session, and end it
    Run(SessionRun),
}

/// Which session.
#[derive(Args, Clone, Debug)]
pub struct SessionId {
    /// The session's own id, exactly as it was noted [env: GIT_LOCKS_SESSION_ID]
    #[arg(long, value_name = "ID")]
    pub session_id: Option<String>,
}

/// What is noted of a session.
#[derive(Args, Clone, Debug)]
pub struct SessionTerms {
    /// Which session.
    #[command(flatten)]
    pub id: SessionId,
    /// For how many hours after its last heartbeat the session counts as active [default: 4]
    #[arg(long, value_name = "H", allow_negative_numbers = true)]
    pub ttl_hours: Option<f64>,
    /// A label for people; it proves nothing
    #[arg(long, value_name = "S")]
    pub semantic_session_id: Option<String>,
}

/// `session acquire`.
#[derive(Args, Debug)]
pub struct SessionAcquire {
    /// What kind of work it is, such as feature, deep, housekeeping or discovery
    #[arg(long, value_name = "MODE")]
    pub mode: String,
    /// What is noted.
    #[command(flatten)]
    pub terms: SessionTerms,
    /// Also weigh the sessions of the repository's other worktrees
    #[arg(long)]
    pub consider_peers: bool,
}

/// `session check`.
#[derive(Args, Debug)]
pub struct SessionCheck {
    /// Which session.
    #[command(flatten)]
    pub id: SessionId,
    /// Exit 1 when another session is noted, or what is noted cannot be read
    #[arg(long)]
    pub exit_code: bool,
}

/// `session heartbeat`.
#[derive(Args, Debug)]
pub struct SessionBeat {
    /// Which session.
    #[command(flatten)]
    pub id: SessionId,
}

/// `session take`.
#[derive(Args, Debug)]
pub struct SessionTake {
    /// What kind of work it is, such as feature, deep, housekeeping or discovery
    #[arg(long, value_name = "MODE")]
    pub mode: String,
    /// What is noted.
    #[command(flatten)]
    pub terms: SessionTerms,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// `session release`.
#[derive(Args, Debug)]
pub struct SessionOver {
    /// Which session.
    #[command(flatten)]
    pub id: SessionId,
}

/// `session peers`.
#[derive(Args, Debug)]
pub struct SessionPeers {
    /// Which session.
    #[command(flatten)]
    pub id: SessionId,
    /// The label of the caller's session, as its STATE.md may bear it
    #[arg(long, value_name = "S")]
    pub semantic_session_id: Option<String>,
    /// Exit 1 when there is a live session that is not the caller's
    #[arg(long)]
    pub exit_code: bool,
}

/// `session run`.
#[derive(Args, Debug)]
pub struct SessionRun {
    /// What kind of work it is, such as feature, deep, housekeeping or discovery
    #[arg(long, value_name = "MODE", default_value = "feature")]
    pub mode: String,
    /// What is noted.
    #[command(flatten)]
    pub terms: SessionTerms,
    /// Also weigh the sessions of the repository's other worktrees
    #[arg(long)]
    pub consider_peers: bool,
    /// How the command is run.
    #[command(flatten)]
    pub conduct: Conduct,
}
