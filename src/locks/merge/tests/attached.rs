//! Attached participants: namesakes, visits, grants and releases here; the places that killed ones
//! left, the lock that is kept while a command runs, and properties of all calls below.

use super::*;

mod keeping;
mod places;
mod properties;

/// A waiter whose process keeps this presence, and that named nobody.
fn attached(presence: &str) -> Participant {
    Participant {
        process: None,
        presence: Some(presence.to_owned()),
        inferred: true,
        ..record(Kind::Attached, -1.0)
    }
}

/// Puts these at the end of the queue, each known by a presence of its own name.
fn joined_by(mut state: MergeState, waiting: &[&str]) -> MergeState {
    state.queue.extend(queue_of(waiting));
    for name in waiting {
        let record = attached(&format!("{name}.presence"));
        let participants = &mut state.records.participants;
        participants.insert((*name).to_owned(), record.into());
    }
    state
}

/// `h` holds by the presence `h.presence` and the token `h.token`, and runs `process(7)`.
fn running(waiting: &[&str]) -> MergeState {
    let mut state = held(Kind::Attached, &[]);
    let record = state.records.participant_mut("h").expect("the holder");
    record.presence = Some("h.presence".to_owned());
    record.token = Some("h.token".to_owned());
    record.lease = Some(Lease {
        from: moment(-60.0),
        seconds: TTL,
    });
    joined_by(state, waiting)
}

fn ask(state: &MergeState, caller: &Caller, verdicts: &Verdicts) -> (MergeState, Admission) {
    acquire(state, caller, &run_bid("t"), verdicts, &rules(0.0))
}

#[test]
fn a_run_whose_id_holds_in_another_process_needs_another_id() {
    let state = running(&["a"]);
    for verdict in [PRESENT, Verdict::UNKNOWN, Verdict::STALE] {
        let all = verdicts(Some(verdict), &[("a", PRESENT)]);
        let (next, admission) = ask(&state, &waits_as("h", "another.presence"), &all);
        assert_eq!(admission, Admission::Namesake, "{verdict:?}");
        assert_eq!(next, state);
    }
    // Detached, but not the caller's: the same inferred id in another checkout.
    let state = held(Kind::Leased, &[]);
    let fresh = verdicts(Some(Verdict::FRESH), &[]);
    let stranger = Caller {
        checkout: Some("there".to_owned()),
        ..newcomer("h", "n.presence")
    };
    let (next, admission) = ask(&state, &stranger, &fresh);
    assert_eq!((next, admission), (state, Admission::Namesake));
}

#[test]
fn the_very_process_that_holds_is_told_what_it_has() {
    let state = running(&["a"]);
    let all = verdicts(Some(PRESENT), &[("a", PRESENT)]);
    let who = waits_as("h", "h.presence");
    let runs = |pid| Bid {
        process: Some(process(pid)),
        ..run_bid("h.token")
    };
    let (next, admission) = acquire(&state, &who, &runs(7), &all, &rules(0.0));
    let granted = granted(admission);
    assert_eq!((granted.action, granted.fence), (Action::Acquired, Some(7)));
    assert_eq!(next, state);
    // What it is about to run now need not be what it was to run when it was granted.
    let (next, _) = acquire(&state, &who, &runs(8), &all, &rules(0.0));
    let record = next.holder_record().expect("the holder");
    assert_eq!(record.process, Some(process(8)));
}

#[test]
fn a_run_whose_id_waits_in_another_process_needs_another_id() {
    let state = running(&["a", "b"]);
    for (verdict, expected) in [
        (PRESENT, true),
        (ORPHAN, false),
        (Verdict::FRESH, false),
        (Verdict::UNKNOWN, false),
    ] {
        let all = verdicts(Some(PRESENT), &[("a", PRESENT), ("b", verdict)]);
        let (next, admission) = ask(&state, &waits_as("b", "another.presence"), &all);
        assert_eq!(admission == Admission::Namesake, expected, "{verdict:?}");
        assert_eq!(names(&next), ["h", "a", "b"]);
        let presence = next.records.participants["b"].presence.as_deref();
        let kept = if expected {
            "b.presence"
        } else {
            "another.presence"
        };
        assert_eq!(presence, Some(kept), "{verdict:?}");
    }
    let all = verdicts(Some(PRESENT), &[("a", PRESENT), ("b", PRESENT)]);
    let (_, admission) = ask(&state, &waits_as("b", "b.presence"), &all);
    assert_eq!(waiting(admission).position, Some(2), "the same process");
}

