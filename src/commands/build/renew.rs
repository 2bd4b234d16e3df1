//! `git locks build renew`.

use super::announce::refused;
use super::failure;
use super::site::Site;
use crate::cli;
use crate::commands::Failure;
use crate::commands::asking::leased;
use crate::commands::context::Context;
use crate::error::Result;
use crate::exit::Exit;
use crate::identity::Identity;
use crate::locks::build::{self, Housekeeping, Renewal, Target};
use crate::report::{Action, BuildRenewed, Outcome, Refusal, Report, Status};

/// `build renew`.
///
/// # Errors
/// Whatever kept it from answering.
pub fn renew(args: &cli::BuildRenew, context: &Context) -> Result<Outcome, Failure> {
    let identity = context.identity(&args.who)?;
    let id = identity.id.clone();
    renew_as(args, &identity, context).map_err(|error| failure(error, &id))
}

fn renew_as(args: &cli::BuildRenew, identity: &Identity, context: &Context) -> Result<Outcome> {
    let site = Site::find(context, &cli::Slots { max_slots: None })?;
    let ttl = args.ttl.as_deref();
    let bid = leased(ttl, identity, context, &site.world())?;
    let target = args.id.as_deref().map_or(Target::Own, Target::Id);
    let caller = context.caller(identity);
    let decided = site.decide(&caller, None, |state, verdicts, rules| {
        let (next, renewal) = build::renew(state, &caller, target, &bid, verdicts, rules);
        (next, (renewal, Housekeeping::default()))
    })?;
    let plan_id = identity.id.as_str().to_owned();
    let renewed = |id, action, slot, expires_at| BuildRenewed {
        status: Status::Success,
        plan_id,
        id,
        action,
        queue_path: site.queue_path(),
        slot,
        expires_at,
    };
    let report = match decided.outcome {
        Renewal::Renewed {
            id,
            slot,
            expires_at,
        } => renewed(id, Action::Renewed, slot, Some(expires_at)),
        Renewal::NoLease { id, slot } => {
            let voice = &context.voice;
            voice.inform("the slot is not kept by a lease, so there is nothing to renew");
            renewed(id, Action::Noop, slot, None)
        }
        Renewal::Lost => {
            let report = refused(&site, &identity.id, args.id.clone(), Refusal::LockLost);
            return Ok(Outcome::new(report, Exit::REFUSED));
        }
    };
    Ok(Outcome::new(Report::BuildRenewed(report), Exit::SUCCESS))
}
