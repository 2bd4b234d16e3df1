//! `--report`: what it all comes to.

use serde_json::{Value, json};

use crate::common::fixture::{hold, now, plan, queue_of};
use crate::pen::{EIGHT, Pen, entry, merge};

/// What is said of a lock.
#[track_caller]
fn of(pen: &Pen, args: &str, lock: &str) -> Value {
    let run = pen.log(&format!("--report {args}")).exits(0);
    let run = run.fields("status log_dir since entry_count skipped_lines locks reclaimed");
    let locks = run.get("locks");
    let mut locks = locks.as_array().expect("locks").iter();
    let found = locks.find(|it| it["lock"] == lock);
    found.expect("the lock").clone()
}

#[track_caller]
fn says(found: &Value, fields: &[(&str, Value)]) {
    for (name, expected) in fields {
        assert_eq!(&found[*name], expected, "{name} of {found:#}");
    }
}

#[test]
fn waits_and_holds_have_a_count_and_lengths() {
    let pen = Pen::new();
    let mut text = String::new();
    for turn in 0..20_u32 {
        let (id, at) = (format!("p{turn}"), turn * 100);
        text += &merge(at, "blocked", &id, "");
        text += &merge(at + 30, "blocked", &id, "");
        text += &merge(at + 31 + turn, "acquired", &id, "");
        text += &merge(at + 41 + 2 * turn, "released", &id, "");
    }
    // Held over midnight.
    text += &merge(3000, "acquired", "late", "");
    pen.write("2026-11-30", text);
    pen.write(
        "2026-12-01",
        entry("2026-12-01T08:50:00Z", "merge:released", "late", ""),
    );
    let found = of(&pen, "", "merge");
    says(
        &found,
        &[
            ("waits", json!(20)),
            ("wait_p50", json!(40.0)),
            ("wait_p95", json!(49.0)),
            ("wait_longest", json!(50.0)),
            ("holds", json!(21)),
            ("hold_p50", json!(20.0)),
            ("hold_p95", json!(29.0)),
            ("hold_longest", json!(86_400.0)),
            ("turnless", json!(0)),
            ("turnless_longest", Value::Null),
            ("reclaims", json!(0)),
        ],
    );
    says(
        &of(&pen, "", "build"),
        &[("waits", json!(0)), ("wait_p50", Value::Null)],
    );
    says(
        &of(&pen, "--id p3", "merge"),
        &[("waits", json!(1)), ("wait_p50", json!(34.0))],
    );
    says(
        &of(&pen, "--since 2026-12-01", "merge"),
        &[("holds", json!(0))],
    );
}

#[test]
fn only_the_lock_that_is_asked_for_is_told_of() {
    let pen = Pen::new();
    let run = pen.log("--report --lock build --since @5.5").exits(0);
    let locks = run.get("locks");
    assert_eq!(locks.as_array().map(Vec::len), Some(1));
    assert_eq!(locks[0]["lock"], "build");
    assert_eq!(run.get("since"), json!(5.5));
}

#[test]
fn who_gave_up_waited_until_it_was_seen_last() {
    let pen = Pen::new();
    let text = merge(10, "blocked", "gave-up", "") + &merge(100, "blocked", "gave-up", "");
    pen.write("2026-11-30", text);
    says(
        &of(&pen, "", "merge"),
        &[
            ("turnless", json!(1)),
            ("turnless_longest", json!(90.0)),
            ("turnless_id", json!("gave-up")),
            ("turnless_since", json!(EIGHT + 10.0)),
            ("turnless_waiting", json!(false)),
        ],
    );
}

#[test]
fn who_stands_in_the_queue_waits_still() {
    let pen = Pen::new();
    pen.env.merge(&pen.repo, "acquire --as a").exits(0);
    pen.env.merge(&pen.repo, "acquire --as b").exits(75);
    let call = |args: &str| {
        pen.env.locks(
            &pen.repo,
            &format!("build acquire --max-slots 1 --as {args}"),
        )
    };
    call("x").exits(0);
    call("y").exits(75);
    for (lock, id) in [("merge", "b"), ("build", "y")] {
        let found = of(&pen, "", lock);
        says(
            &found,
            &[("turnless", json!(1)), ("turnless_waiting", json!(true))],
        );
        assert!(
            found["turnless_id"].as_str().unwrap().starts_with(id),
            "{found:#}"
        );
        let since = found["turnless_since"].as_f64().expect("since");
        assert!((now() - 60.0..=now()).contains(&since), "{found:#}");
    }
    pen.env.merge(&pen.repo, "release --as b").exits(0);
    says(
        &of(&pen, "", "merge"),
        &[("turnless_waiting", json!(false))],
    );
}

#[test]
fn a_reclaim_says_who_was_reclaimed() {
    let pen = Pen::new();
    plan(&pen.repo, "b");
    hold(&pen.repo, "gone\n");
    queue_of(&pen.repo, &["gone"]);
    pen.env.merge(&pen.repo, "acquire --as b").exits(0);
    pen.write(
        "2026-11-30",
        entry(
            "2026-11-30T08:00:00Z",
            "build:reaped-stale",
            "p:1",
            "held=1300",
        ),
    );
    let run = pen.log("--report").exits(0);
    let reclaimed = run.get("reclaimed");
    let rows: Vec<(&Value, &Value, &Value)> = reclaimed
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| (&it["lock"], &it["id"], &it["by"]))
        .collect();
    let expected = [
        (json!("build"), json!("p:1"), Value::Null),
        (json!("merge"), json!("gone"), json!("b")),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(lock, id, by)| (lock, id, by))
        .collect();
    assert_eq!(rows, expected);
    says(
        &of(&pen, "", "merge"),
        &[("reclaims", json!(1)), ("holds", json!(0))],
    );
    says(&of(&pen, "--id gone", "merge"), &[("reclaims", json!(1))]);
    says(&of(&pen, "--id other", "merge"), &[("reclaims", json!(0))]);
}

#[test]
fn people_read_sentences() {
    let pen = Pen::new();
    let text = merge(0, "blocked", "a", "")
        + &merge(90, "acquired", "a", "")
        + &merge(100, "released", "a", "");
    pen.write("2026-11-30", text);
    let run = pen
        .env
        .locks(&pen.repo, "--format human log --report")
        .exits(0);
    assert_eq!(
        run.stdout,
        "The merge lock\n  waits:     1; half 1m at most, 95% 1m at most, the longest 1m\n  \
         holds:     1; half 10s at most, 95% 10s at most, the longest 10s\n  turnless:  0\n"
    );
}
