//! `git locks hook`: a gate before `git push`.
//!
//! `install` puts lines into the `pre-push` hook (`script`) that run `git locks hook pre-push` with
//! what git says. That looks whether anything protected is pushed (`refs`), finds the `git push` that
//! it works for among its ancestors, and lets it pass with the merge lock or not at all. Whatever fails
//! on the way stops the push: a gate that fails open protects nothing. `git push --no-verify` is git's
//! own way around every hook.

mod install;
mod pre_push;
mod refs;
mod script;
mod uninstall;

use crate::cli::Hook;
use crate::commands::Failure;
use crate::commands::context::Context;
use crate::report::Outcome;

/// Runs it.
///
/// # Errors
/// Whatever kept it from answering, with the caller where it was known.
pub fn run(verb: &Hook, context: &Context) -> Result<Outcome, Failure> {
    match verb {
        Hook::Install(args) => Ok(install::install(args, context)?),
        Hook::Uninstall(args) => Ok(uninstall::uninstall(args, context)?),
        Hook::PrePush(args) => pre_push::pre_push(args, context),
    }
}
