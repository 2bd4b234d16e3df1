//! A holder that looks after its lock.

use super::*;

const RUNNER: &str = "h.presence";

/// What `h`, whose command is this process, looks after its lock with.
fn running_bid(pid: i32) -> Bid {
    Bid {
        process: Some(process(pid)),
        ..run_bid("h.token")
    }
}

fn look_after(state: &MergeState, verdicts: &Verdicts) -> (MergeState, Keeping) {
    keep(
        state,
        &waits_as("h", RUNNER),
        &running_bid(7),
        verdicts,
        &rules(30.0),
    )
}

/// What is recorded of `h` once it has looked after its lock at `moment(30)`.
fn kept(state: &MergeState) -> Participant {
    let mut record = state.records.participants["h"].as_ref().clone();
    record.lease = Some(Lease {
        from: moment(30.0),
        seconds: TTL,
    });
    record.ticket = moment(30.0);
    record
}

/// The lock of `running(waiting)` names `text` now, and what it named before is judged `before`.
fn names_now(waiting: &[&str], found: Holder, verdict: Verdict) -> (MergeState, Verdicts) {
    let mut state = running(waiting);
    state.lock = Some(LockFile {
        holder: found,
        mtime_ns: stamp(-3.5),
        uid: 1000,
    });
    let mut all = verdicts(Some(verdict), &[]);
    all.bereft.insert("h".to_owned(), PRESENT);
    (state, all)
}

fn is_recorded_as_held(state: &MergeState) -> bool {
    let record = state.holder_record();
    record.is_some_and(|record| record.token.as_deref() == Some("h.token"))
}

#[test]
fn a_lock_that_is_there_is_kept_and_its_lease_renewed() {
    let state = running(&["a"]);
    for verdict in [PRESENT, Verdict::UNKNOWN, Verdict::STALE] {
        let all = verdicts(Some(verdict), &[("a", PRESENT)]);
        let (next, keeping) = look_after(&state, &all);
        assert_eq!(keeping, Keeping::Kept);
        let mut expected = state.clone();
        let record = kept(&state).into();
        expected.records.participants.insert("h".to_owned(), record);
        assert_eq!(next, expected, "{verdict:?}");
    }
    // Its presence had to be made anew, under another name.
    let all = verdicts(Some(PRESENT), &[]);
    let who = waits_as("h", "moved.presence");
    let (next, keeping) = keep(&state, &who, &running_bid(7), &all, &rules(30.0));
    assert_eq!(keeping, Keeping::Kept);
    let record = &next.records.participants["h"];
    assert_eq!(record.presence.as_deref(), Some("moved.presence"));
    assert_eq!(record.process, Some(process(7)));
}

#[test]
fn a_lock_that_vanished_is_taken_again_as_the_same_grant() {
    for present in [true, false] {
        let mut state = running(&["a"]);
        state.lock = None;
        let verdict = if present { PRESENT } else { Verdict::UNKNOWN };
        let mut all = verdicts(None, &[("a", PRESENT)]);
        all.bereft.insert("h".to_owned(), verdict);
        let (next, keeping) = look_after(&state, &all);
        assert_eq!(keeping, Keeping::Restored, "{present}");
        assert_eq!(holder(&next).as_deref(), Some("h"));
        assert_eq!(names(&next), ["h", "a"]);
        assert_eq!(next.records.fence, 7);
        let next = committed(&state, &next, 30.0);
        let record = next.holder_record().expect("recorded");
        let grant = record.grant.as_ref().expect("a grant");
        assert_eq!((grant.fence, grant.since), (7, moment(-60.0)));
        assert_eq!(record.process, Some(process(7)), "its command");
        assert_eq!(record.lease.map(|lease| lease.from), Some(moment(30.0)));
        let own = &next.queue[0];
        assert_eq!(record.queued_ts.to_bits(), own.ts.to_bits());
    }
}

#[test]
fn what_names_nobody_is_replaced() {
    let garbage = || Holder::Malformed("../x".to_owned());
    let (state, all) = names_now(&["a"], garbage(), Verdict::STALE);
    let (next, keeping) = look_after(&state, &all);
    assert_eq!(keeping, Keeping::Restored);
    assert_eq!(holder(&next).as_deref(), Some("h"));
    assert_eq!(names(&next), ["h", "a"]);
    assert!(is_recorded_as_held(&committed(&state, &next, 30.0)));
}

#[test]
fn one_that_is_being_born_is_waited_for() {
    let (state, all) = names_now(&["a"], Holder::Unborn, Verdict::UNKNOWN);
    let (next, keeping) = look_after(&state, &all);
    assert_eq!(keeping, Keeping::Unclear);
    assert_eq!(next.lock, state.lock);
}

