//! What ends a sleep: a change of a watched file, the end of a process, a signal, or the time.
//!
//! Whoever waits goes round like this, so that nothing that happens while it looks is missed:
//! [`Watch::set`], again while it returns true if what it names depends on what was read;
//! [`Watch::drain`]; look; [`sleep`].
//!
//! A watch wakes earlier and is never relied on: it does not see a file appear where there was
//! none, nor what another machine does on a shared file system. Whoever waits looks again
//! after a while in any case. Where the system has no watch to give, sleeps are short.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
#[cfg(target_os = "linux")]
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};
use nix::sys::stat::{SFlag, fstat};

use crate::sys::clock;
use crate::sys::fifo::Doorbell;
use crate::sys::file::{self, Instance};
use crate::sys::signals::Signals;

/// How long a sleep is at most where something could not be watched.
const SHORT: Duration = Duration::from_millis(100);

/// Files whose changes end a [`sleep`].
#[derive(Debug)]
pub struct Watch {
    /// What stood at each path when it was last set; `None`: nothing that can be watched.
    seen: BTreeMap<PathBuf, Option<Seen>>,
    /// Whether all that stood there is watched.
    complete: bool,
    kernel: Kernel,
}

/// A file that stands at a path, and the kernel's watch on it.
#[derive(Debug)]
struct Seen {
    file: Instance,
    watch: Option<Descriptor>,
}

impl Seen {
    /// A new watch is a new file, even where the file system has used the old inode again.
    fn is(&self, other: &Self) -> bool {
        self.file.same_file(&other.file) && self.watch == other.watch
    }
}

impl Watch {
    /// A watch on nothing yet. Never fails: where the system has none to give, sleeps are short.
    pub fn new() -> Self {
        Self {
            seen: BTreeMap::new(),
            complete: true,
            kernel: Kernel::new(),
        }
    }

    /// Watches exactly these files from now on: what stands at the paths now, not what will.
    /// Only regular files are watched.
    ///
    /// Returns whether that differs from before; a path that was replaced, a file that appeared
    /// or one that went does.
    pub fn set(&mut self, paths: &[PathBuf]) -> bool {
        let now: BTreeMap<PathBuf, Option<Seen>> = paths
            .iter()
            .map(|path| (path.clone(), self.kernel.see(path)))
            .collect();
        let same = now.len() == self.seen.len()
            && now.iter().zip(&self.seen).all(|(new, old)| {
                new.0 == old.0
                    && match (new.1, old.1) {
                        (Some(new), Some(old)) => new.is(old),
                        (None, None) => true,
                        _ => false,
                    }
            });
        let wanted = descriptors(&now);
        for old in descriptors(&self.seen) {
            if !wanted.contains(&old) {
                self.kernel.forget(old);
            }
        }
        self.complete = now.values().flatten().all(|seen| seen.watch.is_some());
        self.seen = now;
        !same
    }

    /// Forgets what has happened so far: only what happens from now on ends a sleep.
    pub fn drain(&mut self) {
        self.kernel.drain();
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self::new()
    }
}

fn descriptors(seen: &BTreeMap<PathBuf, Option<Seen>>) -> Vec<Descriptor> {
    let seen = seen.values().flatten();
    seen.filter_map(|seen| seen.watch).collect()
}

#[cfg(target_os = "linux")]
type Descriptor = WatchDescriptor;

/// inotify, once something is watched; none where the user's limit on instances is reached, which
/// is low: who has nothing to watch takes none.
#[cfg(target_os = "linux")]
#[derive(Debug)]
struct Kernel {
    inotify: Option<Inotify>,
    tried: bool,
}

#[cfg(target_os = "linux")]
impl Kernel {
    fn new() -> Self {
        Self {
            inotify: None,
            tried: false,
        }
    }

    /// Watches the regular file at `path`. One that is watched already keeps its descriptor.
    fn see(&mut self, path: &Path) -> Option<Seen> {
        let flags = AddWatchFlags::IN_MODIFY
            | AddWatchFlags::IN_ATTRIB
            | AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_DELETE_SELF
            | AddWatchFlags::IN_MOVE_SELF
            | AddWatchFlags::IN_DONT_FOLLOW;
        let file = regular(path)?;
        if !self.tried {
            self.tried = true;
            self.inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok();
        }
        let watch = match &self.inotify {
            Some(inotify) => inotify.add_watch(path, flags).ok(),
            None => None,
        };
        Some(Seen { file, watch })
    }

