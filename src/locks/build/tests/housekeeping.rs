//! The reaper, the pass-over, promotion.

use super::*;

/// A waiter whose number of slots is one.
fn small(name: &str) -> Entry {
    let mut record = record(name, Kind::Attached, -5.0);
    record.slots = 1;
    ours(name, record)
}

/// What `other` asks for leads to, so that the house is kept.
fn kept(
    state: &BuildState,
    said: &[(&str, Verdict)],
    rules: &Rules<'_>,
) -> (BuildState, Housekeeping) {
    let all = verdicts(state, said);
    let (next, (_, done)) =
        super::super::release(state, &caller("other"), Target::Own, &all, rules);
    (next, done)
}

#[test]
fn a_slot_held_for_longer_than_twice_the_limit_is_taken_and_given_on() {
    for (held, reaped) in [(1200.0, false), (1200.5, true)] {
        let mut old = foreign("old");
        old.active_since = Some(NOW - held);
        let state = queue(vec![old], vec![small("next")]);
        let (next, done) = kept(&state, &[], &rules(1, 0.0));
        let expected = Reaped {
            id: "old:1".to_owned(),
            held,
            threshold: 1200,
        };
        if reaped {
            assert_eq!(done.reaped, [expected]);
            assert_eq!(done.promoted, ["next:1"]);
            assert_eq!(names(&next.active), ["next"]);
            assert!(!known(&next, "next").claimed);
        } else {
            assert_eq!((next, done), (state, Housekeeping::default()));
        }
    }
}

#[test]
fn the_larger_limit_counts_within_its_bounds() {
    let own_limit = |limit| {
        let mut record = record("old", Kind::Plan, -60.0);
        record.limit = limit;
        active(ours("old", record), 1, -1300.0, true)
    };
    for (theirs, callers, threshold) in [
        (600, 600, Some(1200)),
        (700, 600, None),
        (600, 700, None),
        (1, 600, Some(1200)),
    ] {
        let state = queue(vec![own_limit(theirs)], Vec::new());
        let rules = Rules {
            limit: callers,
            ..rules(1, 0.0)
        };
        let (_, done) = kept(&state, &[], &rules);
        let found = done.reaped.first().map(|reaped| reaped.threshold);
        assert_eq!(found, threshold, "{theirs} {callers}");
    }
    let state = queue(
        vec![active(own_limit(99_999), 1, -7201.0, true)],
        Vec::new(),
    );
    assert_eq!(
        kept(&state, &[], &rules(1, 0.0)).1.reaped[0].threshold,
        7200
    );
}

#[test]
fn what_a_process_or_a_lease_vouches_for_is_never_too_old() {
    let old = |kind| active(ours("old", record("old", kind, 0.0)), 1, -9000.0, true);
    let mut leased = old(Kind::Leased);
    if let Some(record) = leased.record.known_mut() {
        record.who.lease = Some(Lease {
            from: moment(-60.0),
            seconds: TTL,
        });
    }
    let unclaimed = active(waiting("old"), 1, -9000.0, false);
    for (entry, verdict, stays) in [
        (old(Kind::Attached), PRESENT, true),
        (old(Kind::Attached), Verdict::UNKNOWN, false),
        (old(Kind::Process), Verdict::FRESH, true),
        (old(Kind::Process), Verdict::STALE, false),
        (old(Kind::Plan), Verdict::FRESH, false),
        (leased.clone(), Verdict::FRESH, true),
        (leased, Verdict::UNKNOWN, true),
        (unclaimed.clone(), Verdict::FRESH, false),
        (unclaimed, PRESENT, true),
    ] {
        let state = queue(vec![entry.clone()], Vec::new());
        let (next, _) = kept(&state, &[("old", verdict)], &rules(1, 0.0));
        assert_eq!(next.active.len() == 1, stays, "{entry:?} {verdict:?}");
        let elsewhere = Rules {
            may_reclaim: false,
            ..rules(1, 0.0)
        };
        assert_eq!(kept(&state, &[("old", verdict)], &elsewhere).0, state);
    }
}

#[test]
fn a_missing_time_is_now() {
    let mut old = foreign("old");
    old.active_since = None;
    let (next, done) = kept(&queue(vec![old], Vec::new()), &[], &rules(1, 0.0));
    assert_eq!(done, Housekeeping::default());
    assert_eq!(next.active[0].active_since, Some(NOW));
}

