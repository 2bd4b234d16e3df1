//! The state of the build queue and the verdicts on those who take part: plain data.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::lease::Moment;
use crate::liveness::{Evidence, Verdict, World};
use crate::participant::Participant;
use crate::sys::host::Host;

/// Everything there is to know about the queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BuildState {
    /// Those who have a slot, in the order in which they got it.
    pub active: Vec<Entry>,
    /// Those who wait, first come first.
    pub waiting: Vec<Entry>,
    /// The last releases, oldest first.
    pub run_log: Vec<Logged>,
}

/// One participant.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// `<plan id>:<uuid4>`, as a rule; other programs write this too.
    pub id: String,
    /// When the entry was made, in seconds since the Unix epoch; 0 where that is unknown.
    pub ts: f64,
    /// Its project, where that is recorded.
    pub project_root: Option<String>,
    /// Since when it is active, in seconds since the Unix epoch.
    pub active_since: Option<f64>,
    /// What we recorded about it.
    pub record: Recorded,
    /// The entry as it stands in the file, unknown fields and all; empty for a new one.
    pub raw: Arc<str>,
}

impl Entry {
    /// The plan id: everything before the last colon, nothing where there is none.
    pub fn plan_id(&self) -> &str {
        self.id.rsplit_once(':').map_or("", |(plan, _)| plan)
    }
}

/// What is recorded of ours inside an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Recorded {
    /// Nothing: another program's entry.
    Not,
    /// This.
    As(Arc<Record>),
    /// Something that this version cannot read: it proves nothing.
    Unreadable,
}

impl Recorded {
    /// The record, where there is one that can be read.
    pub fn known(&self) -> Option<&Record> {
        match self {
            Self::As(record) => Some(record),
            Self::Not | Self::Unreadable => None,
        }
    }
}

/// What we record about a participant.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Who it is, and what vouches for it. Never with a `grant`.
    pub who: Participant,
    /// Its own number of slots.
    pub slots: usize,
    /// Its own adaptive limit, in seconds.
    pub limit: u64,
    /// The number of its slot, from 1, while it is active.
    pub slot: Option<usize>,
    /// Since when it is active, on the clocks of its host.
    pub since: Option<Moment>,
    /// Whether it has shown itself since it became active.
    pub claimed: bool,
    /// When a slot that it was given went to another because it was silent.
    pub passed: bool,
    /// Whether who promoted it has told the timeline of its project.
    pub told: bool,
    /// What it runs, for people.
    pub command: Option<String>,
}

impl Record {
    /// Changes what is recorded of who it is. Its times on the clock of a boot mean something on its host
    /// only: where that is another from now on, the wall clock alone tells since when it is active.
    pub(super) fn change_who(&mut self, change: impl FnOnce(&mut Participant)) {
        let before = Arc::clone(&self.who.host);
        change(&mut self.who);
        self.keep_clock(&before);
    }

    /// Forgets the boot time of `since`, read on `host`, where its own host has another clock.
    pub(super) fn keep_clock(&mut self, host: &Host) {
        if !self.who.host.shares_boot_clock(host)
            && let Some(since) = &mut self.since
        {
            since.boot = None;
        }
    }
}

/// One release.
#[derive(Clone, Debug, PartialEq)]
pub struct Logged {
    /// The id that was released; only used to tell a fresh line from an old one.
    pub id: String,
    /// The line as it stands in the file; empty for a new one.
    pub raw: Arc<str>,
    /// Who released it.
    pub plan_id: String,
    /// When, in seconds since the Unix epoch.
    pub ts: f64,
}

/// The projects that entries belong to, as places to look for evidence.
pub trait Projects {
    /// Whether the directory `root` is there.
    fn is_there(&self, root: &Path) -> Evidence;
    /// Runs `look` with the world of the project at `root`; the caller's own for `None`.
    fn with_world(&self, root: Option<&Path>, look: &mut dyn FnMut(&dyn World));
}

/// The verdicts a decision relies on, by entry id, gathered from the very state it decides on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdicts(pub HashMap<String, Verdict>);

impl Verdicts {
    /// Whether the entry of that id can use no slot any more: provably gone, or a waiter whose process is.
    pub fn is_dead(&self, id: &str) -> bool {
        let verdict = self.0.get(id);
        verdict.is_some_and(|verdict| verdict.is_stale() || verdict.orphaned)
    }
}
