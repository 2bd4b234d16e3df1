//! What the locks share whose authority is the kernel: those of a repository and of a worktree.
//!
//! **A run** opens the file and locks it, waiting in the kernel's own order; then starts the command,
//! which inherits the locked file and no other; sees it through; unlocks. A signal before the command
//! starts ends the wait, and leaves nothing behind.
//!
//! **A crash** of the runner leaves the lock to its command, and to what else has the file open; one
//! before the command starts leaves nothing.

pub mod check;
pub mod cleanup;
mod holding;
mod keeper;
pub mod look;
pub mod run;
mod turn;

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::commands::asking::shown;
use crate::commands::context::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::locks::repo;
use crate::place::lock_dir::LockDir;
use crate::sys::file::{self, Modes};
use crate::sys::flock;

/// One such lock.
pub struct KernelLock<'a> {
    context: &'a Context,
    /// What it is called.
    what: &'static str,
    family: &'static str,
    path: PathBuf,
    modes: Modes,
    /// Where the lock is a worktree's, its place; its file then says who took it last.
    worktree: Option<LockDir>,
}

impl<'a> KernelLock<'a> {
    /// The lock of the repository.
    ///
    /// # Errors
    /// There is none.
    pub fn of_repository(context: &'a Context) -> Result<Self> {
        let common = context.place.common_dir.as_deref();
        let common = common.ok_or_else(|| {
            let message = "a repository is needed, and there is none here";
            Error::new(ErrorKind::NotARepository, message)
        })?;
        Ok(Self {
            context,
            what: "the repository lock",
            family: "repo",
            path: common.join(repo::NAME),
            modes: context.modes(),
            worktree: None,
        })
    }

    /// The lock of the worktree that the caller stands in.
    ///
    /// # Errors
    /// It stands in none, or its lock has no safe place.
    pub fn of_worktree(context: &'a Context) -> Result<Self> {
        let (root, _) = context.worktree()?;
        Self::at(context, root)
    }

    /// The lock of the worktree at `root`.
    ///
    /// # Errors
    /// It has no safe place.
    pub fn at(context: &'a Context, root: &Path) -> Result<Self> {
        let dir = LockDir::find(&context.cwd, root)?;
        Ok(Self {
            context,
            what: "the worktree lock",
            family: "worktree",
            path: dir.path.clone(),
            modes: dir.modes(),
            worktree: Some(dir),
        })
    }

    /// The lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lock file, for reports.
    pub fn shown(&self) -> String {
        shown(&self.path)
    }

    fn workspace(&self) -> Option<String> {
        self.worktree.as_ref().map(|dir| shown(&dir.worktree))
    }

    /// How tokens name it.
    fn marker(&self) -> OsString {
        let mut marker = OsString::from(self.family);
        marker.push(":");
        marker.push(&self.path);
        marker
    }

    /// Sees that the file has a place to stand in.
    fn prepare(&self) -> Result<()> {
        self.context.place.require_repository()?;
        match &self.worktree {
            Some(dir) => dir.prepare(),
            None => Ok(()),
        }
    }

    /// Opens the file that stands at the path, and tries to lock it.
    fn attempt(&self) -> Result<Attempt> {
        self.prepare()?;
        loop {
            let file = file::open_lock(&self.path, self.modes)?;
            if !flock::try_lock(&file, &self.path)? {
                return Ok(Attempt::Held(file));
            }
            // Another in its place would exclude nobody who locks that.
            if file::is_at(&file, &self.path)? {
                return Ok(Attempt::Taken(file));
            }
        }
    }
}

/// What came of a try for a lock: its file, locked or not.
enum Attempt {
    Taken(File),
    Held(File),
}
