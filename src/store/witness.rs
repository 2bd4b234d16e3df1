//! The witness: a plan directory by which other programs see a participant of ours alive.
//!
//! They know plans only. Where plans are kept, a participant of another kind keeps
//! `<base>/worktrees/<id>/.plan/local/plans/<id>` while it takes part. Ours holds one file, the
//! marker, by which we know it for our own and never count it as evidence. The directory gets
//! its name only once the marker is in it, so that a crash never leaves an unmarked one. The
//! marker tells how many of the directories above we made, so that we remove those and no more.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::identity::PlanId;
use crate::store::ground;
use crate::sys::file::{self, Modes, Temp};

/// The one file in a witness.
const MARKER: &str = ".git-locks-witness";
/// A marker holds a number.
const MARKER_LIMIT: u64 = 64;

/// Where witnesses of one repository stand.
#[derive(Clone, Copy, Debug)]
pub struct Stand<'a> {
    /// The repository's base.
    pub base: &'a Path,
    /// The name of plan directories: `.plan`, unless renamed.
    pub plan_dir: &'a OsStr,
}

impl Stand<'_> {
    /// The worktree of `id` under the base.
    pub fn worktree(self, id: &PlanId) -> PathBuf {
        self.base.join("worktrees").join(id.as_str())
    }

    /// The plan directory of `id` in its worktree: where its plan moves, and its witness stands.
    pub fn plan(self, id: &PlanId) -> PathBuf {
        self.local(id).join("plans").join(id.as_str())
    }

    fn local(self, id: &PlanId) -> PathBuf {
        self.worktree(id).join(self.plan_dir).join("local")
    }
}

/// Whether the plan directory at `path` is a witness of ours: the marker and nothing else.
///
/// # Errors
/// The directory cannot be read.
pub fn is_witness(path: &Path) -> std::io::Result<bool> {
    let mut marked = false;
    for entry in std::fs::read_dir(path)? {
        if entry?.file_name() != MARKER {
            return Ok(false);
        }
        marked = true;
    }
    Ok(marked)
}

/// Makes the witness of `id` unless a plan directory, of ours or not, is there.
pub fn make(stand: Stand<'_>, id: &PlanId, modes: Modes) -> Result<()> {
    let witness = stand.plan(id);
    if file::instance(&witness)?.is_some() {
        return Ok(());
    }
    let local = stand.local(id);
    let plans = local.join("plans");
    let made = file::make_dirs(&plans, modes)?;
    if ground::is_checkout(&stand.worktree(id)) {
        ground::prepare(&local, true, modes)?;
    }
    clear_staged(&plans);
    let staged = tempfile::Builder::new()
        .prefix(".git-locks-")
        .suffix(".tmp")
        .tempdir_in(&plans)
        .map_err(|e| Error::io("write in", &plans, &e))?;
    let depth = made.len().to_string();
    let marker = staged.path().join(MARKER);
    Temp::write(staged.path(), depth.as_bytes(), modes, false)?.replace(&marker)?;
    file::set_dir_mode(staged.path(), modes);
    match std::fs::rename(staged.path(), &witness) {
        Ok(()) => {
            // Renamed away: nothing is left to clean up under the temporary name.
            let _ = staged.keep();
            Ok(())
        }
        // A real plan arrived meanwhile.
        Err(_) if witness.is_dir() => Ok(()),
        Err(error) => Err(Error::io("create directory", &witness, &error)),
    }
}

/// Removes the witness of `id`, and the empty directories above that were made for it. Best
/// effort: what stays is never counted as evidence.
pub fn remove(stand: Stand<'_>, id: &str) {
    let Some(id) = PlanId::parse(id) else {
        return;
    };
    let witness = stand.plan(&id);
    if !is_witness(&witness).unwrap_or(false) {
        return;
    }
    let marker = witness.join(MARKER);
    let depth = match file::read(&marker, MARKER_LIMIT) {
        Ok(Some(content)) => String::from_utf8_lossy(&content.bytes)
            .trim()
            .parse()
            .unwrap_or(0),
        _ => 0,
    };
    if file::remove(&marker).is_err() {
        return;
    }
    if let Some(plans) = witness.parent() {
        clear_staged(plans);
    }
    // Only empty directories go, and never one above `<base>/worktrees/<id>`.
    let above = witness.ancestors().skip(1).take(depth.min(4));
    for directory in std::iter::once(witness.as_path()).chain(above) {
        if std::fs::remove_dir(directory).is_err() {
            break;
        }
    }
}

/// Removes what calls that were cut off staged in `plans`. Inside the guard nobody else stages.
fn clear_staged(plans: &Path) {
    for entry in std::fs::read_dir(plans).into_iter().flatten().flatten() {
        let staged = entry.file_type().is_ok_and(|kind| kind.is_dir())
            && file::is_temp_name(&entry.file_name());
        if staged {
            // Best effort, like the removal of a witness.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
