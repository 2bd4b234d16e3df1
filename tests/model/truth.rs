//! Who lives, who holds and who waits, as the model knows it.

mod actors;
mod attached;
mod invariants;

use std::collections::{BTreeMap, BTreeSet};

use git_locks::identity::PlanId;
use git_locks::lease::{Moment, Now};
use git_locks::liveness::{Evidence, Terms, World};
use git_locks::locks::asking::{Bid, Caller, Poll};
use git_locks::locks::merge::{
    self, Admission, Eviction, MergeState, Release, Renewal, Rules, Verdicts,
};
use git_locks::participant::Kind;
use git_locks::queue::Entry;
use git_locks::report::Action;
use git_locks::sys::host::Host;
use git_locks::sys::process::ProcessId;

use crate::disk::{Came, Disk};

pub use actors::{ACTORS, runners};
use actors::{
    CHECKOUT, CHILD, NAMESAKES, OTHER, actor, host, id, keeps_presence, kind, name, process_id,
};

const TTL: f64 = 300.0;
const DEFAULT_TTL: f64 = 600.0;
const TICKET_TTL: f64 = 200.0;
const PASS_OVER: f64 = 120.0;
const POLL_GRAIN: f64 = 10.0;

/// What happens next.
#[derive(Clone, Debug)]
pub enum Step {
    Acquire {
        who: usize,
        crash: Option<u8>,
        barge: bool,
        /// Whether a runner makes sure that it has parked a process before it asks.
        parks: bool,
        /// Whether the commit failed where it was cut off, and the one that asked lives on.
        survives: bool,
    },
    Release {
        who: usize,
        crash: Option<u8>,
    },
    /// One that waits is told to end.
    Leave {
        who: usize,
        crash: Option<u8>,
    },
    Evict {
        who: usize,
        crash: Option<u8>,
    },
    Renew(usize),
    /// The runner tells the process that it parked to begin.
    Start(usize),
    /// The runner looks after its lock.
    Keep {
        who: usize,
        crash: Option<u8>,
        survives: bool,
    },
    /// A command ends, or somebody kills a process that was parked.
    ChildEnds(usize),
    Die(usize),
    Live(usize),
    ToggleWorktree(usize),
    ToggleHidden(usize),
    LockVanishes,
    OtherTakes,
    OtherDrops,
    OtherQueues,
    Advance(f64),
}

/// What a holder was promised.
#[derive(Clone, Debug)]
struct Hold {
    /// Its process, by generation.
    generation: u32,
    expires: f64,
    /// Its lock file is gone.
    vanished: bool,
    /// The process that it had parked, by generation.
    child: Option<u32>,
    /// Whether the commit that gave the lock came to its end. Otherwise a lock file that vanishes
    /// looks as if it had never been made, and the place is a waiter's again.
    whole: bool,
}

/// What is true.
#[derive(Debug)]
pub struct Model {
    disk: Disk,
    clock: f64,
    plans: BTreeSet<usize>,
    worktrees: BTreeSet<usize>,
    hidden: BTreeSet<usize>,
    /// The generation of each actor's process, and whether it runs.
    processes: Vec<(u32, bool)>,
    /// Whose processes run, by generation: parked ones, and commands that may have outlived their
    /// runners.
    children: BTreeSet<(usize, u32)>,
    /// The generation of the process that each runner parked last.
    parked: BTreeMap<usize, u32>,
    /// How many processes were parked so far.
    children_born: u32,
    /// The runners that were given the lock, and whether they told their command to begin.
    runs: BTreeMap<usize, bool>,
    holds: BTreeMap<usize, Hold>,
    /// Who lost the lock and has not asked again: its entry goes with the lock.
    lost: BTreeSet<usize>,
    /// When each asked last, and by which process.
    asked: BTreeMap<usize, (f64, u32)>,
    /// When each was last noted to ask: polls that follow soon are not.
    noted: BTreeMap<usize, f64>,
    fence: u64,
    /// Who was last recorded as what it will be once it holds: its process counts no more.
    detached: BTreeSet<usize>,
    /// Who was given the lock, since that was last forgotten.
    served: BTreeSet<usize>,
}

