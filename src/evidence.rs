//! Looking at the world for evidence of life: plan directories, worktrees, processes, presence.
//!
//! The rules are in [`crate::liveness`]; this is its [`World`]. An error other than "there is no
//! such file" means that we could not have seen what we looked for: `Unobservable`.

mod projects;

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::identity::PlanId;
use crate::liveness::{Evidence, World};
use crate::store::witness::{self, Stand};
use crate::sys::file::{self, Instance};
use crate::sys::host::{Host, Relation};
use crate::sys::process::{self, ProcessId, Sight};

pub use projects::Neighbours;

/// The files of git's worktree registry are small; more is not read.
const REGISTRY_LIMIT: u64 = 64 << 10;

/// The file system and the process table, as evidence about one repository.
#[derive(Clone, Debug)]
pub struct Surroundings<'a> {
    /// Where plans and their worktrees are kept.
    pub base: &'a Path,
    /// The name of plan directories: `.plan`, unless renamed.
    pub plan_dir: &'a OsStr,
    /// Git's common directory, where git registers worktrees.
    pub common_dir: Option<&'a Path>,
    /// Where presence files are kept.
    pub presence: PathBuf,
    /// This host.
    pub host: Host,
    /// The names of registered worktrees' directories, as of the registry's last change.
    pub registry: RefCell<Option<Registry>>,
}

/// Git's registry of worktrees: each admin directory, and the name of its worktree's directory
/// where that can be read.
#[derive(Clone, Debug)]
pub struct Registry {
    seen: Instance,
    worktrees: Vec<(PathBuf, Result<Option<OsString>, Evidence>)>,
}

impl World for Surroundings<'_> {
    fn keeps_plans(&self) -> Evidence {
        exists(&self.base.join("plans"))
    }

    fn plan(&self, id: &PlanId) -> Evidence {
        // A plan moves between the two places: what left the first while we looked at the
        // second is back in the first, or was in the second.
        let in_main = || exists(&self.base.join("plans").join(id.as_str()));
        match in_main() {
            Evidence::Absent => {}
            found => return found,
        }
        match self.plan_in_worktree(id) {
            Evidence::Absent => in_main(),
            found => found,
        }
    }

    fn worktree(&self, id: &PlanId) -> Evidence {
        match exists(&self.stand().worktree(id).join(".git")) {
            Evidence::Absent => {}
            found => return found,
        }
        match self.plan_in_worktree(id) {
            Evidence::Absent => {}
            found => return found,
        }
        match self.common_dir {
            Some(common) => self.registered(&common.join("worktrees"), id),
            None => Evidence::Absent,
        }
    }

    fn process(&self, process: &ProcessId, host: &Host) -> Evidence {
        match self.host.relation(host) {
            Relation::SameBoot => {}
            // No process outlives its boot; but is it another?
            Relation::SameMachine if self.is_another_boot(host) => return Evidence::Absent,
            Relation::SameMachine | Relation::Elsewhere => return Evidence::Unobservable,
        }
        if !self.host.shares_pids(host) {
            return Evidence::Unobservable;
        }
        match process::look(process.pid) {
            Sight::Running(start) if start == process.start => Evidence::Alive,
            // Start times are read on the boot clock of the reader's time namespace: another
            // start there need not be another process.
            Sight::Running(_) if !self.host.shares_boot_clock(host) => Evidence::Unobservable,
            Sight::Running(_) | Sight::Ended => Evidence::Absent,
            Sight::Hidden => Evidence::Unobservable,
        }
    }

    fn presence(&self, name: &str, host: &Host) -> Evidence {
        match self.host.relation(host) {
            Relation::SameMachine if self.is_another_boot(host) => return Evidence::Absent,
            Relation::SameBoot | Relation::SameMachine => {}
            Relation::Elsewhere => return Evidence::Unobservable,
        }
        if Path::new(name).components().count() != 1 || name.contains('/') || name.starts_with('.')
        {
            return Evidence::Absent;
        }
        match file::is_locked(&self.presence.join(name)) {
            Ok(true) => Evidence::Alive,
            Ok(false) => Evidence::Absent,
            Err(_) => Evidence::Unobservable,
        }
    }
}

