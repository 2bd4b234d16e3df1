//! What is listed: everything, or what is asked for.

use serde_json::json;

use crate::pen::{EIGHT, Pen, entries, entry, ids, merge};

#[test]
fn an_entry_is_given_as_it_was_read() {
    let pen = Pen::new();
    pen.write(
        "2026-11-30",
        merge(90, "blocked", "b", "holder=a waiting_count=2"),
    );
    let run = pen.log("").exits(0);
    let run = run.fields("status log_dir omitted skipped_lines entries");
    let run = run.says(&[
        ("status", json!("success")),
        ("log_dir", json!(pen.logs().to_str())),
        ("omitted", json!(0)),
        ("skipped_lines", json!(0)),
    ]);
    let expected = json!({
        "time": EIGHT + 90.0,
        "level": "INFO",
        "lock": "merge",
        "event": "blocked",
        "id": "b",
        "fields": {"holder": "a", "waiting_count": "2"},
    });
    assert_eq!(entries(&run), [expected]);
}

#[test]
fn what_our_own_commands_write_is_there() {
    let pen = Pen::new();
    pen.env.merge(&pen.repo, "acquire --as a").exits(0);
    pen.env.merge(&pen.repo, "acquire --as b").exits(75);
    pen.env.merge(&pen.repo, "release --as a").exits(0);
    let run = pen.log("").exits(0);
    let told: Vec<String> = entries(&run)
        .iter()
        .map(|it| {
            format!(
                "{} {}",
                it["event"].as_str().unwrap(),
                it["id"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(told, ["acquired a", "blocked b", "released a"]);
    assert_eq!(entries(&run)[1]["fields"]["holder"], json!("a"));
}

#[test]
fn days_come_one_after_another_the_newest_last() {
    let pen = Pen::new();
    for day in ["2026-12-01", "2026-11-09", "2025-12-31", "2026-11-30"] {
        pen.write(day, merge(0, "acquired", day, ""));
    }
    let expected = ["2025-12-31", "2026-11-09", "2026-11-30", "2026-12-01"];
    assert_eq!(pen.ids(""), expected);
}

#[test]
fn nothing_is_no_failure() {
    let pen = Pen::new();
    assert_eq!(pen.ids(""), [""; 0]);
    std::fs::remove_dir_all(pen.repo.join(".plan")).expect("removed");
    assert_eq!(pen.ids(""), [""; 0]);
    pen.log("--report").exits(0);
    assert!(!pen.repo.join(".plan").exists(), "asking makes nothing");
    // Outside a repository, the user's own is told.
    let outside = pen.env.mkdir("outside");
    let call = pen.env.call(&outside).args("--format json log");
    let run = call.run().exits(0);
    assert!(
        run.text("log_dir")
            .starts_with(pen.env.path("home").to_str().unwrap())
    );
}

#[test]
fn every_part_of_the_question_counts() {
    let pen = Pen::new();
    let all = merge(0, "acquired", "a", "")
        + &merge(10, "blocked", "b", "")
        + &merge(20, "released", "a", "")
        + &merge(30, "reclaimed", "c", "reclaimed_from=b")
        + &entry("2026-11-30T09:00:00Z", "build:acquired", "a:1", "")
        + &entry("2026-11-30T09:00:00Z", "rate-window:claimed", "b", "");
    pen.write("2026-11-30", all);
    for (args, expected) in [
        ("--lock build", &["a:1"][..]),
        ("--lock rate-window", &["b"]),
        ("--id a", &["a", "a", "a:1"]),
        ("--id a:1", &["a:1"]),
        ("--id b", &["b", "c", "b"]),
        ("--event acquired", &["a", "a:1"]),
        ("--event merge:acquired", &["a"]),
        ("--event nothing", &[]),
        ("--since 2026-11-30T08:00:20Z --lock merge", &["a", "c"]),
        ("--since 2026-11-30T09:00", &["a:1", "b"]),
        ("--since 2026-11-30T10:00:00+01:00", &["a:1", "b"]),
        ("--since 2026-12-01", &[]),
        ("--since @1796025630 --id a", &["a:1"]),
        ("-n 2", &["a:1", "b"]),
        ("--number 0", &[]),
        ("-n 1 --id a --lock merge", &["a"]),
        ("-n 99", &["a", "b", "a", "c", "a:1", "b"]),
    ] {
        assert_eq!(pen.ids(args), expected, "{args}");
    }
    assert_eq!(pen.log("-n 2").get("omitted"), json!(4));
}

#[test]
fn what_is_younger_is_counted_from_now() {
    let pen = Pen::new();
    pen.write("2026-11-30", merge(0, "acquired", "old", ""));
    pen.env.merge(&pen.repo, "acquire --as young").exits(0);
    assert_eq!(pen.ids("--since 1h"), ["young"]);
}

#[test]
fn people_see_one_line_each() {
    let pen = Pen::new();
    let text = merge(0, "acquired", "a", "lock_file=/x waiting_count=1")
        + &merge(
            75,
            "blocked",
            "beta",
            "holder=a waiter=beta waiting_count=2",
        );
    pen.write("2026-11-30", text);
    let run = pen.env.locks(&pen.repo, "--format human log").exits(0);
    assert_eq!(
        run.stdout,
        "2026-11-30T08:00:00Z  merge:acquired  a     waiting_count=1\n\
         2026-11-30T08:01:15Z  merge:blocked   beta  holder=a  waiting_count=2\n"
    );
    let run = pen.env.locks(&pen.repo, "log -n 1").exits(0);
    assert!(run.stdout.starts_with("status: success\n"), "{run:#?}");
    assert!(
        run.stdout
            .contains("1796025675,INFO,merge,blocked,beta,a,beta,\"2\""),
        "{run:#?}"
    );
}

#[test]
fn it_takes_no_plan_base_for_a_repository() {
    let pen = Pen::new();
    let base = pen.env.mkdir("elsewhere/local");
    let call = || pen.env.call(&pen.repo).env("PLAN_BASE_DIR", &base);
    call().args("merge acquire --as there").run().exits(0);
    let run = call().args("--format json log").run().exits(0);
    assert_eq!(ids(&run), ["there"]);
    assert_eq!(pen.ids(""), [""; 0]);
}
