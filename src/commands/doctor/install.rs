//! Whether git finds git-locks, and man its page.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Found;
use crate::place::asking;
use crate::report::{Finding, FindingKind, Severity};
use crate::text;

/// What git looks for when it is asked for `git locks`.
const PROGRAM: &str = "git-locks";

/// Looks for git-locks as git and man do.
pub(super) fn look() -> Vec<Found> {
    let of_git = match asking::exec_path() {
        Ok(commands) => git_finds(&commands),
        Err(error) => {
            let kind = FindingKind::GitCannotFindUs;
            let finding = Finding::new(kind, Severity::Warning, error.message());
            Some(finding.to_do("install git, or put it on PATH"))
        }
    };
    of_git
        .into_iter()
        .chain(man_finds())
        .map(Found::from)
        .collect()
}

/// What is wrong with what git, whose own commands are in `commands`, finds.
fn git_finds(commands: &Path) -> Option<Finding> {
    let own = env::current_exe().ok();
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = std::iter::once(commands.to_owned()).chain(env::split_paths(&path));
    let first = directories
        .map(|directory| directory.join(PROGRAM))
        .find(|program| is_program(program));
    let Some(first) = first else {
        let what =
            "git does not find git-locks: it is neither on PATH nor beside git's own commands";
        let finding = Finding::new(FindingKind::GitCannotFindUs, Severity::Warning, what);
        let directory = own.as_deref().and_then(Path::parent);
        let finding = own.iter().fold(finding, |finding, own| finding.at(own));
        return Some(match directory.and_then(text::typed) {
            Some(directory) => finding.to_do(format!("export PATH={directory}:\"$PATH\"")),
            None => finding.to_do("put the directory that it is in on PATH"),
        });
    };
    if own.is_none_or(|own| is_same(&own, &first)) {
        return None;
    }
    let what = "git finds another git-locks than this one";
    Some(Finding::new(FindingKind::AnotherGitLocks, Severity::Note, what).at(&first))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| there.is_file() && there.permissions().mode() & 0o111 != 0)
}

fn is_same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| -> Option<PathBuf> { fs::canonicalize(path).ok() };
    real(a).is_some() && real(a) == real(b)
}

/// What is wrong with what man finds; nothing where there is no man.
fn man_finds() -> Option<Finding> {
    let status = Command::new("man")
        .args(["-w", PROGRAM])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if status.map_or(true, |status| status.success()) {
        return None;
    }
    let what = "man does not find the page of git-locks, and git help locks shows none";
    let finding = Finding::new(FindingKind::ManCannotFindUs, Severity::Note, what);
    Some(finding.to_do("git locks man --install"))
}
