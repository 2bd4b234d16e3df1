//! A session whose command runs.

use std::path::PathBuf;

use super::Here;
use crate::error::Result;
use crate::locks::session::{Content, Lease};
use crate::run::{Held, Kept};
use crate::store::session::Change;
use crate::sys::clock;

/// The longest time between two heartbeats, in seconds.
const LONGEST: f64 = 300.0;

/// The lease of a session whose command runs.
pub(super) struct Holding<'h, 'a> {
    here: &'h Here<'a>,
    /// The lease as it was noted; none where the session goes without.
    lease: Option<Lease>,
}

impl<'h, 'a> Holding<'h, 'a> {
    pub(super) fn new(here: &'h Here<'a>, lease: Option<Lease>) -> Self {
        Self { here, lease }
    }
}

impl Held for Holding<'_, '_> {
    fn what(&self) -> &'static str {
        "the session lease"
    }

    fn looks_kept(&mut self) -> bool {
        let Some(own) = &self.lease else { return true };
        let is_own =
            |content| matches!(content, Content::Held(lease) if lease.session_id == own.session_id);
        self.here.store.read().is_ok_and(is_own)
    }

    fn keep(&mut self) -> Result<Kept> {
        let Some(own) = &self.lease else {
            return Ok(Kept::Yes);
        };
        let now = clock::wall();
        let updated = self.here.store.update(|content| match content {
            Content::Held(lease) if lease.session_id == own.session_id => {
                (Change::Keep(lease.renewed(now)), Kept::Yes)
            }
            Content::Held(lease) => (Change::Nothing, Kept::Lost(Some(lease.session_id.clone()))),
            // It began when it began.
            Content::Free => (Change::Begin(own.renewed(now)), Kept::Restored),
            // Another program may be about to write it.
            Content::Corrupt => (Change::Nothing, Kept::Unclear),
        });
        updated.map(|updated| updated.answer)
    }

    fn watch(&self) -> Vec<PathBuf> {
        let path = || self.here.store.path().to_owned();
        self.lease.iter().map(|_| path()).collect()
    }

    /// Every quarter of the TTL, and at least every five minutes.
    fn keep_every(&self) -> f64 {
        let ttl = |lease: &Lease| lease.ttl_hours * 3600.0 / 4.0;
        self.lease.as_ref().map_or(LONGEST, ttl).min(LONGEST)
    }
}
