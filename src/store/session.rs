//! The session lease of a checkout: `.orchestrator/session.lock`, shared with other programs.
//!
//! Other programs know no guard of it. So every change is safe by itself, and the guard, which is a
//! kernel lock in the checkout's git directory and no guard file, only keeps our own processes from
//! getting in each other's way.
//!
//! **A change**, inside the guard:
//! 1. Read the file, and have the caller decide.
//! 2. Make `.orchestrator` where it is missing. Only then it gets a `.gitignore`, which names the
//!    lease, what is set aside of it, and itself: what else is kept there is not ours to hide.
//! 3. Write the new lease whole under a temporary name, and wait for the disk.
//! 4. See that the guard is intact and the file at the path is still the one that was read, to the
//!    byte. Else start over: somebody else wrote, and the caller decides anew.
//! 5. Put the new lease in its place: where there was none by `link(2)`, which fails when somebody
//!    else was first (start over); over a lease by `rename(2)`. What made no sense is renamed out of
//!    the way first, and then the place is as good as empty. A removal is an `unlink(2)`.
//!
//! Between the steps 4 and 5 another program's write may still be lost: it has no way to keep us out.
//!
//! **A crash** leaves the old file or the new one. Besides, it may leave a temporary file, which is
//! swept when it is an hour old; `.orchestrator` without its `.gitignore`; or no lease, and the one
//! that made no sense set aside.
//!
//! The lease of the same session is changed in place: only those keys whose values differ are
//! written, and keys that we do not know are kept. Any other is written afresh.

mod state_md;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::locks::session::{Content, LIMIT, Lease};
use crate::store::document::{self, Document};
use crate::store::ground;
use crate::store::guard::{self, Gate, Guard};
use crate::store::transaction::too_fast;
use crate::sys::clock;
use crate::sys::file::{self, Modes, Temp};

pub use state_md::{Found, witness};

/// The directory of the lease, in a checkout's root.
const DIRECTORY: &str = ".orchestrator";
/// The lease's name.
const NAME: &str = "session.lock";
/// What keeps our own files in a directory that we made out of commits.
const IGNORE_OURS: &[u8] = b"/session.lock\n/session.lock.corrupt*\n/.gitignore\n";
/// How often a change is started over.
const TRIES: usize = 200;

/// What is to become of the lease.
#[derive(Clone, Debug)]
pub enum Change {
    /// It stays as it is.
    Nothing,
    /// This one is noted where there is none.
    Begin(Lease),
    /// The lease that is there, of the same session, says this now. Keys that we do not know stay.
    Keep(Lease),
    /// This one is noted in the place of whatever is there.
    Replace(Lease),
    /// It goes.
    Remove,
}

/// What an update came to.
#[derive(Debug)]
pub struct Updated<T> {
    /// What the decision said.
    pub answer: T,
    /// Where a lease that made no sense was put.
    pub set_aside: Option<PathBuf>,
}

/// One checkout's lease.
#[derive(Debug)]
pub struct SessionStore {
    root: PathBuf,
    directory: PathBuf,
    path: PathBuf,
    git_dir: PathBuf,
    modes: Modes,
    patience: Duration,
}

/// The file as it was read; none where there is none.
type Seen = Option<file::Content>;

impl SessionStore {
    /// The lease of the checkout in `root`, whose git directory is `git_dir`. `modes` are those of what
    /// is made in the git directory. A change that cannot be made within `patience` fails.
    pub fn new(root: &Path, git_dir: &Path, modes: Modes, patience: Duration) -> Self {
        let directory = directory_in(root);
        Self {
            root: root.to_owned(),
            path: path_in(root),
            directory,
            git_dir: git_dir.to_owned(),
            modes,
            patience,
        }
    }

    /// Where the lease is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the lease says now. Takes no guard and writes nothing.
    ///
    /// # Errors
    /// It cannot be read: it is not a regular file, for instance, or permission is missing.
    pub fn read(&self) -> Result<Content> {
        read(&self.root)
    }

    /// Changes the lease as `decide` says, which is asked again whenever somebody else has written
    /// meanwhile: only its last answer counts.
    ///
    /// # Errors
    /// `Timeout` when the guard cannot be had, or others keep writing; the lease cannot be read; or a
    /// system call failed.
    pub fn update<T>(&self, mut decide: impl FnMut(&Content) -> (Change, T)) -> Result<Updated<T>> {
        let deadline = Instant::now() + self.patience;
        // Neither a worktree nor its registration is made anew once it is gone.
        require(&self.git_dir)?;
        require(&self.root)?;
        let ours = self.git_dir.join("git-locks");
        file::make_dirs(&ours, self.modes)?;
        let gate = Gate {
            kernel: &ours.join("session.flock"),
            state: &self.path,
            modes: self.modes,
            deadline,
            tolerate_full_disk: false,
            interrupted: None,
        };
        let mut set_aside = None;
        let mut backoff = guard::spacing();
        for _ in 0..TRIES {
            let guard = Guard::enter_kernel_alone(&gate)?;
            let seen = look(&self.root)?;
            let content = content_of(&seen);
            let (change, answer) = decide(&content);
            if self.apply(&change, &content, &seen, &guard, &mut set_aside)? {
                return Ok(Updated { answer, set_aside });
            }
            drop(guard);
            if !backoff.pause_until(deadline) {
                break;
            }
        }
        Err(too_fast(&self.path))
    }

