//! Witnesses, by which other programs see our participants alive, of those who take part no longer.

use std::path::{Path, PathBuf};

use super::Found;
use super::patient::{Patient, is_local};
use super::remedy::Remedy;
use crate::error::Result;
use crate::identity::PlanId;
use crate::locks::build::BuildState;
use crate::locks::merge::MergeState;
use crate::report::{Finding, FindingKind, Severity};
use crate::store::witness::{self, Owner, Stand};

/// Looks for them under the base of the repository.
pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Found>> {
    if !patient.has_repository || !is_local(&patient.context.place.base) {
        return Ok(Vec::new());
    }
    let stand = stand(patient);
    // Listed before the states are read anew: who joins is recorded first, and then witnessed.
    let standing = witness::all(stand)?;
    if standing.is_empty() {
        return Ok(Vec::new());
    }
    let store = patient.context.merge_store();
    let merge = store.peek_all()?;
    let merge = store.knows_all(&merge)?.then_some(merge);
    let build = patient.build_store().map(|store| store.peek_known());
    let build = build.transpose()?.flatten();
    let is_over = |id: &PlanId, owner| match owner {
        Owner::Merge => merge.as_ref().is_some_and(|state| !is_of_merge(id, state)),
        Owner::Build => build
            .as_ref()
            .is_some_and(|state| !is_of_build(patient, id, state)),
    };
    let over = standing
        .into_iter()
        .filter(|(id, owner)| is_over(id, *owner) && witness::is_kept(stand, id, *owner));
    Ok(over.map(|(id, owner)| left(stand, id, owner)).collect())
}

/// Where the witnesses of the repository stand, and plans that have moved into their worktrees.
pub(super) fn stand<'a>(patient: &'a Patient<'_>) -> Stand<'a> {
    let place = &patient.context.place;
    Stand {
        base: &place.base,
        plan_dir: &place.plan_dir,
    }
}

/// The directories that witnesses are made in.
pub(super) fn directories(patient: &Patient<'_>) -> Result<Vec<PathBuf>> {
    if !patient.has_repository {
        return Ok(Vec::new());
    }
    let stand = stand(patient);
    let ids = witness::worktrees(stand)?;
    let plans = ids.iter().map(|id| stand.plan(id));
    let plans = plans.filter_map(|plan| plan.parent().map(Path::to_owned));
    Ok(plans.filter(|plans| plans.is_dir()).collect())
}

/// Whether the merge lock knows of `id`.
pub(super) fn is_of_merge(id: &PlanId, state: &MergeState) -> bool {
    state.taking_part().contains(id.as_str()) || state.records.participant(id.as_str()).is_some()
}

/// Whether the build queue knows of `id` in this project, or in one that is not told.
pub(super) fn is_of_build(patient: &Patient<'_>, id: &PlanId, state: &BuildState) -> bool {
    let root = patient.context.place.project_root(&patient.context.cwd);
    let root = root.to_string_lossy();
    let mut entries = state.active.iter().chain(&state.waiting);
    entries.any(|entry| {
        let here = entry.project_root.as_deref().is_none_or(|it| it == root);
        here && entry.plan_id() == id.as_str()
    })
}

fn left(stand: Stand<'_>, id: PlanId, owner: Owner) -> Found {
    let lock = match owner {
        Owner::Merge => "the merge lock",
        Owner::Build => "the build queue",
    };
    let what = format!(
        "other programs see '{id}' alive by a directory of ours, though it takes part in {lock} no longer"
    );
    let finding = Finding::new(FindingKind::Witness, Severity::Note, what).at(&stand.plan(&id));
    Found::curable(finding, Remedy::Witness { id, owner })
}
