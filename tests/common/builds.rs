//! The build queue as it is on disk, calls about it, and another program that shares it.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::fixture::{base, now, plan_worktree};
use super::turns::{presence_files_in, take_kernel_lock, waits_for};
use super::{DEADLINE, Env, Run, chmod};

impl Env {
    /// Runs `git locks build` with `args` (split at blanks) in `dir`; fails the test unless it
    /// prints a JSON report, whatever its exit code.
    #[track_caller]
    pub fn build(&self, dir: &Path, args: &str) -> Run {
        let run = self.call(dir).args("--format json build").args(args).run();
        run.text("status");
        run
    }

    /// The home root of this environment's user.
    pub fn home_root(&self) -> PathBuf {
        self.path("home/.plan-marshall")
    }

    /// The queue of this environment's user.
    pub fn builds(&self) -> Queue {
        Queue::of(&self.home_root())
    }
}

/// The queue under one home root.
#[derive(Clone, Debug)]
pub struct Queue {
    home: PathBuf,
}

impl Queue {
    /// The queue under this home root.
    pub fn of(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
        }
    }

    /// `<home>/build-queue.json`.
    pub fn path(&self) -> PathBuf {
        self.home.join("build-queue.json")
    }

    /// The guard file that programs share.
    pub fn guard_file(&self) -> PathBuf {
        self.home.join("build-queue.json.lock")
    }

    /// The file as it is; empty where there is none.
    pub fn text(&self) -> String {
        std::fs::read_to_string(self.path()).unwrap_or_default()
    }

    /// The queue as it is; an empty object where there is none.
    #[track_caller]
    pub fn read(&self) -> Value {
        match std::fs::read(self.path()) {
            Ok(bytes) => serde_json::from_slice(&bytes).expect("the queue is JSON"),
            Err(_) => json!({}),
        }
    }

    /// Writes this text as another program would.
    pub fn write_text(&self, text: &str) {
        if !self.home.exists() {
            std::fs::create_dir_all(&self.home).expect("a home root");
            chmod(&self.home, 0o700);
        }
        let temporary = self.path().with_extension("json.test");
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&temporary)
            .expect("a new queue");
        file.write_all(text.as_bytes()).expect("a new queue");
        std::fs::rename(&temporary, self.path()).expect("the queue");
    }

    /// Writes this queue as another program would.
    pub fn write(&self, queue: &Value) {
        self.write_text(&serde_json::to_string_pretty(queue).expect("JSON"));
    }

    /// Writes a queue of these entries.
    pub fn write_entries(&self, active: &[Value], waiting: &[Value]) {
        self.write(&json!({"active": active, "waiting": waiting, "run_log": []}));
    }

    /// Changes the queue inside the kernel lock, as nobody but a test does.
    #[track_caller]
    pub fn edit(&self, edit: impl FnOnce(&mut Value)) {
        let _guard = self.take_kernel_lock();
        let mut queue = self.read();
        edit(&mut queue);
        self.write(&queue);
    }

    /// Takes the kernel lock of the guard; it is free again when the file is dropped.
    #[track_caller]
    pub fn take_kernel_lock(&self) -> File {
        take_kernel_lock(&self.home.join("build-queue.json.guard"))
    }

    /// The entries of a list, in order.
    pub fn list(&self, list: &str) -> Vec<Value> {
        self.read()[list].as_array().cloned().unwrap_or_default()
    }

    /// The ids in a list, in order.
    pub fn ids(&self, list: &str) -> Vec<String> {
        let id = |entry: &Value| entry["id"].as_str().unwrap_or_default().to_owned();
        self.list(list).iter().map(id).collect()
    }

    /// The plan ids of those who have a slot, in order.
    pub fn active(&self) -> Vec<String> {
        self.plans("active")
    }

    /// The plan ids of those who wait, in order.
    pub fn waiting(&self) -> Vec<String> {
        self.plans("waiting")
    }

    fn plans(&self, list: &str) -> Vec<String> {
        self.ids(list).iter().map(|id| plan_of(id)).collect()
    }

    /// The entry of this plan id, active or waiting.
    #[track_caller]
    pub fn entry(&self, plan: &str) -> Value {
        let mut all = self.list("active");
        all.extend(self.list("waiting"));
        let found = all
            .iter()
            .find(|entry| plan_of(entry["id"].as_str().unwrap_or_default()) == plan);
        found
            .unwrap_or_else(|| panic!("no {plan} in {all:#?}"))
            .clone()
    }

    /// The id of this plan's entry.
    #[track_caller]
    pub fn id_of(&self, plan: &str) -> String {
        let entry = self.entry(plan);
        entry["id"].as_str().expect("an id").to_owned()
    }

    /// Moves the time since which this plan has its slot into the past.
    #[track_caller]
    pub fn backdate(&self, plan: &str, seconds: f64) {
        self.edit(|queue| {
            let active = queue["active"].as_array_mut().expect("those who build");
            let entry = active
                .iter_mut()
                .find(|entry| plan_of(entry["id"].as_str().unwrap_or_default()) == plan);
            let entry = entry.unwrap_or_else(|| panic!("{plan} has no slot"));
            let earlier = |value: &mut Value| {
                if let Some(number) = value.as_f64() {
                    *value = json!(number - seconds);
                }
            };
            earlier(&mut entry["active_since"]);
            if let Some(since) = entry.pointer_mut("/git_locks/since") {
                for clock in ["wall", "boot"] {
                    since.get_mut(clock).map(earlier);
                }
            }
        });
    }

    /// Waits until exactly these have a slot, in any order.
    #[track_caller]
    pub fn wait_until_active(&self, plans: &[&str]) {
        let mut wanted: Vec<&str> = plans.to_vec();
        wanted.sort_unstable();
        waits_for(&format!("{wanted:?} to have a slot"), DEADLINE, || {
            let mut active = self.active();
            active.sort_unstable();
            (active == wanted).then_some(())
        });
    }

    /// Waits until this many wait.
    #[track_caller]
    pub fn wait_until_queued(&self, count: usize) {
        waits_for(&format!("{count} to wait"), DEADLINE, || {
            (self.list("waiting").len() == count).then_some(())
        });
    }

    /// The presence files of those who take part.
    pub fn presence(&self) -> Vec<PathBuf> {
        presence_files_in(&self.home.join("git-locks/presence"))
    }

    /// Nobody has a slot, nobody waits, and nothing of a process that took part is left.
    #[track_caller]
    pub fn is_empty(&self) {
        assert_eq!(self.ids("active"), [""; 0], "somebody has a slot");
        assert_eq!(self.ids("waiting"), [""; 0], "somebody waits");
        let presence = self.presence();
        assert!(presence.is_empty(), "left behind: {presence:?}");
        assert!(!self.guard_file().exists(), "a guard file is left");
    }
}