    /// Makes the change; `false` when somebody else has written since the file was seen.
    fn apply(
        &self,
        change: &Change,
        content: &Content,
        seen: &Seen,
        guard: &Guard,
        set_aside: &mut Option<PathBuf>,
    ) -> Result<bool> {
        let document = match change {
            Change::Nothing => return Ok(true),
            Change::Remove => {
                let still = self.is_still(seen, guard)?;
                if still {
                    file::remove(&self.path)?;
                }
                return Ok(still);
            }
            Change::Keep(lease) => kept(lease, content, seen),
            Change::Begin(lease) | Change::Replace(lease) => afresh(lease),
        };
        let staged = self.stage(&document)?;
        if !self.is_still(seen, guard)? {
            return Ok(false);
        }
        let replaces = !matches!(change, Change::Begin(_));
        let done = match content {
            Content::Held(_) if replaces => staged.replace(&self.path).map(|_| true),
            Content::Corrupt if replaces => {
                *set_aside = Some(document::set_aside(&self.path)?);
                self.create(staged)
            }
            _ => self.create(staged),
        }?;
        file::sweep(&self.directory, clock::wall());
        Ok(done)
    }

    /// Gives the staged lease its place; `false` when it is taken.
    fn create(&self, staged: Temp) -> Result<bool> {
        Ok(staged.create(&self.path)?.is_some())
    }

    /// Whether nobody else has written since the file was seen.
    fn is_still(&self, seen: &Seen, guard: &Guard) -> Result<bool> {
        Ok(guard.is_intact()? && look(&self.root)? == *seen)
    }

    /// Writes the lease under a temporary name, and makes its directory where it is missing.
    fn stage(&self, document: &Document) -> Result<Temp> {
        let text = document.to_text();
        if text.len() as u64 > LIMIT {
            return Err(document::too_large(&self.path));
        }
        let modes = file::modes_of_umask();
        if !file::make_dirs(&self.directory, modes)?.is_empty() {
            let ignore = self.directory.join(".gitignore");
            // Made by somebody else meanwhile: theirs counts.
            Temp::write(&self.directory, IGNORE_OURS, modes, false)?.create(&ignore)?;
        }
        Temp::write(&self.directory, text.as_bytes(), modes, true)
    }
}

/// The directory of the lease of the checkout in `root`.
pub fn directory_in(root: &Path) -> PathBuf {
    root.join(DIRECTORY)
}

/// Where the lease of the checkout in `root` is, or would be.
pub fn path_in(root: &Path) -> PathBuf {
    directory_in(root).join(NAME)
}

/// What the lease of the checkout in `root` says now. Takes no guard and writes nothing.
///
/// # Errors
/// It cannot be read: it is not a regular file, for instance, or permission is missing.
pub fn read(root: &Path) -> Result<Content> {
    Ok(content_of(&look(root)?))
}

fn look(root: &Path) -> Result<Seen> {
    ground::require_reachable(&directory_in(root))?;
    file::read(&path_in(root), LIMIT)
}

/// Fails where `directory` is not there.
fn require(directory: &Path) -> Result<()> {
    match fs::metadata(directory) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::io("examine", directory, &error)),
    }
}

fn content_of(seen: &Seen) -> Content {
    Content::of(seen.as_ref().map(|seen| seen.bytes.as_slice()))
}

fn afresh(lease: &Lease) -> Document {
    let mut document = Document::default();
    for (key, value) in lease.fields() {
        if let Some(value) = value {
            document.set(key, value);
        }
    }
    document
}

/// What was seen, changed where `lease` differs from it: what others wrote in their own way is not
/// rewritten in ours.
fn kept(lease: &Lease, content: &Content, seen: &Seen) -> Document {
    let (Content::Held(before), Some(seen)) = (content, seen) else {
        return afresh(lease);
    };
    let mut document = Document::parse(&seen.bytes);
    for ((key, value), (_, before)) in lease.fields().into_iter().zip(before.fields()) {
        match value {
            _ if value == before => {}
            Some(value) => document.set(key, value),
            None => document.remove(key),
        }
    }
    document
}

#[cfg(test)]
mod tests;
