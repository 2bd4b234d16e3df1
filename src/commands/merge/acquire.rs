//! `git locks merge acquire`.

use super::announce::{announce_grant, announce_wait, blocked_report, refuse_own_parent};
use super::ask::{Answer, Asked, ask};
use super::nested;
use super::turn::MergeTurn;
use super::{about_holder, failure, lease_length, lock_path, workplace};
use crate::cli;
use crate::commands::Failure;
use crate::commands::context::Context;
use crate::commands::waiting::Patience;
use crate::error::{Error, ErrorKind, Result};
use crate::exit::Exit;
use crate::identity::{Identity, PlanId};
use crate::liveness::{Evidence, World, judge_plan};
use crate::locks::merge::{Admission, Bid, Granted, MergeState};
use crate::participant::Kind;
use crate::report::{self, Action, MergeAdmitted, Outcome, Report, Status};
use crate::store::merge::Committed;
use crate::sys::clock;
use crate::sys::process::{self, ProcessId, Sight};
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
    let bid = bid(args, identity, context, &context.surroundings())?;
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
            warn_unvouched(kind, identity, "reclaim the lock", context);
            announce_grant(context, &identity.id, &granted, count, args.no_title_token);
            Ok(admitted(granted, count, identity, context))
        }
        Asked::Answer(Admission::Blocked(waiting)) => {
            warn_unvouched(kind, identity, "drop its place", context);
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
    let mut turn = MergeTurn::new(
        context,
        identity,
        identity.clone(),
        bid.clone(),
        args.no_title_token,
        bell.as_ref(),
    )?;
    match turn.wait(patience, &mut senses)? {
        Some(Answer::Granted(granting)) => {
            turn.announce(&granting);
            let kind = granting.kind.unwrap_or(bid.kind);
            warn_unvouched(kind, identity, "reclaim the lock", context);
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

fn warn_unvouched(kind: Kind, identity: &Identity, risk: &str, context: &Context) {
    if kind == Kind::Plan && !vouched_for(&identity.id, context) {
        context.voice.warn(format!(
            "nothing vouches for {}: there is no plan of that name, so anyone may {risk}; \
             --ttl or --while-pid keeps it",
            identity.id
        ));
    }
}

/// Whether there is, or may be, a plan of that name.
fn vouched_for(id: &PlanId, context: &Context) -> bool {
    !judge_plan(id, &context.surroundings()).is_stale()
}

/// What the caller brings along: of which kind it is, and for how long.
fn bid(
    args: &cli::Acquire,
    identity: &Identity,
    context: &Context,
    world: &dyn World,
) -> Result<Bid> {
    let ttl = args
        .ttl
        .as_deref()
        .map(|given| lease_length(given, "--ttl"))
        .transpose()?;
    let process = args.while_pid.map(running).transpose()?;
    let insists = ttl.is_some() || process.is_some();
    let kind = if process.is_some() {
        Kind::Process
    } else if ttl.is_none() && identity.explicit && world.keeps_plans() != Evidence::Absent {
        Kind::Plan
    } else {
        Kind::Leased
    };
    Ok(Bid {
        kind,
        insists,
        ttl: ttl.unwrap_or(context.settings.ttl.as_secs_f64()),
        process,
        workplace: Some(workplace(context)),
        token: None,
        reason: given_reason(args.reason.as_deref()),
    })
}

/// What the lock is needed for, as far as it is worth keeping.
pub(super) fn given_reason(given: Option<&str>) -> Option<String> {
    let given = given.filter(|reason| !reason.trim().is_empty());
    given.map(|reason| text::clip(reason, 500))
}

fn running(pid: i32) -> Result<ProcessId> {
    match process::look(pid) {
        Sight::Running(start) => Ok(ProcessId { pid, start }),
        Sight::Ended => Err(Error::new(
            ErrorKind::NotFound,
            format!("--while-pid: process {pid} does not run"),
        )
        .with_hint("name a process that outlives this command, such as $$ of a shell")),
        Sight::Hidden => Err(Error::new(
            ErrorKind::NotFound,
            format!("--while-pid: process {pid} cannot be seen from here"),
        )
        .with_hint("name a process of your own, such as $$ of a shell")),
    }
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
