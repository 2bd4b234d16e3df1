//! What git has under way in the main checkout: whoever merges next would meet it.

use std::path::Path;

use super::participants::Judged;
use crate::report::{Finding, FindingKind, Part, Severity, Staleness};

/// Something that git begins with one call and ends with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `git merge`
    Merge,
    /// `git rebase`
    Rebase,
    /// `git am`
    Am,
    /// `git cherry-pick`
    CherryPick,
    /// `git revert`
    Revert,
    /// `git bisect`
    Bisect,
}

impl Operation {
    /// What tells of each, by its path in the git directory of the checkout. A bisection may have another
    /// inside of it; of the others the first is the one that is under way, and what follows is its own.
    pub const SIGNS: [(&'static str, Self); 8] = [
        ("rebase-merge", Self::Rebase),
        ("rebase-apply/applying", Self::Am),
        ("rebase-apply", Self::Rebase),
        ("MERGE_HEAD", Self::Merge),
        ("CHERRY_PICK_HEAD", Self::CherryPick),
        ("REVERT_HEAD", Self::Revert),
        (Self::SEQUENCE, Self::CherryPick),
        ("BISECT_LOG", Self::Bisect),
    ];

    /// What is left of several picks or reverts between two of them, such as after the one that did not
    /// apply was committed by hand.
    pub const SEQUENCE: &'static str = "sequencer";

    /// Which of the two a sequence is whose list of what is to be done begins with `todo`. What does not
    /// say counts as picks: git ends both in the same way.
    pub fn of_sequence(todo: &[u8]) -> Self {
        let todo = todo.trim_ascii_start();
        match todo.strip_prefix(b"revert") {
            Some([b' ' | b'\t', ..]) => Self::Revert,
            _ => Self::CherryPick,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::Am => "am",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
            Self::Bisect => "bisect",
        }
    }

    fn ends_with(self) -> &'static str {
        match self {
            Self::Bisect => "reset",
            _ => "--abort",
        }
    }
}

/// What to say of an operation that is under way in the checkout at `root`, and of which `sign` tells;
/// `merging` are those who take part in the merge lock.
pub fn finding(operation: Operation, sign: &Path, root: &str, merging: &[Judged]) -> Finding {
    let name = operation.name();
    let holder = merging
        .iter()
        .find(|judged| judged.row.role == Part::Holder && judged.row.staleness == Staleness::Fresh);
    let (severity, whose) = match holder {
        Some(holder) => (
            Severity::Note,
            format!("'{}' has the merge lock, and may be at it", holder.row.id),
        ),
        None => (
            Severity::Warning,
            "nobody who is there has the merge lock".to_owned(),
        ),
    };
    let article = if operation == Operation::Am {
        "an"
    } else {
        "a"
    };
    let what = format!("{article} {name} is unfinished in the main checkout; {whose}");
    let finding = Finding::new(FindingKind::UnfinishedOperation, severity, what).at(sign);
    if severity == Severity::Note {
        return finding;
    }
    let abort = format!("git -C {root} {name} {}", operation.ends_with());
    finding.to_do(match operation {
        Operation::Bisect => abort,
        _ => format!("git -C {root} {name} --continue, or {abort}"),
    })
}
