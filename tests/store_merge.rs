//! The merge lock's store against another program that is quicker.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking and write files as others do"
)]

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use git_locks::identity::PlanId;
use git_locks::lease::{Moment, Now};
use git_locks::liveness::{Evidence, Terms, World};
use git_locks::locks::asking::{Bid, Caller};
use git_locks::locks::merge::{self, Admission, Rules};
use git_locks::participant::Kind;
use git_locks::store::merge::{MergeStore, Purpose};
use git_locks::sys::clock;
use git_locks::sys::file::Modes;
use git_locks::sys::host::Host;
use git_locks::sys::process::ProcessId;

/// Everybody lives.
struct Alive;

impl World for Alive {
    fn keeps_plans(&self) -> Evidence {
        Evidence::Alive
    }
    fn plan(&self, _: &PlanId) -> Evidence {
        Evidence::Alive
    }
    fn worktree(&self, _: &PlanId) -> Evidence {
        Evidence::Alive
    }
    fn process(&self, _: &ProcessId, _: &Host) -> Evidence {
        Evidence::Alive
    }
    fn presence(&self, _: &str, _: &Host) -> Evidence {
        Evidence::Alive
    }
}

/// Acquires as `name`; `meanwhile` runs between the first decision and its commit.
fn acquire(root: &Path, name: &str, meanwhile: impl FnOnce()) -> Admission {
    let id = PlanId::parse(name).expect("a plan id");
    let now = Now {
        moment: Moment {
            wall: clock::wall(),
            boot: clock::boot(),
        },
        host: Host::here(),
    };
    let terms = Terms {
        now: now.clone(),
        default_ttl: 3600.0,
        ticket_ttl: 900.0,
    };
    let rules = Rules {
        now,
        pass_over: None,
        ticket_ttl: 900.0,
        poll_grain: 0.0,
        may_reclaim: true,
        keeps_plans: false,
    };
    let caller = Caller {
        id: id.clone(),
        explicit: true,
        user: 0,
        checkout: None,
        presence: None,
    };
    let bid = Bid {
        kind: Kind::Plan,
        insists: false,
        ttl: 60.0,
        process: None,
        token: None,
        workplace: None,
        reason: None,
    };
    let modes = Modes {
        file: 0o644,
        dir: 0o755,
        group: None,
    };
    let (base, ours) = (root.join("base"), root.join("ours"));
    std::fs::create_dir_all(&base).expect("a directory");
    let store = MergeStore::new(&base, &ours, OsStr::new(".plan"), modes);
    let mut meanwhile = Some(meanwhile);
    let committed = store.transact(
        &caller,
        Purpose::Ordinary,
        Duration::from_secs(10),
        &|| terms.clone(),
        &Alive,
        |state, verdicts, _| {
            let decided = merge::acquire(state, &caller, &bid, verdicts, &rules);
            if let Some(meanwhile) = meanwhile.take() {
                meanwhile();
            }
            decided
        },
    );
    committed.expect("committed").outcome
}

fn queue(root: &Path) -> Vec<String> {
    let bytes = std::fs::read(root.join("base/merge-queue.json")).expect("a queue");
    let value: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    let waiting = value["waiting"].as_array().expect("a list");
    let ids = waiting.iter().map(|entry| entry["plan_id"].as_str());
    ids.map(|id| id.expect("text").to_owned()).collect()
}

#[test]
fn who_is_beaten_to_the_lock_by_another_program_keeps_its_place() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let lock = dir.path().join("base/merge.lock");
    assert!(matches!(
        acquire(dir.path(), "h", || {}),
        Admission::Admitted(_)
    ));
    for name in ["a", "b"] {
        assert!(matches!(
            acquire(dir.path(), name, || {}),
            Admission::Blocked(_)
        ));
    }
    // Its holder lets go in the way of another program, which leaves our records alone.
    std::fs::remove_file(&lock).expect("held");
    let barge = || {
        use std::io::Write as _;
        let mut options = std::fs::OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .open(&lock)
            .expect("free");
        file.write_all(b"other\n").expect("written");
    };
    let admission = acquire(dir.path(), "a", barge);
    let Admission::Blocked(waiting) = admission else {
        panic!("two holders: {admission:?}");
    };
    assert_eq!(waiting.position, Some(1));
    assert_eq!(queue(dir.path()), ["a", "b"]);
    std::fs::remove_file(&lock).expect("held by the other");
    assert!(matches!(
        acquire(dir.path(), "b", || {}),
        Admission::Blocked(_)
    ));
    assert!(matches!(
        acquire(dir.path(), "a", || {}),
        Admission::Admitted(_)
    ));
}
