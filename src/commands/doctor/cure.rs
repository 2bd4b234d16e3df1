//! What `--fix` does: the one place of the doctor from which anything is removed.
//!
//! Each guard is entered once, for all that is to be done inside. What was found without it may have changed
//! by then: inside, everything is looked at again, and what is not provably nobody's any more stays. A
//! finding counts as fixed when the thing is gone.

use std::path::Path;

use super::Found;
use super::patient::Patient;
use super::remedy::{Guarded, Remedy};
use super::{markers, temporary, titles, witnesses};
use crate::error::Result;
use crate::locks::build::BuildState;
use crate::locks::merge::MergeState;
use crate::store::run_configuration;
use crate::store::witness::{self, Stand};
use crate::sys::file;

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
        if remedy.is_some_and(|remedy| is_done(remedy, stand)) {
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
                    Remedy::Temporary { path, .. } => temporary::remove(path),
                    Remedy::Shell { directories } => markers::remove(directories),
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
            if !state.is_some_and(|state| temporary::is_recorded(path, state)) =>
        {
            temporary::remove(path);
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
        (Remedy::Temporary { path, .. }, _) => temporary::remove(path),
        (Remedy::Staged { plans, owner }, _) => witness::clear_staged(plans, *owner),
        (Remedy::Witness { id, owner }, Some(state))
            if !witnesses::is_of_build(patient, id, state) =>
        {
            witness::remove(witnesses::stand(patient), id.as_str(), *owner);
        }
        _ => {}
    }
}

/// Whether nothing is left to be removed.
fn is_done(remedy: &Remedy, stand: Stand<'_>) -> bool {
    let gone = |path: &Path| file::instance(path).is_ok_and(|there| there.is_none());
    match remedy {
        Remedy::Temporary { path, .. }
        | Remedy::Guard { path, .. }
        | Remedy::Presence { path, .. }
        | Remedy::Title { path } => gone(path),
        Remedy::Shell { directories } => directories.last().is_none_or(|it| gone(it)),
        Remedy::Staged { plans, owner } => {
            witness::staged(plans, *owner).is_ok_and(|staged| staged.is_empty())
        }
        Remedy::Witness { id, owner } => {
            gone(&stand.plan(id)) || !witness::is_kept(stand, id, *owner)
        }
    }
}
