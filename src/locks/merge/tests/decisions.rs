//! Acquire, release, evict, renew: who gets what.

use super::*;

fn ask(state: &MergeState, name: &str, verdicts: &Verdicts, after: f64) -> (MergeState, Admission) {
    acquire(
        state,
        &caller(name),
        &bid(Kind::Leased),
        verdicts,
        &rules(after),
    )
}

#[test]
fn a_free_lock_is_granted_with_a_new_fence_and_the_entry_stays() {
    let mut state = free();
    state.records.fence = 41;
    let (next, admission) = ask(&state, "a", &Verdicts::default(), 0.0);
    let granted = granted(admission);
    assert_eq!(granted.action, Action::Acquired);
    assert_eq!(granted.fence, Some(42));
    assert_eq!(granted.expires_at, Some(NOW + TTL));
    assert_eq!(granted.reclaimed_from, None);
    assert_eq!(next.records.fence, 42);
    assert_eq!(
        (holder(&next).as_deref(), names(&next)),
        (Some("a"), vec!["a"])
    );
    let record = &next.records.participants["a"];
    assert_eq!(record.grant.as_ref().map(|grant| grant.fence), Some(42));
    assert_eq!(record.queued_ts.to_bits(), next.queue[0].ts.to_bits());
}

#[test]
fn only_leases_have_an_end() {
    for kind in [Kind::Plan, Kind::Process, Kind::Attached] {
        let (next, admission) = acquire(
            &free(),
            &caller("a"),
            &bid(kind),
            &Verdicts::default(),
            &rules(0.0),
        );
        assert_eq!(granted(admission).expires_at, None);
        let bounds_doubt = kind == Kind::Attached;
        let lease = next.records.participants["a"].lease;
        assert_eq!(lease.is_some(), bounds_doubt);
    }
}

#[test]
fn a_waiter_joins_at_the_end_and_asking_again_keeps_its_place() {
    let state = held(Kind::Leased, &["a"]);
    let alive = verdicts(Some(Verdict::FRESH), &[("a", Verdict::FRESH)]);
    let (next, admission) = ask(&state, "b", &alive, 0.0);
    let first = waiting(admission);
    assert_eq!((first.position, first.poll), (Some(2), Poll::Joined));
    assert_eq!(names(&next), ["h", "a", "b"]);
    let (after, admission) = ask(&next, "b", &alive, 1.0);
    let second = waiting(admission);
    assert_eq!((second.position, second.poll), (Some(2), Poll::Repeated));
    assert_eq!(after, next, "a poll within the grain writes nothing");
    let (after, _) = ask(&next, "b", &alive, 10.0);
    assert_eq!(after.queue, next.queue, "a poll never rewrites the queue");
    assert_eq!(after.records.participants["b"].ticket, moment(10.0));
}

#[test]
fn a_poll_of_another_kind_is_recorded_at_once() {
    let state = held(Kind::Leased, &["a"]);
    let alive = verdicts(Some(Verdict::FRESH), &[]);
    for changed in [
        Bid {
            insists: true,
            ..bid(Kind::Plan)
        },
        bid(Kind::Process),
        Bid {
            ttl: 5.0,
            insists: true,
            ..bid(Kind::Leased)
        },
        Bid {
            reason: Some("why".to_owned()),
            ..bid(Kind::Leased)
        },
    ] {
        let (next, _) = acquire(&state, &caller("a"), &changed, &alive, &rules(0.0));
        let record = &next.records.participants["a"];
        assert_eq!(record.kind, changed.kind);
        assert_eq!(record.reason, changed.reason);
        assert_eq!(record.ticket, moment(0.0));
        assert_eq!(record.queued_ts.to_bits(), (NOW - 500.0).to_bits());
    }
}

#[test]
fn a_poll_that_says_nothing_keeps_what_was_said_before() {
    let state = held(Kind::Leased, &["a"]);
    let alive = verdicts(Some(Verdict::FRESH), &[]);
    let (next, _) = acquire(&state, &caller("a"), &bid(Kind::Plan), &alive, &rules(0.0));
    assert_eq!(next.records.participants["a"].kind, Kind::Leased);
    let free = MergeState {
        lock: None,
        queue: queue_of(&["a"]),
        ..next
    };
    let (next, _) = acquire(&free, &caller("a"), &bid(Kind::Plan), &alive, &rules(0.0));
    let record = &next.records.participants["a"];
    assert_eq!((record.kind, record.lease.is_some()), (Kind::Leased, true));
}

