use proptest::prelude::*;

use super::*;

const HERE: &str = "Box.example.org";

fn sentinel() -> Sentinel {
    Sentinel {
        pid: 4242,
        host: "box".into(),
        process_create_time: Some(1000.0),
        acquired_at: 1_764_517_140.25,
        workspace: "/r/wt".into(),
        command: "make all".into(),
    }
}

fn runs_since(started: f64) -> impl Fn(i32) -> OwnerSight {
    move |_| OwnerSight::Running {
        started: Some(started),
    }
}

fn gone(_: i32) -> OwnerSight {
    OwnerSight::Gone
}

#[test]
fn it_is_one_line_of_the_fields_in_their_order() {
    assert_eq!(
        sentinel().render(),
        "{\"pid\":4242,\"host\":\"box\",\"process_create_time\":1000.0,\
         \"acquired_at\":1764517140.25,\"workspace\":\"/r/wt\",\"command\":\"make all\"}\n"
    );
    let unknown = Sentinel {
        process_create_time: None,
        ..sentinel()
    };
    assert!(
        unknown
            .render()
            .contains("\"process_create_time\":null,\"acquired_at\"")
    );
}

#[test]
fn only_pid_and_host_are_needed() {
    let read = Sentinel::parse(br#"{"pid": 7, "host": "a"}"#).expect("well formed");
    assert_eq!((read.pid, read.host.as_str()), (7, "a"));
    assert_eq!((read.process_create_time, read.since()), (None, None));
    let odd = br#"{"more": [], "pid": -7, "host": "", "process_create_time": "x",
        "acquired_at": {}, "workspace": 5, "command": null}"#;
    let read = Sentinel::parse(odd).expect("well formed");
    assert_eq!(read.pid, -7);
    assert_eq!((read.workspace.as_str(), read.command.as_str()), ("", ""));
}

#[test]
fn what_is_malformed() {
    let cases: [&[u8]; 14] = [
        b"",
        b"\0\0\0",
        b"{",
        b"4242",
        b"[{\"pid\": 7, \"host\": \"a\"}]",
        b"null",
        b"{\"host\": \"a\"}",
        b"{\"pid\": 7}",
        b"{\"pid\": \"7\", \"host\": \"a\"}",
        b"{\"pid\": 7.5, \"host\": \"a\"}",
        b"{\"pid\": true, \"host\": \"a\"}",
        b"{\"pid\": 7, \"host\": null}",
        b"{\"pid\": 7, \"host\": \"\xff\"}",
        b"{\"pid\": 7, \"host\": \"a\"} {}",
    ];
    for case in cases {
        let shown = String::from_utf8_lossy(case);
        assert_eq!(Sentinel::parse(case), None, "{shown}");
    }
    let long = format!("{{\"pid\": 7, \"host\": \"{}\"}}", "a".repeat(64 << 10));
    assert_eq!(Sentinel::parse(long.as_bytes()), None);
    let deep = "[".repeat(60_000);
    assert_eq!(Sentinel::parse(deep.as_bytes()), None);
}

#[test]
fn a_time_may_be_a_number_or_a_date() {
    let since = |time: &str| {
        let text = format!("{{\"pid\": 7, \"host\": \"a\", \"acquired_at\": {time}}}");
        Sentinel::parse(text.as_bytes())
            .expect("well formed")
            .since()
    };
    assert_eq!(since("1577836800"), Some(1_577_836_800.0));
    assert_eq!(since("\"2020-01-01T00:00:00Z\""), Some(1_577_836_800.0));
    assert_eq!(
        since("\"2020-01-01T01:00:00.5+01:00\""),
        Some(1_577_836_800.5)
    );
    assert_eq!(since("\"yesterday\""), None);
    assert_eq!(since("-5"), None);
}

#[test]
fn an_owner_has_ended_when_its_number_is_free_or_anothers() {
    let alive = |started| is_owner_alive(&sentinel(), HERE, runs_since(started));
    assert!(alive(1000.0));
    assert!(alive(999.0) && alive(1001.0), "within the tolerance");
    assert!(!alive(998.9) && !alive(1001.1), "another process");
    assert!(!is_owner_alive(&sentinel(), HERE, gone));
}

