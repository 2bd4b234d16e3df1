//! The lease on real files, with other hands at work.

use std::sync::Barrier;

use super::*;
use crate::error::ErrorKind;

mod unreadable;
mod writing;

const MODES: Modes = Modes {
    file: 0o600,
    dir: 0o700,
    group: None,
};

/// How often chance is tried.
const ROUNDS: usize = 20;

struct Ground {
    _keep: tempfile::TempDir,
    root: PathBuf,
    git_dir: PathBuf,
}

impl Ground {
    fn new() -> Self {
        let keep = tempfile::tempdir().expect("temp dir");
        let root = keep.path().join("root");
        let git_dir = root.join(".git");
        fs::create_dir_all(&git_dir).expect("mkdir");
        Self {
            _keep: keep,
            root,
            git_dir,
        }
    }

    fn store(&self) -> SessionStore {
        self.patient(20_000)
    }

    fn patient(&self, millis: u64) -> SessionStore {
        let patience = Duration::from_millis(millis);
        SessionStore::new(&self.root, &self.git_dir, MODES, patience)
    }

    fn path(&self) -> PathBuf {
        self.root.join(".orchestrator/session.lock")
    }

    fn write(&self, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(self.root.join(".orchestrator")).expect("mkdir");
        fs::write(self.path(), bytes).expect("write");
    }

    fn text(&self) -> Option<String> {
        fs::read_to_string(self.path()).ok()
    }

    /// The names in `.orchestrator`, in order.
    fn names(&self) -> Vec<String> {
        let listed = fs::read_dir(self.root.join(".orchestrator")).expect("list");
        let mut names: Vec<_> = listed
            .map(|entry| entry.expect("entry").file_name().into_string())
            .map(|name| name.expect("text"))
            .collect();
        names.sort();
        names
    }
}

fn text_of(id: &str) -> String {
    format!(
        r#"{{"session_id": "{id}", "started_at": "2026-01-01T00:00:00.000Z", "last_heartbeat": "2026-01-01T00:00:00.000Z", "mode": "deep", "pid": 7, "host": "h", "ttl_hours": 4}}"#
    )
}

fn lease(id: &str) -> Lease {
    Lease::parse(text_of(id).as_bytes()).expect("a lease")
}

fn id_of(content: &Content) -> Option<&str> {
    match content {
        Content::Held(lease) => Some(&lease.session_id),
        Content::Free | Content::Corrupt => None,
    }
}

/// Has the lease changed by `change` once another hand has done `meddle` after the first look; then
/// leaves it alone. Returns whose it was at each look.
fn meddled(ground: &Ground, change: &Change, meddle: impl Fn()) -> Vec<Option<String>> {
    let mut seen = Vec::new();
    let updated = ground.store().update(|content| {
        seen.push(id_of(content).map(str::to_owned));
        if seen.len() > 1 {
            return (Change::Nothing, ());
        }
        meddle();
        (change.clone(), ())
    });
    updated.expect("updated");
    seen
}

/// Sixteen threads begin at once, each inside the guard that `guard_of` names; asserts that one of
/// them is noted.
fn one_of_sixteen_begins(ground: &Ground, guard_of: impl Fn(usize) -> PathBuf) {
    let start = Barrier::new(16);
    let winners: Vec<String> = std::thread::scope(|scope| {
        let begin = |number: usize| {
            let (git_dir, start) = (guard_of(number), &start);
            scope.spawn(move || {
                fs::create_dir_all(&git_dir).expect("mkdir");
                let patience = Duration::from_secs(60);
                let store = SessionStore::new(&ground.root, &git_dir, MODES, patience);
                let id = format!("s{number}");
                start.wait();
                let updated = store.update(|content| match content {
                    Content::Free => (Change::Begin(lease(&id)), true),
                    Content::Held(_) | Content::Corrupt => (Change::Nothing, false),
                });
                updated.expect("updated").answer.then_some(id)
            })
        };
        let threads: Vec<_> = (0..16).map(begin).collect();
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().expect("joined"));
        joined.flatten().collect()
    });
    assert_eq!(winners.len(), 1, "{winners:?}");
    let content = ground.store().read().expect("read");
    assert_eq!(id_of(&content), Some(winners[0].as_str()));
}

#[test]
fn of_those_that_begin_at_once_one_wins() {
    let ground = Ground::new();
    one_of_sixteen_begins(&ground, |_| ground.git_dir.clone());
    assert_eq!(ground.names(), [".gitignore", "session.lock"]);
}