#[test]
fn an_unrecorded_holder_is_adopted_only_where_it_can_be_no_plan() {
    let unrecorded = |keeps_plans, insists| {
        let mut state = held(Kind::Leased, &[]);
        state.records.participants.clear();
        let rules = Rules {
            keeps_plans,
            ..rules(0.0)
        };
        let bid = Bid {
            insists,
            ..bid(Kind::Leased)
        };
        let fresh = verdicts(Some(Verdict::FRESH), &[]);
        let (next, _) = acquire(&state, &caller("h"), &bid, &fresh, &rules);
        next.records.participants.contains_key("h")
    };
    assert!(unrecorded(false, false));
    assert!(unrecorded(true, true));
    assert!(
        !unrecorded(true, false),
        "its plan vouches for longer than a lease"
    );
}

#[test]
fn a_fresh_or_unknown_holder_blocks_the_front() {
    for verdict in [Verdict::FRESH, Verdict::UNKNOWN, PRESENT] {
        let state = held(Kind::Leased, &["a"]);
        let (next, admission) = ask(&state, "a", &verdicts(Some(verdict), &[]), 0.0);
        let waiting = waiting(admission);
        assert_eq!(waiting.position, Some(1));
        assert!(!waiting.mid_recovery && !waiting.not_local);
        assert_eq!(holder(&next).as_deref(), Some("h"));
    }
}

#[test]
fn only_the_front_hears_that_the_holder_s_worktree_is_live() {
    let recovering = Verdict {
        mid_recovery: true,
        ..Verdict::FRESH
    };
    let state = held(Kind::Plan, &["a", "b"]);
    let all = verdicts(Some(recovering), &[("a", Verdict::FRESH)]);
    assert!(waiting(ask(&state, "a", &all, 0.0).1).mid_recovery);
    let behind = waiting(ask(&state, "b", &all, 0.0).1);
    assert_eq!((behind.mid_recovery, behind.position), (false, Some(2)));
}

#[test]
fn the_front_reclaims_a_stale_holder_whose_record_stays_until_its_file_is_gone() {
    let state = held(Kind::Leased, &["a", "b"]);
    let all = verdicts(
        Some(Verdict::STALE),
        &[("a", Verdict::FRESH), ("b", Verdict::FRESH)],
    );
    let (untouched, admission) = ask(&state, "b", &all, 0.0);
    assert_eq!(waiting(admission).position, Some(2));
    assert_eq!(holder(&untouched).as_deref(), Some("h"));
    let (next, admission) = ask(&state, "a", &all, 0.0);
    let granted = granted(admission);
    assert_eq!(granted.reclaimed_from.as_deref(), Some("h"));
    assert_eq!(granted.fence, Some(8));
    assert_eq!(names(&next), ["a", "b"]);
    assert!(next.records.participants["h"].grant.is_some());
    let after = settle(&committed(&state, &next, 0.0), &Verdicts::default());
    assert!(!after.records.participants.contains_key("h"));
    assert_eq!(holder(&after).as_deref(), Some("a"));
}

#[test]
fn nothing_is_reclaimed_where_that_is_not_safe() {
    let state = held(Kind::Leased, &["a"]);
    let stale = verdicts(Some(Verdict::STALE), &[]);
    let far = Rules {
        may_reclaim: false,
        keeps_plans: false,
        ..rules(0.0)
    };
    let (next, admission) = acquire(&state, &caller("a"), &bid(Kind::Leased), &stale, &far);
    assert!(waiting(admission).not_local);
    assert_eq!(holder(&next).as_deref(), Some("h"));
    let (next, eviction) = evict(&state, &caller("a"), &stale, &far);
    assert_eq!(
        eviction,
        Eviction::Refused("h".to_owned(), Staleness::Stale)
    );
    assert_eq!(holder(&next).as_deref(), Some("h"));
}

