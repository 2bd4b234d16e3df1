//! A run that looks after its slot, a holder that renews its promise, a visit that ends.

use super::*;

fn look_after(state: &BuildState, was: &Entry, rules: &Rules<'_>) -> (BuildState, Keeping) {
    let who = waits_as("h", "h.presence");
    let all = verdicts(state, &[]);
    keep(state, &who, was, &run_bid("h.token"), &all, rules)
}

#[test]
fn a_run_keeps_its_slot_and_what_vouches_for_it() {
    let was = running("h", 1);
    let state = queue(vec![was.clone()], Vec::new());
    let (next, keeping) = look_after(&state, &was, &rules(1, 30.0));
    assert_eq!(keeping, Keeping::Kept);
    let record = known(&next, "h");
    assert_eq!(record.since, Some(moment(-60.0)));
    assert_eq!(record.who.lease.expect("a lease").from, moment(30.0));
    assert_eq!(record.who.process, Some(process(99)));
    assert_eq!(next.active[0].active_since, Some(NOW + 30.0));
}

#[test]
fn a_slot_that_was_taken_away_is_taken_again_where_it_is_free() {
    let was = running("h", 1);
    for (others, waits, slots, expected) in [
        (vec![], false, 1, Keeping::Restored),
        (vec![], true, 1, Keeping::Restored),
        (vec![running("o", 2)], false, 2, Keeping::Restored),
        (vec![running("o", 2)], false, 1, Keeping::Lost),
        (vec![running("o", 1)], false, 2, Keeping::Lost),
    ] {
        let waiting = if waits { vec![was.clone()] } else { vec![] };
        let state = queue(others, waiting);
        let (next, keeping) = look_after(&state, &was, &rules(slots, 0.0));
        assert_eq!(keeping, expected, "{state:?}");
        if keeping == Keeping::Lost {
            assert_eq!(next, state);
        } else {
            assert_eq!(next.active.len(), state.active.len() + 1);
            assert_eq!(known(&next, "h").slot, Some(1));
            assert!(next.waiting.is_empty());
        }
    }
}

#[test]
fn what_another_made_of_the_entry_is_lost() {
    let was = running("h", 1);
    let mut state = queue(vec![was.clone()], Vec::new());
    let record = state.active[0].record.known_mut().expect("a record");
    record.who.token = Some("another".to_owned());
    let (next, keeping) = look_after(&state, &was, &rules(1, 0.0));
    assert_eq!((next, keeping), (state, Keeping::Lost));
}

#[test]
fn a_promise_is_renewed_for_as_long_as_before_or_as_is_said() {
    for (insists, until) in [(false, TTL), (true, 30.0)] {
        let state = queue(vec![holding("h", Kind::Leased, 1)], Vec::new());
        let asks = Bid {
            insists,
            ttl: 30.0,
            ..bid(Kind::Leased)
        };
        let all = verdicts(&state, &[]);
        let (next, renewal) = renew(
            &state,
            &caller("h"),
            Target::Own,
            &asks,
            &all,
            &rules(1, 9.0),
        );
        let expected = Renewal::Renewed {
            id: "h:1".to_owned(),
            slot: Some(1),
            expires_at: NOW + 9.0 + until,
        };
        assert_eq!(renewal, expected);
        assert_eq!(known(&next, "h").since, Some(moment(-60.0)));
        assert_eq!(next.active[0].active_since, Some(NOW + 9.0));
    }
}

#[test]
fn who_keeps_no_lease_gets_one_only_by_insisting() {
    let asks = |state: &BuildState, who: &str, insists| {
        let asks = Bid {
            insists,
            ..bid(Kind::Leased)
        };
        let all = verdicts(state, &[]);
        renew(
            state,
            &caller(who),
            Target::Id("h:1"),
            &asks,
            &all,
            &rules(1, 0.0),
        )
    };
    let plan = queue(vec![holding("h", Kind::Plan, 1)], Vec::new());
    let (next, renewal) = asks(&plan, "h", false);
    assert!(matches!(renewal, Renewal::NoLease { .. }));
    assert_eq!(next, plan);
    let (next, renewal) = asks(&plan, "h", true);
    assert!(matches!(renewal, Renewal::Renewed { .. }));
    assert_eq!(known(&next, "h").who.kind, Kind::Leased);
    let run = queue(vec![running("h", 1)], Vec::new());
    let (next, renewal) = asks(&run, "h", true);
    assert!(matches!(renewal, Renewal::NoLease { .. }));
    assert_eq!(next, run);
    let waits = queue(Vec::new(), vec![asking("h")]);
    assert_eq!(asks(&waits, "h", true), (waits, Renewal::Lost));
}

#[test]
fn a_visit_ends_with_its_own_token() {
    let state = queue(vec![holding("h", Kind::Plan, 1)], Vec::new());
    let mut visited = state.clone();
    let record = visited.active[0].record.known_mut().expect("a record");
    record.who.token = Some("v".to_owned());
    assert_eq!(end_visit(&visited, "h:1", &run_bid("v")), state);
    assert_eq!(end_visit(&visited, "h:1", &run_bid("w")), visited);
    assert_eq!(end_visit(&visited, "x:1", &run_bid("v")), visited);
    let run = queue(vec![running("h", 1)], Vec::new());
    assert_eq!(end_visit(&run, "h:1", &run_bid("h.token")), run);
}

#[test]
fn after_a_reboot_the_wall_alone_tells_since_when_a_slot_is_held() {
    let was = running("h", 1);
    let state = queue(vec![was.clone()], Vec::new());
    let mut rebooted = rules(1, 30.0);
    rebooted.now.host.boot_id = Some("another boot".to_owned());
    let (next, _) = look_after(&state, &was, &rebooted);
    let since = known(&next, "h").since.expect("since when");
    assert_eq!((since.wall, since.boot), (moment(-60.0).wall, None));
    let (same, _) = look_after(&state, &was, &rules(1, 30.0));
    assert_eq!(known(&same, "h").since, Some(moment(-60.0)));
}
