//! Waiters that are gone, silent, or succeeded by others: a slot goes to one that can use it.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::cast::{asks, kill, leaves, one, present, two, waiter};
use crate::common::fixture::plan;
use crate::common::turns::{Running, child_of, send, state, waits_for};
use crate::common::{DEADLINE, eventually};
use crate::stage::{AT_ONCE, CONT, KILL, STOP, Stage, TERM};

/// A `run` without an id, which waits for the only slot.
fn nameless(stage: &Stage, dir: &Path) -> Running {
    stage.starts_in(dir, "--max-slots 1", "log in $GIT_LOCKS_BUILD_ID")
}

#[test]
fn an_orphans_place_is_taken_over() {
    let stage = Stage::new();
    let queue = stage.builds();
    let there = stage.env.init("there");
    asks(&stage.env, &stage.repo, "keeper", 0);
    let mut orphan = nameless(&stage, &stage.repo);
    queue.wait_until_queued(1);
    asks(&stage.env, &stage.repo, "b", 75);
    kill(&queue, &mut orphan);
    let place = queue.list("waiting")[0].clone();
    // Not by one of another project, nor by one with a name.
    let mut other = nameless(&stage, &there);
    queue.wait_until_queued(3);
    asks(&stage.env, &stage.repo, "c", 75).says(&[("position", json!(4))]);
    assert_eq!(queue.list("waiting")[0]["id"], place["id"]);
    let mut heir = nameless(&stage, &stage.repo);
    let taken = waits_for("the place to be taken", DEADLINE, || {
        let first = queue.list("waiting")[0].clone();
        (first["id"] != place["id"]).then_some(first)
    });
    assert_eq!(taken["ts"], place["ts"]);
    assert_eq!(queue.list("waiting").len(), 4);
    leaves(&stage.env, &stage.repo, "keeper").says(&[("promoted", taken["id"].clone())]);
    heir.wait(AT_ONCE).exits(0);
    assert_eq!(
        stage.log(),
        [format!("in {}", taken["id"].as_str().expect("an id"))]
    );
    kill(&queue, &mut other);
    assert_eq!(present(&queue), 0);
}

#[test]
fn two_newcomers_never_take_the_same_place() {
    let stage = Stage::new();
    let queue = stage.builds();
    asks(&stage.env, &stage.repo, "keeper", 0);
    let mut orphan = nameless(&stage, &stage.repo);
    queue.wait_until_queued(1);
    kill(&queue, &mut orphan);
    let heirs: Vec<_> = (0..4).map(|_| nameless(&stage, &stage.repo)).collect();
    waits_for("all to wait", DEADLINE, || {
        (present(&queue) == 4 && queue.list("waiting").len() == 4).then_some(())
    });
    leaves(&stage.env, &stage.repo, "keeper");
    for mut heir in heirs {
        heir.wait(DEADLINE).exits(0);
    }
    let mut log = stage.log();
    log.sort();
    log.dedup();
    assert_eq!(log.len(), 4);
    queue.is_empty();
}

#[test]
fn a_waiter_that_was_killed_is_given_no_slot() {
    let (env, repo, there) = two();
    let queue = env.builds();
    asks(&env, &repo, "a", 0);
    let mut killed = waiter(&env, &there, "b");
    queue.wait_until_queued(1);
    let mut next = waiter(&env, &repo, "c");
    queue.wait_until_queued(2);
    kill(&queue, &mut killed);
    let id = queue.id_of("c");
    leaves(&env, &repo, "a").says(&[("promoted", json!(id))]);
    next.wait(AT_ONCE).exits(0);
    assert_eq!(queue.active(), ["c"]);
    // By name it finds its place again while its ticket runs.
    asks(&env, &there, "b", 75).says(&[("position", json!(1))]);
}

#[test]
fn one_that_is_killed_between_its_promotion_and_its_claim_holds_up_nobody() {
    let (env, repo, there) = two();
    let queue = env.builds();
    asks(&env, &repo, "a", 0);
    let mut killed = waiter(&env, &there, "b");
    queue.wait_until_queued(1);
    killed.says("waiting");
    let mut next = waiter(&env, &repo, "c");
    queue.wait_until_queued(2);
    // It stands still while it is given the slot.
    killed.signal(STOP);
    leaves(&env, &repo, "a").says(&[("promoted", json!(queue.id_of("b")))]);
    assert_eq!(queue.active(), ["b"]);
    kill(&queue, &mut killed);
    next.wait(DEADLINE).exits(0);
    assert_eq!(queue.active(), ["c"]);
}

/// A run that stands still while it is given the only slot, with what will become its command recorded.
fn stopped_when_given(stage: &Stage) -> Running {
    let queue = stage.builds();
    asks(&stage.env, &stage.repo, "keeper", 0);
    let run = stage.starts("--max-slots 1 --as b", "log in");
    queue.wait_until_queued(1);
    waits_for("what it will run to be recorded", DEADLINE, || {
        queue.entry("b")["git_locks"]["process"]["pid"].as_i64()
    });
    // Not while it is inside the guard.
    let guard = queue.take_kernel_lock();
    run.signal(STOP);
    eventually(DEADLINE, || state(run.pid()) == Some('T'));
    drop(guard);
    leaves(&stage.env, &stage.repo, "keeper").says(&[("promoted", json!(queue.id_of("b")))]);
    run
}

