//! What every decision that is run to its commit comes to.

use std::path::Path;
use std::time::Instant;

use crate::error::{Error, ErrorKind, Result};
use crate::report::Note;
use crate::text;

/// What a transaction came to: of a state `S`, whose participants are known as `D`.
#[derive(Debug)]
pub struct Committed<T, S, D> {
    /// What the decision said.
    pub outcome: T,
    /// The state it led to.
    pub state: S,
    /// Those that were recorded and take part no longer.
    pub departed: Vec<D>,
    /// What a person should know.
    pub notes: Vec<Note>,
}

/// Fails when starting over takes longer than the caller has patience for: what is at `path`, or its
/// guard, was changed each time.
pub(super) fn require_time(deadline: Instant, path: &Path) -> Result<()> {
    if Instant::now() < deadline {
        return Ok(());
    }
    Err(too_fast(path))
}

/// What is at `path`, or its guard, was changed each time that it was looked at.
pub(super) fn too_fast(path: &Path) -> Error {
    let shown = text::path(path);
    let message = format!("timed out: {shown} or its guard changes faster than it can be read");
    Error::new(ErrorKind::Timeout, message)
        .with_hint("another program keeps changing it; look at what else runs here")
}

/// What to say of a file that was set aside.
pub(super) fn set_aside_note(path: &Path, aside: &Path) -> Note {
    Note::Warning(format!(
        "{} could not be read and was kept as {}",
        text::path(path),
        text::path(aside)
    ))
}