#[test]
fn its_own_name_written_by_hand_is_its_own_lock() {
    for verdict in [Verdict::FRESH, Verdict::UNKNOWN, Verdict::STALE] {
        let (state, all) = names_now(&["a"], Holder::Plan(id("h")), verdict);
        let (next, keeping) = look_after(&state, &all);
        assert_eq!(keeping, Keeping::Restored, "{verdict:?}");
        // The file is left as it is, unless nothing vouches for who wrote it.
        let replaced = verdict.is_stale();
        assert_eq!(next.lock != state.lock, replaced);
        let record = next.holder_record().expect("recorded");
        let grant = record.grant.as_ref().expect("a grant");
        let made = if replaced { stamp(-60.0) } else { stamp(-3.5) };
        assert_eq!((grant.fence, grant.made), (7, Some(made)));
        assert_eq!(record.process, Some(process(7)), "its command");
        assert!(is_recorded_as_held(&next));
        let (_, keeping) = look_after(&next, &verdicts(Some(PRESENT), &[]));
        assert_eq!(keeping, Keeping::Kept);
    }
}

#[test]
fn another_that_may_live_has_it() {
    for verdict in [PRESENT, Verdict::FRESH, Verdict::UNKNOWN] {
        let (state, all) = names_now(&["a"], Holder::Plan(id("x")), verdict);
        let (next, keeping) = look_after(&state, &all);
        assert_eq!(keeping, Keeping::Lost("x".to_owned()), "{verdict:?}");
        assert_eq!(next, settle(&state, &all));
        assert_eq!(next.lock, state.lock);
    }
}

#[test]
fn another_that_is_dead_is_replaced() {
    let (state, all) = names_now(&["a"], Holder::Plan(id("x")), Verdict::STALE);
    let (next, keeping) = look_after(&state, &all);
    assert_eq!(keeping, Keeping::Restored);
    let after = committed(&state, &next, 30.0);
    assert!(is_recorded_as_held(&after));
    assert_eq!(names(&after), ["h", "a"]);
    let process_of = after.holder_record().and_then(|r| r.process.clone());
    assert_eq!(process_of, Some(process(7)), "its command");
}

#[test]
fn a_holder_whose_records_are_lost_is_recorded_as_a_new_grant() {
    for vanished in [true, false] {
        let mut state = running(&[]);
        state.records.participants.clear();
        if vanished {
            state.lock = None;
            state.queue.clear();
        }
        let lock = state.lock.clone();
        let all = verdicts(lock.map(|_| Verdict::UNKNOWN), &[]);
        let bid = Bid {
            process: Some(process(7)),
            ..run_bid("h.token")
        };
        let (next, keeping) = keep(&state, &waits_as("h", RUNNER), &bid, &all, &rules(30.0));
        assert_eq!(keeping, Keeping::Restored, "{vanished}");
        assert_eq!(next.records.fence, 8, "{vanished}");
        let next = committed(&state, &next, 30.0);
        let record = next.holder_record().expect("recorded");
        assert_eq!(record.grant.as_ref().map(|grant| grant.fence), Some(8));
        assert_eq!(record.presence.as_deref(), Some(RUNNER));
        assert_eq!(record.token.as_deref(), Some("h.token"));
        assert_eq!(record.process, Some(process(7)), "its command");
        assert_eq!(record.lease.map(|lease| lease.from), Some(moment(30.0)));
        assert_eq!(names(&next), ["h"]);
    }
}

#[test]
fn nobody_without_the_token_keeps_a_holder_s_lock() {
    let state = running(&["a"]);
    let all = verdicts(Some(PRESENT), &[("a", PRESENT)]);
    for token in [Some("another".to_owned()), None] {
        let bid = Bid {
            token,
            ..run_bid("")
        };
        let (next, keeping) = keep(
            &state,
            &waits_as("h", "x.presence"),
            &bid,
            &all,
            &rules(30.0),
        );
        assert_eq!(keeping, Keeping::Lost("h".to_owned()));
        assert_eq!(next, state);
    }
    let mut tokenless = state;
    tokenless.records.participant_mut("h").expect("h").token = None;
    let bid = Bid {
        token: None,
        ..run_bid("")
    };
    let (next, keeping) = keep(&tokenless, &waits_as("h", RUNNER), &bid, &all, &rules(30.0));
    assert_eq!(keeping, Keeping::Lost("h".to_owned()), "no token, no proof");
    assert_eq!(next, tokenless);
}

#[test]
fn a_command_that_was_made_ready_anew_is_recorded() {
    let state = running(&["a"]);
    let all = verdicts(Some(PRESENT), &[]);
    let who = waits_as("h", RUNNER);
    let (next, keeping) = keep(&state, &who, &running_bid(8), &all, &rules(30.0));
    assert_eq!(keeping, Keeping::Kept);
    let record = next.holder_record().expect("recorded");
    assert_eq!(record.process, Some(process(8)));
}
