//! States, worlds and callers made at random.

use proptest::prelude::*;
use proptest::sample::select;

use super::super::*;
use super::calls::{Call, MOST, NAMES, Scene, Seen};
use crate::liveness::Evidence;

fn evidence() -> impl Strategy<Value = Evidence> {
    prop_oneof![
        3 => Just(Evidence::Alive),
        3 => Just(Evidence::Absent),
        1 => Just(Evidence::Unobservable),
    ]
}

fn roots() -> impl Strategy<Value = Option<String>> {
    let root = |root: &str| Some(root.to_owned());
    prop_oneof![
        6 => Just(root(ROOT)),
        1 => Just(root("/q")),
        1 => Just(root("/gone")),
        1 => Just(root("/hidden")),
        1 => Just(None),
    ]
}

/// What is recorded of the entry of that number.
fn recorded(number: usize) -> impl Strategy<Value = Recorded> {
    let kinds = vec![
        Kind::Attached,
        Kind::Attached,
        Kind::Attached,
        Kind::Leased,
        Kind::Process,
        Kind::Plan,
    ];
    let times = (
        select(vec![-3.0, -200.0, -1000.0]),
        select(vec![-2.0, -300.0, -1300.0, -9000.0]),
    );
    let flags = prop::array::uniform6(any::<bool>());
    let known = (select(kinds), times, 1_usize..4, flags).prop_map(
        move |(kind, (asked, since), slots, [claimed, run, passed, inferred, here, late])| {
            let mut record = record("any", kind, asked);
            let attached = kind == Kind::Attached;
            let who = &mut record.who;
            who.presence = attached.then(|| format!("{number}.presence"));
            who.token = (attached && run).then(|| format!("{number}.token"));
            let has_process = kind == Kind::Process || (attached && claimed);
            who.process = has_process.then(|| process(i32::try_from(number).expect("small")));
            who.inferred = inferred;
            who.checkout = Some(if here { "here" } else { "there" }.to_owned());
            if claimed {
                let from = moment(if late { asked } else { since });
                who.lease = who.ttl.map(|seconds| Lease { from, seconds });
            }
            record.slots = slots;
            record.since = Some(moment(since));
            record.claimed = claimed;
            record.passed = passed;
            Recorded::As(Arc::new(record))
        },
    );
    prop_oneof![6 => known, 2 => Just(Recorded::Not), 1 => Just(Recorded::Unreadable)]
}

fn entry(number: usize) -> impl Strategy<Value = Entry> {
    (
        select(NAMES.to_vec()),
        roots(),
        recorded(number),
        select(vec![5.0, 500.0, 5000.0]),
    )
        .prop_map(move |(name, project_root, record, age)| Entry {
            id: format!("{name}:{number}"),
            ts: NOW - age,
            project_root,
            active_since: None,
            record,
            raw: Arc::from(format!("{number}")),
        })
}

/// Makes an entry active, or one that waits, what its record must then be.
fn settled(mut entry: Entry, slot: Option<usize>) -> Entry {
    let since = entry.record.known().and_then(|record| record.since);
    if slot.is_some() {
        entry.active_since = Some(since.map_or(entry.ts, |since| since.wall));
    }
    if let Some(record) = entry.record.known_mut() {
        record.slot = slot;
        record.passed &= slot.is_none();
        record.claimed &= slot.is_some();
        record.since = record.since.filter(|_| slot.is_some());
        record.who.lease = record.who.lease.filter(|_| slot.is_some());
    }
    entry
}

fn states() -> impl Strategy<Value = BuildState> {
    let entries: Vec<_> = (0..MOST).map(entry).collect();
    (entries, 0..5_usize, 0..5_usize).prop_map(|(entries, active, waiting)| {
        let mut state = BuildState::default();
        for (place, entry) in entries.into_iter().enumerate().take(active + waiting) {
            if place < active {
                state.active.push(settled(entry, Some(place + 1)));
            } else {
                state.waiting.push(settled(entry, None));
            }
        }
        state
    })
}

pub(super) fn scenes() -> impl Strategy<Value = Scene> {
    let kinds = select(vec![
        Kind::Attached,
        Kind::Attached,
        Kind::Leased,
        Kind::Plan,
        Kind::Process,
    ]);
    let who = (
        select(NAMES.to_vec()),
        kinds,
        0..MOST * 2,
        prop::array::uniform5(any::<bool>()),
    );
    let seen = (
        prop::collection::vec(prop::array::uniform3(evidence()), MOST),
        any::<bool>(),
    );
    let settings = (
        1_usize..4,
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.9),
    );
    (states(), seen, who, settings).prop_map(|(state, (mut of, keeps_plans), who, settings)| {
        let (name, kind, number, [explicit, here, is_process, holds, insists]) = who;
        let (slots, may_reclaim, passes) = settings;
        let attached = kind == Kind::Attached;
        let presence = (attached || is_process).then(|| format!("{number}.presence"));
        let presence = presence
            .filter(|_| number < MOST)
            .or_else(|| (attached || is_process).then(|| "new.presence".to_owned()));
        let caller = Caller {
            explicit,
            presence,
            ..inferred(name, 1000, if here { "here" } else { "there" })
        };
        if kind == Kind::Plan {
            // Whoever asks is there.
            let place = NAMES.iter().position(|it| *it == name);
            of[place.expect("a name")][0] = Evidence::Alive;
        }
        let mut bid = Bid {
            process: (kind == Kind::Process).then(|| process(99)),
            insists: insists && !attached && kind != Kind::Plan,
            ..bid(kind)
        };
        if attached {
            bid.process = holds.then(|| process(99));
            bid.token = Some(format!("{number}.token"));
        }
        Scene {
            seen: Seen {
                of,
                keeps_plans,
                caller: caller.presence.clone(),
            },
            state,
            caller,
            bid,
            rules: Rules {
                may_reclaim,
                pass_over: passes.then_some(120.0),
                ..rules(slots, 0.0)
            },
        }
    })
}

pub(super) fn calls() -> impl Strategy<Value = Call> {
    prop_oneof![
        6 => Just(Call::Acquire),
        2 => Just(Call::TryAcquire),
        2 => Just(Call::Release),
        2 => (0..MOST).prop_map(Call::ReleaseId),
        1 => Just(Call::Leave),
        1 => Just(Call::Renew),
        1 => (0..MOST).prop_map(Call::Keep),
    ]
}