#[test]
fn dead_waiters_are_pruned_and_no_others() {
    let state = held(Kind::Leased, &["a", "b", "c", "d", "e"]);
    let recovering = Verdict {
        mid_recovery: true,
        ..Verdict::FRESH
    };
    let all = verdicts(
        Some(Verdict::FRESH),
        &[
            ("h", Verdict::STALE),
            ("a", Verdict::STALE),
            ("b", Verdict::UNKNOWN),
            ("c", recovering),
            ("d", Verdict::FRESH),
            ("e", Verdict::STALE),
        ],
    );
    // Neither the holder's entry nor the caller's own is ever pruned.
    let (next, admission) = ask(&state, "e", &all, 0.0);
    assert_eq!(names(&next), ["h", "b", "c", "d", "e"]);
    assert_eq!(waiting(admission).position, Some(4));
    let (next, _) = ask(&state, "a", &all, 0.0);
    assert_eq!(names(&next), ["h", "a", "b", "c", "d"]);
    let (next, _) = release(&state, &caller("z"), &all, &rules(0.0));
    assert_eq!(names(&next), ["h", "b", "c", "d"]);
    let (next, _) = evict(&state, &caller("z"), &all, &rules(0.0));
    assert_eq!(names(&next), ["h", "b", "c", "d"]);
}

#[test]
fn a_malformed_holder_is_reclaimed_and_one_being_born_is_not() {
    let mut state = held(Kind::Leased, &["a"]);
    state.queue.remove(0);
    state.lock.as_mut().expect("held").holder = Holder::Malformed("../x".to_owned());
    let (next, admission) = ask(&state, "a", &verdicts(Some(Verdict::STALE), &[]), 0.0);
    assert_eq!(granted(admission).reclaimed_from.as_deref(), Some("../x"));
    assert_eq!(holder(&next).as_deref(), Some("a"));
    state.lock.as_mut().expect("held").holder = Holder::Unborn;
    let unborn = verdicts(Some(Verdict::UNKNOWN), &[]);
    let (next, admission) = ask(&state, "a", &unborn, 0.0);
    assert_eq!(waiting(admission).position, Some(1));
    assert_eq!(next.lock, state.lock);
    let (_, eviction) = evict(&state, &caller("a"), &unborn, &rules(0.0));
    assert!(matches!(eviction, Eviction::Refused(_, Staleness::Unknown)));
}

#[test]
fn a_holder_that_asks_again_renews_and_leaves_the_queue_alone() {
    let state = held(Kind::Leased, &["a"]);
    let all = verdicts(Some(Verdict::FRESH), &[("a", Verdict::STALE)]);
    let (next, admission) = ask(&state, "h", &all, 5.0);
    let granted = granted(admission);
    assert_eq!(granted.action, Action::AlreadyHeld);
    assert_eq!(granted.fence, Some(7));
    assert_eq!(granted.since, Some(NOW - 60.0));
    assert_eq!(granted.expires_at, Some(NOW + 5.0 + TTL));
    assert_eq!(next.queue, state.queue);
    assert_eq!(next.lock, state.lock);
    assert_eq!(next.records.fence, 7);
}

#[test]
fn what_vouches_for_a_holder_changes_only_when_it_insists() {
    let state = held(Kind::Process, &[]);
    let fresh = verdicts(Some(Verdict::FRESH), &[]);
    let (next, _) = ask(&state, "h", &fresh, 0.0);
    assert_eq!(next.records.participants["h"].kind, Kind::Process);
    let insisting = Bid {
        insists: true,
        ..bid(Kind::Leased)
    };
    let (next, admission) = acquire(&state, &caller("h"), &insisting, &fresh, &rules(0.0));
    let record = &next.records.participants["h"];
    assert_eq!((record.kind, &record.process), (Kind::Leased, &None));
    assert_eq!(granted(admission).expires_at, Some(NOW + TTL));
}

