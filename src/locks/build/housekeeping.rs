//! What is done for others first: the reaper, the pass-over, promotion.

use super::own::{is_of_process, take};
use super::sight::Sight;
use super::state::{BuildState, Entry, Verdicts};
use super::{Housekeeping, Reaped, Rules};
use crate::locks::asking::Caller;

/// What comes before every release.
pub(super) fn keep_house(next: &mut BuildState, sight: &Sight<'_>) -> Housekeeping {
    let reaped = reap(next, sight);
    let mut done = Housekeeping {
        reaped,
        promoted: fill_slots(next, sight),
    };
    done.drop_absent(next);
    done
}

/// What comes first of all before a request: besides those who held for too long, the dead go.
pub(super) fn clear(next: &mut BuildState, caller: &Caller, sight: &Sight<'_>) -> Vec<Reaped> {
    let reaped = reap(next, sight);
    prune(next, caller, &[], sight);
    reaped
}

/// What comes next: free slots are given out until nothing is left to be done. Returns who got one.
pub(super) fn give_out(next: &mut BuildState, caller: &Caller, sight: &Sight<'_>) -> Vec<String> {
    let mut promoted = Vec::new();
    loop {
        let more = fill_slots(next, sight);
        let settled = more.is_empty();
        promoted.extend(more);
        if !prune(next, caller, &promoted, sight) && settled {
            return promoted;
        }
    }
}

impl BuildState {
    /// Whether a newcomer would be given a slot at once.
    pub fn has_room(&self, verdicts: &Verdicts, rules: &Rules<'_>) -> bool {
        let own = None;
        let sight = Sight {
            verdicts,
            rules,
            own,
        };
        let stays = |entry: &&Entry| !(rules.may_reclaim && sight.is_dead(entry));
        let active = self.active.iter().filter(stays).count();
        let able = |entry: &&Entry| sight.is_able(entry, active);
        active + self.waiting.iter().filter(able).count() < rules.slots
    }
}

impl Housekeeping {
    /// Who was given a slot and lost it in the same breath never had it.
    pub(super) fn drop_absent(&mut self, next: &BuildState) {
        self.promoted
            .retain(|id| next.active.iter().any(|entry| entry.id == *id));
    }
}

/// Removes the active entries that were held for too long.
fn reap(next: &mut BuildState, sight: &Sight<'_>) -> Vec<Reaped> {
    let now = sight.rules.now.moment.wall;
    let mut reaped = Vec::new();
    for mut entry in std::mem::take(&mut next.active) {
        entry.active_since.get_or_insert(now);
        let held = sight.held(&entry);
        let threshold = sight.threshold(&entry);
        #[expect(clippy::cast_precision_loss, reason = "hours, in seconds")]
        let too_long = held > threshold as f64;
        if sight.rules.may_reclaim && too_long && !sight.is_provably_alive(&entry) {
            reaped.push(Reaped {
                id: entry.id,
                held,
                threshold,
            });
        } else {
            next.active.push(entry);
        }
    }
    reaped
}

/// Removes those who are provably gone, but for waiters of other programs and the caller's own place,
/// which has led to a slot when it is among the `promoted`. Returns whether there were any.
fn prune(next: &mut BuildState, caller: &Caller, promoted: &[String], sight: &Sight<'_>) -> bool {
    if !sight.rules.may_reclaim {
        return false;
    }
    let before = next.active.len() + next.waiting.len();
    next.active.retain(|entry| {
        let place = sight.is_own(entry) && promoted.contains(&entry.id);
        place || is_of_process(entry, caller) || !sight.is_dead(entry)
    });
    next.waiting.retain(|entry| {
        let ours = entry.record.known().is_some();
        sight.is_own(entry) || !(ours && sight.verdict(entry).is_stale())
    });
    before != next.active.len() + next.waiting.len()
}

