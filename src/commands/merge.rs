//! `git locks merge …`: one file per verb, and what they share.

pub mod acquire;
mod announce;
mod ask;
pub mod check;
mod held;
mod nested;
pub mod release;
pub mod renew;
pub mod run;
mod turn;

use std::path::Path;

use crate::commands::Failure;
use crate::commands::context::Context;
use crate::config;
use crate::error::{Error, Result};
use crate::identity::{Identity, PlanId};
use crate::locks::merge::{self, MergeState, Verdicts};
use crate::store::merge::{Committed, Purpose};
use crate::sys::clock;
use crate::titles::{self, Title};

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
    decision: impl Fn(&MergeState, &merge::Caller, &Verdicts, &merge::Rules) -> (MergeState, T),
) -> Result<Committed<T>> {
    let caller = context.caller(identity);
    decide_as(context, &caller, purpose, no_title, None, decision)
}

/// Runs a decision that takes nothing but the caller, the verdicts and the rules. It is not begun
/// any more once `interrupted` says so.
fn decide_as<T>(
    context: &Context,
    caller: &merge::Caller,
    purpose: Purpose,
    no_title: bool,
    interrupted: Option<&dyn Fn() -> bool>,
    decision: impl Fn(&MergeState, &merge::Caller, &Verdicts, &merge::Rules) -> (MergeState, T),
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

fn lease_length(given: &str, flag: &str) -> Result<f64> {
    let hint = config::DURATION_HINT;
    match config::duration(given) {
        Some(length) if !length.is_zero() => Ok(length.as_secs_f64()),
        Some(_) => {
            Err(Error::usage(format!("{flag}: '{given}' must be longer than 0")).with_hint(hint))
        }
        None => Err(Error::usage(format!("{flag}: '{given}' is not a duration")).with_hint(hint)),
    }
}

/// Where the caller works, for people.
fn workplace(context: &Context) -> String {
    let root = context
        .place
        .checkout
        .as_ref()
        .and_then(|checkout| checkout.work_dir.as_deref());
    shown(root.unwrap_or(&context.cwd))
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// What is known about the holder, for people.
#[derive(Default)]
struct About {
    fence: Option<u64>,
    since: Option<f64>,
    workplace: Option<String>,
    reason: Option<String>,
}

fn about_holder(state: &MergeState, context: &Context) -> About {
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
    if suppressed || !context.settings.title {
        return;
    }
    let now = clock::wall();
    if let Err(error) = titles::set(&context.place.ours, id, title, now, context.modes()) {
        let voice = &context.voice;
        voice.detail(format!("the title was not written: {error}"));
    }
}
