//! Plan directories, witnesses, and what may not be read.

use super::*;
use crate::store::witness::Owner;

use Evidence::{Absent, Alive, Unobservable};

fn moved_in(ground: &Ground, name: &str) -> PathBuf {
    let local = ground.base.join("worktrees").join(name);
    local.join(".plan/local/plans").join(name)
}

#[test]
fn a_plan_is_found_on_main_and_in_its_worktree() {
    let ground = Ground::new();
    assert_eq!(ground.plan("alpha"), Absent, "neither");
    make_dir(&ground.base.join("plans/alpha"));
    assert_eq!(ground.plan("alpha"), Alive, "on main");
    make_dir(moved_in(&ground, "alpha").parent().expect("plans"));
    std::fs::rename(ground.base.join("plans/alpha"), moved_in(&ground, "alpha")).expect("moved");
    assert_eq!(ground.plan("alpha"), Alive, "moved in");
    assert_eq!(ground.plan("alph"), Absent);
    remove_dir(&moved_in(&ground, "alpha"));
    assert_eq!(ground.plan("alpha"), Absent, "archived");
    // Another's plan in its worktree is not its own.
    make_dir(&ground.base.join("worktrees/alpha/.plan/local/plans/beta"));
    assert_eq!(ground.plan("alpha"), Absent);
    assert_eq!(ground.plan("beta"), Absent);
}

#[test]
fn plan_directories_may_have_another_name() {
    let ground = Ground::new();
    make_dir(&ground.base.join("worktrees/alpha/.work/local/plans/alpha"));
    assert_eq!(ground.plan("alpha"), Absent);
    let world = Surroundings {
        registry: std::cell::RefCell::default(),
        plan_dir: OsStr::new(".work"),
        ..ground.world()
    };
    assert_eq!(world.plan(&id("alpha")), Alive);
}

#[test]
fn a_repository_keeps_plans_or_not() {
    assert_eq!(Ground::new().world().keeps_plans(), Alive);
    let ground = Ground::without_plans();
    assert_eq!(ground.world().keeps_plans(), Absent);
    remove_dir(&ground.main.join(".plan"));
    assert_eq!(ground.world().keeps_plans(), Absent, "no base either");
    link("/nowhere/at/all", &ground.main.join(".plan"));
    assert_eq!(
        ground.world().keeps_plans(),
        Unobservable,
        "its volume is away"
    );
    assert_eq!(ground.plan("alpha"), Unobservable);
}

#[test]
fn a_link_for_plans_that_leads_nowhere_proves_nothing() {
    let ground = Ground::without_plans();
    let away = ground.root().join("away");
    link(away.to_str().expect("plain"), &ground.base.join("plans"));
    assert_eq!(ground.world().keeps_plans(), Unobservable);
    assert_eq!(ground.plan("alpha"), Unobservable);
    make_dir(&away);
    assert_eq!(ground.world().keeps_plans(), Alive);
    assert_eq!(
        ground.plan("alpha"),
        Absent,
        "the volume is back, the plan is not"
    );
    make_dir(&away.join("alpha"));
    assert_eq!(ground.plan("alpha"), Alive);
    remove_dir(&away.join("alpha"));
    link("/nowhere/at/all", &away.join("alpha"));
    assert_eq!(
        ground.plan("alpha"),
        Unobservable,
        "the plan itself is a link"
    );
}

fn witness_of(ground: &Ground, name: &str) {
    witness::make(ground.world().stand(), &id(name), Owner::Merge, MODES).expect("a witness");
}

#[test]
fn a_witness_is_seen_by_others_and_never_counted_by_us() {
    let ground = Ground::new();
    witness_of(&ground, "alpha");
    let path = moved_in(&ground, "alpha");
    assert!(path.is_dir());
    assert_eq!(ground.plan("alpha"), Absent);
    assert_eq!(ground.worktree("alpha"), Absent);
    witness_of(&ground, "alpha");
    witness::remove(ground.world().stand(), "alpha", Owner::Merge);
    assert!(!ground.base.join("worktrees/alpha").exists_in_any_form());
    assert!(ground.base.is_dir());
}

#[test]
fn a_witness_leaves_what_was_there_before() {
    let ground = Ground::new();
    let worktree = ground.base.join("worktrees/alpha");
    make_file(&worktree.join(".plan/local/notes"), b"mine");
    witness_of(&ground, "alpha");
    witness::remove(ground.world().stand(), "alpha", Owner::Merge);
    assert!(worktree.join(".plan/local/notes").is_file());
    assert!(!worktree.join(".plan/local/plans").exists_in_any_form());
    // What arrived beside it meanwhile stays too.
    witness_of(&ground, "beta");
    let beside = ground.base.join("worktrees/beta/.plan/local/plans/other");
    make_dir(&beside);
    witness::remove(ground.world().stand(), "beta", Owner::Merge);
    assert!(beside.is_dir());
    assert!(!moved_in(&ground, "beta").exists_in_any_form());
}

