//! `git locks session …`: the lease of the session that works in a checkout.
//!
//! A lease keeps nobody out: it tells a session that begins of one that is there already, and leaves
//! the decision to a person. Whatever keeps a lease from being read or written is therefore said, and
//! stops no session.

mod acquire;
mod begin;
mod check;
mod heartbeat;
mod holding;
pub(super) mod peers;
mod release;
mod run;
mod take;

use std::env;
use std::path::PathBuf;

use crate::cli::{Session, SessionId, SessionTerms};
use crate::commands::asking::shown;
use crate::commands::context::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::exit::Exit;
use crate::locks::session::{self, Content, Lease, Sight, Terms};
use crate::report::{
    Outcome, Report, SessionDegraded, SessionNoted, SessionReason, SessionRefusal, SessionRefused,
    SessionState, Status,
};
use crate::store::session::SessionStore;
use crate::sys::{clock, random};
use crate::text;

/// The variable that names the caller's session.
const SESSION_ID: &str = "GIT_LOCKS_SESSION_ID";

/// Runs a verb of the session leases.
///
/// # Errors
/// Whatever kept it from answering.
pub fn run(verb: &Session, context: &Context) -> Result<Outcome> {
    let here = Here::find(context)?;
    match verb {
        Session::Acquire(args) => acquire::acquire(args, &here),
        Session::Check(args) => check::check(args, &here),
        Session::Heartbeat(args) => heartbeat::heartbeat(args, &here),
        Session::Take(args) => take::take(args, &here),
        Session::Release(args) => release::release(args, &here),
        Session::Peers(args) => peers::peers(args, &here),
        Session::Run(args) => run::run(args, &here),
    }
}

/// The checkout that the caller stands in, and its lease.
struct Here<'a> {
    context: &'a Context,
    root: PathBuf,
    store: SessionStore,
}

impl<'a> Here<'a> {
    fn find(context: &'a Context) -> Result<Self> {
        let (root, git_dir) = context.worktree()?;
        let patience = context.settings.guard_timeout;
        let store = SessionStore::new(root, git_dir, context.modes(), patience);
        Ok(Self {
            context,
            root: root.to_owned(),
            store,
        })
    }

    fn lock_path(&self) -> String {
        shown(self.store.path())
    }

    /// What is to be noted of the caller's session.
    fn terms(&self, mode: &str, args: &SessionTerms) -> Result<Terms> {
        let session_id = match given(&args.id)? {
            Some(id) => id,
            None => random::uuid4()?,
        };
        Ok(Terms {
            session_id,
            mode: Terms::mode(mode)?,
            ttl_hours: Terms::ttl_hours(args.ttl_hours)?,
            semantic_session_id: args
                .semantic_session_id
                .as_deref()
                .map(Terms::semantic_session_id)
                .transpose()?,
            host: self.context.host().clone(),
            pid: i64::from(std::process::id()),
        })
    }

    /// What is to be said of `lease` now.
    fn sight(&self, lease: &Lease) -> Sight {
        sight(lease, self.context)
    }

    /// What is to be said where `error` keeps the lease from being read or written: the session goes on.
    ///
    /// # Errors
    /// The error, where it is not the file system's.
    fn degraded(&self, session_id: String, error: Error) -> Result<Outcome> {
        let error = self.forgiven(error)?;
        let report = SessionDegraded {
            status: Status::Degraded,
            session_id,
            reason: SessionReason::FsError,
            error,
            lock_path: self.lock_path(),
        };
        let report = Report::SessionDegraded(report);
        Ok(Outcome::new(report, Exit::SUCCESS))
    }

    /// Warns of an error of the file system, which stops no session; its words.
    ///
    /// # Errors
    /// The error, where it is not the file system's.
    fn forgiven(&self, error: Error) -> Result<String> {
        if !matches!(error.kind(), ErrorKind::Io | ErrorKind::Timeout) {
            return Err(error);
        }
        let voice = &self.context.voice;
        voice.warn(format!("{error}; the session goes on without a lease"));
        Ok(error.message().to_owned())
    }

    /// A request of `session_id` that is refused, as the lease is.
    fn refused(
        &self,
        session_id: &str,
        reason: SessionRefusal,
        content: &Content,
    ) -> SessionRefused {
        let (existing, state) = match content {
            Content::Held(lease) => (Some(noted(lease)), Some(self.sight(lease).state)),
            Content::Corrupt => (None, Some(SessionState::Corrupt)),
            Content::Free => (None, None),
        };
        SessionRefused {
            status: Status::Refused,
            session_id: session_id.to_owned(),
            reason,
            existing,
            state,
            lock_path: self.lock_path(),
            hint: None,
        }
    }
}

/// What is to be said of `lease` now.
fn sight(lease: &Lease, context: &Context) -> Sight {
    session::judge(lease, clock::wall(), context.host())
}

fn refusal(report: SessionRefused) -> Outcome {
    Outcome::new(Report::SessionRefused(report), Exit::REFUSED)
}

/// The session that the caller names, if any.
fn given(args: &SessionId) -> Result<Option<String>> {
    if let Some(id) = &args.session_id {
        return Terms::session_id(id).map(Some);
    }
    let named = env::var_os(SESSION_ID).filter(|value| !value.is_empty());
    let Some(named) = named else { return Ok(None) };
    if let Some(id) = named.to_str() {
        return Terms::session_id(id).map(Some);
    }
    let shown = text::clip(&text::visible(&named.to_string_lossy()), 100);
    Err(Error::usage(format!("{SESSION_ID}={shown} is not UTF-8")))
}

/// The session that the caller must name: only its own id proves whose it is.
fn required(args: &SessionId) -> Result<String> {
    given(args)?.ok_or_else(|| {
        Error::usage("which session is meant?").with_hint(format!(
            "name it as acquire has: --session-id ID, or set {SESSION_ID}"
        ))
    })
}

/// `lease` for a report.
fn noted(lease: &Lease) -> SessionNoted {
    SessionNoted {
        session_id: lease.session_id.clone(),
        mode: lease.mode.clone(),
        host: lease.host.name.clone(),
        pid: lease.pid,
        started_at: lease.started_at,
        last_heartbeat: lease.last_heartbeat,
        ttl_hours: lease.ttl_hours,
        semantic_session_id: lease.semantic_session_id.clone(),
    }
}
