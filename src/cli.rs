//! The command line: definitions only, no logic. clap lives here only.

pub mod outline;
mod refusal;
mod sessions;
mod tools;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub use refusal::{Refusal, names_run, parse};
pub use sessions::*;
pub use tools::*;

/// Take turns in a git repository.
///
/// Every worktree of a repository, and every program in it, asks the same lock; whoever asks
/// first goes first.
#[derive(Debug, Parser)]
#[command(
    name = "git-locks",
    bin_name = "git locks",
    version,
    max_term_width = 80
)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    /// Options that every verb takes.
    #[command(flatten)]
    pub global: Global,
    /// The lock family.
    #[command(subcommand)]
    pub family: Family,
}

/// Options that every verb takes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options of every command")]
pub struct Global {
    /// Act as if started in DIR; given several times, each is relative to the one before
    #[arg(short = 'C', value_name = "DIR", global = true, value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub directory: Vec<PathBuf>,
    /// How to print the report [default: human on a terminal, toon otherwise]
    #[arg(long, value_name = "FORMAT", value_enum, global = true)]
    pub format: Option<Format>,
    /// Exit 0 whenever a report was printed, for callers that read `status`; `run` takes no notice
    #[arg(long, global = true)]
    pub exit_zero: bool,
    /// Print no notes on standard error
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more on standard error
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Whether the human form is coloured
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, global = true)]
    pub color: Color,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Token-Oriented Object Notation: one `key: value` a line
    Toon,
    /// JSON
    Json,
    /// Sentences for people
    Human,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The lock families.
#[derive(Debug, Subcommand)]
pub enum Family {
    /// The merge lock: one merge at a time, first come first served
    #[command(subcommand)]
    Merge(Merge),
    /// The build queue: at most so many builds at once on this machine
    #[command(subcommand)]
    Build(Build),
    /// The repository lock: one process at a time changes the branches
    #[command(subcommand)]
    Repo(Repo),
    /// The worktree lock: one attempt at a time in a worktree
    #[command(subcommand)]
    Worktree(Worktree),
    /// The session lease: notice who is at work in a checkout already
    #[command(subcommand)]
    Session(Session),
    /// Say who has and waits for every lock, here and on this machine
    Status(StatusArgs),
    /// Tell what has happened to the locks
    Log(LogArgs),
    /// Look for what is not as it should be
    Doctor(DoctorArgs),
    /// Make git ask for the merge lock before it pushes
    #[command(subcommand)]
    Hook(Hook),
    /// Print what a shell's prompt may show
    Prompt(Who),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Show a manual page, or install them all
    Man(ManArgs),
    /// Say what may come next on a command line
    #[command(hide = true)]
    Complete(CompleteArgs),
    /// Become the command when the enclosing run says so
    #[command(hide = true)]
    Become(Become),
}

/// The verbs of the merge lock.
#[derive(Debug, Subcommand)]
pub enum Merge {
    /// Take the lock, or join its queue; exits 75 while others are ahead
    Acquire(Acquire),
    /// Wait for the lock, run a command under it, and let go
    Run(Run),
    /// Say who holds the lock, without touching it
    Check(Check),
    /// Let go of the lock, or leave the queue
    Release(Release),
    /// Extend the lease of a lock that is held; exits 1 when it is lost
    Renew(Renew),
    /// Claim, check or release a bot's rate window
    #[command(subcommand)]
    RateWindow(RateWindow),
}

/// Who is asking.
#[derive(Args, Clone, Debug)]
pub struct Who {
    /// Who is asking [env: GIT_LOCKS_PLAN_ID] [default: a name for this checkout]
    #[arg(long, visible_alias = "as", value_name = "ID")]
    pub plan_id: Option<OsString>,
}

/// Whether to wait for a turn.
#[derive(Args, Clone, Debug)]
pub struct Patience {
    /// Wait for the turn, at most this long, as in --wait=5m [default: locks.waitTimeout, else
    /// without end]
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true)]
    pub wait: Option<Option<String>>,
    /// Answer at once
    #[arg(long, conflicts_with = "wait")]
    pub no_wait: bool,
}

/// For how long what is acquired is kept, and what for.
#[derive(Args, Clone, Debug)]
pub struct Keeping {
    /// Keep it for this long unless renewed, such as 90s, 5m or 1h30m [default: locks.ttl]
    #[arg(long, value_name = "DURATION", conflicts_with = "while_pid")]
    pub ttl: Option<String>,
    /// Keep it for as long as this process runs
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub while_pid: Option<i32>,
    /// What it is needed for; shown to those who wait
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub reason: Option<String>,
}

