//! Several processes of one id, and places that killed ones left.

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
    let (next, (admission, _)) = super::super::acquire(state, who, bid, &fresh, None, &all, &rules);
    (next, admission)
}

#[test]
fn two_runs_of_one_id_are_two_participants() {
    let who = waits_as("h", "other.presence");
    for (state, said) in [
        (queue(vec![running("h", 1)], Vec::new()), Verdict::FRESH),
        (queue(Vec::new(), vec![queued_run("h")]), PRESENT),
    ] {
        let busy = queue(state.active.clone(), state.waiting.clone());
        let (_, admission) = ask(&busy, &who, &run_bid("t"), &[("h", said)], 1);
        assert_eq!(admission, Admission::Namesake);
        // A detached caller has an entry beside it.
        let (next, _) = ask(&state, &caller("h"), &bid(Kind::Leased), &[("h", said)], 1);
        let all = next.active.iter().chain(&next.waiting);
        assert_eq!(all.filter(|entry| entry.plan_id() == "h").count(), 2);
    }
    // One that waits and cannot be seen is no less another's, whether it let a slot stand or not.
    for passed in [false, true] {
        let mut hidden = queued_run("h");
        let record = hidden.record.known_mut().expect("a record");
        (record.slots, record.passed) = (1, passed);
        for verdict in [Verdict::FRESH, Verdict::UNKNOWN] {
            let state = queue(vec![running("o", 1)], vec![hidden.clone()]);
            let (next, _) = ask(
                &state,
                &caller("h"),
                &bid(Kind::Leased),
                &[("h", verdict)],
                1,
            );
            assert_eq!(
                (names(&next.waiting), &next.waiting[0]),
                (vec!["h", "h"], &hidden)
            );
        }
    }
    // A run that is gone stands in nobody's way.
    let state = queue(vec![running("h", 1)], Vec::new());
    let (next, admission) = ask(&state, &who, &run_bid("t"), &[("h", Verdict::STALE)], 1);
    assert!(granted(admission).new);
    assert_eq!(names(&next.active), ["h"]);
}

#[test]
fn a_run_visits_what_its_id_holds_detached() {
    for kind in [Kind::Plan, Kind::Leased, Kind::Process] {
        let state = queue(vec![holding("h", kind, 1)], Vec::new());
        let who = waits_as("h", "other.presence");
        let (next, admission) = ask(&state, &who, &run_bid("v"), &[], 1);
        let granted = granted(admission);
        assert_eq!((granted.new, granted.kind), (false, Some(kind)));
        let record = known(&next, "h");
        assert_eq!(record.who.token.as_deref(), Some("v"));
        let renewed = record
            .who
            .lease
            .is_some_and(|lease| lease.from == moment(0.0));
        assert_eq!(renewed, kind == Kind::Leased);
    }
}

#[test]
fn a_run_does_not_build_on_the_word_of_a_process_that_nobody_has_looked_for() {
    let who = waits_as("h", "other.presence");
    for (kind, visits) in [
        (Kind::Process, false),
        (Kind::Leased, true),
        (Kind::Plan, true),
    ] {
        let given = active(ours("h", record("h", kind, -5.0)), 1, -5.0, false);
        let state = queue(vec![given], Vec::new());
        let (next, admission) = ask(&state, &who, &run_bid("v"), &[], 1);
        if visits {
            assert!(!granted(admission).new);
            assert!(known(&next, "h").claimed, "{kind:?}");
        } else {
            assert_eq!((next, admission), (state, Admission::Namesake));
        }
    }
}

#[test]
fn a_slot_that_was_given_is_claimed_by_its_process() {
    let state = queue(vec![active(queued_run("r"), 1, -5.0, false)], Vec::new());
    let who = waits_as("r", "r.presence");
    let not_yet = Bid {
        process: None,
        ..run_bid("r.token")
    };
    let (next, admission) = ask(&state, &who, &not_yet, &[], 1);
    let told = blocked(admission);
    assert_eq!((told.position, told.next), (None, true));
    assert!(!known(&next, "r").claimed);
    let (next, admission) = ask(&next, &who, &run_bid("r.token"), &[], 1);
    let granted = granted(admission);
    assert_eq!((granted.new, granted.slot), (true, Some(1)));
    let record = known(&next, "r");
    assert!(record.claimed);
    assert_eq!(record.since, Some(moment(0.0)));
    assert_eq!(next.active[0].active_since, Some(NOW));
    assert_eq!(record.who.lease.expect("a lease").from, moment(0.0));
}

#[test]
fn a_waiter_that_another_program_moved_is_given_a_number_when_it_claims() {
    let mut moved = waiting("w");
    moved.active_since = Some(NOW - 5.0);
    let state = queue(vec![running("h", 1), moved], Vec::new());
    let who = waits_as("w", "w.presence");
    let (next, admission) = ask(&state, &who, &bid(Kind::Leased), &[], 2);
    let granted = granted(admission);
    assert_eq!((granted.slot, granted.kind), (Some(2), Some(Kind::Leased)));
    assert!(known(&next, "w").claimed);
}

#[test]
fn a_newcomer_that_named_nobody_takes_the_place_that_a_killed_one_left() {
    let left = |name: &str, checkout: &str| {
        let mut record = record(name, Kind::Attached, -5.0);
        record.who.inferred = true;
        record.who.checkout = Some(checkout.to_owned());
        ours(name, record)
    };
    let state = queue(
        vec![running("h", 1), running("i", 2)],
        vec![left("x", "there"), left("y", "here"), left("z", "here")],
    );
    let said = [("x", ORPHAN), ("y", ORPHAN), ("z", ORPHAN)];
    let who = newcomer("n", "n.presence");
    let (next, admission) = ask(&state, &who, &run_bid("t"), &said, 2);
    let place = blocked(admission);
    assert_eq!((place.position, place.poll), (Some(2), Poll::Joined));
    assert_eq!(names(&next.waiting), ["x", "n", "z"]);
    assert_eq!(next.waiting[1].ts.to_bits(), state.waiting[1].ts.to_bits());
    assert_eq!(known(&next, "n").who.token.as_deref(), Some("t"));
    // Not one that named itself, nor a place whose process is there.
    let (next, _) = ask(
        &state,
        &waits_as("n", "n.presence"),
        &run_bid("t"),
        &said,
        2,
    );
    assert_eq!(names(&next.waiting), ["x", "y", "z", "n"]);
    let (next, _) = ask(
        &state,
        &who,
        &run_bid("t"),
        &[("y", PRESENT), ("z", ORPHAN)],
        2,
    );
    assert_eq!(names(&next.waiting), ["x", "y", "n"]);
}

#[test]
fn a_detached_caller_stands_where_a_process_of_its_id_waits() {
    let state = queue(vec![running("h", 1)], vec![waiting("w")]);
    let (next, admission) = ask(
        &state,
        &caller("w"),
        &bid(Kind::Leased),
        &[("w", PRESENT)],
        1,
    );
    let place = blocked(admission);
    assert_eq!((place.position, place.poll), (Some(1), Poll::Repeated));
    assert_eq!(next, state);
    let other = waits_as("w", "other.presence");
    let (_, admission) = ask(&state, &other, &run_bid("t"), &[("w", PRESENT)], 1);
    assert_eq!(admission, Admission::Namesake);
    let (next, admission) = ask(
        &state,
        &caller("w"),
        &bid(Kind::Leased),
        &[("w", PRESENT)],
        2,
    );
    assert!(granted(admission).new);
    assert_eq!(known(&next, "w").who.kind, Kind::Leased);
}