#[test]
fn one_wins_without_a_guard_in_common_too() {
    let ground = Ground::new();
    // A guard of its own keeps nobody out, as with other programs. Who is first is a matter of
    // chance, so it is tried again.
    for _ in 0..ROUNDS {
        one_of_sixteen_begins(&ground, |number| ground.root.join(number.to_string()));
        fs::remove_file(ground.path()).expect("removed");
    }
    assert_eq!(ground.names(), [".gitignore"]);
}

#[test]
fn a_lease_that_another_hand_makes_meanwhile_is_not_lost() {
    for change in [Change::Begin(lease("ours")), Change::Replace(lease("ours"))] {
        let ground = Ground::new();
        let theirs = text_of("theirs");
        let seen = meddled(&ground, &change, || ground.write(&theirs));
        assert_eq!(seen, [None, Some("theirs".to_owned())], "{change:?}");
        assert_eq!(ground.text(), Some(theirs), "{change:?}");
    }
}

#[test]
fn a_change_by_another_hand_is_not_lost() {
    let keep = || Change::Keep(lease("ours"));
    for change in [keep(), Change::Replace(lease("ours")), Change::Remove] {
        for in_place in [true, false] {
            let ground = Ground::new();
            ground.write(text_of("aaaaaa"));
            let theirs = text_of("theirs");
            let meddle = || {
                if !in_place {
                    fs::remove_file(ground.path()).expect("removed");
                }
                ground.write(&theirs);
            };
            let seen = meddled(&ground, &change, meddle);
            let expected = ["aaaaaa", "theirs"].map(|id| Some(id.to_owned()));
            assert_eq!(seen, expected, "{change:?}, in place: {in_place}");
            assert_eq!(ground.text(), Some(theirs), "{change:?}");
        }
    }
}

#[test]
fn the_same_text_in_another_file_is_another_lease() {
    let ground = Ground::new();
    ground.write(text_of("a"));
    let meddle = || {
        let beside = ground.root.join("beside");
        fs::write(&beside, text_of("a")).expect("write");
        fs::rename(&beside, ground.path()).expect("rename");
    };
    assert_eq!(meddled(&ground, &Change::Remove, meddle).len(), 2);
    assert_eq!(ground.text(), Some(text_of("a")));
}

#[test]
fn a_lease_that_is_gone_meanwhile_is_not_brought_back() {
    for change in [Change::Keep(lease("a")), Change::Replace(lease("a"))] {
        let ground = Ground::new();
        ground.write(text_of("a"));
        let meddle = || fs::remove_file(ground.path()).expect("removed");
        let seen = meddled(&ground, &change, meddle);
        assert_eq!(seen, [Some("a".to_owned()), None], "{change:?}");
        assert_eq!(ground.text(), None, "{change:?}");
    }
}

#[test]
fn a_guard_that_was_replaced_guards_nothing() {
    for change in [Change::Begin(lease("a")), Change::Remove] {
        let ground = Ground::new();
        if matches!(change, Change::Remove) {
            ground.write(text_of("b"));
        }
        let before = ground.text();
        let kernel = ground.git_dir.join("git-locks/session.flock");
        let meddle = || fs::remove_file(&kernel).expect("removed");
        assert_eq!(meddled(&ground, &change, meddle).len(), 2, "{change:?}");
        assert_eq!(ground.text(), before, "{change:?}");
    }
}

#[test]
fn nothing_is_made_beside_the_lease_while_it_is_guarded() {
    let ground = Ground::new();
    ground.write(text_of("a"));
    let store = ground.store();
    let updated = store.update(|_| (Change::Remove, ground.names()));
    assert_eq!(updated.expect("updated").answer, ["session.lock"]);
    assert_eq!(ground.text(), None);
}

#[test]
fn whoever_is_in_the_guard_is_waited_for_and_in_the_end_no_more() {
    let ground = Ground::new();
    let inner = ground.patient(50);
    let updated = ground.store().update(|_| {
        let failed = inner.update(|_| (Change::Nothing, ()));
        (Change::Nothing, failed.expect_err("busy").kind())
    });
    assert_eq!(updated.expect("updated").answer, ErrorKind::Timeout);
}

#[test]
fn starting_over_has_an_end() {
    let mut tries = Vec::new();
    for millis in [20_000, 20] {
        let ground = Ground::new();
        let mut number = 0;
        let failed = ground.patient(millis).update(|_| {
            number += 1;
            ground.write(text_of(&format!("s{number}")));
            (Change::Remove, ())
        });
        let error = failed.expect_err("never still");
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(error.message().contains("session.lock"), "{error}");
        assert_eq!(ground.text(), Some(text_of(&format!("s{number}"))));
        tries.push(number);
    }
    assert_eq!(tries[0], TRIES);
    assert!(tries[1] < TRIES, "{tries:?}");
}
