//! What [`settle`] makes of cut-off commits and of files that others removed or made.

use super::*;

fn bereft(name: &str, verdict: Verdict) -> Verdicts {
    Verdicts {
        bereft: BTreeMap::from([(name.to_owned(), verdict)]),
        ..Verdicts::default()
    }
}

fn ending(name: &str, after: f64) -> Option<Ending> {
    Some(Ending {
        plan_id: name.to_owned(),
        mtime_ns: stamp(after),
    })
}

#[test]
fn what_is_whole_is_left_alone() {
    for state in [
        free(),
        held(Kind::Leased, &["a"]),
        held(Kind::Attached, &[]),
    ] {
        assert_eq!(settle(&state, &Verdicts::default()), state);
    }
}

#[test]
fn settling_twice_is_settling_once() {
    let mut vanished = held(Kind::Attached, &["a"]);
    vanished.lock = None;
    let mut ended = held(Kind::Leased, &["a"]);
    ended.records.ending = ending("h", -60.0);
    for state in [vanished, ended] {
        for verdict in [PRESENT, Verdict::STALE, Verdict::UNKNOWN] {
            let once = settle(&state, &bereft("h", verdict));
            assert_eq!(settle(&once, &Verdicts::default()), once);
        }
    }
}

#[test]
fn a_release_that_was_cut_off_is_completed() {
    let mut state = held(Kind::Leased, &["a"]);
    state.records.ending = ending("h", -60.0);
    let next = settle(&state, &Verdicts::default());
    assert_eq!((next.lock.as_ref(), names(&next)), (None, vec!["a"]));
    assert_eq!(next.records.ending, None);
    assert!(!next.records.participants.contains_key("h"));
    // Whoever comes next has it, the holder that let go included.
    let (_, admission) = acquire(
        &state,
        &caller("a"),
        &bid(Kind::Leased),
        &verdicts(Some(Verdict::FRESH), &[("h", Verdict::FRESH)]),
        &rules(0.0),
    );
    assert_eq!(granted(admission).fence, Some(8));
}

#[test]
fn a_release_of_a_holder_without_a_record_is_completed_too() {
    let mut state = held(Kind::Plan, &["a"]);
    state.records.participants.remove("h");
    state.records.ending = ending("h", -60.0);
    let next = settle(&state, &Verdicts::default());
    assert_eq!((next.lock.as_ref(), names(&next)), (None, vec!["a"]));
}

#[test]
fn an_ending_of_another_lock_file_ends_nothing() {
    for (name, after) in [("h", -61.0), ("a", -60.0)] {
        let mut state = held(Kind::Leased, &["a"]);
        state.records.ending = ending(name, after);
        let next = settle(&state, &Verdicts::default());
        assert_eq!(next.lock, state.lock);
        assert_eq!(next.records.ending, None);
        assert_eq!(next.queue, state.queue);
    }
}

#[test]
fn a_lock_that_was_let_go_is_not_given_back_to_a_process_that_is_still_there() {
    let mut state = held(Kind::Attached, &["a"]);
    state.queue.remove(0);
    state.lock = None;
    state.records.ending = ending("h", -60.0);
    let next = settle(&state, &bereft("h", PRESENT));
    assert_eq!(next.lock, None);
    assert_eq!(names(&next), ["a"]);
}

#[test]
fn a_grant_that_was_cut_off_is_a_waiter_at_its_old_place() {
    let mut state = held(Kind::Leased, &["a"]);
    state.lock = None;
    state.queue.insert(0, queue_of(&["x"])[0].clone());
    state.cut_off = vec!["h".to_owned()];
    let next = settle(&state, &bereft("h", PRESENT));
    assert_eq!(
        (next.lock.as_ref(), names(&next)),
        (None, vec!["x", "h", "a"])
    );
    assert_eq!(next.records.participants["h"].grant, None);
    assert!(next.cut_off.is_empty());
}

#[test]
fn a_reclaim_that_was_cut_off_leaves_the_stale_holder_to_the_same_evidence() {
    let state = held(Kind::Leased, &["a"]);
    let stale = verdicts(Some(Verdict::STALE), &[]);
    let (next, _) = acquire(
        &state,
        &caller("a"),
        &bid(Kind::Leased),
        &stale,
        &rules(0.0),
    );
    let whole = committed(&state, &next, 0.0);
    // The lock file of the stale holder still stands; the new one has but its temporary name.
    let cut = MergeState {
        lock: state.lock.clone(),
        cut_off: vec!["a".to_owned()],
        ..whole
    };
    assert!(cut.holder_record().is_some());
    let next = settle(&cut, &Verdicts::default());
    assert_eq!(holder(&next).as_deref(), Some("h"));
    assert_eq!(names(&next), ["a"]);
    assert!(next.records.participants.contains_key("h"));
    let (_, admission) = acquire(&cut, &caller("a"), &bid(Kind::Leased), &stale, &rules(1.0));
    assert_eq!(
        granted(admission).fence,
        Some(9),
        "a fence is never used twice"
    );
}

