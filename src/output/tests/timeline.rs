//! What has happened, in the human form, word for word; and one entry after another.

use super::samples::timeline as s;
use super::*;
use crate::report::*;

#[test]
fn one_aligned_line_for_each_entry() {
    reads(
        &Report::Timeline(s::timeline()),
        &[
            "2025-11-30T15:26:55Z  merge:acquired      alpha            waiting_count=1",
            "2025-11-30T15:26:55Z  merge:blocked       beta             holder=alpha  waiting_count=2",
            "2025-11-30T15:26:55Z  build:reaped-stale  alpha:0f0e4c52…  held=1300.5  threshold=1200",
            "2025-11-30T15:26:55Z  merge:released      alpha",
        ],
    );
    reads(
        &Report::Timeline(s::nothing()),
        &["Nothing that was asked for is told in /r/.plan/logs."],
    );
}

#[test]
fn what_is_too_long_does_not_push_all_others_aside() {
    let long = "x".repeat(70);
    let report = Timeline {
        entries: vec![
            s::entry("merge:acquired", "alpha", &[("a", "1")]),
            s::entry("merge:acquired", &long, &[("a", "1")]),
        ],
        ..s::alike()
    };
    reads(
        &Report::Timeline(report),
        &[
            "2025-11-30T15:26:55Z  merge:acquired  alpha  a=1",
            &format!("2025-11-30T15:26:55Z  merge:acquired  {long}  a=1"),
        ],
    );
}

#[test]
fn the_waiter_is_named_where_it_is_not_who_the_line_is_about() {
    let said = human(&Report::TimelineEntry(s::entry(
        "build:blocked",
        "beta:1",
        &[("waiter", "beta")],
    )));
    assert!(said.ends_with("  waiter=beta\n"), "{said}");
}

#[test]
fn each_kind_has_a_colour_and_the_columns_stay() {
    let bright = Style {
        color: true,
        now: NOW,
        columns: None,
    };
    for (event, level, color) in [
        ("merge:acquired", "INFO", "32"),
        ("rate-window:claimed", "INFO", "32"),
        ("merge:blocked", "INFO", "33"),
        ("merge:reclaimed", "INFO", "31"),
        ("build:reaped-stale", "WARNING", "31"),
        ("merge:released", "INFO", "36"),
        ("other:event", "ERROR", "31"),
        ("other:event", "INFO", ""),
    ] {
        let report = || {
            Report::TimelineEntry(TimelineEntry {
                level: level.into(),
                ..s::entry(event, "alpha", &[("a", "1")])
            })
        };
        let painted = render(&report(), Format::Human, &bright);
        let plain = human(&report());
        if color.is_empty() {
            assert_eq!(painted, plain);
            continue;
        }
        let (start, end) = (format!("\u{1b}[{color}m"), "\u{1b}[0m");
        assert!(painted.contains(&format!("{start}{event}")), "{painted:?}");
        assert_eq!(painted.replace(&start, "").replace(end, ""), plain);
    }
}

#[test]
fn how_long_was_waited_and_held() {
    reads(
        &Report::TimelineSummary(s::summary()),
        &[
            "The merge lock",
            "  waits:     12; half 3s at most, 95% 2m at most, the longest 12m",
            "  holds:     1; half 40s at most, 95% 40s at most, the longest 40s",
            "  turnless:  2; the longest beta, for 12m, since 2025-11-30T15:26:55Z, and waits still",
            "  reclaims:  2",
            "Reclaimed: merge from gone, by beta, at 2025-11-30T14:39:00Z",
            "Reclaimed: build from gone, at 2025-11-30T14:39:00Z",
        ],
    );
    let gave_up = TimelineSummary {
        locks: vec![LockTimes {
            turnless_waiting: Some(false),
            reclaims: 0,
            ..s::times("beta")
        }],
        reclaimed: Vec::new(),
        ..s::summary()
    };
    let said = human(&Report::TimelineSummary(gave_up));
    assert!(said.ends_with(", and was not seen since\n"), "{said}");
    reads(
        &Report::TimelineSummary(s::empty_summary()),
        &["Nobody has waited or held, as far as is told in /r/.plan/logs."],
    );
}

#[test]
fn one_after_another_each_can_be_told_from_the_next() {
    let one = |format| render_one(&Report::TimelineEntry(s::blocked()), format, &PLAIN);
    assert_eq!(
        one(Format::Human),
        "2025-11-30T15:26:55Z  merge:blocked        beta                            holder=alpha  \
         waiting_count=2\n"
    );
    assert_eq!(
        one(Format::Json),
        r#"{"time":1764516415.0,"level":"INFO","lock":"merge","event":"blocked","id":"beta","#
            .to_owned()
            + r#""fields":{"lock_file":"/r/.plan/local/merge.lock","holder":"alpha","#
            + r#""waiter":"beta","waiting_count":"2"}}"#
            + "\n"
    );
    assert_eq!(
        one(Format::Toon),
        "time: 1764516415\nlevel: INFO\nlock: merge\nevent: blocked\nid: beta\nfields:\n  \
         lock_file: /r/.plan/local/merge.lock\n  holder: alpha\n  waiter: beta\n  \
         waiting_count: \"2\"\n\n"
    );
}

#[test]
fn nothing_steers_a_terminal_or_breaks_out_of_its_line() {
    let mut reports = s::all();
    reports.push(Report::TimelineEntry(s::hostile()));
    for report in reports {
        let said = human(&report);
        let shown = crate::text::visible(&said.replace('\n', ""));
        assert_eq!(shown, said.replace('\n', ""));
    }
    for format in [Format::Human, Format::Json] {
        let one = render_one(&Report::TimelineEntry(s::hostile()), format, &PLAIN);
        assert_eq!(one.lines().count(), 1, "{one}");
        assert_eq!(crate::text::visible(one.trim_end()), one.trim_end());
    }
    let one = render_one(&Report::TimelineEntry(s::hostile()), Format::Toon, &PLAIN);
    let (document, rest) = one.split_once("\n\n").expect("an empty line");
    assert_eq!(rest, "");
    let read: serde_json::Value = toon_format::decode_default(document).expect("TOON");
    assert_eq!(read["fields"]["evil[2J\nx"], "evil[2J\nx");
}
