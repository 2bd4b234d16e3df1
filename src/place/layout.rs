//! What the common dir's own configuration says of the repository.
//!
//! Only `<common dir>/config` and, with `extensions.worktreeConfig`, `<common dir>/config.worktree`
//! are read, and of them only what stands there itself: like git, which follows no include for
//! the shape of a repository, and because an include may depend on who looks from where.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use git2::Config;

use crate::error::{Error, ErrorKind, Result};
use crate::sys::file::Modes;
use crate::text;

use super::resolve;

/// The modes of what we create, by `core.sharedRepository`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// The mode of files.
    pub file_mode: u32,
    /// The mode of directories.
    pub dir_mode: u32,
    /// The group of the common dir, when the repository is shared.
    pub group: Option<u32>,
    /// Whether the repository is shared at all.
    pub shared: bool,
}

impl Sharing {
    /// Nothing is shared.
    pub const PRIVATE: Self = Self {
        file_mode: 0o644,
        dir_mode: 0o755,
        group: None,
        shared: false,
    };

    /// As what makes files wants them.
    pub fn modes(&self) -> Modes {
        Modes {
            file: self.file_mode,
            dir: self.dir_mode,
            group: self.group,
        }
    }

    /// Shared, with files of `file_mode`.
    const fn with(file_mode: u32) -> Self {
        Self {
            file_mode,
            dir_mode: 0o2000 | file_mode | ((file_mode & 0o444) >> 2),
            group: None,
            shared: true,
        }
    }

    /// The modes that a value of `core.sharedRepository` stands for; none for a value that git
    /// does not take either.
    fn parse(value: &str) -> Option<Self> {
        match value {
            "umask" => return Some(Self::PRIVATE),
            "group" | "all" | "world" | "everybody" => return Some(Self::with(0o664)),
            _ => {}
        }
        match u32::from_str_radix(value, 8) {
            Ok(0) => Some(Self::PRIVATE),
            Ok(1 | 2) => Some(Self::with(0o664)),
            Ok(mode) if mode & 0o600 == 0o600 => Some(Self::with(mode & 0o666)),
            Ok(_) => None,
            Err(_) => {
                let shared = Config::parse_bool(value).ok()?;
                Some(if shared {
                    Self::with(0o664)
                } else {
                    Self::PRIVATE
                })
            }
        }
    }
}

/// Where `locks.stateDir` puts the shared files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StateDir {
    /// Under the main root, where there is one.
    #[default]
    MainRoot,
    /// In the common dir.
    Common,
}

/// What the configuration says.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) bare: bool,
    work_tree: Option<PathBuf>,
    shared: Option<Sharing>,
    pub(super) state_dir: StateDir,
    worktree_config: bool,
}

impl Layout {
    /// Reads the configuration of the repository at `common_dir`; `known` is its `config`, where
    /// that has been read already.
    pub(super) fn read(common_dir: &Path, known: Option<Config>) -> Result<Self> {
        let mut layout = Self::default();
        layout.add_file(&common_dir.join("config"), known)?;
        if layout.worktree_config {
            layout.add_file(&common_dir.join("config.worktree"), None)?;
        }
        Ok(layout)
    }

    /// The root of the main checkout; the same from every vantage point.
    pub(super) fn main_root(&self, common_dir: &Path) -> Option<PathBuf> {
        if self.bare {
            return None;
        }
        match &self.work_tree {
            Some(work_tree) => Some(resolve(&common_dir.join(work_tree))),
            None if common_dir.file_name()? == ".git" => common_dir.parent().map(Path::to_owned),
            None => None,
        }
    }

    /// The modes of what we create.
    pub(super) fn sharing(&self, common_dir: &Path) -> Result<Sharing> {
        let mut sharing = self.shared.unwrap_or(Sharing::PRIVATE);
        if sharing.shared {
            let metadata = fs::metadata(common_dir)
                .map_err(|source| Error::io("look at", common_dir, &source))?;
            sharing.group = Some(metadata.gid());
        }
        Ok(sharing)
    }