/// The plan id in the id of an entry.
pub fn plan_of(id: &str) -> String {
    let plan = id.rsplit_once(':').map_or("", |(plan, _)| plan);
    plan.to_owned()
}

/// An entry as another program writes it; active for `held` seconds, or waiting.
pub fn foreign(plan: &str, root: &Path, held: Option<f64>) -> Value {
    let at = now();
    json!({
        "id": format!("{plan}:00000000-0000-4000-8000-000000000000"),
        "plan_id": plan,
        "ts": at - held.unwrap_or(0.0),
        "project_root": root,
        "active_since": held.map(|held| at - held),
    })
}

/// `<base>/run-configuration.json` with this adaptive limit.
pub fn limit_of(main: &Path, limit: &Value) {
    std::fs::create_dir_all(base(main)).expect("the base");
    let text =
        json!({"version": 1, "commands": {}, "build": {"queue": {"upper_limit_seconds": limit}}});
    std::fs::write(limit_file(main), text.to_string()).expect("a configuration");
}

/// `<base>/run-configuration.json`.
pub fn limit_file(main: &Path) -> PathBuf {
    base(main).join("run-configuration.json")
}

/// Another program that shares the queue: it knows plans and ages only, makes the guard file with
/// `O_EXCL`, keeps entries whole, and drops every key of the file but its three.
pub struct Other<'a> {
    /// The queue.
    pub queue: Queue,
    /// Its project.
    pub root: &'a Path,
    /// Its number of slots.
    pub slots: usize,
    /// Its adaptive limit, in seconds.
    pub limit: f64,
}

