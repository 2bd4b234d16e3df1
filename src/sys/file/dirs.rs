//! Directories, owners and modes of what we make, and the file system it stands on.

use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{AccessFlags, Gid, Uid, faccessat, fchown};

use super::{Modes, denied};
use crate::error::{Error, ErrorKind, Result};
use crate::sys::user;
use crate::text;

/// Runs `make` with no umask: what it makes has its mode from the start, so that whoever comes
/// upon it at once can use it. The umask is the whole process's, hence the turn-taking.
pub(super) fn unmasked<T>(make: impl FnOnce() -> T) -> T {
    without_mask(|_| make())
}

/// The modes that the umask leaves: of what lies in a work tree and is no more ours than anybody's.
pub fn modes_of_umask() -> Modes {
    let mask = without_mask(|mask| mask);
    #[allow(
        clippy::useless_conversion,
        reason = "the width differs between targets"
    )]
    let allowed = !u32::from(mask.bits());
    Modes {
        file: 0o666 & allowed,
        dir: 0o777 & allowed,
        group: None,
    }
}

fn without_mask<T>(make: impl FnOnce(Mode) -> T) -> T {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mask = umask(Mode::empty());
    let made = make(mask);
    umask(mask);
    drop(turn);
    made
}

/// Gives a file that we made its mode, its group and, as root, the owner of its directory.
/// A file that could not be given away still works for its maker, hence no error.
pub fn own(file: &File, path: &Path, modes: Modes) {
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
        match unmasked(|| DirBuilder::new().mode(modes.dir).create(&path)) {
            Ok(()) => {
                own_dir(&path, modes);
                made.push(path);
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                if let Err(e) = std::fs::symlink_metadata(&path) {
                    // Somebody else has made it, and taken it away again.
                    return Err(denied(Error::io("create directory", &path, &e), &path, &e));
                }
                if !path.is_dir() {
                    let message = format!("{} is in the way of a directory", text::path(&path));
                    // No command to type: it may be anything that a setting names.
                    let hint = "look at it, then move it away, or name another place";
                    return Err(Error::new(ErrorKind::Io, message).with_hint(hint));
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

/// Whether this process may make files in the directory `path`, as far as permissions tell.
pub fn may_write_in(path: &Path) -> bool {
    let needed = AccessFlags::W_OK | AccessFlags::X_OK;
    faccessat(AT_FDCWD, path, needed, AtFlags::AT_EACCESS).is_ok()
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
