//! Files, as a lock must treat them: never follow, never wait, never half-write.
//!
//! State files are opened `O_CLOEXEC|O_NOFOLLOW|O_NONBLOCK` and must be regular files: a
//! symlink, FIFO, socket or directory in a state file's place is an error that names it. What
//! is written goes whole into a uniquely named temporary file in the same directory, which is
//! then linked (exclusive creation) or renamed (replacement) into place.

mod dirs;
mod temp;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use nix::errno::Errno;
use nix::libc;

use crate::error::{Error, ErrorKind, Result};
use crate::sys::user;
use crate::text;

use dirs::unmasked;

pub use dirs::{is_local, make_dirs, may_write_in, modes_of_umask, own, set_dir_mode};
pub use temp::{Temp, is_file_left, is_left_behind, is_temp_name, left_behind, sweep, unnamed};

/// How what we make may be used by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// Permission bits of files, set whatever the umask.
    pub file: u32,
    /// Permission bits of directories, set whatever the umask.
    pub dir: u32,
    /// The group that what we make is given, where it is shared.
    pub group: Option<u32>,
}

/// Which file it was that was read: a replaced file has another instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    dev: u64,
    ino: u64,
    /// Modification time in nanoseconds since the Unix epoch.
    pub mtime_ns: i64,
    /// Its length in bytes.
    pub size: u64,
    /// The owner.
    pub uid: u32,
}

impl Instance {
    /// Which file an open one is.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self::from_metadata(&file.metadata()?))
    }

    fn from_metadata(metadata: &std::fs::Metadata) -> Self {
        Self {
            dev: metadata.dev(),
            ino: metadata.ino(),
            mtime_ns: metadata
                .mtime()
                .saturating_mul(1_000_000_000)
                .saturating_add(metadata.mtime_nsec()),
            size: metadata.size(),
            uid: metadata.uid(),
        }
    }

    /// Modification time in seconds since the Unix epoch.
    pub fn mtime(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "sub-microsecond")]
        let seconds = self.mtime_ns as f64 / 1e9;
        seconds
    }

    /// Whether both are the same file, whatever has been written to it.
    pub fn same_file(&self, other: &Self) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }
}

/// The content of a state file and which file it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// At most the limit that was asked for, and one byte more where there was more.
    pub bytes: Vec<u8>,
    /// Which file this is the content of.
    pub instance: Instance,
}

/// Opens a state file for reading; `None` when there is none.
///
/// # Errors
/// Not a regular file, or not readable.
pub fn open(path: &Path) -> Result<Option<File>> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path);
    match opened {
        Ok(file) => {
            require_regular(&file, path)?;
            Ok(Some(file))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot_open(path, &error)),
    }
}

fn require_regular(file: &File, path: &Path) -> Result<()> {
    let metadata = file
        .metadata()
        .map_err(|e| Error::io("examine", path, &e))?;
    if metadata.file_type().is_file() {
        Ok(())
    } else {
        Err(wrong_type(path, metadata.file_type()))
    }
}

/// Why a state file could not be opened, in words that name what is in its place.
fn cannot_open(path: &Path, error: &io::Error) -> Error {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.file_type().is_file() => wrong_type(path, metadata.file_type()),
        _ => denied(Error::io("open", path, error), path, error),
    }
}

/// The command that moves what is in the way aside, where it can be typed.
pub fn aside_hint(path: &Path) -> String {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".aside");
    match (text::typed(path), text::typed(Path::new(&aside))) {
        (Some(path), Some(aside)) => {
            format!("look at it, then move it away: mv {path} {aside}")
        }
        _ => "look at it, then move it away".to_owned(),
    }
}

fn wrong_type(path: &Path, kind: std::fs::FileType) -> Error {
    use std::os::unix::fs::FileTypeExt as _;
    let what = if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Error::new(
        ErrorKind::Io,
        format!(
            "{} should be a regular file, but is {what}",
            text::path(path)
        ),
    )
    .with_hint(aside_hint(path))
}

/// The error of a write to `path` that a full disk prevented.
pub fn out_of_space(path: &Path) -> Error {
    Error::io("write", path, &io::Error::from(io::ErrorKind::StorageFull))
}

/// Adds who owns `path` (or its directory) to an error about missing permission.
pub fn denied(error: Error, path: &Path, source: &io::Error) -> Error {
    if source.kind() != io::ErrorKind::PermissionDenied {
        return error;
    }
    let nearest = path.ancestors().find_map(|p| std::fs::metadata(p).ok());
    match nearest {
        Some(metadata) if metadata.uid() != user::me() => error.with_hint(format!(
            "it belongs to {}; to share this clone, its owner runs: git config core.sharedRepository group",
            user::name(metadata.uid())
        )),
        _ => error,
    }
}