impl World for Model {
    fn keeps_plans(&self) -> Evidence {
        Evidence::Alive
    }
    fn plan(&self, id: &PlanId) -> Evidence {
        self.seen(actor(id.as_str()), self.plans.contains(&actor(id.as_str())))
    }
    fn worktree(&self, id: &PlanId) -> Evidence {
        let there = self.worktrees.contains(&actor(id.as_str()));
        self.seen(actor(id.as_str()), there)
    }
    fn process(&self, process: &ProcessId, _: &Host) -> Evidence {
        let pid = usize::try_from(process.pid).expect("an actor");
        let generation = process.start.parse().expect("a generation");
        match pid.checked_sub(CHILD) {
            Some(who) => self.seen(who, self.child_runs(who, Some(generation))),
            None => self.seen(pid, self.runs(pid, generation)),
        }
    }
    fn presence(&self, name: &str, _: &Host) -> Evidence {
        let (id, generation) = name.split_once('#').expect("a name of ours");
        let who = actor(id);
        self.seen(
            who,
            self.runs(who, generation.parse().expect("a generation")),
        )
    }
}

impl Model {
    pub fn new() -> Self {
        Self {
            disk: Disk::default(),
            clock: 1_000_000.0,
            plans: (0..=OTHER).collect(),
            worktrees: BTreeSet::new(),
            hidden: BTreeSet::new(),
            processes: vec![(0, true); OTHER + 1],
            children: BTreeSet::new(),
            parked: BTreeMap::new(),
            children_born: 0,
            runs: BTreeMap::new(),
            holds: BTreeMap::new(),
            lost: BTreeSet::new(),
            asked: BTreeMap::new(),
            noted: BTreeMap::new(),
            fence: 0,
            detached: BTreeSet::new(),
            served: BTreeSet::new(),
        }
    }

    fn seen(&self, who: usize, there: bool) -> Evidence {
        match (self.hidden.contains(&who), there) {
            (true, _) => Evidence::Unobservable,
            (false, true) => Evidence::Alive,
            (false, false) => Evidence::Absent,
        }
    }

    fn runs(&self, who: usize, generation: u32) -> bool {
        self.processes[who] == (generation, true)
    }

    fn child_runs(&self, who: usize, child: Option<u32>) -> bool {
        child.is_some_and(|generation| self.children.contains(&(who, generation)))
    }

    /// Whether the runner of a hold or the process that it parked is there.
    fn is_there(&self, who: usize, hold: &Hold) -> bool {
        self.runs(who, hold.generation) || self.child_runs(who, hold.child)
    }

    /// Whether a waiter's process is provably gone.
    fn is_left(&self, who: usize) -> bool {
        let asked = self.asked.get(&who);
        keeps_presence(who)
            && !self.detached.contains(&who)
            && !self.hidden.contains(&who)
            && asked.is_some_and(|(_, generation)| !self.runs(who, *generation))
    }

    fn now(&self) -> Now {
        Now {
            moment: Moment {
                wall: self.clock,
                boot: Some(self.clock - 900_000.0),
            },
            host: host(),
        }
    }

    fn terms(&self) -> Terms {
        Terms {
            now: self.now(),
            default_ttl: DEFAULT_TTL,
            ticket_ttl: TICKET_TTL,
        }
    }

    fn rules(&self) -> Rules {
        Rules {
            now: self.now(),
            pass_over: Some(PASS_OVER),
            ticket_ttl: TICKET_TTL,
            poll_grain: POLL_GRAIN,
            may_reclaim: true,
            keeps_plans: false,
        }
    }

    fn caller(&self, who: usize) -> Caller {
        let generation = self.processes[who].0;
        Caller {
            presence: keeps_presence(who).then(|| format!("{}#{generation}", name(who))),
            ..Self::call_from_outside(who)
        }
    }

