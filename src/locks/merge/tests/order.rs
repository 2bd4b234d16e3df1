//! First come, first served, and the pass-over.

use super::*;

/// The lock is free; these stand in the queue and polled last that many seconds ago.
fn idle(since: Option<f64>, waiting: &[(&str, f64)]) -> MergeState {
    let ids: Vec<&str> = waiting.iter().map(|(name, _)| *name).collect();
    let participants = waiting
        .iter()
        .map(|(name, ago)| ((*name).to_owned(), record(Kind::Leased, -ago).into()));
    let mut state = free();
    state.queue = queue_of(&ids);
    state.records.participants = participants.collect();
    state.records.idle = since.map(|ago| Idle {
        since: moment(-ago),
        host: host(),
    });
    state
}

fn ask(state: &MergeState, name: &str, verdicts: &Verdicts, rules: &Rules) -> (MergeState, bool) {
    let (next, admission) = acquire(state, &caller(name), &bid(Kind::Leased), verdicts, rules);
    (next, matches!(admission, Admission::Admitted(_)))
}

fn alive(names: &[&str]) -> Verdicts {
    let all: Vec<_> = names.iter().map(|name| (*name, Verdict::FRESH)).collect();
    verdicts(None, &all)
}

#[test]
fn a_free_lock_goes_to_the_front_by_position_whatever_ts_says() {
    let mut state = idle(None, &[("a", 1.0), ("b", 1.0)]);
    state.queue[0].ts = 9e9;
    state.queue[1].ts = 0.0;
    let (next, admitted) = ask(&state, "b", &alive(&["a"]), &rules(0.0));
    assert!(!admitted);
    assert_eq!(names(&next), ["a", "b"]);
    assert!(ask(&state, "a", &alive(&["b"]), &rules(0.0)).1);
}

#[test]
fn nobody_is_passed_over_before_idleness_was_noted_long_ago() {
    let quiet = [("a", 900.0), ("b", 0.0)];
    let (next, admitted) = ask(&idle(None, &quiet), "b", &alive(&["a"]), &rules(0.0));
    assert!(!admitted);
    let noted = next.records.idle.expect("noted");
    assert_eq!((noted.since, noted.host), (moment(0.0), host()));
    for (ago, expected) in [(119.0, false), (120.0, true)] {
        let state = idle(Some(ago), &quiet);
        let (next, admitted) = ask(&state, "b", &alive(&["a"]), &rules(0.0));
        assert_eq!(admitted, expected, "{ago}");
        if expected {
            assert_eq!(names(&next), ["a", "b"], "those ahead keep their places");
            assert_eq!(next.records.idle, None);
        } else {
            assert_eq!(
                next.records.idle, state.records.idle,
                "the first time counts"
            );
        }
    }
}

#[test]
fn any_sign_of_life_ahead_forbids_the_pass_over() {
    for (last_poll, expected) in [(119.0, false), (120.0, true)] {
        let state = idle(Some(300.0), &[("a", 400.0), ("x", last_poll), ("b", 0.0)]);
        let (_, admitted) = ask(&state, "b", &alive(&["a", "x"]), &rules(0.0));
        assert_eq!(admitted, expected, "{last_poll}");
    }
    let state = idle(Some(300.0), &[("a", 400.0), ("b", 0.0)]);
    let present = verdicts(None, &[("a", PRESENT)]);
    assert!(!ask(&state, "b", &present, &rules(0.0)).1);
}

#[test]
fn an_entry_without_a_record_is_quiet_since_it_was_made() {
    let mut state = idle(Some(300.0), &[("a", 0.0), ("b", 0.0)]);
    state.records.participants.remove("a");
    for (ts, expected) in [
        (NOW - 120.0, true),
        (NOW - 119.0, false),
        (NOW + 5.0, false),
    ] {
        state.queue[0].ts = ts;
        let (_, admitted) = ask(&state, "b", &alive(&["a"]), &rules(0.0));
        assert_eq!(admitted, expected, "{ts}");
    }
}

#[test]
fn between_machines_a_pass_over_goes_by_the_wall() {
    let elsewhere = Host {
        boot_id: Some("theirs".to_owned()),
        machine_id: Some("theirs".to_owned()),
        ..Host::default()
    };
    for (quiet, admitted) in [(400.0, true), (5.0, false)] {
        let mut state = idle(Some(300.0), &[("a", quiet), ("b", 0.0)]);
        state.records.idle.as_mut().expect("idle").host = elsewhere.clone();
        state.records.participant_mut("a").expect("a").host = elsewhere.clone().into();
        let (next, went) = ask(&state, "b", &alive(&["a"]), &rules(0.0));
        assert_eq!(went, admitted, "quiet for {quiet}");
        if !admitted {
            assert_eq!(next.records.idle, state.records.idle, "noted already");
        }
    }
}

