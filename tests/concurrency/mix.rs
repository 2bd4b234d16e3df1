//! Who takes part in a run, what befalls them, and what must be true in the end.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::arena::{Arena, Pass};
use crate::calls::{Calls, Said};
use crate::chance::Chance;
use crate::common::fixture::{base, holder, keep_plans, plan, read_queue, waiting, write_queue};
use crate::common::{Env, eventually};
use crate::foreign::Foreign;

/// Runs take turns: each needs the machine for itself.
static TURN: Mutex<()> = Mutex::new(());
/// How long one run takes unless the environment says otherwise.
const SHORT: Duration = Duration::from_secs(3);
/// Who has not had the lock for this long is wedged.
const PATIENCE: Duration = Duration::from_secs(60);

/// What vouches for the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vouching {
    /// A lease; no plans are kept.
    Leases,
    /// A plan.
    Plans,
    /// A plan, and for every second one a lease, where plans are kept.
    Both,
}

/// Who takes part, and what befalls them.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Workers that use the program.
    pub ours: usize,
    /// Workers that use another.
    pub foreign: usize,
    /// What vouches for ours.
    pub vouching: Vouching,
    /// Whether plans of ours die, holding or waiting.
    pub deaths: bool,
    /// Whether processes of ours are killed.
    pub kills: bool,
}

/// One run.
struct Bout<'a> {
    mix: Mix,
    repo: &'a Path,
    arena: &'a Arena,
    calls: &'a Calls<'a>,
    end: Instant,
}

impl Mix {
    /// Runs it, and fails the test unless everything is as it must be in the end.
    pub fn run(self) {
        let _turn = TURN
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let env = Env::new();
        let repo = env.init("repo");
        if self.vouching != Vouching::Leases {
            keep_plans(&repo);
        }
        let others =
            json!({"robot": {"holder": null, "pr_number": 7, "expires_at": null, "attempts": 1}});
        write_queue(
            &repo,
            &json!({"waiting": [], "rate_windows": others, "more": [1, {"a": null}]}),
        );
        let arena = Arena::new(&env.mkdir("arena"));
        let calls = Calls::new(&env, &repo, self.ours);
        let length = std::env::var("GIT_LOCKS_STRESS_SECONDS")
            .ok()
            .and_then(|text| text.parse().ok());
        let bout = Bout {
            mix: self,
            repo: &repo,
            arena: &arena,
            calls: &calls,
            end: Instant::now() + length.map_or(SHORT, Duration::from_secs),
        };
        bout.all();
        eprintln!(
            "{self:?}: {} turns, {} killed",
            arena.laps(),
            calls.killed()
        );
        arena.verdict();
        assert!(
            arena.laps() >= (self.ours + self.foreign) as u64,
            "not everybody had a turn"
        );
        self.leaves_nothing(&env, &repo);
        let queue = read_queue(&repo);
        assert_eq!(queue["rate_windows"], others, "another's key was lost");
        assert_eq!(queue["more"], json!([1, {"a": null}]));
    }

    /// A newcomer gets the lock at once, and nobody's files are left.
    fn leaves_nothing(self, env: &Env, repo: &Path) {
        let plans = self.vouching != Vouching::Leases;
        if plans {
            plan(repo, "fresh");
        }
        let start = Instant::now();
        eventually(Duration::from_secs(1), || {
            env.merge(repo, "acquire --as fresh").code == 0
        });
        env.merge(repo, "release --as fresh")
            .exits(0)
            .says(&[("action", json!("released"))]);
        assert!(start.elapsed() < Duration::from_secs(2), "slow in the end");
        assert_eq!(holder(repo), None);
        assert_eq!(waiting(repo), Vec::<String>::new());

        let temporary = |name: &str| {
            let inner = name.strip_prefix(".git-locks-");
            self.kills && inner.is_some_and(|inner| inner.strip_suffix(".tmp").is_some())
        };
        let known = |dir: &Path, known: &[&str]| {
            let names = names(dir);
            let odd: Vec<&String> = names
                .iter()
                .filter(|name| !known.contains(&name.as_str()) && !temporary(name))
                .collect();
            assert!(odd.is_empty(), "left in {}: {odd:?}", dir.display());
        };
        let base = base(repo);
        known(
            &base,
            &[".gitignore", "merge-queue.json", "plans", "worktrees"],
        );
        let ours = repo.join(".git/git-locks");
        known(&ours, &["merge.json", "merge.guard", "titles"]);
        let records = std::fs::read_to_string(ours.join("merge.json")).expect("records");
        let records: Value = serde_json::from_str(&records).expect("JSON");
        assert_eq!(records["participants"], json!({}), "{records}");
        assert_eq!(records.get("ending"), None, "{records}");
        if !self.kills {
            known(&ours.join("titles"), &[]);
            known(&base.join("worktrees"), &[]);
        }
        let status = env.git(repo, "status --porcelain");
        assert_eq!(status, "", "git status is not clean");
    }
}

fn names(dir: &Path) -> BTreeSet<String> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return BTreeSet::new();
    };
    let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    entries.flatten().map(name).collect()
}

