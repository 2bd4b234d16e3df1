//! The leases of sessions in the repository's checkouts, and copies of such that were set aside.
//!
//! A lease that is over is for the next session to take: `--fix` leaves it alone.

use std::path::Path;

use super::patient::Patient;
use super::{Found, copies};
use crate::diagnosis::sessions::finding;
use crate::error::Result;
use crate::locks::session::judge;
use crate::store::session;
use crate::sys::clock;

/// Looks at the lease of every checkout.
pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for root in patient.context.place.worktrees()? {
        found.extend(lease(patient, &root));
        found.extend(copies::beside(&session::path_in(&root))?);
    }
    Ok(found)
}

fn lease(patient: &Patient<'_>, root: &Path) -> Option<Found> {
    let path = session::path_in(root);
    let sight = |lease: &_| judge(lease, clock::wall(), patient.context.host());
    match session::read(root) {
        Ok(content) => finding(&content, &path, root, sight).map(Found::from),
        Err(error) => Some(error.into()),
    }
}
