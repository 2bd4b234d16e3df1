//! Ten thousand who wait: counted, and the first of them shown.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::cast::{column, page, repository, status};
use crate::common::fixture::{hold, now, write_queue};

const MANY: usize = 10_000;

fn queue(own: &str) -> Vec<Value> {
    let entry = |number: usize| json!({"plan_id": format!("w{number}"), "ts": now()});
    let holder = json!({"plan_id": own, "ts": now()});
    // The holder's own entry may stand anywhere.
    (0..MANY).map(entry).chain([holder]).collect()
}

#[test]
fn a_long_merge_queue() {
    let (env, repo) = repository();
    hold(&repo, "alpha\n");
    write_queue(&repo, &json!({"waiting": queue("alpha")}));
    let merge = status(&env, &repo)["merge"].clone();
    assert_eq!(merge["waiting_count"], MANY);
    let listed = column(&merge["waiting"], "plan_id");
    let expected: Vec<String> = (0..100).map(|number| format!("w{number}")).collect();
    assert_eq!(listed, expected);
    let page = page(&env, &repo).exits(0);
    assert!(page.stdout.contains("… and 9,990 more"), "{page:#?}");
    assert!(
        page.stdout.contains("  10 ") && !page.stdout.contains("  11 "),
        "{page:#?}"
    );
}

#[test]
fn the_holders_entry_is_not_counted_wherever_it_stands() {
    let (env, repo) = repository();
    hold(&repo, "alpha\n");
    let mut entries = queue("alpha");
    let own = entries.pop().expect("its entry");
    entries.insert(0, own);
    write_queue(&repo, &json!({"waiting": entries}));
    let merge = status(&env, &repo)["merge"].clone();
    assert_eq!(merge["waiting_count"], MANY);
    assert_eq!(merge["waiting"].as_array().map(Vec::len), Some(100));
    assert_eq!(merge["waiting"][99]["plan_id"], "w99");
}

#[test]
fn a_long_build_queue() {
    let (env, repo) = repository();
    env.build(&repo, "acquire --as alpha --max-slots 1")
        .exits(0);
    env.build(&repo, "acquire --as beta --max-slots 1")
        .exits(75);
    let builds = env.builds();
    let waiter = builds.list("waiting").remove(0);
    builds.edit(|queue| {
        let waiting = queue["waiting"].as_array_mut().expect("a list");
        for number in 1..MANY {
            let mut id = String::new();
            write!(id, "w{number}:00000000-0000-4000-8000-{number:012}").expect("text");
            let mut next = waiter.clone();
            next["plan_id"] = json!(format!("w{number}"));
            next["id"] = json!(id);
            waiting.push(next);
        }
    });
    let call = env.call(&repo).args("status --format json");
    let run = call.env("GIT_LOCKS_BUILD_MAX_SLOTS", "1").run().exits(0);
    let build = run.get("build");
    assert_eq!(build["waiting_count"], MANY);
    assert_eq!(build["status"], "held");
    assert_eq!(build["waiting"].as_array().map(Vec::len), Some(100));
    assert_eq!(build["waiting"][99]["plan_id"], "w99");
    let page = page(&env, &repo).exits(0);
    assert!(page.stdout.contains("… and 9,990 more"), "{page:#?}");
}

#[test]
fn a_slot_is_free_only_where_nobody_behind_those_shown_would_take_it() {
    let (env, repo) = repository();
    let dead = |number: usize| {
        let id = format!("Dead{number}:00000000-0000-4000-8000-{number:012}");
        json!({"id": id, "ts": now(), "project_root": repo})
    };
    env.build(&repo, "acquire --as alpha --max-slots 1")
        .exits(0);
    env.build(&repo, "acquire --as beta --max-slots 1")
        .exits(75);
    let builds = env.builds();
    let living = builds.list("waiting").remove(0);
    let mut crowd: Vec<Value> = (0..150).map(dead).collect();
    builds.write_entries(&[], &crowd);
    let free = |expected: &str| {
        let call = env.call(&repo).args("status --format json");
        let it = call
            .env("GIT_LOCKS_BUILD_MAX_SLOTS", "1")
            .run()
            .exits(0)
            .json();
        assert_eq!(
            it["build"]["status"], expected,
            "{:#}",
            it["build"]["waiting_count"]
        );
    };
    free("free");
    crowd.push(living);
    builds.write_entries(&[], &crowd);
    free("held");
}
