//! The witness: a plan directory by which other programs see a participant of ours alive.
//!
//! They know plans only. Where plans are kept, a participant of another kind keeps
//! `<base>/worktrees/<id>/.plan/local/plans/<id>` while it takes part. Ours holds markers and nothing
//! else, by which we know it for our own and never count it as evidence. Each lock that may keep a
//! witness of the same id there has a marker of its own, and the directory goes with the last. A
//! marker tells how many of the directories above we made, so that we remove those and no more.
//!
//! **Making.** A new directory gets its name only once the marker is in it; into a witness that
//! another lock keeps, the marker is linked whole. So a crash never leaves an unmarked one.
//!
//! **Two locks at once**, each inside its own guard: a directory is only ever removed empty, so that
//! whoever marks it first keeps it, and whoever finds it gone starts over.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::identity::PlanId;
use crate::store::ground;
use crate::sys::clock::{self, Backoff};
use crate::sys::file::{self, Instance, Modes, Temp};
use crate::text;

/// A marker holds a number.
const MARKER_LIMIT: u64 = 64;
/// How long a directory of the way may keep going away.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long a witness may be between two owners, without a marker.
const EMPTY_FOR: Duration = Duration::from_millis(50);

/// Which lock keeps a witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The merge lock.
    Merge,
    /// The build queue.
    Build,
}

impl Owner {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Merge, Self::Build];

    /// The name of its marker.
    fn marker(self) -> &'static str {
        match self {
            Self::Merge => ".git-locks-witness",
            Self::Build => ".git-locks-witness-build",
        }
    }

    /// How the names of directories begin that it stages.
    fn staged(self) -> &'static str {
        match self {
            Self::Merge => ".git-locks-merge-",
            Self::Build => ".git-locks-build-",
        }
    }
}

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

/// Whether the plan directory at `path` is a witness of ours: markers and nothing else.
///
/// # Errors
/// The directory cannot be read.
pub fn is_witness(path: &Path) -> io::Result<bool> {
    Ok(look(path)? == Found::Witness)
}

/// Whether `owner` keeps a witness of `id`.
pub fn is_kept(stand: Stand<'_>, id: &PlanId, owner: Owner) -> bool {
    let witness = stand.plan(id);
    is_witness(&witness).unwrap_or(false) && witness.join(owner.marker()).symlink_metadata().is_ok()
}

/// The witnesses that stand, each with who keeps it.
///
/// # Errors
/// The worktrees cannot be listed.
pub fn all(stand: Stand<'_>) -> Result<Vec<(PlanId, Owner)>> {
    let kept = |id: PlanId| Owner::ALL.map(|owner| (id.clone(), owner));
    let all = worktrees(stand)?.into_iter().flat_map(kept);
    Ok(all
        .filter(|(id, owner)| is_kept(stand, id, *owner))
        .collect())
}

/// The ids that have a worktree under the base, or what is left of one, in order.
///
/// # Errors
/// They cannot be listed.
pub fn worktrees(stand: Stand<'_>) -> Result<Vec<PlanId>> {
    let worktrees = stand.base.join("worktrees");
    let entries = match std::fs::read_dir(&worktrees) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", &worktrees, &error)),
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let ids = names.filter_map(|name| PlanId::parse(name.to_str()?));
    let mut ids: Vec<PlanId> = ids.collect();
    ids.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    Ok(ids)
}

/// What a plan directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Ours.
    Witness,
    /// Somebody's, or about to go.
    Empty,
    /// Somebody's.
    Plan,
}

fn look(path: &Path) -> io::Result<Found> {
    let mut found = Found::Empty;
    for entry in std::fs::read_dir(path)? {
        let name = entry?.file_name();
        if Owner::ALL.iter().all(|owner| name != owner.marker()) {
            return Ok(Found::Plan);
        }
        found = Found::Witness;
    }
    Ok(found)
}

/// Makes the witness of `id` that `owner` keeps, unless a plan directory that is not ours is there.
///
/// # Errors
/// A system call failed.
pub fn make(stand: Stand<'_>, id: &PlanId, owner: Owner, modes: Modes) -> Result<()> {
    let start = Instant::now();
    let mut backoff = Backoff::new(Duration::from_micros(200), Duration::from_millis(10));
    let mut empty: Option<(Option<Instance>, Instant)> = None;
    loop {
        let failed = match try_make(stand, id, owner, modes) {
            Ok(Tried::Settled) => return Ok(()),
            Ok(Tried::Empty(there)) => {
                // Between two owners; what stays as it is is an empty plan.
                let since = match &empty {
                    Some((seen, since)) if *seen == there => *since,
                    _ => Instant::now(),
                };
                if since.elapsed() >= EMPTY_FOR {
                    return Ok(());
                }
                empty = Some((there, since));
                None
            }
            Err(error) if error.is_not_found() => Some(error),
            Err(error) => return Err(error),
        };
        if !backoff.pause_until(start + PATIENCE) {
            return failed.map_or_else(|| Err(changes_too_fast(&stand.plan(id))), Err);
        }
    }
}

fn changes_too_fast(witness: &Path) -> Error {
    let message = format!(
        "{} changes faster than it can be marked",
        text::path(witness)
    );
    Error::new(ErrorKind::Timeout, message).with_hint("look at what else runs here")
}

/// What became of an attempt to make a witness.
enum Tried {
    /// It is there, or a plan is.
    Settled,
    /// A directory without a marker is there, or something that comes and goes.
    Empty(Option<Instance>),
}

