//! One file per command: arguments in, a report out.

pub mod context;
pub mod merge;
pub mod rate_window;
mod waiting;

use std::path::Path;

use crate::cli::{self, Cli, Family, Global, Merge};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::report::Outcome;
use context::Context;

/// A failure, and what was known of the caller by then.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong.
    pub error: Error,
    /// The caller, where it was known.
    pub plan_id: Option<String>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            error,
            plan_id: None,
        }
    }
}

/// Goes to the directories of `-C`, each relative to the one before.
pub fn enter_directories(global: &Global) -> Result<()> {
    for directory in &global.directory {
        if directory != Path::new("") {
            std::env::set_current_dir(directory).map_err(|e| {
                Error::new(
                    crate::error::ErrorKind::Io,
                    format!(
                        "cannot change to {}: {}",
                        crate::text::path(directory),
                        crate::error::reason(&e)
                    ),
                )
            })?;
        }
    }
    Ok(())
}

/// Whether standard output is that of a command which this one runs.
pub fn leaves_stdout(cli: &Cli) -> bool {
    matches!(cli.family, Family::Merge(Merge::Run(_)) | Family::Become(_))
}

/// The inside of a run, which needs to know nothing of where it is: becomes the command when the word
/// comes. Returns only when it does not.
///
/// # Errors
/// The command could not be started.
pub fn become_command(args: &cli::Become) -> Result<Outcome> {
    crate::run::wait_and_become(args.word, &args.command)?;
    Ok(Outcome::Silent(Exit::LOST))
}

/// Runs the command.
///
/// # Errors
/// Whatever kept it from answering, with the caller where it was known.
pub fn run(cli: &Cli, context: &Context) -> Result<Outcome, Failure> {
    match &cli.family {
        Family::Merge(Merge::Acquire(args)) => merge::acquire::acquire(args, context),
        Family::Merge(Merge::Run(args)) => merge::run::run(args, context),
        Family::Become(args) => become_command(args).map_err(Failure::from),
        Family::Merge(Merge::Check(args)) => merge::check::check(args, context),
        Family::Merge(Merge::Release(args)) => merge::release::release(args, context),
        Family::Merge(Merge::Renew(args)) => merge::renew::renew(args, context),
        Family::Merge(Merge::RateWindow(verb)) => rate_window::run(verb, context),
    }
}
