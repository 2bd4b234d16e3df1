//! What other programs wrote is read leniently and kept to the byte.

use super::*;
use crate::participant::Kind;

fn snapshot(text: &str) -> Snapshot {
    Snapshot::of(Document::parse(text.as_bytes()))
}

fn moment(wall: f64) -> Moment {
    Moment {
        wall,
        boot: Some(1.5),
    }
}

fn record() -> Record {
    Record {
        who: Participant {
            kind: Kind::Attached,
            host: Arc::new(Host::here()),
            ticket: moment(10.25),
            queued_ts: 9.5,
            user: 7,
            inferred: true,
            checkout: Some("c".to_owned()),
            workplace: None,
            reason: Some("why\n".to_owned()),
            ttl: Some(60.0),
            lease: None,
            process: None,
            presence: Some("p".to_owned()),
            token: None,
            grant: None,
        },
        slots: 2,
        limit: 600,
        slot: None,
        since: None,
        claimed: false,
        passed: false,
        told: false,
        command: Some("make -j".to_owned()),
    }
}

fn fresh() -> Entry {
    Entry {
        id: "alpha:1".to_owned(),
        ts: 12.0,
        project_root: Some("/r \u{e9}".to_owned()),
        active_since: None,
        record: Recorded::As(Arc::new(record())),
        raw: "".into(),
    }
}

fn keys(raw: &str) -> Vec<String> {
    let fields = Document::of_value(raw);
    fields.entries().map(|(key, _)| key.to_owned()).collect()
}

/// What `state` says once it was written over `before`, and the document.
fn written(before: &Snapshot, state: &mut BuildState) -> (Snapshot, String) {
    let text = before.written(state, 100.0).to_text();
    (snapshot(&text), text)
}

#[test]
fn what_is_written_is_read_again() {
    let held = Entry {
        active_since: Some(13.5),
        record: Recorded::As(Arc::new(Record {
            slot: Some(2),
            since: Some(moment(13.5)),
            claimed: true,
            passed: true,
            told: false,
            ..record()
        })),
        ..fresh()
    };
    let mut state = BuildState {
        active: vec![held],
        waiting: vec![fresh()],
        run_log: vec![Logged {
            id: "b:2".to_owned(),
            raw: "".into(),
            plan_id: "b".to_owned(),
            ts: 3.0,
        }],
    };
    let (read, text) = written(&snapshot(""), &mut state);
    assert_eq!(read.state, state, "and how it stands in the file, too");
    assert_eq!(keys(&text), ["active", "waiting", "run_log"]);
    let order = [
        "id",
        "plan_id",
        "ts",
        "project_root",
        "active_since",
        "git_locks",
    ];
    assert_eq!(keys(&state.active[0].raw), order);
    assert!(!keys(&state.waiting[0].raw).contains(&"active_since".to_owned()));
    assert!(state.waiting[0].raw.contains(r#""plan_id": "alpha""#));
    assert!(
        !state.waiting[0].raw.contains("claimed"),
        "what is false is left out"
    );
}

#[test]
fn a_file_of_another_shape_is_read_as_far_as_it_goes() {
    let odd = r#"{"active": {"id": "x:1"}, "waiting": [
        1, {"id": 7}, {"plan_id": "y"}, {"id": "a:1", "ts": "soon", "project_root": 3, "active_since": true},
        {"id": "b:1", "id": "c:1", "ts": 5, "git_locks": null}], "run_log": [3, {"id": "l:1"}]}"#;
    let read = snapshot(odd).state;
    assert!(read.active.is_empty());
    let waiting: Vec<_> = read.waiting.iter().map(|e| (e.id.as_str(), e.ts)).collect();
    assert_eq!(waiting, [("a:1", 0.0), ("c:1", 5.0)]);
    assert_eq!(read.waiting[0].project_root, None);
    assert_eq!(read.waiting[0].active_since, None);
    assert_eq!(read.waiting[1].record, Recorded::Not);
    let log: Vec<_> = read.run_log.iter().map(|line| line.id.as_str()).collect();
    assert_eq!(log, ["", "l:1"]);
}

