//! Participants of which there is no record.

use super::*;

#[test]
fn what_is_not_recorded_is_a_plan_where_plans_are_kept() {
    for role in [Role::Holder, Role::Waiter] {
        for (shows, expected) in [
            (vec![("plan", Alive)], Verdict::FRESH),
            (vec![("plan", Unobservable)], Verdict::UNKNOWN),
            (vec![("plan", Absent), ("worktree", Alive)], MID_RECOVERY),
            (vec![("plan", Absent), ("worktree", Absent)], Verdict::STALE),
        ] {
            let mut shows = shows;
            shows.push(("keeps_plans", Alive));
            let found = verdict(role, None, &later(1.0), &Fake::showing(&shows));
            assert_eq!(found, expected, "{role:?} {shows:?}");
        }
    }
}

#[test]
fn what_is_not_recorded_is_leased_from_its_file_s_time_where_no_plans_are_kept() {
    for role in [Role::Holder, Role::Waiter] {
        let found = |elapsed| {
            let world = Fake::showing(&[("keeps_plans", Absent)]);
            verdict(role, None, &later(elapsed), &world)
        };
        assert_eq!(found(DEFAULT_TTL - 1.0), Verdict::FRESH, "{role:?}");
        assert_eq!(found(DEFAULT_TTL), Verdict::STALE, "{role:?}");
        // A file's time is wall time, whatever the boot clock says.
        let world = Fake::showing(&[("keeps_plans", Absent)]);
        let terms = at(THEN.wall + 10.0, 9e9, machine("boot", "machine"));
        assert_eq!(verdict(role, None, &terms, &world), Verdict::FRESH);
    }
}

#[test]
fn whether_plans_are_kept_must_be_seen() {
    for role in [Role::Holder, Role::Waiter] {
        for elapsed in [0.0, 1e9] {
            let world = Fake::showing(&[("keeps_plans", Unobservable)]);
            let found = verdict(role, None, &later(elapsed), &world);
            assert_eq!(found, Verdict::UNKNOWN, "{role:?} {elapsed}");
        }
    }
}

#[test]
fn a_holder_from_before_our_records_were_lost_is_unknown_for_the_default_lease() {
    let id = PlanId::parse("alpha").expect("a plan id");
    let found = |role, lost_at, terms: &Terms| {
        let subject = Subject {
            id: Some(&id),
            role,
            record: None,
            seen_at: THEN.wall,
            closely: true,
            records_lost_at: Some(lost_at),
        };
        let gone = [
            ("keeps_plans", Alive),
            ("plan", Absent),
            ("worktree", Absent),
        ];
        judge(&subject, terms, &Fake::showing(&gone))
    };
    let (before, at_once) = (THEN.wall - 1.0, THEN.wall);
    let running = later(DEFAULT_TTL - 1.0);
    assert_eq!(found(Role::Holder, at_once, &running), Verdict::UNKNOWN);
    assert_eq!(found(Role::Holder, before, &running), Verdict::STALE);
    assert_eq!(
        found(Role::Holder, at_once, &later(DEFAULT_TTL)),
        Verdict::STALE
    );
    // A place in the queue is lost with the records; only the lock itself must not be.
    assert_eq!(found(Role::Waiter, at_once, &running), Verdict::STALE);
    // A clock that cannot be compared proves no end.
    let nowhere = at(THEN.wall + 1e9, 1.0, Host::default());
    assert_eq!(found(Role::Holder, at_once, &nowhere), Verdict::UNKNOWN);
}
