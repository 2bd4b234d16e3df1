//! Where git looks for hooks, and what it knows of a remote: git's own answers.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};

use super::{Place, fallback, resolve};

/// The directory in which git looks for hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HooksDir {
    /// Where it is, with links resolved; it need not exist.
    pub path: PathBuf,
    /// Whose it is.
    pub whose: Whose,
}

/// Whose hooks stand in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The repository's own: for every checkout of it.
    Repository,
    /// The checkout's: they may be committed.
    Checkout,
    /// Somebody else's: other repositories may use them too.
    Others,
}

impl Place {
    /// Where git, started in `cwd`, looks for hooks: `core.hooksPath`, else the common dir's `hooks`.
    ///
    /// # Errors
    /// git does not say.
    pub fn hooks_dir(&self, cwd: &Path) -> Result<HooksDir> {
        let words = ["rev-parse", "--path-format=absolute", "--git-path", "hooks"];
        let output = fallback::git(&words);
        let output = output.map_err(|e| Error::io("start", Path::new("git"), &e))?;
        if !output.status.success() {
            return Err(fallback::refusal(cwd, &output));
        }
        let path = fallback::one_path(output.stdout).ok_or_else(|| {
            Error::new(ErrorKind::Io, "git does not say where it looks for hooks")
                .with_hint("git 2.31 or newer is needed for this")
        })?;
        let path = resolve(&path);
        let whose = self.whose(&path);
        Ok(HooksDir { path, whose })
    }

    fn whose(&self, path: &Path) -> Whose {
        let lies_in = |root: Option<&PathBuf>| root.is_some_and(|root| path.starts_with(root));
        let own_dir = self.checkout.as_ref().map(|checkout| &checkout.git_dir);
        let work_dir = self.checkout.as_ref().and_then(|c| c.work_dir.as_deref());
        let work_dir = work_dir.map(resolve);
        if lies_in(self.common_dir.as_ref()) || lies_in(own_dir) {
            Whose::Repository
        } else if lies_in(work_dir.as_ref()) || lies_in(self.main_root.as_ref()) {
            Whose::Checkout
        } else {
            Whose::Others
        }
    }
}

/// The branch (`refs/heads/…`) that `refs/remotes/<remote>/HEAD` stands for, where there is such a ref.
pub fn default_branch(remote: &OsStr) -> Option<Vec<u8>> {
    let prefix = [b"refs/remotes/", remote.as_bytes(), b"/"].concat();
    let head = [prefix.as_slice(), b"HEAD"].concat();
    let words = [
        OsStr::new("symbolic-ref"),
        OsStr::new("--quiet"),
        OsStr::from_bytes(&head),
    ];
    let output = fallback::git(&words).ok()?;
    let target = output.stdout.strip_suffix(b"\n")?;
    let branch = target.strip_prefix(prefix.as_slice())?;
    let found = output.status.success() && !branch.is_empty();
    found.then(|| [b"refs/heads/", branch].concat())
}
