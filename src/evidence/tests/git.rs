//! Worktrees that git registers outside the base.

use super::*;

use Evidence::{Absent, Alive, Unobservable};

#[test]
fn a_genuine_one_is_alive_by_its_registered_name_and_by_its_directory_s() {
    let ground = Ground::new();
    ground.registered("alpha");
    assert_eq!(ground.worktree("alpha"), Alive);
    assert_eq!(ground.worktree("beta"), Absent);
    // A second of the same base name gets another id from git.
    let second = ground.root().join("other/alpha");
    let shown = second.to_str().expect("plain");
    ground.git(&["worktree", "add", "-q", "--detach", shown]);
    assert!(ground.admin("alpha1").is_dir());
    assert_eq!(ground.worktree("alpha1"), Alive);
    remove_dir(&ground.root().join("elsewhere/alpha"));
    assert_eq!(
        ground.worktree("alpha"),
        Alive,
        "the second one's directory"
    );
    remove_dir(&second);
    assert_eq!(ground.worktree("alpha"), Absent);
    assert_eq!(ground.worktree("alpha1"), Absent);
}

#[test]
fn one_that_was_deleted_moved_or_emptied_is_gone() {
    let ground = Ground::new();
    let path = ground.registered("alpha");
    let moved = ground.root().join("moved");
    std::fs::rename(&path, &moved).expect("moved by hand");
    assert_eq!(ground.worktree("alpha"), Absent, "moved");
    std::fs::rename(&moved, &path).expect("moved back");
    assert_eq!(ground.worktree("alpha"), Alive);
    std::fs::remove_file(path.join(".git")).expect("emptied");
    assert_eq!(ground.worktree("alpha"), Absent, "emptied");
    remove_dir(&path);
    assert_eq!(ground.worktree("alpha"), Absent, "deleted");
}

#[test]
fn one_that_git_moved_keeps_its_registered_name() {
    let ground = Ground::new();
    let path = ground.registered("alpha");
    let to = ground.root().join("beta");
    ground.git(&[
        "worktree",
        "move",
        path.to_str().expect("plain"),
        to.to_str().expect("plain"),
    ]);
    assert_eq!(ground.worktree("alpha"), Alive);
    assert_eq!(ground.worktree("beta"), Alive);
    assert_eq!(ground.worktree("gamma"), Absent);
}

#[test]
fn one_replaced_by_another_repository_is_gone() {
    let ground = Ground::new();
    let path = ground.registered("alpha");
    remove_dir(&path);
    make_dir(&path);
    git_in(&path, &["init", "-q"]);
    assert_eq!(ground.worktree("alpha"), Absent, "a repository of its own");
    remove_dir(&path);
    let other = Ground::new();
    other.git(&[
        "worktree",
        "add",
        "-q",
        "--detach",
        path.to_str().expect("plain"),
    ]);
    assert_eq!(ground.worktree("alpha"), Absent, "another's worktree");
    assert_eq!(other.worktree("alpha"), Alive);
}

#[test]
fn a_copy_is_not_the_original() {
    let ground = Ground::new();
    let path = ground.registered("alpha");
    let copy = ground.root().join("beta");
    make_dir(&copy);
    std::fs::copy(path.join(".git"), copy.join(".git")).expect("copied");
    assert_eq!(ground.worktree("beta"), Absent, "the copy");
    assert_eq!(ground.worktree("alpha"), Alive, "the original");
    // An admin directory that was copied leads to a worktree that does not lead back.
    let junk = ground.admin("gamma");
    make_dir(&junk);
    for part in ["HEAD", "commondir", "gitdir"] {
        std::fs::copy(ground.admin("alpha").join(part), junk.join(part)).expect("copied");
    }
    assert_eq!(ground.worktree("gamma"), Absent, "a copied registration");
}

