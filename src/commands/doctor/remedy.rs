//! What `--fix` does: the one place of the doctor that removes anything.
//!
//! Each guard is entered once, for all that is to be done inside. What was found without it may have changed
//! by then: inside, everything is looked at again, and what is not provably nobody's any more stays. A
//! finding counts as fixed when the thing is gone.

use std::path::{Path, PathBuf};

use super::Found;
use super::patient::Patient;
use super::titles;
use super::witnesses;
use crate::error::Result;
use crate::identity::PlanId;
use crate::locks::build::BuildState;
use crate::locks::merge::MergeState;
use crate::store::run_configuration;
use crate::store::witness::{self, Owner, Stand};
use crate::sys::{clock, file};

/// Which guard stands before a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guarded {
    /// That of the merge lock.
    Merge,
    /// That of the build queue.
    Build,
    /// That of what a project has learnt of its runs.
    RunConfiguration,
    /// None.
    Nothing,
}

/// What is to be removed.
#[derive(Clone, Debug)]
pub(super) enum Remedy {
    /// A temporary file.
    Temporary { path: PathBuf, guarded: Guarded },
    /// What was staged in a directory of plans to become a witness.
    Staged { plans: PathBuf, owner: Owner },
    /// A guard file.
    Guard { path: PathBuf, guarded: Guarded },
    /// A presence file, or a bell.
    Presence { path: PathBuf, guarded: Guarded },
    /// A witness.
    Witness { id: PlanId, owner: Owner },
    /// A file of titles.
    Title { path: PathBuf },
}

impl Remedy {
    fn guarded(&self) -> Guarded {
        match self {
            Self::Temporary { guarded, .. }
            | Self::Guard { guarded, .. }
            | Self::Presence { guarded, .. } => *guarded,
            Self::Witness { owner, .. } | Self::Staged { owner, .. } => match owner {
                Owner::Merge => Guarded::Merge,
                Owner::Build => Guarded::Build,
            },
            Self::Title { .. } => Guarded::Nothing,
        }
    }

    /// Whether there is nothing left to be removed.
    fn is_done(&self, stand: Stand<'_>) -> bool {
        let gone = |path: &Path| file::instance(path).is_ok_and(|there| there.is_none());
        match self {
            Self::Temporary { path, .. }
            | Self::Guard { path, .. }
            | Self::Presence { path, .. }
            | Self::Title { path } => gone(path),
            Self::Staged { plans, owner } => {
                witness::staged(plans, *owner).is_ok_and(|staged| staged.is_empty())
            }
            Self::Witness { id, owner } => {
                gone(&stand.plan(id)) || !witness::is_kept(stand, id, *owner)
            }
        }
    }
}

/// Removes what is provably nobody's, and notes of each finding whether it is gone.
pub(super) fn apply(patient: &Patient<'_>, found: &mut [Found]) {
    for guarded in [
        Guarded::Merge,
        Guarded::Build,
        Guarded::RunConfiguration,
        Guarded::Nothing,
    ] {
        let remedies = found.iter().filter_map(|found| found.remedy.as_ref());
        let due: Vec<&Remedy> = remedies
            .filter(|remedy| remedy.guarded() == guarded)
            .collect();
        if due.is_empty() {
            continue;
        }
        if let Err(error) = apply_in(patient, guarded, &due) {
            let hint = error.hint().map(|hint| format!("; {hint}"));
            let hint = hint.unwrap_or_default();
            let warning = format!("something was not removed: {error}{hint}");
            patient.context.voice.warn(warning);
        }
    }
    let stand = witnesses::stand(patient);
    for found in found {
        let remedy = found.remedy.as_ref();
        if remedy.is_some_and(|remedy| remedy.is_done(stand)) {
            found.finding.fixed = true;
            found.finding.action = None;
        }
    }
}

fn apply_in(patient: &Patient<'_>, guarded: Guarded, due: &[&Remedy]) -> Result<()> {
    let patience = patient.context.settings.guard_timeout;
    match guarded {
        Guarded::Merge => {
            let store = patient.context.merge_store();
            store.inside(patience, |state| {
                for remedy in due {
                    in_merge(patient, remedy, state);
                }
                if any_presence(due) {
                    // One that nobody keeps shows nothing, whether it is on record or not.
                    let known = state.map(|state| state.records.clone());
                    store.sweep_presence(&known.unwrap_or_default());
                }
            })
        }
        Guarded::Build => {
            let Some(store) = patient.build_store() else {
                return Ok(());
            };
            store.inside(patience, |state| {
                for remedy in due {
                    in_build(patient, remedy, state);
                }
                if any_presence(due) {
                    store.sweep_presence(&state.cloned().unwrap_or_default());
                }
            })
        }
        Guarded::RunConfiguration => {
            // Raised by nothing: entering the guard removes what is left.
            let place = &patient.context.place;
            let modes = patient.context.modes();
            let noted = run_configuration::raise(&place.base, &place.ours, 0.0, modes, patience)?;
            patient.context.voice.say_all(noted.as_slice());
            Ok(())
        }
        Guarded::Nothing => {
            for remedy in due {
                match remedy {
                    Remedy::Title { path } => titles::remove(patient, path),
                    Remedy::Temporary { path, .. } => remove_temporary(path),
                    _ => {}
                }
            }
            Ok(())
        }
    }
}

fn any_presence(due: &[&Remedy]) -> bool {
    due.iter()
        .any(|remedy| matches!(remedy, Remedy::Presence { .. }))
}

/// Removes a thing inside the guard of the merge lock. Best effort: what stays is seen to stay.
fn in_merge(patient: &Patient<'_>, remedy: &Remedy, state: Option<&MergeState>) {
    match (remedy, state) {
        // A grant that was cut off is told by the temporary name that its lock file had.
        (Remedy::Temporary { path, .. }, state)
            if !state.is_some_and(|state| is_recorded(path, state)) =>
        {
            remove_temporary(path);
        }
        (Remedy::Staged { plans, owner }, _) => witness::clear_staged(plans, *owner),
        (Remedy::Witness { id, owner }, Some(state)) if !witnesses::is_of_merge(id, state) => {
            witness::remove(witnesses::stand(patient), id.as_str(), *owner);
        }
        _ => {}
    }
}

/// Removes a thing inside the guard of the build queue.
fn in_build(patient: &Patient<'_>, remedy: &Remedy, state: Option<&BuildState>) {
    match (remedy, state) {
        (Remedy::Temporary { path, .. }, _) => remove_temporary(path),
        (Remedy::Staged { plans, owner }, _) => witness::clear_staged(plans, *owner),
        (Remedy::Witness { id, owner }, Some(state))
            if !witnesses::is_of_build(patient, id, state) =>
        {
            witness::remove(witnesses::stand(patient), id.as_str(), *owner);
        }
        _ => {}
    }
}

/// Whether the record of a grant names the temporary file at `path`.
pub(super) fn is_recorded(path: &Path, state: &MergeState) -> bool {
    let grants = state.records.participants.values();
    let mut names = grants.filter_map(|record| record.grant.as_ref()?.temp.as_deref());
    names.any(|name| path.file_name().is_some_and(|file| file == name))
}

/// Removes a temporary file that is still as old as one must be.
fn remove_temporary(path: &Path) {
    let directory = path.parent().unwrap_or(path);
    let left = file::left_behind(directory, clock::wall()).unwrap_or_default();
    if left.iter().any(|left| left == path) {
        // What stays is seen to stay.
        let _ = file::remove(path);
    }
}
