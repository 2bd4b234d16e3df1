//! Where the lock of a worktree is kept: outside it, out of reach of what works in it.
//!
//! `$CRUCIBLE_LOCK_DIR`, else `crucible-locks` in the first usable of `$TMPDIR`, `$TEMP`, `$TMP`,
//! `/tmp`, `/var/tmp` and `/usr/tmp`. A directory that somebody named is taken as it is, links and all.
//! The one in a temporary directory must be the user's own and nobody else's to change: whoever can
//! rename there can put a free lock in the place of one that is held.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::sys::file::{self, Modes};
use crate::sys::user;
use crate::text;

use super::{resolve, variable};

/// The variable that names the directory.
const VARIABLE: &str = "CRUCIBLE_LOCK_DIR";
/// What it is called in a temporary directory.
const NAME: &str = "crucible-locks";
/// The variables that name a temporary directory, the first one first.
const TEMPORARY: [&str; 3] = ["TMPDIR", "TEMP", "TMP"];
/// The temporary directories of the system.
const OF_THE_SYSTEM: [&str; 3] = ["/tmp", "/var/tmp", "/usr/tmp"];
/// Only the owner of a thing, and that of the directory, may rename it, whoever may write in there.
const STICKY: u32 = 0o1000;
/// Whom a user namespace calls the owners that it does not know: that of the system's `/tmp` among them.
const UNKNOWN_OWNER: u32 = 65534;

/// Where the lock of one worktree is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockDir {
    /// The lock file; neither it nor its directory need be there.
    pub path: PathBuf,
    /// The worktree's own resolved path, as the lock file is named after it.
    pub worktree: PathBuf,
    dir: PathBuf,
    is_named: bool,
}

impl LockDir {
    /// Where the lock of the worktree at `worktree` is, as seen from `cwd`. Changes nothing.
    ///
    /// # Errors
    /// The directory is inside the worktree, is not safe to use, or there is no place for it.
    pub fn find(cwd: &Path, worktree: &Path) -> Result<Self> {
        let named = variable(VARIABLE);
        let dir = match &named {
            Some(named) => resolve(&cwd.join(named)),
            // Its name there is not resolved: it may be no link.
            None => resolve(&temporary(cwd)?).join(NAME),
        };
        Self::at(dir, named.is_some(), &resolve(&cwd.join(worktree)))
    }

    fn at(dir: PathBuf, is_named: bool, worktree: &Path) -> Result<Self> {
        let name = text::digest(worktree.as_os_str().as_bytes(), 16);
        let found = Self {
            path: dir.join(format!("{name}.lock")),
            worktree: worktree.to_owned(),
            dir,
            is_named,
        };
        found.require_outside()?;
        if !found.is_named {
            found.require_safe()?;
        }
        Ok(found)
    }

    /// The modes of what is made there.
    pub fn modes(&self) -> Modes {
        Modes {
            // Others take part only where somebody has said so.
            file: if self.is_named { 0o644 } else { 0o600 },
            dir: 0o700,
            group: None,
        }
    }

    /// Makes the directory where it is missing, and sees that locks can be kept there.
    ///
    /// # Errors
    /// It cannot be made, is not what it was when it was found, or its file system may be shared with
    /// other machines.
    pub fn prepare(&self) -> Result<()> {
        file::make_dirs(&self.dir, self.modes()).map_err(hinted)?;
        // Somebody may have put something in its place meanwhile.
        let real =
            fs::canonicalize(&self.dir).map_err(|e| hinted(Error::io("resolve", &self.dir, &e)))?;
        if real != self.dir {
            let (shown, real) = (text::path(&self.dir), text::path(&real));
            return Err(refuse(format!("{shown} leads to {real}")));
        }
        self.require_outside()?;
        if !self.is_named {
            self.require_safe()?;
        }
        if !file::is_local(&self.dir) {
            let shown = text::path(&self.dir);
            let message = format!("{shown} is on a file system whose locks are not known to work");
            return Err(refuse(message));
        }
        Ok(())
    }

    /// Sees that it is not inside the worktree, by whatever names.
    fn require_outside(&self) -> Result<()> {
        let is_worktree = |dir: &Path| {
            dir == self.worktree || same_directory(dir, &self.worktree).unwrap_or(false)
        };
        if self.dir.ancestors().any(is_worktree) {
            let (shown, worktree) = (text::path(&self.dir), text::path(&self.worktree));
            let message = format!(
                "the lock directory {shown} is inside the worktree {worktree}, whose lock would be \
                 in reach of what works there"
            );
            let hint = format!("set {VARIABLE} to a directory outside the worktree");
            return Err(Error::new(ErrorKind::Io, message).with_hint(hint));
        }
        Ok(())
    }