#[test]
fn a_lock_says_that_a_missing_one_is_away_on_purpose() {
    let ground = Ground::new();
    let path = ground.registered("alpha");
    let shown = path.to_str().expect("plain");
    ground.git(&["worktree", "lock", "--reason", "on a stick", shown]);
    assert_eq!(ground.worktree("alpha"), Alive);
    remove_dir(&path);
    assert_eq!(ground.worktree("alpha"), Unobservable);
    make_file(&ground.admin("alpha").join("locked"), b"");
    assert_eq!(ground.worktree("alpha"), Unobservable, "without a reason");
    std::fs::remove_file(ground.admin("alpha").join("locked")).expect("unlocked");
    assert_eq!(ground.worktree("alpha"), Absent);
}

#[test]
fn a_locked_one_whose_place_lies_behind_a_missing_directory_is_unobservable() {
    let ground = Ground::new();
    let path = ground.registered("alpha");
    ground.git(&["worktree", "lock", path.to_str().expect("plain")]);
    remove_dir(&ground.root().join("elsewhere"));
    assert_eq!(ground.worktree("alpha"), Unobservable);
    assert_eq!(ground.worktree("beta"), Absent, "its name is another");
}

#[test]
fn one_that_is_being_made_is_unobservable() {
    let ground = Ground::new();
    let path = ground.registered("alpha");
    for content in [&b"initializing"[..], b"initializing\n"] {
        make_file(&ground.admin("alpha").join("locked"), content);
        assert_eq!(ground.worktree("alpha"), Unobservable);
    }
    // Nothing of it but the lock may be there yet.
    remove_dir(&path);
    for part in ["HEAD", "commondir", "gitdir"] {
        std::fs::remove_file(ground.admin("alpha").join(part)).expect("removed");
        assert_eq!(ground.worktree("alpha"), Unobservable, "without {part}");
    }
}

#[test]
fn junk_in_the_registry_is_nobody() {
    let ground = Ground::new();
    let path = ground.registered("alpha");
    let admin = ground.admin("alpha");
    for part in ["HEAD", "commondir", "gitdir"] {
        let aside = ground.root().join("aside");
        std::fs::rename(admin.join(part), &aside).expect("moved away");
        assert_eq!(ground.worktree("alpha"), Absent, "without {part}");
        std::fs::rename(&aside, admin.join(part)).expect("moved back");
    }
    let genuine = std::fs::read(admin.join("gitdir")).expect("gitdir");
    let directory = path.as_os_str().as_bytes();
    let no_slash = directory.to_vec();
    let other_end = [directory, b"/.gitx\n"].concat();
    let slash_end = [directory, b"/.git/\n"].concat();
    let bare_end = [directory, b".git\n"].concat();
    for (name, content) in [
        ("empty", &b""[..]),
        ("a newline", b"\n"),
        ("two newlines", b"\n\n"),
        ("the directory itself", &no_slash),
        ("another end", &other_end),
        ("a final slash", &slash_end),
        ("no separator", &bare_end),
        ("no path", b".git\n"),
        ("NUL", b"/a\0b/.git\n"),
        ("not UTF-8", b"/\xff\xfe/.git\n"),
    ] {
        make_file(&admin.join("gitdir"), content);
        assert_ne!(ground.worktree("alpha"), Alive, "{name}");
        if name != "NUL" {
            assert_eq!(ground.worktree("alpha"), Absent, "{name}");
        }
    }
    make_file(&admin.join("gitdir"), &genuine);
    assert_eq!(ground.worktree("alpha"), Alive);
    make_file(&ground.admin("beta"), b"a file");
    assert_eq!(ground.worktree("beta"), Absent, "a file among directories");
    assert_eq!(ground.worktree("alpha"), Alive);
}