/// `merge acquire`.
#[derive(Args, Debug)]
pub struct Acquire {
    /// Who is asking.
    #[command(flatten)]
    pub who: Who,
    /// Whether to wait.
    #[command(flatten)]
    pub patience: Patience,
    /// For how long it is kept, and what for.
    #[command(flatten)]
    pub keeping: Keeping,
    /// Accepted for old callers; drives nothing
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub timeout: Option<f64>,
    /// Leave the title for prompts and terminals alone
    #[arg(long)]
    pub no_title_token: bool,
}

/// What becomes of a command whose lock is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnLoss {
    /// It is ended: TERM, then KILL after 10 s
    End,
    /// It runs to its end
    Continue,
}

/// How a command is run under a lock.
#[derive(Args, Debug)]
pub struct Conduct {
    /// The exit code when it was not to be had
    #[arg(
        short = 'E',
        long = "conflict-exit-code",
        value_name = "CODE",
        default_value_t = 75
    )]
    pub blocked_code: u8,
    /// End the command when it has run for this long
    #[arg(long, value_name = "DURATION")]
    pub max_hold: Option<String>,
    /// Kill the command when it still runs this long after it was asked to end
    #[arg(long, value_name = "DURATION")]
    pub kill_after: Option<String>,
    /// What becomes of the command when what it runs under is lost
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = OnLoss::End)]
    pub on_loss: OnLoss,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// `merge run`, and what every `run` of a lock with a queue takes.
#[derive(Args, Debug)]
pub struct Run {
    /// Who is asking.
    #[command(flatten)]
    pub who: Who,
    /// Whether to wait.
    #[command(flatten)]
    pub patience: Patience,
    /// What it is needed for; shown to those who wait
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub reason: Option<String>,
    /// How the command is run.
    #[command(flatten)]
    pub conduct: Conduct,
    /// Leave the title for prompts and terminals alone
    #[arg(long)]
    pub no_title_token: bool,
}

/// The verbs of the build queue.
#[derive(Debug, Subcommand)]
pub enum Build {
    /// Take a slot, or join the queue for one; exits 75 while there is none
    Acquire(BuildAcquire),
    /// Wait for a slot, run a command in it, and give it back
    Run(BuildRun),
    /// Say who has a slot and who waits, without touching anything
    Check(BuildCheck),
    /// Give the slot back, or leave the queue
    Release(BuildRelease),
    /// Extend the lease of a slot; exits 1 when it is lost
    Renew(BuildRenew),
}

/// How many slots there are.
#[derive(Args, Clone, Debug)]
pub struct Slots {
    /// How many builds there may be at once [default: locks.build.maxSlots, else marshal.json's, else 5]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub max_slots: Option<String>,
}

/// `build acquire`.
#[derive(Args, Debug)]
pub struct BuildAcquire {
    /// Who is asking.
    #[command(flatten)]
    pub who: Who,
    /// How many slots there are.
    #[command(flatten)]
    pub slots: Slots,
    /// Whether to wait.
    #[command(flatten)]
    pub patience: Patience,
    /// For how long it is kept, and what for.
    #[command(flatten)]
    pub keeping: Keeping,
    /// Leave the title for prompts and terminals alone
    #[arg(long)]
    pub no_title_token: bool,
}

/// `build run`.
#[derive(Args, Debug)]
pub struct BuildRun {
    /// How many slots there are.
    #[command(flatten)]
    pub slots: Slots,
    /// What every run takes.
    #[command(flatten)]
    pub run: Run,
}

/// `build check`.
#[derive(Args, Debug)]
pub struct BuildCheck {
    /// Who is asking.
    #[command(flatten)]
    pub who: Who,
    /// How many slots there are.
    #[command(flatten)]
    pub slots: Slots,
    /// Exit 1 when the caller has no slot and would get none at once
    #[arg(long)]
    pub exit_code: bool,
}

/// `build release`.
#[derive(Args, Debug)]
pub struct BuildRelease {
    /// Who is asking.
    #[command(flatten)]
    pub who: Who,
    /// How many slots there are.
    #[command(flatten)]
    pub slots: Slots,
    /// The entry, as `acquire` has named it [default: the caller's own]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Leave the title for prompts and terminals alone
    #[arg(long)]
    pub no_title_token: bool,
}

