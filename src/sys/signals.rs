//! Signals.

use nix::sys::signal::{SigSet, Signal};

/// Makes a write past the file size limit an error, as other failed writes are, rather than the
/// death of the process. Best effort.
pub fn survive_size_limit() {
    let mut set = SigSet::empty();
    set.add(Signal::SIGXFSZ);
    let _ = set.thread_block();
}
