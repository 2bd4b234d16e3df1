//! The critical section. Nothing in it is atomic but the file that betrays a second holder.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::chance::Chance;

/// The grant that lets a worker in.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    /// The worker.
    pub id: &'a str,
    /// The number of the grant, where the worker's program knows of such.
    pub fence: Option<u64>,
}

/// The place that only one may be in.
pub struct Arena {
    inside: PathBuf,
    counter: PathBuf,
    fences: PathBuf,
    laps: AtomicU64,
    faults: Mutex<Vec<String>>,
}

impl Arena {
    /// An empty arena in `dir`.
    pub fn new(dir: &Path) -> Self {
        let arena = Self {
            inside: dir.join("inside"),
            counter: dir.join("counter"),
            fences: dir.join("fences"),
            laps: AtomicU64::new(0),
            faults: Mutex::new(Vec::new()),
        };
        std::fs::write(&arena.counter, "0").expect("a counter");
        std::fs::write(&arena.fences, "").expect("a log of fences");
        arena
    }

    /// Notes something that must not happen.
    pub fn fault(&self, what: String) {
        self.faults.lock().expect("the faults").push(what);
    }

    /// Goes in, works for a moment, and is out again when this returns.
    pub fn visit(&self, pass: Pass<'_>, chance: &mut Chance) {
        let id = pass.id;
        let entered = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&self.inside);
        let alone = entered.is_ok();
        if let Ok(mut file) = entered {
            file.write_all(id.as_bytes()).expect("a name");
        } else {
            let other = std::fs::read_to_string(&self.inside).unwrap_or_default();
            self.fault(format!("DOUBLE HOLDER: {pass:?} met {other:?} inside"));
        }
        if let Some(fence) = pass.fence {
            self.note_fence(id, fence);
        }
        let count = self.count();
        chance.pause(3);
        std::fs::write(&self.counter, (count + 1).to_string()).expect("the counter");
        if alone {
            let name = std::fs::read_to_string(&self.inside).unwrap_or_default();
            if name != id {
                self.fault(format!("DOUBLE HOLDER: {pass:?} found {name:?} inside"));
            }
            // Another's fault, already noted, may have taken it away.
            let _ = std::fs::remove_file(&self.inside);
        }
        self.laps.fetch_add(1, Ordering::SeqCst);
    }

    /// Fences grow; only the very same grant may come back, when its holder asks again.
    fn note_fence(&self, id: &str, fence: u64) {
        let log = std::fs::read_to_string(&self.fences).expect("the fences");
        let last = log.lines().last().and_then(|line| line.split_once(' '));
        if let Some((number, whose)) = last {
            let number: u64 = number.parse().expect("a fence");
            if fence < number || (fence == number && whose != id) {
                self.fault(format!("fence {fence} of {id} after {number} of {whose}"));
            }
        }
        let mut log = OpenOptions::new()
            .append(true)
            .open(&self.fences)
            .expect("the fences");
        writeln!(log, "{fence} {id}").expect("a fence");
    }

    fn count(&self) -> u64 {
        let text = std::fs::read_to_string(&self.counter).expect("the counter");
        text.parse().unwrap_or(0)
    }

    /// How often somebody was inside.
    pub fn laps(&self) -> u64 {
        self.laps.load(Ordering::SeqCst)
    }

    /// Fails the test when anything went wrong.
    #[track_caller]
    pub fn verdict(&self) {
        let faults = self.faults.lock().expect("the faults");
        let shown: Vec<&String> = faults.iter().take(10).collect();
        assert!(faults.is_empty(), "{} faults: {shown:#?}", faults.len());
        assert_eq!(self.count(), self.laps(), "visits were lost");
        assert!(!self.inside.exists(), "somebody is still inside");
    }
}
