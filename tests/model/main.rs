//! A model of the merge lock: random acquires, polls, releases, processes that runners park before
//! they ask, commands that these become and that outlive their runners, deaths, recoveries, files
//! that vanish, another program that barges, clocks that advance, and crashes and failures between
//! any two steps of a commit. What must hold is checked against the model's own idea of who lives and who
//! holds, never against the verdicts that the rules themselves use. `PROPTEST_CASES=20000` makes
//! a long run of it.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::needless_for_each,
    clippy::unwrap_used,
    reason = "a model fails by panicking"
)]

mod disk;
mod truth;

use proptest::prelude::*;

use crate::truth::{Model, Step};

fn step() -> impl Strategy<Value = Step> {
    let who = 0..truth::ACTORS;
    let runner = prop::sample::select(truth::runners());
    // A commit has six steps; most are not cut off.
    let crash = prop_oneof![6 => Just(None), 1 => (1_u8..=5).prop_map(Some)];
    let rarely = prop::bool::weighted(0.1);
    let perhaps = prop::bool::weighted(0.5);
    let mostly = prop::bool::weighted(0.85);
    let seconds = prop::sample::select(vec![1.0, 5.0, 30.0, 125.0, 310.0, 1000.0]);
    prop_oneof![
        12 => (who.clone(), crash.clone(), rarely, mostly, perhaps)
            .prop_map(|(who, crash, barge, parks, survives)| {
                Step::Acquire { who, crash, barge, parks, survives }
            }),
        5 => (who.clone(), crash.clone()).prop_map(|(who, crash)| Step::Release { who, crash }),
        1 => (who.clone(), crash.clone()).prop_map(|(who, crash)| Step::Evict { who, crash }),
        1 => who.clone().prop_map(Step::Renew),
        1 => (who.clone(), crash.clone()).prop_map(|(who, crash)| Step::Leave { who, crash }),
        3 => runner.clone().prop_map(Step::Start),
        3 => (runner.clone(), crash.clone(), perhaps)
            .prop_map(|(who, crash, survives)| Step::Keep { who, crash, survives }),
        1 => runner.prop_map(Step::ChildEnds),
        2 => who.clone().prop_map(Step::Die),
        2 => who.clone().prop_map(Step::Live),
        1 => who.clone().prop_map(Step::ToggleWorktree),
        1 => who.prop_map(Step::ToggleHidden),
        1 => Just(Step::LockVanishes),
        1 => Just(Step::OtherTakes),
        1 => Just(Step::OtherDrops),
        1 => Just(Step::OtherQueues),
        4 => seconds.prop_map(Step::Advance),
    ]
}

proptest! {
    #[test]
    fn one_holder_first_come_first_served_and_nobody_starves(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut model = Model::new();
        for step in &steps {
            model.run(step);
        }
        model.everyone_gets_a_turn();
    }
}
