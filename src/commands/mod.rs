//! One file per command: arguments in, a report out.

mod asking;
pub mod build;
pub mod complete;
pub mod completions;
mod consent;
pub mod context;
pub mod doctor;
pub mod hook;
mod inside;
mod kernel;
pub mod log;
pub mod man;
pub mod merge;
mod part;
pub mod prompt;
pub mod rate_window;
pub mod repo;
mod running;
pub mod session;
pub mod status;
mod waiting;
pub mod worktree;

use std::path::Path;

use crate::cli::{self, Build, Cli, Family, Global, Hook, Merge, Repo, Session, Worktree};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::page::Page;
use crate::report::Outcome;
use crate::voice::Voice;
use context::{Context, Needs};

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
    matches!(
        cli.family,
        Family::Merge(Merge::Run(_))
            | Family::Build(Build::Run(_))
            | Family::Repo(Repo::Run(_))
            | Family::Worktree(Worktree::Run(_))
            | Family::Session(Session::Run(_))
            | Family::Hook(Hook::PrePush(_))
            | Family::Become(_)
    )
}

/// Whether what is reported is read by people unless they say otherwise: git shows it among its own
/// words.
pub fn speaks_to_people(cli: &Cli) -> bool {
    matches!(cli.family, Family::Hook(Hook::PrePush(_)))
}

/// What the command needs around it.
pub fn needs(cli: &Cli) -> Needs {
    match cli.family {
        Family::Build(_)
        | Family::Status(_)
        | Family::Log(_)
        | Family::Prompt(_)
        | Family::Completions(_)
        | Family::Complete(_)
        | Family::Man(_) => Needs::Nothing,
        Family::Doctor(_) => Needs::Whatever,
        Family::Repo(_)
        | Family::Worktree(_)
        | Family::Session(_)
        | Family::Hook(Hook::Install(_) | Hook::Uninstall(_)) => Needs::Repository,
        Family::Merge(_) | Family::Hook(_) | Family::Become(_) => Needs::State,
    }
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

/// Runs what needs nothing around it, not even settings that make sense; `None` for all else.
pub fn run_apart(cli: &Cli, voice: &Voice) -> Option<Result<Outcome>> {
    match &cli.family {
        Family::Prompt(who) => Some(Ok(prompt::run(who, &cli.global, voice))),
        Family::Become(args) => Some(become_command(args)),
        Family::Completions(args) => Some(Ok(completions::run(args))),
        Family::Complete(args) => {
            // From where it cannot go to, nothing is offered that is not there.
            let there = enter_directories(&cli.global).is_ok();
            Some(Ok(complete::run(args, there)))
        }
        _ => None,
    }
}

/// Runs the command; `page` is where one goes on printing that does not end by itself.
///
/// # Errors
/// Whatever kept it from answering, with the caller where it was known.
pub fn run(cli: &Cli, context: &Context, page: &Page) -> Result<Outcome, Failure> {
    match &cli.family {
        Family::Merge(Merge::Acquire(args)) => merge::acquire::acquire(args, context),
        Family::Merge(Merge::Run(args)) => merge::run::run(args, context),
        Family::Merge(Merge::Check(args)) => merge::check::check(args, context),
        Family::Merge(Merge::Release(args)) => merge::release::release(args, context),
        Family::Merge(Merge::Renew(args)) => merge::renew::renew(args, context),
        Family::Build(Build::Acquire(args)) => build::acquire::acquire(args, context),
        Family::Build(Build::Run(args)) => build::run::run(args, context),
        Family::Build(Build::Check(args)) => build::check::check(args, context),
        Family::Build(Build::Release(args)) => build::release::release(args, context),
        Family::Build(Build::Renew(args)) => build::renew::renew(args, context),
        Family::Repo(verb) => repo::run(verb, context).map_err(Failure::from),
        Family::Worktree(verb) => worktree::run(verb, context).map_err(Failure::from),
        Family::Session(verb) => session::run(verb, context).map_err(Failure::from),
        Family::Status(args) => status::run(args, context, page).map_err(Failure::from),
        Family::Log(args) => log::run(args, context).map_err(Failure::from),
        Family::Doctor(args) => doctor::run(args, context).map_err(Failure::from),
        Family::Hook(verb) => hook::run(verb, context),
        Family::Become(_) | Family::Complete(_) | Family::Completions(_) | Family::Prompt(_) => {
            let outcome = run_apart(cli, &context.voice);
            outcome.map_or(Ok(Outcome::Silent(Exit::SUCCESS)), |outcome| Ok(outcome?))
        }
        Family::Man(args) => man::run(args).map_err(Failure::from),
        Family::Merge(Merge::RateWindow(verb)) => rate_window::run(verb, context),
    }
}