struct Lists {
    active: Vec<Value>,
    waiting: Vec<Value>,
    run_log: Vec<Value>,
}

impl<'a> Other<'a> {
    /// One member of it, in the project at `root`.
    pub fn new(env: &Env, root: &'a Path, slots: usize) -> Self {
        Self {
            queue: env.builds(),
            root,
            slots,
            limit: 600.0,
        }
    }

    fn in_guard<T>(&self, edit: impl FnOnce(&mut Lists) -> T) -> T {
        let guard = self.queue.guard_file();
        let end = Instant::now() + DEADLINE;
        std::fs::create_dir_all(&self.queue.home).expect("a home root");
        while let Err(error) = OpenOptions::new().write(true).create_new(true).open(&guard) {
            assert!(Instant::now() < end, "{}: {error}", guard.display());
            thread::sleep(Duration::from_millis(5));
        }
        let list = |name: &str| self.queue.list(name);
        let mut lists = Lists {
            active: list("active"),
            waiting: list("waiting"),
            run_log: list("run_log"),
        };
        let made = edit(&mut lists);
        self.queue.write(&json!({
            "active": lists.active,
            "waiting": lists.waiting,
            "run_log": lists.run_log,
        }));
        std::fs::remove_file(&guard).expect("its own guard");
        made
    }

    fn is_mine(&self, entry: &Value, plan: &str) -> bool {
        entry["plan_id"] == plan && entry["project_root"] == json!(self.root)
    }

    fn lives(entry: &Value) -> bool {
        let plan = plan_of(entry["id"].as_str().unwrap_or_default());
        let root = PathBuf::from(entry["project_root"].as_str().unwrap_or_default());
        let on_main = base(&root).join("plans").join(&plan);
        let moved = plan_worktree(&root, &plan).join(".plan/local/plans");
        on_main.is_dir() || moved.join(&plan).is_dir() || on_main.is_dir()
    }

    fn promote(&self, lists: &mut Lists) -> Option<String> {
        if lists.active.len() >= self.slots || lists.waiting.is_empty() {
            return None;
        }
        let mut entry = lists.waiting.remove(0);
        entry["active_since"] = json!(now());
        let id = entry["id"].as_str().map(str::to_owned);
        lists.active.push(entry);
        id
    }

    fn reap(&self, lists: &mut Lists) {
        let now = now();
        lists.active.retain(|entry| {
            let since = entry["active_since"].as_f64().unwrap_or(now);
            now - since <= 2.0 * self.limit
        });
        while self.promote(lists).is_some() {}
    }

    /// Asks for a slot; whether it has one now.
    pub fn acquire(&self, plan: &str) -> bool {
        self.in_guard(|lists| {
            self.reap(lists);
            lists.active.retain(Self::lives);
            if lists.active.iter().any(|entry| self.is_mine(entry, plan)) {
                return true;
            }
            let place = |lists: &Lists| {
                let mut waiting = lists.waiting.iter();
                waiting.position(|entry| self.is_mine(entry, plan))
            };
            let at = place(lists).unwrap_or_else(|| {
                lists.waiting.push(self.newcomer(plan));
                lists.waiting.len() - 1
            });
            let admitted = lists.active.len() + at < self.slots;
            if admitted {
                let mut entry = lists.waiting.remove(at);
                entry["active_since"] = json!(now());
                lists.active.push(entry);
            }
            admitted
        })
    }

    /// Lets go; who was given the slot.
    pub fn release(&self, plan: &str) -> Option<String> {
        self.in_guard(|lists| {
            self.reap(lists);
            let before = lists.active.len();
            lists.active.retain(|entry| !self.is_mine(entry, plan));
            let freed = lists.active.len() < before;
            lists.waiting.retain(|entry| !self.is_mine(entry, plan));
            freed.then(|| self.promote(lists)).flatten()
        })
    }

    fn newcomer(&self, plan: &str) -> Value {
        let number = now().to_bits();
        json!({
            "id": format!("{plan}:{:08x}-0000-4000-8000-{:012x}", number >> 40, number & 0xffff_ffff),
            "plan_id": plan,
            "ts": now(),
            "project_root": self.root,
            "active_since": null,
        })
    }
}
