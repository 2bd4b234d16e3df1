//! Holders that a person should know of: gone, not to be judged, or recovering.

use std::path::Path;

use super::participants::Judged;
use crate::identity::PlanId;
use crate::report::{Finding, FindingKind, LockName, Part, Severity, Staleness};

/// What there is to say of those that hold the lock in the file at `path`. `may_reclaim`: whether what is
/// stale is taken over automatically there.
pub fn findings(all: &[Judged], path: &Path, may_reclaim: bool) -> Vec<Finding> {
    let holders = all.iter().filter(|judged| judged.row.role == Part::Holder);
    holders
        .filter_map(|holder| finding(holder, may_reclaim))
        .map(|finding| finding.at(path))
        .collect()
}

fn finding(holder: &Judged, may_reclaim: bool) -> Option<Finding> {
    let row = &holder.row;
    let what = match row.lock {
        LockName::Merge => "the merge lock",
        LockName::Build => "a slot of the build queue",
    };
    let found = |kind, severity, rest: &str| {
        Finding::new(kind, severity, format!("'{}' has {what} {rest}", row.id))
    };
    let by_hand = |finding: Finding| match release(row.lock, &row.id) {
        Some(command) => finding.to_do(command),
        None => finding,
    };
    if holder.verdict.mid_recovery {
        return Some(by_hand(found(
            FindingKind::RecoveringHolder,
            Severity::Warning,
            "and no plan any more, though its worktree is live: bring the plan back, or release it",
        )));
    }
    match row.staleness {
        Staleness::Fresh => None,
        Staleness::Stale if may_reclaim => {
            let rest = "and is provably gone: who asks next takes its place";
            let finding = found(FindingKind::StaleHolder, Severity::Note, rest);
            Some(match row.lock {
                LockName::Merge => finding.to_do("git locks merge release --require-stale"),
                LockName::Build => finding,
            })
        }
        Staleness::Stale => {
            let rest = "and is provably gone, but nothing is taken over on this file system";
            Some(by_hand(found(
                FindingKind::StaleHolder,
                Severity::Warning,
                rest,
            )))
        }
        // An empty lock file is being made, or malformed soon.
        Staleness::Unknown if row.id.is_empty() => None,
        Staleness::Unknown => Some(by_hand(found(
            FindingKind::UnknownHolder,
            Severity::Warning,
            "and it cannot be told whether it is there: when you know that it is gone, release it",
        ))),
    }
}

/// The command that lets go of what `id` holds, where it can be typed.
fn release(lock: LockName, id: &str) -> Option<String> {
    match lock {
        LockName::Merge => PlanId::parse(id).map(|id| format!("git locks merge release --as {id}")),
        LockName::Build => {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-:".contains(c);
            (id.starts_with(|c: char| c.is_ascii_lowercase()) && id.chars().all(plain))
                .then(|| format!("git locks build release --id {id}"))
        }
    }
}
