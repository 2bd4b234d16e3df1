//! Numbers of slots that do not agree: each caller is admitted by its own, so that the largest decides
//! how many builds run.

use std::collections::BTreeMap;
use std::path::Path;

use super::participants::Judged;
use crate::locks::build::BuildState;
use crate::report::{Finding, FindingKind, Severity};

/// How many names are given for one number.
const NAMED: usize = 3;

/// Whether the numbers that are `set` here, each with where that is, and those that the living entries of
/// the queue at `path` go by agree.
pub fn finding(
    set: &[(&str, usize)],
    state: &BuildState,
    judged: &[Judged],
    path: &Path,
) -> Option<Finding> {
    let mut by_number: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (source, number) in set {
        by_number
            .entry(*number)
            .or_default()
            .push((*source).to_owned());
    }
    let entries = state.active.iter().chain(&state.waiting);
    for (entry, judged) in entries.zip(judged) {
        let gone = judged.verdict.is_stale() || judged.verdict.orphaned;
        if let Some(record) = entry.record.known().filter(|_| !gone) {
            let names = by_number.entry(record.slots).or_default();
            names.push(format!("'{}'", entry.plan_id()));
        }
    }
    if by_number.len() < 2 {
        return None;
    }
    let numbers: Vec<String> = by_number
        .iter()
        .map(|(number, names)| format!("{number} ({})", listed(names)))
        .collect();
    let what = format!(
        "there is no agreement on the number of slots: {}; the largest decides how many build",
        numbers.join(", ")
    );
    Some(
        Finding::new(FindingKind::SlotCounts, Severity::Warning, what)
            .at(path)
            .to_do("git config --global locks.build.maxSlots N, and build.queue.max_slots in marshal.json to the same"),
    )
}

fn listed(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMED)].join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
