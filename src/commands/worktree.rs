//! `git locks worktree …`.

use std::time::Duration;

use super::kernel::{KernelLock, check, cleanup, run};
use crate::cli::Worktree;
use crate::commands::context::Context;
use crate::error::Result;
use crate::report::Outcome;

/// How long is waited for the lock where nothing else is said.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a verb of the worktree lock.
///
/// # Errors
/// Whatever kept it from answering.
pub fn run(verb: &Worktree, context: &Context) -> Result<Outcome> {
    let lock = || KernelLock::of_worktree(context);
    match verb {
        Worktree::Run(args) => run::run(args, &lock()?, Some(PATIENCE)),
        Worktree::Check(args) => check::check(args, &lock()?),
        Worktree::Cleanup(args) => cleanup::cleanup(args, context),
    }
}