#[test]
fn what_cannot_be_told_counts_as_alive() {
    let started_unseen = |_| OwnerSight::Running { started: None };
    assert!(is_owner_alive(&sentinel(), HERE, started_unseen));
    assert!(is_owner_alive(&sentinel(), HERE, |_| OwnerSight::Hidden));
    let unrecorded = Sentinel {
        process_create_time: None,
        ..sentinel()
    };
    assert!(is_owner_alive(&unrecorded, HERE, runs_since(5.0)));
}

#[test]
fn hosts_are_compared_by_their_bare_names() {
    let alive = |host: &str| {
        let owner = Sentinel {
            host: host.into(),
            ..sentinel()
        };
        is_owner_alive(&owner, HERE, gone)
    };
    for here in ["box", "BOX", "box.local", "Box.Example.Org", "box.other"] {
        assert!(!alive(here), "{here} is this host");
    }
    for elsewhere in ["boxer", "ox", "example", "", "7"] {
        assert!(alive(elsewhere), "{elsewhere} is another host");
    }
}

#[test]
fn a_number_that_no_process_can_have_is_gone() {
    let owner = |pid: &str| {
        let text = format!("{{\"pid\": {pid}, \"host\": \"box\"}}");
        Sentinel::parse(text.as_bytes()).expect("well formed")
    };
    let running = |_| OwnerSight::Running { started: None };
    for pid in ["2147483648", "99999999999", "18446744073709551615"] {
        assert!(!is_owner_alive(&owner(pid), HERE, running), "{pid}");
    }
    assert!(is_owner_alive(&owner("2147483647"), HERE, running));
}

#[test]
fn classes() {
    let text = sentinel().render();
    let class = |content: Option<&str>, held, sight: &dyn Fn(i32) -> OwnerSight| {
        classify(content.map(str::as_bytes), held, HERE, sight)
    };
    let (fine, malformed) = (Some(text.as_str()), Some("{}"));
    let runs = runs_since(1000.0);
    assert_eq!(class(None, false, &gone), WorktreeClass::NoLockFile);
    assert_eq!(class(fine, false, &runs), WorktreeClass::Idle);
    assert_eq!(class(fine, false, &gone), WorktreeClass::Stale);
    assert_eq!(class(malformed, false, &runs), WorktreeClass::Orphan);
    // The kernel's word counts, whatever stands in the file.
    assert_eq!(class(fine, true, &gone), WorktreeClass::Live);
    assert_eq!(class(malformed, true, &gone), WorktreeClass::Live);
    assert_eq!(class(Some(""), true, &gone), WorktreeClass::Live);
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        pid in any::<i64>(),
        host in ".{0,40}",
        started in proptest::option::of(0.0..4e9_f64),
        acquired_at in 0.0..4e9_f64,
        workspace in ".{0,80}",
        command in ".{0,80}",
    ) {
        let written = Sentinel { pid, host, process_create_time: started, acquired_at, workspace, command };
        let text = written.render();
        prop_assert_eq!(text.matches('\n').count(), 1);
        prop_assert_eq!(Sentinel::parse(text.as_bytes()), Some(written));
    }

    #[test]
    fn the_worst_of_commands_leaves_a_sentinel_that_can_be_read(
        length in 0..200_000_usize,
        odd in prop::sample::select(vec!['\u{1}', '"', '\\', 'a', '\u{10ffff}']),
    ) {
        let path: String = std::iter::repeat_n('\u{1}', 4096).collect();
        let command: String = std::iter::repeat_n(odd, length).collect();
        let written = Sentinel { workspace: path, host: "\u{1}".repeat(255), command, ..sentinel() };
        prop_assert!(Sentinel::parse(written.render().as_bytes()).is_some());
    }

    #[test]
    fn no_bytes_are_too_much(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Sentinel::parse(&bytes);
    }

    #[test]
    fn a_held_lock_is_live_and_a_dead_owner_is_never_idle(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        pid in any::<i64>(),
    ) {
        let owner = Sentinel { pid, host: HERE.into(), ..sentinel() }.render();
        for content in [bytes.as_slice(), owner.as_bytes()] {
            prop_assert_eq!(classify(Some(content), true, HERE, gone), WorktreeClass::Live);
            let class = classify(Some(content), false, HERE, gone);
            prop_assert!(matches!(class, WorktreeClass::Stale | WorktreeClass::Orphan));
        }
    }
}
