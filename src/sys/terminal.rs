//! The terminal, or whatever else is at standard error.

use std::env;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Whether a line that is written to standard error would go through, within so many milliseconds:
/// not to a terminal that was told to hold on (Ctrl-S), nor to a pipe that is full.
pub fn takes_words(patience: u16) -> bool {
    let stderr = std::io::stderr();
    let mut fds = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    let end = Instant::now() + Duration::from_millis(patience.into());
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = u16::try_from(left.as_millis()).unwrap_or(u16::MAX);
        match poll(&mut fds, PollTimeout::from(left)) {
            Ok(ready) => return ready > 0,
            // A signal tells nothing of the room that there is.
            Err(Errno::EINTR) => {}
            // Where it cannot be told, the write tells.
            Err(_) => return true,
        }
    }
}

/// How many columns it has, as the kernel knows, else as `COLUMNS` says.
pub fn columns() -> Option<usize> {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    let known = size.map(|(width, _)| usize::from(width.0));
    let said = || env::var("COLUMNS").ok()?.parse().ok();
    known.or_else(said).filter(|&columns| columns > 0)
}
