//! `git locks session run`.
//!
//! The session begins, the command runs while its heartbeat is kept, the lease is taken away. One that
//! was noted before under the same id stays noted.
//!
//! **A crash** of the runner leaves the lease, which is stale once its TTL has passed, and the command.

use std::ffi::OsString;

use super::begin::{Begun, begin};
use super::holding::Holding;
use super::release::let_go;
use super::{Here, SESSION_ID};
use crate::cli;
use crate::commands::running::{Manner, run_at_once};
use crate::commands::waiting::Patience;
use crate::error::Result;
use crate::report::{Action, Outcome, Report, SessionRefusal, Status};
use crate::run;
use crate::sys::signals::{self, Signals};
use crate::text;
use crate::wait::Senses;

/// Notes a session, runs a command as that session, and takes the lease away.
///
/// # Errors
/// Whatever kept the command from being run.
pub(super) fn run(args: &cli::SessionRun, here: &Here<'_>) -> Result<Outcome> {
    let manner = Manner::of(&args.conduct, Patience::None)?;
    let terms = here.terms(&args.mode, &args.terms)?;
    let senses = Senses::new(Signals::arm(&signals::ENDING)?);
    let aside = |report| Ok(Outcome::Aside(Box::new(report), manner.blocked_exit()));
    let (began, lease) = match begin(here, &terms, args.consider_peers) {
        Begun::Leased(lease, action) => (action == Action::Acquired, Some(lease)),
        Begun::Blocked(_, report) => return aside(Report::SessionBlocked(*report)),
        Begun::Beside(report, _) if report.status == Status::Blocked => {
            return aside(Report::SessionBeside(*report));
        }
        Begun::Beside(report, _) => {
            let voice = &here.context.voice;
            voice.inform(format!(
                "no lease is noted: the session {} is at work in {}, and this one only reads",
                report.blocking_session_id, report.blocking_worktree
            ));
            (false, None)
        }
        Begun::Failed(error) => {
            here.forgiven(error)?;
            (false, None)
        }
    };
    let environment = vec![(SESSION_ID, OsString::from(&terms.session_id))];
    let mut holding = Holding::new(here, lease);
    let ended = run_at_once(
        || run::start_plainly(manner.command(), environment),
        &manner,
        &mut holding,
        senses,
        "another session was noted when the command had ended",
        &here.context.voice,
    );
    if began {
        let voice = &here.context.voice;
        match let_go(here, &terms.session_id) {
            Ok(Err(refused)) if refused.reason == SessionRefusal::Corrupt => {
                let path = text::visible(&refused.lock_path);
                voice.warn(format!(
                    "{path} makes no sense any more, and is left as it is"
                ));
            }
            // Where it is another's, that it was lost has been said.
            Ok(_) => {}
            Err(error) => {
                voice.warn(format!("the lease stays until its TTL has passed: {error}"));
            }
        }
    }
    ended
}
