//! Who lives, who holds and who waits, as the model knows it, and what must hold of each step.

use std::collections::{BTreeMap, BTreeSet};

use git_locks::identity::PlanId;
use git_locks::lease::{Moment, Now};
use git_locks::liveness::{Evidence, Terms, World};
use git_locks::locks::merge::{
    self, Admission, Bid, Caller, Eviction, MergeState, Release, Renewal, Rules, Verdicts,
};
use git_locks::participant::Kind;
use git_locks::queue::Entry;
use git_locks::report::Action;
use git_locks::sys::host::Host;
use git_locks::sys::process::ProcessId;

use crate::disk::{Came, Disk};

const NAMES: [&str; 10] = ["p0", "p1", "l0", "l1", "w0", "w1", "r0", "r1", "n", "n"];
const KINDS: [Kind; 10] = [
    Kind::Plan,
    Kind::Plan,
    Kind::Leased,
    Kind::Leased,
    Kind::Process,
    Kind::Process,
    Kind::Attached,
    Kind::Attached,
    Kind::Leased,
    Kind::Leased,
];
/// Two users share the inferred id `n`; everyone else names itself.
pub const ACTORS: usize = NAMES.len();
const NAMESAKES: std::ops::Range<usize> = 8..10;
/// Another program's plan.
const OTHER: usize = ACTORS;
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
    },
    Release {
        who: usize,
        crash: Option<u8>,
    },
    Evict {
        who: usize,
        crash: Option<u8>,
    },
    Renew(usize),
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
    since: f64,
    expires: f64,
    /// Its lock file is gone.
    vanished: bool,
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
    holds: BTreeMap<usize, Hold>,
    /// Who lost the lock and has not asked again: its entry goes with the lock.
    lost: BTreeSet<usize>,
    /// When each asked last, and by which process.
    asked: BTreeMap<usize, (f64, u32)>,
    fence: u64,
}

fn name(who: usize) -> &'static str {
    NAMES.get(who).copied().unwrap_or("other")
}

fn kind(who: usize) -> Kind {
    KINDS.get(who).copied().unwrap_or(Kind::Plan)
}

fn id(who: usize) -> PlanId {
    PlanId::parse(name(who)).expect("a plan id")
}

fn actor(id: &str) -> usize {
    NAMES.iter().position(|name| *name == id).unwrap_or(OTHER)
}

