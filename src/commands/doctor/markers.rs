//! What is left of worktrees that are gone: their registration with git, and the places of plans' worktrees.
//!
//! Both are looked at for signs of a plan's life. What is git's, or may hold somebody's work, `--fix` leaves
//! alone; it removes directories with nothing in them, which a call that was cut off may have left too.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Found;
use super::patient::Patient;
use super::remedy::Remedy;
use crate::error::{Error, Result};
use crate::place;
use crate::report::{Finding, FindingKind, Severity};
use crate::sys::{clock, file};
use crate::text;

/// Looks for them in git's registry, and among the worktrees of plans.
pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    if let Some(common) = &patient.context.place.common_dir {
        let admins = entries(&common.join("worktrees"))?;
        found.extend(admins.iter().filter_map(|admin| registration(admin)));
    }
    let mut found: Vec<Found> = found.into_iter().map(Found::from).collect();
    if patient.has_repository {
        let place = &patient.context.place;
        let directories = entries(&place.base.join("worktrees"))?;
        let inside = Path::new(&place.plan_dir).join("local/plans");
        let shells = directories.iter().filter_map(|it| shell(it, &inside));
        found.extend(shells);
    }
    Ok(found)
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

/// A place for the worktree of a plan that has nothing in it but the directories `inside`, empty and older
/// than a call takes, or a `.git` that leads nowhere.
fn shell(directory: &Path, inside: &Path) -> Option<Found> {
    if !directory.is_dir() {
        return None;
    }
    let link = directory.join(".git");
    if is_there(&link) {
        let what = "the .git of a plan's worktree leads nowhere, and makes the plan look alive";
        let finding = || marker(what, directory).to_do("git worktree repair, or remove it");
        let leads_nowhere = !is_gone(&link) && place::git_dir_behind(&link).is_none();
        return leads_nowhere.then(|| finding().into());
    }
    let directories = nested(directory, inside)?;
    let what = "the place of a plan's worktree has nothing in it";
    Some(Found::curable(
        marker(what, directory),
        Remedy::Shell { directories },
    ))
}

/// The directories from `outer` down along `inside`, the innermost first, where each has nothing in it but the
/// next, and the last nothing at all, for so long that nobody is at it.
fn nested(outer: &Path, inside: &Path) -> Option<Vec<PathBuf>> {
    let mut chain = vec![outer.to_owned()];
    for part in inside.components() {
        let last = chain.last()?;
        match entries(last).ok()?.as_slice() {
            [] => break,
            [one] if *one == last.join(part) => chain.push(one.clone()),
            _ => return None,
        }
    }
    let last = chain.last()?;
    let empty = entries(last).ok()?.is_empty();
    let old = file::is_left_behind(last, clock::wall());
    chain.reverse();
    (empty && old).then_some(chain)
}

/// Removes directories, the innermost first, as long as they are empty: whoever puts something into one keeps
/// it.
pub(super) fn remove(directories: &[PathBuf]) {
    for directory in directories {
        // What stays is seen to stay.
        if fs::remove_dir(directory).is_err() {
            break;
        }
    }
}

/// The command that would mend it, where it can be typed.
fn repair(admin: &Path, root: &Path) -> String {
    let common = admin.parent().and_then(Path::parent).unwrap_or(admin);
    match (text::typed(common), text::typed(root)) {
        (Some(common), Some(root)) => format!("git --git-dir={common} worktree repair {root}"),
        _ => "git worktree repair, with its path".to_owned(),
    }
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
