//! `git locks merge renew`.

use super::{decide, failure, lock_path};
use crate::cli;
use crate::commands::Failure;
use crate::commands::asking::leased;
use crate::commands::context::Context;
use crate::error::Result;
use crate::exit::Exit;
use crate::identity::Identity;
use crate::locks::merge::{self, Renewal};
use crate::report::{Action, MergeRefused, MergeRenewed, Outcome, Refusal, Report, Status};
use crate::store::merge::Purpose;

/// `merge renew`.
pub fn renew(args: &cli::Renew, context: &Context) -> Result<Outcome, Failure> {
    let identity = context.identity(&args.who)?;
    let id = identity.id.clone();
    renew_as(args, &identity, context).map_err(|error| failure(error, &id))
}

fn renew_as(args: &cli::Renew, identity: &Identity, context: &Context) -> Result<Outcome> {
    let ttl = args.ttl.as_deref();
    let bid = leased(ttl, identity, context, &context.surroundings())?;
    let committed = decide(
        context,
        identity,
        Purpose::Ordinary,
        true,
        |state, caller, verdicts, rules| merge::renew(state, caller, &bid, verdicts, rules),
    )?;
    let plan_id = identity.id.as_str().to_owned();
    let lock_path = lock_path(context);
    let (action, expires_at) = match committed.outcome {
        Renewal::Renewed(expires_at) => (Action::Renewed, Some(expires_at)),
        Renewal::NoLease => {
            context
                .voice
                .inform("the lock is not kept by a lease, so there is nothing to renew");
            (Action::Noop, None)
        }
        Renewal::Lost(holder) => {
            let refused = MergeRefused {
                status: Status::Refused,
                plan_id,
                reason: Refusal::LockLost,
                holder,
                staleness: None,
                lock_path,
            };
            return Ok(Outcome::new(Report::MergeRefused(refused), Exit::REFUSED));
        }
    };
    let grant = committed
        .state
        .holder_record()
        .and_then(|record| record.grant.as_ref());
    let renewed = MergeRenewed {
        status: Status::Success,
        plan_id,
        action,
        lock_path,
        fence: grant.map(|grant| grant.fence),
        expires_at,
    };
    Ok(Outcome::new(Report::MergeRenewed(renewed), Exit::SUCCESS))
}
