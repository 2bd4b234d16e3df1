//! Guard files that processes left behind.

use super::Found;
use super::patient::{Patient, is_local};
use super::remedy::{Guarded, Remedy};
use crate::error::Result;
use crate::report::{Finding, FindingKind, Severity};
use crate::store::guard::Left;
use crate::store::run_configuration;

/// Looks for them beside each state that has a guard.
pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Found>> {
    let place = &patient.context.place;
    let mut all = Vec::new();
    if patient.has_repository {
        let merge = patient.context.merge_store().guard_left()?;
        let runs = run_configuration::guard_left(&place.base, &place.ours)?;
        all.push((merge, Guarded::Merge));
        all.push((runs, Guarded::RunConfiguration));
    }
    if let Some(store) = patient.build_store() {
        all.push((store.guard_left()?, Guarded::Build));
    }
    let left = all
        .into_iter()
        .filter_map(|(left, guarded)| Some((left?, guarded)));
    let left = left.filter(|(left, _)| is_local(&left.path));
    Ok(left.map(|(left, guarded)| finding(left, guarded)).collect())
}

fn finding(left: Left, guarded: Guarded) -> Found {
    let what = if left.is_ours {
        "a guard file that a process left behind keeps other programs waiting"
    } else {
        "another program's guard file is older than that of one that lives"
    };
    let finding = Finding::new(FindingKind::GuardFile, Severity::Note, what).at(&left.path);
    let path = left.path;
    Found::curable(finding, Remedy::Guard { path, guarded })
}
