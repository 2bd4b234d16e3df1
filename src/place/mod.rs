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

pub mod asking;
mod discovery;
mod entry;
mod fallback;
mod home;
mod hooks;
mod layout;
pub mod lock_dir;
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

pub use home::Home;
pub use hooks::{HooksDir, Whose, default_branch};
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
    /// Whether `PLAN_BASE_DIR` names the base.
    pub base_is_given: bool,
    config: UserConfig,
}

/// The checkout that the caller stands in.
#[derive(Debug)]
pub struct Checkout {
    /// The checkout's git directory, canonical.
    pub git_dir: PathBuf,
    /// The name of its admin directory when it is a linked worktree.
    pub linked_name: Option<OsString>,
    /// Its root, where it has one.
    pub work_dir: Option<PathBuf>,
}

impl Place {
    /// The place seen from `cwd`, which must be the process's current directory.
    pub fn find(cwd: &Path) -> Result<Self> {
        let plan_dir = plan_dir_name(env::var_os("PLAN_DIR_NAME").as_deref())?;
        match variable("PLAN_BASE_DIR") {
            Some(base) => Ok(Self::detached(&resolve(&cwd.join(base)), plan_dir)),
            None => Self::find_repository(cwd),
        }
    }

    /// The place of the repository that `cwd` is in, whatever `PLAN_BASE_DIR` says of its state.
    ///
    /// # Errors
    /// There is none.
    pub fn find_repository(cwd: &Path) -> Result<Self> {
        let plan_dir = plan_dir_name(env::var_os("PLAN_DIR_NAME").as_deref())?;
        Self::of_repository(discovery::find(cwd)?, cwd, plan_dir)
    }

    /// The place seen from `cwd`, outside a repository too: there, the user's home root stands in for
    /// what a repository would hold.
    ///
    /// # Errors
    /// As for [`Self::find`], but for the lack of a repository; or the home root is not ours.
    pub fn find_anywhere(cwd: &Path) -> Result<Self> {
        match Self::find(cwd) {
            // One that git refuses to open is not a lack of one.
            Err(error)
                if error.kind() == ErrorKind::NotARepository && !discovery::worth_asking(cwd) =>
            {
                let plan_dir = plan_dir_name(env::var_os("PLAN_DIR_NAME").as_deref())?;
                Ok(Self::outside(&Home::find(cwd)?, plan_dir))
            }
            found => found,
        }
    }

    /// The place seen from `cwd` as if there were no repository; none where the home root is not ours.
    pub fn without_repository(cwd: &Path) -> Option<Self> {
        let plan_dir = plan_dir_name(env::var_os("PLAN_DIR_NAME").as_deref());
        let plan_dir = plan_dir.or_else(|_| plan_dir_name(None)).ok()?;
        Some(Self::outside(&Home::find(cwd).ok()?, plan_dir))
    }

    /// The project that the caller, in `cwd`, works on, as entries of the whole machine name it.
    pub fn project_root(&self, cwd: &Path) -> PathBuf {
        let repository = self.main_root.as_ref().or(self.common_dir.as_ref());
        repository
            .cloned()
            .or_else(|| home::root_of_base(&self.base, &self.plan_dir))
            .unwrap_or_else(|| cwd.to_owned())
    }

    /// Where the plans of the caller's project are, as everybody on the machine finds them.
    pub fn project_base(&self, cwd: &Path) -> PathBuf {
        if self.base_is_given {
            return self.base.clone();
        }
        self.project_root(cwd).join(&self.plan_dir).join("local")
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
            base_is_given: true,
            config: UserConfig::without_repository(),
        }
    }

    /// No repository at all: what is kept is the user's own.
    fn outside(home: &Home, plan_dir: OsString) -> Self {
        let ours = home.ours();
        Self {
            base: ours.clone(),
            logs: ours.join("logs"),
            ours: ours.clone(),
            sharing: Sharing {
                file_mode: Home::MODES.file,
                dir_mode: Home::MODES.dir,
                group: None,
                shared: false,
            },
            base_is_given: false,
            ..Self::detached(&ours, plan_dir)
        }
    }

    /// The place of a caller outside any repository, whose home root is in `root`.
    #[cfg(test)]
    pub fn outside_for_tests(root: &Path) -> Self {
        let home = Home {
            root: root.join("home"),
        };
        Self::outside(&home, ".plan".into())
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

    /// The roots of the worktrees of the repository, resolved, the main checkout's first: those that git
    /// registers, whether they are there or not, and the caller's.
    ///
    /// # Errors
    /// The registry cannot be read.
    pub fn worktrees(&self) -> Result<Vec<PathBuf>> {
        let main = self.main_root.iter().filter(|root| root.is_dir()).cloned();
        let mut linked = Vec::new();
        if let Some(common) = &self.common_dir {
            let registry = common.join("worktrees");
            match fs::read_dir(&registry) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("read", &registry, &error)),
                Ok(entries) => {
                    for entry in entries {
                        let entry = entry.map_err(|e| Error::io("read", &registry, &e))?;
                        linked.extend(worktree_of(&entry.path()));
                    }
                }
            }
        }
        linked.sort();
        let checkout = self.checkout.as_ref();
        let own = checkout.and_then(|checkout| checkout.work_dir.as_deref());
        let mut roots: Vec<PathBuf> = Vec::new();
        for root in main.chain(linked).chain(own.map(resolve)) {
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        Ok(roots)
    }

    /// The branch that is checked out in the worktree with the root `root`; none when its `HEAD` is
    /// detached, or cannot be read.
    pub fn branch_of(&self, root: &Path) -> Option<String> {
        let own = self.checkout.as_ref();
        let own = own.filter(|checkout| checkout.work_dir.as_deref() == Some(root));
        let git_dir = own
            .map(|checkout| checkout.git_dir.clone())
            .or_else(|| git_dir_behind(&root.join(".git")))
            .or_else(|| {
                let is_main = self.main_root.as_deref() == Some(root);
                self.common_dir.clone().filter(|_| is_main)
            })?;
        discovery::branch(&git_dir)
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
            base_is_given: false,
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
mod tests;
