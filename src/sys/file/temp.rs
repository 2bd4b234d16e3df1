//! Files written whole under a temporary name, then given their own.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::libc;

use super::dirs::own;
use super::{Instance, Modes, denied};
use crate::error::{Error, Result};
use crate::sys::clock;

/// Temporary files of ours start and end so; nothing else does.
const TEMP_PREFIX: &str = ".git-locks-";
const TEMP_SUFFIX: &str = ".tmp";
/// How old a temporary file must be before it is taken for a dead process's, in seconds.
pub(super) const TEMP_AGE: f64 = 3600.0;

/// A file that holds `bytes` and has no name, to be read from its beginning: for another program's
/// standard input.
pub fn unnamed(bytes: &[u8]) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// A file written whole under a temporary name; removed when dropped.
#[derive(Debug)]
#[must_use = "dropped, the file is gone"]
pub struct Temp {
    file: tempfile::NamedTempFile,
}

impl Temp {
    /// Writes `bytes` into a uniquely named file in `directory`.
    ///
    /// With `sync`, the bytes are on the disk before this returns.
    pub fn write(directory: &Path, bytes: &[u8], modes: Modes, sync: bool) -> Result<Self> {
        let fail = |e: io::Error| denied(Error::io("write in", directory, &e), directory, &e);
        // tempfile's own error hides the system's number; the name is its business, the opening ours.
        let cause = Cell::new(None);
        let opened = tempfile::Builder::new()
            .prefix(TEMP_PREFIX)
            .suffix(TEMP_SUFFIX)
            .rand_bytes(12)
            .make_in(directory, |path| {
                let opened = OpenOptions::new()
                    .read(true)
                    .write(true)
                    .create_new(true)
                    .mode(modes.file)
                    .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
                    .open(path);
                opened.inspect_err(|error| cause.set(error.raw_os_error()))
            });
        let mut file = opened
            .map_err(|error| fail(cause.get().map_or(error, io::Error::from_raw_os_error)))?;
        own(file.as_file(), file.path(), modes);
        file.as_file_mut().write_all(bytes).map_err(fail)?;
        if sync {
            file.as_file().sync_data().map_err(fail)?;
        }
        Ok(Self { file })
    }

    /// The bare name of the temporary file.
    pub fn name(&self) -> String {
        let name = self.file.path().file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// From now on the file stays when it does not get its final name, as after a crash.
    pub fn keep(&mut self) {
        self.file.disable_cleanup(true);
    }

    /// Sets the modification time to a whole microsecond and returns it in nanoseconds, so that
    /// it can be recorded before the file has its final name.
    pub fn stamp(&self) -> Result<i64> {
        #[expect(clippy::cast_possible_truncation, reason = "fits until the year 2262")]
        let ns = (clock::wall() * 1e6) as i64 * 1000;
        let after = Duration::from_nanos(u64::try_from(ns).unwrap_or(0));
        let time = UNIX_EPOCH
            .checked_add(after)
            .unwrap_or_else(SystemTime::now);
        self.file
            .as_file()
            .set_modified(time)
            .map_err(|e| Error::io("write", self.file.path(), &e))?;
        Ok(ns)
    }

    /// Gives the file its final name where nothing has it yet, keeping nothing under the
    /// temporary one. `None` when the name is taken.
    pub fn create(mut self, path: &Path) -> Result<Option<Instance>> {
        let fail = |e: &io::Error| denied(Error::io("create", path, e), path, e);
        match std::fs::hard_link(self.file.path(), path) {
            Ok(()) => {
                self.file.disable_cleanup(false);
                let made = Instance::of(self.file.as_file()).map_err(|e| fail(&e))?;
                Ok(Some(made))
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(e) if links_unsupported(&e) => self.create_unlinked(path),
            Err(e) => Err(fail(&e)),
        }
    }

    /// Exclusive creation where hard links are not supported.
    fn create_unlinked(mut self, path: &Path) -> Result<Option<Instance>> {
        let fail = |e: &io::Error| Error::io("create", path, e);
        let source = self.file.as_file_mut();
        let metadata = source.metadata().map_err(|e| fail(&e))?;
        let mut bytes = Vec::new();
        source.rewind().map_err(|e| fail(&e))?;
        source.read_to_end(&mut bytes).map_err(|e| fail(&e))?;
        let opened = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(metadata.mode() & 0o7777)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(path);
        let mut file = match opened {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            Err(e) => return Err(fail(&e)),
        };
        let written = file
            .write_all(&bytes)
            .and_then(|()| metadata.modified())
            .and_then(|modified| file.set_modified(modified))
            .and_then(|()| Instance::of(&file));
        match written {
            Ok(made) => {
                self.file.disable_cleanup(false);
                Ok(Some(made))
            }
            Err(e) => {
                // Half of a file must not stand for a whole one.
                let _ = std::fs::remove_file(path);
                Err(fail(&e))
            }
        }
    }

    /// Puts the file in the place of whatever stands at `path`.
    pub fn replace(self, path: &Path) -> Result<Instance> {
        let fail = |e: &io::Error| denied(Error::io("replace", path, e), path, e);
        let file = self.file.persist(path).map_err(|e| fail(&e.error))?;
        Instance::of(&file).map_err(|e| fail(&e))
    }
}

fn links_unsupported(error: &io::Error) -> bool {
    let number = Errno::from_raw(error.raw_os_error().unwrap_or(0));
    matches!(
        number,
        Errno::EPERM | Errno::EOPNOTSUPP | Errno::ENOSYS | Errno::EMLINK
    )
}

/// Removes temporary files of ours in `directory` that are older than an hour. Best effort.
pub fn sweep(directory: &Path, now: f64) {
    for left in left_behind(directory, now).unwrap_or_default() {
        let _ = std::fs::remove_file(left);
    }
}

/// The temporary files of ours in `directory` that are older than an hour, in order of their names; none
/// where there is no such directory. `now` is in seconds since the epoch.
///
/// # Errors
/// The directory cannot be read.
pub fn left_behind(directory: &Path, now: f64) -> Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", directory, &error)),
    };
    let temps = entries
        .flatten()
        .filter(|entry| is_temp_name(&entry.file_name()));
    let paths = temps.map(|entry| entry.path());
    let mut left: Vec<PathBuf> = paths.filter(|path| is_file_left(path, now)).collect();
    left.sort();
    Ok(left)
}

/// Whether a temporary file of ours that is older than an hour is at `path`, and neither a link nor a
/// directory.
pub fn is_file_left(path: &Path, now: f64) -> bool {
    path.file_name().is_some_and(is_temp_name)
        && std::fs::symlink_metadata(path).is_ok_and(|there| there.is_file())
        && is_left_behind(path, now)
}

/// Whether what has a temporary name of ours is so old that no process that lives is at it.
pub fn is_left_behind(path: &Path, now: f64) -> bool {
    super::instance(path)
        .is_ok_and(|there| there.is_some_and(|there| now - there.mtime() > TEMP_AGE))
}

/// Whether `name` is that of a temporary file of ours.
pub fn is_temp_name(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(TEMP_PREFIX.as_bytes()) && name.ends_with(TEMP_SUFFIX.as_bytes())
}
