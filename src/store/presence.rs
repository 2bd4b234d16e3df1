//! Presence: a kernel lock that a process keeps for as long as it takes part and lives.
//!
//! Each process that takes part has a file of its own, `<ours>/presence/<name>`, whose name is
//! random, and keeps an exclusive `flock` on it. Others see that it lives by the lock. Beside it
//! stands a FIFO, `<name>.bell`, by which they make it look again: a watch on the file would do,
//! but of these a user has few.
//!
//! **Beginning.** Make a file of a new random name, lock it without waiting, and see that it is
//! still what stands at its path: a sweep may have come between. If not, take another name. Where the
//! file is taken away later, make it again under the same name: that is the one on record.
//!
//! **Ending.** Unlink the file while it is still locked, then unlock it. Only who holds the lock
//! unlinks. Children that the process started never have the lock: the descriptor is closed
//! when they begin, and unlocking takes the lock even from a copy that is not closed yet.
//!
//! **A crash** drops the lock, at the latest when children that were about to begin have begun,
//! and leaves an unlocked file, which the next commit's [`sweep`] removes.

use std::fs::{File, TryLockError};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::sys::fifo::{self, Doorbell};
use crate::sys::file::{self, Modes};
use crate::sys::random;
use crate::text;

/// How many random bytes make a name.
const NAME_BYTES: usize = 8;
/// What the FIFO of a presence is called beside it.
const BELL: &str = "bell";
/// A name is lost only to somebody who looks at, or sweeps, the file just as it is made.
const TRIES: usize = 100;

/// This process takes part; over when dropped.
#[derive(Debug)]
#[must_use = "dropped at once it shows nobody that we live"]
pub struct Presence {
    name: String,
    path: PathBuf,
    bell: Option<Doorbell>,
    lock: File,
}

impl Presence {
    /// Begins to take part in what is kept in `ours`.
    ///
    /// # Errors
    /// The file cannot be made, or the file system has no locks.
    pub fn begin(ours: &Path, modes: Modes) -> Result<Self> {
        let directory = directory(ours);
        file::make_dirs(&directory, modes)?;
        for _ in 0..TRIES {
            if let Some(presence) = Self::take(&directory, random::hex(NAME_BYTES)?, modes)? {
                return Ok(presence);
            }
        }
        Err(Error::new(
            ErrorKind::Timeout,
            format!(
                "no file in {} stays locked: somebody removes or locks them all",
                text::path(&directory)
            ),
        ))
    }

    /// Begins anew where the file was taken away: under the same name, by which others have it on record,
    /// unless somebody else keeps that now.
    ///
    /// # Errors
    /// As of [`Presence::begin`].
    pub fn again(&self, ours: &Path, modes: Modes) -> Result<Self> {
        let directory = directory(ours);
        file::make_dirs(&directory, modes)?;
        match Self::take(&directory, self.name.clone(), modes) {
            Ok(Some(presence)) => Ok(presence),
            Ok(None) | Err(_) => Self::begin(ours, modes),
        }
    }

    /// Makes the file called `name`, and locks it; `None` where it does not stay.
    fn take(directory: &Path, name: String, modes: Modes) -> Result<Option<Self>> {
        let path = directory.join(&name);
        let lock = file::open_lock(&path, modes)?;
        match lock.try_lock() {
            Ok(()) if file::is_at(&lock, &path)? => {
                // One that is there has lost its presence.
                let _ = file::remove(&bell_path(&path));
                // Without one, the process looks by itself now and then.
                let bell = Doorbell::make(&bell_path(&path), modes).ok();
                return Ok(Some(Self {
                    name,
                    path,
                    bell,
                    lock,
                }));
            }
            // A sweep has removed it, or somebody looks at it just now.
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => {
                let _ = file::remove(&path);
                return Err(Error::io("lock", &path, &error)
                    .with_hint("locks must work on the file system of the repository"));
            }
        }
        // What somebody looks at just now is left to the next sweep.
        drop(lock);
        file::remove_if_free(&path);
        Ok(None)
    }

    /// The file's name, by which others find it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What others ring to wake this process.
    pub fn bell(&self) -> Option<&Doorbell> {
        self.bell.as_ref()
    }

    /// Whether the file still stands where others look for it; not, where that cannot be seen.
    pub fn stands(&self) -> bool {
        file::is_at(&self.lock, &self.path).unwrap_or(false)
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if self.stands() {
            // What stays is unlocked, and swept.
            let _ = file::remove(&bell_path(&self.path));
            let _ = file::remove(&self.path);
        }
        // Closing is not enough: a child that is about to begin has a copy for a moment.
        let _ = self.lock.unlock();
    }
}

/// Where presence files are kept.
pub fn directory(ours: &Path) -> PathBuf {
    ours.join("presence")
}

/// The presence file called `name`; `None` for what is not the plain name of a file.
pub fn path(ours: &Path, name: &str) -> Option<PathBuf> {
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
    plain.then(|| directory(ours).join(name))
}