impl Surroundings<'_> {
    fn stand(&self) -> Stand<'_> {
        Stand {
            base: self.base,
            plan_dir: self.plan_dir,
        }
    }

    /// Whether the record of `host` is provably from another boot than this.
    fn is_another_boot(&self, host: &Host) -> bool {
        matches!((&self.host.boot_id, &host.boot_id), (Some(now), Some(then)) if now != then)
    }

    fn plan_in_worktree(&self, id: &PlanId) -> Evidence {
        let plan = self.stand().plan(id);
        match exists(&plan) {
            Evidence::Alive => match witness::is_witness(&plan) {
                Ok(true) => Evidence::Absent,
                Ok(false) => Evidence::Alive,
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => Evidence::Alive,
                Err(error) => absent_if_missing(&error, &plan),
            },
            other => other,
        }
    }
}

/// Whether something is at `path`, links followed.
fn exists(path: &Path) -> Evidence {
    match std::fs::metadata(path) {
        Ok(_) => Evidence::Alive,
        Err(error) => absent_if_missing(&error, path),
    }
}

/// What the failure to find `path` proves: absence only where nothing on the way to it is a link
/// that leads nowhere (a volume that is not mounted, for instance).
fn absent_if_missing(error: &io::Error, path: &Path) -> Evidence {
    if error.kind() == io::ErrorKind::NotADirectory {
        return Evidence::Absent;
    }
    if error.kind() != io::ErrorKind::NotFound {
        return Evidence::Unobservable;
    }
    for ancestor in path.ancestors() {
        match std::fs::symlink_metadata(ancestor) {
            Ok(metadata) if metadata.is_symlink() => match std::fs::metadata(ancestor) {
                Ok(_) => return Evidence::Absent,
                Err(_) => return Evidence::Unobservable,
            },
            Ok(_) => return Evidence::Absent,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return Evidence::Unobservable,
        }
    }
    Evidence::Absent
}

impl Surroundings<'_> {
    /// Whether git registers a genuine worktree named `id`, by its registered name or by the name
    /// of its directory: the two may differ, and either may be what the plan is called.
    fn registered(&self, registry: &Path, id: &PlanId) -> Evidence {
        let name = OsStr::new(id.as_str());
        let mut found = genuine(&registry.join(name));
        if found == Evidence::Alive {
            return found;
        }
        let known = match self.known_worktrees(registry) {
            Ok(known) => known,
            Err(evidence) => return weaker(found, evidence),
        };
        for (admin, directory) in &known.worktrees {
            if admin.file_name() == Some(name) {
                continue;
            }
            match directory {
                Ok(Some(directory)) if directory == name => match genuine(admin) {
                    Evidence::Alive => return Evidence::Alive,
                    other => found = weaker(found, other),
                },
                // Its name cannot be read: it may be the one.
                Err(Evidence::Unobservable) => found = weaker(found, Evidence::Unobservable),
                Ok(_) | Err(_) => {}
            }
        }
        found
    }

    /// The registry, read anew when worktrees were added or removed since it was read last.
    fn known_worktrees(&self, registry: &Path) -> Result<Registry, Evidence> {
        let seen = match file::instance(registry) {
            Ok(Some(seen)) => seen,
            Ok(None) => return Err(Evidence::Absent),
            Err(_) => return Err(Evidence::Unobservable),
        };
        if let Some(known) = self
            .registry
            .borrow()
            .as_ref()
            .filter(|known| known.seen == seen)
        {
            return Ok(known.clone());
        }
        let entries = std::fs::read_dir(registry).map_err(|e| absent_if_missing(&e, registry))?;
        let worktrees = entries.map(|entry| {
            let admin = entry.map_err(|_| Evidence::Unobservable)?.path();
            let directory =
                directory_of(&admin).map(|directory| directory?.file_name().map(OsStr::to_owned));
            Ok((admin, directory))
        });
        let worktrees = worktrees.collect::<Result<_, Evidence>>()?;
        let known = Registry { seen, worktrees };
        *self.registry.borrow_mut() = Some(known.clone());
        Ok(known)
    }
}