    fn forget(&self, watch: Descriptor) {
        if let Some(inotify) = &self.inotify {
            // The kernel has forgotten it by itself if the file is gone.
            let _ = inotify.rm_watch(watch);
        }
    }

    fn drain(&self) {
        let Some(inotify) = &self.inotify else { return };
        // The kernel queues some thousand events; more come from somebody who writes without
        // end, and those may as well wake us.
        for _ in 0..1024 {
            match inotify.read_events() {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return,
            }
        }
    }

    fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(Inotify::as_fd)
    }
}

#[cfg(target_os = "macos")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Descriptor {}

/// This system's watches need an open descriptor for each file: we look often instead.
#[cfg(target_os = "macos")]
#[derive(Debug)]
struct Kernel;

#[cfg(target_os = "macos")]
#[expect(clippy::unused_self, reason = "the shape that the other system needs")]
impl Kernel {
    fn new() -> Self {
        Self
    }

    fn see(&mut self, path: &Path) -> Option<Seen> {
        let file = regular(path)?;
        Some(Seen { file, watch: None })
    }

    fn forget(&self, watch: Descriptor) {
        match watch {}
    }

    fn drain(&self) {}

    fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// The regular file at `path`.
fn regular(path: &Path) -> Option<Instance> {
    let there = std::fs::symlink_metadata(path).ok()?;
    if !there.is_file() {
        return None;
    }
    file::instance(path).ok().flatten()
}

/// A process's end, as something to sleep on.
#[derive(Debug)]
pub struct End(OwnedFd);

impl End {
    /// Whether the process has ended: from then on it would end every sleep at once.
    pub fn has_come(&self) -> bool {
        let mut fds = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        matches!(poll(&mut fds, PollTimeout::ZERO), Ok(ready) if ready > 0)
    }
}

/// The end of process `pid`; `None` where this cannot be had or it has ended, which the
/// caller's slow look finds out.
///
/// Numbers are reused: check that the process is the one you mean after this, not before.
#[cfg(target_os = "linux")]
pub fn end_of(pid: i32) -> Option<End> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    // Zero and less are no process, and the conversion takes no negative ones.
    let pid = Pid::from_raw(pid.max(0))?;
    pidfd_open(pid, PidfdFlags::empty()).ok().map(End)
}

/// The end of process `pid`: not to be had on this system.
#[cfg(target_os = "macos")]
pub fn end_of(_pid: i32) -> Option<End> {
    None
}

/// The end of who reads standard output, where that is a pipe that nothing else can end a sleep at.
pub fn end_of_reader() -> Option<End> {
    let out = std::io::stdout();
    let kind = SFlag::from_bits_truncate(fstat(&out).ok()?.st_mode & SFlag::S_IFMT.bits());
    let flags = OFlag::from_bits_truncate(fcntl(&out, FcntlArg::F_GETFL).ok()?);
    // What can be read from, too, would be ready for that.
    let is_pipe = kind == SFlag::S_IFIFO && flags & OFlag::O_ACCMODE == OFlag::O_WRONLY;
    is_pipe.then(|| out.as_fd().try_clone_to_owned().ok().map(End))?
}

/// Waits until standard output takes words, a pipe [`PIPE_BUF`](nix::libc::PIPE_BUF) bytes at least, or a
/// signal arrives; whether the former is so.
pub fn output_has_room(signals: &Signals) -> bool {
    let out = std::io::stdout();
    let mut fds = [
        PollFd::new(out.as_fd(), PollFlags::POLLOUT),
        PollFd::new(signals.as_fd(), PollFlags::POLLIN),
    ];
    match poll(&mut fds, PollTimeout::NONE) {
        Ok(_) => fds[0].any().unwrap_or(true),
        Err(errno) => errno != Errno::EINTR,
    }
}

