//! Names and paths, by the letters.

use super::*;

#[test]
fn a_path_in_a_file_may_hold_anything_but_final_newlines() {
    let read = |bytes: &[u8]| path_from_file(bytes).map(|p| p.into_os_string().into_vec());
    assert_eq!(read(b"/a b\xff\n c \n"), Some(b"/a b\xff\n c ".to_vec()));
    assert_eq!(read(b"/a\r\n\n"), Some(b"/a".to_vec()));
    assert_eq!(read(b"\n"), None);
    assert_eq!(read(b""), None);
}

#[test]
fn only_an_admin_directory_has_a_name() {
    let name = |git_dir: &str| linked_name(Path::new("/r/.git"), Path::new(git_dir));
    assert_eq!(name("/r/.git/worktrees/x"), Some("x".into()));
    assert_eq!(name("/r/.git"), None);
    assert_eq!(name("/r/.git/worktrees/x/y"), None);
}

#[test]
fn the_plan_directory_is_one_plain_name() {
    let name = |given: &str| plan_dir_name(Some(OsStr::new(given))).ok();
    assert_eq!(plan_dir_name(None).ok(), Some(".plan".into()));
    assert_eq!(name(""), Some(".plan".into()));
    assert_eq!(name(".work"), Some(".work".into()));
    for bad in ["a/b", "..", ".", "/", "a/", "/a", ".git", ".GIT"] {
        assert_eq!(name(bad), None, "{bad}");
    }
}

#[test]
fn a_project_is_its_repository_else_what_its_base_says_else_where_the_caller_stands() {
    let cwd = Path::new("/c");
    let detached = |base: &str| Place::detached(Path::new(base), ".plan".into());
    let given = detached("/r/.plan/local");
    assert_eq!(given.project_root(cwd), Path::new("/r"));
    assert_eq!(given.project_base(cwd), Path::new("/r/.plan/local"));
    let odd = detached("/r/state");
    assert_eq!(odd.project_root(cwd), cwd);
    assert_eq!(odd.project_base(cwd), Path::new("/r/state"));
    let repository = Place {
        common_dir: Some("/r/.git".into()),
        base_is_given: false,
        ..detached("/r/.git/git-locks")
    };
    assert_eq!(repository.project_root(cwd), Path::new("/r/.git"));
    let checkout = Place {
        main_root: Some("/r".into()),
        ..repository
    };
    assert_eq!(checkout.project_root(cwd), Path::new("/r"));
    assert_eq!(checkout.project_base(cwd), Path::new("/r/.plan/local"));
}

#[test]
fn outside_a_repository_everything_is_in_the_home_root_and_private() {
    let home = Home { root: "/h".into() };
    let place = Place::outside(&home, ".plan".into());
    let ours = Path::new("/h/git-locks");
    assert_eq!((place.ours.as_path(), place.base.as_path()), (ours, ours));
    assert_eq!(place.logs, ours.join("logs"));
    assert_eq!(
        (place.sharing.file_mode, place.sharing.dir_mode),
        (0o600, 0o700)
    );
    assert_eq!(place.project_root(Path::new("/c")), Path::new("/c"));
    assert_eq!(
        place.project_base(Path::new("/c")),
        Path::new("/c/.plan/local")
    );
}

#[test]
fn what_does_not_exist_is_resolved_by_the_letters() {
    assert_eq!(clean(Path::new("/a/./b/../c//d")), Path::new("/a/c/d"));
    assert_eq!(clean(Path::new("/../a")), Path::new("/a"));
    assert_eq!(
        resolve(Path::new("/nowhere-x/a/../b")),
        Path::new("/nowhere-x/b")
    );
}

#[test]
fn a_branch_is_that_of_the_worktree_which_is_asked_for() {
    let keep = tempfile::tempdir().expect("temp dir");
    let root = |name: &str| keep.path().join(name);
    let on = |git_dir: &Path, branch: &str| {
        fs::create_dir_all(git_dir).expect("mkdir");
        fs::write(git_dir.join("HEAD"), format!("ref: refs/heads/{branch}\n")).expect("write");
    };
    let common = root("main/.git");
    let admin = |name: &str| common.join("worktrees").join(name);
    on(&common, "main");
    for name in ["linked", "own"] {
        on(&admin(name), name);
    }
    fs::create_dir(root("linked")).expect("mkdir");
    let entry = format!("gitdir: {}\n", admin("linked").display());
    fs::write(root("linked/.git"), entry).expect("write");
    let place = Place {
        common_dir: Some(common.clone()),
        main_root: Some(root("elsewhere")),
        checkout: Some(Checkout {
            git_dir: admin("own"),
            linked_name: Some("own".into()),
            work_dir: Some(root("own")),
        }),
        ..Place::detached(&root("base"), ".plan".into())
    };
    for (name, branch) in [
        ("main", Some("main")),
        ("linked", Some("linked")),
        // Where there is no `.git` that leads to its git directory.
        ("own", Some("own")),
        ("elsewhere", Some("main")),
        ("gone", None),
    ] {
        assert_eq!(place.branch_of(&root(name)).as_deref(), branch, "{name}");
    }
}