/// Of two findings that are not `Alive`, the one that proves less.
fn weaker(a: Evidence, b: Evidence) -> Evidence {
    if a == Evidence::Unobservable { a } else { b }
}

/// Whether the worktree registered by the admin directory `admin` is genuine: the directory
/// holds `HEAD` and `commondir`, and the `.git` file that its `gitdir` names points back to it.
fn genuine(admin: &Path) -> Evidence {
    match std::fs::metadata(admin) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Evidence::Absent,
        Err(error) => return absent_if_missing(&error, admin),
    }
    let locked = match small_file(&admin.join("locked")) {
        Ok(content) => content,
        Err(evidence) => return evidence,
    };
    if locked
        .as_deref()
        .is_some_and(|why| why.trim_ascii() == b"initializing")
    {
        return Evidence::Unobservable;
    }
    for part in ["HEAD", "commondir"] {
        match exists(&admin.join(part)) {
            Evidence::Alive => {}
            other => return other,
        }
    }
    let directory = match directory_of(admin) {
        Ok(Some(directory)) => directory,
        Ok(None) => return Evidence::Absent,
        Err(evidence) => return evidence,
    };
    match exists(&directory) {
        Evidence::Alive => {}
        // Locked: its owner says that it is away on purpose.
        Evidence::Absent if locked.is_some() => return Evidence::Unobservable,
        other => return other,
    }
    match points_back(&directory.join(".git"), admin) {
        Ok(true) => Evidence::Alive,
        Ok(false) => Evidence::Absent,
        Err(evidence) => evidence,
    }
}

/// The directory of the worktree that `admin` registers; `None` where `gitdir` is malformed.
fn directory_of(admin: &Path) -> Result<Option<PathBuf>, Evidence> {
    let Some(content) = small_file(&admin.join("gitdir"))? else {
        return Ok(None);
    };
    let line = content.strip_suffix(b"\n").unwrap_or(&content);
    if line.is_empty() {
        return Ok(None);
    }
    let link = admin.join(OsStr::from_bytes(line));
    match link.file_name() {
        Some(name) if name == ".git" && line.ends_with(b"/.git") => {
            // A relative path is relative to the admin directory, and may climb out of it.
            Ok(link
                .parent()
                .map(|dir| std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned())))
        }
        _ => Ok(None),
    }
}

/// Whether the `.git` file at `link` names the admin directory `admin`.
fn points_back(link: &Path, admin: &Path) -> Result<bool, Evidence> {
    match std::fs::symlink_metadata(link) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Ok(false),
        Err(error) => {
            return match absent_if_missing(&error, link) {
                Evidence::Absent => Ok(false),
                other => Err(other),
            };
        }
    }
    let Some(content) = small_file(link)? else {
        return Ok(false);
    };
    let Some(target) = content.strip_prefix(b"gitdir:") else {
        return Ok(false);
    };
    let target = target.trim_ascii_start();
    let target = target.strip_suffix(b"\n").unwrap_or(target);
    let target = link
        .parent()
        .unwrap_or(link)
        .join(OsStr::from_bytes(target));
    let resolve = |path: &Path| match std::fs::canonicalize(path) {
        Ok(resolved) => Ok(Some(resolved)),
        Err(error) => match absent_if_missing(&error, path) {
            Evidence::Absent => Ok(None),
            other => Err(other),
        },
    };
    let (there, here) = (resolve(&target)?, resolve(admin)?);
    Ok(there.is_some() && there == here)
}

/// The content of a small file; `None` where there is none, or something that is no file.
fn small_file(path: &Path) -> Result<Option<Vec<u8>>, Evidence> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Ok(None),
        Err(error) => {
            return match absent_if_missing(&error, path) {
                Evidence::Absent => Ok(None),
                other => Err(other),
            };
        }
    }
    match file::read(path, REGISTRY_LIMIT) {
        Ok(content) => Ok(content.map(|content| content.bytes)),
        Err(_) => Err(Evidence::Unobservable),
    }
}

#[cfg(test)]
mod tests;