#[test]
fn a_plan_that_moved_into_a_witness_is_a_plan() {
    let ground = Ground::new();
    witness_of(&ground, "alpha");
    make_file(&moved_in(&ground, "alpha").join("status.json"), b"{}");
    assert_eq!(ground.plan("alpha"), Alive);
    assert_eq!(ground.worktree("alpha"), Alive);
    witness::remove(ground.world().stand(), "alpha", Owner::Merge);
    assert_eq!(ground.plan("alpha"), Alive, "and is not removed with it");
}

#[test]
fn an_empty_plan_directory_is_a_plan_and_gets_no_witness() {
    let ground = Ground::new();
    make_dir(&moved_in(&ground, "alpha"));
    witness_of(&ground, "alpha");
    assert_eq!(ground.plan("alpha"), Alive);
    witness::remove(ground.world().stand(), "alpha", Owner::Merge);
    assert!(moved_in(&ground, "alpha").is_dir());
}

#[test]
fn what_a_crash_leaves_of_a_witness_is_never_evidence() {
    let ground = Ground::new();
    // Killed before the name was given: a directory of another name.
    let plans = moved_in(&ground, "alpha");
    make_dir(&plans.with_file_name(".git-locks-abc.tmp"));
    assert_eq!(ground.plan("alpha"), Absent);
    witness_of(&ground, "alpha");
    assert_eq!(ground.plan("alpha"), Absent);
    // A marker that says nothing removes the witness alone.
    make_file(&plans.join(".git-locks-witness"), b"junk");
    witness::remove(ground.world().stand(), "alpha", Owner::Merge);
    assert!(!plans.exists_in_any_form());
    assert!(plans.parent().expect("plans").is_dir());
}

#[test]
fn a_witness_of_what_is_no_id_touches_nothing() {
    let ground = Ground::new();
    make_dir(&ground.base.join("worktrees/x"));
    for odd in ["../x", "", "..", "X", "a/b"] {
        witness::remove(ground.world().stand(), odd, Owner::Merge);
    }
    assert!(ground.base.join("worktrees/x").is_dir());
    assert!(ground.base.join("plans").is_dir());
}

/// Whether something is at a path, dangling links included.
trait ExistsInAnyForm {
    fn exists_in_any_form(&self) -> bool;
}

impl ExistsInAnyForm for PathBuf {
    fn exists_in_any_form(&self) -> bool {
        self.symlink_metadata().is_ok()
    }
}

/// What the test below looks at when it runs as another user.
const LOOK_AT: &str = "GIT_LOCKS_TEST_LOOK_AT";

#[test]
fn what_may_not_be_read_is_unobservable() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;

    if let Some(root) = std::env::var_os(LOOK_AT) {
        look_without_permission(Path::new(&root));
        return;
    }
    let ground = Ground::new();
    make_dir(&ground.base.join("plans/alpha"));
    make_dir(&moved_in(&ground, "alpha"));
    make_file(&ground.presence.join("someone"), b"");
    ground.registered("beta");
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
    };
    let closed = [
        ground.base.join("plans"),
        ground.base.join("worktrees/alpha"),
        ground.common.join("worktrees"),
        ground.presence.join("someone"),
    ];
    allow(&ground.root(), 0o755);
    for path in &closed {
        allow(path, 0);
    }
    if crate::sys::user::is_root() {
        // Root may read everything: this very test, as somebody who may not.
        let program = ground.root().join("tests");
        std::fs::copy(std::env::current_exe().expect("this test"), &program).expect("copied");
        allow(&program, 0o755);
        let started = std::time::Instant::now();
        let seen = loop {
            let ran = Command::new(&program)
                .args(["--exact", "--nocapture"])
                .arg("evidence::tests::plans::what_may_not_be_read_is_unobservable")
                .env(LOOK_AT, ground.root())
                .current_dir("/")
                .uid(65534)
                .gid(65534)
                .output();
            match ran {
                // A test that forks beside this one holds the copy open for a moment.
                Err(error)
                    if error.kind() == std::io::ErrorKind::ExecutableFileBusy
                        && started.elapsed().as_secs() < 10 =>
                {
                    std::thread::yield_now();
                }
                ran => break ran.expect("runs"),
            }
        };
        assert!(seen.status.success(), "{seen:?}");
        let said = String::from_utf8_lossy(&seen.stdout);
        assert!(said.contains("1 passed"), "{said}");
    } else {
        look_without_permission(&ground.root());
    }
    for path in &closed {
        allow(path, 0o755);
    }
}

fn look_without_permission(root: &Path) {
    let base = root.join("main/.plan/local");
    let common = root.join("main/.git");
    let world = Surroundings {
        registry: std::cell::RefCell::default(),
        base: &base,
        plan_dir: OsStr::new(".plan"),
        common_dir: Some(&common),
        presence: root.join("presence"),
        host: Host::here(),
    };
    assert_eq!(world.plan(&id("alpha")), Unobservable, "on main");
    assert_eq!(
        world.worktree(&id("alpha")),
        Unobservable,
        "in its worktree"
    );
    assert_eq!(world.worktree(&id("beta")), Unobservable, "registered");
    assert_eq!(
        world.worktree(&id("gamma")),
        Unobservable,
        "or not: who can tell"
    );
    assert_eq!(world.keeps_plans(), Alive, "that much is seen");
    assert_eq!(world.presence("someone", &Host::here()), Unobservable);
}
