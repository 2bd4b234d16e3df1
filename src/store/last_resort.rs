//! Letting go of a lock when nothing can be opened any more.
//!
//! A process that has run out of descriptors can still lock a file that it has open, look at what
//! stands at a path, and unlink it. So the kernel lock of the guard is opened beforehand, and the
//! instance of the lock file remembered. Records and queue stay as they are: the next decision
//! finds a holder whose lock file is gone and drops it, as after a release on a full disk.

use std::fs::File;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::store::guard::{self, Gate};
use crate::store::merge::MergeStore;
use crate::sys::file::{self, Instance};
use crate::text;

/// What a release needs, opened while that was possible.
#[derive(Debug)]
pub struct LastResort {
    kernel: File,
    lock: Instance,
}

impl LastResort {
    /// Prepares for the lock file as it stands now; `None` when there is none.
    pub fn prepare(store: &MergeStore<'_>) -> Result<Option<Self>> {
        let Some(lock) = file::instance(&store.lock_path)? else {
            return Ok(None);
        };
        let kernel = file::open_lock(&store.guard_path, store.modes)?;
        Ok(Some(Self { kernel, lock }))
    }

    /// Whether the lock file is the one that this was prepared for.
    pub fn is_current(&self, store: &MergeStore<'_>) -> bool {
        file::instance(&store.lock_path).is_ok_and(|there| there.as_ref() == Some(&self.lock))
    }

    /// Removes the lock file, if it is still the one that this was prepared for; returns whether it
    /// was. Inside the guard, `part` ends what vouches for the holder: sooner, it would be reclaimed;
    /// later, a missing lock file would be put back.
    ///
    /// # Errors
    /// `Timeout` when the guard cannot be had within `patience`; or a system call failed.
    pub fn remove_lock(
        &self,
        store: &MergeStore<'_>,
        patience: Duration,
        part: impl FnOnce(),
    ) -> Result<bool> {
        let gate = Gate {
            kernel: &store.guard_path,
            state: &store.queue_path,
            modes: store.modes,
            deadline: Instant::now() + patience,
            tolerate_full_disk: true,
            interrupted: None,
        };
        guard::lock_open(&gate, &self.kernel, &mut guard::spacing())?;
        if !file::is_at(&self.kernel, &store.guard_path)? {
            let guard = text::path(&store.guard_path);
            let message = format!("the guard {guard} is not the one that was opened");
            return Err(Error::new(ErrorKind::Timeout, message));
        }
        let current = self.is_current(store);
        part();
        if current {
            file::remove(&store.lock_path)?;
        }
        Ok(current)
    }
}
