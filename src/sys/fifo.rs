//! A FIFO by which one process wakes another: made and listened to by the one that sleeps, rung by
//! whoever knows its path. What is written into it means nothing; that something was is all. A thread
//! of the same process needs no path ([`within`]).

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::libc;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::file::{self, Modes};
use crate::error::{Error, Result};

/// The end of a FIFO that is listened to.
#[derive(Debug)]
pub struct Doorbell(File);

impl Doorbell {
    /// Makes a FIFO at `path`, where nothing may be, and listens to it.
    ///
    /// # Errors
    /// It cannot be made there, or not be opened.
    pub fn make(path: &Path, modes: Modes) -> Result<Self> {
        // The type's width differs between systems.
        #[allow(clippy::useless_conversion)]
        let mode = Mode::from_bits_truncate(modes.file.try_into().unwrap_or(0o600));
        mkfifo(path, mode).map_err(|e| Error::io("create", path, &io::Error::from(e)))?;
        // Open for writing too, it never reads as closed when a ringer has gone.
        let listening = open(path, true).map_err(|e| Error::io("open", path, &e))?;
        file::own(&listening, path, modes);
        Ok(Self(listening))
    }

    /// Forgets that it was rung.
    pub fn hush(&self) {
        let mut rung = [0; 64];
        // Would block, as a rule: nobody has rung again.
        while matches!((&self.0).read(&mut rung), Ok(count) if count == rung.len()) {}
    }

    /// Whether it was rung since this was asked last.
    #[cfg(test)]
    pub fn was_rung(&self) -> bool {
        matches!((&self.0).read(&mut [0; 64]), Ok(count) if count > 0)
    }

    /// Readable when it was rung.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A bell that only this process can ring.
pub fn within() -> io::Result<(Doorbell, Ringer)> {
    let (listening, ringer) = UnixStream::pair()?;
    listening.set_nonblocking(true)?;
    ringer.set_nonblocking(true)?;
    let bell = Doorbell(File::from(OwnedFd::from(listening)));
    Ok((bell, Ringer(ringer)))
}

/// What rings the bell that was made with it.
#[derive(Debug)]
pub struct Ringer(UnixStream);

impl Ringer {
    /// Rings for good: from then on, what sleeps on the bell wakes at once.
    pub fn ring(self) {
        drop(self.0);
    }
}

/// Rings at `path`. Whether somebody listens there; best effort, and never waits.
pub fn ring(path: &Path) -> bool {
    let Ok(mut fifo) = open(path, false) else {
        // No such thing, or nobody listens.
        return false;
    };
    if !fifo.metadata().is_ok_and(|it| it.file_type().is_fifo()) {
        return false;
    }
    match fifo.write_all(b"!") {
        Ok(()) => true,
        // Full: it was rung often enough.
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    }
}

fn open(path: &Path, read: bool) -> io::Result<File> {
    OpenOptions::new()
        .read(read)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    const MODES: Modes = Modes {
        file: 0o600,
        dir: 0o700,
        group: None,
    };

    fn was_rung(bell: &Doorbell) -> bool {
        let mut fds = [PollFd::new(bell.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::ZERO).expect("poll") > 0
    }

    #[test]
    fn it_is_heard_until_it_is_hushed_however_often_it_was_rung() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("bell");
        let bell = Doorbell::make(&path, MODES).expect("made");
        assert!(!was_rung(&bell));
        for _ in 0..200 {
            assert!(ring(&path));
        }
        assert!(was_rung(&bell));
        bell.hush();
        assert!(!was_rung(&bell));
        for _ in 0..100_000 {
            assert!(ring(&path), "a full one is as good as rung");
        }
        bell.hush();
        assert!(!was_rung(&bell));
    }

    #[test]
    fn nobody_hears_where_nobody_listens_and_files_are_left_alone() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("bell");
        assert!(!ring(&path));
        drop(Doorbell::make(&path, MODES).expect("made"));
        assert!(!ring(&path));
        let plain = dir.path().join("plain");
        std::fs::write(&plain, b"as it was").expect("write");
        assert!(!ring(&plain));
        assert_eq!(std::fs::read(&plain).expect("read"), b"as it was");
    }
}