#[test]
fn an_unrecorded_holder_that_asks_again_is_recorded_with_a_new_fence() {
    let mut state = held(Kind::Leased, &["a"]);
    state.records.participants.remove("h");
    let fresh = verdicts(Some(Verdict::FRESH), &[("a", Verdict::FRESH)]);
    let (next, admission) = ask(&state, "h", &fresh, 0.0);
    let granted = granted(admission);
    assert_eq!(
        (granted.fence, granted.action),
        (Some(8), Action::AlreadyHeld)
    );
    assert_eq!(granted.since, Some(NOW - 60.0));
    assert!(next.holder_record().is_some());
    let (again, _) = ask(&next, "h", &fresh, 0.0);
    assert_eq!(again, next);
    // A plan needs no record of ours.
    let (next, admission) = acquire(&state, &caller("h"), &bid(Kind::Plan), &fresh, &rules(0.0));
    assert!(matches!(admission, Admission::Admitted(_)));
    assert!(next.holder_record().is_none());
}

#[test]
fn a_release_frees_the_lock_and_leaves_the_queue() {
    let state = held(Kind::Leased, &["a"]);
    let fresh = verdicts(Some(Verdict::FRESH), &[("a", Verdict::FRESH)]);
    let (next, outcome) = release(&state, &caller("h"), &fresh, &rules(0.0));
    assert_eq!(outcome, Release::Released);
    assert_eq!((next.lock.as_ref(), names(&next)), (None, vec!["a"]));
    assert!(next.records.idle.is_some(), "somebody waits from now on");
    let (next, _) = release(&held(Kind::Leased, &[]), &caller("h"), &fresh, &rules(0.0));
    assert!(next.records.idle.is_none(), "nobody waits");
}

#[test]
fn a_release_by_another_only_leaves_the_queue() {
    let state = held(Kind::Leased, &["a", "b"]);
    let all = verdicts(Some(Verdict::STALE), &[("b", Verdict::FRESH)]);
    let (next, outcome) = release(&state, &caller("a"), &all, &rules(0.0));
    assert_eq!(
        outcome,
        Release::Noop {
            holder: Some("h".to_owned()),
            left: true
        }
    );
    assert_eq!(names(&next), ["h", "b"]);
    assert_eq!(next.lock, state.lock);
    let (next, outcome) = release(&free(), &caller("a"), &Verdicts::default(), &rules(0.0));
    assert_eq!(
        (next, outcome),
        (
            free(),
            Release::Noop {
                holder: None,
                left: false
            }
        )
    );
}

#[test]
fn an_attached_holder_is_released_from_outside_only_once_it_is_gone() {
    let state = held(Kind::Attached, &[]);
    let present = verdicts(Some(PRESENT), &[]);
    let (next, outcome) = release(&state, &caller("h"), &present, &rules(0.0));
    assert_eq!(outcome, Release::HolderPresent("h".to_owned()));
    assert_eq!(next.lock, state.lock);
    for verdict in [Verdict::STALE, Verdict::UNKNOWN] {
        let all = verdicts(Some(verdict), &[]);
        let (_, outcome) = release(&state, &caller("h"), &all, &rules(0.0));
        assert_eq!(outcome, Release::Released);
    }
}

#[test]
fn only_a_provably_gone_holder_is_evicted() {
    for verdict in [Verdict::FRESH, Verdict::UNKNOWN, PRESENT] {
        let state = held(Kind::Leased, &["a"]);
        let all = verdicts(Some(verdict), &[]);
        let (next, outcome) = evict(&state, &caller("z"), &all, &rules(0.0));
        assert_eq!(
            outcome,
            Eviction::Refused("h".to_owned(), verdict.staleness)
        );
        assert_eq!(next.lock, state.lock);
        assert_eq!(names(&next), ["h", "a"]);
    }
    let state = held(Kind::Leased, &["a"]);
    let stale = verdicts(Some(Verdict::STALE), &[("a", Verdict::FRESH)]);
    let (next, outcome) = evict(&state, &caller("z"), &stale, &rules(0.0));
    assert_eq!(outcome, Eviction::Evicted("h".to_owned()));
    assert_eq!((next.lock.as_ref(), names(&next)), (None, vec!["a"]));
    let (_, outcome) = evict(&free(), &caller("z"), &Verdicts::default(), &rules(0.0));
    assert_eq!(outcome, Eviction::NothingHeld);
}

