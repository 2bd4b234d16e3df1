//! Scenes of the build queue's short calls, and what must hold after one was cut off in them: never
//! more builders than slots, no lost place, nothing left over.

use std::collections::HashSet;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::aftermath::{files, let_hours_pass, list, temporary};
use crate::build_runs::acquire_for_process;
use crate::common::Run;
use crate::common::builds::{limit_file, plan_of};
use crate::common::fixture::{base, keep_plans, plan_worktree};
use crate::scene::{Family, Scene, Stage, plans, setup};

/// The hold of one that lets go, in seconds: long enough to learn from, and not to be reaped.
const LONG: f64 = 700.0;

/// Gives the scene so many slots.
pub fn slots(stage: &Stage, count: usize) {
    let set = format!("config locks.build.maxSlots {count}");
    stage.env.git(&stage.repo, &set);
}

/// One slot, which `hold` has; `wait` and `other` wait for it, in this order.
fn busy(stage: &Stage, options: &str) {
    slots(stage, 1);
    for (id, code) in [("hold", 0), ("wait", 75), ("other", 75)] {
        stage
            .call(&format!("acquire --as {id} {options}"))
            .exits(code);
    }
}

/// The same among plans.
fn busy_plans(stage: &Stage) {
    plans(stage, &["hold", "wait", "other", "late"]);
    busy(stage, "");
}

/// A slot is free.
pub const ACQUIRE: Scene = Scene {
    family: Family::Build,
    name: "build acquire",
    set: |stage| slots(stage, 2),
    args: "acquire --as me",
    after: |stage, turn| two_of_three(stage, turn, ""),
};

/// The same of a participant that is no plan, where plans are kept.
pub const WITNESS: Scene = Scene {
    name: "build witness",
    set: |stage| {
        keep_plans(&stage.repo);
        slots(stage, 2);
    },
    args: "acquire --as me --ttl 1h",
    after: |stage, turn| two_of_three(stage, turn, "--ttl 1h"),
    ..ACQUIRE
};

/// A newcomer waits behind another.
pub const QUEUE: Scene = Scene {
    name: "build queue",
    set: |stage| {
        slots(stage, 1);
        setup(
            stage,
            &[("acquire --as hold", 0), ("acquire --as wait", 75)],
        );
    },
    after: after_queue,
    ..ACQUIRE
};

/// One that was given a slot claims it.
pub const CLAIM: Scene = Scene {
    name: "build claim",
    set: |stage| {
        busy(stage, "");
        stage.call("release --as hold").exits(0);
    },
    args: "acquire --as wait",
    after: in_the_place_of_hold,
    ..ACQUIRE
};

/// One that waits takes the slot of a dead one.
pub const PRUNE: Scene = Scene {
    name: "build prune",
    set: |stage| {
        busy_plans(stage);
        std::fs::remove_dir(base(&stage.repo).join("plans/hold")).expect("its plan");
    },
    ..CLAIM
};

/// The same of a dead one that had a witness.
pub const PRUNE_WITNESS: Scene = Scene {
    name: "build prune with a witness",
    set: |stage| {
        plans(stage, &["wait", "other", "late"]);
        slots(stage, 1);
        let mut process = acquire_for_process(stage, "hold");
        setup(
            stage,
            &[("acquire --as wait", 75), ("acquire --as other", 75)],
        );
        process.kill().expect("it is ours");
        process.wait().expect("it ends");
    },
    ..CLAIM
};

/// The same of one that has had it for too long.
pub const REAP: Scene = Scene {
    name: "build reap",
    set: |stage| {
        busy_plans(stage);
        stage.env.builds().backdate("hold", 3.0 * LONG);
    },
    ..CLAIM
};

/// A slot is given back for which others wait, after a hold to learn from.
pub const RELEASE: Scene = Scene {
    name: "build release",
    set: |stage| {
        busy(stage, "");
        stage.env.builds().backdate("hold", LONG);
    },
    args: "release --as hold",
    after: |stage, turn| {
        let learnt = std::fs::read_to_string(limit_file(&stage.repo));
        if let Ok(text) = learnt {
            let value: Value = serde_json::from_str(&text).expect("a configuration");
            let limit = value.pointer("/build/queue/upper_limit_seconds");
            let limit = limit.and_then(Value::as_f64).expect("a limit");
            assert!((LONG..LONG + 60.0).contains(&limit), "{text}");
        }
        followed(stage, turn, "");
    },
    ..ACQUIRE
};

/// The same of participants that are no plans, where plans are kept.
pub const WITNESS_LEAVES: Scene = Scene {
    name: "build witness leaves",
    set: |stage| {
        keep_plans(&stage.repo);
        busy(stage, "--ttl 1h");
    },
    after: |stage, turn| followed(stage, turn, "--ttl 1h"),
    ..RELEASE
};