fn host() -> Host {
    Host {
        boot_id: Some("boot".to_owned()),
        machine_id: Some("machine".to_owned()),
        ..Host::default()
    }
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
        let who = usize::try_from(process.pid).expect("an actor");
        let runs = self.runs(who, process.start.parse().expect("a generation"));
        self.seen(who, runs)
    }
    fn presence(&self, _: &str, _: &Host) -> Evidence {
        Evidence::Absent
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
            holds: BTreeMap::new(),
            lost: BTreeSet::new(),
            asked: BTreeMap::new(),
            fence: 0,
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
            poll_grain: POLL_GRAIN,
            may_reclaim: true,
            keeps_plans: false,
        }
    }

    fn caller(who: usize) -> Caller {
        Caller {
            id: id(who),
            explicit: !NAMESAKES.contains(&who),
            user: u32::try_from(who).expect("small") + 1,
            checkout: None,
            presence: None,
        }
    }

    fn bid(&self, who: usize) -> Bid {
        let process = matches!(kind(who), Kind::Process | Kind::Attached);
        Bid {
            kind: kind(who),
            insists: false,
            ttl: TTL,
            process: process.then(|| ProcessId {
                pid: i32::try_from(who).expect("small"),
                start: self.processes[who].0.to_string(),
            }),
            token: None,
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
            Kind::Attached if self.hidden.contains(&who) => self.clock < hold.since + DEFAULT_TTL,
            Kind::Attached => self.runs(who, hold.generation),
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
        let process = matches!(kind(who), Kind::Process | Kind::Attached)
            && !self.hidden.contains(&who)
            && self.runs(who, *generation);
        // A recorded poll may be a little older than the last.
        self.clock - asked < TICKET_TTL - POLL_GRAIN || process
    }

    pub fn run(&mut self, step: &Step) {
        match *step {
            Step::Acquire { who, crash, barge } => self.acquire(who, crash, barge),
            Step::Release { who, crash } => self.release(who, crash),
            Step::Evict { who, crash } => self.evict(who, crash),
            Step::Renew(who) => self.renew(who),
            Step::Die(who) => {
                self.plans.remove(&who);
                self.processes[who].1 = false;
            }
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
        self.holds.remove(&who);
        self.lost.insert(who);
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
            since: self.clock,
            expires: self.clock + TTL,
            vanished: false,
        };
        self.holds.insert(who, hold);
    }

    /// Loads and judges, as the store does before each decision.
    fn look(&self) -> (MergeState, Verdicts) {
        let state = self.disk.load();
        let verdicts = state.judge(None, &self.terms(), self);
        (state, verdicts)
    }

    fn acquire(&mut self, who: usize, crash: Option<u8>, barge: bool) {
        self.acquire_to_the_end(who, crash, barge);
        if crash.is_some() && kind(who) == Kind::Attached {
            // The process that asks is the one that vouches.
            self.processes[who].1 = false;
        }
    }

    fn acquire_to_the_end(&mut self, who: usize, crash: Option<u8>, barge: bool) {
        let mut barges = barge && self.plans.contains(&OTHER);
        loop {
            let (old, verdicts) = self.look();
            let (caller, bid, rules) = (Self::caller(who), self.bid(who), self.rules());
            let (next, admission) = merge::acquire(&old, &caller, &bid, &verdicts, &rules);
            let acquired = match &admission {
                Admission::Admitted(granted) => granted.action == Action::Acquired,
                Admission::Blocked(_) | Admission::Namesake => false,
            };
            if acquired {
                self.check_turn(who, &old);
            }
            self.check_places(who, &old, &next);
            let other = id(OTHER);
            let came = self
                .disk
                .commit(&old, &next, false, crash, barges.then_some(&other));
            self.settle_vanished(&old, came);
            if came == Came::TooLate {
                barges = false;
                self.other_has_it();
                continue;
            }
            let recorded = !matches!(came, Came::Cut(1));
            if recorded {
                self.asked.insert(who, (self.clock, self.processes[who].0));
                self.lost.remove(&who);
            }
            let given = matches!(came, Came::Through | Came::Cut(5));
            match admission {
                Admission::Admitted(granted) if acquired => {
                    let fence = granted.fence.expect("a fence");
                    assert!(fence > self.fence, "fence {fence} after {}", self.fence);
                    if recorded {
                        self.fence = fence;
                    }
                    if given {
                        self.check_exclusion(who);
                        self.holds.clear();
                        self.hold(who);
                    } else if matches!(came, Came::Cut(4)) && old.lock.is_some() {
                        self.stale_holder_gone(who);
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

    /// Nobody else has what it was promised when `who` gets the lock.
    fn check_exclusion(&self, who: usize) {
        for (other, hold) in &self.holds {
            assert!(
                *other == who || !self.vouched_for(*other, hold),
                "{} gets the lock while {} has it: {self:?}",
                name(who),
                name(*other),
            );
        }
    }

    /// All who are ahead and alive were passed over by the rule, or it is not `who`'s turn.
    fn check_turn(&self, who: usize, old: &MergeState) {
        // Where its namesake holds the lock, the entry of that name is not its own.
        let namesake = self.disk.holder() == Some(name(who));
        let ahead = old
            .queue
            .iter()
            .take_while(|entry| namesake || entry.plan_id != name(who));
        for entry in ahead {
            let other = actor(&entry.plan_id);
            let gone = self.lost.contains(&other)
                || self.holds.contains_key(&other)
                || NAMESAKES.contains(&other)
                || self.disk.holder() == Some(name(other))
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
    fn check_places(&self, who: usize, old: &MergeState, next: &MergeState) {
        let waits = |entry: &&Entry| {
            let other = actor(&entry.plan_id);
            let held = self.disk.holder() == Some(name(other));
            !held
                && !self.holds.contains_key(&other)
                && !self.lost.contains(&other)
                && !NAMESAKES.contains(&other)
        };
        let before: Vec<&str> = old
            .queue
            .iter()
            .filter(waits)
            .filter(|entry| {
                let other = actor(&entry.plan_id);
                other == who || self.waits_alive(other)
            })
            .map(|entry| entry.plan_id.as_str())
            .collect();
        let after: Vec<&str> = next
            .queue
            .iter()
            .map(|entry| entry.plan_id.as_str())
            .filter(|id| before.contains(id))
            .collect();
        assert_eq!(before, after, "{} moves a place: {self:?}", name(who));
    }

    fn check_fence(&self) {
        assert!(self.disk.records.fence >= self.fence, "{self:?}");
    }

    /// A present holder whose file had vanished has it back after a whole commit; any other
    /// has lost it.
    fn settle_vanished(&mut self, old: &MergeState, came: Came) {
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
            let present =
                self.runs(who, self.holds[&who].generation) && !self.hidden.contains(&who);
            if !present {
                self.lose(who);
            } else if came == Came::Through && old.lock.is_none() {
                panic!("{} did not get its lock file back: {self:?}", name(who));
            }
        }
    }

    fn release(&mut self, who: usize, crash: Option<u8>) {
        let (old, verdicts) = self.look();
        let decided = merge::release(&old, &Self::caller(who), &verdicts, &self.rules());
        let (next, outcome) = decided;
        let came = self.disk.commit(&old, &next, true, crash, None);
        self.settle_vanished(&old, came);
        if came == Came::Cut(1) {
            return;
        }
        match outcome {
            Release::Released => {
                let removed = !old.is_ending() || came == Came::Through;
                assert!(removed || self.disk.lock.is_some());
                self.holds.remove(&who);
                // Where the queue was not reached, the entry goes with the note.
                self.lost.insert(who);
            }
            Release::HolderPresent(_) => {}
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
        let (old, verdicts) = self.look();
        let (next, outcome) = merge::evict(&old, &Self::caller(who), &verdicts, &self.rules());
        self.check_places(who, &old, &next);
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
        let (old, verdicts) = self.look();
        let decided = merge::renew(
            &old,
            &Self::caller(who),
            &self.bid(who),
            &verdicts,
            &self.rules(),
        );
        let (next, outcome) = decided;
        self.check_places(who, &old, &next);
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
            if kind(who) == Kind::Attached && !self.holds.contains_key(&who) {
                // A command whose lock another took has been ended.
                self.run(&Step::Die(who));
            }
            self.run(&Step::Live(who));
        }
        let mut served = BTreeSet::new();
        for _ in 0..150 {
            self.clock += 20.0;
            for who in 0..ACTORS {
                // Two who share a name share a place: one can ask in vain while both go on.
                if NAMESAKES.contains(&who) && served.contains(&who) {
                    continue;
                }
                let before = self.holds.contains_key(&who);
                self.acquire(who, None, false);
                if !self.holds.contains_key(&who) {
                    continue;
                }
                if !before {
                    served.insert(who);
                }
                if kind(who) == Kind::Attached {
                    // It ends, and another begins.
                    self.run(&Step::Die(who));
                    self.run(&Step::Live(who));
                } else {
                    self.release(who, None);
                }
            }
            if served.len() == ACTORS {
                return;
            }
        }
        panic!("only {served:?} ever got the lock: {self:?}");
    }
}
