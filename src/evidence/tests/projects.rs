//! Evidence about other projects than the caller's own.

use super::*;
use crate::locks::build::Projects as _;
use crate::place::Place;

/// What is seen from a caller that stands in `cwd`, outside any repository.
fn from_outside<T>(cwd: &Path, root: &Path, look: impl Fn(&dyn World) -> T) -> T {
    let place = place_of(cwd);
    let neighbours = Neighbours::around(&place, cwd, cwd.join("presence"), Host::here());
    seen(&neighbours, Some(root), look)
}

fn seen<T>(neighbours: &Neighbours<'_>, root: Option<&Path>, look: impl Fn(&dyn World) -> T) -> T {
    let mut seen = None;
    neighbours.with_world(root, &mut |world| seen = Some(look(world)));
    seen.expect("looked")
}

fn place_of(cwd: &Path) -> Place {
    Place::outside_for_tests(cwd)
}

#[test]
fn another_project_is_seen_as_from_within() {
    let ground = Ground::new();
    let outside = ground.root().join("outside");
    make_dir(&outside);
    ground.registered("away");
    make_dir(&ground.base.join("plans/alpha"));
    from_outside(&outside, &ground.main, |world| {
        assert_eq!(world.keeps_plans(), Evidence::Alive);
        assert_eq!(world.plan(&id("alpha")), Evidence::Alive);
        assert_eq!(world.plan(&id("beta")), Evidence::Absent);
        assert_eq!(world.worktree(&id("away")), Evidence::Alive);
        assert_eq!(world.worktree(&id("beta")), Evidence::Absent);
    });
    from_outside(&outside, &outside, |world| {
        assert_eq!(world.keeps_plans(), Evidence::Absent);
        assert_eq!(world.worktree(&id("away")), Evidence::Absent);
    });
}

#[test]
fn a_bare_repository_registers_worktrees_itself() {
    let ground = Ground::new();
    let bare = ground.root().join("bare.git");
    let shown = bare.to_str().expect("plain");
    ground.git(&["clone", "-q", "--bare", ".", shown]);
    let away = ground.root().join("away");
    let made = git_in(
        &bare,
        &["worktree", "add", "-q", away.to_str().expect("plain")],
    );
    assert!(made.status.success(), "{made:?}");
    let found = from_outside(&ground.root(), &bare, |world| world.worktree(&id("away")));
    assert_eq!(found, Evidence::Alive);
}

#[test]
fn where_the_registry_cannot_be_found_no_worktree_is_absent() {
    let ground = Ground::new();
    let odd = ground.root().join("odd");
    make_dir(&odd);
    std::fs::write(odd.join(".git"), "gitdir: /nowhere/at/all\n").expect("write");
    from_outside(&ground.root(), &odd, |world| {
        assert_eq!(world.worktree(&id("x")), Evidence::Unobservable);
        assert_eq!(world.plan(&id("x")), Evidence::Absent);
    });
}

#[test]
fn a_project_is_gone_only_where_that_can_be_seen() {
    let ground = Ground::new();
    let root = ground.root();
    let place = place_of(&root);
    let neighbours = Neighbours::around(&place, &root, root.join("presence"), Host::here());
    assert_eq!(neighbours.is_there(&ground.main), Evidence::Alive);
    assert_eq!(neighbours.is_there(&root.join("gone")), Evidence::Absent);
    assert_eq!(
        neighbours.is_there(&root.join("gone/too")),
        Evidence::Unobservable
    );
    assert_eq!(
        neighbours.is_there(Path::new("main")),
        Evidence::Unobservable
    );
    std::fs::write(root.join("file"), b"").expect("write");
    assert_eq!(neighbours.is_there(&root.join("file")), Evidence::Absent);
    std::os::unix::fs::symlink("nowhere", root.join("link")).expect("link");
    assert_eq!(
        neighbours.is_there(&root.join("link")),
        Evidence::Unobservable
    );
}

#[test]
fn the_callers_own_project_is_meant_by_no_root_and_seen_anew() {
    let ground = Ground::without_plans();
    let place = place_of(&ground.main);
    let presence = ground.root().join("presence");
    let neighbours = Neighbours::around(&place, &ground.main, presence, Host::here());
    let keeps = |root| seen(&neighbours, root, |world| world.keeps_plans());
    assert_eq!(keeps(None), Evidence::Absent);
    assert_eq!(keeps(Some(ground.main.as_path())), Evidence::Absent);
    make_dir(&ground.base.join("plans"));
    assert_eq!(keeps(None), Evidence::Alive);
    let worktree = || seen(&neighbours, None, |world| world.worktree(&id("away")));
    assert_eq!(worktree(), Evidence::Absent);
    ground.registered("away");
    assert_eq!(worktree(), Evidence::Alive);
}