#[test]
fn who_lets_a_slot_stand_steps_back_for_one_who_would_use_it() {
    let silent = |name: &str, slot| active(waiting(name), slot, -130.0, false);
    let state = queue(
        vec![silent("a", 1), silent("b", 2)],
        vec![waiting("c"), waiting("d"), waiting("e")],
    );
    let (next, done) = kept(&state, &[], &rules(2, 0.0));
    assert_eq!(done.promoted, ["c:1", "d:1"]);
    assert_eq!(names(&next.active), ["c", "d"]);
    assert_eq!(names(&next.waiting), ["a", "b", "e"]);
    let back = &next.waiting[0];
    let record = known(&next, "a");
    assert_eq!(
        (back.active_since, record.slot, record.since),
        (None, None, None)
    );
    assert!(record.passed);
    // Silent still, they are not the next either.
    let mut later = next.clone();
    later.active.clear();
    assert_eq!(kept(&later, &[], &rules(1, 0.0)).1.promoted, ["e:1"]);
    // Nobody steps back who is there, showed itself lately, or has claimed its slot; or for nobody.
    let there = kept(&state, &[("a", PRESENT), ("b", PRESENT)], &rules(2, 0.0));
    assert_eq!(there.0, state);
    let lately = queue(
        vec![active(waiting("a"), 1, -110.0, false)],
        vec![small("c")],
    );
    assert_eq!(kept(&lately, &[], &rules(1, 0.0)).0, lately);
    let claimed = queue(vec![holding("a", Kind::Leased, 1)], vec![small("c")]);
    assert_eq!(kept(&claimed, &[], &rules(1, 500.0)).0, claimed);
    let orphan = queue(vec![silent("a", 1)], vec![small("c")]);
    assert_eq!(kept(&orphan, &[("c", ORPHAN)], &rules(1, 0.0)).0, orphan);
    assert_eq!(names(&kept(&orphan, &[], &rules(1, 0.0)).0.active), ["c"]);
    let never = Rules {
        pass_over: None,
        ..rules(1, 0.0)
    };
    assert_eq!(kept(&orphan, &[], &never).0, orphan);
}

#[test]
fn one_steps_back_for_another_program_s_waiter_that_asks_us() {
    let silent = active(waiting("silent"), 1, -130.0, false);
    let state = queue(vec![silent], vec![foreign("w")]);
    // Nobody knows whether it is there, …
    assert_eq!(kept(&state, &[], &rules(1, 0.0)).0, state);
    // … unless it asks.
    let all = verdicts(&state, &[]);
    let asks = bid(Kind::Leased);
    let rules = rules(1, 0.0);
    let (next, (admission, _)) =
        super::super::acquire(&state, &caller("w"), &asks, "w:2", None, &all, &rules);
    assert!(granted(admission).new);
    assert_eq!(
        (names(&next.active), names(&next.waiting)),
        (vec!["w"], vec!["silent"])
    );
}

#[test]
fn the_first_that_can_use_a_slot_gets_it() {
    let state = queue(
        vec![running("h", 1)],
        vec![
            foreign("gone"),
            waiting("orphan"),
            small("small"),
            waiting("able"),
        ],
    );
    let said = [("gone", Verdict::STALE), ("orphan", ORPHAN)];
    let (next, done) = kept(&state, &said, &rules(2, 0.0));
    assert_eq!(done.promoted, ["able:1"]);
    assert_eq!(names(&next.waiting), ["gone", "orphan", "small"]);
    assert_eq!(known(&next, "able").slot, Some(2));
    assert_eq!(known(&next, "able").since, Some(moment(0.0)));
    assert_eq!(next.active[1].active_since, Some(NOW));
    // Where nobody can, another program's goes through, to be removed as that program does.
    let state = queue(Vec::new(), vec![waiting("orphan"), foreign("gone")]);
    let (next, _) = kept(&state, &said, &rules(2, 0.0));
    assert_eq!(names(&next.active), ["gone"]);
}

#[test]
fn numbers_of_slots_are_used_again() {
    let state = queue(vec![running("a", 2)], vec![waiting("b"), waiting("c")]);
    let mut three = state;
    for entry in &mut three.waiting {
        entry.record.known_mut().expect("a record").slots = 3;
    }
    let (next, _) = kept(&three, &[], &rules(3, 0.0));
    let numbers = ["a", "b", "c"].map(|name| known(&next, name).slot);
    assert_eq!(numbers, [Some(2), Some(1), Some(3)]);
}
