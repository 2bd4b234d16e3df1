//! Places in the queue over time: tickets that run out, silence that is passed over.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::common::fixture::{
    hold, holder, keep_plans, lock_file, now, plan, waiting, write_queue,
};
use crate::common::{DEADLINE, Env, Run, eventually};

fn with(env: &Env, repo: &Path, setting: (&str, &str), args: &str) -> Run {
    let call = env.call(repo).env(setting.0, setting.1);
    call.args("--format json merge").args(args).run()
}

#[test]
fn a_ticket_that_ran_out_loses_the_place() {
    let env = Env::new();
    let repo = env.init("repo");
    for plans in [false, true] {
        if plans {
            keep_plans(&repo);
        }
        let short = ("GIT_LOCKS_TICKET_TTL", "1s");
        env.merge(&repo, "acquire --as a --ttl 1h").exits(0);
        with(&env, &repo, short, "acquire --as b --ttl 1s").exits(75);
        env.merge(&repo, "acquire --as c --ttl 1h").exits(75);
        eventually(DEADLINE, || {
            let run = with(&env, &repo, short, "acquire --as c --ttl 1h").exits(75);
            run.get("position") == json!(1)
        });
        assert_eq!(waiting(&repo), ["a", "c"]);
        env.merge(&repo, "release --as a").exits(0);
        env.merge(&repo, "release --as c").exits(0);
    }
}

#[test]
fn a_running_ticket_keeps_the_place_of_an_id_that_is_no_plan() {
    let env = Env::new();
    let repo = env.init("repo");
    keep_plans(&repo);
    plan(&repo, "a");
    plan(&repo, "c");
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "acquire").exits(75);
    env.merge(&repo, "acquire --as c")
        .exits(75)
        .says(&[("position", json!(2))]);
    env.merge(&repo, "release --as a").exits(0);
    env.merge(&repo, "acquire --as c").exits(75);
    env.merge(&repo, "acquire")
        .exits(0)
        .says(&[("holder", json!("main-checkout"))]);
}

#[test]
fn a_waiter_that_is_a_plan_lives_as_long_as_the_plan() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "a");
    let gone = plan(&repo, "gone");
    plan(&repo, "c");
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "acquire --as gone").exits(75);
    env.merge(&repo, "acquire --as c")
        .exits(75)
        .says(&[("position", json!(2))]);
    std::fs::remove_dir(gone).expect("the plan");
    env.merge(&repo, "acquire --as c")
        .exits(75)
        .says(&[("position", json!(1))]);
    assert_eq!(waiting(&repo), ["a", "c"]);
}

#[test]
fn the_silent_are_passed_over_and_come_back_to_their_place() {
    let env = Env::new();
    let repo = env.init("repo");
    let soon = ("GIT_LOCKS_PASS_OVER", "1s");
    env.merge(&repo, "acquire --as a").exits(0);
    for who in ["silent", "c", "d"] {
        env.merge(&repo, &format!("acquire --as {who}")).exits(75);
    }
    env.merge(&repo, "release --as a").exits(0);
    // Whoever polls keeps itself in sight; only `silent` does not.
    eventually(DEADLINE, || {
        with(&env, &repo, soon, "acquire --as c").code == 0
    });
    assert_eq!(holder(&repo).as_deref(), Some("c\n"));
    assert!(
        waiting(&repo).contains(&"silent".to_owned()),
        "{:?}",
        waiting(&repo)
    );
    env.merge(&repo, "acquire --as silent")
        .exits(75)
        .says(&[("position", json!(1))]);
    env.merge(&repo, "acquire --as d")
        .exits(75)
        .says(&[("position", json!(2))]);
    env.merge(&repo, "release --as c").exits(0);
    with(&env, &repo, soon, "acquire --as d").exits(75);
    env.merge(&repo, "acquire --as silent").exits(0);
}