#[test]
fn of_two_waiters_of_one_id_the_present_one_vouches_for_the_place() {
    let state = running(&["a"]);
    let another = Caller {
        presence: Some("another.presence".to_owned()),
        ..caller("a")
    };
    for (who, asks) in [(another, "waits"), (caller("a"), "polls")] {
        let poll = |verdict| {
            let all = verdicts(Some(PRESENT), &[("a", verdict)]);
            let (next, admission) = acquire(&state, &who, &bid(Kind::Leased), &all, &rules(100.0));
            assert_eq!(waiting(admission).position, Some(1), "{asks}");
            assert_eq!(next.queue, state.queue, "{asks}");
            next.records.participants["a"].clone()
        };
        let kept = poll(PRESENT);
        assert_eq!(kept.presence.as_deref(), Some("a.presence"), "{asks}");
        assert_eq!(kept.kind, Kind::Attached, "{asks}");
        assert_eq!(kept.ticket, moment(100.0), "{asks}: a sign of life");
        for gone in [ORPHAN, Verdict::UNKNOWN] {
            let replaced = poll(gone);
            assert_eq!(replaced.presence, who.presence, "{asks} {gone:?}");
        }
    }
}

#[test]
fn a_waiter_is_known_by_its_presence_whatever_it_will_be() {
    for (wanted, kind) in [
        (bid(Kind::Plan), Kind::Plan),
        (bid(Kind::Leased), Kind::Leased),
        (bid(Kind::Process), Kind::Process),
        (run_bid("t"), Kind::Attached),
    ] {
        let who = waits_as("a", "a.presence");
        let state = running(&[]);
        let all = verdicts(Some(PRESENT), &[]);
        let (next, _) = acquire(&state, &who, &wanted, &all, &rules(0.0));
        let record = &next.records.participants["a"];
        assert_eq!(record.kind, Kind::Attached, "{kind:?}");
        assert_eq!(record.presence, who.presence, "{kind:?}");
        assert_eq!((&record.process, &record.token), (&None, &None), "{kind:?}");
        let mut freed = next;
        freed.lock = None;
        freed.records.participants.remove("h");
        freed.queue.remove(0);
        let all = verdicts(None, &[("a", PRESENT)]);
        let (next, admission) = acquire(&freed, &who, &wanted, &all, &rules(1.0));
        assert_eq!(granted(admission).action, Action::Acquired);
        let record = &next.records.participants["a"];
        assert_eq!(record.kind, kind, "what it asked to be");
        let attached = kind == Kind::Attached;
        // Cut off, the grant leaves the waiter that it was.
        assert_eq!(record.presence, who.presence, "{kind:?}");
        assert_eq!(record.token.is_some(), attached, "{kind:?}");
    }
}

#[test]
fn an_attached_holder_is_granted_with_what_it_will_be_known_by() {
    let (next, admission) = ask(&free(), &waits_as("a", "a.presence"), &Verdicts::default());
    assert_eq!(granted(admission).expires_at, None, "no promise has an end");
    let record = &next.records.participants["a"];
    assert_eq!(record.lease.map(|lease| lease.from), Some(moment(0.0)));
    assert_eq!(record.kind, Kind::Attached);
    assert_eq!(record.presence.as_deref(), Some("a.presence"));
    assert_eq!(record.token.as_deref(), Some("t"));
    assert_eq!(
        record.process,
        Some(process(99)),
        "what will be its command"
    );
}

#[test]
fn a_visit_renews_a_lease_and_leaves_all_else() {
    for verdict in [Verdict::FRESH, Verdict::UNKNOWN, Verdict::STALE] {
        let state = held(Kind::Leased, &["a"]);
        let all = verdicts(Some(verdict), &[("a", Verdict::FRESH)]);
        let who = waits_as("h", "v.presence");
        let (next, admission) = acquire(&state, &who, &run_bid("v"), &all, &rules(5.0));
        let granted = granted(admission);
        assert_eq!(granted.action, Action::AlreadyHeld, "{verdict:?}");
        assert_eq!(granted.expires_at, Some(NOW + 5.0 + TTL));
        let mut expected = state.clone();
        let record = expected.records.participant_mut("h").expect("the holder");
        record.lease = Some(Lease {
            from: moment(5.0),
            seconds: TTL,
        });
        record.ticket = moment(5.0);
        record.token = Some("v".to_owned());
        assert_eq!(next, expected, "{verdict:?}");
        // Once it is over, its token is worth nothing; another visit's is left alone.
        expected
            .records
            .participant_mut("h")
            .expect("the holder")
            .token = None;
        assert_eq!(end_visit(&next, &run_bid("v"), &all), expected);
        assert_eq!(end_visit(&next, &run_bid("w"), &all), next);
    }
}

