//! States of the lock to call into, put back as they were before each disturbed call.

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use serde_json::{Value, json};

use crate::common::fixture::{base, keep_plans, plan, queue_file, write_queue};
use crate::common::{Env, Run};

/// What must never be lost from the queue file.
pub fn others_keys() -> Value {
    json!({
        "rate_windows": {"robot": {"holder": null, "pr_number": 7, "expires_at": null, "attempts": 1}},
        "more": [1.5, {"a": null}],
    })
}

/// Which lock a scene is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The merge lock.
    Merge,
    /// The build queue.
    Build,
    /// The session lease.
    Session,
}

impl Family {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Build => "build",
            Self::Session => "session",
        }
    }
}

/// One state of the lock, and the call that is disturbed in it.
#[derive(Clone, Copy)]
pub struct Scene {
    /// Of which lock.
    pub family: Family,
    /// What happens in it.
    pub name: &'static str,
    /// Brings it about.
    pub set: fn(&Stage),
    /// The call.
    pub args: &'static str,
    /// What must hold after the call was cut off or failed: see [`crate::aftermath`].
    pub after: fn(&Stage, usize),
}

impl Scene {
    /// How many kills, and how many calls that fail, there must be at least for a test to have tested
    /// anything. A lease is one small file: there is less to disturb.
    pub fn least(&self) -> (usize, usize) {
        match self.family {
            Family::Merge | Family::Build => (16, 11),
            Family::Session => (12, 8),
        }
    }
}

/// A repository and the state of the lock to come back to.
pub struct Stage {
    /// Where it all is.
    pub env: Env,
    /// The repository.
    pub repo: PathBuf,
    /// Of which lock its calls are.
    pub family: Family,
    /// What others do while a call runs that is disturbed.
    pub beside: OnceLock<Beside>,
    kept: PathBuf,
    fence: u64,
}

/// What others do while a call runs, given whether it has ended.
pub type Beside = fn(&Stage, &dyn Fn() -> bool);

impl Stage {
    /// A repository in which the state is as `scene` wants it.
    pub fn new(scene: &Scene) -> Self {
        let env = Env::new();
        let repo = env.init("repo");
        let kept = env.mkdir("kept");
        let mut stage = Self {
            env,
            repo,
            family: scene.family,
            beside: OnceLock::new(),
            kept,
            fence: 0,
        };
        let mut queue = others_keys();
        queue["waiting"] = json!([]);
        match scene.family {
            Family::Merge => write_queue(&stage.repo, &queue),
            Family::Build | Family::Session => stage.env.builds().write(&queue),
        }
        (scene.set)(&stage);
        for (number, dir) in stage.places().iter().enumerate() {
            copy(dir, &stage.kept.join(number.to_string()));
        }
        stage.fence = stage.fence_now();
        stage
    }

    /// The state's directories.
    pub fn places(&self) -> [PathBuf; 4] {
        let [plan, sessions] = [".plan", ".orchestrator"].map(|name| self.repo.join(name));
        [plan, sessions, self.ours(), self.env.home_root()]
    }

    /// The file of the queue.
    pub fn queue_path(&self) -> PathBuf {
        match self.family {
            Family::Merge => queue_file(&self.repo),
            Family::Build | Family::Session => self.env.builds().path(),
        }
    }

    /// Calls `git locks` about the lock of the scene.
    #[track_caller]
    pub fn call(&self, args: &str) -> Run {
        match self.family {
            Family::Merge => self.env.merge(&self.repo, args),
            Family::Build => self.env.build(&self.repo, args),
            Family::Session => {
                let args = format!("session --format json {args}");
                self.env.locks(&self.repo, &args)
            }
        }
    }

    /// Where our own files are.
    pub fn ours(&self) -> PathBuf {
        self.repo.join(".git/git-locks")
    }

    /// Puts the state back.
    pub fn reset(&self) {
        for (number, dir) in self.places().iter().enumerate() {
            if dir.exists() {
                std::fs::remove_dir_all(dir).expect("an old state");
            }
            copy(&self.kept.join(number.to_string()), dir);
        }
    }

    /// The processes that were started in the repository and still run.
    pub fn processes(&self) -> Vec<i32> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let here = |pid: &i32| {
            let at = std::fs::read_link(format!("/proc/{pid}/cwd"));
            at.is_ok_and(|at| at.starts_with(&self.repo))
        };
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(here).collect()
    }

    /// The fence as it is recorded.
    pub fn fence_now(&self) -> u64 {
        match std::fs::read_to_string(self.ours().join("merge.json")) {
            Ok(text) => {
                let records: Value = serde_json::from_str(&text)
                    .unwrap_or_else(|error| panic!("merge.json: {error}: {text:?}"));
                records["fence"].as_u64().expect("a fence")
            }
            Err(_) => 0,
        }
    }

    /// The fence as it was before the disturbed call.
    pub fn fence_before(&self) -> u64 {
        self.fence
    }

    /// A call that must go through within a second, admitted or blocked.
    #[track_caller]
    pub fn quick(&self, args: &str) -> Run {
        let start = Instant::now();
        loop {
            let run = self.call(args);
            let fine = [0, 75].contains(&run.code) && run.text("status") != "error";
            if fine && start.elapsed() < Duration::from_secs(1) {
                return run;
            }
            assert!(
                start.elapsed() < Duration::from_secs(1),
                "did not go through within a second: {run:#?}"
            );
        }
    }

    /// The lock file and the queue agree with the program: this one holds, no other.
    #[track_caller]
    pub fn held_by(&self, id: &str) {
        let lock = std::fs::read_to_string(base(&self.repo).join("merge.lock"));
        assert_eq!(lock.expect("a lock file"), format!("{id}\n"));
        self.quick("check").says(&[("holder_plan_id", json!(id))]);
    }

    /// Another's keys are all there.
    #[track_caller]
    pub fn keeps_others_keys(&self) {
        let text = std::fs::read_to_string(self.queue_path()).expect("a queue");
        let queue: Value = serde_json::from_str(&text).expect("the queue is JSON");
        for (key, value) in others_keys().as_object().expect("an object") {
            assert_eq!(&queue[key], value, "{key} was lost");
        }
    }
}