/// `build renew`.
#[derive(Args, Debug)]
pub struct BuildRenew {
    /// Who is asking.
    #[command(flatten)]
    pub who: Who,
    /// The entry, as `acquire` has named it [default: the caller's own]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// The new length of the lease, from now [default: its length so far]
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<String>,
}

/// The verbs of the repository lock.
#[derive(Debug, Subcommand)]
pub enum Repo {
    /// Wait for the lock, and run a command under it
    Run(KernelRun),
    /// Say which process has the lock, without touching it
    Check(KernelCheck),
    /// Print the lock's file, which any program may lock with flock
    Path,
}

/// The verbs of the worktree lock.
#[derive(Debug, Subcommand)]
pub enum Worktree {
    /// Wait for the lock, for 30 s by default, and run a command under it
    Run(KernelRun),
    /// Say which process has the lock, without touching it
    Check(KernelCheck),
    /// Say of every worktree of the repository what its lock is like
    Cleanup(Cleanup),
}

/// `repo run` and `worktree run`.
#[derive(Args, Debug)]
pub struct KernelRun {
    /// Wait for at most so many seconds, as --wait does; 0 is --no-wait
    #[arg(
        long,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        conflicts_with_all = ["wait", "no_wait"]
    )]
    pub timeout: Option<f64>,
    /// Whether to wait.
    #[command(flatten)]
    pub patience: Patience,
    /// How the command is run.
    #[command(flatten)]
    pub conduct: Conduct,
}

/// `repo check` and `worktree check`.
#[derive(Args, Debug)]
pub struct KernelCheck {
    /// Exit 1 when another holds the lock
    #[arg(long)]
    pub exit_code: bool,
}

/// `worktree cleanup`.
#[derive(Args, Debug)]
pub struct Cleanup {
    /// Rewrite what those who have ended left in their lock files; nothing is ever deleted
    #[arg(long)]
    pub refresh: bool,
    /// Do not ask
    #[arg(long, requires = "refresh")]
    pub yes: bool,
}

/// `become`: the inside of a run.
#[derive(Args, Debug)]
pub struct Become {
    /// The descriptor on which the word to begin will come.
    pub word: i32,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// `merge check`.
#[derive(Args, Debug)]
pub struct Check {
    /// Who is asking.
    #[command(flatten)]
    pub who: Who,
    /// Exit 1 when another holds the lock
    #[arg(long)]
    pub exit_code: bool,
    /// Exit 1 when the caller no longer holds grant N
    #[arg(long, value_name = "N")]
    pub fence: Option<u64>,
}

/// `merge release`.
#[derive(Args, Debug)]
pub struct Release {
    /// Who is asking.
    #[command(flatten)]
    pub who: Who,
    /// Remove whoever holds the lock, but only when it is provably gone
    #[arg(long)]
    pub require_stale: bool,
    /// Leave the title for prompts and terminals alone
    #[arg(long)]
    pub no_title_token: bool,
}

/// `merge renew`.
#[derive(Args, Debug)]
pub struct Renew {
    /// Who is asking.
    #[command(flatten)]
    pub who: Who,
    /// The new length of the lease, from now [default: its length so far]
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<String>,
}

/// The verbs of the rate windows.
#[derive(Debug, Subcommand)]
pub enum RateWindow {
    /// Claim the window, or renew the claim
    Claim(WindowClaim),
    /// Say who has the window, without touching it
    Check(Window),
    /// Give the window back; the attempts stay counted
    Release(Window),
}

/// Which window, and who is asking.
#[derive(Args, Debug)]
pub struct Window {
    /// Who is asking.
    #[command(flatten)]
    pub who: Who,
    /// The bot whose window it is
    #[arg(long, value_name = "KIND")]
    pub bot_kind: String,
}

/// `merge rate-window claim`.
#[derive(Args, Debug)]
pub struct WindowClaim {
    /// Which window, and who is asking.
    #[command(flatten)]
    pub window: Window,
    /// The pull request it is for
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    pub pr_number: i64,
    /// How long the window lasts, in seconds
    #[arg(
        long,
        value_name = "N",
        default_value_t = 3600,
        allow_negative_numbers = true
    )]
    pub window_seconds: i64,
}
