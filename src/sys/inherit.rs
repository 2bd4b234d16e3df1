//! What a child inherits beside its three standard streams: a pipe, or an open file.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd as _, AsRawFd as _};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

/// Where a process finds its own open descriptors by number.
#[cfg(target_os = "linux")]
const DESCRIPTORS: &str = "/proc/self/fd";
#[cfg(target_os = "macos")]
const DESCRIPTORS: &str = "/dev/fd";

/// A pipe whose reading end is inherited by every child that is started while it is open, under the
/// number that is returned; the writing end by none.
pub fn pipe() -> io::Result<(PipeReader, PipeWriter, i32)> {
    let (reader, writer) = io::pipe()?;
    fcntl(reader.as_fd(), FcntlArg::F_SETFD(FdFlag::empty()))?;
    let number = reader.as_raw_fd();
    Ok((reader, writer, number))
}

/// Does what starts a child that inherits `file`, which no other child does.
///
/// # Errors
/// The descriptor could not be lent; nothing was started.
pub fn lend<T>(file: &File, start: impl FnOnce() -> T) -> io::Result<T> {
    fcntl(file.as_fd(), FcntlArg::F_SETFD(FdFlag::empty()))?;
    let started = start();
    fcntl(file.as_fd(), FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    Ok(started)
}

/// The inherited descriptor of this number, to be read; whatever this process starts or becomes does
/// not inherit it again.
pub fn take(number: i32) -> io::Result<File> {
    // The three standard streams are others' to close.
    if number < 3 {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let file = File::open(format!("{DESCRIPTORS}/{number}"))?;
    nix::unistd::close(number)?;
    Ok(file)
}
