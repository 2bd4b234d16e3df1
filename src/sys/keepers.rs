//! Which processes keep a kernel lock, as far as the kernel tells. Looking disturbs nobody: nothing is
//! locked for it.
//!
//! `/proc/locks` names the process that took the lock, which need not be there any more: the lock stays
//! while anybody has the locked file open. Who that is, `/proc/<pid>/fdinfo` tells, but not of other
//! users' processes.

use std::fs::File;
use std::path::Path;

/// Who keeps a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keepers {
    /// Whether somebody does, seen or not.
    pub held: bool,
    /// The process that took it; where that has ended, the one that has kept it for longest.
    pub holder: Option<i32>,
    /// The other processes that keep it.
    pub others: Vec<i32>,
}

impl Keepers {
    /// All that can be named, the holder first.
    pub fn all(&self) -> impl Iterator<Item = i32> + '_ {
        self.holder.into_iter().chain(self.others.iter().copied())
    }
}

#[cfg(target_os = "linux")]
mod proc {
    use std::ffi::OsStr;
    use std::fs::Metadata;
    use std::io;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use super::Keepers;
    use crate::sys::process::{self, Sight};

    /// A `flock` as `/proc` tells of it.
    #[derive(Debug, PartialEq, Eq)]
    struct Line {
        pid: i32,
        device: (u64, u64),
        inode: u64,
    }

    /// `1: FLOCK  ADVISORY  WRITE 1234 08:02:131073 0 EOF`; one who waits has an arrow before `FLOCK`.
    fn parse(line: &str) -> Option<Line> {
        let mut fields = line.split_ascii_whitespace().skip(1);
        if fields.next()? != "FLOCK" {
            return None;
        }
        let pid = fields.nth(2)?.parse().ok()?;
        let mut place = fields.next()?.split(':');
        let mut hex = || u64::from_str_radix(place.next()?, 16).ok();
        let device = (hex()?, hex()?);
        let inode = place.next()?.parse().ok()?;
        Some(Line { pid, device, inode })
    }

    fn device(file: &Metadata) -> (u64, u64) {
        let device = file.dev();
        (nix::sys::stat::major(device), nix::sys::stat::minor(device))
    }

    fn locks() -> Vec<Line> {
        let text = std::fs::read_to_string("/proc/locks").unwrap_or_default();
        text.lines().filter_map(parse).collect()
    }

    /// The processes that have taken a lock on a file.
    #[derive(Debug, Default, PartialEq, Eq)]
    pub struct Takers {
        /// They may have ended since.
        pub pids: Vec<i32>,
        /// Whether it is this very file: of some file systems only the inode's number can be compared,
        /// which files of others have too.
        pub certain: bool,
    }

    impl Takers {
        fn among(mut lines: Vec<Line>, device: (u64, u64), inode: u64) -> Self {
            lines.retain(|line| line.inode == inode);
            let same = |line: &Line| line.device == device;
            let certain = lines.iter().any(same);
            if certain {
                lines.retain(same);
            }
            let pids = lines.into_iter().map(|line| line.pid).collect();
            Self { pids, certain }
        }
    }

    /// The processes that have taken a lock on `file`.
    pub fn takers(file: &Metadata) -> Takers {
        if !process::proc_is_ours() {
            return Takers::default();
        }
        Takers::among(locks(), device(file), file.ino())
    }