#[test]
fn a_record_that_this_version_cannot_read_is_unreadable_and_stays() {
    let mut state = BuildState {
        active: Vec::new(),
        waiting: vec![fresh()],
        run_log: Vec::new(),
    };
    let (_, text) = written(&snapshot(""), &mut state);
    assert!(matches!(
        snapshot(&text).state.waiting[0].record,
        Recorded::As(_)
    ));
    let newer = text.replace(r#"{"format":1"#, r#"{"format":2"#);
    assert_ne!(newer, text);
    for odd in [newer, text.replace(r#""slots":2"#, r#""slots":[2]"#)] {
        let read = snapshot(&odd);
        assert_eq!(read.state.waiting[0].record, Recorded::Unreadable);
        let mut next = read.state.clone();
        next.active.append(&mut next.waiting);
        let (_, text) = written(&read, &mut next);
        let before = Document::of_value(&read.state.waiting[0].raw);
        let after = Document::of_value(&snapshot(&text).state.active[0].raw);
        assert_eq!(after.get(RECORD), before.get(RECORD));
    }
}

#[test]
fn what_does_not_change_is_kept_to_the_byte_and_in_place() {
    let theirs = r#"{"x":  [1.10e2], "id": "a:1", "ts": 1e1, "mood": null, "plan_id":"a"}"#;
    let text = format!(r#"{{"top": 1.0, "waiting": [{theirs}], "active": [{theirs}]}}"#);
    let read = snapshot(&text);
    let mut next = read.state.clone();
    next.waiting.push(fresh());
    let (_, text) = written(&read, &mut next);
    assert_eq!(keys(&text), ["top", "waiting", "active", "run_log"]);
    assert_eq!(&*next.waiting[0].raw, theirs);
    let given = r#"{"x": [1.10e2], "id": "a:1", "ts": 1e1, "mood": null, "plan_id": "a", "active_since": 100.0}"#;
    assert_eq!(
        next.active[0].raw.replace("  ", " "),
        given,
        "filled in when it is written"
    );
    // Back among those who wait, it loses what it was given.
    let read = snapshot(&text);
    let mut next = read.state.clone();
    let mut back = next.active.remove(0);
    back.active_since = None;
    next.waiting.insert(0, back);
    written(&read, &mut next);
    assert!(!next.waiting[0].raw.contains("active_since"));
    assert!(next.waiting[0].raw.contains("[1.10e2]"));
}

#[test]
fn an_entry_of_another_state_is_put_back_as_it_is() {
    let theirs = r#"{"id":"a:1","ts":1e1,"x":2}"#;
    let lost = snapshot(&format!(r#"{{"active": [{theirs}]}}"#))
        .state
        .active
        .remove(0);
    let mut next = BuildState {
        waiting: vec![lost.clone()],
        ..BuildState::default()
    };
    written(&snapshot(""), &mut next);
    assert_eq!(&*next.waiting[0].raw, theirs);
    let mut next = BuildState {
        waiting: vec![Entry {
            id: "b:9".to_owned(),
            ..lost
        }],
        ..BuildState::default()
    };
    written(&snapshot(""), &mut next);
    assert_eq!(
        &*next.waiting[0].raw,
        r#"{"id": "b:9", "ts": 1e1, "x": 2, "plan_id": "b"}"#
    );
}

#[test]
fn a_log_keeps_lines_it_does_not_know() {
    let read = snapshot(r#"{"run_log": [ {"id": "l:1", "z": 1.50}, "odd"]}"#);
    let mut next = read.state.clone();
    next.run_log.push(Logged {
        id: "m:1".to_owned(),
        raw: "".into(),
        plan_id: "m".to_owned(),
        ts: 2.0,
    });
    let (_, text) = written(&read, &mut next);
    let document = Document::parse(text.as_bytes());
    let lines = document::array(document.get("run_log").expect("there"));
    let new = r#"{"id": "m:1", "plan_id": "m", "ts": 2.0}"#;
    assert_eq!(
        lines.expect("a list"),
        [r#"{"id": "l:1", "z": 1.50}"#, "\"odd\"", new]
    );
}

#[test]
fn those_behind_are_counted_and_not_read() {
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().join("queue.json");
    let text = r#"{"active": [{"id": "a:1"}], "run_log": [{"id": "l:1"}], "waiting": [
        {"id": "w:1"}, {"id": 7}, {"id": "w:2"}, {"no": "id"}, {"id": "w:3"}, 5, {"id": ""},
        {"id": "w:5", "id": "w:6"}, {"id": 8, "id": "w:7"}, {"id": "w:8", "id": 9}]}"#;
    std::fs::write(&path, text).expect("written");
    let whole = Snapshot::load(&path).expect("read").state;
    for limit in [0, 1, 2, 3, 100] {
        let ahead = Ahead::load(&path, limit).expect("read");
        assert_eq!(ahead.waiting, whole.waiting.len(), "{limit}");
        assert_eq!(ahead.state.active, whole.active);
        let first: Vec<Entry> = whole.waiting.iter().take(limit).cloned().collect();
        assert_eq!(ahead.state.waiting, first);
        assert!(!ahead.corrupt);
    }
    std::fs::write(&path, "[]").expect("written");
    assert!(Ahead::load(&path, 9).expect("read").corrupt);
}

#[test]
fn a_file_in_which_something_is_odd_reads_the_same_from_the_front() {
    let odd: [&[u8]; 17] = [
        b"",
        b" \n",
        b"{}",
        b"\x0c{\"waiting\": [{\"id\": \"w:1\"}]}",
        b"[]",
        br#"[[{"id": "a:1"}], [{"id": "w:1"}]]"#,
        br#" {"waiting": [{"id": "w:1"}]} "#,
        br#"{"waiting": [{"id": "w:1"}]} x"#,
        br#"{"waiting": [{"id": "w:1"}], "active": 5}"#,
        br#"{"waiting": null, "active": [{"id": "a:1"}]}"#,
        br#"{"waiting": {"id": "w:1"}}"#,
        br#"{"waiting": [{"id": "w:1"}], "waiting": [{"id": "w:2"}, {"id": "w:3"}]}"#,
        br#"{"waiting": [{"id": "w:1"}], "waiting": 5}"#,
        br#"{"x": 1, "x": {"y": [2]}, "\u0077aiting": [{"id": "w:1"}, {"id": "w:2"}]}"#,
        b"{\"x\": \"\xff\", \"waiting\": [{\"id\": \"w:1\"}]}",
        b"\xef\xbb\xbf{\"waiting\": [{\"id\": \"w:1\"}]}",
        br#"{"x": 01, "waiting": [{"id": "w:1"}]}"#,
    ];
    for bytes in odd {
        let whole = Snapshot::of(Document::parse(bytes));
        for limit in [0, 1, 9] {
            let ahead = Ahead::parse(bytes, limit);
            let shown = String::from_utf8_lossy(bytes);
            assert_eq!(ahead.corrupt, whole.document.corrupt, "{shown}");
            assert_eq!(ahead.state.active, whole.state.active, "{shown}");
            assert_eq!(ahead.waiting, whole.state.waiting.len(), "{shown}");
            let first = whole.state.waiting.iter().take(limit);
            assert!(first.eq(&ahead.state.waiting), "{shown}");
        }
    }
}
