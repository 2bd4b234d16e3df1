//! What cannot be read is neither free nor written.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;

use super::*;
use crate::sys::fifo::Doorbell;
use crate::sys::user;

/// Neither a look nor a change gets past what is there. Returns what is said of it.
fn refused(ground: &Ground) -> String {
    let store = ground.store();
    let said = store.read().expect_err("unreadable").to_string();
    let failed = store.update(|_| -> (Change, ()) { unreachable!("nothing to decide on") });
    assert_eq!(failed.expect_err("unreadable").to_string(), said);
    assert!(said.contains(".orchestrator"), "{said}");
    said
}

#[test]
fn only_a_regular_file_is_a_lease() {
    let ground = Ground::new();
    let path = ground.path();
    fs::create_dir(ground.root.join(".orchestrator")).expect("mkdir");

    let elsewhere = ground.root.join("elsewhere");
    fs::write(&elsewhere, text_of("a")).expect("write");
    symlink(&elsewhere, &path).expect("symlink");
    assert!(refused(&ground).contains("a symbolic link"));
    fs::remove_file(&elsewhere).expect("removed");
    assert!(refused(&ground).contains("a symbolic link"));
    fs::remove_file(&path).expect("removed");

    drop(Doorbell::make(&path, MODES).expect("made"));
    assert!(refused(&ground).contains("a FIFO"));
    fs::remove_file(&path).expect("removed");

    fs::create_dir(&path).expect("mkdir");
    assert!(refused(&ground).contains("a directory"));
    fs::remove_dir(&path).expect("removed");

    let _listener = UnixListener::bind(&path).expect("bound");
    assert!(refused(&ground).contains("a socket"));
    assert_eq!(ground.names(), ["session.lock"]);
}

#[test]
fn what_is_in_the_way_of_the_directory_is_not_its_absence() {
    let ground = Ground::new();
    let directory = ground.root.join(".orchestrator");
    fs::write(&directory, "").expect("write");
    refused(&ground);
    fs::remove_file(&directory).expect("removed");
    symlink("nowhere", &directory).expect("symlink");
    assert!(refused(&ground).contains("leads nowhere"));
}

#[test]
fn a_checkout_that_is_gone_is_not_made_anew() {
    let ground = Ground::new();
    let gone = ground.root.join("gone");
    for (root, git_dir) in [(&ground.root, &gone), (&gone, &ground.git_dir)] {
        let store = SessionStore::new(root, git_dir, MODES, Duration::from_secs(20));
        let begun = store.update(|_| (Change::Begin(lease("a")), ()));
        let said = begun.expect_err("gone").to_string();
        assert!(said.contains("gone"), "{said}");
        assert!(!gone.exists(), "{said}");
    }
    assert!(!ground.root.join(".orchestrator").exists());
}

#[test]
fn what_may_not_be_read_or_written_is_an_error_that_names_it() {
    let ground = Ground::new();
    let mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
    };
    let above = ground.root.parent().expect("above").to_owned();
    mode(&above, 0o755);
    mode(&ground.git_dir, 0o777);
    let directory = ground.root.join(".orchestrator");
    let begin = || {
        let begun = ground.store().update(|_| (Change::Begin(lease("a")), ()));
        begun.expect_err("denied").to_string()
    };

    mode(&ground.root, 0o555);
    let said = user::unprivileged(begin);
    assert!(
        said.contains("create directory") && said.contains(".orchestrator"),
        "{said}"
    );

    mode(&ground.root, 0o755);
    fs::create_dir(&directory).expect("mkdir");
    mode(&directory, 0o555);
    let said = user::unprivileged(begin);
    assert!(
        said.contains("write in") && said.contains(".orchestrator"),
        "{said}"
    );
    assert_eq!(ground.names(), [""; 0]);

    mode(&directory, 0o755);
    ground.write(text_of("a"));
    mode(&ground.path(), 0);
    let said = user::unprivileged(|| refused(&ground));
    assert!(said.contains("ermission"), "{said}");

    mode(&ground.path(), 0o644);
    mode(&directory, 0);
    user::unprivileged(|| refused(&ground));
    mode(&directory, 0o755);
}
