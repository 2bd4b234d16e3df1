//! Where state lives: the one place that every vantage point of a repository agrees on.
//!
//! 1. The common dir is libgit2's answer when nothing speaks against it, else git's own
//!    (`fallback`). libgit2 refuses repositories that git opens (newer extensions, some owners)
//!    and, where a `.git` cannot be used, may walk past it to another repository.
//! 2. The main root follows from the common dir's own configuration and from nothing of the
//!    caller's position (`layout`).
//! 3. `<base>` is `$PLAN_BASE_DIR`; else `<main root>/.plan/local`; else, and with
//!    `locks.stateDir = common`, `<common dir>/git-locks`.
//!
//! git2 lives in this module only.

mod discovery;
mod entry;
mod fallback;
mod layout;
mod user_config;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::text;

use discovery::Found;
use layout::{Layout, StateDir};
use user_config::UserConfig;

pub use layout::Sharing;

/// Where state lives, and from where the caller looks at it.
#[derive(Debug)]
pub struct Place {
    /// The repository's common dir, canonical; none under `PLAN_BASE_DIR`.
    pub common_dir: Option<PathBuf>,
    /// The root of the main checkout, where the repository has one.
    pub main_root: Option<PathBuf>,
    /// The directory of the files that other programs share.
    pub base: PathBuf,
    /// The name of plan directories: `.plan`, unless `PLAN_DIR_NAME` renames it.
    pub plan_dir: OsString,
    /// The directory of the files that are only ours.
    pub ours: PathBuf,
    /// The directory of the timeline.
    pub logs: PathBuf,
    /// Where the caller stands; none under `PLAN_BASE_DIR`.
    pub checkout: Option<Checkout>,
    /// The modes of what we create.
    pub sharing: Sharing,
    config: UserConfig,
}

/// The checkout that the caller stands in.
#[derive(Debug)]
pub struct Checkout {
    /// The checkout's git directory, canonical.
    pub git_dir: PathBuf,
    /// The name of its admin directory when it is a linked worktree.
    pub linked_name: Option<OsString>,
    /// Its root, for messages only.
    pub work_dir: Option<PathBuf>,
}

impl Place {
    /// The place seen from `cwd`, which must be the process's current directory.
    pub fn find(cwd: &Path) -> Result<Self> {
        let plan_dir = plan_dir_name(env::var_os("PLAN_DIR_NAME").as_deref())?;
        match variable("PLAN_BASE_DIR") {
            Some(base) => Ok(Self::detached(&resolve(&cwd.join(base)), plan_dir)),
            None => Self::of_repository(discovery::find(cwd)?, cwd, plan_dir),
        }
    }

    /// The value of `key` (`section.name`) in the user's git configuration, as the innermost
    /// level that has it says; `true` for a key without a value.
    pub fn config(&self, key: &str) -> Option<String> {
        self.config.get(key)
    }

    /// State in `base`, with no repository.
    fn detached(base: &Path, plan_dir: OsString) -> Self {
        Self {
            common_dir: None,
            main_root: None,
            base: base.to_owned(),
            plan_dir,
            ours: base.join("git-locks"),
            logs: base.parent().unwrap_or(base).join("logs"),
            checkout: None,
            sharing: Sharing::PRIVATE,
            config: UserConfig::without_repository(),
        }
    }

    /// A digest of the checkout that the caller stands in: the same from wherever in it, and
    /// after it has moved.
    pub fn checkout_digest(&self) -> Option<String> {
        let git_dir = &self.checkout.as_ref()?.git_dir;
        let name = git_dir
            .strip_prefix(self.common_dir.as_ref()?)
            .unwrap_or(git_dir);
        Some(text::digest(name.as_os_str().as_bytes(), 8))
    }

    /// Fails where the repository is not there any more, moved or removed: nothing is to be made
    /// anew in its old place, where it would pass for a repository whose lock is free.
    ///
    /// # Errors
    /// It is not there.
    pub fn require_repository(&self) -> Result<()> {
        let Some(common) = &self.common_dir else {
            return Ok(());
        };
        // While it is being removed, this goes before the directory does.
        let head = common.join("HEAD").symlink_metadata();
        let gone = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
        match head {
            Err(error) if gone.contains(&error.kind()) => {
                let message = format!(
                    "the repository {} is not there any more",
                    text::path(common)
                );
                Err(Error::new(ErrorKind::NotARepository, message)
                    .with_hint("if it was moved, try again where it is now"))
            }
            _ => Ok(()),
        }
    }

    fn of_repository(found: Found, cwd: &Path, plan_dir: OsString) -> Result<Self> {
        let layout = Layout::read(&found.common_dir, found.config.local())?;
        let main_root = layout.main_root(&found.common_dir);
        let ours = found.common_dir.join("git-locks");
        let (base, logs) = match &main_root {
            Some(root) if layout.state_dir == StateDir::MainRoot => {
                let plan = root.join(&plan_dir);
                (plan.join("local"), plan.join("logs"))
            }
            _ => (ours.clone(), ours.join("logs")),
        };
        let linked_name = linked_name(&found.common_dir, &found.git_dir);
        let work_dir = match (variable("GIT_WORK_TREE"), &linked_name) {
            (Some(given), _) => Some(resolve(&cwd.join(given))),
            // The admin directory's own word is out of date when the worktree was moved by hand.
            (None, Some(_)) => {
                discovery::root_around(cwd, &found.git_dir).or_else(|| worktree_of(&found.git_dir))
            }
            (None, None) if layout.bare => None,
            (None, None) => main_root
                .clone()
                .or_else(|| discovery::root_around(cwd, &found.git_dir)),
        };
        Ok(Self {
            sharing: layout.sharing(&found.common_dir)?,
            main_root,
            base,
            plan_dir,
            ours,
            logs,
            checkout: Some(Checkout {
                git_dir: found.git_dir,
                linked_name,
                work_dir,
            }),
            common_dir: Some(found.common_dir),
            config: found.config,
        })
    }
}

