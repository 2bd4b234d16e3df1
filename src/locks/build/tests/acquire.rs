//! Asking for a slot.

use super::*;

fn ask(
    state: &BuildState,
    who: &Caller,
    bid: &Bid,
    said: &[(&str, Verdict)],
    slots: usize,
) -> (BuildState, Admission) {
    let all = verdicts(state, said);
    let fresh = format!("{}:new", who.id);
    let rules = rules(slots, 0.0);
    let (next, (admission, _)) =
        super::super::acquire(state, who, bid, &fresh, Some("make"), &all, &rules);
    (next, admission)
}

#[test]
fn a_newcomer_is_admitted_while_fewer_than_its_own_number_are_active() {
    let state = queue(vec![holding("a", Kind::Leased, 1)], Vec::new());
    let (next, admission) = ask(&state, &caller("n"), &bid(Kind::Leased), &[], 2);
    let expected = Granted {
        id: "n:new".to_owned(),
        new: true,
        told: false,
        slot: Some(2),
        kind: Some(Kind::Leased),
        expires_at: Some(NOW + TTL),
        since: NOW,
    };
    assert_eq!(granted(admission), expected);
    let entry = &next.active[1];
    assert_eq!((entry.ts, entry.active_since), (NOW, Some(NOW)));
    assert_eq!(entry.project_root.as_deref(), Some(ROOT));
    let record = known(&next, "n");
    assert!(record.claimed);
    assert_eq!((record.slots, record.limit), (2, 600));
    assert_eq!(record.command.as_deref(), Some("make"));

    let (next, admission) = ask(&state, &caller("n"), &bid(Kind::Leased), &[], 1);
    let expected = Waiting {
        id: Some("n:new".to_owned()),
        position: Some(1),
        next: true,
        poll: Poll::Joined,
    };
    assert_eq!(blocked(admission), expected);
    assert_eq!(names(&next.waiting), ["n"]);
}

#[test]
fn a_try_leaves_no_trace() {
    let mut old = foreign("old");
    old.active_since = Some(NOW - 5000.0);
    let state = queue(vec![old, holding("a", Kind::Leased, 1)], Vec::new());
    let all = verdicts(&state, &[]);
    let rules = rules(1, 0.0);
    let (next, (admission, done)) = try_acquire(
        &state,
        &caller("n"),
        &bid(Kind::Leased),
        "n:new",
        None,
        &all,
        &rules,
    );
    let waiting = blocked(admission);
    assert_eq!((waiting.id, waiting.position), (None, None));
    assert_eq!(names(&next.active), ["a"]);
    assert!(next.waiting.is_empty());
    assert_eq!(done.reaped.len(), 1);
}

#[test]
fn the_dead_are_pruned_but_for_waiters_of_other_programs() {
    let state = queue(
        vec![
            foreign("dead"),
            active(waiting("orphan"), 1, -5.0, false),
            running("alive", 2),
        ],
        vec![asking("gone"), foreign("theirs"), asking("n")],
    );
    let said = [
        ("dead", Verdict::STALE),
        ("orphan", ORPHAN),
        ("gone", Verdict::STALE),
        ("theirs", Verdict::STALE),
        ("n", Verdict::STALE),
    ];
    let (next, admission) = ask(&state, &caller("n"), &bid(Kind::Leased), &said, 1);
    assert_eq!(names(&next.active), ["alive"]);
    assert_eq!(names(&next.waiting), ["theirs", "n"]);
    let place = blocked(admission);
    assert_eq!((place.position, place.next), (Some(2), true));
    // Of the unknown nothing is known.
    let unknown = said.map(|(name, _)| (name, Verdict::UNKNOWN));
    let (next, _) = ask(&state, &caller("n"), &bid(Kind::Leased), &unknown, 1);
    assert_eq!((next.active.len(), next.waiting.len()), (3, 3));
    // Another program's dead waiter holds up nobody, …
    let state = queue(Vec::new(), vec![foreign("theirs")]);
    let (next, admission) = ask(&state, &caller("n"), &bid(Kind::Leased), &said, 1);
    assert!(granted(admission).new);
    assert_eq!((names(&next.active), next.waiting.len()), (vec!["n"], 1));
    // … and goes once a slot is free for it.
    let (next, _) = ask(&next, &caller("n"), &bid(Kind::Leased), &said[3..4], 2);
    assert_eq!((names(&next.active), next.waiting.len()), (vec!["n"], 0));
}

