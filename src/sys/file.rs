//! Files, as a lock must treat them: never follow, never wait, never half-write.
//!
//! State files are opened `O_CLOEXEC|O_NOFOLLOW|O_NONBLOCK` and must be regular files: a
//! symlink, FIFO, socket or directory in a state file's place is an error that names it. What
//! is written goes whole into a uniquely named temporary file in the same directory, which is
//! then linked (exclusive creation) or renamed (replacement) into place.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::libc;
use nix::unistd::{Gid, Uid, fchown};

use crate::error::{Error, ErrorKind, Result};
use crate::sys::{clock, user};
use crate::text;

/// Temporary files of ours start and end so; nothing else does.
const TEMP_PREFIX: &str = ".git-locks-";
const TEMP_SUFFIX: &str = ".tmp";
/// How old a temporary file must be before it is taken for a dead process's, in seconds.
const TEMP_AGE: f64 = 3600.0;

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
    size: u64,
    /// The owner.
    pub uid: u32,
}

impl Instance {
    fn of(file: &File) -> io::Result<Self> {
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
fn open(path: &Path) -> Result<Option<File>> {
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
        Err(wrong_type(path, &metadata.file_type()))
    }
}

/// Why a state file could not be opened, in words that name what is in its place.
fn cannot_open(path: &Path, error: &io::Error) -> Error {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.file_type().is_file() => wrong_type(path, &metadata.file_type()),
        _ => denied(Error::io("open", path, error), path, error),
    }
}

/// The command that moves what is in the way aside, where it can be typed.
pub fn aside_hint(path: &Path) -> String {
    let typed = path.to_str().filter(|word| text::visible(word) == *word);
    match typed {
        Some(word) => format!(
            "look at it, then move it away: mv {} {}",
            text::shell_word(word),
            text::shell_word(&format!("{word}.aside"))
        ),
        None => "look at it, then move it away".to_owned(),
    }
}

