//! Those whose process is there all the time, and the commands that they run.

use git_locks::locks::merge::{self, Keeping};
use git_locks::participant::Kind;

use crate::disk::Came;

use super::actors::{keeps_presence, kind, name};
use super::{Model, TTL};

impl Model {
    /// The process of an actor ends, and its plan. What it parked ends with it; a command that began
    /// runs on.
    pub(super) fn die(&mut self, who: usize) {
        self.plans.remove(&who);
        self.processes[who].1 = false;
        let has_begun = self.runs.remove(&who) == Some(true);
        if !has_begun {
            self.end_child(who);
        }
        self.parked.remove(&who);
    }

    /// What an actor parked ends, whether it has become a command or not.
    pub(super) fn end_child(&mut self, who: usize) {
        if let Some(child) = self.parked.get(&who) {
            self.children.remove(&(who, *child));
        }
    }

    /// A runner parks the process that will become its command, anew where that has ended.
    pub(super) fn park(&mut self, who: usize) {
        let asks = self.processes[who].1 && !self.runs.contains_key(&who);
        let parked = self.parked.get(&who).copied();
        if kind(who) == Kind::Attached && asks && !self.child_runs(who, parked) {
            self.children_born += 1;
            self.parked.insert(who, self.children_born);
            self.children.insert((who, self.children_born));
        }
    }

    /// Whether the very process of a runner has the lock, whether it knows it or not.
    pub(super) fn has_it_itself(&self, who: usize) -> bool {
        let hold = self.holds.get(&who);
        kind(who) == Kind::Attached && hold.is_some_and(|hold| self.runs(who, hold.generation))
    }

    /// One that was not told that it has the lock ends, and gives up what it has.
    pub(super) fn leave(&mut self, who: usize, crash: Option<u8>) {
        if !keeps_presence(who) || !self.processes[who].1 || self.runs.contains_key(&who) {
            return;
        }
        let caller = self.caller(who);
        let (old, verdicts) = self.look(&caller);
        let has_it = self.has_it_itself(who);
        let asked = self.asked.get(&who).map(|(_, generation)| *generation);
        let waits = !has_it && asked == Some(self.processes[who].0);
        let (next, ()) = merge::leave(&old, &caller, &verdicts, &self.rules());
        let mut others = old.clone();
        if waits || has_it {
            others.queue.retain(|entry| entry.plan_id != name(who));
        }
        self.check_places(who, &others, &next, false);
        if has_it {
            // It wants nothing back.
            self.holds
                .entry(who)
                .and_modify(|hold| hold.vanished = false);
        }
        let came = self.disk.commit(&old, &next, true, crash, None);
        self.settle_vanished(&old, came);
        if has_it && came != Came::Cut(1) {
            self.lose(who);
        } else if waits && !matches!(came, Came::Cut(1 | 2)) {
            self.asked.remove(&who);
        }
        self.die(who);
        self.check_fence();
    }

    /// The runner tells its command to begin, and looks at nothing before.
    pub(super) fn start(&mut self, who: usize) {
        if let Some(has_begun) = self.runs.get_mut(&who) {
            *has_begun = true;
        }
    }

    /// A runner that has the lock asks again, with what it has parked by now.
    pub(super) fn found_again(&mut self, who: usize, came: Came) {
        let child = self.parked.get(&who).copied();
        self.holds.entry(who).and_modify(|hold| {
            hold.child = child;
            hold.whole |= came == Came::Through;
        });
    }

    /// The lock is the runner's, whatever happened to it meanwhile.
    pub(super) fn still_has_it(&mut self, who: usize) {
        if !self.holds.contains_key(&who) {
            self.check_exclusion(who);
            // The entry of whoever had it goes with its lock.
            let others: Vec<usize> = self.holds.keys().copied().collect();
            others.into_iter().for_each(|other| self.lose(other));
            self.hold(who);
            // Nothing was promised anew.
            let clock = self.clock;
            self.holds
                .entry(who)
                .and_modify(|hold| hold.expires = clock);
            self.lost.remove(&who);
        }
    }

    pub(super) fn keep(&mut self, who: usize, crash: Option<u8>, survives: bool) {
        if self.runs.get(&who) != Some(&true) {
            return;
        }
        let (caller, bid) = (self.caller(who), self.bid(who));
        let (old, verdicts) = self.look(&caller);
        let (next, keeping) = merge::keep(&old, &caller, &bid, &verdicts, &self.rules());
        self.check_places(who, &old, &next, false);
        let came = self.disk.commit(&old, &next, false, crash, None);
        self.settle_vanished(&old, came);
        let made = next.lock != old.lock;
        match keeping {
            Keeping::Kept | Keeping::Restored => {
                let has_it = !made || matches!(came, Came::Through | Came::Cut(5));
                if has_it && came != Came::Cut(1) {
                    let had_it = self.holds.contains_key(&who);
                    self.still_has_it(who);
                    let (clock, whole) = (self.clock, came == Came::Through);
                    self.holds.entry(who).and_modify(|hold| {
                        hold.expires = clock + TTL;
                        hold.whole = whole || (had_it && hold.whole);
                    });
                } else if came == Came::Cut(4) && old.lock.is_some() {
                    self.stale_holder_gone(who);
                }
            }
            Keeping::Unclear => panic!("nobody is being born: {self:?}"),
            Keeping::Lost(_) => {
                let vouched = self.holds.get(&who).is_some_and(|hold| {
                    !hold.vanished && !self.hidden.contains(&who) && self.vouched_for(who, hold)
                });
                assert!(
                    !vouched,
                    "{} has it and is told otherwise: {self:?}",
                    name(who)
                );
                self.end_child(who);
                self.die(who);
            }
        }
        if crash.is_some() && !survives {
            self.die(who);
        }
        self.fence = self.fence.max(self.disk.records.fence);
        self.check_fence();
    }
}
