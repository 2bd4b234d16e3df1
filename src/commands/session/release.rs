//! `git locks session release`.

use super::{Here, refusal, required};
use crate::cli;
use crate::error::Result;
use crate::exit::Exit;
use crate::locks::session::Content;
use crate::report::{
    Action, Outcome, Report, SessionRefusal, SessionRefused, SessionReleased, Status,
};
use crate::store::session::Change;

/// Takes the caller's lease away.
///
/// # Errors
/// No session was named.
pub(super) fn release(args: &cli::SessionOver, here: &Here<'_>) -> Result<Outcome> {
    let id = required(&args.id)?;
    let action = match let_go(here, &id) {
        Ok(Ok(action)) => action,
        Ok(Err(refused)) => return Ok(refusal(*refused)),
        Err(error) => return here.degraded(id, error),
    };
    let report = SessionReleased {
        status: Status::Success,
        session_id: id,
        action,
        lock_path: here.lock_path(),
    };
    let report = Report::SessionReleased(report);
    Ok(Outcome::new(report, Exit::SUCCESS))
}

/// What letting go came to: `Released`, `Noop`, or why it was refused.
pub(super) type LetGo = std::result::Result<Action, Box<SessionRefused>>;

/// Takes the lease of the session `id` away, if it is noted.
///
/// # Errors
/// A system call failed.
pub(super) fn let_go(here: &Here<'_>, id: &str) -> Result<LetGo> {
    let updated = here.store.update(|content| {
        let refused = |reason| {
            let refused = here.refused(id, reason, content);
            (Change::Nothing, Err(Box::new(refused)))
        };
        match content {
            Content::Held(lease) if lease.session_id == id => {
                (Change::Remove, Ok(Action::Released))
            }
            Content::Held(_) => refused(SessionRefusal::NotYours),
            Content::Free => (Change::Nothing, Ok(Action::Noop)),
            Content::Corrupt => refused(SessionRefusal::Corrupt),
        }
    });
    updated.map(|updated| updated.answer)
}
