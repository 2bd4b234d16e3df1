//! The merge lock while a command runs under what this process does not hold itself: it is held by a
//! detached holder of the same id, or by the run that this one is inside of.

use std::path::PathBuf;

use super::decide_as;
use super::nested;
use crate::commands::context::Context;
use crate::commands::running::{keep_every, unless_busy, wanted_elsewhere};
use crate::error::Result;
use crate::identity::Identity;
use crate::locks::asking::Bid;
use crate::locks::merge::{self, MergeState, Renewal};
use crate::participant::Kind;
use crate::run::{Held, Kept};
use crate::store::merge::Purpose;
use crate::sys::clock;
use crate::sys::signals::Bell;

/// How soon a lease is renewed at most, in seconds.
const SOONEST: f64 = 0.1;

/// The lock of a detached holder, while a command of the same id runs.
pub(super) struct Visit<'a> {
    pub identity: Identity,
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
        let caller = self.context.caller(&self.identity);
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
    fn what(&self) -> &'static str {
        "the lock"
    }

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
            &self.context.caller(&self.identity),
            Purpose::Ordinary,
            true,
            Some(&wanted),
            |state, caller, verdicts, rules| merge::renew(state, caller, &bid, verdicts, rules),
        );
        let Some(committed) = unless_busy(committed)? else {
            return Ok(Kept::Unclear);
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
    fn what(&self) -> &'static str {
        "the lock"
    }

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
