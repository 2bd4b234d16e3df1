//! `git locks build release`.

use super::announce::refused;
use super::failure;
use super::inner;
use super::site::{Decided, Site};
use crate::cli;
use crate::commands::Failure;
use crate::commands::context::Context;
use crate::error::Result;
use crate::exit::Exit;
use crate::identity::Identity;
use crate::locks::build::{self, BuildState, Release, Target};
use crate::report::{Action, BuildReleased, Outcome, Refusal, Report, Status};

/// `build release`.
///
/// # Errors
/// Whatever kept it from answering.
pub fn release(args: &cli::BuildRelease, context: &Context) -> Result<Outcome, Failure> {
    let identity = context.identity(&args.who)?;
    let id = identity.id.clone();
    release_as(args, &identity, context).map_err(|error| failure(error, &id))
}

fn release_as(args: &cli::BuildRelease, identity: &Identity, context: &Context) -> Result<Outcome> {
    let site = Site::find(context, &args.slots)?;
    let plan = &identity.id;
    if let Some((entry, state)) = inner::enclosing_now(&site)? {
        let own = !identity.explicit || entry.plan_id() == plan.as_str();
        let meant = args.id.as_ref().map_or(own, |id| *id == entry.id);
        if meant {
            let message = "the enclosing run gives the slot back when its command has ended";
            let report = BuildReleased {
                id: Some(entry.id),
                message: Some(message.to_owned()),
                ..released(&site, identity, &state)
            };
            return Ok(Outcome::new(Report::BuildReleased(report), Exit::SUCCESS));
        }
    }
    let target = args.id.as_deref().map_or(Target::Own, Target::Id);
    let caller = context.caller(identity);
    let decided = site.decide(&caller, None, |state, verdicts, rules| {
        build::release(state, &caller, target, verdicts, rules)
    })?;
    let report = released(&site, identity, &decided.state);
    tell_release(&site, &decided);
    let report = match decided.outcome {
        Release::Released { id, promoted, .. } => BuildReleased {
            id: Some(id),
            action: Action::Released,
            promoted,
            ..report
        },
        Release::Noop { id } => BuildReleased {
            message: Some(match &id {
                Some(_) => "there is no such entry in the queue".to_owned(),
                None => format!("{plan} has no entry in the queue"),
            }),
            id,
            ..report
        },
        Release::HolderPresent { id } => {
            let report = refused(&site, plan, Some(id), Refusal::HolderPresent);
            return Ok(Outcome::new(report, Exit::REFUSED));
        }
    };
    site.set_title(plan, false, args.no_title_token);
    Ok(Outcome::new(Report::BuildReleased(report), Exit::SUCCESS))
}

/// The report of a release that found nothing.
fn released(site: &Site<'_>, identity: &Identity, state: &BuildState) -> BuildReleased {
    BuildReleased {
        status: Status::Success,
        plan_id: identity.id.as_str().to_owned(),
        id: None,
        action: Action::Noop,
        promoted: None,
        max_slots: site.slots,
        active_count: state.active.len(),
        waiting_count: state.waiting.len(),
        queue_path: site.queue_path(),
        message: None,
    }
}

/// Tells the timeline of a release, and learns from how long the slot was held.
pub(super) fn tell_release(site: &Site<'_>, decided: &Decided<Release>) {
    if let Release::Released { id, held, .. } = &decided.outcome {
        site.log("build:released", id, &decided.state);
        if let Some(held) = held {
            site.learn(*held);
        }
    }
    site.log_promoted(decided);
}
