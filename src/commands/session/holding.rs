//! A session whose command runs.

use std::path::PathBuf;

use super::Here;
use crate::error::Result;
use crate::locks::session::{Content, Lease, Terms};
use crate::run::{Held, Kept};
use crate::store::session::Change;
use crate::sys::clock;

/// The longest time between two heartbeats, in seconds.
const LONGEST: f64 = 300.0;

/// The lease of a session whose command runs.
pub(super) struct Holding<'h, 'a> {
    here: &'h Here<'a>,
    terms: &'h Terms,
    /// Whether the session goes without a lease.
    without: bool,
}

impl<'h, 'a> Holding<'h, 'a> {
    pub(super) fn new(here: &'h Here<'a>, terms: &'h Terms, without: bool) -> Self {
        Self {
            here,
            terms,
            without,
        }
    }
}

impl Held for Holding<'_, '_> {
    fn what(&self) -> &'static str {
        "the session lease"
    }

    fn looks_kept(&mut self) -> bool {
        let is_own = |content| matches!(content, Content::Held(lease) if lease.session_id == self.terms.session_id);
        self.without || self.here.store.read().is_ok_and(is_own)
    }

    fn keep(&mut self) -> Result<Kept> {
        if self.without {
            return Ok(Kept::Yes);
        }
        let now = clock::wall();
        let updated = self.here.store.update(|content| match content {
            Content::Held(lease) if lease.session_id == self.terms.session_id => {
                (Change::Keep(lease.renewed(now)), Kept::Yes)
            }
            Content::Held(lease) => (Change::Nothing, Kept::Lost(Some(lease.session_id.clone()))),
            Content::Free => (Change::Begin(Lease::begin(self.terms, now)), Kept::Restored),
            // Another program may be about to write it.
            Content::Corrupt => (Change::Nothing, Kept::Unclear),
        });
        updated.map(|updated| updated.answer)
    }

    fn watch(&self) -> Vec<PathBuf> {
        if self.without {
            Vec::new()
        } else {
            vec![self.here.store.path().to_owned()]
        }
    }

    /// Every quarter of the TTL, and at least every five minutes.
    fn keep_every(&self) -> f64 {
        (self.terms.ttl_hours * 3600.0 / 4.0).min(LONGEST)
    }
}