    /// Sees that nobody else can put anything in its place, or in the place of what is in it.
    fn require_safe(&self) -> Result<()> {
        let Some(there) = metadata(&self.dir)? else {
            return self.require_safe_parent();
        };
        let shown = text::path(&self.dir);
        if there.is_symlink() {
            return Err(refuse(format!("{shown} is a symbolic link")));
        }
        if !there.is_dir() {
            return Err(refuse(format!("{shown} is not a directory")));
        }
        if there.uid() != user::me() {
            let owner = user::name(there.uid());
            return Err(refuse(format!("{shown} belongs to {owner}")));
        }
        if there.mode() & 0o022 != 0 {
            let mode = there.mode() & 0o7777;
            let message = format!("{shown} can be changed by others: its mode is {mode:04o}");
            return Err(refuse(message));
        }
        self.require_safe_parent()
    }

    /// Sees that nobody else can rename it.
    fn require_safe_parent(&self) -> Result<()> {
        let Some(parent) = self.dir.parent() else {
            return Ok(());
        };
        let Some(there) = metadata(parent)? else {
            return Ok(());
        };
        let sticky = there.mode() & STICKY != 0;
        let shown = text::path(parent);
        let trusted = [user::me(), 0].contains(&there.uid());
        if !(trusted || sticky && there.uid() == UNKNOWN_OWNER) {
            let owner = user::name(there.uid());
            let message = format!("the temporary directory {shown} belongs to {owner}");
            return Err(refuse(message));
        }
        if !sticky && there.mode() & 0o002 != 0 {
            let message = format!(
                "in the temporary directory {shown} everybody may rename what is another's"
            );
            return Err(refuse(message));
        }
        Ok(())
    }
}

/// The first usable temporary directory.
fn temporary(cwd: &Path) -> Result<PathBuf> {
    let named = TEMPORARY.into_iter().filter_map(variable);
    let named = named.map(|named| cwd.join(named));
    let all = named.chain(OF_THE_SYSTEM.map(PathBuf::from));
    first_usable(all).ok_or_else(|| refuse("there is no temporary directory that can be written"))
}

fn first_usable(mut dirs: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    dirs.find(|dir| dir.is_dir() && file::may_write_in(dir))
}

/// What is at `path` itself, if anything.
fn metadata(path: &Path) -> Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(there) => Ok(Some(there)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(hinted(Error::io("examine", path, &error))),
    }
}

/// Whether both are one directory: on some file systems it has many names.
fn same_directory(a: &Path, b: &Path) -> io::Result<bool> {
    let (a, b) = (fs::metadata(a)?, fs::metadata(b)?);
    Ok((a.dev(), a.ino()) == (b.dev(), b.ino()))
}

fn refuse(message: impl Into<String>) -> Error {
    hinted(Error::new(ErrorKind::Io, message))
}

