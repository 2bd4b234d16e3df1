//! `git locks doctor` in sentences.

use super::builds::cut;
use super::{Style, quote};
use crate::report::{
    Diagnosis, Examined, Finding, FindingKind, LockName, Part, Severity, Staleness,
};
use crate::text;

pub(super) fn diagnosis(it: &Diagnosis, style: &Style) -> Vec<String> {
    let mut lines: Vec<String> = it
        .findings
        .iter()
        .flat_map(|found| finding(found, style))
        .collect();
    lines.extend(cut(&it.participants, |row| participant(row, style)));
    if it.participants.is_empty() {
        let verb = if it.findings.iter().any(hides_somebody) {
            "was seen to take"
        } else {
            "takes"
        };
        lines.push(format!(
            "Nobody {verb} part in the merge lock or the build queue."
        ));
    }
    lines.push(conclusion(it, style));
    if it.findings.iter().any(is_to_be_fixed) {
        lines.push("To remove what is nobody's: git locks doctor --fix".to_owned());
    }
    lines
}

/// Whether `--fix` would remove it.
fn is_to_be_fixed(it: &Finding) -> bool {
    it.fixable && !it.fixed
}

/// Whether somebody who takes part may not have been seen for it.
fn hides_somebody(it: &Finding) -> bool {
    matches!(
        it.kind,
        FindingKind::UnusableRepository
            | FindingKind::Unreadable
            | FindingKind::CorruptFile
            | FindingKind::HomeRoot
    )
}

/// What it is, where, and what to do about it.
fn finding(it: &Finding, style: &Style) -> Vec<String> {
    let label = match it.severity {
        _ if it.fixed => style.good("removed:"),
        Severity::Problem => style.bad("problem:"),
        Severity::Warning => style.wait("warning:"),
        Severity::Note => style.bold("note:"),
    };
    let mut lines = vec![format!("{label} {}", text::visible(&it.what))];
    let path = it.path.as_deref();
    lines.extend(path.map(|path| format!("  in {}", text::visible(path))));
    // What `--fix` is for is said once, at the end.
    let action = it.action.as_deref().filter(|_| !it.fixable);
    lines.extend(action.map(|action| format!("  next: {}", text::visible(action))));
    lines
}

/// "merge lock: alpha has it: it is there (its lease runs for another 58m)".
fn participant(it: &Examined, style: &Style) -> String {
    let name = style.name(&it.id);
    let whose = it
        .project_root
        .as_deref()
        .map(|root| format!(", of {}", quote(root)));
    let whose = whose.unwrap_or_default();
    let part = match (it.lock, it.role, it.position) {
        (LockName::Merge, Part::Holder, _) => format!("merge lock: {name} has it"),
        (LockName::Build, Part::Holder, _) => format!("build queue: {name}{whose}, has a slot"),
        (LockName::Merge, Part::Waiter, place) => {
            format!("merge lock: {name} waits{}", in_place(place))
        }
        (LockName::Build, Part::Waiter, place) => {
            format!("build queue: {name}{whose}, waits{}", in_place(place))
        }
    };
    let verdict = match it.staleness {
        Staleness::Fresh => style.good(&it.verdict),
        Staleness::Stale | Staleness::Unknown => style.wait(&it.verdict),
    };
    format!("{part}; {verdict} ({})", text::visible(&it.evidence))
}

fn in_place(place: Option<usize>) -> String {
    place.map_or_else(String::new, |place| format!(" as number {place}"))
}

fn conclusion(it: &Diagnosis, style: &Style) -> String {
    let count = it.findings.iter().filter(|found| found.needs_person());
    let removed = match it.fixed {
        0 => String::new(),
        1 => "; 1 thing was removed".to_owned(),
        more => format!("; {more} things were removed"),
    };
    match count.count() {
        0 => format!("{} nothing needs a person{removed}.", style.good("Fine:")),
        1 => format!("{} 1 thing needs a person{removed}.", style.bad("Ill:")),
        more => format!(
            "{} {more} things need a person{removed}.",
            style.bad("Ill:")
        ),
    }
}
