//! `git locks build check`.

use super::inner;
use super::site::{Site, fresh_id};
use crate::cli;
use crate::commands::Failure;
use crate::commands::asking::leased;
use crate::commands::context::Context;
use crate::error::Result;
use crate::exit::Exit;
use crate::identity::Identity;
use crate::locks::asking::Caller;
use crate::locks::build::{self, Admission, BuildState, Entry, Verdicts};
use crate::participant::Kind;
use crate::report::{BuildHolder, BuildQueue, BuildWaiter, Outcome, Report, Staleness, Status};
use crate::sys::user;

/// `build check`.
///
/// # Errors
/// Whatever kept it from answering.
pub fn check(args: &cli::BuildCheck, context: &Context) -> Result<Outcome, Failure> {
    let identity = context.identity_if_any(&args.who)?;
    let plan_id = identity
        .as_ref()
        .map(|identity| identity.id.as_str().to_owned());
    check_as(args, identity.as_ref(), context).map_err(|error| Failure { error, plan_id })
}

fn check_as(
    args: &cli::BuildCheck,
    identity: Option<&Identity>,
    context: &Context,
) -> Result<Outcome> {
    let site = Site::find(context, &args.slots)?;
    let caller = identity.map(|identity| context.caller(identity));
    let (state, verdicts) = site.look(caller.as_ref())?;
    let rules = site.rules();
    let own = caller
        .as_ref()
        .and_then(|caller| state.own_entry(caller, &site.project_root));
    let inside = inner::enclosing(&state, &site);
    let has_slot = |id: &str| state.active.iter().any(|entry| entry.id == id);
    let mine = inside.is_some() || own.is_some_and(|entry| has_slot(&entry.id));
    let place = |entry: &Entry| state.waiting.iter().position(|other| other.id == entry.id);
    let position = own.and_then(place).map(|place| place + 1);
    let is_free = state.has_room(&verdicts, &rules);
    let would = || match (identity, &caller) {
        (Some(identity), Some(caller)) => would_be_admitted(&state, identity, caller, &site),
        _ => Ok(is_free),
    };
    let exit = if args.exit_code && !mine && !would()? {
        Exit::REFUSED
    } else {
        Exit::SUCCESS
    };
    let queue = BuildQueue {
        status: if is_free { Status::Free } else { Status::Held },
        plan_id: identity.map(|identity| identity.id.as_str().to_owned()),
        max_slots: site.slots,
        active_count: state.active.len(),
        waiting_count: state.waiting.len(),
        queue_path: site.queue_path(),
        user: user::name(user::me()),
        mine,
        position,
        disagreeing_slots: disagreeing(&state, site.slots),
        active: holders(&state, &verdicts),
        waiting: waiters(&state, &verdicts),
    };
    Ok(Outcome::new(Report::BuildQueue(queue), exit))
}

/// Whether the caller would be given a slot at once.
fn would_be_admitted(
    state: &BuildState,
    identity: &Identity,
    caller: &Caller,
    site: &Site<'_>,
) -> Result<bool> {
    let bid = leased(None, identity, site.context, &site.world())?;
    let verdicts = site.judge(state, Some(caller));
    let (fresh, rules) = (fresh_id(&identity.id)?, site.rules());
    let (_, (admission, _)) = build::acquire(state, caller, &bid, &fresh, None, &verdicts, &rules);
    Ok(matches!(admission, Admission::Admitted(_)))
}

/// All the numbers of slots that somebody goes by, where they are not one.
pub(in crate::commands) fn disagreeing(state: &BuildState, own: usize) -> Vec<usize> {
    let all = state.active.iter().chain(&state.waiting);
    let recorded = all.filter_map(|entry| Some(entry.record.known()?.slots));
    let mut numbers: Vec<usize> = recorded.chain([own]).collect();
    numbers.sort_unstable();
    numbers.dedup();
    if numbers.len() > 1 {
        numbers
    } else {
        Vec::new()
    }
}

fn staleness(entry: &Entry, verdicts: &Verdicts) -> Staleness {
    if verdicts.is_dead(&entry.id) {
        return Staleness::Stale;
    }
    let verdict = verdicts.0.get(&entry.id);
    verdict.map_or(Staleness::Unknown, |verdict| verdict.staleness)
}

/// Those who have a slot.
pub(in crate::commands) fn holders(state: &BuildState, verdicts: &Verdicts) -> Vec<BuildHolder> {
    let row = |entry: &Entry| {
        let record = entry.record.known();
        let since = record.and_then(|record| record.since);
        let lease = record.filter(|record| record.who.kind == Kind::Leased);
        let lease = lease.and_then(|record| record.who.lease);
        BuildHolder {
            slot: record.and_then(|record| record.slot),
            id: entry.id.clone(),
            plan_id: entry.plan_id().to_owned(),
            project_root: entry.project_root.clone(),
            since: since.map(|since| since.wall).or(entry.active_since),
            staleness: staleness(entry, verdicts),
            max_slots: record.map(|record| record.slots),
            expires_at: lease.map(|lease| lease.expires_at()),
            command: record.and_then(|record| record.command.clone()),
            reason: record.and_then(|record| record.who.reason.clone()),
        }
    };
    state.active.iter().map(row).collect()
}

/// Those who wait, first come first.
pub(in crate::commands) fn waiters(state: &BuildState, verdicts: &Verdicts) -> Vec<BuildWaiter> {
    let row = |(index, entry): (usize, &Entry)| {
        let record = entry.record.known();
        BuildWaiter {
            position: index + 1,
            id: entry.id.clone(),
            plan_id: entry.plan_id().to_owned(),
            project_root: entry.project_root.clone(),
            since: entry.ts,
            staleness: staleness(entry, verdicts),
            max_slots: record.map(|record| record.slots),
            command: record.and_then(|record| record.command.clone()),
            reason: record.and_then(|record| record.who.reason.clone()),
        }
    };
    state.waiting.iter().enumerate().map(row).collect()
}