/// The current directory, or an error of its own when it was deleted.
pub fn current_dir() -> Result<PathBuf> {
    env::current_dir().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => {
            Error::new(ErrorKind::Io, "the current directory no longer exists")
                .with_hint("go to a directory that exists, or name one with -C DIR")
        }
        _ => Error::io("resolve", Path::new("."), &source),
    })
}

/// The root of the linked worktree whose admin directory is `git_dir`, as its `gitdir` file
/// says; it need not exist. None when there is no such file or it says something else.
pub fn worktree_of(git_dir: &Path) -> Option<PathBuf> {
    let content = fs::read(git_dir.join("gitdir")).ok()?;
    let link = git_dir.join(path_from_file(&content)?);
    (link.file_name()? == ".git").then(|| link.parent().map(resolve))?
}

/// The git directory that the `.git` entry `entry` (a directory or a file) leads to, canonical.
pub fn git_dir_behind(entry: &Path) -> Option<PathBuf> {
    let kind = fs::metadata(entry).ok()?;
    if kind.is_dir() {
        return fs::canonicalize(entry).ok();
    }
    if !kind.is_file() || kind.len() > 1 << 20 {
        return None;
    }
    let content = fs::read(entry).ok()?;
    let target = path_from_file(content.strip_prefix(b"gitdir: ")?)?;
    // A relative link counts from where the entry stands, not from what it may be a link to.
    fs::canonicalize(entry.parent()?.join(target)).ok()
}

/// A path kept in a file: its bytes without the newlines at the end.
fn path_from_file(content: &[u8]) -> Option<PathBuf> {
    let end = content.iter().rposition(|byte| !b"\r\n".contains(byte))?;
    Some(OsString::from_vec(content[..=end].to_vec()).into())
}

/// The admin directory's name when `git_dir` is `<common dir>/worktrees/<name>`.
fn linked_name(common_dir: &Path, git_dir: &Path) -> Option<OsString> {
    (git_dir.parent()? == common_dir.join("worktrees"))
        .then(|| git_dir.file_name().map(OsStr::to_owned))?
}

/// An environment variable that is set to something.
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// The name of the plan directory: `.plan`, or what `PLAN_DIR_NAME` says.
fn plan_dir_name(given: Option<&OsStr>) -> Result<OsString> {
    let Some(name) = given.filter(|name| !name.is_empty()) else {
        return Ok(".plan".into());
    };
    let mut components = Path::new(name).components();
    let single = matches!(
        (components.next(), components.next()),
        (Some(Component::Normal(only)), None) if only == name
    );
    if single && !name.as_bytes().eq_ignore_ascii_case(b".git") {
        return Ok(name.to_owned());
    }
    Err(Error::usage(format!(
        "PLAN_DIR_NAME is {}, which is not a directory name",
        text::path(Path::new(name))
    ))
    .with_hint("unset it, or set it to one plain name such as .plan"))
}

/// `path` with symbolic links, `.` and `..` resolved as far as it exists, and lexically beyond.
pub fn resolve(path: &Path) -> PathBuf {
    if let Ok(canonical) = fs::canonicalize(path) {
        return canonical;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => resolve(parent).join(name),
        _ => clean(path),
    }
}

/// `path` without `.` and `..`, by the letters alone.
fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                cleaned.pop();
            }
            other => cleaned.push(other),
        }
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_a_file_may_hold_anything_but_final_newlines() {
        let read = |bytes: &[u8]| path_from_file(bytes).map(|p| p.into_os_string().into_vec());
        assert_eq!(read(b"/a b\xff\n c \n"), Some(b"/a b\xff\n c ".to_vec()));
        assert_eq!(read(b"/a\r\n\n"), Some(b"/a".to_vec()));
        assert_eq!(read(b"\n"), None);
        assert_eq!(read(b""), None);
    }

    #[test]
    fn only_an_admin_directory_has_a_name() {
        let name = |git_dir: &str| linked_name(Path::new("/r/.git"), Path::new(git_dir));
        assert_eq!(name("/r/.git/worktrees/x"), Some("x".into()));
        assert_eq!(name("/r/.git"), None);
        assert_eq!(name("/r/.git/worktrees/x/y"), None);
    }

    #[test]
    fn the_plan_directory_is_one_plain_name() {
        let name = |given: &str| plan_dir_name(Some(OsStr::new(given))).ok();
        assert_eq!(plan_dir_name(None).ok(), Some(".plan".into()));
        assert_eq!(name(""), Some(".plan".into()));
        assert_eq!(name(".work"), Some(".work".into()));
        for bad in ["a/b", "..", ".", "/", "a/", "/a", ".git", ".GIT"] {
            assert_eq!(name(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_does_not_exist_is_resolved_by_the_letters() {
        assert_eq!(clean(Path::new("/a/./b/../c//d")), Path::new("/a/c/d"));
        assert_eq!(clean(Path::new("/../a")), Path::new("/a"));
        assert_eq!(
            resolve(Path::new("/nowhere-x/a/../b")),
            Path::new("/nowhere-x/b")
        );
    }
}
