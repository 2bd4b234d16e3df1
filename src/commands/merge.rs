//! `git locks merge …`: one file per verb, and what they share.

pub mod acquire;
mod announce;
mod ask;
pub mod check;
mod held;
mod holding;
pub(super) mod look;
mod nested;
pub mod push;
pub mod release;
pub mod renew;
pub mod run;
mod turn;

use crate::commands::Failure;
use crate::commands::asking::shown;
use crate::commands::context::Context;
use crate::error::{Error, Result};
use crate::identity::{Identity, PlanId};
use crate::locks::asking::Caller;
use crate::locks::merge::{self, MergeState, Verdicts};
use crate::store::merge::{Committed, Purpose};
use crate::titles::{Owner, Title};

fn failure(error: Error, id: &PlanId) -> Failure {
    Failure {
        error,
        plan_id: Some(id.as_str().to_owned()),
    }
}

/// Runs a decision for the caller that `identity` names.
fn decide<T>(
    context: &Context,
    identity: &Identity,
    purpose: Purpose,
    no_title: bool,
    decision: impl Fn(&MergeState, &Caller, &Verdicts, &merge::Rules) -> (MergeState, T),
) -> Result<Committed<T>> {
    let caller = context.caller(identity);
    decide_as(context, &caller, purpose, no_title, None, decision)
}

/// Runs a decision that takes nothing but the caller, the verdicts and the rules. It is not begun
/// any more once `interrupted` says so.
fn decide_as<T>(
    context: &Context,
    caller: &Caller,
    purpose: Purpose,
    no_title: bool,
    interrupted: Option<&dyn Fn() -> bool>,
    decision: impl Fn(&MergeState, &Caller, &Verdicts, &merge::Rules) -> (MergeState, T),
) -> Result<Committed<T>> {
    context.place.require_repository()?;
    let terms = || context.terms();
    let world = context.surroundings();
    let rules = context.rules(&terms(), &world);
    let patience = context.settings.guard_timeout;
    let mut store = context.merge_store();
    if let Some(interrupted) = interrupted {
        store = store.interruptible(interrupted);
    }
    let committed = store.transact(
        caller,
        purpose,
        patience,
        &terms,
        &world,
        |state, verdicts, now| {
            let rules = merge::Rules {
                now: now.clone(),
                ..rules.clone()
            };
            decision(state, caller, verdicts, &rules)
        },
    )?;
    for id in committed.departed.iter().filter_map(|id| PlanId::parse(id)) {
        set_title(context, &id, None, no_title);
    }
    context.voice.say_all(&committed.notes);
    Ok(committed)
}

fn lock_path(context: &Context) -> String {
    shown(&context.merge_store().lock_path)
}

/// What is known about the holder, for people.
#[derive(Default)]
pub(super) struct About {
    pub fence: Option<u64>,
    pub since: Option<f64>,
    pub workplace: Option<String>,
    pub reason: Option<String>,
}

pub(super) fn about_holder(state: &MergeState, context: &Context) -> About {
    let Some(lock) = &state.lock else {
        return About::default();
    };
    let record = state.holder_record();
    let grant = record.and_then(|record| record.grant.as_ref());
    let workplace = record.and_then(|record| record.workplace.clone());
    About {
        fence: grant.map(|grant| grant.fence),
        since: Some(grant.map_or(lock.mtime(), |grant| grant.since.wall)),
        workplace: workplace.or_else(|| plan_place(lock.holder.id()?, context)),
        reason: record.and_then(|record| record.reason.clone()),
    }
}

/// Where a plan of another program works: its worktree, else its plan directory.
fn plan_place(id: &PlanId, context: &Context) -> Option<String> {
    let base = &context.place.base;
    let places = [
        base.join("worktrees").join(id.as_str()),
        base.join("plans").join(id.as_str()),
    ];
    places
        .iter()
        .find(|place| place.symlink_metadata().is_ok())
        .map(|place| shown(place))
}

fn set_title(context: &Context, id: &PlanId, title: Option<Title>, suppressed: bool) {
    context.set_title(Owner::MergeLock, id, title, suppressed);
}
