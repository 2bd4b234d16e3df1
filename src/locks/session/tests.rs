//! What is read, said and decided, by example.

use super::*;

mod frozen;
mod modes;
mod properties;
mod state_md;

/// When everything in these tests happens, unless they say otherwise.
const NOW: f64 = 1_779_876_000.0;
const HOUR: f64 = 3600.0;

fn host(machine: Option<&str>, name: Option<&str>) -> Host {
    Host {
        machine_id: machine.map(str::to_owned),
        name: name.map(str::to_owned),
        ..Host::default()
    }
}

fn terms(id: &str) -> Terms {
    Terms {
        session_id: id.to_owned(),
        mode: "deep".to_owned(),
        ttl_hours: 4.0,
        semantic_session_id: None,
        host: host(Some("m"), Some("box")),
        pid: 7,
    }
}

fn lease(id: &str) -> Lease {
    Lease::begin(&terms(id), NOW)
}

/// The lease as the content of a file.
fn rendered(lease: &Lease) -> String {
    let keys = lease.fields().into_iter();
    let keys = keys.filter_map(|(key, text)| Some(format!("\"{key}\": {}", text?)));
    format!("{{{}}}", keys.collect::<Vec<_>>().join(", "))
}

#[test]
fn a_new_lease_is_written_key_by_key_in_order() {
    let all = Terms {
        semantic_session_id: Some("main \"1\"".to_owned()),
        ..terms("a")
    };
    assert_eq!(
        rendered(&Lease::begin(&all, NOW + 0.25)),
        r#"{"session_id": "a", "started_at": "2026-05-27T10:00:00.250Z", "last_heartbeat": "2026-05-27T10:00:00.250Z", "mode": "deep", "pid": 7, "host": "box", "ttl_hours": 4, "semantic_session_id": "main \"1\"", "machine_id": "m"}"#
    );
    let bare = Terms {
        host: Host::default(),
        ttl_hours: 0.1,
        ..terms("a")
    };
    assert_eq!(
        rendered(&Lease::begin(&bare, NOW)),
        r#"{"session_id": "a", "started_at": "2026-05-27T10:00:00.000Z", "last_heartbeat": "2026-05-27T10:00:00.000Z", "mode": "deep", "pid": 7, "ttl_hours": 0.1}"#
    );
}

#[test]
fn a_ttl_that_no_file_can_hold_is_left_out() {
    for ttl_hours in [f64::NAN, f64::INFINITY, -1.0] {
        let odd = Lease {
            ttl_hours,
            ..lease("a")
        };
        assert!(!rendered(&odd).contains("ttl_hours"), "{}", rendered(&odd));
    }
}

#[test]
fn a_time_outside_the_years_that_can_be_written_is_the_nearest_inside() {
    let cases = [
        ("0000-01-01T00:00:00+23:30", "0000-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59-23:30", "9999-12-31T23:59:59.999Z"),
    ];
    for (text, expected) in cases {
        let read = time::read(text).expect("a time");
        assert_eq!(time::write(read), expected);
        assert_eq!(time::read(expected), Some(read));
    }
}

#[test]
fn a_lease_says_nothing_of_boots_and_namespaces() {
    let here = Host {
        boot_id: Some("boot".to_owned()),
        pid_ns: Some(1),
        ..host(Some("m"), Some("box"))
    };
    let begun = Lease::begin(
        &Terms {
            host: here,
            ..terms("a")
        },
        NOW,
    );
    assert_eq!(begun.host, host(Some("m"), Some("box")));
}

#[test]
fn a_heartbeat_changes_only_the_heartbeat() {
    let later = lease("a").renewed(NOW + 60.0);
    assert_eq!(later.last_heartbeat, Some(NOW + 60.0));
    let expected = Lease {
        last_heartbeat: later.last_heartbeat,
        ..lease("a")
    };
    assert_eq!(later, expected);
}

