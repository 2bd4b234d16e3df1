//! `git locks session peers`, and what else weighs the sessions of a repository.
//!
//! Two witnesses tell of a session: its lease, and the `STATE.md` of its checkout. The second counts
//! only where the first does not tell of the same session.

use std::path::{Path, PathBuf};

use super::{Here, given, sight};
use crate::cli;
use crate::commands::asking::shown;
use crate::commands::context::Context;
use crate::error::Result;
use crate::exit::Exit;
use crate::locks::session::state_md::Witness;
use crate::locks::session::{Content, Lease};
use crate::report::{
    Outcome, Report, SessionPeer, SessionSource, SessionState, SessionsFound, Status,
};
use crate::store::session::{self, Found, witness};
use crate::sys::clock;
use crate::text;

/// Says which sessions are noted in the worktrees of the repository.
///
/// # Errors
/// An argument makes no sense, or the worktrees cannot be told.
pub(super) fn peers(args: &cli::SessionPeers, here: &Here<'_>) -> Result<Outcome> {
    let own = given(&args.id)?;
    let semantic = args.semantic_session_id.as_deref();
    let peers = told(here.context, own.as_deref(), semantic, None)?;
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

/// The sessions of a repository.
#[derive(Default)]
pub(in crate::commands) struct Gathered {
    /// The sessions of every worktree.
    pub peers: Vec<SessionPeer>,
    /// Which leases cannot be read or make no sense, and why.
    pub troubles: Vec<String>,
    /// Where the leases are, or would be.
    pub leases: Vec<PathBuf>,
}

/// The sessions of every worktree, as `gather` finds them; what cannot be read is said in passing.
///
/// # Errors
/// The worktrees cannot be told.
pub(super) fn told(
    context: &Context,
    own: Option<&str>,
    semantic: Option<&str>,
    except: Option<&Path>,
) -> Result<Vec<SessionPeer>> {
    let gathered = gather(context, own, semantic, except)?;
    for trouble in gathered.troubles {
        context.voice.detail(format!("{trouble}; it is no session"));
    }
    Ok(gathered.peers)
}

/// The sessions of every worktree but the one with the root `except`. `own` is the caller's, and
/// `semantic` its label.
///
/// # Errors
/// The worktrees cannot be told.
pub(in crate::commands) fn gather(
    context: &Context,
    own: Option<&str>,
    semantic: Option<&str>,
    except: Option<&Path>,
) -> Result<Gathered> {
    let roots = context.place.worktrees()?;
    let looks: Vec<Look<'_>> = roots.iter().map(|root| look(context, root)).collect();
    // Only the exact id says whose a label is.
    let bound = looks.iter().filter_map(|look| look.lease.as_ref());
    let bound = bound
        .filter(|lease| Some(lease.session_id.as_str()) == own)
        .find_map(|lease| lease.semantic_session_id.clone());
    let semantic = semantic.map(str::to_owned).or(bound);
    let mut gathered = Gathered::default();
    for look in looks {
        if Some(look.root) != except {
            gathered.peers.extend(look.leased(context, own));
            let witnessed = look.witnessed(context, own, semantic.as_deref());
            gathered.peers.extend(witnessed);
        }
        gathered.troubles.extend(look.trouble);
        gathered.leases.push(look.path);
    }
    Ok(gathered)
}

/// What a worktree tells.
struct Look<'r> {
    root: &'r Path,
    branch: Option<String>,
    /// Where its lease is, or would be.
    path: PathBuf,
    lease: Option<Lease>,
    /// What is wrong with the lease.
    trouble: Option<String>,
    witness: Option<Witness>,
}

fn look<'r>(context: &Context, root: &'r Path) -> Look<'r> {
    let path = session::path_in(root);
    let (lease, trouble) = match session::read(root) {
        Ok(Content::Held(lease)) => (Some(lease), None),
        Ok(Content::Free) => (None, None),
        Ok(Content::Corrupt) => {
            let path = text::path(&path);
            (None, Some(format!("{path} makes no sense")))
        }
        Err(error) => (None, Some(error.to_string())),
    };
    let witness = match witness(root) {
        Found::NotThere => None,
        Found::Read(witness) => Some(witness),
        Found::Odd { path, why } => {
            let path = text::path(&path);
            let voice = &context.voice;
            voice.detail(format!("{path} is no session: {why}"));
            None
        }
    };
    Look {
        root,
        branch: context.place.branch_of(root),
        path,
        lease,
        trouble,
        witness,
    }
}

impl Look<'_> {
    /// The session that its lease tells of.
    fn leased(&self, context: &Context, own: Option<&str>) -> Option<SessionPeer> {
        let lease = self.lease.as_ref()?;
        let sight = sight(lease, context);
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
        context: &Context,
        own: Option<&str>,
        semantic: Option<&str>,
    ) -> Option<SessionPeer> {
        let now = clock::wall();
        let witness = self.witness.as_ref()?;
        if !witness.is_peer(own, semantic, now) {
            return None;
        }
        let told = self.lease.as_ref().is_some_and(|lease| {
            tells_of(witness, lease) && sight(lease, context).state == SessionState::Active
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
