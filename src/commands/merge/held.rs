//! The merge lock while a command runs under it: held by this process, by a detached holder of the
//! same id, or by the run that this one is inside of.

use std::path::PathBuf;

use super::decide_as;
use super::nested;
use super::turn::MergeTurn;
use crate::commands::context::Context;
use crate::error::{ErrorKind, Result};
use crate::identity::Identity;
use crate::locks::merge::{self, Bid, Keeping, MergeState, Renewal};
use crate::participant::Kind;
use crate::run::{Held, Kept};
use crate::store::last_resort::LastResort;
use crate::store::merge::Purpose;
use crate::sys::clock;
use crate::sys::signals::Bell;

/// For how long the guard is tried for while a command runs, in seconds, before what else is due is
/// seen to.
const PATIENCE: f64 = 1.0;

/// How soon a lease is renewed at most, in seconds.
const SOONEST: f64 = 0.1;

/// The lock of an attached holder, while its command runs.
pub(super) struct Attached<'t, 'c> {
    pub turn: &'t mut MergeTurn<'c>,
    pub context: &'c Context,
    pub last_resort: Option<LastResort>,
    pub bell: Option<Bell>,
}

impl Held for Attached<'_, '_> {
    fn looks_kept(&mut self) -> bool {
        let store = self.context.merge_store();
        let last = self.last_resort.as_ref();
        last.is_some_and(|last| last.is_current(&store)) && self.turn.presence.stands()
    }

    fn keep(&mut self) -> Result<Kept> {
        self.turn.stand()?;
        let wanted = wanted_elsewhere(self.bell.as_ref());
        let caller = self.turn.caller();
        let bid = &self.turn.bid;
        let committed = decide_as(
            self.context,
            &caller,
            Purpose::Ordinary,
            true,
            Some(&wanted),
            |state, caller, verdicts, rules| merge::keep(state, caller, bid, verdicts, rules),
        );
        let kept = match committed {
            Ok(committed) => match committed.outcome {
                Keeping::Kept => Kept::Yes,
                Keeping::Restored => Kept::Restored,
                Keeping::Unclear => Kept::Unclear,
                Keeping::Lost(holder) => Kept::Lost(Some(holder)),
            },
            // Whoever is inside the guard will leave it.
            Err(error) if error.kind() == ErrorKind::Timeout => Kept::Unclear,
            Err(error) => return Err(error),
        };
        if matches!(kept, Kept::Yes | Kept::Restored) {
            self.last_resort = LastResort::prepare(&self.context.merge_store())?;
        }
        Ok(kept)
    }

    fn watch(&self) -> Vec<PathBuf> {
        vec![self.context.merge_store().lock_path]
    }

    fn keep_every(&self) -> f64 {
        keep_every(self.context)
    }
}

/// Tells who looks after the lock that something else is due: a signal, the end of the command, or
/// one of its time limits.
fn wanted_elsewhere(bell: Option<&Bell>) -> impl Fn() -> bool {
    let until = clock::steady() + PATIENCE;
    move || clock::steady() >= until || bell.is_some_and(Bell::rings)
}

/// The lock of a detached holder, while a command of the same id runs.
pub(super) struct Visit<'a> {
    pub identity: &'a Identity,
    pub context: &'a Context,
    /// The number of its grant, where that is recorded.
    pub fence: Option<u64>,
    /// When its lease ends, in seconds since the Unix epoch, where it has one.
    pub expires_at: Option<f64>,
    pub bell: Option<Bell>,
}

impl Visit<'_> {
    /// Whether this is the grant that is visited, and not a later one of the same id.
    fn is_visited(&self, state: &MergeState) -> bool {
        let caller = self.context.caller(self.identity);
        let record = state.holder_record();
        let fence = record.and_then(|record| record.grant.as_ref());
        let fence = fence.map(|grant| grant.fence);
        let later = fence.zip(self.fence).is_some_and(|(now, then)| now != then);
        merge::is_holder(state, &caller)
            && !later
            && record.is_none_or(|record| record.kind != Kind::Attached)
    }
}

impl Held for Visit<'_> {
    fn looks_kept(&mut self) -> bool {
        let seen = self.context.merge_store().peek();
        seen.is_ok_and(|state| self.is_visited(&state))
    }

    fn keep(&mut self) -> Result<Kept> {
        let bid = Bid {
            kind: Kind::Plan,
            insists: false,
            ttl: self.context.settings.ttl.as_secs_f64(),
            process: None,
            token: None,
            workplace: None,
            reason: None,
        };
        let wanted = wanted_elsewhere(self.bell.as_ref());
        let committed = decide_as(
            self.context,
            &self.context.caller(self.identity),
            Purpose::Ordinary,
            true,
            Some(&wanted),
            |state, caller, verdicts, rules| merge::renew(state, caller, &bid, verdicts, rules),
        );
        let committed = match committed {
            Ok(committed) => committed,
            Err(error) if error.kind() == ErrorKind::Timeout => return Ok(Kept::Unclear),
            Err(error) => return Err(error),
        };
        Ok(match committed.outcome {
            Renewal::Lost(holder) => Kept::Lost(holder),
            _ if !self.is_visited(&committed.state) => {
                Kept::Lost(Some(self.identity.id.as_str().to_owned()))
            }
            Renewal::Renewed(expires_at) => {
                self.expires_at = Some(expires_at);
                Kept::Yes
            }
            Renewal::NoLease => Kept::Yes,
        })
    }

    fn watch(&self) -> Vec<PathBuf> {
        vec![self.context.merge_store().lock_path]
    }

    /// Three times within what is left of the lease, which may be shorter than ours would be.
    fn keep_every(&self) -> f64 {
        let left = self.expires_at.map(|at| (at - clock::wall()) / 3.0);
        let most = keep_every(self.context);
        left.map_or(most, |left| left.clamp(SOONEST, most))
    }
}

/// The lock of the run that this process is inside of, while its command runs.
pub(super) struct Enclosing<'a> {
    pub context: &'a Context,
}

impl Held for Enclosing<'_> {
    fn looks_kept(&mut self) -> bool {
        let seen = self.context.merge_store().peek();
        seen.is_ok_and(|state| nested::is_inside(&state, self.context))
    }

    fn keep(&mut self) -> Result<Kept> {
        nested::keep(self.context)
    }

    fn watch(&self) -> Vec<PathBuf> {
        vec![self.context.merge_store().lock_path]
    }

    /// That the enclosing run and its command are gone shows nowhere but in a verdict.
    fn keep_every(&self) -> f64 {
        1.0
    }
}

/// Three times within a lease, in seconds.
fn keep_every(context: &Context) -> f64 {
    (context.settings.ttl.as_secs_f64() / 3.0).max(1.0)
}
