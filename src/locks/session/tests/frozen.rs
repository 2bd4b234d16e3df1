//! Files as other programs, and older versions, have written them. They stay as they are.

use super::*;

/// A file of `tests/fixtures/session`.
macro_rules! frozen {
    ($name:literal) => {
        Lease::parse(include_bytes!(concat!(
            "../../../../tests/fixtures/session/",
            $name,
            ".json"
        )))
        .expect("a lease")
    };
}

/// What all of them say, where they say it.
fn noted(id: &str, mode: &str, name: &str) -> Lease {
    Lease {
        session_id: id.to_owned(),
        mode: Some(mode.to_owned()),
        started_at: Some(NOW),
        last_heartbeat: Some(NOW + 0.5 * HOUR),
        pid: Some(4711),
        host: host(None, Some(name)),
        ttl_hours: 4.0,
        semantic_session_id: None,
    }
}

#[test]
fn with_every_key_of_today() {
    let id = "5f0c1d4e-8a53-4a86-9f0b-4f2a7d3c9e11";
    let expected = Lease {
        last_heartbeat: Some(NOW + 0.5 * HOUR + 0.25),
        host: host(
            Some("0123456789abcdef0123456789abcdef"),
            Some("box.example.org"),
        ),
        semantic_session_id: Some("main-2026-05-27-deep-1".to_owned()),
        ..noted(id, "deep", "")
    };
    let lease = frozen!("current");
    assert_eq!(lease, expected);
    let text = include_str!("../../../../tests/fixtures/session/current.json");
    let lines: String = text
        .lines()
        .map(|line| line.trim_start().to_owned() + " ")
        .collect();
    let one_line = lines.replace("{ ", "{").replace(" } ", "}");
    assert_eq!(rendered(&lease), one_line);
}

#[test]
fn without_last_heartbeat_the_start_counts() {
    let expected = Lease {
        last_heartbeat: None,
        ttl_hours: 2.0,
        ..noted("old-1", "feature", "Box.local")
    };
    let lease = frozen!("no-heartbeat");
    assert_eq!(lease, expected);
    let here = host(Some("m"), Some("box"));
    assert_eq!(
        judge(&lease, NOW + 1.9 * HOUR, &here).state,
        SessionState::Active
    );
    assert_eq!(
        judge(&lease, NOW + 2.0 * HOUR, &here).state,
        SessionState::Stale
    );
}

#[test]
fn without_machine_id_the_name_counts() {
    let lease = frozen!("no-machine-id");
    assert_eq!(lease, noted("old-2", "housekeeping", "Box.local"));
    assert!(judge(&lease, NOW, &host(Some("m"), Some("box.example.org"))).same_host);
    assert!(!judge(&lease, NOW, &host(Some("m"), Some("other"))).same_host);
}

#[test]
fn with_an_id_and_a_heartbeat_alone() {
    let expected = Lease {
        mode: None,
        started_at: None,
        pid: None,
        host: Host::default(),
        ..noted("old-3", "", "")
    };
    assert_eq!(frozen!("no-start"), expected);
}

#[test]
fn with_keys_that_nobody_here_knows() {
    let expected = Lease {
        ttl_hours: 0.5,
        ..noted("other-1", "plan", "box")
    };
    assert_eq!(frozen!("unknown-keys"), expected);
}

#[test]
fn with_a_host_id_that_stands_for_the_host() {
    assert_eq!(frozen!("host-id"), noted("other-2", "deep", "box.local"));
}

#[test]
fn with_an_empty_host_id_that_does_not() {
    let lease = frozen!("empty-host-id");
    assert_eq!(lease, noted("other-3", "deep", "box.example.org"));
    assert!(judge(&lease, NOW, &host(Some("m"), Some("box"))).same_host);
}

#[test]
fn with_values_of_other_types() {
    let expected = Lease {
        mode: None,
        started_at: None,
        pid: None,
        host: Host::default(),
        ..noted("odd-1", "", "")
    };
    assert_eq!(frozen!("odd-types"), expected);
}
