//! `git locks session check`.

use super::{Here, given, noted};
use crate::cli;
use crate::error::Result;
use crate::exit::Exit;
use crate::locks::session::Content;
use crate::report::{Outcome, Report, SessionChecked, Status};

/// Says whose session is noted, without touching anything.
///
/// # Errors
/// An argument makes no sense.
pub(super) fn check(args: &cli::SessionCheck, here: &Here<'_>) -> Result<Outcome> {
    let own = given(&args.id)?;
    let mut report = SessionChecked {
        status: Status::Free,
        mine: Some(false),
        existing: None,
        age_hours: None,
        heartbeat_age_minutes: None,
        state: None,
        same_host: None,
        error: None,
        lock_path: here.lock_path(),
    };
    match here.store.read() {
        Ok(Content::Free) => {}
        Ok(Content::Corrupt) => report.status = Status::Corrupt,
        Ok(Content::Held(lease)) => {
            let sight = here.sight(&lease);
            report.status = Status::Held;
            report.mine = own.map(|own| own == lease.session_id);
            report.existing = Some(noted(&lease));
            report.age_hours = sight.age_hours;
            report.heartbeat_age_minutes = Some(sight.heartbeat_age_minutes);
            report.state = Some(sight.state);
            report.same_host = Some(sight.same_host);
        }
        Err(error) => {
            report.status = Status::Unreadable;
            report.error = Some(error.message().to_owned());
        }
    }
    let another = report.status != Status::Free && report.mine != Some(true);
    let exit = if args.exit_code && another {
        Exit::REFUSED
    } else {
        Exit::SUCCESS
    };
    Ok(Outcome::new(Report::SessionChecked(report), exit))
}