#[test]
fn a_time_far_in_the_future_keeps_nobody_from_passing() {
    let mut state = idle(Some(300.0), &[("b", 0.0)]);
    state.queue = queue_of(&["foreign", "b"]);
    state.queue[0].ts = NOW * 1000.0;
    assert!(ask(&state, "b", &alive(&["foreign"]), &rules(0.0)).1);
}

#[test]
fn zero_means_never() {
    let never = Rules {
        pass_over: None,
        ..rules(0.0)
    };
    let state = idle(Some(1e6), &[("a", 1e6), ("b", 0.0)]);
    assert!(!ask(&state, "b", &alive(&["a"]), &never).1);
}

#[test]
fn a_stale_holder_leaves_the_lock_idle_and_a_fresh_one_ends_that() {
    let mut state = held(Kind::Leased, &["a", "b"]);
    state.records.participant_mut("a").expect("a").ticket = moment(-400.0);
    let seen = |holder| verdicts(Some(holder), &[("a", Verdict::FRESH)]);
    let (noted, admitted) = ask(&state, "b", &seen(Verdict::STALE), &rules(0.0));
    assert!(!admitted && noted.records.idle.is_some());
    for verdict in [Verdict::FRESH, Verdict::UNKNOWN] {
        let (next, _) = ask(&noted, "b", &seen(verdict), &rules(60.0));
        assert_eq!(next.records.idle, None, "{verdict:?}");
    }
    let (next, admission) = acquire(
        &noted,
        &caller("b"),
        &bid(Kind::Leased),
        &seen(Verdict::STALE),
        &rules(120.0),
    );
    assert_eq!(granted(admission).reclaimed_from.as_deref(), Some("h"));
    assert_eq!(names(&next), ["a", "b"]);
    // However long it was idle, a living holder is not passed over.
    let (_, admitted) = ask(&noted, "b", &seen(Verdict::UNKNOWN), &rules(1e4));
    assert!(!admitted);
}

#[test]
fn who_was_passed_over_is_next_again() {
    let state = idle(Some(300.0), &[("a", 400.0), ("b", 0.0), ("c", 0.0)]);
    let all = alive(&["a", "b", "c"]);
    let (next, admitted) = ask(&state, "b", &all, &rules(0.0));
    assert!(admitted);
    let taken = committed(&state, &next, 0.0);
    let held = Verdicts {
        holder: Some(Verdict::FRESH),
        ..all.clone()
    };
    let (back, admission) = acquire(&taken, &caller("a"), &bid(Kind::Leased), &held, &rules(1.0));
    assert_eq!(waiting(admission).position, Some(1));
    let (freed, _) = release(&back, &caller("b"), &held, &rules(2.0));
    let freed = committed(&back, &freed, 2.0);
    assert_eq!(names(&freed), ["a", "c"]);
    assert!(!ask(&freed, "c", &all, &rules(3.0)).1);
    assert!(ask(&freed, "a", &all, &rules(4.0)).1);
}

#[test]
fn a_lock_kept_anew_has_not_stood_idle_since_before() {
    let mut state = held(Kind::Leased, &["a", "b"]);
    state.records.idle = Some(Idle {
        since: moment(-100.0),
        host: host(),
    });
    let stale = verdicts(Some(Verdict::STALE), &[]);
    let (kept, _) = ask(&state, "h", &stale, &rules(0.0));
    assert_eq!(kept.records.idle, None);
    let (kept, _) = renew(
        &state,
        &caller("h"),
        &bid(Kind::Leased),
        &stale,
        &rules(0.0),
    );
    assert_eq!(kept.records.idle, None);
}

#[test]
fn idleness_counts_from_the_release() {
    let mut state = held(Kind::Leased, &["a"]);
    state.records.idle = Some(Idle {
        since: moment(-500.0),
        host: host(),
    });
    let fresh = verdicts(Some(Verdict::FRESH), &[("a", Verdict::FRESH)]);
    let (next, _) = release(&state, &caller("h"), &fresh, &rules(0.0));
    let idle = next.records.idle.expect("somebody waits");
    assert_eq!(idle.since, moment(0.0));
}
