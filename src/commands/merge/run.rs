//! `git locks merge run`: waits for the lock, runs a command under it, and lets go.

use super::held::Enclosing;
use super::nested;
use super::turn::MergeTurn;
use crate::cli;
use crate::commands::Failure;
use crate::commands::context::Context;
use crate::commands::running::{self, Manner, run_in_turn, run_inside};
use crate::commands::waiting::Patience;
use crate::error::Result;
use crate::identity::{Identity, PlanId};
use crate::report::Outcome;
use crate::sys::signals::{self, Signals};

/// `merge run`.
///
/// # Errors
/// Whatever kept the command from being run.
pub fn run(args: &cli::Run, context: &Context) -> Result<Outcome, Failure> {
    let manner = Manner::of(&args.conduct, Patience::of(&args.patience, true, context)?)?;
    if nested::enclosing(context)?.is_some() {
        return Ok(run_inside(&manner, &mut Enclosing { context }, context)?);
    }
    let identity = context.identity(&args.who)?;
    let mut id = identity.id.clone();
    let ran = run_as(args, &manner, &identity, &mut id, context);
    ran.or_else(|error| running::failed(error, &id, &manner))
}

fn run_as(
    args: &cli::Run,
    manner: &Manner<'_>,
    named: &Identity,
    asking: &mut PlanId,
    context: &Context,
) -> Result<Outcome> {
    let caught = Signals::arm(&signals::ENDING)?;
    let bell = caught.bell();
    let lock = nested::marker(context);
    let (identity, bid, to_run) = running::make_ready(args, named, lock, context)?;
    let turn = MergeTurn::new(
        context,
        (named, identity),
        bid,
        args.no_title_token,
        bell.as_ref(),
    )?;
    run_in_turn(turn.running(to_run), caught, manner, asking)
}