/// Reads a state file, at most `limit` bytes and one more; `None` when there is none.
///
/// # Errors
/// Not a regular file, or not readable.
pub fn read(path: &Path, limit: u64) -> Result<Option<Content>> {
    let Some(file) = open(path)? else {
        return Ok(None);
    };
    let fail = |e: io::Error| Error::io("read", path, &e);
    let instance = Instance::of(&file).map_err(fail)?;
    let expected = usize::try_from(instance.size.min(limit)).unwrap_or(0);
    let mut bytes = Vec::with_capacity(expected.saturating_add(1));
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    Ok(Some(Content { bytes, instance }))
}

/// Which file is at `path` now, not following a link; `None` when there is none.
pub fn instance(path: &Path) -> Result<Option<Instance>> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(Instance::from_metadata(&metadata))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("examine", path, &error)),
    }
}

/// Opens a kernel lock's file, making it when missing: read-write where allowed, else
/// read-only, so that a second user of a shared clone can take part. Never truncates.
pub fn open_lock(path: &Path, modes: Modes) -> Result<File> {
    let open = |write: bool, create: bool| {
        OpenOptions::new()
            .read(true)
            .write(write)
            .create_new(create)
            .mode(modes.file)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(path)
    };
    let opened = match open(true, false) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => match unmasked(|| open(true, true)) {
            Ok(file) => {
                own(&file, path, modes);
                Ok(file)
            }
            // Somebody else has just made it.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => open(true, false),
            failed => failed,
        },
        other => other,
    };
    let file = match opened {
        Err(e)
            if matches!(
                Errno::from_raw(e.raw_os_error().unwrap_or(0)),
                Errno::EACCES | Errno::EROFS
            ) =>
        {
            open(false, false).map_err(|_| cannot_open(path, &e))?
        }
        other => other.map_err(|e| cannot_open(path, &e))?,
    };
    require_regular(&file, path)?;
    Ok(file)
}

/// Whether some process holds a kernel lock on the file at `path`; none does where there is no
/// file. Looking takes a shared lock for a moment, which no other look mistakes for a holder.
pub fn is_locked(path: &Path) -> Result<bool> {
    let Some(file) = open(path)? else {
        return Ok(false);
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(Error::io("lock", path, &error)),
    }
}

/// Whether `file` is still what stands at `path`.
pub fn is_at(file: &File, path: &Path) -> Result<bool> {
    let held = Instance::of(file).map_err(|e| Error::io("examine", path, &e))?;
    Ok(instance(path)?.is_some_and(|there| there.same_file(&held)))
}

/// Removes the file at `path` unless some process holds a kernel lock on it; nobody can lock it
/// and find it in place afterwards. Best effort.
pub fn remove_if_free(path: &Path) {
    let Ok(Some(file)) = open(path) else { return };
    // Unlinked while locked: whoever locks it next sees that it is no longer at its path.
    if file.try_lock().is_ok() && is_at(&file, path).unwrap_or(false) {
        let _ = std::fs::remove_file(path);
    }
}

/// Removes the file at `path`; that there is none is fine.
pub fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(denied(Error::io("remove", path, &error), path, &error))
        }
        _ => Ok(()),
    }
}

/// Writes `bytes` at the end of the file at `path` with one `write`, making it when missing.
pub fn append(path: &Path, bytes: &[u8], modes: Modes) -> Result<()> {
    let fail = |e: &io::Error| Error::io("append to", path, e);
    let existed = std::fs::symlink_metadata(path).is_ok();
    let mut options = OpenOptions::new();
    options
        .append(true)
        .create(true)
        .mode(modes.file)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC);
    let mut file = unmasked(|| options.open(path)).map_err(|e| cannot_open(path, &e))?;
    require_regular(&file, path)?;
    if !existed {
        own(&file, path, modes);
    }
    let written = file.write(bytes).map_err(|e| fail(&e))?;
    if written == bytes.len() {
        Ok(())
    } else {
        Err(fail(&io::Error::from(io::ErrorKind::WriteZero)))
    }
}

