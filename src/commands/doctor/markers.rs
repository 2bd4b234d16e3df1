//! What is left of worktrees that are gone: their registration with git, and the places of plans' worktrees.
//!
//! Both are looked at for signs of a plan's life. They are git's, or may hold somebody's work: `--fix` leaves
//! them alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Found;
use super::patient::Patient;
use crate::error::{Error, Result};
use crate::place;
use crate::report::{Finding, FindingKind, Severity};
use crate::text;

/// Looks for them in git's registry, and among the worktrees of plans.
pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    if let Some(common) = &patient.context.place.common_dir {
        let admins = entries(&common.join("worktrees"))?;
        found.extend(admins.iter().filter_map(|admin| registration(admin)));
    }
    if patient.has_repository {
        let directories = entries(&patient.context.place.base.join("worktrees"))?;
        let shells = directories.iter().filter_map(|it| shell(it));
        found.extend(shells);
    }
    Ok(found.into_iter().map(Found::from).collect())
}

/// What is in `directory`, in order; nothing where there is none.
fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", directory, &error)),
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// A registration whose worktree is gone. One that is locked is away on purpose.
fn registration(admin: &Path) -> Option<Finding> {
    if is_there(&admin.join("locked")) {
        return None;
    }
    let root = place::worktree_of(admin)?;
    let finding = if is_gone(&root) {
        let what = "git registers a worktree that is gone";
        marker(what, &root).to_do("git worktree prune")
    } else if is_gone(&root.join(".git")) {
        let what = "git registers a worktree here that has no .git any more";
        marker(what, &root).to_do(repair(admin, &root))
    } else {
        return None;
    };
    Some(finding)
}

/// A place for the worktree of a plan that has nothing in it, or a `.git` that leads nowhere.
fn shell(directory: &Path) -> Option<Finding> {
    if !directory.is_dir() {
        return None;
    }
    let link = directory.join(".git");
    if is_there(&link) {
        let what = "the .git of a plan's worktree leads nowhere, and makes the plan look alive";
        let finding = || marker(what, directory).to_do("git worktree repair, or remove it");
        return (!is_gone(&link) && place::git_dir_behind(&link).is_none()).then(finding);
    }
    let is_empty = entries(directory).is_ok_and(|inside| inside.is_empty());
    let what = "the place of a plan's worktree has nothing in it";
    let remove = || format!("rmdir {}", text::shell_word(&directory.to_string_lossy()));
    is_empty.then(|| marker(what, directory).to_do(remove()))
}

fn repair(admin: &Path, root: &Path) -> String {
    let root = text::shell_word(&root.to_string_lossy());
    let common = admin.parent().and_then(Path::parent).unwrap_or(admin);
    let common = text::shell_word(&common.to_string_lossy());
    format!("git --git-dir {common} worktree repair {root}")
}

fn marker(what: &str, path: &Path) -> Finding {
    Finding::new(FindingKind::WorktreeMarker, Severity::Note, what).at(path)
}

/// Whether something is at `path`, if only a link that leads nowhere, or what cannot be looked at.
fn is_there(path: &Path) -> bool {
    !matches!(fs::symlink_metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
}

/// Whether certainly nothing is at `path`, links followed.
fn is_gone(path: &Path) -> bool {
    matches!(fs::metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
}
