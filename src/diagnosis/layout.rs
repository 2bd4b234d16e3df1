//! Where other programs may look for the locks of a repository, and we do not.
//!
//! A program that knows nothing but ordinary clones looks in the plan directory of the work tree, or of
//! the directory that holds the common directory.

use std::path::{Path, PathBuf};

use crate::report::{Finding, FindingKind, Severity};

/// The shape of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts<'a> {
    /// The common directory.
    pub common_dir: &'a Path,
    /// The root of the main checkout, where that follows from the configuration.
    pub main_root: Option<&'a Path>,
    /// Whether the configuration says that it is bare.
    pub bare: bool,
    /// Where the files stand that other programs share.
    pub base: &'a Path,
    /// Where the files stand that are only ours.
    pub ours: &'a Path,
    /// The roots of its worktrees.
    pub worktrees: &'a [PathBuf],
    /// The name of plan directories.
    pub plan_dir: &'a Path,
}

impl Facts<'_> {
    /// What is unusual about it; `None` for an ordinary clone.
    fn unusual(&self) -> Option<&'static str> {
        let ordinary = |root: &Path| root.join(".git") == self.common_dir;
        match self.main_root {
            Some(root) if !ordinary(root) && is_submodule(self.common_dir) => {
                Some("this is a submodule")
            }
            Some(root) if !ordinary(root) => Some("core.worktree names the main checkout"),
            Some(_) if self.base == self.ours => Some("locks.stateDir is common"),
            Some(_) => None,
            None if self.bare => Some("the repository is bare"),
            None => Some("the git directory stands apart from the checkout"),
        }
    }

    /// The other places where the files may be looked for.
    pub fn elsewhere(&self) -> Vec<PathBuf> {
        let roots = self.common_dir.parent().into_iter();
        let roots = roots
            .chain(self.main_root)
            .chain(self.worktrees.iter().map(PathBuf::as_path));
        let mut found: Vec<PathBuf> = Vec::new();
        for place in roots.map(|root| root.join(self.plan_dir).join("local")) {
            if place != self.base && !found.contains(&place) {
                found.push(place);
            }
        }
        found
    }
}

fn is_submodule(common_dir: &Path) -> bool {
    let mut parts = common_dir.iter();
    parts.any(|part| part == ".git") && parts.any(|part| part == "modules")
}

/// What to say of the shape of a repository.
pub fn finding(facts: &Facts<'_>) -> Option<Finding> {
    let why = facts.unusual()?;
    let what = format!(
        "{why}: its locks are kept here, where programs that know only ordinary clones do not look"
    );
    Some(Finding::new(FindingKind::Layout, Severity::Note, what).at(facts.base))
}

/// What to say of the file at `path`, a lock or a queue in another place than ours.
pub fn stray(path: &Path, base: &Path) -> Finding {
    let what = format!(
        "a lock file stands where we do not look, and keeps none of those out who go by {}",
        base.to_string_lossy()
    );
    Finding::new(FindingKind::StateElsewhere, Severity::Warning, what)
        .at(path)
        .to_do("find out which program made it, and have it use the same place, such as by PLAN_BASE_DIR")
}
