//! Whose lock it is when several go by one name.

use super::*;

fn held_by(record: Option<Participant>) -> MergeState {
    let mut state = held(Kind::Leased, &[]);
    state.records.participants.clear();
    if let Some(record) = record {
        state
            .records
            .participants
            .insert("h".to_owned(), std::sync::Arc::new(record));
    }
    state
}

fn of(user: u32, checkout: &str) -> Participant {
    Participant {
        user,
        inferred: true,
        checkout: Some(checkout.to_owned()),
        ..holder_of(Kind::Leased, -60.0)
    }
}

#[test]
fn an_inferred_id_is_the_holder_only_for_its_user_in_its_checkout() {
    let state = held_by(Some(of(1, "x")));
    for (who, expected) in [
        (inferred("h", 1, "x"), true),
        (inferred("h", 2, "x"), false),
        (inferred("h", 1, "y"), false),
        (caller("h"), true),
        (caller("a"), false),
    ] {
        assert_eq!(is_holder(&state, &who), expected, "{who:?}");
    }
    // Without a record the lock file's owner must do.
    let mut state = held_by(None);
    assert!(is_holder(&state, &inferred("h", 1000, "anywhere")));
    assert!(!is_holder(&state, &inferred("h", 1001, "anywhere")));
    state.lock = None;
    assert!(!is_holder(&state, &caller("h")));
    // A record of another lock file proves nothing about this one.
    let mut state = held_by(Some(of(1, "x")));
    state.lock.as_mut().expect("held").mtime_ns = stamp(0.0);
    assert!(!is_holder(&state, &inferred("h", 1, "x")));
}

fn ask(state: &MergeState, who: &Caller, holder: Verdict) -> (MergeState, Admission) {
    let seen = verdicts(Some(holder), &[("a", Verdict::FRESH)]);
    acquire(state, who, &bid(Kind::Leased), &seen, &rules(0.0))
}

#[test]
fn a_namesake_of_a_living_holder_waits_without_a_place_and_changes_nothing() {
    let state = held_by(Some(of(1, "x")));
    for verdict in [Verdict::FRESH, Verdict::UNKNOWN] {
        let (next, admission) = ask(&state, &inferred("h", 2, "x"), verdict);
        let waiting = waiting(admission);
        assert_eq!((waiting.position, waiting.poll), (None, Poll::Repeated));
        assert_eq!(next, state);
    }
    let (next, outcome) = release(
        &state,
        &inferred("h", 2, "x"),
        &verdicts(Some(Verdict::STALE), &[]),
        &rules(0.0),
    );
    assert_eq!(
        outcome,
        Release::Noop {
            holder: Some("h".to_owned()),
            left: false
        }
    );
    assert_eq!(next, state, "the entry of that name is the holder's");
}

#[test]
fn a_namesake_of_a_stale_holder_reclaims_once_nobody_is_ahead() {
    let who = inferred("h", 2, "x");
    let state = held_by(Some(Participant {
        reason: Some("the holder's".to_owned()),
        presence: Some("the holder's".to_owned()),
        ..of(1, "x")
    }));
    let (next, admission) = ask(&state, &who, Verdict::STALE);
    let granted = granted(admission);
    assert_eq!(granted.reclaimed_from.as_deref(), Some("h"));
    assert_eq!((granted.action, granted.fence), (Action::Acquired, Some(8)));
    assert_eq!(names(&next), ["h"]);
    assert_eq!(next.queue[0].ts.to_bits(), NOW.to_bits());
    let record = &next.records.participants["h"];
    assert_eq!(record.user, 2);
    assert_eq!((&record.reason, &record.presence), (&None, &None));
    assert_ne!(
        next.lock, state.lock,
        "the old lock file goes, a new one comes"
    );

    let mut busy = held(Kind::Leased, &["a"]);
    busy.records
        .participants
        .insert("h".to_owned(), std::sync::Arc::new(of(1, "x")));
    let (next, admission) = ask(&busy, &who, Verdict::STALE);
    assert_eq!(waiting(admission).position, None);
    assert_eq!(next.lock, busy.lock);
    assert_eq!(next.queue, busy.queue);
    assert!(next.records.idle.is_some());
    // Those ahead who show no sign of life are passed over, as ever.
    let mut quiet = next;
    quiet.records.participant_mut("a").expect("a").ticket = moment(-400.0);
    let seen = verdicts(Some(Verdict::STALE), &[("a", Verdict::FRESH)]);
    let (next, admission) = acquire(&quiet, &who, &bid(Kind::Leased), &seen, &rules(120.0));
    assert!(matches!(admission, Admission::Admitted(_)));
    assert_eq!(names(&next), ["a", "h"]);

    let far = Rules {
        may_reclaim: false,
        keeps_plans: false,
        ..rules(0.0)
    };
    let seen = verdicts(Some(Verdict::STALE), &[]);
    let (next, admission) = acquire(&state, &who, &bid(Kind::Leased), &seen, &far);
    assert!(waiting(admission).not_local);
    assert_eq!(next.lock, state.lock);
}

#[test]
fn an_attached_holder_is_not_reentered_by_its_name() {
    let state = held(Kind::Attached, &[]);
    for verdict in [PRESENT, Verdict::UNKNOWN] {
        let (next, admission) = ask(&state, &caller("h"), verdict);
        assert_eq!(waiting(admission).position, None);
        assert_eq!(next, state);
    }
    let (_, admission) = ask(&state, &caller("h"), Verdict::STALE);
    assert_eq!(granted(admission).reclaimed_from.as_deref(), Some("h"));
}

#[test]
fn a_process_is_looked_for_where_it_was_recorded() {
    let mut state = held(Kind::Process, &[]);
    let container = Host {
        pid_ns: Some(2),
        ..host()
    };
    state.records.participant_mut("h").expect("h").host = container.clone().into();
    let again = |bid: &Bid, verdict| {
        let seen = verdicts(Some(verdict), &[]);
        let (next, _) = acquire(&state, &caller("h"), bid, &seen, &rules(0.0));
        next.records.participants["h"].clone()
    };
    assert_eq!(*again(&bid(Kind::Leased), Verdict::FRESH).host, container);
    let insisting = Bid {
        insists: true,
        ..bid(Kind::Process)
    };
    assert_eq!(*again(&insisting, Verdict::FRESH).host, host());
}

#[test]
fn a_holder_whose_process_ended_and_who_asks_again_is_vouched_for_anew() {
    let state = held(Kind::Process, &[]);
    let again = |verdict| {
        let seen = verdicts(Some(verdict), &[]);
        let (next, admission) =
            acquire(&state, &caller("h"), &bid(Kind::Leased), &seen, &rules(0.0));
        (next.records.participants["h"].kind, granted(admission))
    };
    let (kind, granted) = again(Verdict::STALE);
    assert_eq!((kind, granted.expires_at), (Kind::Leased, Some(NOW + TTL)));
    for verdict in [Verdict::FRESH, Verdict::UNKNOWN] {
        assert_eq!(again(verdict).0, Kind::Process);
    }
}
