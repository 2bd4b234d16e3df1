//! `git locks merge release`.

use super::{decide, failure, lock_path, nested, set_title};
use crate::cli;
use crate::commands::Failure;
use crate::commands::context::Context;
use crate::error::Result;
use crate::event_log::{Event, Level};
use crate::exit::Exit;
use crate::identity::{Identity, PlanId};
use crate::locks::merge::{self, Eviction, Release};
use crate::report::{
    Action, MergeEvicted, MergeRefused, MergeReleased, Outcome, Refusal, Report, Staleness, Status,
};
use crate::store::merge::Purpose;

/// `merge release`.
pub fn release(args: &cli::Release, context: &Context) -> Result<Outcome, Failure> {
    let identity = context.identity(&args.who)?;
    let id = identity.id.clone();
    let outcome = if args.require_stale {
        evict(args, &identity, context)
    } else {
        release_as(args, &identity, context)
    };
    outcome.map_err(|error| failure(error, &id))
}

fn release_as(args: &cli::Release, identity: &Identity, context: &Context) -> Result<Outcome> {
    if let Some(outcome) = inside_run(identity, context)? {
        return Ok(outcome);
    }
    let committed = decide(
        context,
        identity,
        Purpose::Release,
        args.no_title_token,
        merge::release,
    )?;
    let plan_id = identity.id.as_str().to_owned();
    let lock_path = lock_path(context);
    let waiting_count = committed.state.queue.len();
    let mut report = MergeReleased {
        status: Status::Success,
        plan_id: plan_id.clone(),
        action: Action::Noop,
        lock_path: lock_path.clone(),
        holder: None,
        waiting_count,
        message: None,
        hint: None,
    };
    let mut exit = Exit::SUCCESS;
    match committed.outcome {
        Release::Released => {
            report.action = Action::Released;
            log_released(context, &plan_id, &lock_path, None, waiting_count);
        }
        Release::Noop { holder: None, left } => {
            report.message = Some(noop_message("nobody holds the lock", left));
        }
        Release::Noop {
            holder: Some(holder),
            left,
        } => {
            report.message = Some(noop_message("another holds the lock", left));
            if !identity.explicit {
                exit = Exit::REFUSED;
                report.hint = Some(release_hint(&holder));
            }
            report.holder = Some(holder);
        }
        Release::HolderPresent(holder) => {
            let refused = MergeRefused {
                status: Status::Refused,
                plan_id,
                reason: Refusal::HolderPresent,
                holder: Some(holder),
                staleness: None,
                lock_path,
            };
            return Ok(Outcome::new(Report::MergeRefused(refused), Exit::REFUSED));
        }
    }
    if report.holder.as_deref() != Some(plan_id.as_str()) {
        set_title(context, &identity.id, None, args.no_title_token);
    }
    Ok(Outcome::new(Report::MergeReleased(report), exit))
}

/// The answer to a call from inside a run, which lets go itself.
fn inside_run(identity: &Identity, context: &Context) -> Result<Option<Outcome>> {
    let Some(state) = nested::enclosing(context)? else {
        return Ok(None);
    };
    let holder = state.lock.as_ref().and_then(|lock| lock.holder.shown());
    if identity.explicit && holder.as_deref() != Some(identity.id.as_str()) {
        return Ok(None);
    }
    let report = MergeReleased {
        status: Status::Success,
        plan_id: identity.id.as_str().to_owned(),
        action: Action::Noop,
        lock_path: lock_path(context),
        holder,
        waiting_count: context.merge_store().peek_all()?.queue.len(),
        message: Some(
            "the enclosing run lets go of the lock when its command has ended".to_owned(),
        ),
        hint: None,
    };
    let report = Report::MergeReleased(report);
    Ok(Some(Outcome::new(report, Exit::SUCCESS)))
}

fn noop_message(why: &str, left: bool) -> String {
    if left {
        format!("{why}; the place in the queue is given up")
    } else {
        why.to_owned()
    }
}

/// The command that would release `holder`.
fn release_hint(holder: &str) -> String {
    match PlanId::parse(holder) {
        Some(id) => format!("git locks merge release --plan-id {id}"),
        None => "git locks merge release --require-stale".to_owned(),
    }
}

/// Tells the timeline of a release.
pub(super) fn log_released(
    context: &Context,
    id: &str,
    lock_path: &str,
    from: Option<&str>,
    waiting_count: usize,
) {
    context.log(&Event {
        level: Level::Info,
        name: "merge:released",
        id: id.to_owned(),
        fields: vec![
            ("lock_file", lock_path.to_owned()),
            ("reclaimed_from", from.unwrap_or_default().to_owned()),
            ("waiting_count", waiting_count.to_string()),
        ],
    });
}

fn evict(args: &cli::Release, identity: &Identity, context: &Context) -> Result<Outcome> {
    let committed = decide(
        context,
        identity,
        Purpose::Ordinary,
        args.no_title_token,
        merge::evict,
    )?;
    let plan_id = identity.id.as_str().to_owned();
    let lock_path = lock_path(context);
    let waiting_count = committed.state.queue.len();
    let outcome = match committed.outcome {
        Eviction::Evicted(holder) => {
            log_released(context, &plan_id, &lock_path, Some(&holder), waiting_count);
            if let Some(gone) = PlanId::parse(&holder) {
                set_title(context, &gone, None, args.no_title_token);
            }
            let evicted = MergeEvicted {
                status: Status::Success,
                plan_id,
                action: Action::Released,
                staleness: Some(Staleness::Stale),
                reclaimed_from: Some(holder),
                lock_path,
                waiting_count: Some(waiting_count),
                message: None,
            };
            Outcome::new(Report::MergeEvicted(evicted), Exit::SUCCESS)
        }
        Eviction::NothingHeld => {
            let nothing = MergeEvicted {
                status: Status::Success,
                plan_id,
                action: Action::Noop,
                staleness: None,
                reclaimed_from: None,
                lock_path,
                waiting_count: None,
                message: Some("nobody holds the lock".to_owned()),
            };
            Outcome::new(Report::MergeEvicted(nothing), Exit::SUCCESS)
        }
        Eviction::Refused(holder, staleness) => {
            let refused = MergeRefused {
                status: Status::Refused,
                plan_id,
                reason: Refusal::HolderNotProvablyDead,
                holder: Some(holder),
                staleness: Some(staleness),
                lock_path,
            };
            Outcome::new(Report::MergeRefused(refused), Exit::REFUSED)
        }
    };
    Ok(outcome)
}