#[test]
fn a_living_plan_that_is_silent_is_passed_over_too() {
    let env = Env::new();
    let repo = env.init("repo");
    for id in ["a", "silent", "c"] {
        plan(&repo, id);
    }
    let soon = ("GIT_LOCKS_PASS_OVER", "1s");
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "acquire --as silent").exits(75);
    env.merge(&repo, "acquire --as c").exits(75);
    env.merge(&repo, "release --as a").exits(0);
    eventually(DEADLINE, || {
        with(&env, &repo, soon, "acquire --as c").code == 0
    });
    env.merge(&repo, "release --as c").exits(0);
    env.merge(&repo, "acquire --as silent").exits(0);
}

/// Until this many seconds after `start`.
fn past(start: f64, seconds: f64) {
    eventually(DEADLINE, || now() > start + seconds);
}

#[test]
fn an_idle_lock_that_its_last_waiter_left_is_not_remembered_as_idle() {
    let env = Env::new();
    let repo = env.init("repo");
    for id in ["a", "w", "f", "g", "me"] {
        plan(&repo, id);
    }
    let soon = ("GIT_LOCKS_PASS_OVER", "1s");
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "acquire --as w").exits(75);
    env.merge(&repo, "release --as a").exits(0);
    let idle = now();
    env.merge(&repo, "release --as w")
        .exits(0)
        .says(&[("action", json!("noop"))]);
    // Another program's plans take their turns without us.
    let entry = |id: &str| json!({"plan_id": id, "ts": idle - 10.0});
    write_queue(&repo, &json!({"waiting": [entry("f"), entry("g")]}));
    hold(&repo, "f\n");
    past(idle, 1.5);
    std::fs::remove_file(lock_file(&repo)).expect("its own lock");
    write_queue(&repo, &json!({"waiting": [entry("g")]}));

    let free = now();
    let first = with(&env, &repo, soon, "acquire --as me").exits(75);
    first.says(&[("position", json!(2)), ("blocking_plan_id", json!(null))]);
    // Idle and quiet for that long, it is passed over as any other, and keeps its place.
    eventually(DEADLINE, || {
        with(&env, &repo, soon, "acquire --as me").code == 0
    });
    assert!(now() >= free + 1.0);
    assert_eq!(waiting(&repo), ["g", "me"]);
}

#[test]
fn a_lock_held_between_two_looks_was_not_idle() {
    let env = Env::new();
    let repo = env.init("repo");
    for id in ["a", "w", "f", "g", "me"] {
        plan(&repo, id);
    }
    let soon = ("GIT_LOCKS_PASS_OVER", "1s");
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "acquire --as w").exits(75);
    env.merge(&repo, "release --as a").exits(0);
    let idle = now();
    let entry = |id: &str| json!({"plan_id": id, "ts": idle - 10.0});
    write_queue(&repo, &json!({"waiting": [entry("f"), entry("g")]}));
    hold(&repo, "f\n");
    // Seen held, whoever looks.
    with(&env, &repo, soon, "acquire --as me").exits(75);
    past(idle, 1.5);
    std::fs::remove_file(lock_file(&repo)).expect("its own lock");
    write_queue(&repo, &json!({"waiting": [entry("g"), entry("me")]}));
    with(&env, &repo, soon, "acquire --as me").exits(75);
}

#[test]
fn a_foreign_entry_from_the_future_is_passed_over_like_any_other() {
    for plans in [true, false] {
        let env = Env::new();
        let repo = env.init("repo");
        if plans {
            plan(&repo, "f");
            plan(&repo, "me");
        }
        let entry = json!({"plan_id": "f", "ts": now() * 1000.0});
        write_queue(&repo, &json!({ "waiting": [entry] }));
        let soon = ("GIT_LOCKS_PASS_OVER", "1s");
        with(&env, &repo, soon, "acquire --as me")
            .exits(75)
            .says(&[("position", json!(2))]);
        eventually(Duration::from_secs(10), || {
            with(&env, &repo, soon, "acquire --as me").code == 0
        });
        assert_eq!(holder(&repo).as_deref(), Some("me\n"));
        assert_eq!(waiting(&repo), ["f", "me"], "with plans: {plans}");
    }
}
