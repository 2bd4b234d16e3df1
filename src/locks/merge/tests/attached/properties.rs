//! What no decision may do, whoever asks and whatever the state: over states and worlds made at
//! random. Who lives is the world's to say, never a verdict's.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::liveness::{Evidence, Terms, World};

const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];
/// Long after everything was recorded, for leases and tickets that are over.
const TICKET_TTL: f64 = 900.0;

/// What there is to be seen of each id: its plan, its process, its presence.
#[derive(Clone, Debug)]
struct Seen(BTreeMap<&'static str, [Evidence; 3]>);

impl Seen {
    fn of(&self, id: &str, what: usize) -> Evidence {
        self.0.get(id).map_or(Evidence::Absent, |seen| seen[what])
    }
}

impl World for Seen {
    fn keeps_plans(&self) -> Evidence {
        Evidence::Absent
    }
    fn plan(&self, id: &PlanId) -> Evidence {
        self.of(id.as_str(), 0)
    }
    fn worktree(&self, id: &PlanId) -> Evidence {
        self.of(id.as_str(), 0)
    }
    fn process(&self, process: &ProcessId, _: &Host) -> Evidence {
        let place = usize::try_from(process.pid).expect("an index");
        IDS.get(place).map_or(Evidence::Absent, |id| self.of(id, 1))
    }
    fn presence(&self, name: &str, _: &Host) -> Evidence {
        match name.strip_suffix(".presence") {
            Some(id) => self.of(id, 2),
            // The caller's own.
            None => Evidence::Alive,
        }
    }
}

#[derive(Clone, Debug)]
struct Scene {
    state: MergeState,
    seen: Seen,
    caller: Caller,
    bid: Bid,
    rules: Rules,
}

#[derive(Clone, Copy, Debug)]
enum Call {
    Acquire,
    TryAcquire,
    Release,
    Evict,
    Renew,
    Keep,
}

const CALLS: [Call; 6] = [
    Call::Acquire,
    Call::TryAcquire,
    Call::Release,
    Call::Evict,
    Call::Renew,
    Call::Keep,
];

impl Scene {
    fn judged(&self, state: &MergeState) -> Verdicts {
        let terms = Terms {
            now: self.rules.now.clone(),
            default_ttl: TTL,
            ticket_ttl: TICKET_TTL,
        };
        state.judge(Some(&self.caller), &terms, &self.seen)
    }

    /// The decision, and whether it gave the lock to the caller.
    fn decide(&self, call: Call, state: &MergeState) -> (MergeState, bool) {
        let all = self.judged(state);
        let (caller, bid, rules) = (&self.caller, &self.bid, &self.rules);
        let is_grant = |admission: Admission| matches!(admission, Admission::Admitted(granted) if granted.action == Action::Acquired);
        match call {
            Call::Acquire => {
                let (next, admission) = acquire(state, caller, bid, &all, rules);
                (next, is_grant(admission))
            }
            Call::TryAcquire => {
                let (next, admission) = try_acquire(state, caller, bid, &all, rules);
                (next, is_grant(admission))
            }
            Call::Release => (release(state, caller, &all, rules).0, false),
            Call::Evict => (evict(state, caller, &all, rules).0, false),
            Call::Renew => (renew(state, caller, bid, &all, rules).0, false),
            Call::Keep => {
                let (caller, bid) = self.keeper();
                (keep(state, &caller, &bid, &all, rules).0, false)
            }
        }
    }

    /// Only an attached holder looks after its lock: the caller as one.
    fn keeper(&self) -> (Caller, Bid) {
        let name = self.caller.id.as_str();
        let presence = self.caller.presence.clone();
        let caller = Caller {
            presence: presence.or_else(|| Some(format!("{name}.new"))),
            ..self.caller.clone()
        };
        (caller, run_bid(&format!("{name}.token")))
    }

    /// What is on the disk after the call, everything done that the store does.
    fn after(&self, call: Call, state: &MergeState) -> MergeState {
        let (next, _) = self.decide(call, state);
        let mut done = committed(state, &next, 0.0);
        if done.lock.is_none() && state.lock.is_some() {
            done.records = settle(&done, &Verdicts::default()).records;
        }
        done
    }
}

fn evidence() -> impl Strategy<Value = Evidence> {
    prop_oneof![
        3 => Just(Evidence::Alive),
        4 => Just(Evidence::Absent),
        1 => Just(Evidence::Unobservable),
    ]
}

/// What is recorded of the id at `place`, if anything is.
fn participant_at(place: usize) -> impl Strategy<Value = Option<Participant>> {
    let kinds = vec![
        Kind::Attached,
        Kind::Attached,
        Kind::Attached,
        Kind::Leased,
        Kind::Process,
        Kind::Plan,
    ];
    let asked = select(vec![-1.0, -200.0, -1000.0]);
    (
        prop::bool::weighted(0.9),
        select(kinds),
        asked,
        any::<(bool, bool, bool)>(),
    )
        .prop_map(
            move |(recorded, kind, asked, (inferred, here, has_child))| {
                let name = IDS[place];
                let pid = i32::try_from(place).expect("small");
                let attached = kind == Kind::Attached;
                let ran = kind == Kind::Process || (attached && has_child);
                recorded.then(|| Participant {
                    inferred,
                    checkout: Some(if here { "here" } else { "there" }.to_owned()),
                    presence: attached.then(|| format!("{name}.presence")),
                    process: ran.then(|| process(pid)),
                    ..record(kind, asked)
                })
            },
        )
}

fn participants() -> impl Strategy<Value = Vec<Option<Participant>>> {
    let all: Vec<_> = (0..IDS.len()).map(participant_at).collect();
    all
}

/// Whose lock file there is, if there is one, and what became of it.
fn lock() -> impl Strategy<Value = (Option<usize>, u8)> {
    (prop::option::weighted(0.8, 0..IDS.len()), 0_u8..10)
}

fn states() -> impl Strategy<Value = MergeState> {
    let queue = Just(IDS.to_vec())
        .prop_shuffle()
        .prop_flat_map(|ids| (Just(ids), 0..=IDS.len()))
        .prop_map(|(ids, n)| ids[..n].to_vec());
    let idle = prop::option::of(select(vec![-10.0, -300.0]));
    (queue, participants(), lock(), idle).prop_map(|(queue, participants, (lock, fate), idle)| {
        let mut state = free();
        state.queue = queue_of(&queue);
        state.records.fence = 9;
        state.records.idle = idle.map(|ago| Idle {
            since: moment(ago),
            host: host(),
        });
        for (place, record) in participants.into_iter().enumerate() {
            let name = IDS[place];
            let holds = lock == Some(place);
            if let Some(mut record) = record.filter(|_| holds || queue.contains(&name)) {
                if holds {
                    let granted = holder_of(record.kind, -60.0);
                    record.grant = granted.grant;
                    record.lease = granted.lease;
                    record.token = record.presence.as_ref().map(|_| format!("{name}.token"));
                }
                state
                    .records
                    .participants
                    .insert(name.to_owned(), record.into());
            }
        }
        if let Some(place) = lock {
            let there = lock_of(IDS[place], stamp(-60.0));
            state.lock = match fate {
                0 => None,
                1 => Some(lock_of(IDS[place], stamp(-3.5))),
                2 => Some(LockFile {
                    holder: Holder::Malformed("../x".to_owned()),
                    ..there
                }),
                3 => Some(LockFile {
                    holder: Holder::Unborn,
                    ..there
                }),
                _ => Some(there),
            };
            if fate == 4 {
                state.records.ending = Some(Ending {
                    plan_id: IDS[place].to_owned(),
                    mtime_ns: stamp(-60.0),
                });
            }
        }
        state
    })
}

fn scenes() -> impl Strategy<Value = Scene> {
    let seen = prop::array::uniform5(prop::array::uniform3(evidence()));
    let who = (
        select(vec!["a", "b", "c", "n", "m"]),
        any::<bool>(),
        prop::bool::weighted(0.7),
        prop::bool::weighted(0.2),
    );
    let kinds = select(vec![
        Kind::Attached,
        Kind::Attached,
        Kind::Leased,
        Kind::Plan,
    ]);
    let how = (kinds, any::<bool>(), prop::bool::weighted(0.9));
    (states(), seen, who, how).prop_map(
        |(state, seen, (name, explicit, is_process, itself), (kind, insists, local))| {
            let seen = IDS.into_iter().zip(seen).collect();
            // A process is known by its presence: that of the record is the recorded process.
            let presence = if itself { "presence" } else { "new" };
            let attached = kind == Kind::Attached;
            Scene {
                state,
                seen: Seen(seen),
                caller: Caller {
                    explicit,
                    presence: (attached || is_process).then(|| format!("{name}.{presence}")),
                    ..caller(name)
                },
                bid: Bid {
                    kind,
                    insists: insists && !attached,
                    process: None,
                    token: attached.then(|| format!("{name}.token")),
                    ..bid(kind)
                },
                rules: Rules {
                    may_reclaim: local,
                    ..rules(0.0)
                },
            }
        },
    )
}

/// Whether the world shows, or cannot rule out, that whoever `state` names holds on.
fn may_be_alive(scene: &Scene, state: &MergeState) -> bool {
    let Some(lock) = &state.lock else {
        return false;
    };
    let id = match &lock.holder {
        Holder::Plan(id) => id.as_str(),
        Holder::Malformed(_) => return false,
        Holder::Unborn => return true,
    };
    let there = |what| scene.seen.of(id, what) != Evidence::Absent;
    match state.holder_record() {
        // A minute old, where a lease lasts ten.
        None => true,
        Some(record) => match record.kind {
            Kind::Plan => there(0),
            Kind::Process => there(1),
            Kind::Attached => there(2) || (record.process.is_some() && there(1)),
            Kind::Leased => true,
        },
    }
}

/// Whether `id` waits in `state` and may live, so that its place is its own.
fn waits_alive(scene: &Scene, state: &MergeState, id: &str) -> bool {
    let Some(record) = state.records.participant(id) else {
        return true;
    };
    let there = |what| scene.seen.of(id, what) != Evidence::Absent;
    let shown = |what| scene.seen.of(id, what) == Evidence::Alive;
    let ticket = NOW - record.ticket.wall < TICKET_TTL;
    match record.kind {
        Kind::Plan => there(0),
        Kind::Process => ticket || there(1),
        // A ticket lasts longer than the doubt about one that cannot be seen.
        Kind::Attached => ticket || shown(2) || (record.process.is_some() && shown(1)),
        Kind::Leased => ticket,
    }
}

/// Whether `id` waits in `state`, but can use no turn: its process is provably gone.
fn is_left(scene: &Scene, state: &MergeState, id: &str) -> bool {
    let gone = |what| scene.seen.of(id, what) == Evidence::Absent;
    state.records.participant(id).is_some_and(|record| {
        record.kind == Kind::Attached && gone(2) && (record.process.is_none() || gone(1))
    })
}

fn who_holds(state: &MergeState) -> Option<&Holder> {
    state.lock.as_ref().map(|lock| &lock.holder)
}

fn without_temporary_names(mut state: MergeState) -> MergeState {
    let ids: Vec<String> = state.records.participants.keys().cloned().collect();
    for id in ids {
        let record = state.records.participant_mut(&id);
        if let Some(grant) = record.and_then(|record| record.grant.as_mut()) {
            grant.temp = None;
        }
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nobody_gets_a_lock_whose_holder_may_live(scene in scenes(), call in select(CALLS.to_vec())) {
        let settled = settle(&scene.state, &scene.judged(&scene.state));
        let (next, given) = scene.decide(call, &scene.state);
        let own = settled.holder_record().is_some_and(|record| {
            record.presence.is_some() && record.presence == scene.caller.presence
        });
        let names_caller = holder(&settled).as_deref() == Some(scene.caller.id.as_str());
        if given && !(own && names_caller) {
            prop_assert!(!may_be_alive(&scene, &settled), "{call:?}: {next:?}");
            prop_assert!(scene.rules.may_reclaim || settled.lock.is_none());
        }
        if who_holds(&next) != who_holds(&settled) && !matches!(call, Call::Release) {
            prop_assert!(!may_be_alive(&scene, &settled), "{call:?}: {next:?}");
        }
    }

    #[test]
    fn only_the_caller_gets_the_lock(scene in scenes(), call in select(CALLS.to_vec())) {
        let settled = settle(&scene.state, &scene.judged(&scene.state));
        let (next, given) = scene.decide(call, &scene.state);
        let now = holder(&next);
        let caller = scene.caller.id.as_str();
        // Never an orphan, and nobody else: whoever it was before, the caller, or nobody.
        let known = who_holds(&next) == who_holds(&settled) || now.as_deref() == Some(caller);
        prop_assert!(known || now.is_none(), "{call:?}: {next:?}");
        if given {
            prop_assert_eq!(now.as_deref(), Some(caller));
        }
        if let Some(plan) = settled.lock.is_none().then(|| now.clone()).flatten() {
            prop_assert_eq!(plan.as_str(), caller);
        }
    }

    #[test]
    fn the_fence_never_falls_and_grows_with_each_grant(
        scene in scenes(), call in select(CALLS.to_vec()),
    ) {
        let settled = settle(&scene.state, &scene.judged(&scene.state));
        let (next, given) = scene.decide(call, &scene.state);
        let before = scene.state.records.fence;
        prop_assert!(next.records.fence >= before);
        if given && next != settled {
            prop_assert_eq!(next.records.fence, before + 1);
            let record = &next.records.participants[scene.caller.id.as_str()];
            prop_assert_eq!(record.grant.as_ref().map(|grant| grant.fence), Some(before + 1));
        }
    }

    #[test]
    fn the_places_of_others_stay(scene in scenes(), call in select(CALLS.to_vec())) {
        let settled = settle(&scene.state, &scene.judged(&scene.state));
        let (next, _) = scene.decide(call, &scene.state);
        let (caller, held) = (scene.caller.id.as_str(), holder(&settled));
        let keeps = |id: &str| {
            id != caller && Some(id) != held.as_deref() && waits_alive(&scene, &settled, id)
        };
        let before: Vec<&Entry> = settled.queue.iter().filter(|e| keeps(&e.plan_id)).collect();
        let after: Vec<&Entry> = next.queue.iter().filter(|e| keeps(&e.plan_id)).collect();
        let lost: Vec<&&Entry> = before.iter().filter(|entry| !after.contains(entry)).collect();
        let newcomer = !settled.queue.iter().any(|entry| entry.plan_id == caller);
        let acquires = matches!(call, Call::Acquire | Call::TryAcquire);
        // One place that a killed call left may pass to a newcomer, as it stands.
        let taken = |entry: &Entry| {
            let own = next.queue.iter().find(|entry| entry.plan_id == caller);
            let place = own.is_some_and(|own| own.ts.to_bits() == entry.ts.to_bits());
            acquires && newcomer && !scene.caller.explicit && place
                && is_left(&scene, &settled, &entry.plan_id)
        };
        prop_assert!(lost.len() <= 1 && lost.iter().all(|entry| taken(entry)), "{call:?}: {next:?}");
        let stayed: Vec<&Entry> = before.iter().filter(|e| after.contains(e)).copied().collect();
        prop_assert_eq!(&stayed, &after, "{:?}", call);
        if let [gone] = lost[..] {
            let ahead = |entries: &[Entry], id: &str| {
                let before = entries.iter().take_while(|entry| entry.plan_id != id);
                before.filter(|entry| keeps(&entry.plan_id)).count()
            };
            prop_assert_eq!(ahead(&next.queue, caller), ahead(&settled.queue, &gone.plan_id));
        }
        for entry in after {
            let record = |state: &MergeState| state.records.participant(&entry.plan_id).cloned();
            prop_assert_eq!(record(&settled), record(&next), "{:?}", call);
        }
    }

    #[test]
    fn nobody_who_can_use_a_turn_is_overtaken(scene in scenes(), retried in any::<bool>()) {
        let call = if retried { Call::TryAcquire } else { Call::Acquire };
        let settled = settle(&scene.state, &scene.judged(&scene.state));
        let (next, given) = scene.decide(call, &scene.state);
        let quiet = |id: &str| {
            let record = settled.records.participant(id);
            let there = record.is_some_and(|r| {
                r.kind == Kind::Attached
                    && (scene.seen.of(id, 2) == Evidence::Alive
                        || (r.process.is_some() && scene.seen.of(id, 1) == Evidence::Alive))
            });
            let silent = record.map_or(500.0, |r| NOW - r.ticket.wall);
            // One that is there and has not confirmed its place for so long stands still.
            silent >= 120.0 && (!there || silent >= TICKET_TTL)
        };
        let idle = settled.records.idle.as_ref().is_some_and(|idle| NOW - idle.since.wall >= 120.0);
        if given && next != settled {
            let caller = scene.caller.id.as_str();
            let namesake = holder(&settled).as_deref() == Some(caller);
            let ahead = next.queue.iter().take_while(|e| namesake || e.plan_id != caller);
            for entry in ahead.filter(|entry| entry.plan_id != caller) {
                let id = entry.plan_id.as_str();
                let passed = is_left(&scene, &settled, id) || (idle && quiet(id));
                prop_assert!(passed, "{id} is overtaken: {next:?}");
            }
        }
    }

    #[test]
    fn run_again_on_its_own_result_a_decision_changes_nothing(
        scene in scenes(), call in select(CALLS.to_vec()),
    ) {
        let once = scene.after(call, &scene.state);
        let settled = settle(&once, &scene.judged(&once));
        let (twice, _) = scene.decide(call, &once);
        // Who keeps a lock has seen that its grant was not cut off, and forgets where it might be.
        let [twice, settled] = [twice, settled].map(|state| match call {
            Call::Keep => without_temporary_names(state),
            _ => state,
        });
        prop_assert_eq!(twice, settled, "{:?}", call);
    }
}