#[test]
fn a_run_that_a_signal_ends_before_its_command_began_gives_its_slot_back() {
    let stage = Stage::new();
    let mut run = stopped_when_given(&stage);
    run.signal(TERM);
    run.signal(CONT);
    run.wait(DEADLINE).exits(143);
    assert_eq!(stage.log(), [""; 0]);
    stage.builds().is_empty();
}

#[test]
fn a_guard_that_is_busy_before_the_command_begins_is_waited_for() {
    let stage = Stage::new();
    let queue = stage.builds();
    let mut run = stopped_when_given(&stage);
    // Another one is to be started, and recorded.
    let parked = child_of(run.pid());
    send(parked, KILL);
    eventually(DEADLINE, || state(parked) == Some('Z'));
    let guard = queue.take_kernel_lock();
    run.signal(CONT);
    let long = Instant::now() + Duration::from_secs(2);
    eventually(DEADLINE, || Instant::now() > long || !run.is_alive());
    drop(guard);
    run.wait(DEADLINE).exits(0);
    assert_eq!(stage.log(), ["in"]);
    queue.is_empty();
}

#[test]
fn a_slot_that_nobody_claims_goes_to_one_who_is_there() {
    let (env, repo, there) = two();
    let queue = env.builds();
    asks(&env, &repo, "a", 0);
    asks(&env, &there, "silent", 75);
    let call = |who: &str| {
        let call = env.call(&repo).env("GIT_LOCKS_PASS_OVER", "1s");
        call.args(&format!(
            "--format json build acquire --max-slots 1 --as {who}"
        ))
        .run()
    };
    leaves(&env, &repo, "a");
    assert_eq!(queue.active(), ["silent"]);
    eventually(DEADLINE, || call("b").code == 0);
    assert_eq!(
        (queue.active(), queue.waiting()),
        (vec!["b".into()], vec!["silent".into()])
    );
    // It keeps its place, and has its turn when it shows itself.
    asks(&env, &there, "silent", 75).says(&[("position", json!(1))]);
    leaves(&env, &repo, "b");
    asks(&env, &there, "silent", 0);
}

#[test]
fn a_waiter_whose_ticket_has_run_out_is_pruned() {
    let (env, repo) = one();
    let queue = env.builds();
    asks(&env, &repo, "a", 0);
    let short = |who: &str| {
        let call = env.call(&repo).env("GIT_LOCKS_TICKET_TTL", "1s");
        let args = format!("--format json build acquire --max-slots 1 --as {who}");
        call.args(&args).run().exits(75)
    };
    short("gone");
    eventually(DEADLINE, || short("c").get("position") == json!(1));
    assert_eq!(queue.waiting(), ["c"]);
}

#[test]
fn a_dead_waiter_of_ours_is_pruned_and_never_given_a_slot() {
    let (env, repo) = one();
    for id in ["a", "dead", "c"] {
        plan(&repo, id);
    }
    let queue = env.builds();
    asks(&env, &repo, "a", 0);
    asks(&env, &repo, "dead", 75);
    let c = asks(&env, &repo, "c", 75).get("id");
    std::fs::remove_dir(repo.join(".plan/local/plans/dead")).expect("its plan");
    leaves(&env, &repo, "a").says(&[("promoted", c)]);
    asks(&env, &repo, "c", 0);
    assert_eq!(
        (queue.active(), queue.waiting()),
        (vec!["c".into()], vec![])
    );
}

#[test]
fn the_dead_ahead_hold_up_nobody() {
    let stage = Stage::new();
    let queue = stage.builds();
    let holder = stage.starts("--max-slots 1 --as holder", "log begin; hold holder");
    stage.noted("begin");
    let mut dead: Vec<Running> = (0..6)
        .map(|number| {
            let running = stage.starts(&format!("--max-slots 1 --as dead-{number}"), "log DEAD");
            queue.wait_until_queued(number + 1);
            running
        })
        .collect();
    let mut next = stage.starts("--max-slots 1 --as next", "log next");
    queue.wait_until_queued(7);
    next.says("waiting");
    // All of them at once: nobody is left who could write a word.
    for running in &mut dead {
        kill(&queue, running);
    }
    holder.signal_group(KILL);
    next.wait(AT_ONCE).exits(0);
    assert_eq!(stage.log(), ["begin", "next"]);
}

#[test]
fn a_run_whose_presence_is_taken_away_while_it_waits_keeps_its_place() {
    let stage = Stage::new();
    let queue = stage.builds();
    for name in ["", "--as b"] {
        asks(&stage.env, &stage.repo, "keeper", 0);
        let mut run = stage.starts(&format!("--max-slots 1 {name}"), "log in");
        queue.wait_until_queued(1);
        let place = waits_for("what it will run to be recorded", DEADLINE, || {
            let first = queue.list("waiting")[0].clone();
            first["git_locks"]["process"].is_object().then_some(first)
        });
        for path in queue.presence() {
            std::fs::remove_file(path).expect("its presence");
        }
        eventually(DEADLINE, || present(&queue) == 1);
        assert_eq!(queue.ids("waiting"), [place["id"].as_str().expect("an id")]);
        leaves(&stage.env, &stage.repo, "keeper").says(&[("promoted", place["id"].clone())]);
        run.wait(DEADLINE).exits(0);
        queue.is_empty();
    }
    assert_eq!(stage.log(), ["in", "in"]);
}