/// The last lets go.
pub const LAST: Scene = Scene {
    name: "build last release",
    set: |stage| {
        slots(stage, 1);
        stage.call("acquire --as hold").exits(0);
    },
    after: after_last,
    ..RELEASE
};

/// A lease is renewed.
pub const RENEW: Scene = Scene {
    name: "build renew",
    set: |stage| busy(stage, "--ttl 1h"),
    args: "renew --as hold",
    after: after_renew,
    ..ACQUIRE
};

/// Whatever was cut off: the queue is whole, and no slot is given out twice.
#[track_caller]
pub fn is_sound(stage: &Stage) {
    stage.keeps_others_keys();
    let queue = stage.env.builds();
    let active = queue.list("active");
    let most = stage.env.git(&stage.repo, "config locks.build.maxSlots");
    let most: usize = most.trim().parse().expect("a number");
    assert!(active.len() <= most, "too many build: {active:#?}");
    let mut ids = queue.ids("active");
    ids.extend(queue.ids("waiting"));
    let different: HashSet<&String> = ids.iter().collect();
    assert_eq!(different.len(), ids.len(), "an entry is there twice");
    let numbers = active
        .iter()
        .filter_map(|entry| entry.pointer("/git_locks/slot")?.as_u64());
    let numbers: Vec<u64> = numbers.collect();
    let different: HashSet<&u64> = numbers.iter().collect();
    assert_eq!(different.len(), numbers.len(), "{numbers:?}");
    let most = most as u64;
    assert!(
        numbers.iter().all(|number| (1..=most).contains(number)),
        "{numbers:?}"
    );
}

/// A call that goes through, and leaves the queue sound.
#[track_caller]
fn step(stage: &Stage, args: &str) -> Run {
    let run = stage.quick(args);
    is_sound(stage);
    run
}

/// Acquires; must be admitted.
#[track_caller]
fn admitted(stage: &Stage, args: &str) {
    step(stage, args)
        .exits(0)
        .says(&[("admission", json!("admitted"))]);
}

/// Acquires; must be blocked.
#[track_caller]
pub fn blocked(stage: &Stage, args: &str) {
    step(stage, args)
        .exits(75)
        .says(&[("admission", json!("blocked"))]);
}

/// Lets go, which must be what frees the slot.
#[track_caller]
pub fn let_go(stage: &Stage, id: &str) {
    step(stage, &format!("release --as {id}"))
        .exits(0)
        .says(&[("action", json!("released"))]);
}

/// These build, and no others.
#[track_caller]
pub fn built_by(stage: &Stage, ids: &[&str]) {
    let mut active = stage.env.builds().active();
    active.sort_unstable();
    assert_eq!(active, ids);
}

/// Each in turn has the one slot, in this order; then nothing is left.
#[track_caller]
pub fn in_turn(stage: &Stage, ids: &[&str], options: &str) {
    for id in ids {
        admitted(stage, &format!("acquire --as {id} {options}"));
        built_by(stage, &[id]);
        looks_alive(stage, id);
        let_go(stage, id);
    }
    nothing_is_left(stage);
}

/// To programs that know plans only, it looks alive, where plans are kept.
#[track_caller]
fn looks_alive(stage: &Stage, id: &str) {
    let base = base(&stage.repo);
    if base.join("plans").is_dir() {
        let moved = plan_worktree(&stage.repo, id).join(".plan/local/plans");
        let alive = base.join("plans").join(id).is_dir() || moved.join(id).is_dir();
        assert!(alive, "{id} looks dead");
    }
}

/// Nobody who is not in the queue has a witness.
#[track_caller]
fn witnesses_are_due(stage: &Stage) {
    let queue = stage.env.builds();
    let mut there = queue.active();
    there.extend(queue.waiting());
    for witness in witnesses(stage) {
        let id = witness.parent().and_then(|plan| plan.file_name());
        let id = id.expect("a plan").to_string_lossy().into_owned();
        assert!(there.contains(&id), "{id} left a witness");
    }
}

fn witnesses(stage: &Stage) -> Vec<PathBuf> {
    files(&base(&stage.repo).join("worktrees"))
        .into_iter()
        .filter(|path| path.ends_with(".git-locks-witness-build"))
        .collect()
}

/// Nobody builds, nobody waits, and only known files are there.
#[track_caller]
pub fn nothing_is_left(stage: &Stage) {
    let_hours_pass(stage);
    // Whoever comes next sweeps; in the logs, whoever begins another day's.
    for log in list(&stage.repo.join(".plan/logs")) {
        if log.extension().is_some_and(|extension| extension == "log") {
            std::fs::remove_file(&log).expect("a day's log");
        }
    }
    // A participant of whom nothing is known, so that it clears up for others only.
    admitted(stage, "acquire --as broom");
    let_go(stage, "broom");
    stage.env.builds().is_empty();
    let base = base(&stage.repo);
    assert_eq!(temporary(stage), Vec::<PathBuf>::new(), "left over");
    let known = [".gitignore", "plans", "run-configuration.json", "worktrees"];
    are_known(&base, &known);
    assert_eq!(
        files(&base.join("worktrees")),
        Vec::<PathBuf>::new(),
        "left over"
    );
    let known = ["build-queue.json", "build-queue.json.guard", "git-locks"];
    are_known(&stage.env.home_root(), &known);
}

