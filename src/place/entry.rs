//! The `.git` entries around a directory, and the refusal where there is none.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind};
use crate::text;

/// The plain "there is nothing here".
pub(super) fn no_repository(cwd: &Path) -> Error {
    Error::new(
        ErrorKind::NotARepository,
        format!(
            "not a git repository (or any of the parent directories): {}",
            text::path(cwd)
        ),
    )
    .with_hint("run it inside a repository, or name one with -C DIR")
}

/// The `.git` nearest to `cwd`, for a message.
pub(super) fn nearest_entry(cwd: &Path) -> Option<PathBuf> {
    cwd.ancestors()
        .map(|dir| dir.join(".git"))
        .find(|entry| fs::symlink_metadata(entry).is_ok())
}