#[test]
fn a_visit_leaves_all_but_its_token_of_a_process_or_a_plan() {
    for kind in [Kind::Process, Kind::Plan] {
        for verdict in [Verdict::FRESH, Verdict::UNKNOWN] {
            let state = held(kind, &["a"]);
            let all = verdicts(Some(verdict), &[("a", Verdict::FRESH)]);
            let (next, admission) = ask(&state, &waits_as("h", "v.presence"), &all);
            let granted = granted(admission);
            assert_eq!(granted.action, Action::AlreadyHeld, "{kind:?}");
            assert_eq!(granted.fence, Some(7));
            let mut expected = state.clone();
            let record = expected.records.participant_mut("h").expect("the holder");
            record.token = Some("t".to_owned());
            assert_eq!(next, expected, "{kind:?} {verdict:?}");
        }
    }
    let mut unrecorded = held(Kind::Plan, &["a"]);
    unrecorded.records.participants.remove("h");
    let all = verdicts(Some(Verdict::FRESH), &[("a", Verdict::FRESH)]);
    let (next, admission) = ask(&unrecorded, &waits_as("h", "v.presence"), &all);
    assert_eq!(granted(admission).action, Action::AlreadyHeld);
    assert_eq!(next, unrecorded);
}

#[test]
fn one_that_is_gone_is_not_visited_but_reclaimed_in_turn() {
    for kind in [Kind::Process, Kind::Plan] {
        let who = waits_as("h", "v.presence");
        let queued = held(kind, &["a", "b"]);
        let all = verdicts(
            Some(Verdict::STALE),
            &[("a", Verdict::FRESH), ("b", Verdict::STALE)],
        );
        let (next, admission) = ask(&queued, &who, &all);
        let behind = waiting(admission);
        assert_eq!((behind.position, behind.next), (None, false));
        assert_eq!(next.lock, queued.lock, "{kind:?}: others are ahead");
        assert_eq!(names(&next), ["h", "a"], "{kind:?}: but not the dead");
        assert_eq!(next.records.idle.map(|idle| idle.since), Some(moment(0.0)));
        for others in [held(kind, &[]), held(kind, &["a"])] {
            let all = verdicts(Some(Verdict::STALE), &[("a", ORPHAN)]);
            let (next, admission) = ask(&others, &who, &all);
            let granted = granted(admission);
            assert_eq!(granted.action, Action::Acquired, "{kind:?}");
            assert_eq!(granted.reclaimed_from.as_deref(), Some("h"));
            assert_eq!(granted.fence, Some(8));
            let record = &next.records.participants["h"];
            assert_eq!(record.presence.as_deref(), Some("v.presence"));
            assert_eq!(record.kind, Kind::Attached);
            assert_eq!(record.process, Some(process(99)));
            assert_eq!(names(&next).last(), Some(&"h"), "a place of its own");
            assert_eq!(names(&next).iter().filter(|name| **name == "h").count(), 1);
        }
    }
}

#[test]
fn asking_detached_does_not_renew_an_attached_holder_of_the_id() {
    let state = running(&["a"]);
    let all = verdicts(Some(PRESENT), &[("a", PRESENT)]);
    let (next, admission) = acquire(&state, &caller("h"), &bid(Kind::Leased), &all, &rules(5.0));
    let blocked = waiting(admission);
    assert_eq!((blocked.position, blocked.next), (None, false));
    assert_eq!(next, state, "its lease is its own to renew");
}

