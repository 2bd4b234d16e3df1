//! Lock files in git's index: a checkout of another commit would make or remove them, and with them locks.

use std::path::{Path, PathBuf};

use super::Found;
use super::patient::Patient;
use crate::error::Result;
use crate::place::asking;
use crate::report::{Finding, FindingKind, Severity};
use crate::store::session;
use crate::text;

/// Looks into the index of every checkout of the repository.
pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Found>> {
    let place = &patient.context.place;
    let Some(common) = &place.common_dir else {
        return Ok(Vec::new());
    };
    let plan = PathBuf::from(&place.plan_dir);
    let paths = [plan.clone(), session_lease()];
    let mut found = Vec::new();
    for root in place.worktrees()?.iter().filter(|root| root.is_dir()) {
        let git_dir = if place.main_root.as_ref() == Some(root) {
            common.clone()
        } else if root.join(".git").try_exists().unwrap_or(true) {
            root.join(".git")
        } else {
            // No checkout any more.
            continue;
        };
        let tracked = match asking::tracked(&git_dir, root, &paths) {
            Ok(tracked) => tracked,
            Err(error) => {
                found.push(Found::from(error));
                continue;
            }
        };
        let locks: Vec<PathBuf> = tracked
            .into_iter()
            .filter(|path| is_a_locks(path, &plan))
            .collect();
        found.extend(finding(root, &locks, &plan).map(Found::from));
    }
    Ok(found)
}

/// The lease of a session, from the root of its checkout.
fn session_lease() -> PathBuf {
    session::path_in(Path::new(""))
}

/// Whether a tracked path is that of a lock, or of what is kept with locks: not what a project keeps in its
/// plan directory on purpose.
fn is_a_locks(path: &Path, plan: &Path) -> bool {
    let ignore = path.file_name().is_some_and(|name| name == ".gitignore");
    let kept = ["local", "logs"].map(|part| plan.join(part));
    path == session_lease()
        || path == plan
        || (!ignore && kept.iter().any(|kept| path.starts_with(kept)))
}

fn finding(root: &Path, locks: &[PathBuf], plan: &Path) -> Option<Finding> {
    let first = locks.first()?;
    let many = match locks.len() {
        1 => "a file".to_owned(),
        count => format!("{count} files"),
    };
    let what = format!("git tracks {many} of the locks: a checkout may make or remove a lock");
    let finding =
        Finding::new(FindingKind::TrackedFile, Severity::Problem, what).at(&root.join(first));
    let mut parts: Vec<PathBuf> = Vec::new();
    for part in [
        plan.join("local"),
        plan.join("logs"),
        session_lease(),
        plan.to_owned(),
    ] {
        let covered = |path: &PathBuf| path.starts_with(&part) && (part != plan || path == plan);
        if locks.iter().any(covered) {
            parts.push(part);
        }
    }
    let parts: Option<Vec<String>> = parts.iter().map(|part| text::typed(part)).collect();
    Some(match (text::typed(root), parts) {
        (Some(root), Some(parts)) => finding.to_do(format!(
            "git -C {root} rm -r --cached -- {}, and commit that",
            parts.join(" ")
        )),
        _ => finding.to_do("git rm -r --cached them, and commit that"),
    })
}
