//! Kernel locks on files: tried for, waited for in the kernel's own order, lent to a child.
//!
//! A lock of `flock(2)` belongs to an open file description, which copies of a descriptor share: those
//! of a child that inherits one, and of another thread. It is free when one of them lets go of it, or
//! when the last of them is closed.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;

use nix::libc;

use crate::error::{Error, Result};
use crate::sys::fifo::{self, Doorbell};

/// How much stack is enough to wait, in bytes.
const STACK: usize = 64 << 10;

/// Takes the lock on `file`, which is open from `path`, unless somebody has it; whether it did.
///
/// # Errors
/// The file system has no locks that work.
pub fn try_lock(file: &File, path: &Path) -> Result<bool> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(no_locks(path, &error)),
        }
    }
}

/// Why locks do not work on the file system of `path`, a file or a directory that is there; `None` where
/// they do. Takes one that is shared with every other look, for a moment; that somebody has the lock
/// shows that they work as well.
///
/// # Errors
/// It cannot be opened.
pub fn failure_at(path: &Path) -> Result<Option<Error>> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)
        .map_err(|e| Error::io("open", path, &e))?;
    loop {
        match file.try_lock_shared() {
            Ok(()) | Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Ok(Some(no_locks(path, &error))),
        }
    }
}

fn no_locks(path: &Path, error: &io::Error) -> Error {
    Error::io("lock", path, error).with_hint("locks must work on the file system that it is on")
}

/// A thread that stands in the kernel's own queue for a lock. Dropped, it lets go at once of what it
/// may get later.
#[derive(Debug)]
pub struct Waiting {
    come: Receiver<io::Result<File>>,
    bell: Doorbell,
}

impl Waiting {
    /// Begins to wait for the lock on `file`.
    ///
    /// # Errors
    /// There are no descriptors or threads left.
    pub fn begin(file: &File) -> io::Result<Self> {
        let (bell, ringer) = fifo::within()?;
        let (tell, come) = mpsc::channel();
        let file = file.try_clone()?;
        let wait = move || {
            let locked = loop {
                match file.lock() {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    locked => break locked,
                }
            };
            // Where nobody waits any more, the file comes back and is closed.
            drop(tell.send(locked.map(|()| file)));
            ringer.ring();
        };
        thread::Builder::new().stack_size(STACK).spawn(wait)?;
        Ok(Self { come, bell })
    }

    /// Rings when the lock is ours.
    pub fn bell(&self) -> &Doorbell {
        &self.bell
    }

    /// Whether the lock on the file, which was opened from `path`, is ours by now.
    ///
    /// # Errors
    /// The file system has no locks that work.
    pub fn has_come(&self, path: &Path) -> Result<bool> {
        match self.come.try_recv() {
            Ok(Ok(_)) => Ok(true),
            Ok(Err(error)) => Err(no_locks(path, &error)),
            Err(TryRecvError::Empty) => Ok(false),
            Err(TryRecvError::Disconnected) => {
                let error = io::Error::from(io::ErrorKind::BrokenPipe);
                Err(Error::io("wait for", path, &error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    const PATIENCE: Duration = Duration::from_secs(20);

    struct Ground {
        _dir: tempfile::TempDir,
        path: PathBuf,
    }

    impl Ground {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("temp dir");
            let path = dir.path().join("lock");
            File::create_new(&path).expect("made");
            Self { path, _dir: dir }
        }

        fn open(&self) -> File {
            File::options()
                .read(true)
                .write(true)
                .open(&self.path)
                .expect("opened")
        }

        fn is_free(&self) -> bool {
            try_lock(&self.open(), &self.path).expect("tried")
        }
    }

    fn rings(waiting: &Waiting) -> bool {
        let mut fds = [PollFd::new(waiting.bell().as_fd(), PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(PATIENCE.as_millis()).expect("in range");
        poll(&mut fds, timeout).expect("poll") > 0
    }

    #[test]
    fn who_waits_is_rung_for_when_the_lock_comes() {
        let ground = Ground::new();
        let (held, file) = (ground.open(), ground.open());
        assert!(try_lock(&held, &ground.path).expect("tried"));
        assert!(!try_lock(&file, &ground.path).expect("tried"));
        let waiting = Waiting::begin(&file).expect("waits");
        assert!(!waiting.has_come(&ground.path).expect("asked"));
        held.unlock().expect("unlocked");
        assert!(rings(&waiting));
        assert!(waiting.has_come(&ground.path).expect("asked"));
        drop(waiting);
        assert!(!ground.is_free(), "the file that it was begun with has it");
        file.unlock().expect("unlocked");
        assert!(ground.is_free());
    }

    #[test]
    fn what_comes_when_nobody_waits_any_more_is_let_go() {
        let ground = Ground::new();
        let (held, file) = (ground.open(), ground.open());
        assert!(try_lock(&held, &ground.path).expect("tried"));
        let waiting = Waiting::begin(&file).expect("waits");
        drop((waiting, file));
        held.unlock().expect("unlocked");
        let end = Instant::now() + PATIENCE;
        while !ground.is_free() {
            assert!(Instant::now() < end, "it is kept");
            thread::yield_now();
        }
    }
}
