//! Who is next: list position alone decides, and nobody overtakes.

use serde_json::{Value, json};

use crate::cast::{asks, leaves, one, two};
use crate::common::builds::foreign;
use crate::common::fixture::plan;
use crate::common::turns::waits_for;
use crate::common::{DEADLINE, Env};

/// Takes the entries of these plans away, as another program would.
fn vanish(env: &Env, plans: &[&str]) {
    env.builds().edit(|queue| {
        let active = queue["active"].as_array_mut().expect("a list");
        active.retain(|entry| !plans.contains(&entry["plan_id"].as_str().expect("an id")));
    });
}

/// Two have the two slots, and these wait.
fn crowd(env: &Env, repo: &std::path::Path, waiting: &[&str]) {
    for id in ["a", "b"] {
        env.build(repo, &format!("acquire --max-slots 2 --as {id}"))
            .exits(0);
    }
    for id in waiting {
        env.build(repo, &format!("acquire --max-slots 2 --as {id}"))
            .exits(75);
    }
}

#[test]
fn within_the_free_prefix_one_is_admitted() {
    let (env, repo) = one();
    let queue = env.builds();
    crowd(&env, &repo, &["c", "d", "e"]);
    vanish(&env, &["a", "b"]);
    // Whoever comes gives the slots to those who are first; the second of them is itself.
    env.build(&repo, "acquire --max-slots 2 --as d")
        .exits(0)
        .says(&[("active_count", json!(2)), ("waiting_count", json!(1))]);
    assert_eq!(
        (queue.active(), queue.waiting()),
        (vec!["c".into(), "d".into()], vec!["e".into()])
    );
}

#[test]
fn beyond_the_free_prefix_one_waits() {
    let (env, repo) = one();
    let queue = env.builds();
    crowd(&env, &repo, &["c", "d", "e"]);
    vanish(&env, &["a"]);
    env.build(&repo, "acquire --max-slots 2 --as e")
        .exits(75)
        .says(&[("position", json!(2)), ("active_count", json!(2))]);
    assert_eq!(queue.active(), ["b", "c"]);
}

#[test]
fn a_newcomer_overtakes_nobody() {
    let (env, repo, there) = two();
    let queue = env.builds();
    crowd(&env, &repo, &["c"]);
    vanish(&env, &["a"]);
    env.build(&there, "acquire --max-slots 2 --as new")
        .exits(75)
        .says(&[("position", json!(1))]);
    assert_eq!(
        (queue.active(), queue.waiting()),
        (vec!["b".into(), "c".into()], vec!["new".into()])
    );
    // Nor does another program's newcomer stand behind ours.
    vanish(&env, &["b", "c"]);
    env.build(&repo, "acquire --max-slots 2 --as newer")
        .exits(0);
    assert_eq!(queue.active(), ["new", "newer"]);
}

#[test]
fn list_position_decides_and_not_the_time() {
    let (env, repo, there) = two();
    let queue = env.builds();
    asks(&env, &repo, "a", 0);
    let mut waiting = Vec::new();
    for (place, id) in ["late", "later", "first"].into_iter().enumerate() {
        plan(&there, id);
        let mut entry = foreign(id, &there, None);
        let ago = [0.0, 50.0, 500.0][place];
        entry["ts"] = json!(entry["ts"].as_f64().expect("a time") - ago);
        waiting.push(entry);
    }
    queue.edit(|all| all["waiting"] = json!(waiting));
    leaves(&env, &repo, "a").says(&[("promoted", waiting[0]["id"].clone())]);
    assert_eq!(
        (queue.active(), queue.waiting()),
        (vec!["late".into()], vec!["later".into(), "first".into()])
    );
}

#[test]
fn a_slot_has_the_lowest_number_that_is_free() {
    let (env, repo) = one();
    let slot = |id: &str| {
        env.build(&repo, &format!("acquire --as {id}"))
            .exits(0)
            .get("slot")
    };
    for (number, id) in ["a", "b", "c"].into_iter().enumerate() {
        assert_eq!(slot(id), json!(number + 1));
    }
    env.build(&repo, "release --as b").exits(0);
    assert_eq!(slot("d"), json!(2));
    assert_eq!(slot("c"), json!(3));
    // Another program's entry has no number, and takes none away.
    let queue = env.builds();
    plan(&repo, "theirs");
    queue.edit(|all| {
        let active = all["active"].as_array_mut().expect("a list");
        active.insert(0, foreign("theirs", &repo, Some(1.0)));
    });
    plan(&repo, "e");
    env.build(&repo, "acquire --as e --max-slots 5")
        .exits(0)
        .says(&[("slot", json!(4))]);
}

