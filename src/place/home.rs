//! The home root: where the state of the whole machine lives, one for each user.
//!
//! `$PLAN_MARSHALL_HOME`, else `~/.plan-marshall`. Whoever can write there decides who may build,
//! so it must be the user's own, and is closed to everybody else. A link to it is followed, and
//! its real path is what counts: two names are one queue. Where it is moved meanwhile and leaves a
//! link, that is followed too.

use std::ffi::OsStr;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::sys::file::{self, Modes};
use crate::sys::user;
use crate::text;

use super::{resolve, variable};

/// The variable that names the home root.
const VARIABLE: &str = "PLAN_MARSHALL_HOME";
/// What it is called in the user's home directory.
const NAME: &str = ".plan-marshall";
/// The bit of a directory in which everybody keeps things.
const STICKY: u32 = 0o1000;

/// The home root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// Its real path; it need not be there yet.
    pub root: PathBuf,
}

impl Home {
    /// The modes of what we make there: nobody else's business.
    pub const MODES: Modes = Modes {
        file: 0o600,
        dir: 0o700,
        group: None,
    };

    /// What our own directory in it is called.
    pub const OURS: &str = "git-locks";

    /// The home root of the user, as seen from `cwd`. Changes nothing.
    ///
    /// # Errors
    /// It is not ours, or no place for it.
    pub fn find(cwd: &Path) -> Result<Self> {
        let homes = homes();
        let named = variable(VARIABLE);
        let path = match (&named, homes.first()) {
            (Some(named), _) => cwd.join(named),
            (None, Some(home)) => cwd.join(home).join(NAME),
            (None, None) => {
                let message = "there is no home directory to keep the build queue in";
                return Err(refuse(message));
            }
        };
        let homes: Vec<PathBuf> = homes.iter().map(|home| resolve(&cwd.join(home))).collect();
        Self::at(&path, &homes)
    }

    /// The home root at `path`, for a user with these home directories.
    fn at(path: &Path, homes: &[PathBuf]) -> Result<Self> {
        let shown = text::path(path);
        let there = look_at(path)?;
        if let Some(link) = there.as_ref().filter(|there| there.is_symlink()) {
            require_owner(link, &[user::me(), 0], &format!("{shown} is a link that"))?;
            if fs::metadata(path).is_err() {
                return Err(refuse(format!("{shown} is a link that leads nowhere")));
            }
        }
        let root = resolve(path);
        let home = Self { root };
        if there.is_some() {
            home.require_ours()?;
        } else if user::is_root() {
            // What root makes there would be the other user's, and closed to root's own queue.
            let nearest = home.root.ancestors().find_map(|dir| fs::metadata(dir).ok());
            if let Some(nearest) = nearest {
                let what = format!("{shown} would be made in a directory that");
                require_owner(&nearest, &[0], &what)?;
            }
        }
        if homes.iter().any(|user| user.starts_with(&home.root)) {
            let message = format!("{shown} is, or holds, a home directory");
            return Err(refuse(message));
        }
        Ok(home)
    }

    /// The directory of the files that are only ours.
    pub fn ours(&self) -> PathBuf {
        self.root.join(Self::OURS)
    }

    /// Makes the home root where it is missing, and closes it to others where it is open.
    ///
    /// # Errors
    /// It cannot be made or closed, or is not ours by now.
    pub fn prepare(&self) -> Result<()> {
        if look_at(&self.root)?.is_some_and(|there| there.is_symlink()) {
            // Moved since it was found, and a link left in its place.
            let homes: Vec<_> = homes().iter().map(|home| resolve(home)).collect();
            return Self::at(&self.root, &homes)?.prepare();
        }
        file::make_dirs(&self.root, Self::MODES).map_err(hinted)?;
        let there = self.require_ours()?;
        let open = there.mode() & 0o077;
        if open == 0 {
            return Ok(());
        }
        let closed = Permissions::from_mode(Self::MODES.dir);
        fs::set_permissions(&self.root, closed)
            .map_err(|e| hinted(Error::io("close to others", &self.root, &e)))
    }

    /// Sees that it is a directory of ours, and of nobody else's use.
    fn require_ours(&self) -> Result<Metadata> {
        let shown = text::path(&self.root);
        let there = fs::symlink_metadata(&self.root)
            .map_err(|e| hinted(Error::io("examine", &self.root, &e)))?;
        if !there.is_dir() {
            return Err(refuse(format!("{shown} is not a directory")));
        }
        require_owner(&there, &[user::me()], &shown)?;
        if there.mode() & STICKY != 0 || self.root.parent().is_none() {
            return Err(refuse(format!("{shown} is a directory for everybody")));
        }
        Ok(there)
    }
}

/// The home directories of the user: what `$HOME` says, and what the system knows.
fn homes() -> Vec<PathBuf> {
    let said = variable("HOME").map(PathBuf::from);
    [said, user::home()].into_iter().flatten().collect()
}

/// What stands at `path`, which may be a link.
fn look_at(path: &Path) -> Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(there) => Ok(Some(there)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(hinted(Error::io("examine", path, &error))),
    }
}