/// The last `limit` bytes of the regular file at `path`; `None` when there is none.
///
/// # Errors
/// Not a regular file, or not readable.
pub fn read_end(path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    let Some(mut file) = open(path)? else {
        return Ok(None);
    };
    let fail = |e: io::Error| Error::io("read", path, &e);
    let size = file.metadata().map_err(fail)?.size();
    file.seek(SeekFrom::Start(size.saturating_sub(limit)))
        .map_err(fail)?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).map_err(fail)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::temp::TEMP_AGE;
    use super::*;
    use crate::sys::clock;

    const MODES: Modes = Modes {
        file: 0o644,
        dir: 0o755,
        group: None,
    };

    #[test]
    fn creation_is_exclusive_and_leaves_one_name() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("x");
        let first = Temp::write(dir.path(), b"one", MODES, false).expect("temp");
        assert!(first.create(&path).expect("create").is_some());
        let second = Temp::write(dir.path(), b"two", MODES, false).expect("temp");
        assert!(second.create(&path).expect("create").is_none());
        let content = read(&path, 10).expect("read").expect("there");
        assert_eq!(content.bytes, b"one");
        assert_eq!(std::fs::read_dir(dir.path()).expect("list").count(), 1);
    }

    #[test]
    fn a_replacement_is_another_instance() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("x");
        let write = |bytes: &[u8]| {
            Temp::write(dir.path(), bytes, MODES, true)
                .expect("temp")
                .replace(&path)
                .expect("replace")
        };
        let (first, second) = (write(b"1"), write(b"2"));
        assert_ne!(first, second);
        assert_eq!(instance(&path).expect("stat"), Some(second));
    }

    #[test]
    fn only_regular_files_are_state() {
        let dir = tempfile::tempdir().expect("temp dir");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).expect("symlink");
        let said = read(&link, 10).expect_err("refused").to_string();
        assert!(said.contains("symbolic link"), "{said}");
        let said = read(dir.path(), 10).expect_err("refused").to_string();
        assert!(said.contains("a directory"), "{said}");
    }

    #[test]
    fn reading_stops_one_byte_past_the_limit() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("x");
        Temp::write(dir.path(), b"0123456789", MODES, false)
            .expect("temp")
            .replace(&path)
            .expect("replace");
        assert_eq!(
            read(&path, 4).expect("read").expect("there").bytes,
            b"01234"
        );
    }

    #[test]
    fn a_sweep_takes_only_old_files_of_ours() {
        let dir = tempfile::tempdir().expect("temp dir");
        let make = |name: &str| File::create(dir.path().join(name)).expect("create");
        make(".git-locks-a.tmp");
        make("other.tmp");
        sweep(dir.path(), clock::wall());
        assert_eq!(std::fs::read_dir(dir.path()).expect("list").count(), 2);
        sweep(dir.path(), clock::wall() + TEMP_AGE + 1.0);
        assert!(dir.path().join("other.tmp").exists());
        assert!(!dir.path().join(".git-locks-a.tmp").exists());
    }

    #[test]
    fn made_directories_are_named_outermost_first() {
        let dir = tempfile::tempdir().expect("temp dir");
        let deep = dir.path().join("a/b");
        let made = make_dirs(&deep, MODES).expect("made");
        assert_eq!(made, [dir.path().join("a"), deep.clone()]);
        assert!(make_dirs(&deep, MODES).expect("again").is_empty());
    }

    #[test]
    fn only_what_nobody_holds_is_removed() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("x");
        for shared in [false, true] {
            let file = open_lock(&path, MODES).expect("made");
            let locked = if shared {
                file.try_lock_shared()
            } else {
                file.try_lock()
            };
            locked.expect("locked");
            remove_if_free(&path);
            assert!(path.exists(), "shared: {shared}");
            // Not only dropped: another test may be about to execute something, and hold a copy.
            file.unlock().expect("unlocked");
            remove_if_free(&path);
            assert!(!path.exists(), "shared: {shared}");
        }
        remove_if_free(&path);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).expect("symlink");
        remove_if_free(&link);
        assert!(link.symlink_metadata().is_ok());
        remove_if_free(dir.path());
        assert!(dir.path().exists());
    }

    #[test]
    fn the_end_of_a_file_is_its_last_bytes() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("x");
        assert_eq!(read_end(&path, 4).expect("read"), None);
        std::fs::write(&path, b"0123456789").expect("write");
        let end = |limit| read_end(&path, limit).expect("read").expect("there");
        assert_eq!(end(4), b"6789");
        assert_eq!(end(10), b"0123456789");
        assert_eq!(end(99), b"0123456789");
        assert_eq!(end(0), b"");
        assert!(read_end(dir.path(), 4).is_err());
    }
}