#[test]
fn concurrent_releases_give_each_waiter_one_slot() {
    const HOLDERS: usize = 6;
    for _ in 0..3 {
        let (env, repo, there) = two();
        let queue = env.builds();
        for number in 0..HOLDERS {
            env.build(&repo, &format!("acquire --max-slots 6 --as h{number}"))
                .exits(0);
        }
        let waiters: Vec<Value> = (0..HOLDERS + 2)
            .map(|number| {
                let args = format!("acquire --max-slots 6 --as w{number}");
                env.build(&there, &args).exits(75).get("id")
            })
            .collect();
        let promoted: Vec<Value> = std::thread::scope(|scope| {
            let release = |number: usize| {
                let (env, repo) = (&env, &repo);
                let args = format!("release --max-slots 6 --as h{number}");
                scope.spawn(move || {
                    let run = env.build(repo, &args).exits(0);
                    run.says(&[("action", json!("released"))]).get("promoted")
                })
            };
            let all: Vec<_> = (0..HOLDERS).map(release).collect();
            all.into_iter()
                .map(|one| one.join().expect("it ended"))
                .collect()
        });
        let mut sorted: Vec<&str> = promoted.iter().filter_map(Value::as_str).collect();
        sorted.sort_unstable();
        let mut wanted: Vec<&str> = waiters[..HOLDERS]
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(queue.ids("active"), wanted, "each once, in order");
        wanted.sort_unstable();
        assert_eq!(sorted, wanted);
        assert_eq!(queue.waiting(), ["w6", "w7"]);
        let slots: Vec<Value> = queue
            .list("active")
            .iter()
            .map(|entry| entry["git_locks"]["slot"].clone())
            .collect();
        let mut slots: Vec<u64> = slots.iter().filter_map(Value::as_u64).collect();
        slots.sort_unstable();
        assert_eq!(slots, [1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn a_waiting_process_is_told_at_once() {
    let (env, repo, there) = two();
    let queue = env.builds();
    asks(&env, &repo, "a", 0);
    let mut first = crate::cast::waiter(&env, &there, "b");
    queue.wait_until_queued(1);
    let mut second = crate::cast::waiter(&env, &repo, "c");
    queue.wait_until_queued(2);
    first.says("waiting");
    leaves(&env, &repo, "a");
    let ended = first.wait(crate::stage::AT_ONCE).exits(0);
    let report = crate::cast::report(&ended);
    assert_eq!(report["admission"], "admitted", "{report}");
    assert_eq!(report["plan_id"], "b", "{report}");
    assert!(second.is_alive());
    // Its process is gone, and it has the slot until it lets go.
    asks(&env, &repo, "d", 75);
    assert_eq!(queue.active(), ["b"]);
    leaves(&env, &there, "b");
    second.wait(crate::stage::AT_ONCE).exits(0);
    waits_for("c to have the slot", DEADLINE, || {
        (queue.active() == ["c"]).then_some(())
    });
}

#[test]
fn out_of_time_a_waiter_keeps_its_place() {
    let (env, repo) = one();
    let queue = env.builds();
    asks(&env, &repo, "a", 0);
    env.build(&repo, "acquire --max-slots 1 --wait=100ms --as b")
        .exits(75)
        .says(&[("admission", json!("blocked")), ("position", json!(1))]);
    asks(&env, &repo, "c", 75).says(&[("position", json!(2))]);
    assert_eq!(queue.waiting(), ["b", "c"]);
}

#[test]
fn interrupted_a_waiter_leaves_the_queue() {
    let (env, repo) = one();
    let queue = env.builds();
    asks(&env, &repo, "a", 0);
    let mut waiting = crate::cast::waiter(&env, &repo, "b");
    queue.wait_until_queued(1);
    waiting.says("waiting");
    waiting.signal(crate::stage::INT);
    waiting.wait(crate::stage::AT_ONCE).exits(130);
    assert_eq!(queue.waiting(), [""; 0]);
    assert_eq!(queue.list("run_log").len(), 0);
}
