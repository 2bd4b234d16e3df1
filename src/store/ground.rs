//! The directories that state stands in, and the `.gitignore` that keeps them out of commits.

use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::sys::file::{self, Modes, Temp};
use crate::text;

/// What keeps everything in a directory, itself included, out of commits.
const IGNORE_ALL: &[u8] = b"*\n";

/// Makes `directory`; where it lies inside a work tree, also makes git ignore all of it, unless
/// it has a `.gitignore` already.
pub fn prepare(directory: &Path, in_work_tree: bool, modes: Modes) -> Result<()> {
    file::make_dirs(directory, modes)?;
    let ignore = directory.join(".gitignore");
    if in_work_tree && file::instance(&ignore)?.is_none() {
        // Made by somebody else meanwhile: theirs counts.
        Temp::write(directory, IGNORE_ALL, modes, false)?.create(&ignore)?;
    }
    Ok(())
}

/// Makes the base of a repository, where it lies in a work tree out of the reach of commits.
pub fn prepare_base(base: &Path, modes: Modes) -> Result<()> {
    // In the root of a checkout it would ignore all that is the user's.
    prepare(base, is_in_work_tree(base) && !is_checkout(base), modes)
}

/// Refuses a `directory` that cannot be seen because a link on the way to it leads nowhere, to a
/// volume that is not mounted for instance: what is missing there proves nothing.
pub fn require_reachable(directory: &Path) -> Result<()> {
    let there = directory
        .ancestors()
        .find(|path| path.symlink_metadata().is_ok());
    match there {
        Some(link) if link.metadata().is_err() => Err(Error::new(
            ErrorKind::Io,
            format!("{} is a link that leads nowhere", text::path(link)),
        )
        .with_hint("bring back what it leads to, or remove the link")),
        _ => Ok(()),
    }
}

/// Whether `path` lies in a work tree: there, what we write must be ignored. The inside of a git
/// directory is none.
pub fn is_in_work_tree(path: &Path) -> bool {
    for directory in path.ancestors() {
        if is_git_dir(directory) {
            return false;
        }
        if is_checkout(directory) {
            return true;
        }
    }
    false
}

/// Whether `directory` is itself a git directory, by the looks of it.
pub fn is_git_dir(directory: &Path) -> bool {
    let parts = ["HEAD", "objects", "refs"];
    parts.iter().all(|part| is_there(&directory.join(part)))
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Whether `directory` is itself the root of a checkout.
pub fn is_checkout(directory: &Path) -> bool {
    directory.join(".git").symlink_metadata().is_ok()
}
