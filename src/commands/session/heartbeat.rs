//! `git locks session heartbeat`.

use super::begin::leased;
use super::{Here, refusal, required};
use crate::cli;
use crate::error::Result;
use crate::locks::session::Content;
use crate::report::{Action, Outcome, SessionRefusal};
use crate::store::session::Change;
use crate::sys::clock;

/// Notes that the caller's session is still at work.
///
/// # Errors
/// No session was named.
pub(super) fn heartbeat(args: &cli::SessionBeat, here: &Here<'_>) -> Result<Outcome> {
    let id = required(&args.id)?;
    let now = clock::wall();
    let updated = here.store.update(|content| {
        let refused = |reason| (Change::Nothing, refusal(here.refused(&id, reason, content)));
        match content {
            Content::Held(lease) if lease.session_id == id => {
                let renewed = lease.renewed(now);
                let answer = leased(here, renewed.clone(), Action::Renewed);
                (Change::Keep(renewed), answer)
            }
            Content::Held(_) => refused(SessionRefusal::NotYours),
            Content::Free => refused(SessionRefusal::NotNoted),
            Content::Corrupt => refused(SessionRefusal::Corrupt),
        }
    });
    match updated {
        Ok(updated) => Ok(updated.answer),
        Err(error) => here.degraded(id, error),
    }
}
