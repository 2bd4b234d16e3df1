//! Presence files that nobody keeps, and that are on no record.

use std::path::PathBuf;

use super::Found;
use super::patient::{Patient, is_local};
use super::remedy::{Guarded, Remedy};
use crate::error::Result;
use crate::report::{Finding, FindingKind, Severity};

/// Looks for those of each queue.
pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Found>> {
    let mut all = Vec::new();
    if let Some(seen) = &patient.merge {
        let left = patient.context.merge_store().presence_left(&seen.state)?;
        all.extend(left.into_iter().map(|path| (path, Guarded::Merge)));
    }
    if let (Some(seen), Some(store)) = (&patient.build, patient.build_store()) {
        let left = store.presence_left(&seen.state)?;
        all.extend(left.into_iter().map(|path| (path, Guarded::Build)));
    }
    all.retain(|(path, _)| is_local(path));
    Ok(all
        .into_iter()
        .map(|(path, guarded)| finding(path, guarded))
        .collect())
}

fn finding(path: PathBuf, guarded: Guarded) -> Found {
    let what = "a process that is gone left its presence file behind";
    let finding = Finding::new(FindingKind::PresenceFile, Severity::Note, what).at(&path);
    Found::curable(finding, Remedy::Presence { path, guarded })
}
