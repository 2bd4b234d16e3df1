//! Who lives, who holds and who waits, as the model knows it, and what must hold of each step.

use std::collections::{BTreeMap, BTreeSet};

use git_locks::identity::PlanId;
use git_locks::lease::{Moment, Now};
use git_locks::liveness::{Evidence, Terms, World};
use git_locks::locks::merge::{
    self, Admission, Bid, Caller, Eviction, Keeping, MergeState, Poll, Release, Renewal, Rules,
    Verdicts,
};
use git_locks::participant::Kind;
use git_locks::queue::Entry;
use git_locks::report::Action;
use git_locks::sys::host::Host;
use git_locks::sys::process::ProcessId;

use crate::disk::{Came, Disk};

const NAMES: [&str; 14] = [
    "p0", "p1", "l0", "l1", "w0", "w1", "r0", "r1", "n", "n", "v0", "v1", "q0", "q1",
];
const KINDS: [Kind; 14] = [
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
    Kind::Leased,
    Kind::Leased,
    Kind::Attached,
    Kind::Attached,
];
/// Two users share the inferred id `n`; `v1` and the `q`s are calls of one checkout; everyone else
/// names itself.
pub const ACTORS: usize = NAMES.len();
const NAMESAKES: std::ops::Range<usize> = 8..10;
/// These wait as processes that are there all the time, and hold as leased.
const WAIT_ATTACHED: std::ops::Range<usize> = 10..12;
/// These name nobody and stand in one checkout.
const CHECKOUT: std::ops::Range<usize> = 11..14;
/// The number of the process that an actor parked, which may become its command, beside its own.
const CHILD: usize = 100;
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

fn name(who: usize) -> &'static str {
    NAMES.get(who).copied().unwrap_or("other")
}

fn kind(who: usize) -> Kind {
    KINDS.get(who).copied().unwrap_or(Kind::Plan)
}

/// Those who run a command under the lock.
pub fn runners() -> Vec<usize> {
    (0..ACTORS)
        .filter(|who| kind(*who) == Kind::Attached)
        .collect()
}

fn id(who: usize) -> PlanId {
    PlanId::parse(name(who)).expect("a plan id")
}

fn actor(id: &str) -> usize {
    NAMES.iter().position(|name| *name == id).unwrap_or(OTHER)
}

fn process_id(pid: usize, start: u32) -> ProcessId {
    ProcessId {
        pid: i32::try_from(pid).expect("small"),
        start: start.to_string(),
    }
}

/// Whether an actor that waits is a process that is there all the time.
fn keeps_presence(who: usize) -> bool {
    kind(who) == Kind::Attached || WAIT_ATTACHED.contains(&who)
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

    /// The process of an actor ends, and its plan. What it parked ends with it; a command that began
    /// runs on.
    fn die(&mut self, who: usize) {
        self.plans.remove(&who);
        self.processes[who].1 = false;
        let has_begun = self.runs.remove(&who) == Some(true);
        if !has_begun {
            self.end_child(who);
        }
        self.parked.remove(&who);
    }

    /// What an actor parked ends, whether it has become a command or not.
    fn end_child(&mut self, who: usize) {
        if let Some(child) = self.parked.get(&who) {
            self.children.remove(&(who, *child));
        }
    }

    /// A runner parks the process that will become its command, anew where that has ended.
    fn park(&mut self, who: usize) {
        let asks = self.processes[who].1 && !self.runs.contains_key(&who);
        let parked = self.parked.get(&who).copied();
        if kind(who) == Kind::Attached && asks && !self.child_runs(who, parked) {
            self.children_born += 1;
            self.parked.insert(who, self.children_born);
            self.children.insert((who, self.children_born));
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
            let acquired = match &admission {
                Admission::Admitted(granted) => granted.action == Action::Acquired,
                Admission::Blocked(_) | Admission::Namesake => false,
            };
            // Its commit failed after it had been given the lock.
            let has_it = acquired && self.has_it_itself(who);
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
                if acquired && kind(who) != Kind::Attached {
                    self.detached.insert(who);
                }
                self.asked.insert(who, (self.clock, self.processes[who].0));
                if !matches!(&admission, Admission::Blocked(waiting) if waiting.poll == Poll::Repeated)
                {
                    self.noted.insert(who, self.clock);
                }
                self.lost.remove(&who);
            }
            let given = matches!(came, Came::Through | Came::Cut(5));
            match admission {
                Admission::Admitted(granted) if acquired => {
                    let fence = granted.fence.expect("a fence");
                    if has_it {
                        assert_eq!(fence, self.fence, "{self:?}");
                        let child = self.parked.get(&who).copied();
                        self.holds.entry(who).and_modify(|hold| {
                            hold.child = child;
                            hold.whole |= came == Came::Through;
                        });
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

    /// Whether the very process of a runner has the lock, whether it knows it or not.
    fn has_it_itself(&self, who: usize) -> bool {
        let hold = self.holds.get(&who);
        kind(who) == Kind::Attached && hold.is_some_and(|hold| self.runs(who, hold.generation))
    }

    /// The lock file of a stale holder is gone, the new one is not there.
    fn stale_holder_gone(&mut self, who: usize) {
        self.check_exclusion(who);
        self.holds.clear();
    }

    /// Nobody else has what it was promised when `who` gets the lock.
    fn check_exclusion(&self, who: usize) {
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
    fn check_turn(&self, who: usize, old: &MergeState) {
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
    fn check_places(&self, who: usize, old: &MergeState, next: &MergeState, asks: bool) {
        let waits = |entry: &&Entry| {
            let other = actor(&entry.plan_id);
            let held = self.disk.holder() == Some(name(other));
            !held
                && !self.holds.contains_key(&other)
                && !self.lost.contains(&other)
                && !NAMESAKES.contains(&other)
        };
        let taken = self.left_to(who, old);
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
    fn left_to<'a>(&self, who: usize, old: &'a MergeState) -> Option<&'a str> {
        let queued = old.queue.iter().any(|entry| entry.plan_id == name(who));
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
            let hold = &self.holds[&who];
            let present = self.is_there(who, hold) && !self.hidden.contains(&who) && hold.whole;
            if !present {
                self.lose(who);
            } else if came == Came::Through && old.lock.is_none() {
                panic!("{} did not get its lock file back: {self:?}", name(who));
            }
        }
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

    /// One that was not told that it has the lock ends, and gives up what it has.
    fn leave(&mut self, who: usize, crash: Option<u8>) {
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
    fn start(&mut self, who: usize) {
        if let Some(has_begun) = self.runs.get_mut(&who) {
            *has_begun = true;
        }
    }

    /// The lock is the runner's, whatever happened to it meanwhile.
    fn still_has_it(&mut self, who: usize) {
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

    fn keep(&mut self, who: usize, crash: Option<u8>, survives: bool) {
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
