//! The places of those whose process is gone, or stands still.

use super::*;

#[test]
fn an_orphan_is_passed_over_at_once_and_keeps_its_place() {
    let state = joined_by(free(), &["o", "a", "b"]);
    let b = waits_as("b", "b.presence");
    for (ahead, expected) in [(ORPHAN, true), (PRESENT, false), (Verdict::FRESH, false)] {
        let all = verdicts(None, &[("o", ORPHAN), ("a", ahead), ("b", PRESENT)]);
        let (next, admission) = ask(&state, &b, &all);
        let admitted = matches!(admission, Admission::Admitted(_));
        assert_eq!(admitted, expected, "{ahead:?}");
        assert_eq!(names(&next), ["o", "a", "b"]);
        for other in ["o", "a"] {
            let (before, after) = (&state.records.participants, &next.records.participants);
            assert_eq!(before[other], after[other], "{other}");
        }
    }
    let all = verdicts(None, &[("o", ORPHAN), ("a", PRESENT), ("b", PRESENT)]);
    let (taken, _) = ask(&state, &waits_as("a", "a.presence"), &all);
    let taken = committed(&state, &taken, 0.0);
    let holding = Verdicts {
        holder: Some(PRESENT),
        ..all
    };
    let (freed, outcome) = release(&taken, &waits_as("a", "a.presence"), &holding, &rules(1.0));
    assert_eq!(outcome, Release::Released);
    assert_eq!(names(&freed), ["o", "b"], "the orphan is first again");
}

#[test]
fn who_waits_behind_orphans_alone_is_next() {
    let state = running(&["o", "a", "b"]);
    let all = verdicts(
        Some(PRESENT),
        &[("o", ORPHAN), ("a", PRESENT), ("b", PRESENT)],
    );
    let seen = |name: &str| {
        let (_, admission) = ask(&state, &waits_as(name, &format!("{name}.presence")), &all);
        let waiting = waiting(admission);
        (waiting.position, waiting.next)
    };
    assert_eq!(seen("a"), (Some(2), true));
    assert_eq!(seen("b"), (Some(3), false));
    let all = verdicts(Some(PRESENT), &[("o", PRESENT), ("b", PRESENT)]);
    let (_, admission) = ask(&state, &waits_as("a", "a.presence"), &all);
    assert!(!waiting(admission).next, "one whose process is there");
}

#[test]
fn an_orphan_s_own_id_uses_its_place() {
    let state = joined_by(free(), &["a", "o", "b"]);
    let all = verdicts(None, &[("a", PRESENT), ("o", ORPHAN), ("b", PRESENT)]);
    let (next, admission) = ask(&state, &waits_as("o", "new.presence"), &all);
    let waiting = waiting(admission);
    assert_eq!((waiting.position, waiting.poll), (Some(2), Poll::Noted));
    assert_eq!(next.queue, state.queue);
    let record = &next.records.participants["o"];
    assert_eq!(record.presence.as_deref(), Some("new.presence"));
}

#[test]
fn a_newcomer_takes_the_foremost_place_that_its_checkout_left() {
    let state = running(&["a", "o1", "b", "o2"]);
    let all = verdicts(
        Some(PRESENT),
        &[
            ("a", PRESENT),
            ("o1", ORPHAN),
            ("b", PRESENT),
            ("o2", ORPHAN),
        ],
    );
    let (next, admission) = ask(&state, &newcomer("n", "n.presence"), &all);
    let first = waiting(admission);
    assert_eq!((first.position, first.poll), (Some(2), Poll::Joined));
    assert_eq!(names(&next), ["h", "a", "n", "b", "o2"]);
    assert_eq!(next.queue[2].ts.to_bits(), state.queue[2].ts.to_bits());
    for place in [0, 1, 3, 4] {
        assert_eq!(next.queue[place], state.queue[place], "place {place}");
    }
    let record = &next.records.participants["n"];
    assert_eq!(record.presence.as_deref(), Some("n.presence"));
    assert_eq!(record.queued_ts.to_bits(), next.queue[2].ts.to_bits());
    let (kept, left) = (&next.records.participants, settle(&next, &all));
    assert_eq!(kept["o1"], state.records.participants["o1"], "for a crash");
    assert!(!left.records.participants.contains_key("o1"));
    assert_eq!(
        next.records.participants["o2"],
        state.records.participants["o2"]
    );
    // One place for each newcomer, and the end of the queue for whoever finds none.
    let (next, _) = ask(&next, &newcomer("m", "m.presence"), &all);
    assert_eq!(names(&next), ["h", "a", "n", "b", "m"]);
    let (next, admission) = ask(&next, &newcomer("l", "l.presence"), &all);
    assert_eq!(names(&next), ["h", "a", "n", "b", "m", "l"]);
    assert_eq!(waiting(admission).position, Some(5));
}

