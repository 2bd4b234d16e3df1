//! The guard: the critical section around one state file.
//!
//! **Entering.**
//! 1. Take the kernel lock on a file of ours, which nobody ever truncates or unlinks. When the
//!    file held is no longer the one at the path, start over.
//! 2. Create `<state>.lock` exclusively and whole, bearing our mark. Other programs create the
//!    same name with `O_EXCL`, so it keeps them out. When it exists:
//!    - with our mark, a dead process left it, since only the holder of the kernel lock makes
//!      one: read again, remove, retry at once;
//!    - without, it is another program's: wait for it. Older than 60 s and unchanged for 2 s
//!      while we watched, it is stale: read again, remove.
//!
//! **Inside.** Before each rename, link and unlink, [`Guard::is_intact`]: another program may
//! have taken our file for a stale one. Then the whole transaction starts over.
//!
//! **Leaving.** Remove `<state>.lock`, drop the kernel lock.
//!
//! **A crash** drops the kernel lock and leaves at most a marked `<state>.lock`, which the next
//! process removes at once, and a temporary file, which is swept when it is an hour old.
//!
//! A full disk may keep `<state>.lock` from being written. A release needs only the kernel lock
//! to be safe, so it may enter without (`Entry::WithoutFile`) and then must not write the
//! state file.
//!
//! A state whose guard file no other program knows is guarded by the kernel lock alone
//! ([`Guard::enter_kernel_alone`]): nothing is made beside it, and a crash leaves nothing.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::sys::clock::{self, Backoff};
use crate::sys::file::{self, Content, Instance, Modes, Temp};
use crate::sys::{flock, keepers, process};
use crate::text;

/// The first line of a guard file of ours.
const MARK: &str = "git-locks guard 1";
/// A guard file is small; more is not read.
const READ_LIMIT: u64 = 1024;
/// Another program's guard file is stale when older than this, in seconds.
const FOREIGN_AGE: f64 = 60.0;
/// … and unchanged for this long while we watched.
const FOREIGN_WATCH: Duration = Duration::from_secs(2);

/// Which files guard a state, and for how long to try.
#[derive(Clone)]
pub struct Gate<'a> {
    /// The kernel lock's file.
    pub kernel: &'a Path,
    /// The state file that is guarded.
    pub state: &'a Path,
    /// Modes of what is made.
    pub modes: Modes,
    /// When to give up.
    pub deadline: Instant,
    /// Whether a full disk may keep the guard file from being made.
    pub tolerate_full_disk: bool,
    /// Whether the caller wants to stop trying.
    pub interrupted: Option<&'a dyn Fn() -> bool>,
}

impl Gate<'_> {
    /// Waits a little before the next try. Fails when the caller wants to stop; `false` when there
    /// is no time left.
    fn pause(&self, backoff: &mut Backoff) -> Result<bool> {
        if self.interrupted.is_some_and(|interrupted| interrupted()) {
            let guard = text::path(self.kernel);
            let message = format!("gave up trying for the guard {guard}");
            return Err(Error::new(ErrorKind::Timeout, message)
                .with_hint("somebody has been inside it for long; then try again"));
        }
        Ok(backoff.pause_until(self.deadline))
    }
}

/// How a guard was entered.
#[derive(Debug)]
enum Entry {
    /// With the guard file.
    WithFile(Instance),
    /// With the kernel lock alone: the state file must not be written.
    WithoutFile,
    /// With the kernel lock alone, which is all that guards this state.
    KernelAlone,
}

/// The critical section; left when dropped.
#[derive(Debug)]
#[must_use = "dropped at once it protects nothing"]
pub struct Guard {
    // Dropped last: the guard file goes before the kernel lock.
    path: PathBuf,
    entry: Entry,
    kernel_path: PathBuf,
    kernel: File,
}

impl Guard {
    /// Enters the guard. `prepare` makes what the guard file stands in, under the kernel lock:
    /// nobody comes upon a directory that is not yet everybody's.
    ///
    /// # Errors
    /// `Timeout`, naming who is inside; or a system call failed.
    pub fn enter(gate: &Gate<'_>, prepare: impl FnOnce() -> Result<()>) -> Result<Self> {
        let kernel = lock_kernel(gate)?;
        prepare()?;
        let path = file_of(gate.state);
        let entry = match create_file(gate, &path) {
            Ok(instance) => Entry::WithFile(instance),
            Err(error) if gate.tolerate_full_disk && error.is_out_of_space() => Entry::WithoutFile,
            Err(error) => return Err(error),
        };
        Ok(Self {
            path,
            entry,
            kernel_path: gate.kernel.to_owned(),
            kernel,
        })
    }

    /// Enters the guard of a state that no other program guards: the kernel lock, and no guard file.
    ///
    /// # Errors
    /// As for [`Self::enter`].
    pub fn enter_kernel_alone(gate: &Gate<'_>) -> Result<Self> {
        Ok(Self {
            path: file_of(gate.state),
            entry: Entry::KernelAlone,
            kernel_path: gate.kernel.to_owned(),
            kernel: lock_kernel(gate)?,
        })
    }

    /// Whether we are still alone inside: the guard file is the one that we made, and the kernel
    /// lock's file the one that others would lock.
    pub fn is_intact(&self) -> Result<bool> {
        if !file::is_at(&self.kernel, &self.kernel_path)? {
            return Ok(false);
        }
        let Entry::WithFile(made) = &self.entry else {
            return Ok(true);
        };
        let there = file::instance(&self.path)?;
        // The whole instance, not the inode alone: file systems give a freed one to the next file.
        Ok(there.as_ref() == Some(made))
    }