#[track_caller]
fn are_known(dir: &std::path::Path, known: &[&str]) {
    let mut there = list(dir);
    there.retain(|path| !known.iter().any(|name| path == &dir.join(name)));
    assert_eq!(there, Vec::<PathBuf>::new(), "left over");
}

/// Two of three have a slot at once, whoever of them was cut off.
fn two_of_three(stage: &Stage, turn: usize, options: &str) {
    is_sound(stage);
    let order = if turn.is_multiple_of(2) {
        ["me", "other"]
    } else {
        ["other", "me"]
    };
    for id in order {
        admitted(stage, &format!("acquire --as {id} {options}"));
        looks_alive(stage, id);
    }
    built_by(stage, &["me", "other"]);
    blocked(stage, &format!("acquire --as late {options}"));
    let_go(stage, order[0]);
    witnesses_are_due(stage);
    admitted(stage, &format!("acquire --as late {options}"));
    let_go(stage, order[1]);
    in_turn(stage, &["late"], options);
}

fn after_queue(stage: &Stage, turn: usize) {
    is_sound(stage);
    let queue = stage.env.builds();
    assert_eq!(
        (queue.active(), &queue.waiting()[..1]),
        (vec!["hold".to_owned()], &["wait".to_owned()][..])
    );
    if turn.is_multiple_of(2) {
        blocked(stage, "acquire --as me");
        blocked(stage, "acquire --as late");
        let_go(stage, "hold");
        in_turn(stage, &["wait", "me", "late"], "");
    } else {
        let_go(stage, "hold");
        blocked(stage, "acquire --as late");
        let joined = queue.waiting().contains(&"me".to_owned());
        let order = if joined {
            ["wait", "me", "late"]
        } else {
            ["wait", "late", "me"]
        };
        blocked(stage, "acquire --as me");
        in_turn(stage, &order, "");
    }
}

/// What `hold` had is for `wait`, whoever comes first.
fn in_the_place_of_hold(stage: &Stage, turn: usize) {
    is_sound(stage);
    if turn.is_multiple_of(2) {
        blocked(stage, "acquire --as other");
        built_by(stage, &["wait"]);
        witnesses_are_due(stage);
    }
    admitted(stage, "acquire --as wait");
    witnesses_are_due(stage);
    blocked(stage, "acquire --as late");
    step(stage, "release --as hold")
        .exits(0)
        .says(&[("action", json!("noop"))]);
    let_go(stage, "wait");
    in_turn(stage, &["other", "late"], "");
}

fn followed(stage: &Stage, turn: usize, options: &str) {
    is_sound(stage);
    let [wait, other] = ["wait", "other"].map(|id| format!("acquire --as {id} {options}"));
    blocked(stage, &other);
    if turn.is_multiple_of(2) {
        if step(stage, &wait).code == 75 {
            // It was cut off before anything was said of it.
            built_by(stage, &["hold"]);
            let_go(stage, "hold");
            admitted(stage, &wait);
        }
        witnesses_are_due(stage);
    } else {
        step(stage, "release --as hold").exits(0);
        witnesses_are_due(stage);
        admitted(stage, &wait);
    }
    built_by(stage, &["wait"]);
    step(stage, "release --as hold")
        .exits(0)
        .says(&[("action", json!("noop"))]);
    let log = stage.env.builds().ids("run_log");
    let logged = log.iter().filter(|id| plan_of(id) == "hold").count();
    assert_eq!(logged, 1, "{log:?}");
    let_go(stage, "wait");
    in_turn(stage, &["other"], options);
}

fn after_last(stage: &Stage, turn: usize) {
    is_sound(stage);
    if turn.is_multiple_of(2) {
        step(stage, "release --as hold").exits(0);
        in_turn(stage, &["other"], "");
    } else if step(stage, "acquire --as other").code == 75 {
        let_go(stage, "hold");
        in_turn(stage, &["other"], "");
    } else {
        in_turn(stage, &["other"], "");
    }
}

fn after_renew(stage: &Stage, turn: usize) {
    is_sound(stage);
    built_by(stage, &["hold"]);
    if turn.is_multiple_of(2) {
        blocked(stage, "acquire --as wait");
    }
    step(stage, "renew --as hold").exits(0);
    built_by(stage, &["hold"]);
    let_go(stage, "hold");
    in_turn(stage, &["wait", "other"], "");
}
