//! `git locks build acquire`.

use super::announce::{admitted_report, announce_grant, announce_wait, blocked_report, refused};
use super::ask::{Asked, Granting, Manner, ask};
use super::failure;
use super::inner;
use super::site::{Decided, Site, fresh_id};
use super::turn::BuildTurn;
use crate::cli;
use crate::commands::Failure;
use crate::commands::asking::{bid, warn_unvouched};
use crate::commands::context::Context;
use crate::commands::part::{Answer, wait_for as wait_for_turn};
use crate::commands::waiting::Patience;
use crate::error::{Error, ErrorKind, Result};
use crate::exit::Exit;
use crate::identity::{Identity, PlanId};
use crate::locks::asking::Bid;
use crate::locks::build::{Admission, Granted};
use crate::participant::Kind;
use crate::report::{Outcome, Refusal};
use crate::sys::signals::{self, Signals};
use crate::wait::Senses;

/// `build acquire`.
///
/// # Errors
/// Whatever kept it from answering.
pub fn acquire(args: &cli::BuildAcquire, context: &Context) -> Result<Outcome, Failure> {
    let identity = context.identity(&args.who)?;
    let id = identity.id.clone();
    acquire_as(args, &identity, context).map_err(|error| failure(error, &id))
}

fn acquire_as(args: &cli::BuildAcquire, identity: &Identity, context: &Context) -> Result<Outcome> {
    let patience = Patience::of(&args.patience, false, context)?;
    let site = Site::find(context, &args.slots)?;
    if let Some(outcome) = held_by_enclosing(&site)? {
        return Ok(outcome);
    }
    let bid = bid(&args.keeping, identity, context, &site.world())?;
    if patience != Patience::None {
        return wait_for(args, identity, &bid, patience, &site);
    }
    let caller = context.caller(identity);
    let fresh = fresh_id(&identity.id)?;
    let asked = ask(
        &site,
        &caller,
        &bid,
        (&fresh, None),
        Manner::default(),
        None,
    )?;
    answer(asked, args, identity, &bid, &site)
}

/// Says what came of asking.
fn answer(
    asked: Decided<Asked>,
    args: &cli::BuildAcquire,
    identity: &Identity,
    bid: &Bid,
    site: &Site<'_>,
) -> Result<Outcome> {
    let (id, state) = (&identity.id, asked.state);
    match asked.outcome {
        Asked::OwnParent(entry) => {
            let report = refused(site, id, Some(entry), Refusal::OwnParent);
            Ok(Outcome::new(report, Exit::REFUSED))
        }
        Asked::Answer(Admission::Admitted(granted)) => {
            let granting = Granting { granted, state };
            Ok(admitted(&granting, args, identity, bid, site))
        }
        Asked::Answer(Admission::Blocked(waiting)) => {
            warn(bid.kind, identity, "drop its place", site);
            announce_wait(site, id, &waiting, &state);
            let report = blocked_report(site, id, &waiting, &state);
            Ok(Outcome::new(report, Exit::BLOCKED))
        }
        // Only runs are told so, and those who have a place.
        Asked::Answer(Admission::Namesake) | Asked::Gone => Err(Error::new(
            ErrorKind::Timeout,
            format!("another process takes part as {id}"),
        )),
    }
}

fn admitted(
    granting: &Granting,
    args: &cli::BuildAcquire,
    identity: &Identity,
    bid: &Bid,
    site: &Site<'_>,
) -> Outcome {
    let (granted, state) = (&granting.granted, &granting.state);
    warn(
        granted.kind.unwrap_or(bid.kind),
        identity,
        "reclaim the slot",
        site,
    );
    announce_grant(site, &identity.id, granted, state, args.no_title_token);
    let report = admitted_report(site, &identity.id, granted, state);
    Outcome::new(report, Exit::SUCCESS)
}

fn warn(kind: Kind, identity: &Identity, risk: &str, site: &Site<'_>) {
    warn_unvouched(kind, identity, risk, site.context, &site.world());
}

/// Waits for the turn of a caller that will have the slot after this process has ended.
fn wait_for(
    args: &cli::BuildAcquire,
    identity: &Identity,
    bid: &Bid,
    patience: Patience,
    site: &Site<'_>,
) -> Result<Outcome> {
    let caught = Signals::arm(&signals::ENDING)?;
    let bell = caught.bell();
    let mut senses = Senses::new(caught);
    let _borrowed = site.context.voice.borrow_title();
    let mut turn = BuildTurn::new(
        site,
        (identity, identity.clone()),
        bid.clone(),
        args.no_title_token,
        bell.as_ref(),
    )?;
    match wait_for_turn(&mut turn, patience, &mut senses)? {
        Some(Answer::Granted(granting)) => Ok(admitted(&granting, args, identity, bid, site)),
        Some(Answer::OwnParent(entry)) => {
            let report = refused(site, &identity.id, Some(entry), Refusal::OwnParent);
            Ok(Outcome::new(report, Exit::REFUSED))
        }
        None => {
            let asked = turn.last_word(false, &mut senses)?;
            answer(asked, args, identity, bid, site)
        }
    }
}

/// The answer to a call from inside a run of the queue, which has a slot.
fn held_by_enclosing(site: &Site<'_>) -> Result<Option<Outcome>> {
    let Some((entry, state)) = inner::enclosing_now(site)? else {
        return Ok(None);
    };
    let Some(plan) = PlanId::parse(entry.plan_id()) else {
        return Ok(None);
    };
    let granted = Granted {
        new: false,
        told: true,
        slot: entry.record.known().and_then(|record| record.slot),
        kind: None,
        expires_at: None,
        since: entry.active_since.unwrap_or_default(),
        id: entry.id,
    };
    let report = admitted_report(site, &plan, &granted, &state);
    Ok(Some(Outcome::new(report, Exit::SUCCESS)))
}
