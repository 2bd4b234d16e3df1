//! What a change writes, with which modes, and what it leaves as it was.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[test]
fn what_others_keep_in_a_lease_is_kept_to_the_byte_and_in_its_place() {
    let ground = Ground::new();
    ground.write(
        r#"{"x": 1.10, "session_id": "a", "host_id": "real", "host": "h",
            "last_heartbeat": "2026-01-01T00:00:00+02:00",
            "y": [ 1, {"z": null} ], "started_at": "2026-01-01T01:00:00+02:00", "ttl_hours": 4.0}"#,
    );
    let store = ground.store();
    let updated = store.update(|content| match content {
        Content::Held(lease) => (Change::Keep(lease.renewed(1_767_300_000.0)), ()),
        Content::Free | Content::Corrupt => unreachable!("a lease is there"),
    });
    assert_eq!(updated.expect("updated").set_aside, None);
    let expected = r#"{
  "x": 1.10,
  "session_id": "a",
  "host_id": "real",
  "host": "h",
  "last_heartbeat": "2026-01-01T20:40:00.000Z",
  "y": [ 1, {"z": null} ],
  "started_at": "2026-01-01T01:00:00+02:00",
  "ttl_hours": 4.0
}
"#;
    assert_eq!(ground.text().as_deref(), Some(expected));
}

#[test]
fn another_session_begins_afresh() {
    let ground = Ground::new();
    ground.write(text_of("a").replace('{', r#"{"x": 1, "#));
    let store = ground.store();
    let replaced = store.update(|_| (Change::Replace(lease("b")), ()));
    assert_eq!(replaced.expect("updated").set_aside, None);
    assert_eq!(store.read().expect("read"), Content::Held(lease("b")));
    assert!(!ground.text().expect("there").contains("\"x\""));
    assert_eq!(ground.names(), ["session.lock"]);
}

#[test]
fn what_makes_no_sense_is_set_aside_and_never_over_another() {
    let ground = Ground::new();
    let store = ground.store();
    for (text, aside) in [
        ("{", "session.lock.corrupt"),
        ("", "session.lock.corrupt.2"),
    ] {
        ground.write(text);
        assert_eq!(store.read().expect("read"), Content::Corrupt);
        let replaced = store.update(|_| (Change::Replace(lease("a")), ()));
        let kept = ground.root.join(".orchestrator").join(aside);
        assert_eq!(replaced.expect("updated").set_aside.as_ref(), Some(&kept));
        assert_eq!(fs::read_to_string(kept).expect("kept"), text);
        assert_eq!(store.read().expect("read"), Content::Held(lease("a")));
    }
}

#[test]
fn what_is_not_changed_is_not_written() {
    let ground = Ground::new();
    let nothing = |_: &Content| (Change::Nothing, ());
    ground.store().update(nothing).expect("updated");
    assert!(!ground.root.join(".orchestrator").exists());
    ground.write(text_of("a"));
    let before = file::instance(&ground.path()).expect("seen");
    ground.store().update(nothing).expect("updated");
    assert_eq!(file::instance(&ground.path()).expect("seen"), before);
}

#[test]
fn only_a_directory_that_we_made_is_told_what_to_ignore() {
    let ground = Ground::new();
    let begin = |_: &Content| (Change::Begin(lease("a")), ());
    ground.store().update(begin).expect("updated");
    let ignore = ground.root.join(".orchestrator/.gitignore");
    let told = fs::read_to_string(&ignore).expect("made");
    assert_eq!(told, "/session.lock\n/session.lock.corrupt*\n/.gitignore\n");

    fs::remove_file(&ignore).expect("removed");
    fs::remove_file(ground.path()).expect("removed");
    ground.store().update(begin).expect("updated");
    assert_eq!(ground.names(), ["session.lock"]);
}

#[test]
fn what_is_made_in_a_work_tree_has_the_modes_of_the_umask() {
    let ground = Ground::new();
    let begin = |_: &Content| (Change::Begin(lease("a")), ());
    ground.store().update(begin).expect("updated");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o7777;
    let made = [
        mode(&ground.path()),
        mode(&ground.root.join(".orchestrator")),
    ];
    // Another test may take the umask away for a moment.
    let as_others = (0..1000).any(|_| {
        let beside = tempfile::tempdir().expect("temp dir");
        let (file, dir) = (beside.path().join("f"), beside.path().join("d"));
        fs::write(&file, "").expect("write");
        fs::create_dir(&dir).expect("mkdir");
        made == [mode(&file), mode(&dir)]
    });
    assert!(as_others, "{made:?}");
}

#[test]
fn a_lease_past_the_limit_makes_no_sense_and_is_never_written() {
    let ground = Ground::new();
    let room = usize::try_from(LIMIT).expect("fits");
    let padded = |length: usize| {
        let start = text_of("a");
        let end = r#", "x": ""}"#;
        let fill = "x".repeat(length - (start.len() - 1) - end.len());
        start.replace('}', &format!(r#", "x": "{fill}"}}"#))
    };
    ground.write(padded(room + 1));
    assert_eq!(ground.store().read().expect("read"), Content::Corrupt);
    ground.write(padded(room));
    let mut changed = lease("a");
    changed.mode = Some("a longer one".to_owned());
    let failed = ground.store().update(|content| {
        assert_eq!(id_of(content), Some("a"));
        (Change::Keep(changed.clone()), ())
    });
    let said = failed.expect_err("too large").to_string();
    assert!(said.contains("session.lock"), "{said}");
    assert_eq!(ground.text(), Some(padded(room)));
}

#[test]
fn old_temporary_files_go_with_a_change() {
    let ground = Ground::new();
    ground.write(text_of("a"));
    let left = ground.root.join(".orchestrator/.git-locks-x.tmp");
    let made = fs::File::create(&left).expect("made");
    made.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .expect("stamped");
    let replaced = ground.store().update(|_| (Change::Replace(lease("b")), ()));
    replaced.expect("updated");
    assert_eq!(ground.names(), ["session.lock"]);
}