/// Copies a tree with its modification times; nothing when there is none.
fn copy(from: &Path, to: &Path) {
    let Ok(entries) = std::fs::read_dir(from) else {
        return;
    };
    std::fs::create_dir_all(to).expect("a directory");
    for entry in entries.flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let metadata = entry.metadata().expect("its metadata");
        if metadata.is_dir() {
            copy(&source, &target);
            continue;
        }
        if metadata.file_type().is_fifo() {
            mkfifo(&target, Mode::S_IRUSR | Mode::S_IWUSR).expect("a FIFO");
            continue;
        }
        std::fs::copy(&source, &target).expect("a copy");
        let file = std::fs::File::options().write(true).open(&target);
        let file = file.expect("the copy");
        file.set_modified(metadata.modified().expect("its time"))
            .expect("utimes");
        assert_eq!(
            file.metadata().expect("metadata").mtime_nsec(),
            metadata.mtime_nsec()
        );
    }
}

/// What a failing test leaves running goes with it.
impl Drop for Stage {
    fn drop(&mut self) {
        for pid in self.processes() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

/// Calls that each end with such a code.
#[track_caller]
pub fn setup(stage: &Stage, calls: &[(&str, i32)]) {
    for (args, code) in calls {
        stage.call(args).exits(*code);
    }
}

/// Living plans of these ids.
pub fn plans(stage: &Stage, ids: &[&str]) {
    keep_plans(&stage.repo);
    for id in ids {
        plan(&stage.repo, id);
    }
}

fn dead_holder(stage: &Stage) {
    plans(stage, &["dead", "wait", "other", "late"]);
    setup(
        stage,
        &[
            ("acquire --as dead", 0),
            ("acquire --as wait", 75),
            ("acquire --as other", 75),
        ],
    );
    std::fs::remove_dir(base(&stage.repo).join("plans/dead")).expect("its plan");
}

/// A free lock is acquired.
pub const ACQUIRE: Scene = Scene {
    family: Family::Merge,
    name: "acquire",
    set: |_| {},
    args: "acquire --as me",
    after: crate::aftermath::acquire,
};

/// A newcomer queues behind another.
pub const QUEUE: Scene = Scene {
    family: Family::Merge,
    name: "queue",
    set: |stage| {
        setup(
            stage,
            &[("acquire --as hold", 0), ("acquire --as wait", 75)],
        );
    },
    args: "acquire --as me",
    after: crate::aftermath::queue,
};

/// The holder lets go while another waits.
pub const RELEASE: Scene = Scene {
    family: Family::Merge,
    name: "release",
    set: |stage| {
        setup(
            stage,
            &[
                ("acquire --as hold", 0),
                ("acquire --as wait", 75),
                ("acquire --as other", 75),
            ],
        );
    },
    args: "release --as hold",
    after: crate::aftermath::release,
};

/// The first waiter takes over from a dead holder.
pub const RECLAIM: Scene = Scene {
    family: Family::Merge,
    name: "reclaim",
    set: dead_holder,
    args: "acquire --as wait",
    after: crate::aftermath::reclaim,
};

/// Somebody clears a dead holder away.
pub const EVICT: Scene = Scene {
    family: Family::Merge,
    name: "evict",
    set: dead_holder,
    args: "release --require-stale --as late",
    after: crate::aftermath::evict,
};

/// The holder asks again.
pub const AGAIN: Scene = Scene {
    family: Family::Merge,
    name: "again",
    set: |stage| {
        setup(
            stage,
            &[("acquire --as hold", 0), ("acquire --as wait", 75)],
        );
    },
    args: "acquire --as hold",
    after: crate::aftermath::again,
};

/// A participant that is no plan takes part where plans are kept.
pub const WITNESS: Scene = Scene {
    family: Family::Merge,
    name: "witness",
    set: |stage| keep_plans(&stage.repo),
    args: "acquire --as me --ttl 1h",
    after: crate::aftermath::witness,
};

/// It leaves again.
pub const WITNESS_LEAVES: Scene = Scene {
    family: Family::Merge,
    name: "witness leaves",
    set: |stage| {
        keep_plans(&stage.repo);
        setup(
            stage,
            &[
                ("acquire --as hold --ttl 1h", 0),
                ("acquire --as wait --ttl 1h", 75),
                ("acquire --as other --ttl 1h", 75),
            ],
        );
    },
    args: "release --as hold",
    after: crate::aftermath::witness_leaves,
};