#[test]
fn a_relative_registration_counts_from_the_admin_directory() {
    let ground = Ground::new();
    let path = ground.registered("alpha");
    let admin = ground.admin("alpha");
    make_file(&admin.join("gitdir"), b"../../../../elsewhere/alpha/.git\n");
    assert_eq!(ground.worktree("alpha"), Alive);
    make_file(
        &path.join(".git"),
        b"gitdir: ../../main/.git/worktrees/alpha\n",
    );
    assert_eq!(ground.worktree("alpha"), Alive);
    make_file(&path.join(".git"), b"gitdir: ../../main/.git/worktrees/x\n");
    assert_eq!(ground.worktree("alpha"), Absent);
    make_file(&path.join(".git"), b"gitdir: ../../main/.git\n");
    assert_eq!(ground.worktree("alpha"), Absent, "the main repository's");
    make_file(&path.join(".git"), b"not a link\n");
    assert_eq!(ground.worktree("alpha"), Absent);
}

#[test]
fn a_registration_whose_link_is_no_plain_file_is_not_followed() {
    let ground = Ground::new();
    let path = ground.registered("alpha");
    let gitdir = ground.admin("alpha").join("gitdir");
    std::fs::rename(&gitdir, ground.root().join("real")).expect("moved");
    link(ground.root().join("real").to_str().expect("plain"), &gitdir);
    assert_eq!(ground.worktree("alpha"), Unobservable, "gitdir is a link");
    std::fs::remove_file(&gitdir).expect("removed");
    make_dir(&gitdir);
    assert_ne!(ground.worktree("alpha"), Alive, "gitdir is a directory");
    assert!(path.is_dir());
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf_8_hide_nothing() {
    let ground = Ground::new();
    ground.registered("alpha");
    let odd = ground.root().join(OsStr::from_bytes(b"odd\xff"));
    let path = odd.join("beta");
    let add = ["worktree", "add", "-q", "--detach"].map(OsStr::new);
    git_in(&ground.main, &[&add[..], &[path.as_os_str()]].concat());
    assert_eq!(ground.worktree("beta"), Alive, "behind an odd path");
    let admin = ground.common.join("worktrees");
    std::fs::rename(
        admin.join("alpha"),
        admin.join(OsStr::from_bytes(b"al\xffpha")),
    )
    .expect("an odd admin name");
    // Its directory's link leads to the old name.
    assert_eq!(ground.worktree("alpha"), Absent);
    assert_eq!(ground.worktree("beta"), Alive);
    let link = [b"gitdir: ", admin.as_os_str().as_bytes(), b"/al\xffpha\n"].concat();
    make_file(&ground.root().join("elsewhere/alpha/.git"), &link);
    assert_eq!(ground.worktree("alpha"), Alive, "by its directory's name");
}

#[test]
fn an_id_is_judged_by_who_has_it_now() {
    let ground = Ground::new();
    let path = ground.registered("alpha");
    let shown = path.to_str().expect("plain");
    ground.git(&["worktree", "remove", shown]);
    assert_eq!(ground.worktree("alpha"), Absent, "removed");
    make_dir(&path);
    assert_eq!(ground.worktree("alpha"), Absent, "a shell made again");
    remove_dir(&path);
    let again = ground.root().join("again/alpha");
    let shown = again.to_str().expect("plain");
    ground.git(&["worktree", "add", "-q", "--detach", shown]);
    assert_eq!(ground.worktree("alpha"), Alive, "reused");
    // The old directory's link names an id that is another's now.
    make_file(
        &path.join(".git"),
        format!("gitdir: {}\n", ground.admin("alpha").display()).as_bytes(),
    );
    remove_dir(&again);
    assert_eq!(ground.worktree("alpha"), Absent);
}

#[test]
fn without_a_common_directory_nothing_is_registered() {
    let ground = Ground::new();
    ground.registered("alpha");
    let world = Surroundings {
        registry: std::cell::RefCell::default(),
        common_dir: None,
        ..ground.world()
    };
    assert_eq!(world.worktree(&id("alpha")), Absent);
    remove_dir(&ground.admin("alpha"));
    std::fs::remove_dir(ground.common.join("worktrees")).expect("empty");
    assert_eq!(ground.worktree("alpha"), Absent, "no registry at all");
}