/// Gives the free slots to those who wait first, and those of the silent to others who would use them.
/// Returns who got one.
fn fill_slots(next: &mut BuildState, sight: &Sight<'_>) -> Vec<String> {
    let mut promoted = Vec::new();
    let mut aside = 0;
    loop {
        while let Some(id) = promote_next(next, sight) {
            promoted.push(id);
        }
        if !step_aside(next, aside, sight) {
            return promoted;
        }
        aside += 1;
    }
}

/// Puts the first that was given a slot and did not show itself back, behind the `aside` that went
/// before it, where one who waits would use its slot. Returns whether there was one.
fn step_aside(next: &mut BuildState, aside: usize, sight: &Sight<'_>) -> bool {
    let active = next.active.len();
    let wanted = |entry: &Entry| sight.is_kept_waiting(entry, active);
    let Some(limit) = sight.rules.pass_over else {
        return false;
    };
    let absent = |entry: &Entry| {
        let unclaimed = entry.record.known().is_some_and(|record| !record.claimed);
        unclaimed && !sight.is_own(entry) && sight.held(entry) >= limit && sight.is_silent(entry)
    };
    let Some(place) = next.active.iter().position(absent) else {
        return false;
    };
    if !next.waiting.iter().any(wanted) {
        return false;
    }
    let mut entry = next.active.remove(place);
    entry.active_since = None;
    if let Some(record) = entry.record.known_mut() {
        record.slot = None;
        record.since = None;
        record.passed = true;
    }
    next.waiting.insert(aside.min(next.waiting.len()), entry);
    true
}

/// Gives a free slot to the first waiter that can use it. Where nobody can, it goes to another program's
/// that is gone: like that program, we remove only what is active. Returns who got it.
fn promote_next(next: &mut BuildState, sight: &Sight<'_>) -> Option<String> {
    let active = next.active.len();
    let able = |entry: &Entry| sight.is_able(entry, active);
    let place = next.waiting.iter().position(able).or_else(|| {
        let removable = sight.rules.may_reclaim && active < sight.rules.slots;
        let gone = |entry: &Entry| removable && sight.is_foreign_and_gone(entry);
        next.waiting.iter().position(gone)
    })?;
    let mut entry = next.waiting.remove(place);
    let id = entry.id.clone();
    let told = !sight.is_own(&entry) && sight.is_here(&entry);
    if let Some(record) = entry.record.known_mut() {
        record.told = told;
    }
    activate(next, entry, sight);
    Some(id)
}

/// Makes a waiter active. It has not shown itself yet.
pub(super) fn activate(next: &mut BuildState, mut entry: Entry, sight: &Sight<'_>) {
    let now = sight.rules.now.moment;
    entry.active_since = Some(now.wall);
    let slot = lowest_free_slot(next);
    if let Some(record) = entry.record.known_mut() {
        record.slot = Some(slot);
        record.since = Some(now);
        record.keep_clock(&sight.rules.now.host);
        record.claimed = false;
        record.passed = false;
    }
    next.active.push(entry);
}

/// The lowest number, from 1, of a slot that nobody has.
pub(super) fn lowest_free_slot(state: &BuildState) -> usize {
    let mut lowest = 1;
    while is_slot_taken(state, lowest) {
        lowest += 1;
    }
    lowest
}

pub(super) fn is_slot_taken(state: &BuildState, slot: usize) -> bool {
    let has = |entry: &Entry| entry.record.known().is_some_and(|r| r.slot == Some(slot));
    state.active.iter().any(has)
}

/// Removes the active entries that are provably gone, so that one may come back that should not have
/// lost its slot.
pub(super) fn make_room(next: &mut BuildState, sight: &Sight<'_>) {
    if sight.rules.may_reclaim {
        next.active.retain(|entry| !sight.is_dead(entry));
    }
}

/// Removes the entry `id`, and gives its slot to others where it had one. Returns who got one; `None`
/// where there is no such entry.
pub(super) fn let_go(next: &mut BuildState, id: &str, sight: &Sight<'_>) -> Option<Vec<String>> {
    if take(&mut next.active, id).is_some() {
        return Some(fill_slots(next, sight));
    }
    take(&mut next.waiting, id).map(|_| Vec::new())
}
