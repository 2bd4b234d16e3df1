//! Which repository the caller means: libgit2's answer, checked, else git's.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Repository};

use crate::error::{Error, Result};
use crate::sys::file;

use super::entry::{nearest_entry, no_repository};
use super::fallback::{self, Why};
use super::user_config::{self, UserConfig};
use super::{git_dir_behind, path_from_file, variable};

/// A repository, however it was found.
pub(super) struct Found {
    /// Canonical.
    pub(super) common_dir: PathBuf,
    /// Canonical.
    pub(super) git_dir: PathBuf,
    pub(super) config: UserConfig,
}

/// The repository seen from `cwd`. (A `cwd` that is not canonical only costs a question to git.)
pub(super) fn find(cwd: &Path) -> Result<Found> {
    let why = match Repository::open_from_env() {
        Ok(repository) => match accept(repository, cwd) {
            Some(found) => return Ok(found),
            None => Why::Doubtful,
        },
        Err(error) if error.code() == ErrorCode::NotFound && !worth_asking(cwd) => {
            return Err(no_repository(cwd));
        }
        Err(error) => Why::Refused(error.class(), error.code()),
    };
    let (common_dir, git_dir) = fallback::directories(cwd, &why)?;
    Ok(Found {
        common_dir: canonical(&common_dir)?,
        git_dir: canonical(&git_dir)?,
        config: UserConfig::asking_git(),
    })
}

/// What `repository` says, unless git might mean another one.
fn accept(repository: Repository, cwd: &Path) -> Option<Found> {
    let git_dir = fs::canonicalize(repository.path()).ok()?;
    let common_dir = if repository.commondir() == repository.path() {
        git_dir.clone()
    } else {
        fs::canonicalize(repository.commondir()).ok()?
    };
    // To git an empty GIT_DIR is one that names nothing, not an unset one.
    let explicit = env::var_os("GIT_DIR");
    let trusted = variable("GIT_COMMON_DIR").is_none()
        && explicit.as_ref().is_none_or(|value| !value.is_empty())
        && head_is_sound(&git_dir)
        && common_dir_of(&git_dir)? == common_dir;
    if !trusted {
        return None;
    }
    let config = UserConfig::of_repository(repository);
    let meant = explicit.is_some()
        || match first_on_the_way(cwd, &git_dir) {
            Met::Entry => true,
            // git can be told to trust no repository that is not behind a `.git`.
            Met::Itself => config
                .get(user_config::BARE)
                .is_none_or(|value| value == "all"),
            Met::Other => false,
        };
    meant.then_some(Found {
        common_dir,
        git_dir,
        config,
    })
}

/// What lies first on the way up from the caller.
enum Met {
    /// A `.git` that leads to the repository.
    Entry,
    /// The repository's own directory: bare, or the caller stands inside a `.git`.
    Itself,
    /// Something else, or something that cannot be judged from here.
    Other,
}