    fn add_file(&mut self, path: &Path, known: Option<Config>) -> Result<()> {
        // libgit2 takes an unreadable file for an empty one.
        match fs::File::open(path) {
            Ok(_) => {}
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => {
                return Err(Error::io("read", path, &source)
                    .with_hint("whoever takes part must be able to read it"));
            }
        }
        let unusable = |error: git2::Error| {
            Error::new(
                ErrorKind::Io,
                format!(
                    "cannot use {}: {}",
                    text::path(path),
                    text::visible(error.message())
                ),
            )
            .with_hint("see what `git config --list` says of it")
        };
        let config = known
            .map_or_else(|| Config::open(path), Ok)
            .map_err(unusable)?;
        let mut entries = config.entries(None).map_err(unusable)?;
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(unusable)?;
            if entry.include_depth() > 0 {
                continue;
            }
            let value = entry.has_value().then(|| entry.value_bytes());
            self.add(path, entry.name_bytes(), value)?;
        }
        Ok(())
    }

    /// Takes in one entry; a later one wins over an earlier one.
    fn add(&mut self, path: &Path, name: &[u8], value: Option<&[u8]>) -> Result<()> {
        let lossy = value.map(String::from_utf8_lossy);
        let bad = |name: &str| {
            Error::new(
                ErrorKind::Io,
                format!(
                    "{} says {name} = '{}', which makes no sense",
                    text::path(path),
                    text::visible(lossy.as_deref().unwrap_or_default())
                ),
            )
        };
        let boolean = |name: &str| match lossy.as_deref() {
            None => Ok(true),
            Some(value) => Config::parse_bool(value).map_err(|_| bad(name)),
        };
        match name {
            b"core.bare" => self.bare = boolean("core.bare")?,
            b"extensions.worktreeconfig" => {
                self.worktree_config = boolean("extensions.worktreeConfig")?;
            }
            b"core.worktree" => {
                self.work_tree = value
                    .filter(|value| !value.is_empty())
                    .map(|value| OsString::from_vec(value.to_vec()).into());
            }
            b"core.sharedrepository" => {
                let value = lossy.as_deref().unwrap_or("group");
                self.shared = Some(Sharing::parse(value).ok_or_else(|| {
                    bad("core.sharedRepository")
                        .with_hint("it is one of umask, group, all, or an octal mode such as 0660")
                })?);
            }
            b"locks.statedir" => {
                self.state_dir = match lossy.as_deref() {
                    Some("common") => StateDir::Common,
                    Some("") => StateDir::MainRoot,
                    other => {
                        return Err(Error::usage(format!(
                            "locks.stateDir is '{}'",
                            text::visible(other.unwrap_or_default())
                        ))
                        .with_hint(
                            "set it to common, or unset it: git config --unset locks.stateDir",
                        ));
                    }
                };
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(entries: &[(&str, Option<&str>)]) -> Result<Layout> {
        let mut layout = Layout::default();
        for (name, value) in entries {
            layout.add(Path::new("/c"), name.as_bytes(), value.map(str::as_bytes))?;
        }
        Ok(layout)
    }

    fn root(common_dir: &str, entries: &[(&str, Option<&str>)]) -> Option<PathBuf> {
        layout(entries).ok()?.main_root(Path::new(common_dir))
    }

    #[test]
    fn the_main_root_follows_from_the_configuration_alone() {
        let main = Some(PathBuf::from("/nowhere-x/r"));
        assert_eq!(root("/nowhere-x/r/.git", &[]), main);
        assert_eq!(
            root("/nowhere-x/r/.git", &[("core.bare", Some("false"))]),
            main
        );
        assert_eq!(root("/nowhere-x/r/.git", &[("core.bare", None)]), None);
        assert_eq!(root("/nowhere-x/r/.bare", &[]), None);
        let work_tree = ("core.worktree", Some("../../../r"));
        assert_eq!(
            root("/nowhere-x/s/.git/modules/r", &[work_tree]),
            Some("/nowhere-x/s/r".into())
        );
        assert_eq!(
            root(
                "/nowhere-x/r.git",
                &[("core.worktree", Some("/nowhere-x/r"))]
            ),
            main
        );
        assert_eq!(
            root(
                "/nowhere-x/r/.git",
                &[work_tree, ("core.bare", Some("yes"))]
            ),
            None
        );
    }

    #[test]
    fn what_makes_no_sense_is_an_error() {
        for (name, value) in [
            ("core.bare", "perhaps"),
            ("core.sharedrepository", "0400"),
            ("core.sharedrepository", "friends"),
            ("locks.statedir", "elsewhere"),
        ] {
            assert!(layout(&[(name, Some(value))]).is_err(), "{name} = {value}");
        }
    }

    #[test]
    fn sharing_is_as_git_reads_it() {
        let modes = |value: &str| Sharing::parse(value).map(|s| (s.file_mode, s.dir_mode));
        for private in ["umask", "false", "0", "no"] {
            assert_eq!(Sharing::parse(private), Some(Sharing::PRIVATE), "{private}");
        }
        for open in [
            "group",
            "true",
            "1",
            "all",
            "world",
            "everybody",
            "2",
            "0664",
        ] {
            assert_eq!(modes(open), Some((0o664, 0o2775)), "{open}");
        }
        assert_eq!(modes("0660"), Some((0o660, 0o2770)));
        assert_eq!(modes("0640"), Some((0o640, 0o2750)));
        assert_eq!(modes("0777"), Some((0o666, 0o2777)));
    }
}
