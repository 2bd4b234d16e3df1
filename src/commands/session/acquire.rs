//! `git locks session acquire`.

use super::begin::{Begun, begin, leased};
use super::{Here, take};
use crate::cli;
use crate::commands::consent;
use crate::error::Result;
use crate::exit::Exit;
use crate::locks::session::Content;
use crate::output;
use crate::report::{Outcome, Recommendation, Report, SessionBlocked};

/// Notes the caller's session, unless another is noted; then a person is asked, where there is one.
///
/// # Errors
/// An argument makes no sense, or an answer cannot be read.
pub(super) fn acquire(args: &cli::SessionAcquire, here: &Here<'_>) -> Result<Outcome> {
    let terms = here.terms(&args.mode, &args.terms)?;
    match begin(here, &terms, args.consider_peers) {
        Begun::Leased(lease, action) => Ok(leased(here, lease, action)),
        Begun::Beside(report, exit) => Ok(Outcome::new(Report::SessionBeside(*report), exit)),
        Begun::Failed(error) => here.degraded(terms.session_id, error),
        Begun::Blocked(content, report) => {
            if wants_its_place(here, &content, &report)? {
                return take::replace(here, &terms, Some(&content));
            }
            let report = Report::SessionBlocked(*report);
            Ok(Outcome::new(report, Exit::BLOCKED))
        }
    }
}

/// Whether a person, where one reads the answer, chooses to take the place of who is in the way.
fn wants_its_place(here: &Here<'_>, content: &Content, report: &SessionBlocked) -> Result<bool> {
    let context = here.context;
    let person = context.human && consent::may_ask(context);
    if !person || !matches!(content, Content::Held(_)) {
        return Ok(false);
    }
    let question = output::session_question(report, &context.style());
    let take = match report.recommendation {
        Recommendation::Reclaim => "1",
        Recommendation::Abort => "2",
    };
    loop {
        match consent::answer(context, &question)?.as_deref() {
            Some(answer @ ("1" | "2")) => return Ok(answer == take),
            // Nobody there any more, or nothing chosen: nothing is touched.
            None | Some("") => return Ok(false),
            Some(_) => {}
        }
    }
}