fn wrong_type(path: &Path, kind: &std::fs::FileType) -> Error {
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
        Err(e) if e.kind() == io::ErrorKind::NotFound => match open(true, true) {
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

/// Gives a file that we made its mode, its group and, as root, the owner of its directory.
/// A file that could not be given away still works for its maker, hence no error.
fn own(file: &File, path: &Path, modes: Modes) {
    let _ = file.set_permissions(Permissions::from_mode(modes.file));
    let directory = path.parent().and_then(|dir| std::fs::metadata(dir).ok());
    let (uid, gid) = owner(directory.as_ref(), modes);
    if uid.is_some() || gid.is_some() {
        let _ = fchown(file, uid.map(Uid::from_raw), gid.map(Gid::from_raw));
    }
}

fn owner(directory: Option<&std::fs::Metadata>, modes: Modes) -> (Option<u32>, Option<u32>) {
    if !user::is_root() {
        return (None, modes.group);
    }
    let uid = directory
        .map(std::fs::Metadata::uid)
        .filter(|&uid| uid != 0);
    let gid = modes.group.or_else(|| {
        directory
            .map(std::fs::Metadata::gid)
            .filter(|&gid| gid != 0)
    });
    (uid, gid)
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
    pub fn create(self, path: &Path) -> Result<Option<Instance>> {
        let fail = |e: &io::Error| denied(Error::io("create", path, e), path, e);
        match std::fs::hard_link(self.file.path(), path) {
            Ok(()) => {
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
        use std::io::Seek as _;
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
            Ok(made) => Ok(Some(made)),
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

/// Removes the file at `path`; that there is none is fine.
pub fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(denied(Error::io("remove", path, &error), path, &error))
        }
        _ => Ok(()),
    }
}

/// Makes `directory` and its missing ancestors, and returns those it made, outermost first.
pub fn make_dirs(directory: &Path, modes: Modes) -> Result<Vec<PathBuf>> {
    let mut missing = Vec::new();
    for ancestor in directory.ancestors() {
        if ancestor.as_os_str().is_empty() || ancestor.is_dir() {
            break;
        }
        missing.push(ancestor.to_owned());
    }
    missing.reverse();
    let mut made = Vec::new();
    for path in missing {
        match DirBuilder::new().mode(modes.dir).create(&path) {
            Ok(()) => {
                own_dir(&path, modes);
                made.push(path);
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                if !path.is_dir() {
                    let message = format!("{} is in the way of a directory", text::path(&path));
                    return Err(Error::new(ErrorKind::Io, message).with_hint(aside_hint(&path)));
                }
            }
            Err(e) => return Err(denied(Error::io("create directory", &path, &e), &path, &e)),
        }
    }
    Ok(made)
}

fn own_dir(path: &Path, modes: Modes) {
    let above = path.parent().and_then(|dir| std::fs::metadata(dir).ok());
    let (uid, gid) = owner(above.as_ref(), modes);
    if uid.is_some() || gid.is_some() {
        let _ = std::os::unix::fs::lchown(path, uid, gid);
    }
    // After the change of group, which may clear the set-group-id bit.
    set_dir_mode(path, modes);
}

/// Gives a directory that we made its mode. Best effort: its maker can use it anyway.
pub fn set_dir_mode(path: &Path, modes: Modes) {
    let _ = std::fs::set_permissions(path, Permissions::from_mode(modes.dir));
}

/// Removes temporary files of ours in `directory` that are older than an hour. Best effort.
pub fn sweep(directory: &Path, now: f64) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        if !is_temp_name(&entry.file_name()) {
            continue;
        }
        let old = entry
            .metadata()
            .is_ok_and(|m| m.is_file() && now - Instance::from_metadata(&m).mtime() > TEMP_AGE);
        if old {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn is_temp_name(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(TEMP_PREFIX.as_bytes()) && name.ends_with(TEMP_SUFFIX.as_bytes())
}

/// Writes `bytes` at the end of the file at `path` with one `write`, making it when missing.
pub fn append(path: &Path, bytes: &[u8], modes: Modes) -> Result<()> {
    let fail = |e: &io::Error| Error::io("append to", path, e);
    let existed = std::fs::symlink_metadata(path).is_ok();
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(modes.file)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)
        .map_err(|e| cannot_open(path, &e))?;
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

/// Whether locks and exclusive creation of the file system at `path` are known to be this
/// machine's own business. `false` for what is not known.
pub fn is_local(path: &Path) -> bool {
    local_type(path).unwrap_or(false)
}

#[cfg(target_os = "linux")]
fn local_type(path: &Path) -> Option<bool> {
    // Magic numbers of statfs(2). nix names not all of them.
    const LOCAL: [i64; 15] = [
        0xEF53,      // ext2, ext3, ext4
        0x5846_5342, // XFS
        0x9123_683E, // btrfs
        0x0102_1994, // tmpfs
        0x8584_58F6, // ramfs
        0x794C_7630, // overlayfs
        0x2FC1_2FC1, // ZFS
        0xF2F5_2010, // F2FS
        0xCA45_1A4E, // bcachefs
        0x4D44,      // FAT
        0x2011_BAB0, // exFAT
        0x5265_4973, // reiserfs
        0x3153_464A, // JFS
        0x3434,      // NILFS
        0x7366_746E, // NTFS3
    ];
    let facts = nix::sys::statfs::statfs(path).ok()?;
    #[allow(
        clippy::useless_conversion,
        clippy::cast_lossless,
        reason = "the width differs between targets"
    )]
    Some(LOCAL.contains(&(facts.filesystem_type().0 as i64 & 0xFFFF_FFFF)))
}

#[cfg(target_os = "macos")]
fn local_type(path: &Path) -> Option<bool> {
    let facts = nix::sys::statfs::statfs(path).ok()?;
    Some(matches!(
        facts.filesystem_type_name(),
        "apfs" | "hfs" | "tmpfs" | "exfat" | "msdos"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
