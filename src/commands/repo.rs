//! `git locks repo …`.

use super::kernel::{KernelLock, check, run};
use crate::cli::Repo;
use crate::commands::context::Context;
use crate::error::Result;
use crate::report::Outcome;

/// Runs a verb of the repository lock.
///
/// # Errors
/// Whatever kept it from answering.
pub fn run(verb: &Repo, context: &Context) -> Result<Outcome> {
    let lock = KernelLock::of_repository(context)?;
    match verb {
        Repo::Run(args) => run::run(args, &lock, None),
        Repo::Check(args) => check::check(args, &lock),
        Repo::Path => Ok(check::path(&lock)),
    }
}
