//! What no combination of findings may lead to.

use proptest::prelude::*;

use super::*;

fn evidence() -> impl Strategy<Value = Evidence> {
    prop_oneof![Just(Alive), Just(Absent), Just(Unobservable)]
}

fn kind() -> impl Strategy<Value = Option<Kind>> {
    prop_oneof![
        Just(None),
        Just(Some(Kind::Plan)),
        Just(Some(Kind::Attached)),
        Just(Some(Kind::Process)),
        Just(Some(Kind::Leased)),
    ]
}

proptest! {
    #[test]
    fn stale_takes_every_look_to_show_absence(
        found in prop::array::uniform5(evidence()),
        kind in kind(),
        holder in any::<bool>(),
        elapsed in 0.0..10_000.0,
        other_boot in any::<bool>(),
    ) {
        let names = ["keeps_plans", "plan", "worktree", "process", "presence"];
        let shows: Vec<_> = names.into_iter().zip(found).collect();
        let world = Fake::showing(&shows);
        let role = if holder { Role::Holder } else { Role::Waiter };
        let mut terms = later(elapsed);
        if other_boot {
            terms = at(THEN.wall + elapsed, 1e9, machine("next boot", "machine"));
        }
        let record = kind.map(record);
        let verdict = verdict(role, record.as_ref(), &terms, &world);
        let asked = world.asked.borrow();
        let answers = asked.iter().map(|what| world.shows[what]);
        let own: Vec<Evidence> = asked
            .iter()
            .filter(|what| **what != "keeps_plans")
            .map(|what| world.shows[what])
            .collect();
        match verdict.staleness {
            Staleness::Stale => {
                let bounded = kind == Some(Kind::Attached) && elapsed >= DEFAULT_TTL;
                prop_assert!(own.iter().all(|e| *e == Absent || (bounded && *e == Unobservable)));
                prop_assert!(asked.contains(&"keeps_plans") == kind.is_none());
                if matches!(kind, None | Some(Kind::Plan)) && !own.is_empty() {
                    prop_assert_eq!(own.len(), 2);
                }
                prop_assert!(!verdict.present && !verdict.mid_recovery);
                if kind == Some(Kind::Leased) {
                    prop_assert!(!other_boot, "that clock proves nothing");
                }
            }
            Staleness::Unknown => prop_assert!(
                other_boot || answers.clone().any(|e| e == Unobservable)
            ),
            Staleness::Fresh => {}
        }
        if answers.clone().any(|e| e == Unobservable) && kind != Some(Kind::Attached) {
            prop_assert_eq!(verdict.staleness, Staleness::Unknown);
        }
        prop_assert!(!verdict.mid_recovery || verdict.staleness == Staleness::Fresh);
        prop_assert!(!verdict.present || kind == Some(Kind::Attached));
    }
}