/// Makes the witness as it is to be made just now.
fn try_make(stand: Stand<'_>, id: &PlanId, owner: Owner, modes: Modes) -> Result<Tried> {
    let witness = stand.plan(id);
    let empty = || Ok(Tried::Empty(file::instance(&witness)?));
    match look(&witness) {
        Ok(Found::Witness) => return mark(&witness, owner, modes).map(|()| Tried::Settled),
        Ok(Found::Plan) => return Ok(Tried::Settled),
        Ok(Found::Empty) => return empty(),
        Err(error) if file::instance(&witness)?.is_some() => {
            return match error.kind() {
                // Made meanwhile; or a link that leads nowhere.
                io::ErrorKind::NotFound => empty(),
                // A plan of another shape, or one that is not for us to see.
                _ => Ok(Tried::Settled),
            };
        }
        Err(_) => {}
    }
    let local = stand.local(id);
    let plans = local.join("plans");
    let made = file::make_dirs(&plans, modes)?;
    if ground::is_checkout(&stand.worktree(id)) {
        ground::prepare(&local, true, modes)?;
    }
    clear_staged(&plans, owner);
    let staged = tempfile::Builder::new()
        .prefix(owner.staged())
        .suffix(".tmp")
        .tempdir_in(&plans)
        .map_err(|e| Error::io("write in", &plans, &e))?;
    let depth = made.len().to_string();
    let marker = staged.path().join(owner.marker());
    Temp::write(staged.path(), depth.as_bytes(), modes, false)?.replace(&marker)?;
    file::set_dir_mode(staged.path(), modes);
    match std::fs::rename(staged.path(), &witness) {
        Ok(()) => {
            // Renamed away: nothing is left to clean up under the temporary name.
            let _ = staged.keep();
            Ok(Tried::Settled)
        }
        // A real plan, or another owner's witness, arrived meanwhile.
        Err(error) if is_occupied(&error) || witness.is_dir() => empty(),
        Err(error) => Err(Error::io("create directory", &witness, &error)),
    }
}

/// Whether a directory that is not empty was in the way, and may be gone by now.
fn is_occupied(error: &io::Error) -> bool {
    let kinds = [
        io::ErrorKind::DirectoryNotEmpty,
        io::ErrorKind::AlreadyExists,
    ];
    kinds.contains(&error.kind())
}

/// Adds the marker of `owner` to a witness.
fn mark(witness: &Path, owner: Owner, modes: Modes) -> Result<()> {
    let marker = witness.join(owner.marker());
    if file::instance(&marker)?.is_some() {
        return Ok(());
    }
    // Not in the witness: a file of another name there would make it a plan.
    let plans = witness.parent().unwrap_or(witness);
    let depth = depth_of(witness).to_string();
    // Made by somebody else of this owner meanwhile: as good.
    Temp::write(plans, depth.as_bytes(), modes, false)?.create(&marker)?;
    Ok(())
}

/// How many of the directories above a witness we made, as its markers say.
fn depth_of(witness: &Path) -> usize {
    let depths = Owner::ALL.iter().map(|owner| {
        let marker = file::read(&witness.join(owner.marker()), MARKER_LIMIT).ok()??;
        String::from_utf8_lossy(&marker.bytes).trim().parse().ok()
    });
    depths.flatten().max().unwrap_or(0)
}

/// Removes the witness of `id` that `owner` keeps, and with the last the empty directories above that
/// were made for it. Best effort: what stays is never counted as evidence.
pub fn remove(stand: Stand<'_>, id: &str, owner: Owner) {
    let Some(id) = PlanId::parse(id) else {
        return;
    };
    let witness = stand.plan(&id);
    if !is_witness(&witness).unwrap_or(false) {
        return;
    }
    let marker = witness.join(owner.marker());
    if !file::instance(&marker).is_ok_and(|marker| marker.is_some()) {
        return;
    }
    let depth = depth_of(&witness);
    if file::remove(&marker).is_err() {
        return;
    }
    if let Some(plans) = witness.parent() {
        clear_staged(plans, owner);
    }
    // Only empty directories go, and never one above `<base>/worktrees/<id>`.
    let above = witness.ancestors().skip(1).take(depth.min(4));
    for directory in std::iter::once(witness.as_path()).chain(above) {
        if std::fs::remove_dir(directory).is_err() {
            break;
        }
    }
}

/// The directories that calls of `owner` have staged in `plans`: of one that goes on only where somebody is
/// inside its guard.
///
/// # Errors
/// The directory cannot be read.
pub fn staged(plans: &Path, owner: Owner) -> io::Result<Vec<PathBuf>> {
    let is_staged = |entry: &std::fs::DirEntry| {
        let name = entry.file_name();
        entry.file_type().is_ok_and(|kind| kind.is_dir())
            && file::is_temp_name(&name)
            && name
                .as_encoded_bytes()
                .starts_with(owner.staged().as_bytes())
    };
    let entries = std::fs::read_dir(plans)?.flatten().filter(is_staged);
    Ok(entries.map(|entry| entry.path()).collect())
}

/// Removes what calls that were cut off staged in `plans`. Inside its guard nobody else stages for
/// `owner`; of the files, another's may be on the way to their place.
pub fn clear_staged(plans: &Path, owner: Owner) {
    for staged in staged(plans, owner).unwrap_or_default() {
        // Best effort, like the removal of a witness.
        let _ = std::fs::remove_dir_all(staged);
    }
    file::sweep(plans, clock::wall());
}

#[cfg(test)]
mod tests;