fn hinted(error: Error) -> Error {
    error.with_hint(format!(
        "worktree locks are kept in a directory of your own: set {VARIABLE} to one"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    struct Ground {
        _keep: tempfile::TempDir,
        root: PathBuf,
        tree: PathBuf,
    }

    impl Ground {
        fn new() -> Self {
            let keep = tempfile::tempdir().expect("temp dir");
            let root = keep.path().canonicalize().expect("its real path");
            let tree = root.join("tree");
            fs::create_dir(&tree).expect("a worktree");
            // Another test may have lifted the umask when these were made.
            chmod(&root, 0o755);
            Self {
                _keep: keep,
                root,
                tree,
            }
        }

        fn named(&self, dir: impl AsRef<Path>) -> Result<LockDir> {
            LockDir::at(resolve(&self.root.join(dir)), true, &self.tree)
        }

        fn unnamed(&self) -> Result<LockDir> {
            LockDir::at(self.root.join(NAME), false, &self.tree)
        }

        fn mkdir(&self, name: &str, mode: u32) -> PathBuf {
            let path = self.root.join(name);
            fs::create_dir(&path).expect("a directory");
            chmod(&path, mode);
            path
        }
    }

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
    }

    fn refused(result: Result<LockDir>, words: &str) {
        let error = result.expect_err("refused");
        assert!(error.message().contains(words), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains(VARIABLE)));
        assert_eq!(error.kind(), ErrorKind::Io);
    }

    #[test]
    fn the_file_is_named_after_the_worktree() {
        let dir = LockDir::at("/nowhere-x/locks".into(), true, Path::new("/nowhere-x/r"));
        let path = dir.expect("outside").path;
        // printf %s /nowhere-x/r | sha256sum
        assert_eq!(
            path,
            Path::new("/nowhere-x/locks/4eafd26215dbb403239e9e7c01816edb.lock")
        );
    }

    #[test]
    fn inside_the_worktree_is_refused_under_any_name() {
        let ground = Ground::new();
        symlink("tree", ground.root.join("alias")).expect("symlink");
        fs::create_dir(ground.tree.join("sub")).expect("a directory");
        symlink("tree/sub", ground.root.join("deep")).expect("symlink");
        for inside in [
            "tree",
            "tree/locks",
            "tree/a/b/c",
            "alias",
            "alias/locks",
            "deep/locks",
            "deep/../locks",
            "elsewhere/../tree/locks",
        ] {
            refused(ground.named(inside), "inside the worktree");
        }
        for outside in ["locks", "tree-locks", "tree/../locks", "deep/../../locks"] {
            ground.named(outside).expect(outside);
        }
    }

    #[test]
    fn a_link_that_leads_nowhere_yet_is_not_followed_into_the_worktree() {
        let ground = Ground::new();
        let link = ground.root.join("link");
        symlink("tree/locks", &link).expect("symlink");
        let found = ground.named("link").expect("it cannot be told yet");
        found.prepare().expect_err("something is in the way");
        fs::create_dir(ground.tree.join("locks")).expect("a directory");
        let message = found.prepare().expect_err("it leads inside").to_string();
        assert!(message.contains("leads to"), "{message}");
    }

    #[test]
    fn it_is_made_closed_to_others() {
        let ground = Ground::new();
        for dir in [ground.unnamed(), ground.named("a/b")] {
            let dir = dir.expect("outside");
            dir.prepare().expect("made");
            dir.prepare().expect("there already");
            let mode = fs::metadata(&dir.dir).expect("there").mode();
            assert_eq!(mode & 0o7777, 0o700);
        }
    }

    #[test]
    fn in_a_temporary_directory_it_is_nobody_elses_to_change() {
        let ground = Ground::new();
        let there = ground.mkdir(NAME, 0o755);
        ground.unnamed().expect("fine");
        for mode in [0o775, 0o757, 0o1777] {
            chmod(&there, mode);
            refused(ground.unnamed(), "can be changed by others");
        }
        fs::remove_dir(&there).expect("removed");
        ground.mkdir("other", 0o700);
        symlink("other", &there).expect("symlink");
        refused(ground.unnamed(), "is a symbolic link");
        fs::remove_file(&there).expect("removed");
        fs::write(&there, "").expect("a file");
        refused(ground.unnamed(), "is not a directory");
    }

    #[test]
    fn it_may_become_unsafe_after_it_was_found() {
        let ground = Ground::new();
        let found = ground.unnamed().expect("fine");
        let there = ground.mkdir(NAME, 0o777);
        found.prepare().expect_err("others may write there");
        fs::remove_dir(&there).expect("removed");
        let other = ground.mkdir("other", 0o700);
        symlink(&other, &there).expect("symlink");
        found.prepare().expect_err("it is a link");
        assert_eq!(fs::read_dir(&other).expect("it").count(), 0);
    }

    #[test]
    fn a_directory_for_everybody_needs_its_sticky_bit() {
        let ground = Ground::new();
        chmod(&ground.root, 0o777);
        refused(ground.unnamed(), "everybody may rename");
        chmod(&ground.root, 0o1777);
        ground.unnamed().expect("fine");
        chmod(&ground.root, 0o775);
        ground.unnamed().expect("fine");
    }

    #[test]
    fn a_named_directory_is_taken_as_it_is() {
        let ground = Ground::new();
        let there = ground.mkdir("shared", 0o777);
        symlink("shared", ground.root.join("link")).expect("symlink");
        let found = ground.named("link").expect("fine");
        assert_eq!(found.dir, there);
        found.prepare().expect("fine");
        assert_eq!(fs::metadata(&there).expect("there").mode() & 0o777, 0o777);
    }

    #[test]
    fn the_first_usable_temporary_directory_is_taken() {
        let ground = Ground::new();
        let file = ground.root.join("file");
        fs::write(&file, "").expect("a file");
        let missing = ground.root.join("missing");
        let (a, b) = (ground.mkdir("a", 0o700), ground.mkdir("b", 0o700));
        let first = |dirs: [&PathBuf; 3]| first_usable(dirs.into_iter().cloned());
        assert_eq!(first([&missing, &file, &b]), Some(b.clone()));
        assert_eq!(first([&a, &b, &missing]), Some(a.clone()));
        assert_eq!(first([&missing, &missing, &file]), None);
        // Root may write everywhere.
        if !user::is_root() {
            chmod(&a, 0o500);
            assert_eq!(first([&a, &missing, &b]), Some(b));
            chmod(&a, 0o700);
        }
    }

    #[test]
    fn what_belongs_to_another_is_refused() {
        if !user::is_root() {
            return;
        }
        let ground = Ground::new();
        let there = ground.mkdir(NAME, 0o755);
        std::os::unix::fs::chown(&there, Some(12345), None).expect("chown");
        refused(ground.unnamed(), "belongs to user 12345");
        std::os::unix::fs::chown(&there, Some(0), None).expect("chown");
        std::os::unix::fs::chown(&ground.root, Some(12345), None).expect("chown");
        refused(ground.unnamed(), "belongs to user 12345");
        // Its owner may rename what is in it all the same.
        chmod(&ground.root, 0o1777);
        refused(ground.unnamed(), "belongs to user 12345");
        for owner in [0, UNKNOWN_OWNER] {
            std::os::unix::fs::chown(&ground.root, Some(owner), None).expect("chown");
            ground.unnamed().expect("sticky");
        }
    }
}
