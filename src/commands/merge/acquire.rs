//! `git locks merge acquire`.

use super::announce::{announce_grant, announce_wait, blocked_report, refuse_own_parent};
use super::ask::{Asked, ask};
use super::nested;
use super::turn::MergeTurn;
use super::{about_holder, failure, lock_path};
use crate::cli;
use crate::commands::Failure;
use crate::commands::asking::{bid, warn_unvouched};
use crate::commands::context::Context;
use crate::commands::part::{Answer, wait_for as wait_for_turn};
use crate::commands::running::Runs as _;
use crate::commands::waiting::Patience;
use crate::error::{Error, ErrorKind, Result};
use crate::exit::Exit;
use crate::identity::Identity;
use crate::locks::asking::Bid;
use crate::locks::merge::{Admission, Granted, MergeState};
use crate::participant::Kind;
use crate::report::{self, Action, MergeAdmitted, Outcome, Report, Status};
use crate::store::merge::Committed;
use crate::sys::clock;
use crate::sys::signals::{self, Signals};
use crate::text;
use crate::wait::Senses;

/// `merge acquire`.
pub fn acquire(args: &cli::Acquire, context: &Context) -> Result<Outcome, Failure> {
    let identity = context.identity(&args.who)?;
    let id = identity.id.clone();
    acquire_as(args, &identity, context).map_err(|error| failure(error, &id))
}

fn acquire_as(args: &cli::Acquire, identity: &Identity, context: &Context) -> Result<Outcome> {
    let patience = Patience::of(&args.patience, false, context)?;
    if let Some(state) = nested::enclosing(context)? {
        return Ok(held_by_enclosing(&state, identity, context));
    }
    let bid = bid(&args.keeping, identity, context, &context.surroundings())?;
    if args.timeout.is_some_and(|seconds| seconds > 0.0) {
        context.voice.inform(
            "--timeout drives nothing: acquire answers at once, and waits only with --wait=DURATION",
        );
    }
    if patience != Patience::None {
        return wait_for(args, identity, &bid, patience, context);
    }
    let caller = context.caller(identity);
    let asked = ask(context, &caller, &bid, false, args.no_title_token, None)?;
    answer(asked, args, identity, &bid, context)
}

/// Says what came of asking.
fn answer(
    asked: Committed<Asked>,
    args: &cli::Acquire,
    identity: &Identity,
    bid: &Bid,
    context: &Context,
) -> Result<Outcome> {
    let state = &asked.state;
    let record = state.records.participant(identity.id.as_str());
    let kind = record.map_or(bid.kind, |record| record.kind);
    match asked.outcome {
        Asked::OwnParent(holder) => {
            let report = refuse_own_parent(context, identity, holder);
            Ok(Outcome::new(report, Exit::REFUSED))
        }
        Asked::Answer(Admission::Admitted(granted)) => {
            let count = state.queue.len();
            warn(kind, identity, "reclaim the lock", context);
            announce_grant(context, &identity.id, &granted, count, args.no_title_token);
            Ok(admitted(granted, count, identity, context))
        }
        Asked::Answer(Admission::Blocked(waiting)) => {
            warn(kind, identity, "drop its place", context);
            announce_wait(context, identity, &waiting, state, args.no_title_token);
            let report = blocked_report(&waiting, state, identity, context);
            Ok(Outcome::new(report, Exit::BLOCKED))
        }
        // Only runs are told so.
        Asked::Answer(Admission::Namesake) => Err(Error::new(
            ErrorKind::Timeout,
            format!("another process takes part as {}", identity.id),
        )),
    }
}

fn warn(kind: Kind, identity: &Identity, risk: &str, context: &Context) {
    warn_unvouched(kind, identity, risk, context, &context.surroundings());
}

/// Waits for the turn of a caller that will hold the lock after this process has ended.
fn wait_for(
    args: &cli::Acquire,
    identity: &Identity,
    bid: &Bid,
    patience: Patience,
    context: &Context,
) -> Result<Outcome> {
    let caught = Signals::arm(&signals::ENDING)?;
    let bell = caught.bell();
    let mut senses = Senses::new(caught);
    let _borrowed = context.voice.borrow_title();
    let mut turn = MergeTurn::new(
        context,
        (identity, identity.clone()),
        bid.clone(),
        args.no_title_token,
        bell.as_ref(),
    )?;
    match wait_for_turn(&mut turn, patience, &mut senses)? {
        Some(Answer::Granted(granting)) => {
            turn.announce(&granting);
            let kind = granting.kind.unwrap_or(bid.kind);
            warn(kind, identity, "reclaim the lock", context);
            let (granted, count) = (granting.granted, granting.waiting_count);
            Ok(admitted(granted, count, identity, context))
        }
        Some(Answer::OwnParent(holder)) => {
            let report = refuse_own_parent(context, identity, holder);
            Ok(Outcome::new(report, Exit::REFUSED))
        }
        None => {
            let asked = turn.last_word(false, &mut senses)?;
            answer(asked, args, identity, bid, context)
        }
    }
}

/// The answer to a call from inside a run of the lock.
fn held_by_enclosing(state: &MergeState, identity: &Identity, context: &Context) -> Outcome {
    let holder = state.lock.as_ref().and_then(|lock| lock.holder.id());
    let identity = Identity {
        id: holder.unwrap_or(&identity.id).clone(),
        explicit: true,
    };
    let about = about_holder(state, context);
    let granted = Granted {
        action: Action::AlreadyHeld,
        reclaimed_from: None,
        fence: about.fence,
        expires_at: None,
        since: about.since,
    };
    admitted(granted, 0, &identity, context)
}

fn admitted(
    granted: Granted,
    waiting_count: usize,
    identity: &Identity,
    context: &Context,
) -> Outcome {
    let Granted {
        action,
        reclaimed_from,
        fence,
        expires_at,
        since,
    } = granted;
    let id = identity.id.as_str().to_owned();
    let held_before = action == Action::AlreadyHeld;
    if let (true, false, Some(since)) = (held_before, identity.explicit, since) {
        let age = text::span(clock::wall() - since);
        context
            .voice
            .inform(format!("{id} has held the lock for {age} already"));
    }
    Outcome::new(
        Report::MergeAdmitted(MergeAdmitted {
            status: Status::Success,
            plan_id: id.clone(),
            action,
            admission: report::Admission::Admitted,
            lock_path: lock_path(context),
            holder: id,
            reclaimed: reclaimed_from.is_some(),
            waiting_count: if held_before { 0 } else { waiting_count },
            fence,
            expires_at,
            reclaimed_from,
        }),
        Exit::SUCCESS,
    )
}