fn bell_path(presence: &Path) -> PathBuf {
    presence.with_extension(BELL)
}

/// Makes the process whose presence file is called `name` look again. Whether one was told that
/// lives. Best effort.
pub fn poke(ours: &Path, name: &str) -> bool {
    path(ours, name).is_some_and(|path| fifo::ring(&bell_path(&path)))
}

/// Removes the presence files of the dead, except those whose name is `known`: still on record,
/// they are looked for. Best effort.
pub fn sweep(ours: &Path, known: impl Fn(&str) -> bool) {
    let strangers = strangers(ours, known).unwrap_or_default();
    for file in strangers.files {
        file::remove_if_free(&file);
    }
    for bell in strangers.bells {
        if has_outlived(&bell) {
            let _ = file::remove(&bell);
        }
    }
}

/// The presence files of the dead, and bells that have outlived theirs, in order of their names, except
/// those whose name is `known`.
///
/// # Errors
/// The directory, or whether one is locked, cannot be looked at.
pub fn left_behind(ours: &Path, known: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let strangers = strangers(ours, known)?;
    let mut left = Vec::new();
    for file in strangers.files {
        // Whoever has ended meanwhile has removed it before it let go.
        if !file::is_locked(&file)? && file::instance(&file)?.is_some() {
            left.push(file);
        }
    }
    left.extend(
        strangers
            .bells
            .into_iter()
            .filter(|bell| has_outlived(bell)),
    );
    left.sort();
    Ok(left)
}

/// What is in the directory of presence files, and not on record.
#[derive(Default)]
struct Strangers {
    files: Vec<PathBuf>,
    bells: Vec<PathBuf>,
}

fn strangers(ours: &Path, known: impl Fn(&str) -> bool) -> Result<Strangers> {
    let directory = directory(ours);
    let mut found = Strangers::default();
    let entries = match std::fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(Error::io("read", &directory, &error)),
    };
    for entry in entries.flatten() {
        // Names of ours are all of them text.
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if known(name.strip_suffix(".bell").unwrap_or(&name)) {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_file() => found.files.push(entry.path()),
            Ok(kind) if kind.is_fifo() => found.bells.push(entry.path()),
            _ => {}
        }
    }
    Ok(found)
}