    /// A short call that names `who`.
    fn call_from_outside(who: usize) -> Caller {
        let of_checkout = CHECKOUT.contains(&who);
        let user = if of_checkout { CHECKOUT.start } else { who };
        Caller {
            id: id(who),
            explicit: !NAMESAKES.contains(&who) && !of_checkout,
            user: u32::try_from(user).expect("small") + 1,
            checkout: of_checkout.then(|| "checkout".to_owned()),
            presence: None,
        }
    }

    fn bid(&self, who: usize) -> Bid {
        let generation = self.processes[who].0;
        let own = (kind(who) == Kind::Process).then_some((who, generation));
        let parked = self.parked.get(&who);
        let process = own.or(parked.map(|child| (CHILD + who, *child)));
        let token = kind(who) == Kind::Attached;
        Bid {
            kind: kind(who),
            insists: false,
            ttl: TTL,
            process: process.map(|(pid, start)| process_id(pid, start)),
            token: token.then(|| format!("{}#{generation}", name(who))),
            workplace: None,
            reason: None,
        }
    }

    /// Whether a holder keeps what it was promised, as far as anyone can know.
    fn vouched_for(&self, who: usize, hold: &Hold) -> bool {
        match kind(who) {
            Kind::Plan => {
                self.plans.contains(&who)
                    || self.worktrees.contains(&who)
                    || self.hidden.contains(&who)
            }
            Kind::Leased => self.clock < hold.expires,
            Kind::Process => self.runs(who, hold.generation) || self.hidden.contains(&who),
            // Its lease bounds the doubt about one that cannot be seen.
            Kind::Attached if self.hidden.contains(&who) => self.clock < hold.expires,
            Kind::Attached => self.is_there(who, hold),
        }
    }

    /// Whether a waiter lives, by its plan, its ticket or its process.
    fn waits_alive(&self, who: usize) -> bool {
        if kind(who) == Kind::Plan {
            return self.plans.contains(&who)
                || self.worktrees.contains(&who)
                || self.hidden.contains(&who);
        }
        let Some((asked, generation)) = self.asked.get(&who) else {
            return false;
        };
        let by_presence = keeps_presence(who) && !self.detached.contains(&who);
        let process = (kind(who) == Kind::Process || by_presence)
            && !self.hidden.contains(&who)
            && self.runs(who, *generation);
        // A recorded poll may be a little older than the last.
        self.clock - asked < TICKET_TTL - POLL_GRAIN || process
    }

    pub fn run(&mut self, step: &Step) {
        match *step {
            Step::Acquire {
                who,
                crash,
                barge,
                parks,
                survives,
            } => {
                if parks {
                    self.park(who);
                }
                self.acquire(who, crash, barge, survives);
            }
            Step::Release { who, crash } => self.release(who, crash),
            Step::Leave { who, crash } => self.leave(who, crash),
            Step::Evict { who, crash } => self.evict(who, crash),
            Step::Renew(who) => self.renew(who),
            Step::Start(who) => self.start(who),
            Step::Keep {
                who,
                crash,
                survives,
            } => self.keep(who, crash, survives),
            Step::ChildEnds(who) => {
                let mut running = self.children.range((who, 0)..=(who, u32::MAX));
                if let Some(first) = running.next().copied() {
                    self.children.remove(&first);
                }
            }
            Step::Die(who) => self.die(who),
            Step::Live(who) => {
                self.plans.insert(who);
                if !self.processes[who].1 {
                    self.processes[who] = (self.processes[who].0 + 1, true);
                }
            }
            Step::ToggleWorktree(who) => {
                if !self.worktrees.remove(&who) {
                    self.worktrees.insert(who);
                }
            }
            Step::ToggleHidden(who) => {
                if !self.hidden.remove(&who) {
                    self.hidden.insert(who);
                }
            }
            Step::LockVanishes => self.lock_vanishes(),
            Step::OtherTakes => {
                if self.disk.barge(&id(OTHER)) {
                    self.other_has_it();
                }
            }
            Step::OtherDrops => self.other_drops(),
            Step::OtherQueues => {
                let there = self.disk.queue.iter().any(|e| e.plan_id == name(OTHER));
                if !there && self.disk.holder() != Some(name(OTHER)) {
                    let entry = Entry::new(&id(OTHER), self.clock);
                    self.disk.queue.push(entry);
                    self.lost.remove(&OTHER);
                    self.asked.insert(OTHER, (self.clock, 0));
                }
            }
            Step::Advance(seconds) => self.clock += seconds,
        }
    }

