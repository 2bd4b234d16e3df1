//! The terminal, or whatever else is at standard error and at standard output.

use std::env;
use std::ffi::OsStr;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::unistd::{getpgrp, tcgetpgrp};

/// Puts the title that a terminal has on its stack of titles.
pub const SAVE_TITLE: &str = "\u{1b}[22;0t";
/// Takes the title from there again.
pub const RESTORE_TITLE: &str = "\u{1b}[23;0t";

/// What gives a terminal the title `words`, which must be harmless.
pub fn set_title(words: &str) -> String {
    format!("\u{1b}]0;{words}\u{7}")
}

/// Whether a terminal of the kind `term` (`TERM`) has a title: not one that is not told of, nor the
/// bare console.
pub fn has_title(term: Option<&OsStr>) -> bool {
    term.is_some_and(|term| !["", "dumb", "linux"].iter().any(|none| term == *none))
}

/// Whether it is a terminal that this process works on in the foreground.
pub fn is_ours() -> bool {
    tcgetpgrp(std::io::stderr()).is_ok_and(|group| group == getpgrp())
}

/// Writes to the terminal though this process may be in the background by now, where a terminal that
/// minds (`stty tostop`) would stop it.
pub fn from_background<T>(write: impl FnOnce() -> T) -> T {
    let mut minded = SigSet::empty();
    minded.add(Signal::SIGTTOU);
    let blocked = minded.thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let written = write();
    if let Ok(before) = blocked {
        let _ = before.thread_set_mask();
    }
    written
}

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

/// How many columns and rows the terminal at standard output has; `None` where there is none.
pub fn size_of_output() -> Option<(usize, usize)> {
    let (columns, rows) = terminal_size::terminal_size_of(std::io::stdout())?;
    let size = (usize::from(columns.0), usize::from(rows.0));
    (size.0 > 0 && size.1 > 0).then_some(size)
}

/// Whether nobody is left who would read what is written to standard output.
pub fn is_output_unread() -> bool {
    let stdout = std::io::stdout();
    let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    // Asked for nothing, the kernel tells of that alone.
    matches!(poll(&mut fds, PollTimeout::ZERO), Ok(ready) if ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_is_not_told_of_has_no_title() {
        for none in [None, Some(""), Some("dumb"), Some("linux")] {
            assert!(!has_title(none.map(OsStr::new)), "{none:?}");
        }
        for some in ["xterm", "xterm-256color", "tmux-256color", "dumber"] {
            assert!(has_title(Some(OsStr::new(some))), "{some}");
        }
    }
}
