//! Everyone is judged in the world of its own project, as closely as it matters.

use std::cell::RefCell;

use super::*;
use crate::identity::PlanId;
use crate::liveness::{Evidence, Terms, World};
use crate::sys::host::Host;
use crate::sys::process::ProcessId;

/// Plans live in `/p`; every presence is held. Remembers what was looked for.
#[derive(Default)]
struct Neighbours {
    root: RefCell<Option<String>>,
    presences: RefCell<Vec<String>>,
}

impl World for Neighbours {
    fn keeps_plans(&self) -> Evidence {
        Evidence::Alive
    }
    fn plan(&self, _: &PlanId) -> Evidence {
        match self.root.borrow().as_deref() {
            Some(ROOT) => Evidence::Alive,
            _ => Evidence::Absent,
        }
    }
    fn worktree(&self, _: &PlanId) -> Evidence {
        Evidence::Absent
    }
    fn process(&self, _: &ProcessId, _: &Host) -> Evidence {
        Evidence::Absent
    }
    fn presence(&self, name: &str, _: &Host) -> Evidence {
        self.presences.borrow_mut().push(name.to_owned());
        Evidence::Alive
    }
}

impl Projects for Neighbours {
    fn is_there(&self, root: &Path) -> Evidence {
        match root.to_str() {
            Some("/gone") => Evidence::Absent,
            Some("/hidden") => Evidence::Unobservable,
            _ => Evidence::Alive,
        }
    }
    fn with_world(&self, root: Option<&Path>, look: &mut dyn FnMut(&dyn World)) {
        let root = root.map_or(ROOT.to_owned(), |root| root.display().to_string());
        *self.root.borrow_mut() = Some(root);
        look(self);
    }
}

fn judged(state: &BuildState, who: Option<&Caller>, slots: usize) -> (Verdicts, Vec<String>) {
    let terms = Terms {
        now: rules(2, 0.0).now,
        default_ttl: TTL,
        ticket_ttl: 900.0,
    };
    let world = Neighbours::default();
    let verdicts = state.judge(who, Path::new(ROOT), slots, &terms, &world);
    (verdicts, world.presences.into_inner())
}

#[test]
fn each_is_judged_in_its_own_project() {
    let plan = ours("a", record("a", Kind::Plan, -5.0));
    for (root, expected) in [
        (Some(ROOT), Verdict::FRESH),
        (None, Verdict::FRESH),
        (Some("/q"), Verdict::STALE),
        (Some("/gone"), Verdict::STALE),
        (Some("/hidden"), Verdict::UNKNOWN),
    ] {
        for mut entry in [foreign("a"), plan.clone()] {
            entry.project_root = root.map(str::to_owned);
            for state in [
                queue(vec![entry.clone()], Vec::new()),
                queue(Vec::new(), vec![entry.clone()]),
            ] {
                let (verdicts, _) = judged(&state, None, 1);
                assert_eq!(verdicts.0["a:1"], expected, "{root:?} {entry:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_read_proves_nothing_and_what_is_no_id_is_dead() {
    let mut odd = foreign("../A");
    odd.record = Recorded::Unreadable;
    let state = queue(vec![odd, foreign("../B")], Vec::new());
    let (verdicts, _) = judged(&state, None, 1);
    assert_eq!(verdicts.0["../A:1"], Verdict::UNKNOWN);
    assert_eq!(verdicts.0["../B:1"], Verdict::STALE);
}

#[test]
fn of_two_with_one_id_only_what_is_true_of_both_is_known() {
    let mut elsewhere = foreign("a");
    elsewhere.project_root = Some("/gone".to_owned());
    let state = queue(vec![foreign("a")], vec![elsewhere]);
    let (verdicts, _) = judged(&state, None, 1);
    assert_eq!(verdicts.0["a:1"], Verdict::UNKNOWN);
}

#[test]
fn who_stands_far_behind_is_not_looked_at_but_for_the_caller() {
    let state = queue(
        Vec::new(),
        vec![waiting("a"), waiting("b"), waiting("c"), waiting("d")],
    );
    let (verdicts, seen) = judged(&state, Some(&caller("d")), 1);
    // Each of them goes by two slots.
    assert_eq!(seen, ["a.presence", "b.presence", "d.presence"]);
    assert_eq!(verdicts.0["a:1"], PRESENT);
    assert_eq!(verdicts.0["c:1"], Verdict::FRESH);
    let (_, seen) = judged(&state, None, 3);
    assert_eq!(seen, ["a.presence", "b.presence", "c.presence"]);
    let mut left = state;
    left.waiting[2]
        .record
        .known_mut()
        .expect("a record")
        .who
        .inferred = true;
    let (_, seen) = judged(&left, Some(&newcomer("n", "n.presence")), 1);
    assert_eq!(seen, ["a.presence", "b.presence", "c.presence"]);
}

#[test]
fn one_that_did_not_claim_its_slot_is_believed_like_a_waiter() {
    let unclaimed = active(asking("a"), 1, -5.0, false);
    let (verdicts, _) = judged(&queue(vec![unclaimed], Vec::new()), None, 1);
    assert_eq!(verdicts.0["a:1"], Verdict::FRESH);
    let silent = active(asking("a"), 1, -1000.0, false);
    let (verdicts, _) = judged(&queue(vec![silent], Vec::new()), None, 1);
    assert_eq!(verdicts.0["a:1"], Verdict::STALE);
}