#[test]
fn asking_again_keeps_the_start_and_notes_the_rest_anew() {
    let asked = Terms {
        mode: "plan".to_owned(),
        ttl_hours: 1.0,
        pid: 8,
        ..terms("a")
    };
    let again = lease("a").again(&asked, NOW + 60.0);
    let expected = Lease {
        started_at: Some(NOW),
        ..Lease::begin(&asked, NOW + 60.0)
    };
    assert_eq!(again, expected);
    let unknown = Lease {
        started_at: None,
        ..lease("a")
    };
    let again = unknown.again(&asked, NOW + 60.0);
    assert_eq!(again.started_at, Some(NOW + 60.0));
}

#[test]
fn what_has_no_id_or_no_time_is_corrupt() {
    let texts = [
        "",
        " ",
        "{}",
        "[]",
        "null",
        "{\"session_id\": \"a\", \"started_at\": \"2026-05-27T10:00:00Z\"",
        "{\"session_id\": \"a\", \"started_at\": \"2026-05-27T10:00:00Z\"} x",
        r#"{"session_id": "", "started_at": "2026-05-27T10:00:00Z"}"#,
        r#"{"session_id": 1, "started_at": "2026-05-27T10:00:00Z"}"#,
        r#"{"started_at": "2026-05-27T10:00:00Z"}"#,
        r#"{"session_id": "a"}"#,
        r#"{"session_id": "a", "started_at": "yesterday", "last_heartbeat": 1779876000}"#,
    ];
    for text in texts {
        assert_eq!(
            Content::of(Some(text.as_bytes())),
            Content::Corrupt,
            "{text}"
        );
    }
    assert_eq!(Content::of(Some(b"\xff\xfe{")), Content::Corrupt);
    assert_eq!(Content::of(None), Content::Free);
}

#[test]
fn a_lease_that_is_too_long_is_corrupt() {
    let text = rendered(&lease("a"));
    let limit = usize::try_from(LIMIT).expect("a small number");
    let padded = |length: usize| format!("{text}{}", " ".repeat(length - text.len()));
    assert!(Lease::parse(padded(limit).as_bytes()).is_some());
    assert_eq!(Lease::parse(padded(limit + 1).as_bytes()), None);
}

#[test]
fn a_ttl_that_is_none_is_the_default() {
    for ttl in ["null", "\"2\"", "0", "-1", "true", "[2]"] {
        let text = format!(
            r#"{{"session_id": "a", "started_at": "2026-05-27T10:00:00Z", "ttl_hours": {ttl}}}"#
        );
        let lease = Lease::parse(text.as_bytes()).expect("a lease");
        assert!(
            (lease.ttl_hours - DEFAULT_TTL_HOURS).abs() < f64::EPSILON,
            "{ttl}"
        );
    }
}

#[test]
fn a_session_is_active_until_its_ttl_has_passed() {
    let here = host(Some("m"), None);
    let state = |after: f64| judge(&lease("a"), NOW + after, &here).state;
    assert_eq!(state(-1e6), SessionState::Active);
    assert_eq!(state(4.0 * HOUR - 0.001), SessionState::Active);
    assert_eq!(state(4.0 * HOUR), SessionState::Stale);
}

#[test]
fn ages_count_from_the_start_and_from_the_heartbeat() {
    let here = host(Some("m"), None);
    let sight = judge(&lease("a").renewed(NOW + HOUR), NOW + 1.5 * HOUR, &here);
    assert_eq!(sight.age_hours, Some(1.5));
    assert!((sight.heartbeat_age_minutes - 30.0).abs() < 1e-9);
    let unknown = Lease {
        started_at: None,
        ..lease("a")
    };
    assert_eq!(judge(&unknown, NOW, &here).age_hours, None);
    let silent = Lease {
        last_heartbeat: None,
        ..lease("a")
    };
    let sight = judge(&silent, NOW + HOUR, &here);
    assert!((sight.heartbeat_age_minutes - 60.0).abs() < 1e-9);
}

