//! A kernel lock as one sees it who only looks: nothing is locked, nothing written.

use super::KernelLock;
use super::keeper::{Keeper, sight};
use crate::error::Result;
use crate::locks::worktree::{self, Sentinel};
use crate::report::{WorktreeClass, WorktreeOwner};
use crate::store::sentinel;
use crate::sys::keepers::Keepers;

/// What is seen.
pub(in crate::commands) struct Look {
    /// What the lock file holds, where there is one.
    content: Option<Vec<u8>>,
    /// Who keeps the lock.
    pub keepers: Keepers,
}

impl Look {
    /// Looks at `lock`.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn at(lock: &KernelLock<'_>) -> Result<Self> {
        // What is in the file's place and no file is an error, whatever the kernel tells of it.
        let content = sentinel::read(&lock.path)?;
        Ok(Self {
            content,
            keepers: lock.keepers()?,
        })
    }

    /// What is to be said of a worktree whose `lock` this is.
    pub fn class(&self, lock: &KernelLock<'_>) -> WorktreeClass {
        let host = lock.host_name();
        worktree::classify(self.content.as_deref(), self.keepers.held, &host, sight)
    }

    /// Who took the lock of a worktree last, as it wrote itself.
    pub fn owner(&self) -> Option<WorktreeOwner> {
        let sentinel = Sentinel::parse(self.content.as_deref()?)?;
        Some(WorktreeOwner {
            pid: sentinel.pid,
            since: sentinel.since(),
            host: sentinel.host,
            command: Some(sentinel.command).filter(|command| !command.is_empty()),
        })
    }

    /// The process that has `lock`; where none has, the one that took it last, as it wrote itself.
    pub fn keeper(&self, lock: &KernelLock<'_>) -> Keeper {
        if self.keepers.held {
            return lock.holder();
        }
        let owner = self.owner();
        owner.map_or_else(Keeper::default, |owner| Keeper {
            pid: Some(owner.pid),
            host: Some(owner.host),
            since: owner.since,
            command: owner.command,
        })
    }
}