    fn lock_vanishes(&mut self) {
        if self.disk.lock.take().is_none() {
            return;
        }
        let holders: Vec<usize> = self.holds.keys().copied().collect();
        for who in holders {
            if kind(who) == Kind::Attached {
                self.holds
                    .entry(who)
                    .and_modify(|hold| hold.vanished = true);
            } else {
                self.lose(who);
            }
        }
    }

    fn lose(&mut self, who: usize) {
        let hold = self.holds.remove(&who);
        if hold.is_none_or(|hold| hold.whole) {
            self.lost.insert(who);
        }
    }

    fn other_has_it(&mut self) {
        // Whoever's lock file had vanished has lost to it.
        let holders: Vec<usize> = self.holds.keys().copied().collect();
        holders.into_iter().for_each(|who| self.lose(who));
        self.lost.remove(&OTHER);
        self.plans.insert(OTHER);
        self.hold(OTHER);
    }

    fn other_drops(&mut self) {
        if self.holds.contains_key(&OTHER) && self.disk.holder() == Some(name(OTHER)) {
            self.disk.lock = None;
            self.disk.queue.retain(|entry| entry.plan_id != name(OTHER));
            self.holds.remove(&OTHER);
        }
    }

    fn hold(&mut self, who: usize) {
        let hold = Hold {
            generation: self.processes[who].0,
            expires: self.clock + TTL,
            vanished: false,
            child: self.parked.get(&who).copied(),
            whole: true,
        };
        self.holds.insert(who, hold);
    }

    /// Loads and judges, as the store does before each decision.
    fn look(&self, caller: &Caller) -> (MergeState, Verdicts) {
        let state = self.disk.load();
        let verdicts = state.judge(Some(caller), &self.terms(), self);
        (state, verdicts)
    }

    fn acquire(&mut self, who: usize, crash: Option<u8>, barge: bool, survives: bool) {
        if keeps_presence(who) && !self.processes[who].1 {
            // Who asks is there.
            return;
        }
        if self.runs.contains_key(&who) {
            // A runner that was given the lock asks for it no more.
            return self.keep(who, crash, survives);
        }
        self.acquire_to_the_end(who, crash, barge);
        if crash.is_some() && keeps_presence(who) && !survives {
            // The process that asks is the one that vouches.
            self.die(who);
        }
    }

