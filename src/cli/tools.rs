//! The tools' part of the command line: what is at home in git and in the shell.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `status`.
#[derive(Args, Debug)]
pub struct StatusArgs {
    /// Redraw until interrupted
    #[arg(long)]
    pub watch: bool,
}

/// `log`.
#[derive(Args, Debug)]
pub struct LogArgs {
    /// Only what is younger, such as 90s, 12h or 7d, or since a day or a moment, such as 2026-11-30
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only of this lock: merge, build or rate-window
    #[arg(long, value_name = "LOCK")]
    pub lock: Option<String>,
    /// Only of this participant
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Only of this kind, such as acquired, blocked or reclaimed
    #[arg(long, value_name = "EVENT")]
    pub event: Option<String>,
    /// Only the last N
    #[arg(short = 'n', long, value_name = "N")]
    pub number: Option<usize>,
    /// Go on with what is yet to come, until interrupted
    #[arg(short, long, conflicts_with = "report")]
    pub follow: bool,
    /// Say how long was waited and held, and what was reclaimed
    #[arg(long, conflicts_with_all = ["event", "number"])]
    pub report: bool,
}

/// `doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Remove what is provably nobody's
    #[arg(long)]
    pub fix: bool,
}

/// The verbs of the hooks.
#[derive(Debug, Subcommand)]
pub enum Hook {
    /// Make git ask for the merge lock before it pushes to protected refs
    Install(HookInstall),
    /// Take the hook away again
    Uninstall(HookUninstall),
    /// What git runs before a push
    PrePush(HookPrePush),
}

/// The hooks that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HookName {
    /// Before a push
    PrePush,
}

/// `hook install`.
#[derive(Args, Debug)]
pub struct HookInstall {
    /// Which hook
    #[arg(value_enum, default_value_t = HookName::PrePush)]
    pub hook: HookName,
    /// A branch, or a pattern such as release/*, to protect [default: the remote's default branch,
    /// else main and master]
    #[arg(long, value_name = "PATTERN")]
    pub protect: Vec<String>,
    /// Only check that the pusher has the merge lock, rather than take it for the push
    #[arg(long)]
    pub require: bool,
    /// Add to a hook that is there already, so that it runs once the push has the lock
    #[arg(long)]
    pub append: bool,
    /// Install it even where core.hooksPath is outside the repository, for all that use it
    #[arg(long)]
    pub shared: bool,
}

/// `hook uninstall`.
#[derive(Args, Debug)]
pub struct HookUninstall {
    /// Which hook
    #[arg(value_enum, default_value_t = HookName::PrePush)]
    pub hook: HookName,
}

/// `hook pre-push`.
#[derive(Args, Debug)]
pub struct HookPrePush {
    /// A branch, or a pattern such as release/*, that is protected
    #[arg(long, value_name = "PATTERN")]
    pub protect: Vec<String>,
    /// Only check that the pusher has the merge lock
    #[arg(long)]
    pub require: bool,
    /// What git says: the remote's name and where it is
    #[arg(value_name = "REMOTE")]
    pub remote: Vec<OsString>,
}

/// The shells that there are completions for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// bash, through git's own completion
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
}

/// `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// `complete`: what the completions of shells ask.
#[derive(Args, Debug)]
pub struct CompleteArgs {
    /// The words are as they were typed, in quotes where they were; and what does not begin like the
    /// last of them is not wanted.
    #[arg(long)]
    pub quoted: bool,
    /// The words of the command line after the program's name, up to the one that is being typed.
    #[arg(last = true)]
    pub words: Vec<OsString>,
}

/// `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// The page [default: git-locks]
    #[arg(value_name = "PAGE")]
    pub page: Option<String>,
    /// Install all pages [default of DIR: the user's own]
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    pub install: Option<Option<PathBuf>>,
}