/// Whether the presence of a bell, which was made before it, is gone.
fn has_outlived(bell: &Path) -> bool {
    let presence = bell.with_extension("");
    presence.try_exists().is_ok_and(|there| !there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    const MODES: Modes = Modes {
        file: 0o644,
        dir: 0o755,
        group: None,
    };

    fn begin(ours: &tempfile::TempDir) -> Presence {
        Presence::begin(ours.path(), MODES).expect("begun")
    }

    fn names(ours: &tempfile::TempDir) -> Vec<String> {
        let entries = std::fs::read_dir(directory(ours.path())).expect("list");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("entry").file_name().into_string())
            .map(|name| name.expect("text"))
            .collect();
        names.sort();
        names
    }

    /// What a crash leaves: the file without the lock.
    fn leave(ours: &tempfile::TempDir, name: &str) -> PathBuf {
        let path = path(ours.path(), name).expect("a name");
        std::fs::write(&path, b"").expect("write");
        path
    }

    fn with_bell(presence: &Presence) -> Vec<String> {
        let name = presence.name();
        vec![name.to_owned(), format!("{name}.{BELL}")]
    }

    struct Reaped(Child);

    impl Drop for Reaped {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn two_that_take_part_have_two_names_and_leave_nothing() {
        let ours = tempfile::tempdir().expect("temp dir");
        let (one, two) = (begin(&ours), begin(&ours));
        assert_ne!(one.name(), two.name());
        let mut both = [with_bell(&one), with_bell(&two)].concat();
        both.sort();
        assert_eq!(names(&ours), both);
        for presence in [&one, &two] {
            assert!(presence.stands());
            assert_eq!(
                path(ours.path(), presence.name()).as_deref(),
                Some(presence.path())
            );
            assert!(file::is_locked(presence.path()).expect("look"));
        }
        drop(one);
        assert_eq!(names(&ours), with_bell(&two));
        drop(two);
        assert!(names(&ours).is_empty());
    }

    #[test]
    fn a_sweep_takes_what_the_dead_left_and_nobody_knows() {
        let ours = tempfile::tempdir().expect("temp dir");
        let living = begin(&ours);
        let (dead, recorded) = (leave(&ours, "dead"), leave(&ours, "recorded"));
        std::fs::create_dir(directory(ours.path()).join("dir")).expect("mkdir");
        let bell = bell_path(&dead);
        drop(Doorbell::make(&bell, MODES).expect("made"));
        sweep(ours.path(), |name| name == "recorded");
        assert!(!dead.exists());
        assert!(!bell.exists());
        assert!(recorded.exists());
        assert!(living.stands());
        let mut left = vec!["dir".to_owned(), "recorded".to_owned()];
        left.extend(with_bell(&living));
        left.sort();
        assert_eq!(names(&ours), left);
        sweep(&ours.path().join("missing"), |_| false);
    }

    #[test]
    fn a_file_that_was_taken_away_no_longer_stands_and_its_successor_is_left_alone() {
        let ours = tempfile::tempdir().expect("temp dir");
        let presence = begin(&ours);
        std::fs::remove_file(presence.path()).expect("remove");
        assert!(!presence.stands());
        let other = leave(&ours, presence.name());
        assert!(!presence.stands());
        drop(presence);
        assert!(other.exists());
    }

    #[test]
    fn one_whose_file_was_taken_away_begins_again_under_its_name() {
        let ours = tempfile::tempdir().expect("temp dir");
        let mut presence = begin(&ours);
        let name = presence.name().to_owned();
        for all in [false, true] {
            if all {
                std::fs::remove_dir_all(directory(ours.path())).expect("remove");
            } else {
                std::fs::remove_file(presence.path()).expect("remove");
            }
            presence = presence.again(ours.path(), MODES).expect("begun");
            assert_eq!(presence.name(), name);
            assert!(presence.stands());
            assert_eq!(names(&ours), with_bell(&presence));
            assert!(poke(ours.path(), &name));
            assert!(presence.bell().expect("a bell").was_rung());
        }
        // Somebody else has the name.
        std::fs::remove_file(presence.path()).expect("remove");
        let other = file::open_lock(presence.path(), MODES).expect("made");
        other.lock().expect("locked");
        let another = presence.again(ours.path(), MODES).expect("begun");
        assert_ne!(another.name(), name);
        assert!(file::is_at(&other, presence.path()).expect("look"));
    }

    #[test]
    fn only_the_living_are_poked() {
        let ours = tempfile::tempdir().expect("temp dir");
        let living = begin(&ours);
        let name = living.name().to_owned();
        leave(&ours, "dead");
        assert!(poke(ours.path(), &name));
        assert!(living.stands());
        assert!(!poke(ours.path(), "dead"));
        drop(living);
        assert!(!poke(ours.path(), &name));
        assert_eq!(names(&ours), ["dead"], "neither a file nor a bell is left");
    }

    #[test]
    fn a_poke_wakes_and_a_look_does_not() {
        use crate::sys::signals::Signals;
        use crate::sys::wake::{self, Watch};
        use std::time::{Duration, Instant};

        let ours = tempfile::tempdir().expect("temp dir");
        let living = begin(&ours);
        let signals = Signals::arm(&[]).expect("armed");
        let watch = Watch::new();
        let bell = living.bell().expect("a bell");
        assert!(poke(ours.path(), living.name()));
        let (start, long) = (Instant::now(), Duration::from_secs(20));
        wake::sleep(&watch, &[], &signals, Some(bell), long);
        assert!(start.elapsed() < long);
        bell.hush();
        // Looking at whether it lives changes nothing, and wakes nobody.
        assert!(file::is_locked(living.path()).expect("look"));
        sweep(ours.path(), |_| false);
        let (end, short) = (Instant::now() + long, Duration::from_millis(20));
        loop {
            let start = Instant::now();
            wake::sleep(&watch, &[], &signals, Some(bell), short);
            // Shorter once in a while, when another test's signal hits this thread.
            if start.elapsed() >= short {
                break;
            }
            assert!(Instant::now() < end, "something keeps waking it");
        }
    }

    #[test]
    fn a_child_does_not_keep_the_lock_of_who_started_it() {
        let ours = tempfile::tempdir().expect("temp dir");
        let presence = begin(&ours);
        // A second name shows the lock after the first is gone.
        let link = ours.path().join("link");
        std::fs::hard_link(presence.path(), &link).expect("link");
        let child = Command::new("sh")
            .args(["-c", "read line"])
            .stdin(Stdio::piped())
            .spawn();
        let mut child = Reaped(child.expect("spawn"));
        assert!(file::is_locked(&link).expect("look"));
        drop(presence);
        assert!(!file::is_locked(&link).expect("look"));
        assert!(child.0.try_wait().expect("wait").is_none(), "it runs on");
    }

    #[test]
    fn names_that_lead_elsewhere_are_no_names() {
        let ours = Path::new("/ours");
        for odd in ["", ".", "..", ".hidden", "a/b", "../x", "/", "a\0b"] {
            assert_eq!(path(ours, odd), None, "{odd:?}");
            assert!(!poke(ours, odd), "{odd:?}");
        }
        let plain = path(ours, "0123456789abcdef");
        assert_eq!(
            plain.as_deref(),
            Some(Path::new("/ours/presence/0123456789abcdef"))
        );
    }

    #[test]
    fn where_no_file_can_be_made_there_is_an_error() {
        let ours = tempfile::tempdir().expect("temp dir");
        std::fs::write(directory(ours.path()), b"").expect("write");
        let said = Presence::begin(ours.path(), MODES).expect_err("refused");
        assert!(said.to_string().contains("presence"), "{said}");
    }
}