    fn acquire_to_the_end(&mut self, who: usize, crash: Option<u8>, barge: bool) {
        let mut barges = barge && self.plans.contains(&OTHER);
        loop {
            let (caller, bid, rules) = (self.caller(who), self.bid(who), self.rules());
            let (old, verdicts) = self.look(&caller);
            let (next, admission) = merge::acquire(&old, &caller, &bid, &verdicts, &rules);
            let granted = match &admission {
                Admission::Admitted(granted) if granted.action == Action::Acquired => {
                    Some(granted.fence.expect("a fence"))
                }
                _ => None,
            };
            let acquired = granted.is_some();
            // Its commit failed after it had been given the lock; where the lock file is gone since,
            // it may get it anew.
            let had_it = self.has_it_itself(who);
            let has_it = had_it && granted == Some(self.fence);
            let still_there = had_it && !self.holds[&who].vanished;
            assert!(has_it || !still_there, "{} lost it: {self:?}", name(who));
            if acquired && !has_it {
                self.check_turn(who, &old);
                let complete = kind(who) != Kind::Attached || bid.process.is_some();
                assert!(complete, "{} has nothing to run: {self:?}", name(who));
            }
            let asks = admission != Admission::Namesake;
            self.check_places(who, &old, &next, asks);
            let other = id(OTHER);
            let came = self
                .disk
                .commit(&old, &next, false, crash, barges.then_some(&other));
            self.settle_vanished(&old, came);
            let repeated =
                matches!(&admission, Admission::Blocked(waiting) if waiting.poll == Poll::Repeated);
            if came != Came::Cut(1) && admission != Admission::Namesake && !repeated {
                // Also by a commit that came too late: its records were written.
                self.noted.insert(who, self.clock);
            }
            if came == Came::TooLate {
                barges = false;
                self.other_has_it();
                continue;
            }
            let recorded = !matches!(came, Came::Cut(1));
            if admission == Admission::Namesake {
                let named = self
                    .disk
                    .load()
                    .lock
                    .is_some_and(|lock| lock.holder.id() == Some(&caller.id));
                assert!(
                    named || crash.is_some(),
                    "{} has no namesake: {self:?}",
                    name(who)
                );
                self.check_fence();
                return;
            }
            if recorded {
                self.detached.remove(&who);
                // Cut off, a grant leaves the waiter that was there before.
                let given = matches!(came, Came::Through | Came::Cut(5));
                if acquired && given && kind(who) != Kind::Attached {
                    self.detached.insert(who);
                }
                self.asked.insert(who, (self.clock, self.processes[who].0));
                self.lost.remove(&who);
            }
            let given = matches!(came, Came::Through | Came::Cut(5));
            match admission {
                Admission::Admitted(granted) if acquired => {
                    let fence = granted.fence.expect("a fence");
                    if has_it {
                        self.found_again(who, came);
                    } else {
                        assert!(fence > self.fence, "fence {fence} after {}", self.fence);
                        if recorded {
                            self.fence = fence;
                        }
                        if given {
                            self.check_exclusion(who);
                            self.holds.clear();
                            self.hold(who);
                            let whole = came == Came::Through;
                            self.holds.entry(who).and_modify(|hold| hold.whole = whole);
                            self.served.insert(who);
                        } else if matches!(came, Came::Cut(4)) && old.lock.is_some() {
                            self.stale_holder_gone(who);
                        }
                    }
                    if came == Came::Through && kind(who) == Kind::Attached {
                        self.runs.insert(who, false);
                    }
                }
                Admission::Admitted(_) if recorded && self.holds.contains_key(&who) => {
                    let (clock, generation) = (self.clock, self.processes[who].0);
                    self.holds.entry(who).and_modify(|hold| {
                        hold.expires = clock + TTL;
                        hold.generation = generation;
                    });
                }
                _ => {}
            }
            self.check_fence();
            return;
        }
    }

    /// The lock file of a stale holder is gone, the new one is not there.
    fn stale_holder_gone(&mut self, who: usize) {
        self.check_exclusion(who);
        self.holds.clear();
    }

    fn release(&mut self, who: usize, crash: Option<u8>) {
        // A runner lets go once its command has ended; without one, the call comes from outside.
        let told = self.runs.remove(&who).is_some();
        let itself = told || self.has_it_itself(who);
        if itself {
            self.end_child(who);
            // It wants nothing back.
            self.holds
                .entry(who)
                .and_modify(|hold| hold.vanished = false);
        }
        let waits = keeps_presence(who) && self.processes[who].1;
        let caller = if itself || waits {
            self.caller(who)
        } else {
            Self::call_from_outside(who)
        };
        self.release_as(who, &caller, itself, crash);
        if crash.is_some() && (itself || waits) {
            self.die(who);
        }
    }

