//! What git knows of one checkout, asked of git itself: its index, and refs that need be no files.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::fallback;
use crate::error::{Error, ErrorKind, Result, reason};
use crate::text;

/// What the caller's environment may say of another repository.
const OF_ANOTHER: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
];

/// The paths in the index of the checkout at `root`, whose git directory is `git_dir`, that are `paths` or
/// below one of them; relative to `root`.
///
/// # Errors
/// git cannot be asked, or cannot tell.
pub fn tracked(git_dir: &Path, root: &Path, paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut arguments: Vec<&OsStr> = ["--literal-pathspecs", "ls-files", "-z", "--"]
        .map(OsStr::new)
        .to_vec();
    arguments.extend(paths.iter().map(|path| path.as_os_str()));
    let output = git_of(git_dir, root, &arguments).map_err(|e| cannot_ask(root, &reason(&e)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or("it does not say why");
        return Err(cannot_ask(root, &text::visible(said)));
    }
    let names = output.stdout.split(|byte| *byte == 0);
    let names = names.filter(|name| !name.is_empty());
    Ok(names
        .map(|name| OsString::from_vec(name.to_vec()).into())
        .collect())
}

/// Whether the checkout at `root`, whose git directory is `git_dir`, has a ref called `name`.
///
/// # Errors
/// git cannot be asked.
pub fn has_ref(git_dir: &Path, root: &Path, name: &str) -> Result<bool> {
    let arguments = ["rev-parse", "--quiet", "--verify", name].map(OsStr::new);
    let output = git_of(git_dir, root, &arguments).map_err(|e| cannot_ask(root, &reason(&e)))?;
    Ok(output.status.success())
}

/// The names of the branches in the repository whose common git directory is `common_dir`; those that are
/// no UTF-8 are left out.
///
/// # Errors
/// git cannot be asked, or cannot tell.
pub fn branches(common_dir: &Path) -> Result<Vec<String>> {
    let arguments = ["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"].map(OsStr::new);
    let failed = |why: &str| cannot_ask(common_dir, why);
    let output = git_of(common_dir, common_dir, &arguments).map_err(|e| failed(&reason(&e)))?;
    if !output.status.success() {
        return Err(failed("it cannot list the branches"));
    }
    let names = output.stdout.split(|byte| *byte == b'\n');
    let names = names.filter_map(|name| String::from_utf8(name.to_vec()).ok());
    Ok(names.filter(|name| !name.is_empty()).collect())
}

/// Where git keeps its own commands, and looks for others before `PATH`.
///
/// # Errors
/// git cannot be started, or does not say.
pub fn exec_path() -> Result<PathBuf> {
    let here = Path::new(".");
    let output = fallback::git(&["--exec-path"]).map_err(|e| cannot_ask(here, &reason(&e)))?;
    let mut path = output.stdout;
    if path.last() == Some(&b'\n') {
        path.pop();
    }
    if path.is_empty() || !output.status.success() {
        return Err(cannot_ask(here, "it does not say where its commands are"));
    }
    Ok(OsString::from_vec(path).into())
}

fn git_of(git_dir: &Path, root: &Path, arguments: &[&OsStr]) -> io::Result<Output> {
    let mut command = Command::new("git");
    for name in OF_ANOTHER {
        command.env_remove(name);
    }
    let option = |name: &str, value: &Path| {
        let mut option = OsString::from(name);
        option.push(value);
        option
    };
    command
        .arg(option("--git-dir=", git_dir))
        .arg(option("--work-tree=", root))
        .args(arguments)
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
}

fn cannot_ask(root: &Path, why: &str) -> Error {
    let message = format!("git cannot be asked in {}: {why}", text::path(root));
    Error::new(ErrorKind::Io, message).with_hint("see what git status says there")
}
