//! Another program that shares the files: it knows plans only, creates with `O_EXCL`, rewrites
//! the queue with no more of an entry than `plan_id` and `ts`, and removes only what is its own.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use crate::arena::Arena;
use crate::chance::Chance;
use crate::common::fixture::{base, lock_file, now, queue_file};

/// One member of the other program.
pub struct Foreign<'a> {
    /// The repository.
    pub repo: &'a Path,
    /// Its plan.
    pub id: &'a str,
    /// Where it notes what must not happen.
    pub arena: &'a Arena,
    /// Whether plans other than its own may die.
    pub deaths: bool,
}

impl Foreign<'_> {
    fn alive(&self, id: &str) -> bool {
        let base = base(self.repo);
        let moved = || {
            let worktree = base.join("worktrees").join(id);
            worktree.join(".plan/local/plans").join(id)
        };
        let on_main = base.join("plans").join(id);
        on_main.is_dir() || moved().is_dir() || on_main.is_dir()
    }

    /// Runs `edit` on the list of waiters, under the guard that programs share. `false` when
    /// the guard could not be had by `deadline`.
    fn in_guard(
        &self,
        deadline: Instant,
        chance: &mut Chance,
        edit: impl FnOnce(&mut Vec<Value>),
    ) -> bool {
        let state = queue_file(self.repo);
        let guard = PathBuf::from(format!("{}.lock", state.display()));
        while OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&guard)
            .is_err()
        {
            if Instant::now() > deadline {
                return false;
            }
            chance.pause(5);
        }
        let text = std::fs::read_to_string(&state).unwrap_or_default();
        let mut document: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!({}));
        let waiting = document["waiting"].as_array().cloned().unwrap_or_default();
        let mut waiting = waiting
            .iter()
            .map(|entry| json!({"plan_id": entry["plan_id"], "ts": entry["ts"]}))
            .collect();
        edit(&mut waiting);
        document["waiting"] = Value::Array(waiting);
        let temporary = state.with_extension(format!("json.{}", self.id));
        std::fs::write(&temporary, document.to_string()).expect("a new queue");
        std::fs::rename(&temporary, &state).expect("the queue");
        std::fs::remove_file(&guard).expect("its own guard");
        true
    }

    /// Tries once; whether it has the lock now. `None` when the guard could not be had.
    pub fn acquire(&self, deadline: Instant, chance: &mut Chance) -> Option<bool> {
        let mut pause = Chance::new(chance.below(u64::MAX));
        let mut admitted = false;
        let entered = self.in_guard(deadline, chance, |waiting| {
            let holder = std::fs::read_to_string(lock_file(self.repo)).unwrap_or_default();
            waiting.retain(|entry| {
                let id = entry["plan_id"].as_str().unwrap_or_default();
                let keep = id == self.id || id == holder.trim() || self.alive(id);
                if !keep && !self.deaths {
                    self.arena.fault(format!("{id} waits, but looks dead"));
                }
                keep
            });
            if waiting.iter().all(|entry| entry["plan_id"] != self.id) {
                waiting.push(json!({"plan_id": self.id, "ts": now()}));
            }
            let front = waiting
                .iter()
                .find(|entry| entry["plan_id"] != holder.trim());
            if front.is_none_or(|entry| entry["plan_id"] != self.id) {
                return;
            }
            let made = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(lock_file(self.repo));
            if let Ok(mut file) = made {
                // Whoever looks now sees a lock that names nobody.
                pause.pause(2);
                writeln!(file, "{}", self.id).expect("its name");
                admitted = true;
            }
        });
        entered.then_some(admitted)
    }

    /// Lets go; `false` when the guard could not be had.
    pub fn release(&self, deadline: Instant, chance: &mut Chance) -> bool {
        self.in_guard(deadline, chance, |waiting| {
            waiting.retain(|entry| entry["plan_id"] != self.id);
            let path = lock_file(self.repo);
            let holder = std::fs::read_to_string(&path).unwrap_or_default();
            if holder.trim() == self.id {
                std::fs::remove_file(&path).expect("its own lock");
            } else {
                self.arena
                    .fault(format!("{} holds, but the file says {holder:?}", self.id));
            }
        })
    }
}
