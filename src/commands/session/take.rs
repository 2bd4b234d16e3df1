//! `git locks session take`.

use super::{Here, noted, refusal};
use crate::cli;
use crate::commands::asking::shown;
use crate::commands::consent;
use crate::error::Result;
use crate::exit::Exit;
use crate::locks::session::{Content, Lease, Terms};
use crate::output;
use crate::report::{Action, Outcome, Report, SessionRefusal, SessionState, SessionTaken, Status};
use crate::store::session::Change;
use crate::sys::clock;

/// Puts the caller's session in the place of whichever is noted, once a person has said yes.
///
/// # Errors
/// An argument makes no sense.
pub(super) fn take(args: &cli::SessionTake, here: &Here<'_>) -> Result<Outcome> {
    let terms = here.terms(&args.mode, &args.terms)?;
    if args.yes {
        return replace(here, &terms, None);
    }
    let content = match here.store.read() {
        Ok(content) => content,
        Err(error) => return here.degraded(terms.session_id, error),
    };
    let needs_consent = match &content {
        Content::Free => false,
        Content::Held(lease) => lease.session_id != terms.session_id,
        Content::Corrupt => true,
    };
    if needs_consent {
        let refused = here.refused(&terms.session_id, SessionRefusal::NotConfirmed, &content);
        let question = output::session_consent(&refused, &here.context.style());
        if !consent::says_yes(here.context, &question)? {
            let mut refused = refused;
            refused.hint = Some(again(&terms, args));
            return Ok(refusal(refused));
        }
    }
    replace(here, &terms, Some(&content))
}

/// The same command, with the consent that it needs.
fn again(terms: &Terms, args: &cli::SessionTake) -> String {
    let mut words = vec!["git locks session take --yes --mode".to_owned()];
    words.push(crate::text::shell_word(&terms.mode));
    let given = &args.terms;
    let mut add = |flag: &str, value: Option<String>| {
        let value = value.map(|value| crate::text::shell_word(&value));
        words.extend(value.map(|value| format!("{flag} {value}")));
    };
    add("--session-id", given.id.session_id.clone());
    add(
        "--ttl-hours",
        given.ttl_hours.map(|hours| hours.to_string()),
    );
    add("--semantic-session-id", given.semantic_session_id.clone());
    words.join(" ")
}

/// Notes the session of `terms`, whoever is noted; where `seen` is given, only if that is still what is
/// there.
///
/// # Errors
/// None but those that are no failure of the file system.
pub(super) fn replace(here: &Here<'_>, terms: &Terms, seen: Option<&Content>) -> Result<Outcome> {
    let now = clock::wall();
    let updated = here.store.update(|content| {
        if seen.is_some_and(|seen| seen != content) {
            let refused = here.refused(&terms.session_id, SessionRefusal::Changed, content);
            return (Change::Nothing, Err(Box::new(refused)));
        }
        match content {
            Content::Free => (Change::Begin(Lease::begin(terms, now)), Ok(None)),
            Content::Held(own) if own.session_id == terms.session_id => (
                Change::Keep(own.again(terms, now)),
                Ok(Some(content.clone())),
            ),
            other => (
                Change::Replace(Lease::begin(terms, now)),
                Ok(Some(other.clone())),
            ),
        }
    });
    let updated = match updated {
        Ok(updated) => updated,
        Err(error) => return here.degraded(terms.session_id.clone(), error),
    };
    match updated.answer {
        Err(refused) => Ok(refusal(*refused)),
        Ok(replaced) => {
            let aside = updated.set_aside.as_deref().map(shown);
            let report = taken(here, terms, replaced.as_ref(), aside);
            Ok(Outcome::new(Report::SessionTaken(report), Exit::SUCCESS))
        }
    }
}

fn taken(
    here: &Here<'_>,
    terms: &Terms,
    replaced: Option<&Content>,
    set_aside: Option<String>,
) -> SessionTaken {
    let lease = match replaced {
        Some(Content::Held(lease)) => Some(lease),
        _ => None,
    };
    let sight = lease.map(|lease| here.sight(lease));
    let own = lease.is_some_and(|lease| lease.session_id == terms.session_id);
    let state = match (replaced, &sight) {
        _ if own => Some(SessionState::Own),
        (Some(Content::Corrupt), _) => Some(SessionState::Corrupt),
        (_, Some(sight)) => Some(sight.state),
        _ => None,
    };
    SessionTaken {
        status: Status::Success,
        session_id: terms.session_id.clone(),
        action: match state {
            None => Action::Acquired,
            Some(SessionState::Own) => Action::Renewed,
            Some(_) => Action::Reclaimed,
        },
        replaced: lease.map(noted),
        replaced_state: state,
        age_hours: sight.as_ref().and_then(|sight| sight.age_hours),
        heartbeat_age_minutes: sight.as_ref().map(|sight| sight.heartbeat_age_minutes),
        set_aside,
        ttl_hours: terms.ttl_hours,
        lock_path: here.lock_path(),
    }
}
