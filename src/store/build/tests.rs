//! Decisions on real files.

mod witnesses;

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::*;
use crate::identity::PlanId;
use crate::lease::Moment;
use crate::liveness::{Evidence, World};
use crate::locks::build::{Recorded, Verdicts};
use crate::participant::{Kind, Participant};
use crate::store::presence::Presence;
use crate::sys::host::Host;
use std::sync::Arc;

pub(super) struct Ground {
    _keep: tempfile::TempDir,
    pub(super) root: PathBuf,
    pub(super) home: Home,
}

impl Ground {
    pub(super) fn new() -> Self {
        let keep = tempfile::tempdir().expect("temp dir");
        let root = keep.path().canonicalize().expect("its real path");
        let home = Home {
            root: root.join("home"),
        };
        Self {
            _keep: keep,
            root,
            home,
        }
    }

    pub(super) fn store(&self) -> BuildStore<'_> {
        let project = Modes {
            file: 0o644,
            dir: 0o755,
            group: None,
        };
        BuildStore::new(&self.home, OsStr::new(".plan"), project)
    }

    pub(super) fn run<T>(
        &self,
        caller: &Caller,
        decide: impl FnMut(&BuildState, &Verdicts, &Now) -> (BuildState, T),
    ) -> Result<Committed<T>> {
        let patience = Duration::from_secs(20);
        self.store()
            .transact(caller, &self.root, 2, patience, &terms, &Nowhere, decide)
    }

    fn write(&self, text: &str) {
        self.home.prepare().expect("prepared");
        fs::write(self.store().queue_path, text).expect("write");
    }
}

/// Nothing can be seen.
struct Nowhere;

impl Projects for Nowhere {
    fn is_there(&self, _: &Path) -> Evidence {
        Evidence::Unobservable
    }

    fn with_world(&self, _: Option<&Path>, _: &mut dyn FnMut(&dyn World)) {}
}

pub(super) fn terms() -> Terms {
    let moment = Moment {
        wall: clock::wall(),
        boot: clock::boot(),
    };
    Terms {
        now: Now {
            moment,
            host: Host::here(),
        },
        default_ttl: 3600.0,
        ticket_ttl: 900.0,
    }
}

pub(super) fn caller(id: &str) -> Caller {
    Caller {
        id: PlanId::parse(id).expect("a plan id"),
        explicit: true,
        user: user::me(),
        checkout: None,
        presence: None,
    }
}

pub(super) fn entry(id: &str, root: &Path, presence: Option<&str>) -> Entry {
    let who = Participant {
        kind: Kind::Attached,
        host: Arc::new(Host::here()),
        ticket: terms().now.moment,
        queued_ts: 1.0,
        user: user::me(),
        inferred: false,
        checkout: None,
        workplace: None,
        reason: None,
        ttl: None,
        lease: None,
        process: None,
        presence: presence.map(str::to_owned),
        token: None,
        grant: None,
    };
    Entry {
        id: id.to_owned(),
        ts: 1.0,
        project_root: root.to_str().map(str::to_owned),
        active_since: None,
        record: Recorded::As(Arc::new(Record {
            who,
            slots: 2,
            limit: 600,
            slot: None,
            since: None,
            claimed: false,
            passed: false,
            told: false,
            command: None,
        })),
        raw: "".into(),
    }
}

fn named(id: &str) -> Entry {
    entry(id, Path::new("/nowhere"), None)
}

fn join(ground: &Ground, id: &str) {
    let joined = ground.run(&caller("me"), |state, _, _| {
        let mut next = state.clone();
        next.waiting.push(named(id));
        (next, ())
    });
    joined.expect("joined");
}

#[test]
fn a_decision_is_kept_in_a_private_file_and_reported() {
    let ground = Ground::new();
    assert_eq!(ground.store().peek().expect("read"), BuildState::default());
    join(&ground, "a:1");
    join(&ground, "b:1");
    let store = ground.store();
    let state = store.peek().expect("read");
    let waiting: Vec<_> = ids(&state.waiting).collect();
    assert_eq!(waiting, ["a:1", "b:1"]);
    for path in [&store.queue_path, &store.guard_path] {
        assert_eq!(fs::metadata(path).expect("there").mode() & 0o777, 0o600);
    }
    let left = ground.run(&caller("me"), |state, _, _| {
        let mut next = state.clone();
        let first = next.waiting.remove(0);
        next.active.push(next.waiting.remove(0));
        (next, first.id)
    });
    let left = left.expect("decided");
    assert_eq!(left.outcome, "a:1");
    let gone: Vec<_> = ids(&left.departed).collect();
    assert_eq!(gone, ["a:1"], "one that moved on is not gone");
    assert_eq!(left.state, store.peek().expect("read"));
    assert!(left.state.active[0].active_since.is_some());
    let names: Vec<_> = fs::read_dir(&ground.home.root)
        .expect("list")
        .map(|entry| entry.expect("entry").file_name())
        .collect();
    assert_eq!(
        names.len(),
        2,
        "no temporary file, no guard file: {names:?}"
    );
}

#[test]
fn nothing_is_written_where_nothing_changes() {
    let ground = Ground::new();
    let same = |state: &BuildState, _: &Verdicts, _: &Now| (state.clone(), ());
    ground.run(&caller("me"), same).expect("decided");
    assert_eq!(ground.store().stamp().expect("look"), None);
    join(&ground, "a:1");
    let stamp = ground.store().stamp().expect("look");
    assert!(stamp.is_some());
    ground.run(&caller("me"), same).expect("decided");
    assert_eq!(ground.store().stamp().expect("look"), stamp);
}