    fn release_as(&mut self, who: usize, caller: &Caller, itself: bool, crash: Option<u8>) {
        let (old, verdicts) = self.look(caller);
        let (next, outcome) = merge::release(&old, caller, &verdicts, &self.rules());
        let came = self.disk.commit(&old, &next, true, crash, None);
        self.settle_vanished(&old, came);
        if came == Came::Cut(1) {
            return;
        }
        match outcome {
            Release::Released => {
                let attached = kind(who) == Kind::Attached && !self.hidden.contains(&who);
                if let Some(hold) = self.holds.get(&who).filter(|_| attached && !itself) {
                    assert!(!self.vouched_for(who, hold), "by another: {self:?}");
                }
                let removed = !old.is_ending() || came == Came::Through;
                assert!(removed || self.disk.lock.is_some());
                self.holds.remove(&who);
                // Where the queue was not reached, the entry goes with the note.
                self.lost.insert(who);
            }
            Release::HolderPresent(_) => {
                assert!(!itself, "{} cannot let go: {self:?}", name(who));
            }
            Release::Noop { .. } => {
                if matches!(came, Came::Cut(2)) {
                    return;
                }
                self.asked.remove(&who);
            }
        }
        self.check_fence();
    }

    fn evict(&mut self, who: usize, crash: Option<u8>) {
        let caller = self.caller(who);
        let (old, verdicts) = self.look(&caller);
        let (next, outcome) = merge::evict(&old, &caller, &verdicts, &self.rules());
        self.check_places(who, &old, &next, false);
        let came = self.disk.commit(&old, &next, false, crash, None);
        self.settle_vanished(&old, came);
        if let Eviction::Evicted(_) = outcome {
            // Nobody is promised anything by a holder that is gone.
            self.check_exclusion(usize::MAX);
            if matches!(came, Came::Through | Came::Cut(4 | 5)) {
                let gone: Vec<usize> = self.holds.keys().copied().collect();
                gone.into_iter().for_each(|who| self.lose(who));
            }
        }
        self.check_fence();
    }

    fn renew(&mut self, who: usize) {
        let (caller, bid) = (self.caller(who), self.bid(who));
        let (old, verdicts) = self.look(&caller);
        let decided = merge::renew(&old, &caller, &bid, &verdicts, &self.rules());
        let (next, outcome) = decided;
        self.check_places(who, &old, &next, false);
        let came = self.disk.commit(&old, &next, false, None, None);
        self.settle_vanished(&old, came);
        if let Renewal::Renewed(_) = outcome {
            let clock = self.clock;
            self.holds
                .entry(who)
                .and_modify(|hold| hold.expires = clock + TTL);
        }
        self.check_fence();
    }

    /// From here on everyone lives, is seen and asks again and again, and whoever gets the
    /// lock lets go: each must get its turn.
    pub fn everyone_gets_a_turn(&mut self) {
        self.hidden.clear();
        self.worktrees.clear();
        self.other_drops();
        for who in 0..ACTORS {
            // Those that run commands come to their ends, and then the commands.
            if keeps_presence(who) {
                self.run(&Step::Die(who));
            }
            self.run(&Step::Live(who));
        }
        self.children.clear();
        self.served.clear();
        for _ in 0..150 {
            self.clock += 60.0;
            for who in 0..ACTORS {
                // Two who share a name share a place: one can ask in vain while both go on.
                if NAMESAKES.contains(&who) && self.served.contains(&who) {
                    continue;
                }
                self.park(who);
                self.acquire(who, None, false, false);
                if !self.holds.contains_key(&who) {
                    continue;
                }
                if kind(who) == Kind::Attached && self.served.len().is_multiple_of(2) {
                    // It is killed, and its command runs on for a while; another begins.
                    self.start(who);
                    self.run(&Step::Die(who));
                    let next = (who + 1) % ACTORS;
                    if !NAMESAKES.contains(&next) {
                        self.park(next);
                        self.acquire(next, None, false, false);
                    }
                    self.run(&Step::ChildEnds(who));
                    self.run(&Step::Live(who));
                } else {
                    self.release(who, None);
                }
            }
            if self.served.len() == ACTORS {
                return;
            }
        }
        panic!("only {:?} ever got the lock: {self:?}", self.served);
    }
}