impl Bout<'_> {
    fn all(&self) {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let ours: Vec<_> = (0..self.mix.ours)
                .map(|number| scope.spawn(move || self.worker(number)))
                .collect();
            let foreign: Vec<_> = (0..self.mix.foreign)
                .map(|number| scope.spawn(move || self.foreigner(number)))
                .collect();
            if self.mix.kills {
                scope.spawn(|| {
                    let mut chance = Chance::new(99);
                    while !over.load(Ordering::SeqCst) && Instant::now() < self.end {
                        chance.pause(8);
                        self.calls.kill_one(&mut chance);
                    }
                });
            }
            let ended: Vec<bool> = ours
                .into_iter()
                .chain(foreign)
                .map(|worker| worker.join().is_ok())
                .collect();
            over.store(true, Ordering::SeqCst);
            if ended.contains(&false) {
                self.arena.fault("a worker panicked".to_owned());
            }
        });
    }

    /// Runs a call again and again until it is not killed and its exit code is one of these.
    fn insist(
        &self,
        number: usize,
        args: &str,
        chance: &mut Chance,
        codes: &[i32],
    ) -> Option<Said> {
        let give_up = Instant::now() + PATIENCE;
        while Instant::now() < give_up {
            let Some(said) = self.calls.run(number, args) else {
                chance.pause(2);
                continue;
            };
            if codes.contains(&said.code) && said.text("status") != "error" {
                return Some(said);
            }
            self.arena.fault(format!("{args}: {}", said.text));
            return None;
        }
        self.arena.fault(format!("{args}: never got through"));
        None
    }

    fn worker(&self, number: usize) {
        let id = format!("worker-{number}");
        let mut chance = Chance::new(number as u64);
        let by_plan = match self.mix.vouching {
            Vouching::Leases => false,
            Vouching::Plans => true,
            Vouching::Both => number.is_multiple_of(2),
        };
        let mortal = by_plan && self.mix.deaths;
        let mut home = Home::new(self.repo, &id);
        if by_plan {
            home.arrive();
        }
        let acquire = match (self.mix.vouching, by_plan) {
            (Vouching::Both, false) => format!("acquire --as {id} --ttl 1h"),
            _ => format!("acquire --as {id}"),
        };
        loop {
            let give_up = Instant::now() + PATIENCE;
            let said = loop {
                let Some(said) = self.insist(number, &acquire, &mut chance, &[0, 75]) else {
                    return;
                };
                if said.code == 0 {
                    break said;
                }
                if Instant::now() > give_up {
                    self.arena.fault(format!("{id} is wedged: {}", said.text));
                    return;
                }
                if mortal && chance.once_in(12) {
                    home.die();
                    chance.pause(20);
                    home.arrive();
                }
                chance.pause(15);
            };
            let fence = said.report["fence"].as_u64();
            if fence.is_none() {
                self.arena.fault(format!("no fence: {}", said.text));
            }
            self.arena.visit(Pass { id: &id, fence }, &mut chance);
            let over = Instant::now() >= self.end;
            if mortal && !over && chance.once_in(3) {
                // Out of the critical section, it dies without a word; others may reclaim.
                home.die();
                chance.pause(60);
                home.arrive();
                continue;
            }
            let release = format!("release --as {id}");
            if self.insist(number, &release, &mut chance, &[0]).is_none() || over {
                return;
            }
            chance.pause(5);
        }
    }

    fn foreigner(&self, number: usize) {
        let id = format!("foreign-{number}");
        let mut chance = Chance::new(1000 + number as u64);
        plan(self.repo, &id);
        let foreign = Foreign {
            repo: self.repo,
            id: &id,
            arena: self.arena,
            deaths: self.mix.deaths,
        };
        loop {
            let give_up = Instant::now() + PATIENCE;
            loop {
                match foreign.acquire(give_up, &mut chance) {
                    Some(true) => break,
                    Some(false) if Instant::now() < give_up => chance.pause(15),
                    _ => {
                        self.arena.fault(format!("{id} is wedged"));
                        return;
                    }
                }
            }
            self.arena.visit(
                Pass {
                    id: &id,
                    fence: None,
                },
                &mut chance,
            );
            if !foreign.release(Instant::now() + PATIENCE, &mut chance) {
                self.arena.fault(format!("{id} cannot let go"));
                return;
            }
            if Instant::now() >= self.end {
                return;
            }
            chance.pause(10);
        }
    }
}

/// A plan that comes and goes.
struct Home<'a> {
    repo: &'a Path,
    id: &'a str,
    place: Option<PathBuf>,
}

impl<'a> Home<'a> {
    fn new(repo: &'a Path, id: &'a str) -> Self {
        Self {
            repo,
            id,
            place: None,
        }
    }

    fn arrive(&mut self) {
        self.place = Some(plan(self.repo, self.id));
    }

    fn die(&mut self) {
        if let Some(place) = self.place.take() {
            std::fs::remove_dir_all(place).expect("its plan");
        }
    }
}
