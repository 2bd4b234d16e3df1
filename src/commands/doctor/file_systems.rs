//! File systems where locks do not work, or are not known to be this machine's own business.
//!
//! Tried on a kernel lock's file of ours where there is one, else on the directory: a lock that is shared
//! with every other look, for a moment.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::patient::{Patient, is_local};
use super::{Found, finding_of};
use crate::commands::context::nearest_existing;
use crate::error::Result;
use crate::place::lock_dir::LockDir;
use crate::report::{Finding, FindingKind, Severity};
use crate::sys::flock;

/// Looks at the file systems of everything that we lock.
pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Found>> {
    let place = &patient.context.place;
    let mut found = Vec::new();
    let mut locks: BTreeSet<PathBuf> = BTreeSet::new();
    let mut directories: BTreeSet<PathBuf> = BTreeSet::new();
    if patient.has_repository {
        locks.insert(place.ours.join("merge.guard"));
        directories.insert(place.base.clone());
    }
    if let Some(common) = &place.common_dir {
        locks.insert(common.join("axm-integration.lock"));
    }
    if let Some(home) = &patient.home {
        locks.insert(home.root.join("build-queue.json.guard"));
    }
    for root in place.worktrees()? {
        match LockDir::find(&patient.context.cwd, &root) {
            Ok(found) => drop(locks.insert(found.path)),
            Err(error) => {
                // The same for each, as a rule.
                let finding = finding_of(&error, FindingKind::WorktreeLocks);
                found.push(finding.into());
                break;
            }
        }
    }
    let parents = locks.iter().filter_map(|lock| lock.parent());
    directories.extend(parents.map(Path::to_owned));
    found.extend(locks.iter().filter_map(|lock| tried(lock)));
    let there = directories
        .iter()
        .map(|directory| nearest_existing(directory));
    let there: BTreeSet<&Path> = there.collect();
    let remote = there.into_iter().filter(|directory| !is_local(directory));
    found.extend(remote.map(|directory| remote_finding(directory).into()));
    Ok(one_each(found))
}

/// What is wrong with locks on the file system of `lock`, a file that need not be there.
fn tried(lock: &Path) -> Option<Found> {
    let there = nearest_existing(lock);
    match flock::failure_at(there) {
        Ok(failure) => {
            let finding = finding_of(&failure?, FindingKind::NoLocks);
            Some(finding.at(there).into())
        }
        Err(error) => Some(error.into()),
    }
}

fn remote_finding(directory: &Path) -> Finding {
    let what = "this is not known to be a local file system: locks work there, but what is stale is \
                not taken over by itself, and nothing is removed";
    Finding::new(FindingKind::RemoteFileSystem, Severity::Warning, what)
        .at(directory)
        .to_do("keep it on a local disk; PLAN_MARSHALL_HOME and CRUCIBLE_LOCK_DIR may name other places")
}

/// The same of the same place once.
fn one_each(found: Vec<Found>) -> Vec<Found> {
    let mut known: Vec<Finding> = Vec::new();
    let mut once = Vec::new();
    for found in found {
        if !known.contains(&found.finding) {
            known.push(found.finding.clone());
            once.push(found);
        }
    }
    once
}
