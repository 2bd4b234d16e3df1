//! Numbers of slots that do not agree.

use crate::stage::{Stage, kinds, leave, path_of, the};

fn marshal(stage: &Stage, slots: u32) {
    let text = format!(r#"{{"build": {{"queue": {{"max_slots": {slots}}}}}}}"#);
    leave(&stage.main.join(".plan/local/.keep"), "", 0);
    leave(&stage.main.join(".plan/marshal.json"), &text, 0);
}

#[test]
fn what_is_set_here_and_there() {
    let stage = Stage::new();
    marshal(&stage, 3);
    stage.is_well();
    stage.env.git(&stage.main, "config locks.build.maxSlots 3");
    stage.is_well();
    let call = stage
        .call(&stage.main)
        .env("GIT_LOCKS_BUILD_MAX_SLOTS", "2");
    let run = call.args("--fix").run().exits(1);
    assert_eq!(kinds(&run), ["slot-counts"], "{run:#?}");
    let finding = the(&run, "slot-counts");
    assert_eq!(finding["severity"], "warning");
    let what = finding["what"].as_str().expect("what");
    for words in [
        "2 (GIT_LOCKS_BUILD_MAX_SLOTS)",
        "3 (locks.build.maxSlots, marshal.json)",
    ] {
        assert!(what.contains(words), "{what}");
    }
    stage.env.git(&stage.main, "config locks.build.maxSlots 4");
    let what = the(&stage.doctor("").exits(1), "slot-counts")["what"].to_string();
    assert!(
        what.contains("3 (marshal.json), 4 (locks.build.maxSlots)"),
        "{what}"
    );
}

#[test]
fn what_those_go_by_who_take_part() {
    let stage = Stage::new();
    stage
        .env
        .build(&stage.main, "acquire --as alpha --max-slots 2")
        .exits(0);
    stage
        .env
        .build(&stage.main, "acquire --as beta --max-slots 2")
        .exits(0);
    stage
        .env
        .build(&stage.main, "acquire --as gamma --max-slots 2")
        .exits(75);
    let run = stage.doctor("").exits(1);
    let finding = the(&run, "slot-counts");
    assert_eq!(path_of(&finding), stage.env.builds().path());
    let what = finding["what"].as_str().expect("what");
    let words = "2 ('alpha', 'beta', 'gamma'), 5 (the default)";
    assert!(what.contains(words), "{what}");
    for id in ["alpha", "beta", "gamma"] {
        stage
            .env
            .build(&stage.main, &format!("release --as {id}"))
            .exits(0);
    }
    stage.is_well();
}

#[test]
fn the_dead_do_not_count() {
    let stage = Stage::new();
    let acquire = "acquire --as alpha --max-slots 2 --ttl 1s";
    stage.env.build(&stage.main, acquire).exits(0);
    assert_eq!(kinds(&stage.doctor("").exits(1)), ["slot-counts"]);
    stage.env.builds().edit(|queue| {
        for clock in ["wall", "boot"] {
            let from = &mut queue["active"][0]["git_locks"]["lease"]["from"][clock];
            *from = (from.as_f64().expect("a time") - 100.0).into();
        }
    });
    assert_eq!(kinds(&stage.doctor("").exits(0)), ["stale-holder"]);
}