#[test]
fn a_renewal_is_of_the_holder_s_lease_alone() {
    let state = held(Kind::Leased, &[]);
    let fresh = verdicts(Some(Verdict::FRESH), &[]);
    let attempt =
        |state: &MergeState, name, bid: &Bid| renew(state, &caller(name), bid, &fresh, &rules(5.0));
    let longer = Bid {
        insists: true,
        ttl: 50.0,
        ..bid(Kind::Leased)
    };
    let (next, outcome) = attempt(&state, "h", &bid(Kind::Leased));
    assert_eq!(outcome, Renewal::Renewed(NOW + 5.0 + TTL));
    assert_eq!(next.records.fence, 7);
    let (next, outcome) = attempt(&next, "h", &longer);
    assert_eq!(outcome, Renewal::Renewed(NOW + 55.0));
    let (next, outcome) = attempt(&next, "h", &bid(Kind::Leased));
    assert_eq!(outcome, Renewal::Renewed(NOW + 55.0), "its length is kept");
    let (_, outcome) = attempt(&next, "a", &bid(Kind::Leased));
    assert_eq!(outcome, Renewal::Lost(Some("h".to_owned())));
    let (_, outcome) = attempt(&free(), "a", &bid(Kind::Leased));
    assert_eq!(outcome, Renewal::Lost(None));
    for kind in [Kind::Plan, Kind::Process, Kind::Attached] {
        let (_, outcome) = attempt(&held(kind, &[]), "h", &bid(kind));
        assert_eq!(outcome, Renewal::NoLease, "{kind:?}");
    }
}

/// A decision, run again by the same caller on what it committed, changes nothing.
#[test]
fn a_decision_run_again_on_its_own_result_changes_nothing() {
    let fresh = verdicts(Some(Verdict::FRESH), &[("b", Verdict::FRESH)]);
    let stale = verdicts(Some(Verdict::STALE), &[("b", Verdict::STALE)]);
    for kind in [Kind::Plan, Kind::Process, Kind::Leased, Kind::Attached] {
        for start in [free(), held(Kind::Leased, &["a", "b"])] {
            for seen in [&fresh, &stale] {
                type Decision<'a> = &'a dyn Fn(&MergeState, &Verdicts) -> MergeState;
                let (who, bid, rules) = (caller("a"), bid(kind), rules(0.0));
                let decisions: [Decision<'_>; 4] = [
                    &|state, seen| acquire(state, &who, &bid, seen, &rules).0,
                    &|state, seen| release(state, &who, seen, &rules).0,
                    &|state, seen| evict(state, &who, seen, &rules).0,
                    &|state, seen| renew(state, &who, &bid, seen, &rules).0,
                ];
                for decide in decisions {
                    let once = committed(&start, &decide(&start, seen), 0.0);
                    // The records of those who left go at the next look.
                    let once = settle(&once, &Verdicts::default());
                    let now = verdicts(
                        once.lock.as_ref().map(|_| match holder(&once).as_deref() {
                            Some("a") => Verdict::FRESH,
                            _ => seen.holder.unwrap_or(Verdict::FRESH),
                        }),
                        &[],
                    );
                    let twice = committed(&once, &decide(&once, &now), 0.0);
                    assert_eq!(twice, once, "{kind:?} {seen:?} {start:?}");
                }
            }
        }
    }
}

#[test]
fn one_that_leaves_gives_up_its_own_place_and_nobody_else_s() {
    let waits = |presence: &str| Caller {
        presence: Some(presence.to_owned()),
        ..caller("a")
    };
    let fresh = verdicts(Some(Verdict::FRESH), &[("a", Verdict::FRESH)]);
    let state = held(Kind::Leased, &[]);
    let (state, _) = acquire(&state, &waits("x"), &bid(Kind::Leased), &fresh, &rules(0.0));
    assert_eq!(names(&state), ["h", "a"]);
    let (next, ()) = leave(&state, &waits("y"), &fresh, &rules(0.0));
    assert_eq!(next, state, "another process waits there");
    let (next, ()) = leave(&state, &waits("x"), &fresh, &rules(0.0));
    assert_eq!(names(&next), ["h"]);
    assert_eq!(next.lock, state.lock);
    // The same id holds the lock, without a process.
    let holds = Caller {
        id: caller("h").id,
        ..waits("x")
    };
    let (next, ()) = leave(&state, &holds, &fresh, &rules(0.0));
    assert_eq!(next, state);
}