    /// Whether the state file may be written: not on a disk too full for the guard file.
    pub fn may_write_state(&self) -> bool {
        !matches!(self.entry, Entry::WithoutFile)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if matches!(self.entry, Entry::WithFile(_)) && self.is_intact().unwrap_or(false) {
            // What cannot be removed bears our mark: the next process removes it.
            let _ = file::remove(&self.path);
        }
    }
}

/// The guard file of the state file at `state`.
fn file_of(state: &Path) -> PathBuf {
    let mut path = state.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}

/// Whether a guard file of ours is there, which a process inside has, or one that was killed there left:
/// other programs wait for it until somebody enters.
pub(super) fn is_left(state: &Path) -> bool {
    let there = file::read(&file_of(state), READ_LIMIT);
    there.is_ok_and(|there| there.is_some_and(|there| there.bytes.starts_with(MARK.as_bytes())))
}

/// A guard file that stands there though nobody is inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The file.
    pub path: PathBuf,
    /// Whether it bears our mark; else it is another program's.
    pub is_ours: bool,
}

/// The guard file that was left of the state at `state`, whose kernel lock is on the file at `kernel`: one
/// of ours while nobody has that lock, or another program's that is older than it may be. Whoever enters
/// next removes it. `now` is in seconds since the epoch.
///
/// # Errors
/// One of the files cannot be looked at.
pub(super) fn left_behind(kernel: &Path, state: &Path, now: f64) -> Result<Option<Left>> {
    let path = file_of(state);
    let Some(there) = file::read(&path, READ_LIMIT)? else {
        return Ok(None);
    };
    let is_ours = there.bytes.starts_with(MARK.as_bytes());
    let is_left = if is_ours {
        !file::is_locked(kernel)?
    } else {
        is_old(&there, now)
    };
    // Whoever made it may have left meanwhile, and removed it before it let go.
    let stands = is_left && file::read(&path, READ_LIMIT)?.as_ref() == Some(&there);
    Ok(stands.then_some(Left { path, is_ours }))
}

/// Whether another program's guard file is older than one that is in use. A time far in the future is as
/// little a living program's as one far in the past.
fn is_old(there: &Content, now: f64) -> bool {
    (now - there.instance.mtime()).abs() > FOREIGN_AGE
}

/// Takes the kernel lock, trying until the deadline.
fn lock_kernel(gate: &Gate<'_>) -> Result<File> {
    let mut backoff = spacing();
    loop {
        let file = file::open_lock(gate.kernel, gate.modes)?;
        lock_open(gate, &file, &mut backoff)?;
        if file::is_at(&file, gate.kernel)? {
            return Ok(file);
        }
        // Somebody replaced the file under us: its lock excludes nobody any more.
    }
}

/// Locks the kernel lock's file, which is open as `file`, trying until the deadline.
///
/// # Errors
/// `Timeout`, naming who is inside; or a system call failed.
pub(super) fn lock_open(gate: &Gate<'_>, file: &File, backoff: &mut Backoff) -> Result<()> {
    let hint = "locks must work on the file system of the repository";
    while !flock::try_lock(file, gate.kernel).map_err(|error| error.with_hint(hint))? {
        if !gate.pause(backoff)? {
            return Err(kernel_timeout(gate, file));
        }
    }
    Ok(())
}

/// How tries for the kernel lock are spaced.
pub(super) fn spacing() -> Backoff {
    Backoff::new(Duration::from_micros(200), Duration::from_millis(5))
}

fn kernel_timeout(gate: &Gate<'_>, file: &File) -> Error {
    let owner = keepers::owner(file).map_or_else(
        || "another process".to_owned(),
        |pid| format!("process {pid}{}", described(pid)),
    );
    Error::new(
        ErrorKind::Timeout,
        format!(
            "timed out: {owner} is inside the guard {}",
            text::path(gate.kernel)
        ),
    )
    .with_hint("if that process is stopped, continue or end it; then try again")
}

fn described(pid: i32) -> String {
    process::command_line(pid)
        .map_or_else(String::new, |line| format!(" ({})", text::clip(&line, 80)))
}

/// Creates the guard file, waiting for another program's.
fn create_file(gate: &Gate<'_>, path: &Path) -> Result<Instance> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let pid = std::process::id();
    let mark = format!("{MARK}\npid {pid}\n");
    let mut backoff = Backoff::new(Duration::from_micros(500), Duration::from_millis(50));
    let mut watched: Option<(Content, Instant)> = None;
    loop {
        let temp = Temp::write(directory, mark.as_bytes(), gate.modes, false)?;
        if let Some(made) = temp.create(path)? {
            return Ok(made);
        }
        let Some(there) = file::read(path, READ_LIMIT)? else {
            continue;
        };
        if there.bytes.starts_with(MARK.as_bytes()) {
            remove_if_same(path, &there)?;
            continue;
        }
        let since = match &watched {
            Some((seen, since)) if *seen == there => *since,
            _ => Instant::now(),
        };
        if is_old(&there, clock::wall()) && since.elapsed() >= FOREIGN_WATCH {
            remove_if_same(path, &there)?;
            continue;
        }
        watched = Some((there, since));
        if !gate.pause(&mut backoff)? {
            return Err(Error::new(
                ErrorKind::Timeout,
                format!("timed out: another program's guard file {} is in the way", text::path(path)),
            )
            .with_hint("try again; a guard file that its program left behind is removed once it is 60s old"));
        }
    }
}

/// Reads again, and removes what is still the same file with the same content.
fn remove_if_same(path: &Path, seen: &Content) -> Result<()> {
    if file::read(path, READ_LIMIT)?.as_ref() == Some(seen) {
        file::remove(path)?;
    }
    Ok(())
}
