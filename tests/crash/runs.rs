//! Scenes of `run` and of waiting, and what must hold after a call was cut off in them: a command
//! runs once, and under the lock; whoever comes next is kept waiting by none but the living; and
//! nothing is left over, no process either.

use std::time::Duration;

use serde_json::json;

use crate::aftermath::{blocked, in_turn, let_go, nothing_is_left};
use crate::common::DEADLINE;
use crate::common::fixture::waiting;
use crate::common::turns::{records, wait_until_queued, waits_for};
use crate::scene::{Family, Scene, Stage, setup};

/// How soon the lock is had that nobody living has: far sooner than anybody is passed over.
const SOON: Duration = Duration::from_secs(5);

/// A command that notes, as it begins and as it ends, for whom it runs and who has the lock.
const COMMAND: &str = r#"note() {
    echo "$1 $GIT_LOCKS_HOLDER $GIT_LOCKS_FENCE $(cat .plan/local/merge.lock)" >>.plan/notes
}
note begin
note end
"#;

fn with_command(stage: &Stage) {
    std::fs::write(stage.repo.join(".plan/command"), COMMAND).expect("a script");
}

/// A free lock is had for a command.
pub const RUN: Scene = Scene {
    family: Family::Merge,
    name: "run",
    set: with_command,
    args: "run -- sh .plan/command",
    after: after_run,
};

/// A place ahead of another is taken over that a killed run of the checkout left.
pub const TAKE_OVER: Scene = Scene {
    family: Family::Merge,
    name: "take over",
    set: |stage| {
        with_command(stage);
        setup(stage, &[("acquire --as hold", 0)]);
        let call = stage.env.call(&stage.repo);
        let mut killed = call.args("merge run -- sh .plan/command").start();
        wait_until_queued(&stage.repo, 1);
        killed.kill();
        setup(
            stage,
            &[("acquire --as wait", 75), ("release --as hold", 0)],
        );
    },
    args: "run -- sh .plan/command",
    after: after_take_over,
};

/// A run is out of time at once, and keeps its place.
pub const TIME_OUT: Scene = Scene {
    family: Family::Merge,
    name: "time out",
    set: |stage| {
        with_command(stage);
        setup(stage, &[("acquire --as hold", 0)]);
    },
    args: "run --wait=0 -- sh .plan/command",
    after: after_time_out,
};

/// A run goes ahead under a lock that its id holds detached.
pub const VISIT: Scene = Scene {
    family: Family::Merge,
    name: "visit",
    set: |stage| {
        with_command(stage);
        setup(stage, &[("acquire --as hold", 0)]);
    },
    args: "run --plan-id hold -- sh .plan/command",
    after: after_visit,
};

/// A free lock is acquired by one that would wait for it.
pub const ACQUIRE_WAITING: Scene = Scene {
    family: Family::Merge,
    name: "acquire that waits",
    set: |_| {},
    args: "acquire --wait --as me",
    after: |stage, turn| {
        is_over(stage);
        everybody_is_recorded(stage);
        crate::aftermath::acquire(stage, turn);
    },
};

/// What a command noted: for whom it ran, with which fence.
type Ran = (String, u64);

/// The commands that began, in order. Each of them ran under the lock of whom it ran for, beside
/// no other.
#[track_caller]
pub fn ran(stage: &Stage) -> Vec<Ran> {
    let notes = std::fs::read_to_string(stage.repo.join(".plan/notes")).unwrap_or_default();
    let mut begun: Vec<Ran> = Vec::new();
    let mut inside = None;
    for line in notes.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [what, id, fence, holder] = words[..] else {
            panic!("a command ran without the lock: {notes}");
        };
        assert_eq!(id, holder, "a command ran under another's lock: {notes}");
        let who = (id.to_owned(), fence.parse().expect("a fence"));
        if what == "begin" {
            assert_eq!(inside, None, "two commands ran at once: {notes}");
            begun.push(who.clone());
            inside = Some(who);
        } else {
            assert_eq!(inside, Some(who), "another command ended: {notes}");
            inside = None;
        }
    }
    begun
}

/// No process is left of a call that was cut off: what it had started ends by itself.
#[track_caller]
pub fn is_over(stage: &Stage) {
    waits_for("everybody's end", DEADLINE, || {
        stage.processes().is_empty().then_some(())
    });
}

/// Whoever has a place is on record: of others nobody could tell that they are gone.
#[track_caller]
fn everybody_is_recorded(stage: &Stage) {
    let queue = waiting(&stage.repo);
    if !queue.is_empty() {
        let records = records(&stage.repo);
        for id in &queue {
            assert!(records["participants"][id].is_object(), "{id} in {records}");
        }
    }
}

/// Acquires the lock, which nobody has but a command that is about to end, if anybody. Returns
/// the fence.
#[track_caller]
fn gets_it(stage: &Stage, id: &str) -> u64 {
    let args = format!("acquire --as {id}");
    let run = waits_for(&format!("{id} to get the lock"), SOON, || {
        Some(stage.quick(&args)).filter(|run| run.code == 0)
    });
    stage.held_by(id);
    run.json()["fence"].as_u64().expect("a fence")
}

