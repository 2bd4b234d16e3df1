//! What `--fix` may remove, and which guard stands before it.

use std::path::PathBuf;

use crate::identity::PlanId;
use crate::store::witness::Owner;

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
    /// Directories with nothing in them but each other, the innermost first.
    Shell { directories: Vec<PathBuf> },
}

impl Remedy {
    /// The guard that stands before it.
    pub fn guarded(&self) -> Guarded {
        match self {
            Self::Temporary { guarded, .. }
            | Self::Guard { guarded, .. }
            | Self::Presence { guarded, .. } => *guarded,
            Self::Witness { owner, .. } | Self::Staged { owner, .. } => match owner {
                Owner::Merge => Guarded::Merge,
                Owner::Build => Guarded::Build,
            },
            Self::Title { .. } | Self::Shell { .. } => Guarded::Nothing,
        }
    }
}
