//! Witnesses come with the entries of ours and go with them.

use super::*;
use crate::store::witness::{self, Owner, Stand};

/// A checkout that keeps plans.
fn project(ground: &Ground) {
    for part in [".git", ".plan/local/plans"] {
        fs::create_dir_all(ground.root.join(part)).expect("mkdir");
    }
}

fn is_kept(ground: &Ground, id: &str, owner: Owner) -> bool {
    let base = ground.root.join(".plan/local");
    let stand = Stand {
        base: &base,
        plan_dir: OsStr::new(".plan"),
    };
    witness::is_kept(stand, &caller(id).id, owner)
}

/// Lets `id` decide that these take part from now on.
fn decide(ground: &Ground, id: &str, entries: &[Entry]) -> Vec<Note> {
    let decided = ground.run(&caller(id), |state, _, _| {
        let next = BuildState {
            waiting: entries.to_vec(),
            ..state.clone()
        };
        (next, ())
    });
    decided.expect("decided").notes
}

fn of_kind(kind: Kind, mut entry: Entry) -> Entry {
    if let Recorded::As(record) = &mut entry.record {
        Arc::make_mut(record).who.kind = kind;
    }
    entry
}

#[test]
fn a_witness_stands_while_any_entry_of_its_id_and_project_does() {
    let ground = Ground::new();
    project(&ground);
    let (one, two) = (
        entry("a:1", &ground.root, None),
        entry("a:2", &ground.root, None),
    );
    assert!(decide(&ground, "a", &[one.clone(), two.clone()]).is_empty());
    assert!(is_kept(&ground, "a", Owner::Build));
    let ignored = fs::read_to_string(ground.root.join(".plan/local/.gitignore"));
    assert_eq!(ignored.expect("there"), "*\n");
    decide(&ground, "b", &[two]);
    assert!(
        is_kept(&ground, "a", Owner::Build),
        "there is another entry"
    );
    decide(&ground, "b", &[]);
    assert!(
        !is_kept(&ground, "a", Owner::Build),
        "whoever removes it takes it down"
    );
    decide(&ground, "a", &[of_kind(Kind::Leased, one.clone())]);
    assert!(is_kept(&ground, "a", Owner::Build));
    decide(&ground, "a", &[of_kind(Kind::Plan, one)]);
    assert!(
        !is_kept(&ground, "a", Owner::Build),
        "a plan speaks for itself"
    );
}

#[test]
fn a_witness_of_the_merge_lock_stays_and_one_without_an_entry_goes() {
    let ground = Ground::new();
    project(&ground);
    let base = ground.root.join(".plan/local");
    let stand = Stand {
        base: &base,
        plan_dir: OsStr::new(".plan"),
    };
    for owner in [Owner::Merge, Owner::Build] {
        witness::make(stand, &caller("a").id, owner, Home::MODES).expect("made");
    }
    // Its entry was removed by a program that knows no witnesses.
    decide(&ground, "a", &[]);
    assert!(!is_kept(&ground, "a", Owner::Build));
    assert!(is_kept(&ground, "a", Owner::Merge));
}

#[test]
fn there_is_no_witness_without_plans_or_a_checkout() {
    for part in [".git", ".plan/local/plans"] {
        let ground = Ground::new();
        fs::create_dir_all(ground.root.join(part)).expect("mkdir");
        assert!(decide(&ground, "a", &[entry("a:1", &ground.root, None)]).is_empty());
        assert!(fs::symlink_metadata(ground.root.join(".plan/local/worktrees")).is_err());
    }
}

#[test]
fn where_none_can_be_made_the_caller_is_told_and_has_its_place() {
    let ground = Ground::new();
    project(&ground);
    fs::write(ground.root.join(".plan/local/worktrees"), b"").expect("write");
    let notes = decide(&ground, "a", &[entry("a:1", &ground.root, None)]);
    assert!(
        matches!(&notes[..], [Note::Warning(said)] if said.contains("worktrees")),
        "{notes:?}"
    );
    assert_eq!(ground.store().peek().expect("read").waiting.len(), 1);
}