#[test]
fn a_trial_in_vain_leaves_no_trace() {
    let mut idle = running(&["a", "dead", "o"]);
    idle.records.idle = Some(Idle {
        since: moment(-5.0),
        host: host(),
    });
    let all = verdicts(
        Some(PRESENT),
        &[("a", PRESENT), ("dead", Verdict::STALE), ("o", ORPHAN)],
    );
    for who in [
        newcomer("n", "n.presence"),
        waits_as("n", "n.presence"),
        caller("n"),
        waits_as("a", "a.presence"),
        caller("h"),
    ] {
        let (next, admission) = try_acquire(&idle, &who, &bid(Kind::Leased), &all, &rules(50.0));
        assert!(matches!(admission, Admission::Blocked(_)), "{who:?}");
        assert_eq!(next, idle, "{who:?}");
    }
    let (next, admission) = try_acquire(
        &idle,
        &waits_as("h", "n.presence"),
        &run_bid("t"),
        &all,
        &rules(50.0),
    );
    assert_eq!((next, admission), (idle, Admission::Namesake));
    let open = joined_by(free(), &["o"]);
    let who = newcomer("n", "n.presence");
    let (next, admission) = try_acquire(&open, &who, &run_bid("t"), &all, &rules(0.0));
    assert_eq!(granted(admission).action, Action::Acquired);
    assert_eq!(names(&next), ["n"]);
}

#[test]
fn a_trial_finishes_what_was_left_undone_all_the_same() {
    let mut state = running(&["a"]);
    state.records.ending = Some(Ending {
        plan_id: "h".to_owned(),
        mtime_ns: stamp(-60.0),
    });
    let all = verdicts(Some(PRESENT), &[("a", PRESENT)]);
    let (next, _) = try_acquire(&state, &caller("n"), &bid(Kind::Leased), &all, &rules(0.0));
    assert_eq!((next.lock.as_ref(), names(&next)), (None, vec!["a"]));
}

#[test]
fn only_the_very_process_lets_go_while_the_holder_is_there() {
    let state = running(&["a"]);
    for (who, verdict, expected) in [
        (waits_as("h", "h.presence"), PRESENT, true),
        (newcomer("h", "h.presence"), PRESENT, true),
        (waits_as("h", "h.presence"), Verdict::UNKNOWN, true),
        (caller("h"), PRESENT, false),
        (waits_as("h", "another.presence"), PRESENT, false),
        (caller("h"), Verdict::STALE, true),
        (caller("h"), Verdict::UNKNOWN, true),
    ] {
        let all = verdicts(Some(verdict), &[("a", PRESENT)]);
        let (next, outcome) = release(&state, &who, &all, &rules(0.0));
        if expected {
            assert_eq!(outcome, Release::Released, "{who:?} {verdict:?}");
            assert_eq!((next.lock.as_ref(), names(&next)), (None, vec!["a"]));
        } else {
            assert_eq!(outcome, Release::HolderPresent("h".to_owned()));
            assert_eq!(next, state, "{who:?} {verdict:?}");
        }
    }
    // An inferred caller elsewhere is another: it has nothing to let go.
    let stranger = inferred("h", 1000, "there");
    let all = verdicts(Some(PRESENT), &[("a", PRESENT)]);
    let (next, outcome) = release(&state, &stranger, &all, &rules(0.0));
    let noop = Release::Noop {
        holder: Some("h".to_owned()),
        left: false,
    };
    assert_eq!((next, outcome), (state, noop));
}

#[test]
fn a_holder_whose_lock_file_vanished_lets_go_for_good() {
    let mut state = running(&["a"]);
    state.lock = None;
    let mut all = verdicts(None, &[("a", PRESENT)]);
    all.bereft.insert("h".to_owned(), PRESENT);
    let (next, outcome) = release(&state, &waits_as("h", "h.presence"), &all, &rules(0.0));
    assert_eq!(outcome, Release::Released);
    assert_eq!((next.lock.as_ref(), names(&next)), (None, vec!["a"]));
    // Its process is still there for a moment: nothing may be put back for it.
    assert_eq!(settle(&next, &all).lock, None);
}

#[test]
fn an_attached_caller_is_not_granted_before_there_is_what_it_will_run() {
    let unready = Bid {
        process: None,
        ..run_bid("t")
    };
    let who = waits_as("a", "a.presence");
    let (next, admission) = acquire(&free(), &who, &unready, &Verdicts::default(), &rules(0.0));
    let waiting = waiting(admission);
    assert!(waiting.next, "it need only get ready");
    assert_eq!((next.lock.clone(), names(&next)), (None, vec!["a"]));
    let ready = run_bid("t");
    let (next, admission) = acquire(&next, &who, &ready, &Verdicts::default(), &rules(1.0));
    assert_eq!(granted(admission).action, Action::Acquired);
    assert_eq!(holder(&next).as_deref(), Some("a"));
}
