//! `git locks session release`.

use super::{Here, refusal, required};
use crate::cli;
use crate::error::Result;
use crate::exit::Exit;
use crate::locks::session::Content;
use crate::report::{Action, Outcome, Report, SessionRefusal, SessionReleased, Status};
use crate::store::session::Change;

/// Takes the caller's lease away.
///
/// # Errors
/// No session was named.
pub(super) fn release(args: &cli::SessionOver, here: &Here<'_>) -> Result<Outcome> {
    let id = required(&args.id)?;
    match let_go(here, &id) {
        Ok(outcome) => Ok(outcome),
        Err(error) => here.degraded(id, error),
    }
}

/// Takes the lease of the session `id` away, if it is noted.
///
/// # Errors
/// A system call failed.
pub(super) fn let_go(here: &Here<'_>, id: &str) -> Result<Outcome> {
    let over = |action| {
        let report = SessionReleased {
            status: Status::Success,
            session_id: id.to_owned(),
            action,
            lock_path: here.lock_path(),
        };
        Outcome::new(Report::SessionReleased(report), Exit::SUCCESS)
    };
    let updated = here.store.update(|content| {
        let refused = |reason| (Change::Nothing, refusal(here.refused(id, reason, content)));
        match content {
            Content::Held(lease) if lease.session_id == id => {
                (Change::Remove, over(Action::Released))
            }
            Content::Held(_) => refused(SessionRefusal::NotYours),
            Content::Free => (Change::Nothing, over(Action::Noop)),
            Content::Corrupt => refused(SessionRefusal::Corrupt),
        }
    });
    updated.map(|updated| updated.answer)
}
