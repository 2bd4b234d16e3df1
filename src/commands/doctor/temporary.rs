//! Temporary files that processes left behind.

use std::path::{Path, PathBuf};

use super::patient::{Patient, is_local};
use super::remedy::{Guarded, Remedy};
use super::{Found, witnesses};
use crate::error::Result;
use crate::locks::merge::MergeState;
use crate::report::{Finding, FindingKind, Severity};
use crate::store::session;
use crate::store::witness::{self, Owner};
use crate::sys::{clock, file};

/// Looks for them in every directory that we write to.
pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Found>> {
    let now = clock::wall();
    let mut directories = patient.directories();
    directories.extend(
        witnesses::directories(patient)?
            .into_iter()
            .map(|directory| (directory, Guarded::Merge)),
    );
    directories.extend(session_directories(patient)?);
    let mut found = Vec::new();
    directories.retain(|(directory, _)| is_local(directory));
    for (directory, guarded) in directories {
        let left = file::left_behind(&directory, now)?;
        let of_a_grant = |path: &PathBuf| {
            let merge = patient.merge.as_ref();
            guarded == Guarded::Merge && merge.is_some_and(|seen| is_recorded(path, &seen.state))
        };
        let left = left.into_iter().filter(|path| !of_a_grant(path));
        found.extend(left.map(|path| temporary(path, guarded)));
    }
    for plans in witnesses::directories(patient)? {
        found.extend(
            Owner::ALL
                .iter()
                .filter_map(|owner| staged(&plans, *owner, now)),
        );
    }
    Ok(found)
}

/// What a call that was cut off has staged in a directory of plans, an hour ago or more.
fn staged(plans: &Path, owner: Owner, now: f64) -> Option<Found> {
    let staged = witness::staged(plans, owner).ok()?;
    let old = staged
        .into_iter()
        .find(|path| file::is_left_behind(path, now))?;
    let what = "a process that is gone left a temporary directory behind";
    let finding = Finding::new(FindingKind::TemporaryFile, Severity::Note, what).at(&old);
    let plans = plans.to_owned();
    Some(Found::curable(finding, Remedy::Staged { plans, owner }))
}

/// Where the sessions of the repository's checkouts keep their leases.
fn session_directories(patient: &Patient<'_>) -> Result<Vec<(PathBuf, Guarded)>> {
    let roots = patient.context.place.worktrees()?;
    let kept = roots.into_iter().map(|root| session::directory_in(&root));
    Ok(kept
        .map(|directory| (directory, Guarded::Nothing))
        .collect())
}

fn temporary(path: PathBuf, guarded: Guarded) -> Found {
    let what = "a process that is gone left a temporary file behind";
    let finding = Finding::new(FindingKind::TemporaryFile, Severity::Note, what).at(&path);
    Found::curable(finding, Remedy::Temporary { path, guarded })
}

/// Whether the record of a grant names the temporary file at `path`.
pub(super) fn is_recorded(path: &Path, state: &MergeState) -> bool {
    let grants = state.records.participants.values();
    let mut names = grants.filter_map(|record| record.grant.as_ref()?.temp.as_deref());
    names.any(|name| path.file_name().is_some_and(|file| file == name))
}

/// Removes a temporary file that is still as old as one must be.
pub(super) fn remove(path: &Path) {
    // Asked of itself alone: there may be many thousands beside it.
    if file::is_file_left(path, clock::wall()) {
        // What stays is seen to stay.
        let _ = file::remove(path);
    }
}
