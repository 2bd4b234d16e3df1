//! What must hold of each step.

use git_locks::locks::merge::MergeState;
use git_locks::participant::Kind;
use git_locks::queue::Entry;

use crate::disk::Came;

use super::actors::{CHECKOUT, NAMESAKES, actor, kind, name};
use super::{Model, PASS_OVER, POLL_GRAIN, TICKET_TTL};

impl Model {
    /// Nobody else has what it was promised when `who` gets the lock.
    pub(super) fn check_exclusion(&self, who: usize) {
        for (other, hold) in &self.holds {
            // Another process of the same name is another participant.
            let same = *other == who
                && (kind(who) != Kind::Attached || hold.generation == self.processes[who].0);
            assert!(
                same || !self.vouched_for(*other, hold),
                "{} gets the lock while {} has it: {self:?}",
                name(who),
                name(*other),
            );
        }
    }

    /// All who are ahead and alive were passed over by the rule, or it is not `who`'s turn.
    pub(super) fn check_turn(&self, who: usize, old: &MergeState) {
        // Where its namesake holds the lock, the entry of that name is not its own.
        let namesake = self.disk.holder() == Some(name(who));
        let own = self.left_to(who, old).unwrap_or(name(who));
        let ahead = old
            .queue
            .iter()
            .take_while(|entry| namesake || entry.plan_id != own);
        for entry in ahead {
            let other = actor(&entry.plan_id);
            let gone = self.lost.contains(&other)
                || self.holds.contains_key(&other)
                || NAMESAKES.contains(&other)
                || self.disk.holder() == Some(name(other))
                || self.is_left(other)
                || !self.waits_alive(other);
            if gone {
                continue;
            }
            let idle = old
                .records
                .idle
                .as_ref()
                .map(|idle| self.clock - idle.since.wall);
            let quiet = self.clock - self.asked.get(&other).map_or(entry.ts, |asked| asked.0);
            assert!(
                idle.is_some_and(|idle| idle >= PASS_OVER) && quiet >= PASS_OVER - POLL_GRAIN,
                "{} overtakes {}: {self:?}",
                name(who),
                name(other),
            );
        }
    }

    /// Nobody who waits and lives leaves the queue or changes its place among the others.
    pub(super) fn check_places(&self, who: usize, old: &MergeState, next: &MergeState, asks: bool) {
        let waits = |entry: &&Entry| {
            let other = actor(&entry.plan_id);
            let held = self.disk.holder() == Some(name(other));
            !held
                && !self.holds.contains_key(&other)
                && !self.lost.contains(&other)
                && !NAMESAKES.contains(&other)
        };
        let stays = |left: &str| next.queue.iter().any(|entry| entry.plan_id == left);
        // Nobody looks closely for one whose entry is about to go with a lock that it lost.
        let lost = self.lost.contains(&who);
        let taken = self.left_to(who, old).filter(|left| !(lost && stays(left)));
        let before: Vec<&str> = old
            .queue
            .iter()
            .filter(waits)
            .filter(|entry| {
                let other = actor(&entry.plan_id);
                other == who || self.waits_alive(other)
            })
            .map(|entry| match taken {
                // It has become the newcomer's.
                Some(left) if left == entry.plan_id && asks => name(who),
                _ => entry.plan_id.as_str(),
            })
            .collect();
        let after: Vec<&str> = next
            .queue
            .iter()
            .map(|entry| entry.plan_id.as_str())
            .filter(|id| before.contains(id))
            .collect();
        assert_eq!(before, after, "{} moves a place: {self:?}", name(who));
    }

    /// The place that a killed call of the same checkout left to `who`, a newcomer: the foremost.
    pub(super) fn left_to<'a>(&self, who: usize, old: &'a MergeState) -> Option<&'a str> {
        let queued = old.queue.iter().any(|entry| entry.plan_id == name(who));
        let queued = queued && !self.lost.contains(&who);
        if queued || !CHECKOUT.contains(&who) || self.disk.holder() == Some(name(who)) {
            return None;
        }
        let left = old.queue.iter().find(|entry| {
            let other = actor(&entry.plan_id);
            CHECKOUT.contains(&other)
                && self.is_left(other)
                && self.clock - self.noted.get(&other).map_or(0.0, |at| *at) < TICKET_TTL
                && !self.lost.contains(&other)
                && !self.holds.contains_key(&other)
                && self.disk.holder() != Some(name(other))
        });
        left.map(|entry| entry.plan_id.as_str())
    }

    pub(super) fn check_fence(&self) {
        assert!(self.disk.records.fence >= self.fence, "{self:?}");
    }

    /// A present holder whose file had vanished has it back after a whole commit; any other
    /// has lost it.
    pub(super) fn settle_vanished(&mut self, old: &MergeState, came: Came) {
        if came == Came::Cut(1) {
            return;
        }
        let vanished: Vec<usize> = self
            .holds
            .iter()
            .filter(|(_, hold)| hold.vanished)
            .map(|(who, _)| *who)
            .collect();
        for who in vanished {
            let here = self.disk.holder() == Some(name(who));
            if here {
                self.holds
                    .entry(who)
                    .and_modify(|hold| hold.vanished = false);
                continue;
            }
            let hold = &self.holds[&who];
            let present = self.is_there(who, hold) && !self.hidden.contains(&who) && hold.whole;
            if !present {
                self.lose(who);
            } else if came == Came::Through && old.lock.is_none() {
                panic!("{} did not get its lock file back: {self:?}", name(who));
            }
        }
    }
}
