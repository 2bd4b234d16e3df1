//! The entries as a decision sees them: by the verdicts, the clock and the rules.

use crate::lease::Standing;
use crate::liveness::Verdict;
use crate::participant::Kind;
use crate::report::Staleness;

use super::state::{Entry, Recorded, Verdicts};
use super::{LEAST_LIMIT, MOST_LIMIT, Rules};

/// What a decision goes by.
pub(super) struct Sight<'a> {
    pub verdicts: &'a Verdicts,
    pub rules: &'a Rules<'a>,
    /// The id of the entry that the caller is about to use: this call is its sign of life, and the
    /// caller's number of slots is its own.
    pub own: Option<String>,
}

impl Sight<'_> {
    pub fn verdict(&self, entry: &Entry) -> Verdict {
        let verdict = self.verdicts.0.get(&entry.id).copied();
        verdict.unwrap_or(Verdict::UNKNOWN)
    }

    pub fn is_own(&self, entry: &Entry) -> bool {
        self.own.as_deref() == Some(entry.id.as_str())
    }

    /// Whether an entry is of the caller's project.
    pub fn is_here(&self, entry: &Entry) -> bool {
        let root = self.rules.project_root.to_string_lossy();
        entry.project_root.as_deref().is_none_or(|it| it == root)
    }

    /// Whether an entry can use no slot any more: provably gone, or a waiter whose process is.
    pub fn is_dead(&self, entry: &Entry) -> bool {
        self.verdicts.is_dead(&entry.id)
    }

    fn slots_of(&self, entry: &Entry) -> usize {
        match entry.record.known() {
            Some(record) if !self.is_own(entry) => record.slots,
            _ => self.rules.slots,
        }
    }

    /// Whether an entry of ours has shown no sign of life for as long as a slot may stay unclaimed.
    pub fn is_silent(&self, entry: &Entry) -> bool {
        let Some((record, limit)) = entry.record.known().zip(self.rules.pass_over) else {
            return false;
        };
        // A pass-over frees nothing that is in use, so wall clocks will do between machines.
        let now = &self.rules.now;
        let quiet = now.elapsed_or_wall(record.who.ticket, &record.who.host);
        !self.verdict(entry).present && quiet >= limit
    }

    /// Whether a waiter would use a slot, as far as that can be told.
    fn is_willing(&self, entry: &Entry) -> bool {
        let passed = entry.record.known().is_some_and(|record| record.passed);
        self.is_own(entry) || !(self.is_dead(entry) || (passed && self.is_silent(entry)))
    }

    /// Whether a waiter could use a slot while so many are `active`.
    pub fn is_able(&self, entry: &Entry, active: usize) -> bool {
        active < self.slots_of(entry) && self.is_willing(entry)
    }

    /// Whether a waiter of ours, or one that asks now, lacks nothing but the slot of one of so many
    /// `active`, and shows life.
    pub fn is_kept_waiting(&self, entry: &Entry, active: usize) -> bool {
        let shows_life = self.verdict(entry).present || !self.is_silent(entry);
        self.slots_of(entry) == active
            && self.is_willing(entry)
            && (self.is_own(entry) || (shows_life && entry.record.known().is_some()))
    }

    /// For how long an entry has been active, in seconds.
    pub fn held(&self, entry: &Entry) -> f64 {
        let now = &self.rules.now;
        let recorded = entry.record.known();
        let since = recorded.and_then(|record| Some((record.since?, &record.who.host)));
        match (since, entry.active_since) {
            (Some((since, host)), _) => now.elapsed_or_wall(since, host),
            (None, Some(since)) => now.moment.wall - since,
            (None, None) => 0.0,
        }
    }

    /// For how long an entry may be active where nothing vouches for it but a plan, in seconds.
    pub fn threshold(&self, entry: &Entry) -> u64 {
        let own = entry.record.known().map(|record| record.limit);
        let own = own.unwrap_or_default().clamp(LEAST_LIMIT, MOST_LIMIT);
        2 * own.max(self.rules.limit)
    }

    /// Whether an active entry is of one that is there for certain: by its process, or by its promise.
    pub fn is_provably_alive(&self, entry: &Entry) -> bool {
        let Some(record) = entry.record.known() else {
            return false;
        };
        let verdict = self.verdict(entry);
        if record.who.kind == Kind::Plan || verdict.is_stale() {
            return false;
        }
        let lease = record.who.lease.filter(|_| record.claimed);
        let promised = lease.is_some_and(|lease| {
            lease.standing(&record.who.host, &self.rules.now) == Standing::Running
        });
        let fresh = verdict.staleness == Staleness::Fresh;
        promised || (fresh && (record.claimed || verdict.present))
    }

    /// Whether a run may go ahead in the slot of this entry: what vouches for it is not gone, or the run
    /// renews it. As long as it is not claimed, its process has not been looked for.
    pub fn may_be_visited(&self, entry: &Entry) -> bool {
        match entry.record.known() {
            Some(record) if record.who.kind == Kind::Leased => true,
            Some(record) if record.who.kind == Kind::Process && !record.claimed => false,
            _ => !self.is_dead(entry),
        }
    }

    /// Whether another program's waiter stands in the way of nobody but itself.
    pub fn is_foreign_and_gone(&self, entry: &Entry) -> bool {
        entry.record == Recorded::Not && !self.is_own(entry) && self.verdict(entry).is_stale()
    }
}