#[test]
fn what_is_no_object_is_set_aside_once_and_said() {
    let ground = Ground::new();
    ground.write("[1]");
    let same = |state: &BuildState, _: &Verdicts, _: &Now| (state.clone(), ());
    let done = ground.run(&caller("me"), same).expect("decided");
    assert_eq!(done.notes.len(), 1);
    let aside = ground.home.root.join("build-queue.json.corrupt");
    assert_eq!(fs::read_to_string(aside).expect("kept"), "[1]");
    let done = ground.run(&caller("me"), same).expect("decided");
    assert!(done.notes.is_empty());
}

#[test]
fn when_the_guard_is_taken_away_everything_starts_over() {
    let ground = Ground::new();
    let runs = Cell::new(0);
    let joined = ground.run(&caller("me"), |state, _, _| {
        runs.set(runs.get() + 1);
        if runs.get() == 1 {
            let lock = ground.home.root.join("build-queue.json.lock");
            fs::remove_file(lock).expect("the guard file");
            // As another program would, inside what it takes for its own turn.
            ground.write(r#"{"waiting": [{"id": "theirs:1"}]}"#);
        }
        let mut next = state.clone();
        next.waiting.push(named("a:1"));
        (next, ())
    });
    let waiting: Vec<_> = ids(&joined.expect("joined").state.waiting)
        .map(str::to_owned)
        .collect();
    assert_eq!(waiting, ["theirs:1", "a:1"]);
    assert_eq!(runs.get(), 2);
}

#[test]
fn those_who_were_given_a_slot_or_could_have_one_are_woken() {
    let ground = Ground::new();
    ground.home.prepare().expect("prepared");
    let ours = ground.store().ours;
    let begin = || Presence::begin(&ours, Home::MODES).expect("begun");
    let (given, next, last, me) = (begin(), begin(), begin(), begin());
    let entry = |id: &str, p: &Presence| super::tests::entry(id, &ground.root, Some(p.name()));
    let mut caller = caller("me");
    caller.presence = Some(me.name().to_owned());
    let all = [("g:1", &given), ("n:1", &next), ("l:1", &last)];
    for (id, presence) in all {
        let join = |state: &BuildState, _: &Verdicts, _: &Now| {
            let mut next = state.clone();
            next.waiting.push(entry(id, presence));
            (next, ())
        };
        ground.run(&caller, join).expect("joined");
    }
    let rung = |presence: &Presence| presence.bell().expect("a bell").was_rung();
    assert!(!rung(&given) && !rung(&next), "nothing changed for them");
    let promote = |state: &BuildState, _: &Verdicts, _: &Now| {
        let mut next = state.clone();
        let first = next.waiting.remove(0);
        next.active.push(first);
        next.active.push(entry("me:1", &me));
        next.active.truncate(1);
        (next, ())
    };
    ground.run(&caller, promote).expect("promoted");
    assert!(rung(&given), "it was given a slot");
    assert!(rung(&next), "the other slot is free");
    assert!(!rung(&last), "there are two slots only");
    assert!(!rung(&me));
}

#[test]
fn a_sweep_leaves_the_presence_of_those_on_record() {
    let ground = Ground::new();
    ground.home.prepare().expect("prepared");
    let directory = presence::directory(&ground.store().ours);
    fs::create_dir_all(&directory).expect("mkdir");
    for name in ["recorded", "dead"] {
        fs::write(directory.join(name), b"").expect("write");
    }
    let recorded = entry("a:1", &ground.root, Some("recorded"));
    let join = |state: &BuildState, _: &Verdicts, _: &Now| {
        let mut next = state.clone();
        next.waiting.push(recorded.clone());
        (next, ())
    };
    ground.run(&caller("me"), join).expect("joined");
    let left = fs::read_dir(&directory).expect("list");
    let left: Vec<_> = left.map(|e| e.expect("entry").file_name()).collect();
    assert_eq!(left, ["recorded"]);
}

#[test]
fn a_state_file_of_another_user_is_refused_by_its_owners_name() {
    if !user::is_root() {
        return;
    }
    for name in [
        "build-queue.json",
        "build-queue.json.guard",
        "build-queue.json.lock",
    ] {
        let ground = Ground::new();
        ground.home.prepare().expect("prepared");
        let path = ground.home.root.join(name);
        fs::write(&path, "{}").expect("write");
        std::os::unix::fs::chown(&path, Some(4242), None).expect("chown");
        let same = |state: &BuildState, _: &Verdicts, _: &Now| (state.clone(), ());
        let said = ground
            .run(&caller("me"), same)
            .expect_err("refused")
            .to_string();
        assert!(
            said.contains(name) && said.contains("belongs to user 4242"),
            "{said}"
        );
        assert_eq!(ground.store().peek().is_err(), name == "build-queue.json");
    }
}

#[test]
fn a_home_root_that_is_open_to_others_is_closed_by_who_writes() {
    let ground = Ground::new();
    fs::create_dir(&ground.home.root).expect("mkdir");
    let mode = || fs::metadata(&ground.home.root).expect("there").mode() & 0o777;
    fs::set_permissions(&ground.home.root, fs::Permissions::from_mode(0o755)).expect("chmod");
    ground.store().peek().expect("read");
    assert_eq!(mode(), 0o755);
    join(&ground, "a:1");
    assert_eq!(mode(), 0o700);
}
