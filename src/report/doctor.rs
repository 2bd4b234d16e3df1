//! What `git locks doctor` says.

use std::path::Path;

use serde::Serialize;

use super::{Staleness, Status};

/// `doctor`.
#[derive(Debug, Serialize)]
pub struct Diagnosis {
    /// Always `success`.
    pub status: Status,
    /// Whether something is left that needs a person: a warning or a problem.
    pub needs_person: bool,
    /// How many findings were removed by `--fix`.
    pub fixed: usize,
    /// What is wrong, or worth knowing, the worst first.
    pub findings: Vec<Finding>,
    /// Everyone who takes part in the merge lock and the build queue.
    pub participants: Vec<Examined>,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Locks may fail, or let two in.
    Problem,
    /// A person should look at it.
    Warning,
    /// Worth knowing; nobody need do anything.
    Note,
}

/// What kind of finding it is. The words are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// The repository cannot be used.
    UnusableRepository,
    /// A setting makes no sense.
    BadSetting,
    /// Something could not be looked at.
    Unreadable,
    /// A state file holds something that is no state.
    CorruptFile,
    /// A corrupt state file that was set aside.
    CorruptCopy,
    /// Lock files are in git's index.
    TrackedFile,
    /// Locks do not work on a file system.
    NoLocks,
    /// A file system is not known to be this machine's alone.
    RemoteFileSystem,
    /// The home root is not safe to use.
    HomeRoot,
    /// There is no safe place for the locks of worktrees.
    WorktreeLocks,
    /// Other programs may keep the same locks in another place.
    Layout,
    /// Lock files are in a place where other programs look and we do not.
    StateElsewhere,
    /// A holder that is provably gone.
    StaleHolder,
    /// A holder of whom it cannot be told whether it is there.
    UnknownHolder,
    /// A holder whose plan is gone and whose worktree is live.
    RecoveringHolder,
    /// The lease of a session that is over.
    StaleSession,
    /// Those who take part go by different numbers of slots.
    SlotCounts,
    /// git has a merge or the like under way in the main checkout.
    UnfinishedOperation,
    /// Something was recorded in the future, or the clock was set.
    Clock,
    /// git does not find git-locks.
    GitCannotFindUs,
    /// git finds another git-locks than this one.
    AnotherGitLocks,
    /// man does not find the page of git-locks.
    ManCannotFindUs,
    /// A temporary file that a process left behind.
    TemporaryFile,
    /// A guard file that a process left behind.
    GuardFile,
    /// A presence file that nobody keeps.
    PresenceFile,
    /// The witness of one who takes part no longer.
    Witness,
    /// The title of one who takes part no longer.
    TitleFile,
    /// What is left of a worktree that is gone.
    WorktreeMarker,
}

/// One thing that is wrong, or worth knowing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What kind of thing.
    pub kind: FindingKind,
    /// How much it matters.
    pub severity: Severity,
    /// What it is, in one sentence without its full stop.
    pub what: String,
    /// Where it is.
    pub path: Option<String>,
    /// A command to type, or what else to do.
    pub action: Option<String>,
    /// Whether `--fix` removes it.
    pub fixable: bool,
    /// Whether this call has removed it.
    pub fixed: bool,
}

impl Finding {
    /// Something that was found.
    pub fn new(kind: FindingKind, severity: Severity, what: impl Into<String>) -> Self {
        Self {
            kind,
            severity,
            what: what.into(),
            path: None,
            action: None,
            fixable: false,
            fixed: false,
        }
    }

    /// The same, and where it is.
    #[must_use]
    pub fn at(mut self, path: &Path) -> Self {
        self.path = Some(path.to_string_lossy().into_owned());
        self
    }

    /// The same, and what to do.
    #[must_use]
    pub fn to_do(mut self, action: impl Into<String>) -> Self {
        self.action = Some(action.into());
        self
    }

    /// The same, which `--fix` removes.
    #[must_use]
    pub fn fixable(self) -> Self {
        let mut fixable = self.to_do("git locks doctor --fix");
        fixable.fixable = true;
        fixable
    }

    /// Whether it needs a person.
    pub fn needs_person(&self) -> bool {
        self.severity != Severity::Note && !self.fixed
    }
}

/// Which lock somebody takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LockName {
    /// The merge lock.
    Merge,
    /// The build queue.
    Build,
}

/// As what somebody takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// It has the lock, or a slot.
    Holder,
    /// It stands in the queue.
    Waiter,
}

/// One who takes part, what was seen of it, and what that comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Examined {
    /// In what.
    pub lock: LockName,
    /// As what.
    pub role: Part,
    /// Its place among those who wait, from 1; null of a holder.
    pub position: Option<usize>,
    /// Its plan id, or, of the build queue, the id of its entry.
    pub id: String,
    /// Its project, where that is recorded; null of the merge lock.
    pub project_root: Option<String>,
    /// The verdict.
    pub staleness: Staleness,
    /// The verdict in words.
    pub verdict: String,
    /// What it was drawn from, in words.
    pub evidence: String,
}