/// Refuses what belongs to none of `owners`.
fn require_owner(there: &Metadata, owners: &[u32], what: &str) -> Result<()> {
    if owners.contains(&there.uid()) {
        return Ok(());
    }
    let owner = user::name(there.uid());
    Err(refuse(format!("{what} belongs to {owner}")))
}

fn refuse(message: impl Into<String>) -> Error {
    hinted(Error::new(ErrorKind::Io, message))
}

fn hinted(error: Error) -> Error {
    error.with_hint(format!(
        "the build queue is kept in a directory of your own: set {VARIABLE} to one"
    ))
}

/// The directory that the plan directory `base` (`<root>/<plan dir>/local`) belongs to.
pub(super) fn root_of_base(base: &Path, plan_dir: &OsStr) -> Option<PathBuf> {
    let plan = base.parent()?;
    let named = base.file_name() == Some(OsStr::new("local")) && plan.file_name() == Some(plan_dir);
    named.then(|| plan.parent().map(Path::to_owned))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct Ground {
        _keep: tempfile::TempDir,
        root: PathBuf,
    }

    impl Ground {
        fn new() -> Self {
            let keep = tempfile::tempdir().expect("temp dir");
            let root = keep.path().canonicalize().expect("its real path");
            Self { _keep: keep, root }
        }

        fn dir(&self, name: &str, mode: u32) -> PathBuf {
            let path = self.root.join(name);
            fs::create_dir(&path).expect("mkdir");
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("chmod");
            path
        }

        fn said(&self, name: &str) -> String {
            let homes = [self.root.join("user/home")];
            let refused = Home::at(&self.root.join(name), &homes).expect_err("refused");
            assert_eq!(refused.kind(), ErrorKind::Io);
            let hint = refused.hint().unwrap_or_default();
            assert!(hint.contains(VARIABLE), "{hint}");
            refused.to_string()
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").mode() & 0o7777
    }

    #[test]
    fn a_missing_one_is_made_with_its_parents_and_closed() {
        let ground = Ground::new();
        let path = ground.root.join("a/b");
        let home = Home::at(&path, &[]).expect("found");
        assert_eq!(home.root, path);
        assert!(path.symlink_metadata().is_err(), "looking makes nothing");
        home.prepare().expect("made");
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&ground.root.join("a")), 0o700);
        home.prepare().expect("again");
    }

    #[test]
    fn one_that_is_open_to_others_is_closed_only_when_it_is_prepared() {
        let ground = Ground::new();
        let path = ground.dir("open", 0o755);
        let home = Home::at(&path, &[]).expect("found");
        assert_eq!(mode(&path), 0o755);
        home.prepare().expect("closed");
        assert_eq!(mode(&path), 0o700);
        let narrow = ground.dir("narrow", 0o500);
        let home = Home::at(&narrow, &[]).expect("found");
        home.prepare().expect("left");
        assert_eq!(mode(&narrow), 0o500, "never made wider");
    }

    #[test]
    fn a_link_is_another_name_of_the_same_root() {
        let ground = Ground::new();
        let real = ground.dir("real", 0o700);
        symlink("real", ground.root.join("link")).expect("link");
        let home = Home::at(&ground.root.join("link"), &[]).expect("found");
        assert_eq!(home.root, real);
    }

    #[test]
    fn what_is_no_place_for_it_is_refused() {
        let ground = Ground::new();
        ground.dir("user", 0o755);
        ground.dir("user/home", 0o755);
        ground.dir("sticky", 0o1777);
        fs::write(ground.root.join("file"), b"").expect("write");
        symlink("nowhere", ground.root.join("dangling")).expect("link");
        assert!(ground.said("user").contains("home directory"));
        assert!(ground.said("user/home").contains("home directory"));
        assert!(ground.said("sticky").contains("for everybody"));
        assert!(ground.said("file").contains("not a directory"));
        assert!(ground.said("file/x").contains("examine"));
        assert!(ground.said("dangling").contains("leads nowhere"));
        assert!(ground.said("/").len() > 1);
    }

    #[test]
    fn what_belongs_to_somebody_else_is_refused() {
        if !user::is_root() {
            return;
        }
        let ground = Ground::new();
        let theirs = ground.dir("theirs", 0o700);
        std::os::unix::fs::chown(&theirs, Some(4242), None).expect("chown");
        assert!(ground.said("theirs").contains("belongs to"));
        assert!(ground.said("theirs/new").contains("would be made in"));
        ground.dir("real", 0o700);
        let link = ground.root.join("link");
        symlink("real", &link).expect("link");
        std::os::unix::fs::lchown(&link, Some(4242), None).expect("chown");
        assert!(ground.said("link").contains("a link that belongs to"));
    }

    #[test]
    fn a_base_belongs_to_the_directory_that_holds_the_plan_directory() {
        let root = |base: &str| root_of_base(Path::new(base), OsStr::new(".plan"));
        assert_eq!(root("/r/.plan/local"), Some("/r".into()));
        assert_eq!(root("/r/.plan/other"), None);
        assert_eq!(root("/r/plan/local"), None);
        assert_eq!(root("/local"), None);
    }
}
