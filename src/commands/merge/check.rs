//! `git locks merge check`.

use super::look::look;
use super::{about_holder, nested};
use crate::cli;
use crate::commands::Failure;
use crate::commands::asking::shown;
use crate::commands::context::Context;
use crate::error::Result;
use crate::exit::Exit;
use crate::identity::Identity;
use crate::locks::merge;
use crate::report::{MergeFree, MergeHeld, Outcome, Report, Staleness, Status};

/// `merge check`.
pub fn check(args: &cli::Check, context: &Context) -> Result<Outcome, Failure> {
    let identity = context.identity_if_any(&args.who)?;
    let plan_id = identity
        .as_ref()
        .map(|identity| identity.id.as_str().to_owned());
    check_as(args, identity.as_ref(), context).map_err(|error| Failure { error, plan_id })
}

fn check_as(args: &cli::Check, identity: Option<&Identity>, context: &Context) -> Result<Outcome> {
    let store = context.merge_store();
    let lock_path = shown(&store.lock_path);
    let seen = store.peek()?;
    let plan_id = identity.map(|identity| identity.id.as_str().to_owned());
    let free = |plan_id, lock_path| {
        let exit = if args.fence.is_some() {
            Exit::REFUSED
        } else {
            Exit::SUCCESS
        };
        let free = MergeFree {
            status: Status::Free,
            plan_id,
            lock_path,
        };
        Ok(Outcome::new(Report::MergeFree(free), exit))
    };
    if seen.lock.is_none() && seen.bereft().next().is_none() {
        // Nobody to judge: nothing to look at the world for.
        return free(plan_id, lock_path);
    }
    let terms = context.terms();
    let world = context.surroundings();
    let look = look(&seen, &terms, &world);
    let state = look.state;
    let Some(lock) = &state.lock else {
        return free(plan_id, lock_path);
    };
    let named = identity.is_some_and(|it| merge::is_holder(&state, &context.caller(it)));
    let mine = named || nested::is_inside(&state, context);
    let about = about_holder(&state, context);
    let lost = args
        .fence
        .is_some_and(|fence| !(mine && about.fence == Some(fence)));
    let exit = if lost || (args.exit_code && !mine) {
        Exit::REFUSED
    } else {
        Exit::SUCCESS
    };
    let held = MergeHeld {
        status: Status::Held,
        plan_id,
        holder_plan_id: lock.holder.shown().unwrap_or_default(),
        staleness: look
            .holder
            .map_or(Staleness::Unknown, |verdict| verdict.staleness),
        lock_path,
        mine,
        fence: about.fence,
        holder_since: about.since,
        holder_where: about.workplace,
        reason: about.reason,
    };
    Ok(Outcome::new(Report::MergeHeld(held), exit))
}
