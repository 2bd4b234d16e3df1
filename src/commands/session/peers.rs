//! `git locks session peers`, and what else weighs the sessions of a repository.
//!
//! Two witnesses tell of a session: its lease, and the `STATE.md` of its checkout. The second counts
//! only where the first does not tell of the same session.

use std::path::Path;
use std::time::Duration;

use super::{Here, given};
use crate::cli;
use crate::commands::asking::shown;
use crate::error::Result;
use crate::exit::Exit;
use crate::locks::session::state_md::Witness;
use crate::locks::session::{Content, Lease};
use crate::report::{
    Outcome, Report, SessionPeer, SessionSource, SessionState, SessionsFound, Status,
};
use crate::store::session::{Found, SessionStore, witness};
use crate::sys::clock;
use crate::text;

/// Says which sessions are noted in the worktrees of the repository.
///
/// # Errors
/// An argument makes no sense, or the worktrees cannot be told.
pub(super) fn peers(args: &cli::SessionPeers, here: &Here<'_>) -> Result<Outcome> {
    let own = given(&args.id)?;
    let peers = gather(here, own.as_deref(), args.semantic_session_id.as_deref())?;
    let foreign = |peer: &&SessionPeer| peer.live && peer.mine != Some(true);
    let live_peers = peers.iter().filter(foreign).count();
    let exit = if args.exit_code && live_peers > 0 {
        Exit::REFUSED
    } else {
        Exit::SUCCESS
    };
    let report = SessionsFound {
        status: Status::Success,
        live_peers,
        peers,
    };
    Ok(Outcome::new(Report::SessionsFound(report), exit))
}

/// The sessions of every worktree. `own` is the caller's, and `semantic` its label.
///
/// # Errors
/// The worktrees cannot be told.
pub(super) fn gather(
    here: &Here<'_>,
    own: Option<&str>,
    semantic: Option<&str>,
) -> Result<Vec<SessionPeer>> {
    let roots = here.context.place.worktrees()?;
    let looks: Vec<Look<'_>> = roots.iter().map(|root| look(here, root)).collect();
    // Only the exact id says whose a label is.
    let bound = looks.iter().filter_map(|look| look.lease.as_ref());
    let bound = bound
        .filter(|lease| Some(lease.session_id.as_str()) == own)
        .find_map(|lease| lease.semantic_session_id.clone());
    let semantic = semantic.map(str::to_owned).or(bound);
    let mut peers = Vec::new();
    for look in &looks {
        peers.extend(look.leased(here, own));
        peers.extend(look.witnessed(here, own, semantic.as_deref()));
    }
    Ok(peers)
}

/// What a worktree tells.
struct Look<'r> {
    root: &'r Path,
    branch: Option<String>,
    lease: Option<Lease>,
    witness: Option<Witness>,
}

fn look<'r>(here: &Here<'_>, root: &'r Path) -> Look<'r> {
    let context = here.context;
    let voice = &context.voice;
    // For a look alone: nothing is made in a git directory.
    let store = SessionStore::new(root, root, context.modes(), Duration::ZERO);
    let lease = match store.read() {
        Ok(Content::Held(lease)) => Some(lease),
        Ok(Content::Free) => None,
        Ok(Content::Corrupt) => {
            let path = text::path(store.path());
            voice.detail(format!("{path} makes no sense, and is no session"));
            None
        }
        Err(error) => {
            voice.detail(format!("{error}; it is no session"));
            None
        }
    };
    let witness = match witness(root) {
        Found::NotThere => None,
        Found::Read(witness) => Some(witness),
        Found::Odd { path, why } => {
            let path = text::path(&path);
            voice.detail(format!("{path} is no session: {why}"));
            None
        }
    };
    Look {
        root,
        branch: context.place.branch_of(root),
        lease,
        witness,
    }
}

impl Look<'_> {
    /// The session that its lease tells of.
    fn leased(&self, here: &Here<'_>, own: Option<&str>) -> Option<SessionPeer> {
        let lease = self.lease.as_ref()?;
        let sight = here.sight(lease);
        let witness = self.witness.as_ref().filter(|it| tells_of(it, lease));
        Some(SessionPeer {
            worktree: shown(self.root),
            branch: self.branch.clone(),
            source: SessionSource::Lock,
            session_id: lease.session_id.clone(),
            semantic_session_id: lease.semantic_session_id.clone(),
            mode: lease.mode.clone(),
            host: lease.host.name.clone(),
            same_host: Some(sight.same_host),
            started_at: lease.started_at,
            age_hours: sight.age_hours,
            heartbeat_age_minutes: Some(sight.heartbeat_age_minutes),
            live: sight.state == SessionState::Active,
            current_wave: witness.and_then(|witness| witness.current_wave),
            mine: own.map(|own| own == lease.session_id),
        })
    }

    /// The session that its `STATE.md` tells of, where the lease does not.
    fn witnessed(
        &self,
        here: &Here<'_>,
        own: Option<&str>,
        semantic: Option<&str>,
    ) -> Option<SessionPeer> {
        let now = clock::wall();
        let witness = self.witness.as_ref()?;
        if !witness.is_peer(own, semantic, now) {
            return None;
        }
        let told = self.lease.as_ref().is_some_and(|lease| {
            tells_of(witness, lease) && here.sight(lease).state == SessionState::Active
        });
        (!told).then(|| SessionPeer {
            worktree: shown(self.root),
            branch: self.branch.clone(),
            source: SessionSource::StateMd,
            session_id: witness.session.clone(),
            semantic_session_id: None,
            mode: witness.mode.clone(),
            host: None,
            same_host: None,
            started_at: witness.started_at,
            age_hours: witness.started_at.map(|at| (now - at).max(0.0) / 3600.0),
            heartbeat_age_minutes: None,
            live: true,
            current_wave: witness.current_wave,
            mine: own.or(semantic).map(|_| false),
        })
    }
}

/// Whether both tell of one session, whichever of its two ids the witness bears.
fn tells_of(witness: &Witness, lease: &Lease) -> bool {
    witness.session == lease.session_id
        || lease.semantic_session_id.as_deref() == Some(witness.session.as_str())
}
