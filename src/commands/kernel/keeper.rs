//! Who keeps a kernel lock, for people: as the kernel tells, and as the lock file of a worktree says.

use super::KernelLock;
use crate::commands::inside;
use crate::error::Result;
use crate::locks::worktree::{self, OwnerSight, Sentinel};
use crate::store::sentinel;
use crate::sys::process::{self, Sight};
use crate::sys::{clock, file, keepers};

/// A process that keeps a lock.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::commands) struct Keeper {
    pub pid: Option<i64>,
    pub host: Option<String>,
    /// In seconds since the Unix epoch.
    pub since: Option<f64>,
    pub command: Option<String>,
}

impl Keeper {
    /// In few words.
    pub fn words(&self) -> String {
        let who = match self.pid {
            Some(pid) => format!("process {pid}"),
            None => "a process that cannot be seen".to_owned(),
        };
        let command = self.command.as_ref();
        command.map_or_else(|| who.clone(), |command| format!("{who} ({command})"))
    }

    /// Process `pid` of this host, as the kernel tells of it.
    pub fn seen(pid: i32) -> Self {
        Self {
            pid: Some(pid.into()),
            host: None,
            since: process::started_at(pid),
            command: process::command_line(pid),
        }
    }
}

/// What the kernel shows of the owner that a sentinel names.
pub fn sight(pid: i32) -> OwnerSight {
    match process::look(pid) {
        Sight::Running(_) => OwnerSight::Running {
            started: process::started_at(pid),
        },
        Sight::Ended => OwnerSight::Gone,
        Sight::Hidden => OwnerSight::Hidden,
    }
}

impl KernelLock<'_> {
    pub(super) fn host_name(&self) -> String {
        self.context.host().name.clone().unwrap_or_default()
    }

    /// The process that has the lock, which somebody has. Where the kernel does not name it, and for
    /// what the kernel does not tell of it, the sentinel's word is taken.
    pub(super) fn holder(&self) -> Keeper {
        let taker = keepers::taker(&self.path).or_else(|| {
            // Whoever took it may have ended, and left it to others.
            keepers::of(&self.path).and_then(|keepers| keepers.holder)
        });
        let seen = taker.map(|pid| Keeper {
            host: Some(self.host_name()),
            ..Keeper::seen(pid)
        });
        let written = self.sentinel();
        let is_same = |sentinel: &Sentinel| match &seen {
            Some(seen) => seen.pid == Some(sentinel.pid),
            None => worktree::is_owner_alive(sentinel, &self.host_name(), sight),
        };
        let written = written.filter(is_same).map(|sentinel| Keeper {
            pid: Some(sentinel.pid),
            since: sentinel.since(),
            host: Some(sentinel.host),
            command: Some(sentinel.command).filter(|command| !command.is_empty()),
        });
        match (seen, written) {
            (Some(seen), Some(written)) => Keeper {
                since: written.since.or(seen.since),
                command: written.command.or(seen.command),
                ..seen
            },
            (seen, written) => seen.or(written).unwrap_or_default(),
        }
    }

    /// What the lock file says, where it is a worktree's.
    fn sentinel(&self) -> Option<Sentinel> {
        self.worktree.as_ref()?;
        Sentinel::parse(&sentinel::read(&self.path).ok()??)
    }

    /// The process of `line` that would have to end before the lock could come to this very process: one
    /// that it descends from, or itself, which has inherited the locked file.
    pub(super) fn own_parent(&self, line: &[i32]) -> Option<Keeper> {
        match keepers::among(line, &self.path) {
            // The furthest is the one that took it, as a rule.
            Some(own) => own.last().map(|&pid| Keeper::seen(pid)),
            // All that there is to go by here.
            None => inside::given(&self.marker()).map(|_| Keeper::default()),
        }
    }

    /// What this process writes into the lock file of a worktree when it takes the lock to run that.
    pub(super) fn own_sentinel(&self, command: &str) -> Option<Sentinel> {
        let workspace = self.workspace()?;
        let pid = i32::try_from(std::process::id()).ok()?;
        Some(Sentinel {
            pid: pid.into(),
            host: self.host_name(),
            process_create_time: process::started_at(pid),
            acquired_at: clock::wall(),
            workspace,
            command: command.to_owned(),
        })
    }

    /// Who keeps the lock.
    ///
    /// # Errors
    /// The kernel does not tell, and the file cannot be looked at.
    pub(super) fn keepers(&self) -> Result<keepers::Keepers> {
        if let Some(keepers) = keepers::of(&self.path) {
            return Ok(keepers);
        }
        Ok(keepers::Keepers {
            held: file::is_locked(&self.path)?,
            ..keepers::Keepers::default()
        })
    }
}

/// This process, and those that it descends from, nearest first.
pub(super) fn line() -> Vec<i32> {
    let me = i32::try_from(std::process::id()).ok();
    me.into_iter().chain(above()).collect()
}

/// Those that it descends from, nearest first.
pub(super) fn above() -> Vec<i32> {
    let above = process::ancestors();
    above.into_iter().map(|process| process.pid).collect()
}