#[test]
fn who_has_a_slot_keeps_it_and_its_promise_is_renewed() {
    let state = queue(vec![holding("h", Kind::Leased, 1)], vec![foreign("w")]);
    let (next, admission) = ask(&state, &caller("h"), &bid(Kind::Leased), &[], 1);
    let granted = granted(admission);
    assert_eq!((granted.new, granted.since), (false, NOW - 60.0));
    assert_eq!(granted.expires_at, Some(NOW + TTL));
    assert_eq!(next.active[0].active_since, Some(NOW));
    assert_eq!(next.waiting, state.waiting);
    // Its own dead one is pruned like any other: it asks anew.
    let (next, _) = ask(
        &state,
        &caller("h"),
        &bid(Kind::Leased),
        &[("h", Verdict::STALE)],
        1,
    );
    assert_eq!(
        (names(&next.active), names(&next.waiting)),
        (vec!["w"], vec!["h"])
    );
}

#[test]
fn another_program_s_slot_is_recorded_only_where_it_can_be_no_plan() {
    let mut state = queue(vec![foreign("h")], Vec::new());
    state.active[0].active_since = Some(NOW - 60.0);
    let insisting = Bid {
        insists: true,
        ..bid(Kind::Leased)
    };
    for (who, asks, recorded) in [
        (caller("h"), bid(Kind::Plan), false),
        (caller("h"), bid(Kind::Leased), true),
        (inferred("h", 1000, "here"), bid(Kind::Leased), false),
        (inferred("h", 1000, "here"), insisting, true),
    ] {
        let (next, admission) = ask(&state, &who, &asks, &[], 1);
        let granted = granted(admission);
        assert_eq!((granted.new, granted.since), (false, NOW - 60.0));
        assert_eq!(granted.slot, recorded.then_some(1), "{who:?} {asks:?}");
        assert_eq!(next == state, !recorded);
    }
}

#[test]
fn a_waiter_keeps_its_place_and_says_so_now_and_then() {
    let state = queue(vec![running("h", 1)], vec![foreign("a"), asking("n")]);
    let who = caller("n");
    let plain = bid(Kind::Leased);
    let all = verdicts(&state, &[]);
    let at = |after, command| {
        let rules = rules(1, after);
        let mut state = state.clone();
        state.waiting[1].record.known_mut().expect("a record").slots = 1;
        let (next, (admission, _)) =
            super::super::acquire(&state, &who, &plain, "x:1", command, &all, &rules);
        (next == state, next, blocked(admission))
    };
    let (same, _, place) = at(0.0, None);
    assert!(same);
    assert_eq!(
        (place.position, place.next, place.poll),
        (Some(2), false, Poll::Repeated)
    );
    let (_, next, place) = at(20.0, None);
    assert_eq!(place.poll, Poll::Noted);
    assert_eq!(known(&next, "n").who.ticket, moment(20.0));
    let (_, next, place) = at(0.0, Some("make"));
    assert_eq!(place.poll, Poll::Noted);
    assert_eq!(known(&next, "n").command.as_deref(), Some("make"));
}

#[test]
fn nobody_overtakes_one_who_could_use_the_slot() {
    let state = queue(vec![running("h", 1)], vec![waiting("a")]);
    let (next, admission) = ask(&state, &caller("n"), &bid(Kind::Leased), &[], 2);
    assert_eq!(names(&next.active), ["h", "a"]);
    assert_eq!(blocked(admission).position, Some(1));
    // One that is silent still since it let a slot pass is no obstacle, nor an orphan.
    let mut passed = record("a", Kind::Leased, -130.0);
    passed.passed = true;
    let state = queue(vec![running("h", 1)], vec![ours("a", passed), waiting("b")]);
    let (next, admission) = ask(
        &state,
        &caller("n"),
        &bid(Kind::Leased),
        &[("b", ORPHAN)],
        2,
    );
    assert!(granted(admission).new);
    assert_eq!(names(&next.waiting), ["a", "b"]);
    // When it asks, it is.
    let (next, _) = ask(&state, &caller("a"), &bid(Kind::Leased), &[], 2);
    assert_eq!(names(&next.active), ["h", "a"]);
    assert!(!known(&next, "a").passed);
}

#[test]
fn what_a_waiter_said_of_its_lease_holds_for_its_grant() {
    let mut said = record("n", Kind::Leased, -5.0);
    said.who.ttl = Some(30.0);
    said.who.reason = Some("why".to_owned());
    let state = queue(Vec::new(), vec![ours("n", said)]);
    let (next, admission) = ask(&state, &caller("n"), &bid(Kind::Leased), &[], 1);
    assert_eq!(granted(admission).expires_at, Some(NOW + 30.0));
    assert_eq!(known(&next, "n").who.reason.as_deref(), Some("why"));
}