/// The same for one that waits, and runs a command. Lets go.
#[track_caller]
fn runs(stage: &Stage, who: &str) -> Ran {
    let before = ran_so_far(stage);
    let call = stage.env.call(&stage.repo);
    let args = format!(
        "merge run {who} --wait={}s -- sh .plan/command",
        SOON.as_secs()
    );
    call.args(&args).run().exits(0);
    let ran = ran(stage);
    // One that was cut off may have begun meanwhile, before it.
    assert!(ran.len() > before, "it did not run");
    ran.last().expect("its note").clone()
}

fn ran_so_far(stage: &Stage) -> usize {
    let notes = std::fs::read_to_string(stage.repo.join(".plan/notes")).unwrap_or_default();
    let begun = notes.lines().filter(|line| line.starts_with("begin "));
    begun.count()
}

/// The ids in the queue that nobody named.
fn nameless(stage: &Stage) -> Vec<String> {
    let mut ids = waiting(&stage.repo);
    ids.retain(|id| id.starts_with("main-checkout-"));
    ids
}

/// The next call of the checkout has the place that was left, so that nothing is left any more.
#[track_caller]
fn ends_well(stage: &Stage, above: u64) {
    let (_, fence) = runs(stage, "");
    assert!(fence > above, "fence {fence} after {above}");
    is_over(stage);
    assert_eq!(waiting(&stage.repo), Vec::<String>::new());
    nothing_is_left(stage);
}

fn after_run(stage: &Stage, turn: usize) {
    let fence = if turn.is_multiple_of(2) {
        let fence = gets_it(stage, "other");
        is_over(stage);
        stage.held_by("other");
        everybody_is_recorded(stage);
        assert!(ran(stage).len() <= 1, "it ran twice");
        let_go(stage, "other");
        fence
    } else {
        let (id, fence) = runs(stage, "--as other");
        assert_eq!(id, "other");
        is_over(stage);
        everybody_is_recorded(stage);
        assert!(ran(stage).len() <= 2, "it ran twice");
        fence
    };
    grew(stage, fence);
    assert!(nameless(stage).len() <= 1);
    ends_well(stage, fence);
}

/// A grant's fence is above those of all before it.
#[track_caller]
fn grew(stage: &Stage, fence: u64) {
    assert!(fence > stage.fence_before(), "the fence did not grow");
    let before = ran(stage).into_iter().filter(|(id, _)| id != "other");
    for (id, number) in before {
        assert!(fence > number, "fence {fence} after {number} of {id}");
    }
}

fn after_take_over(stage: &Stage, turn: usize) {
    let left = nameless(stage);
    assert!(left.len() <= 1, "two have one place: {left:?}");
    everybody_is_recorded(stage);
    let mut queue = left;
    queue.push("wait".to_owned());
    // What it runs may end between two looks.
    let now = waiting(&stage.repo);
    assert!(now == queue || now == ["wait"], "{now:?}");
    if turn.is_multiple_of(2) {
        blocked(stage, "acquire --as late");
    }
    let fence = gets_it(stage, "wait");
    is_over(stage);
    stage.held_by("wait");
    grew(stage, fence);
    assert!(ran(stage).len() <= 1, "it ran twice");
    blocked(stage, "acquire --as late");
    everybody_is_recorded(stage);
    let_go(stage, "wait");
    let fence = gets_it(stage, "late");
    let_go(stage, "late");
    ends_well(stage, fence);
}

fn after_time_out(stage: &Stage, turn: usize) {
    is_over(stage);
    stage.held_by("hold");
    everybody_is_recorded(stage);
    assert!(nameless(stage).len() <= 1);
    assert_eq!(ran(stage), [], "it ran without the lock");
    assert_eq!(stage.fence_now(), stage.fence_before());
    if turn.is_multiple_of(2) {
        blocked(stage, "acquire --as late");
    }
    let_go(stage, "hold");
    let fence = gets_it(stage, "late");
    grew(stage, fence);
    let_go(stage, "late");
    ends_well(stage, fence);
}

fn after_visit(stage: &Stage, turn: usize) {
    is_over(stage);
    stage.held_by("hold");
    assert!(ran(stage).len() <= 1, "it ran twice");
    everybody_is_recorded(stage);
    if turn.is_multiple_of(2) {
        blocked(stage, "acquire --as wait");
    }
    let fence = stage.fence_before();
    stage
        .quick("acquire --as hold")
        .exits(0)
        .says(&[("action", json!("already_held")), ("fence", json!(fence))]);
    assert!(!records(&stage.repo)["participants"]["hold"].is_null());
    blocked(stage, "acquire --as wait");
    let_go(stage, "hold");
    in_turn(stage, &["wait"], "", fence);
}