/// Sleeps until something happens to what is watched, one of `ends` ends, a signal arrives, the
/// `bell` is rung, or `span` is over; 100 ms at most where something could not be watched. May wake
/// for nothing.
pub fn sleep(
    watch: &Watch,
    ends: &[End],
    signals: &Signals,
    bell: Option<&Doorbell>,
    span: Duration,
) {
    let span = if watch.complete {
        span
    } else {
        span.min(SHORT)
    };
    let fds = watch.kernel.as_fd().into_iter();
    let fds = fds.chain(ends.iter().map(|end| end.0.as_fd()));
    let mut fds: Vec<PollFd<'_>> = fds
        .chain([signals.as_fd()])
        .chain(bell.map(Doorbell::as_fd))
        .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
        .collect();
    match poll(&mut fds, timeout(span)) {
        Ok(_) | Err(Errno::EINTR) => {}
        // Out of memory or descriptors: not an excuse to spin.
        Err(_) => clock::pause(span.min(SHORT)),
    }
}

/// `span` in whole milliseconds, rounded up: a sleep that ends early would be slept again.
fn timeout(span: Duration) -> PollTimeout {
    let millis = span.as_nanos().div_ceil(1_000_000);
    PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::io::Write as _;
    use std::process::{Child, Command, Stdio};
    use std::time::Instant;

    use nix::libc;

    use crate::sys::signals;

    /// Longer than any test takes: a sleep that nothing ends fails its test.
    const LONG: Duration = Duration::from_secs(20);

    struct Ground {
        dir: tempfile::TempDir,
        watch: Watch,
        signals: Signals,
    }

    impl Ground {
        /// A directory with the files `a` and `b`, and a watch on `a`.
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("temp dir");
            for name in ["a", "b"] {
                fs::write(dir.path().join(name), b"x").expect("write");
            }
            let mut ground = Self {
                dir,
                watch: Watch::new(),
                signals: Signals::arm(&[]).expect("armed"),
            };
            assert!(ground.set(&["a"]));
            ground
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().join(name)
        }

        fn set(&mut self, names: &[&str]) -> bool {
            let paths: Vec<PathBuf> = names.iter().map(|name| self.path(name)).collect();
            self.watch.set(&paths)
        }

        /// Whether something would end a sleep now.
        fn would_wake(&self) -> bool {
            let fd = self.watch.kernel.as_fd().expect("inotify");
            let mut fds = [PollFd::new(fd, PollFlags::POLLIN)];
            poll(&mut fds, PollTimeout::ZERO).expect("poll") > 0
        }

        fn wakes(&self, ends: &[End]) -> bool {
            let start = Instant::now();
            sleep(&self.watch, ends, &self.signals, None, LONG);
            start.elapsed() < LONG
        }
    }

    struct Reaped(Child);

    impl Drop for Reaped {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// A process that lives until its standard input is closed.
    fn living() -> Reaped {
        let child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        Reaped(child.expect("spawn"))
    }

    fn end_of_child(child: &Reaped) -> End {
        let pid = i32::try_from(child.0.id()).expect("a pid");
        end_of(pid).expect("a pidfd")
    }

    #[test]
    fn a_write_to_a_watched_file_wakes_until_it_is_drained() {
        let mut ground = Ground::new();
        assert!(!ground.would_wake());
        let mut file = File::options().append(true).open(ground.path("a"));
        file.as_mut().expect("open").write_all(b"y").expect("write");
        assert!(ground.wakes(&[]));
        drop(file);
        ground.watch.drain();
        assert!(!ground.would_wake());
    }

    #[test]
    fn a_removal_and_a_replacement_wake() {
        for replace in [false, true] {
            let ground = Ground::new();
            // Somebody who keeps the file open, as a lock's owner does, delays no waking.
            let _held = File::open(ground.path("a")).expect("open");
            if replace {
                fs::rename(ground.path("b"), ground.path("a")).expect("rename");
            } else {
                fs::remove_file(ground.path("a")).expect("remove");
            }
            assert!(ground.wakes(&[]), "replaced: {replace}");
        }
    }

    #[test]
    fn what_is_not_watched_does_not_wake() {
        let mut ground = Ground::new();
        fs::write(ground.path("b"), b"y").expect("write");
        fs::write(ground.path("c"), b"y").expect("write");
        assert!(!ground.would_wake());
        assert!(ground.set(&["b"]));
        ground.watch.drain();
        fs::write(ground.path("a"), b"y").expect("write");
        assert!(!ground.would_wake(), "it is no longer watched");
        fs::write(ground.path("b"), b"z").expect("write");
        assert!(ground.would_wake());
    }

    #[test]
    fn the_same_files_are_no_difference() {
        let mut ground = Ground::new();
        assert!(!ground.set(&["a"]));
        assert!(ground.set(&["a", "missing"]));
        assert!(!ground.set(&["missing", "a", "a"]));
        fs::write(ground.path("a"), b"other content").expect("write");
        assert!(!ground.set(&["a", "missing"]));
    }

    #[test]
    fn what_stands_at_a_path_is_compared_not_its_name() {
        let mut ground = Ground::new();
        fs::rename(ground.path("b"), ground.path("a")).expect("rename");
        assert!(ground.set(&["a"]), "replaced");
        fs::remove_file(ground.path("a")).expect("remove");
        assert!(ground.set(&["a"]), "gone");
        assert!(!ground.set(&["a"]));
        fs::write(ground.path("a"), b"x").expect("write");
        assert!(ground.set(&["a"]), "appeared");
        // The file system may give the new file the old one's inode.
        fs::remove_file(ground.path("a")).expect("remove");
        fs::write(ground.path("a"), b"x").expect("write");
        assert!(ground.set(&["a"]), "made anew");
        ground.watch.drain();
        fs::write(ground.path("a"), b"y").expect("write");
        assert!(ground.would_wake());
    }

    #[test]
    fn one_file_under_two_names_stays_watched_when_one_is_given_up() {
        let mut ground = Ground::new();
        fs::hard_link(ground.path("a"), ground.path("c")).expect("link");
        assert!(ground.set(&["a", "c"]));
        assert!(ground.set(&["c"]));
        ground.watch.drain();
        fs::write(ground.path("a"), b"y").expect("write");
        assert!(ground.would_wake());
    }

    #[test]
    fn only_regular_files_are_watched() {
        let mut ground = Ground::new();
        fs::create_dir(ground.path("dir")).expect("mkdir");
        std::os::unix::fs::symlink(ground.path("b"), ground.path("link")).expect("symlink");
        ground.set(&["dir", "link", "."]);
        ground.watch.drain();
        fs::write(ground.path("dir/inside"), b"x").expect("write");
        fs::write(ground.path("b"), b"y").expect("write");
        assert!(!ground.would_wake());
    }

    #[test]
    fn without_a_watch_sleeps_are_short() {
        let mut ground = Ground::new();
        ground.watch.kernel = Kernel {
            inotify: None,
            tried: true,
        };
        assert!(ground.set(&["a"]), "what was watched no longer is");
        assert!(ground.wakes(&[]));
        fs::rename(ground.path("b"), ground.path("a")).expect("rename");
        assert!(ground.set(&["a"]));
    }

    #[test]
    fn the_end_of_a_process_wakes() {
        let ground = Ground::new();
        let mut child = living();
        let ends = [end_of_child(&child)];
        let mut fds = [PollFd::new(ends[0].0.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut fds, PollTimeout::ZERO), Ok(0), "it lives");
        drop(child.0.stdin.take());
        assert!(ground.wakes(&ends));
        // Not reaped yet, it has ended all the same.
        assert!(ground.wakes(&ends));
    }

    #[test]
    fn what_is_no_process_has_no_end() {
        for pid in [0, -1, i32::MIN, i32::MAX] {
            assert!(end_of(pid).is_none(), "{pid}");
        }
    }

    #[test]
    fn a_signal_wakes() {
        let mut ground = Ground::new();
        ground.signals = Signals::arm(&[libc::SIGURG]).expect("armed");
        let me = i32::try_from(std::process::id()).expect("a pid");
        signals::send(me, libc::SIGURG).expect("sent");
        assert!(ground.wakes(&[]));
        assert!(ground.signals.pending());
    }

    #[test]
    fn a_sleep_lasts_its_span() {
        let ground = Ground::new();
        let span = Duration::from_micros(2_300);
        let end = Instant::now() + LONG;
        loop {
            let start = Instant::now();
            sleep(&ground.watch, &[], &ground.signals, None, span);
            // Shorter only when another test's signal hit this thread.
            if start.elapsed() >= span {
                break;
            }
            assert!(Instant::now() < end, "every sleep is too short");
        }
        assert!(Instant::now() < end, "a sleep is far too long");
        let millis = |span| timeout(span).as_millis();
        assert_eq!(millis(span), Some(3));
        assert_eq!(millis(Duration::ZERO), Some(0));
        assert_eq!(millis(Duration::from_nanos(1)), Some(1));
        assert!(millis(Duration::MAX).is_some_and(|ms| ms > 1_000_000_000));
    }
}
