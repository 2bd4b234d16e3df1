//! Two locks, one witness.

use super::*;
use std::fs;
use std::thread;

const MODES: Modes = Modes {
    file: 0o644,
    dir: 0o755,
    group: None,
};

fn stand(base: &Path) -> Stand<'_> {
    Stand {
        base,
        plan_dir: OsStr::new(".plan"),
    }
}

fn alpha() -> PlanId {
    PlanId::parse("alpha").expect("a plan id")
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[test]
fn a_witness_goes_with_the_last_of_its_owners() {
    for [first, second] in [[Owner::Merge, Owner::Build], [Owner::Build, Owner::Merge]] {
        let dir = tempfile::tempdir().expect("temp dir");
        let stand = stand(dir.path());
        let witness = stand.plan(&alpha());
        make(stand, &alpha(), first, MODES).expect("made");
        make(stand, &alpha(), first, MODES).expect("again");
        assert!(is_kept(stand, &alpha(), first) && !is_kept(stand, &alpha(), second));
        remove(stand, "alpha", second);
        assert!(is_kept(stand, &alpha(), first), "each removes only its own");
        make(stand, &alpha(), second, MODES).expect("joined");
        assert!(is_witness(&witness).expect("read"));
        remove(stand, "alpha", first);
        assert!(is_kept(stand, &alpha(), second) && !is_kept(stand, &alpha(), first));
        remove(stand, "alpha", second);
        assert!(
            !is_there(&dir.path().join("worktrees/alpha")),
            "parents and all"
        );
    }
}

#[test]
fn a_plan_beside_a_marker_is_a_plan() {
    let dir = tempfile::tempdir().expect("temp dir");
    let stand = stand(dir.path());
    make(stand, &alpha(), Owner::Build, MODES).expect("made");
    let witness = stand.plan(&alpha());
    fs::write(witness.join("status.json"), b"{}").expect("write");
    assert!(!is_witness(&witness).expect("read"));
    make(stand, &alpha(), Owner::Merge, MODES).expect("left alone");
    assert!(!is_there(&witness.join(Owner::Merge.marker())));
    remove(stand, "alpha", Owner::Build);
    assert!(is_there(&witness.join("status.json")));
}

#[test]
fn something_odd_in_its_place_is_left_alone() {
    let dir = tempfile::tempdir().expect("temp dir");
    let stand = stand(dir.path());
    let witness = stand.plan(&alpha());
    fs::create_dir_all(witness.parent().expect("plans")).expect("mkdir");
    std::os::unix::fs::symlink("nowhere", &witness).expect("link");
    make(stand, &alpha(), Owner::Build, MODES).expect("left alone");
    remove(stand, "alpha", Owner::Build);
    assert!(is_there(&witness));
}

#[test]
fn what_one_owner_stages_the_other_does_not_clear() {
    let dir = tempfile::tempdir().expect("temp dir");
    let stand = stand(dir.path());
    let plans = stand.plan(&alpha()).with_file_name("");
    let staged = |owner: Owner| plans.join(format!("{}abc.tmp", owner.staged()));
    fs::create_dir_all(staged(Owner::Merge)).expect("mkdir");
    fs::create_dir_all(staged(Owner::Build)).expect("mkdir");
    make(stand, &alpha(), Owner::Build, MODES).expect("made");
    assert!(
        is_there(&staged(Owner::Merge)),
        "the other may be about to use it"
    );
    assert!(!is_there(&staged(Owner::Build)), "a crash left it");
}

#[test]
fn two_owners_that_come_and_go_lose_no_witness() {
    let dir = tempfile::tempdir().expect("temp dir");
    let stand = stand(dir.path());
    let come_and_go = |owner: Owner| {
        for round in 0..300 {
            make(stand, &alpha(), owner, MODES).expect("made");
            assert!(is_kept(stand, &alpha(), owner), "{owner:?}, round {round}");
            thread::yield_now();
            assert!(is_kept(stand, &alpha(), owner), "{owner:?}, round {round}");
            remove(stand, "alpha", owner);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| come_and_go(Owner::Merge));
        come_and_go(Owner::Build);
    });
    assert!(!is_there(&stand.plan(&alpha())));
}