    /// Whether process `pid` has a locked `file`, which is called `name`, open; `None` where that is not
    /// told.
    pub fn keeps(pid: i32, file: &Metadata, name: &OsStr) -> Option<bool> {
        if !process::proc_is_ours() {
            return None;
        }
        let listed = match std::fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(listed) => listed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(false),
            Err(_) => return None,
        };
        let keeps = listed.flatten().any(|entry| {
            // Looked at only when its name says so: what is on a server that is gone hangs.
            let named = std::fs::read_link(entry.path()).is_ok_and(|path| {
                let bytes = path.as_os_str().as_bytes();
                let bytes = bytes.strip_suffix(b" (deleted)").unwrap_or(bytes);
                bytes.rsplit(|&byte| byte == b'/').next() == Some(name.as_bytes())
            });
            if !named {
                return false;
            }
            let same = std::fs::metadata(entry.path())
                .is_ok_and(|found| (found.dev(), found.ino()) == (file.dev(), file.ino()));
            let number = entry.file_name();
            let info = format!("/proc/{pid}/fdinfo/{}", number.to_string_lossy());
            same && std::fs::read_to_string(info).is_ok_and(|info| {
                let mut locks = info.lines().filter_map(|line| line.strip_prefix("lock:"));
                locks.any(|lock| parse(lock).is_some())
            })
        });
        Some(keeps)
    }

    fn processes() -> Vec<i32> {
        let listed = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.collect()
    }

    /// Those of `takers` that may still keep the lock.
    pub fn left(takers: &[i32], file: &Metadata, name: &OsStr) -> Vec<i32> {
        let may_keep = |&&pid: &&i32| match keeps(pid, file, name) {
            Some(keeps) => keeps,
            None => process::look(pid) != Sight::Ended,
        };
        let named = takers.iter().filter(|&&pid| pid > 0);
        named.filter(may_keep).copied().collect()
    }

    /// Who keeps the lock on `file`, which is at `path`; `None` where that cannot be told.
    pub fn of(path: &Path, file: &Metadata) -> Option<Keepers> {
        let name = path.file_name().unwrap_or_default();
        let takers = takers(file);
        let mut all = left(&takers.pids, file, name);
        let mut found: Vec<i32> = processes()
            .into_iter()
            .filter(|pid| !all.contains(pid) && keeps(*pid, file, name) == Some(true))
            .collect();
        let seen = !found.is_empty() || all.iter().any(|&pid| keeps(pid, file, name) == Some(true));
        if !(takers.certain || seen || takers.pids.is_empty()) {
            return None;
        }
        let start = |pid: &i32| process::started_at(*pid).unwrap_or(f64::INFINITY);
        found.sort_by(|a, b| start(a).total_cmp(&start(b)));
        all.extend(found);
        let mut all = all.into_iter();
        let holder = all.next();
        Some(Keepers {
            held: seen || takers.certain,
            holder,
            others: all.collect(),
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_lock_is_told_from_one_who_waits_and_from_other_locks() {
            let held = "1: FLOCK  ADVISORY  WRITE 1234 fe:1f:131073 0 EOF";
            let expected = Line {
                pid: 1234,
                device: (0xfe, 0x1f),
                inode: 131_073,
            };
            assert_eq!(parse(held), Some(expected));
            for other in [
                "1: -> FLOCK  ADVISORY  WRITE 1234 fe:1f:131073 0 EOF",
                "2: POSIX  ADVISORY  WRITE 1234 fe:1f:131073 0 EOF",
                "3: FLOCK  ADVISORY  WRITE 1234 fe:1f",
                "4: FLOCK  ADVISORY  WRITE x fe:1f:7 0 EOF",
                "5: FLOCK",
                "",
            ] {
                assert_eq!(parse(other), None, "{other}");
            }
        }

        #[test]
        fn a_file_of_the_same_number_elsewhere_is_not_taken_for_it() {
            let line = |pid, minor| Line {
                pid,
                device: (0, minor),
                inode: 36,
            };
            let among = |lines, inode| Takers::among(lines, (0, 40), inode);
            let takers = |pids: &[i32], certain| Takers {
                pids: pids.to_vec(),
                certain,
            };
            let both = || vec![line(1, 39), line(2, 40)];
            assert_eq!(among(both(), 36), takers(&[2], true));
            assert_eq!(among(vec![line(1, 39)], 36), takers(&[1], false));
            assert_eq!(among(both(), 37), takers(&[], false));
        }
    }
}

/// Who keeps a lock on the file at `path`; `None` where the kernel names nobody and does not tell of
/// everybody either, or may speak of another file.
#[cfg(target_os = "linux")]
pub fn of(path: &Path) -> Option<Keepers> {
    let Ok(file) = std::fs::symlink_metadata(path) else {
        return Some(Keepers::default());
    };
    let keepers = proc::of(path, &file)?;
    let tells_all = || {
        super::process::proc_is_ours()
            && super::host::sees_all_processes()
            && super::file::is_local(path)
    };
    (keepers.held || tells_all()).then_some(keepers)
}

/// Who keeps a lock on the file at `path`: this system does not tell.
#[cfg(target_os = "macos")]
pub fn of(path: &Path) -> Option<Keepers> {
    std::fs::symlink_metadata(path)
        .is_err()
        .then(Keepers::default)
}

/// The process that has taken the lock on the file at `path` and may still keep it, looked for no
/// further than that.
#[cfg(target_os = "linux")]
pub fn taker(path: &Path) -> Option<i32> {
    let file = std::fs::symlink_metadata(path).ok()?;
    let name = path.file_name()?;
    let left = proc::left(&proc::takers(&file).pids, &file, name);
    left.first().copied()
}

/// The process that has taken the lock on the file at `path`: this system does not tell.
#[cfg(target_os = "macos")]
pub fn taker(_path: &Path) -> Option<i32> {
    None
}

/// Those of `pids` that keep the lock on the file at `path`, as far as the kernel tells; `None` where it
/// tells nothing.
#[cfg(target_os = "linux")]
pub fn among(pids: &[i32], path: &Path) -> Option<Vec<i32>> {
    if !super::process::proc_is_ours() {
        return None;
    }
    let (Ok(file), Some(name)) = (std::fs::symlink_metadata(path), path.file_name()) else {
        return Some(Vec::new());
    };
    let left = proc::left(&proc::takers(&file).pids, &file, name);
    let keeps = |&&pid: &&i32| left.contains(&pid) || proc::keeps(pid, &file, name) == Some(true);
    Some(pids.iter().filter(keeps).copied().collect())
}

/// Those of `pids` that keep the lock on the file at `path`: this system does not tell.
#[cfg(target_os = "macos")]
pub fn among(_pids: &[i32], _path: &Path) -> Option<Vec<i32>> {
    None
}

/// The process that has taken a lock on `file`, where the kernel tells.
#[cfg(target_os = "linux")]
pub fn owner(file: &File) -> Option<i32> {
    let takers = proc::takers(&file.metadata().ok()?);
    takers.pids.first().copied()
}

/// The process that has taken a lock on `file`: this system does not tell.
#[cfg(target_os = "macos")]
pub fn owner(_file: &File) -> Option<i32> {
    None
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    use crate::sys::inherit;

    struct Reaped(Child);

    impl Drop for Reaped {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn child() -> Reaped {
        let child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        Reaped(child.expect("spawn"))
    }

    fn pid(child: &Reaped) -> i32 {
        i32::try_from(child.0.id()).expect("a pid")
    }

    #[test]
    fn who_has_the_locked_file_open_is_named_and_nobody_else() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("lock");
        assert_eq!(of(&path), Some(Keepers::default()), "there is no file");
        let file = File::create_new(&path).expect("made");
        let me = i32::try_from(std::process::id()).expect("a pid");
        assert!(!of(&path).unwrap_or_default().held);
        let stranger = child();
        file.lock().expect("locked");
        let other = File::open(&path).expect("opened");
        let lent = inherit::lend(&file, child).expect("lent");
        let unlocked = inherit::lend(&other, child).expect("lent");
        let seen = of(&path).expect("told");
        assert!(seen.held);
        // Another test may be about to execute something, and hold a copy for a moment.
        assert_eq!(seen.holder, Some(me));
        assert!(seen.others.contains(&pid(&lent)), "{seen:?}");
        assert!(!seen.others.contains(&pid(&stranger)), "{seen:?}");
        assert!(!seen.others.contains(&pid(&unlocked)), "{seen:?}");
        assert_eq!(owner(&file), Some(me));
        assert_eq!(taker(&path), Some(me));
        let asked = [pid(&stranger), pid(&lent), pid(&unlocked), 0, i32::MAX];
        assert_eq!(among(&asked, &path), Some(vec![pid(&lent)]));
        file.unlock().expect("unlocked");
        assert!(!of(&path).unwrap_or_default().held);
        assert_eq!(taker(&path), None);
    }
}
