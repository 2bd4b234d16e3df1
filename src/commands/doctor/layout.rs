//! Repositories of unusual shape, and locks in places where we do not look.

use super::Found;
use super::patient::Patient;
use crate::config;
use crate::diagnosis::layout::{Facts, finding, stray};
use crate::error::Result;
use crate::sys::file;

/// Looks at the shape of the repository, and into the places where other programs may keep its locks.
pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Found>> {
    let place = &patient.context.place;
    let Some(common) = place.common_dir.as_deref().filter(|_| !place.base_is_given) else {
        return Ok(Vec::new());
    };
    let worktrees = place.worktrees()?;
    let bare = place.config("core.bare");
    let facts = Facts {
        common_dir: common,
        main_root: place.main_root.as_deref(),
        bare: bare.as_deref().and_then(config::boolean).unwrap_or(false),
        base: &place.base,
        ours: &place.ours,
        worktrees: &worktrees,
        plan_dir: place.plan_dir.as_ref(),
    };
    let mut found: Vec<Found> = finding(&facts).into_iter().map(Found::from).collect();
    for elsewhere in facts.elsewhere() {
        for name in ["merge.lock", "merge-queue.json"] {
            let path = elsewhere.join(name);
            match file::instance(&path) {
                Ok(None) => {}
                Ok(Some(_)) => found.push(stray(&path, &place.base).into()),
                Err(error) => found.push(error.into()),
            }
        }
    }
    Ok(found)
}