#[test]
fn a_free_lock_goes_to_whoever_takes_over_the_first_place() {
    let state = joined_by(free(), &["o", "a"]);
    let all = verdicts(None, &[("o", ORPHAN), ("a", PRESENT)]);
    let (next, admission) = ask(&state, &newcomer("n", "n.presence"), &all);
    assert_eq!(granted(admission).action, Action::Acquired);
    assert_eq!(holder(&next).as_deref(), Some("n"));
    assert_eq!(names(&next), ["n", "a"]);
    let record = &next.records.participants["n"];
    assert_eq!(record.queued_ts.to_bits(), state.queue[0].ts.to_bits());
}

#[test]
fn nobody_takes_a_place_that_may_not_be_its_own() {
    type Change = fn(&mut MergeState, &mut Caller, &mut Verdicts);
    let changes: [(&str, Change, bool); 13] = [
        ("as it is", |_, _, _| {}, true),
        ("names itself", |_, who, _| who.explicit = true, false),
        (
            "nowhere, as the one before",
            |state, who, _| {
                who.checkout = None;
                state.records.participant_mut("o").expect("o").checkout = None;
            },
            false,
        ),
        (
            "in another checkout",
            |_, who, _| who.checkout = Some("there".to_owned()),
            false,
        ),
        ("of another user", |_, who, _| who.user = 1001, false),
        ("keeps no presence", |_, who, _| who.presence = None, false),
        (
            "left by one that named itself",
            |state, _, _| state.records.participant_mut("o").expect("o").inferred = false,
            false,
        ),
        (
            "left by nobody of ours",
            |state, _, _| {
                state.records.participants.remove("o");
            },
            false,
        ),
        (
            "not left: present",
            |_, _, all| {
                all.waiters.insert("o".to_owned(), PRESENT);
            },
            false,
        ),
        (
            "not provably left",
            |_, _, all| {
                all.waiters.insert("o".to_owned(), Verdict::UNKNOWN);
            },
            false,
        ),
        (
            "not left: not judged",
            |_, _, all| {
                all.waiters.remove("o");
            },
            false,
        ),
        (
            "queued already",
            |state, who, _| {
                state.queue.push(Entry::new(&who.id, NOW));
            },
            false,
        ),
        (
            "the holder's",
            |state, _, all| {
                state.lock = Some(lock_of("o", stamp(-60.0)));
                let record = state.records.participant_mut("o").expect("o");
                record.grant = holder_of(Kind::Attached, -60.0).grant;
                all.holder = Some(Verdict::UNKNOWN);
            },
            false,
        ),
    ];
    for (name, change, expected) in changes {
        let mut state = joined_by(free(), &["a", "o"]);
        let mut who = newcomer("n", "n.presence");
        let mut all = verdicts(None, &[("a", PRESENT), ("o", ORPHAN)]);
        change(&mut state, &mut who, &mut all);
        let before = state.queue.clone();
        let (next, _) = acquire(&state, &who, &bid(Kind::Leased), &all, &rules(0.0));
        let took = next.queue.get(1).is_some_and(|entry| entry.plan_id == "n");
        assert_eq!(took, expected, "{name}");
        if !expected {
            assert_eq!(next.queue[..2], before[..2], "{name}");
            assert_eq!(names(&next), ["a", "o", "n"], "{name}");
        }
    }
}

#[test]
fn an_id_that_the_lock_file_names_takes_no_place_of_others() {
    let mut state = held(Kind::Leased, &[]);
    state.queue.clear();
    let state = joined_by(state, &["o"]);
    let all = verdicts(Some(Verdict::FRESH), &[("o", ORPHAN)]);
    let stranger = Caller {
        checkout: Some("there".to_owned()),
        ..newcomer("h", "n.presence")
    };
    let mut state = state;
    state.records.participant_mut("o").expect("o").checkout = stranger.checkout.clone();
    let (next, admission) = acquire(&state, &stranger, &bid(Kind::Leased), &all, &rules(0.0));
    assert_eq!(waiting(admission).position, None);
    assert_eq!(next.queue, state.queue, "it would go with the holder's");
}

#[test]
fn one_that_stands_still_is_passed_over_like_one_that_is_silent() {
    let stopped = |silent: f64| {
        let mut state = joined_by(free(), &["s", "a"]);
        let record = state.records.participant_mut("s").expect("recorded");
        record.ticket = moment(-silent);
        state.records.idle = Some(Idle {
            since: moment(-600.0),
            host: host(),
        });
        state
    };
    let all = verdicts(None, &[("s", PRESENT), ("a", PRESENT)]);
    let a = waits_as("a", "a.presence");
    for (silent, passed) in [(899.0, false), (901.0, true)] {
        let (next, admission) = ask(&stopped(silent), &a, &all);
        assert_eq!(
            matches!(admission, Admission::Admitted(_)),
            passed,
            "{silent}"
        );
        assert_eq!(names(&next), ["s", "a"], "it keeps its place");
    }
}
