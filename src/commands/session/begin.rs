//! How a session begins, alone or to run a command.
//!
//! The lease of the checkout is looked at first; then, where that was asked for, the sessions of the
//! other worktrees; then the lease is written, unless it has changed meanwhile in a way that forbids it.

use super::{Here, noted, peers};
use crate::error::Error;
use crate::exit::Exit;
use crate::locks::session::{self, Beside, Content, Decision, Lease, ModeClass, Terms};
use crate::report::{
    Action, Outcome, Recommendation, Report, SessionBeside, SessionBlocked, SessionLeased,
    SessionPeer, SessionReason, Status,
};
use crate::store::session::Change;
use crate::sys::clock;

/// What came of it.
pub(super) enum Begun {
    /// The lease is the caller's.
    Leased(Lease, Action),
    /// Another's lease is in the way, or one that makes no sense.
    Blocked(Content, Box<SessionBlocked>),
    /// Sessions in other worktrees decided, and no lease was written.
    Beside(Box<SessionBeside>, Exit),
    /// The file system failed.
    Failed(Error),
}

/// Begins the session of `terms`, if nothing is in its way.
pub(super) fn begin(here: &Here<'_>, terms: &Terms, consider_peers: bool) -> Begun {
    if consider_peers {
        warn_of_mode(here, "this session", &terms.session_id, Some(&terms.mode));
        match here.store.read() {
            Ok(Content::Free) => {
                if let Some(begun) = beside(here, terms) {
                    return begun;
                }
            }
            // What stands there is answered below.
            Ok(Content::Held(_) | Content::Corrupt) => {}
            Err(error) => return Begun::Failed(error),
        }
    }
    let (now, host) = (clock::wall(), here.context.host());
    let updated = here.store.update(|content| {
        match (
            session::decide(content, &terms.session_id, now, host),
            content,
        ) {
            (Decision::Begin, _) => {
                let lease = Lease::begin(terms, now);
                let answer = Begun::Leased(lease.clone(), Action::Acquired);
                (Change::Begin(lease), answer)
            }
            (Decision::Renew, Content::Held(own)) => {
                let lease = own.again(terms, now);
                let answer = Begun::Leased(lease.clone(), Action::Renewed);
                (Change::Keep(lease), answer)
            }
            (Decision::Renew, content) => (
                Change::Nothing,
                blocked(here, terms, SessionReason::Corrupt, content),
            ),
            (Decision::Blocked(reason), content) => {
                (Change::Nothing, blocked(here, terms, reason, content))
            }
        }
    });
    updated.map_or_else(Begun::Failed, |updated| updated.answer)
}

fn blocked(here: &Here<'_>, terms: &Terms, reason: SessionReason, content: &Content) -> Begun {
    let existing = match content {
        Content::Held(lease) => Some((noted(lease), here.sight(lease))),
        Content::Free | Content::Corrupt => None,
    };
    let report = match existing {
        Some((existing, sight)) => SessionBlocked {
            status: Status::Blocked,
            session_id: terms.session_id.clone(),
            reason,
            existing: Some(existing),
            age_hours: sight.age_hours,
            heartbeat_age_minutes: Some(sight.heartbeat_age_minutes),
            same_host: Some(sight.same_host),
            recommendation: sight.recommendation,
            lock_path: here.lock_path(),
        },
        None => SessionBlocked {
            status: Status::Blocked,
            session_id: terms.session_id.clone(),
            reason,
            existing: None,
            age_hours: None,
            heartbeat_age_minutes: None,
            same_host: None,
            recommendation: Recommendation::Abort,
            lock_path: here.lock_path(),
        },
    };
    Begun::Blocked(content.clone(), Box::new(report))
}

/// What the sessions of the other worktrees have to say of it, if anything.
fn beside(here: &Here<'_>, terms: &Terms) -> Option<Begun> {
    let own = Some(terms.session_id.as_str());
    let label = terms.semantic_session_id.as_deref();
    let found = match peers::told(here.context, own, label, Some(&here.root)) {
        Ok(found) => found,
        Err(error) => return Some(Begun::Failed(error)),
    };
    let others: Vec<SessionPeer> = found
        .into_iter()
        .filter(|peer| peer.live && peer.mine != Some(true))
        .collect();
    for peer in &others {
        warn_of_mode(here, "the session", &peer.session_id, peer.mode.as_deref());
    }
    let modes: Vec<Option<&str>> = others.iter().map(|peer| peer.mode.as_deref()).collect();
    let (reason, index) = match session::beside(&terms.mode, &modes) {
        Beside::Alone => return None,
        Beside::Exclusive(index) => (SessionReason::ActiveIncompatibleExclusive, index),
        Beside::Parallel(index) => (SessionReason::ActiveCompatibleParallel, index),
        Beside::Bypass(index) => (SessionReason::ActiveReadonlyBypass, index),
    };
    let blocking = others.get(index).cloned()?;
    let bypass = reason == SessionReason::ActiveReadonlyBypass;
    let report = SessionBeside {
        status: if bypass {
            Status::Success
        } else {
            Status::Blocked
        },
        session_id: terms.session_id.clone(),
        reason,
        action: bypass.then_some(Action::Noop),
        blocking_session_id: blocking.session_id,
        blocking_mode: blocking.mode,
        blocking_worktree: blocking.worktree,
        peers: others,
    };
    let exit = if bypass { Exit::SUCCESS } else { Exit::BLOCKED };
    Some(Begun::Beside(Box::new(report), exit))
}

/// Says of a mode that is none of those which are known, how it is taken.
fn warn_of_mode(here: &Here<'_>, whose: &str, id: &str, mode: Option<&str>) {
    if session::mode_class(mode) == ModeClass::Unknown {
        let mode = mode.unwrap_or("unknown");
        here.context.voice.warn(format!(
            "the mode of {whose} {id} is {mode}, which is not known here: taken for one that goes \
             beside others in worktrees of their own, as feature does"
        ));
    }
}

/// What is to be said of a lease that is the caller's now.
pub(super) fn leased(here: &Here<'_>, lease: Lease, action: Action) -> Outcome {
    let report = SessionLeased {
        status: Status::Success,
        session_id: lease.session_id,
        action,
        mode: lease.mode,
        started_at: lease.started_at,
        last_heartbeat: lease.last_heartbeat.unwrap_or_default(),
        ttl_hours: lease.ttl_hours,
        semantic_session_id: lease.semantic_session_id,
        lock_path: here.lock_path(),
    };
    Outcome::new(Report::SessionLeased(report), Exit::SUCCESS)
}
