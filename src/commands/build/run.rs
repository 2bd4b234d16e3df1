//! `git locks build run`: waits for a slot, runs a command in it, and gives it back.

use super::inner::{self, Enclosing};
use super::site::Site;
use super::turn::BuildTurn;
use crate::cli;
use crate::commands::Failure;
use crate::commands::context::Context;
use crate::commands::running::{self, Manner, run_in_turn, run_inside};
use crate::commands::waiting::Patience;
use crate::error::Result;
use crate::identity::{Identity, PlanId};
use crate::report::Outcome;
use crate::run;
use crate::sys::signals::{self, Signals};

/// `build run`.
///
/// # Errors
/// Whatever kept the command from being run.
pub fn run(args: &cli::BuildRun, context: &Context) -> Result<Outcome, Failure> {
    let manner = Manner::of(
        &args.run.conduct,
        Patience::of(&args.run.patience, true, context)?,
    )?;
    let site = Site::find(context, &args.slots)?;
    if inner::enclosing_now(&site)?.is_some() {
        return Ok(run_inside(
            &manner,
            &mut Enclosing { site: &site },
            context,
        )?);
    }
    let identity = context.identity(&args.run.who)?;
    let mut id = identity.id.clone();
    let ran = run_as(&args.run, &manner, &identity, &mut id, &site);
    ran.or_else(|error| running::failed(error, &id, &manner))
}

fn run_as(
    args: &cli::Run,
    manner: &Manner<'_>,
    named: &Identity,
    asking: &mut PlanId,
    site: &Site<'_>,
) -> Result<Outcome> {
    let caught = Signals::arm(&signals::ENDING)?;
    let bell = caught.bell();
    let lock = inner::marker(site);
    let (identity, bid, to_run) = running::make_ready(args, named, lock, site.context)?;
    let turn = BuildTurn::new(
        site,
        (named, identity),
        bid,
        args.no_title_token,
        bell.as_ref(),
    )?;
    let turn = turn.running(to_run, run::shown(&args.conduct.command));
    run_in_turn(turn, caught, manner, asking)
}