/// Looks up from `cwd` for what git would meet first.
fn first_on_the_way(cwd: &Path, git_dir: &Path) -> Met {
    let bounded = variable("GIT_CEILING_DIRECTORIES").is_some()
        || variable("GIT_DISCOVERY_ACROSS_FILESYSTEM").is_some();
    for dir in cwd.ancestors() {
        // Where the search ends is git's to say.
        if bounded && dir != cwd {
            return Met::Other;
        }
        let entry = dir.join(".git");
        match fs::symlink_metadata(&entry) {
            Ok(_) if git_dir_behind(&entry).is_some_and(|found| found == git_dir) => {
                return Met::Entry;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(_) | Err(_) => return Met::Other,
        }
        if dir == git_dir {
            return Met::Itself;
        }
    }
    Met::Other
}

/// The common dir by `git_dir`'s own `commondir` file; libgit2 drops spaces at its end.
fn common_dir_of(git_dir: &Path) -> Option<PathBuf> {
    match fs::read(git_dir.join("commondir")) {
        Ok(content) => fs::canonicalize(git_dir.join(path_from_file(&content)?)).ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(git_dir.to_owned()),
        Err(_) => None,
    }
}

/// Whether `HEAD` is such that git takes the directory for a repository; libgit2 only asks
/// that there is one.
fn head_is_sound(git_dir: &Path) -> bool {
    let path = git_dir.join("HEAD");
    if fs::read_link(&path).is_ok_and(|target| target.starts_with("refs")) {
        return true;
    }
    let mut content = Vec::with_capacity(256);
    File::open(path).is_ok_and(|file| file.take(256).read_to_end(&mut content).is_ok())
        && head_content_is_sound(&content)
}

fn head_content_is_sound(content: &[u8]) -> bool {
    match content.strip_prefix(b"ref:") {
        Some(target) => target.trim_ascii_start().starts_with(b"refs/"),
        None => content.len() >= 40 && content[..40].iter().all(u8::is_ascii_hexdigit),
    }
}

/// The branch that the `HEAD` of `git_dir` names, whether it is born or not.
pub(super) fn branch(git_dir: &Path) -> Option<String> {
    /// No name of a branch is nearly as long, in bytes.
    const LIMIT: u64 = 8192;
    let path = git_dir.join("HEAD");
    if let Ok(target) = fs::read_link(&path) {
        return branch_of_ref(target.as_os_str().as_bytes());
    }
    let content = file::read(&path, LIMIT).ok()??.bytes;
    let whole = content.len() as u64 <= LIMIT;
    branch_of_ref(
        content
            .strip_prefix(b"ref:")
            .filter(|_| whole)?
            .trim_ascii(),
    )
}

fn branch_of_ref(name: &[u8]) -> Option<String> {
    let branch = name.strip_prefix(b"refs/heads/")?;
    // Where references are kept in tables, git leaves this in `HEAD`.
    let told = !branch.is_empty() && branch != b".invalid";
    told.then(|| String::from_utf8_lossy(branch).into_owned())
}

/// Whether git, which libgit2 found nothing for, may find something or say more.
pub(super) fn worth_asking(cwd: &Path) -> bool {
    let given = ["GIT_DIR", "GIT_COMMON_DIR"]
        .iter()
        .any(|name| env::var_os(name).is_some());
    given
        || cwd.ancestors().any(|dir| {
            [".git", "HEAD"].iter().any(|name| {
                fs::symlink_metadata(dir.join(name))
                    .map_or_else(|error| error.kind() != io::ErrorKind::NotFound, |_| true)
            })
        })
}

/// The directory around `cwd` whose `.git` leads to `git_dir`.
pub(super) fn root_around(cwd: &Path, git_dir: &Path) -> Option<PathBuf> {
    let entry = nearest_entry(cwd)?;
    (git_dir_behind(&entry)? == git_dir).then(|| entry.parent().map(Path::to_owned))?
}

fn canonical(path: &Path) -> Result<PathBuf> {
    fs::canonicalize(path).map_err(|source| Error::io("resolve", path, &source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_takes_only_a_sound_head() {
        assert!(head_content_is_sound(b"ref: refs/heads/main\n"));
        assert!(head_content_is_sound(b"ref:\t refs/heads/.invalid\n"));
        assert!(head_content_is_sound(&[b'a'; 40]));
        assert!(head_content_is_sound(&[b'0'; 64]));
        assert!(!head_content_is_sound(b""));
        assert!(!head_content_is_sound(b"ref: heads/main\n"));
        assert!(!head_content_is_sound(&[b'a'; 39]));
        assert!(!head_content_is_sound(&[b'g'; 40]));
    }

    #[test]
    fn a_branch_is_what_head_names() {
        let dir = tempfile::tempdir().expect("temp dir");
        let head = dir.path().join("HEAD");
        let long = format!("ref: refs/heads/{}\n", "x".repeat(9000));
        for (content, expected) in [
            ("ref: refs/heads/main\n", Some("main")),
            ("ref:\trefs/heads/a/b", Some("a/b")),
            ("ref: refs/heads/.invalid\n", None),
            ("ref: refs/heads/\n", None),
            ("ref: refs/bisect/x\n", None),
            ("1234567890123456789012345678901234567890\n", None),
            ("", None),
            (&long, None),
        ] {
            fs::write(&head, content).expect("write");
            assert_eq!(branch(dir.path()).as_deref(), expected, "{content:?}");
        }
        fs::remove_file(&head).expect("remove");
        assert_eq!(branch(dir.path()), None);
        std::os::unix::fs::symlink("refs/heads/old", &head).expect("symlink");
        assert_eq!(branch(dir.path()).as_deref(), Some("old"));
    }
}