#[test]
fn machine_ids_tell_hosts_apart_and_names_only_where_one_is_missing() {
    let same = |machine, name, here: &Host| {
        let noted = Lease {
            host: host(machine, name),
            ..lease("a")
        };
        judge(&noted, NOW, here).same_host
    };
    let here = host(Some("m"), Some("Box.example.org"));
    assert!(same(Some("m"), Some("renamed"), &here));
    assert!(!same(Some("n"), Some("Box.example.org"), &here));
    assert!(same(None, Some("BOX.local"), &here));
    assert!(!same(None, Some("other"), &here));
    assert!(!same(None, None, &here));
    assert!(!same(None, None, &Host::default()));
}

#[test]
fn another_hosts_place_is_best_taken_only_past_twice_its_ttl() {
    let (here, there) = (host(Some("m"), None), host(Some("n"), None));
    let advice = |after: f64, from: &Host| judge(&lease("a"), NOW + after, from).recommendation;
    assert_eq!(advice(3.9 * HOUR, &here), Recommendation::Abort);
    assert_eq!(advice(4.0 * HOUR, &here), Recommendation::Reclaim);
    assert_eq!(advice(3.9 * HOUR, &there), Recommendation::Abort);
    assert_eq!(advice(8.0 * HOUR, &there), Recommendation::Abort);
    assert_eq!(advice(8.0 * HOUR + 1.0, &there), Recommendation::Reclaim);
}

#[test]
fn only_the_very_same_id_needs_no_consent() {
    let here = host(Some("m"), None);
    let held = Content::Held(Lease {
        semantic_session_id: Some("label".to_owned()),
        ..lease("Id")
    });
    let decided = |content: &Content, id: &str, after: f64| decide(content, id, NOW + after, &here);
    assert_eq!(decided(&Content::Free, "Id", 0.0), Decision::Begin);
    assert_eq!(decided(&held, "Id", 0.0), Decision::Renew);
    assert_eq!(decided(&held, "Id", 99.0 * HOUR), Decision::Renew);
    for id in ["label", "id", "Id ", "I", ""] {
        let (active, stale) = (SessionReason::Active, SessionReason::StaleHeartbeat);
        assert_eq!(decided(&held, id, 0.0), Decision::Blocked(active), "{id}");
        assert_eq!(
            decided(&held, id, 9.0 * HOUR),
            Decision::Blocked(stale),
            "{id}"
        );
    }
    assert_eq!(
        decided(&Content::Corrupt, "Id", 0.0),
        Decision::Blocked(SessionReason::Corrupt)
    );
}

#[test]
fn an_id_that_reads_differently_than_it_is_is_refused() {
    for id in ["a", "A b", "5f0c-é", &"x".repeat(512)] {
        assert_eq!(Terms::session_id(id).expect("an id"), id);
    }
    let long = "x".repeat(513);
    for id in [
        "",
        " a",
        "a ",
        "a\u{a0}",
        "a\nb",
        "a\u{1b}[0m",
        "a\u{202e}b",
        &long,
    ] {
        for checked in [Terms::session_id, Terms::semantic_session_id, Terms::mode] {
            let error = checked(id).expect_err(id);
            assert_eq!(error.kind(), crate::error::ErrorKind::Usage, "{id:?}");
            assert!(error.message().len() < 150, "{}", error.message());
        }
    }
}

#[test]
fn a_ttl_is_some_hours_and_at_most_a_year() {
    for (given, hours) in [(None, 4.0), (Some(0.001), 0.001), (Some(8760.0), 8760.0)] {
        let checked = Terms::ttl_hours(given).expect("a TTL");
        assert!((checked - hours).abs() < f64::EPSILON);
    }
    for hours in [
        0.0,
        -0.0,
        -1.0,
        8760.1,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ] {
        assert!(Terms::ttl_hours(Some(hours)).is_err(), "{hours}");
    }
}