#[test]
fn a_removed_lock_file_stays_removed_and_its_holder_loses_the_place() {
    for (kind, verdict) in [
        (Kind::Leased, Verdict::FRESH),
        (Kind::Plan, Verdict::FRESH),
        (Kind::Attached, Verdict::UNKNOWN),
        (Kind::Attached, Verdict::STALE),
    ] {
        let mut state = held(kind, &["a"]);
        state.lock = None;
        let next = settle(&state, &bereft("h", verdict));
        assert_eq!((next.lock.as_ref(), names(&next)), (None, vec!["a"]));
        assert!(!next.records.participants.contains_key("h"));
    }
}

#[test]
fn a_provably_present_holder_gets_its_lock_file_back() {
    let mut state = held(Kind::Attached, &["a"]);
    let whole = state.clone();
    state.lock = None;
    let seen = bereft("h", PRESENT);
    assert_eq!(settle(&state, &seen), whole);
    assert_eq!(view(&state, &seen), whole);
    // Nobody else gets it meanwhile, and it is not let go from outside.
    let (next, admission) = acquire(&state, &caller("a"), &bid(Kind::Leased), &seen, &rules(0.0));
    assert_eq!(waiting(admission).position, Some(1));
    assert_eq!(holder(&next).as_deref(), Some("h"));
    let (next, outcome) = release(&state, &caller("h"), &seen, &rules(0.0));
    assert_eq!(outcome, Release::HolderPresent("h".to_owned()));
    assert_eq!(holder(&next).as_deref(), Some("h"));
    let (_, outcome) = evict(&state, &caller("a"), &seen, &rules(0.0));
    assert_eq!(outcome, Eviction::Refused("h".to_owned(), Staleness::Fresh));
}

#[test]
fn a_verdict_on_a_holder_that_let_go_says_nothing_of_one_that_is_put_back() {
    let mut state = held(Kind::Leased, &["a"]);
    state.records.ending = ending("h", -60.0);
    let attached = holder_of(Kind::Attached, -90.0);
    state
        .records
        .participants
        .insert("p".to_owned(), std::sync::Arc::new(attached));
    let seen = Verdicts {
        holder: Some(Verdict::STALE),
        ..bereft("p", PRESENT)
    };
    let (next, admission) = acquire(&state, &caller("a"), &bid(Kind::Leased), &seen, &rules(0.0));
    assert!(matches!(admission, Admission::Blocked(_)));
    assert_eq!(holder(&next).as_deref(), Some("p"));
}

#[test]
fn another_program_s_lock_file_stands_against_a_present_holder() {
    let mut state = held(Kind::Attached, &["a"]);
    state.lock = Some(lock_of("other", stamp(-1.0)));
    let next = settle(&state, &bereft("h", PRESENT));
    assert_eq!(holder(&next).as_deref(), Some("other"));
    assert_eq!(names(&next), ["a"]);
    // The same id, taken anew by another program, is not what we recorded.
    state.lock = Some(lock_of("h", stamp(-10.0)));
    assert!(state.holder_record().is_none());
    let next = settle(&state, &bereft("h", PRESENT));
    assert_eq!(next.lock, state.lock);
    assert_eq!(next.records.participants["h"].grant, None);
}

#[test]
fn a_lock_file_that_is_provably_nobodys_is_no_match_for_a_present_holder() {
    let overwritten = |with: LockFile| MergeState {
        lock: Some(with),
        ..held(Kind::Attached, &["a"])
    };
    let garbage = LockFile {
        holder: Holder::Malformed("no id".to_owned()),
        ..lock_of("h", stamp(-1.0))
    };
    let whole = held(Kind::Attached, &["a"]);
    for lock in [garbage, lock_of("dead", stamp(-1.0))] {
        let state = overwritten(lock);
        let seen = Verdicts {
            holder: Some(Verdict::STALE),
            ..bereft("h", PRESENT)
        };
        assert_eq!(settle(&state, &seen), whole);
        let (next, admission) =
            acquire(&state, &caller("a"), &bid(Kind::Leased), &seen, &rules(0.0));
        assert_eq!(waiting(admission).position, Some(1));
        assert_eq!(holder(&next).as_deref(), Some("h"));
        // One that may be somebody's stands, and so does one against a holder that is gone.
        for (holder_verdict, bereft_verdict) in [
            (Verdict::UNKNOWN, PRESENT),
            (Verdict::FRESH, PRESENT),
            (Verdict::STALE, Verdict::STALE),
            (Verdict::STALE, Verdict::UNKNOWN),
        ] {
            let seen = Verdicts {
                holder: Some(holder_verdict),
                ..bereft("h", bereft_verdict)
            };
            assert_eq!(settle(&state, &seen).lock, state.lock);
        }
    }
}

#[test]
fn a_later_entry_of_the_same_id_survives_the_end_of_its_grant() {
    let mut state = held(Kind::Leased, &["a"]);
    state.lock = None;
    state.queue.remove(0);
    state.queue.push(Entry::new(&id("h"), NOW));
    let next = settle(&state, &bereft("h", Verdict::STALE));
    assert_eq!(names(&next), ["a", "h"]);
}

#[test]
fn records_of_those_who_neither_hold_nor_wait_are_dropped() {
    let mut state = held(Kind::Leased, &["a"]);
    let gone = record(Kind::Leased, 0.0);
    state
        .records
        .participants
        .insert("z".to_owned(), std::sync::Arc::new(gone));
    let next = settle(&state, &Verdicts::default());
    let left: Vec<&str> = next
        .records
        .participants
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(left, ["a", "h"]);
}
