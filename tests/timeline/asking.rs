//! Questions that make no sense.

use crate::pen::Pen;

#[test]
fn what_makes_no_sense_is_a_usage_error_with_what_would() {
    let pen = Pen::new();
    for (args, error, hint) in [
        ("--since soon", "--since: 'soon' is not a time", "12h"),
        (
            "--since=-5m",
            "--since: '-5m' is not a time",
            "2026-11-30T08:00:00Z",
        ),
        ("--since 90000d", "--since: '90000d' is not a time", "7d"),
        (
            "--lock repo",
            "--lock: 'repo' is not a lock",
            "merge, build and rate-window",
        ),
        (
            "--event a/b",
            "--event: 'a/b' is not an event",
            "merge:acquired",
        ),
    ] {
        for follow in ["", " --follow"] {
            let run = pen
                .log(&format!("{args}{follow}"))
                .exits(2)
                .one_line_error();
            assert_eq!(run.text("error"), error);
            assert_eq!(run.text("error_code"), "INVALID_INPUT");
            assert!(run.text("hint").contains(hint), "{run:#?}");
        }
    }
}

#[test]
fn an_event_that_only_others_may_tell_of_is_noted() {
    let pen = Pen::new();
    for (event, noted) in [
        ("acquird", true),
        ("merge:acquird", true),
        ("acquired", false),
    ] {
        let run = pen.log(&format!("--event {event}")).exits(0);
        assert_eq!(run.stderr.contains("acquired, blocked"), noted, "{run:#?}");
    }
    let run = pen.log("-q --event acquird").exits(0);
    assert_eq!(run.stderr, "");
}

#[test]
fn what_contradicts_itself_is_refused() {
    let pen = Pen::new();
    for args in [
        "--report --follow",
        "--report -n 3",
        "--report --event acquired",
        "-n -1",
        "-n x",
    ] {
        let run = pen.log(args).exits(2).one_line_error();
        assert_eq!(run.text("error_code"), "INVALID_INPUT", "{args}");
    }
}

#[test]
fn a_timeline_that_is_no_directory_cannot_be_read() {
    let pen = Pen::new();
    std::fs::remove_dir(pen.logs()).expect("removed");
    std::fs::write(pen.logs(), "").expect("a file");
    for args in ["", "--report", "--follow"] {
        let run = pen.log(args).exits(128).one_line_error();
        assert!(run.text("error").contains("logs'"), "{run:#?}");
    }
}
