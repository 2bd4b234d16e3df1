//! Signals: which ones end us, who sent them, and those that are errors to us, not deaths.
//!
//! While a [`Signals`] lives, what it was armed for is noted and acted on by nobody else: a
//! terminal's Ctrl-C no longer kills. What this process was started to ignore (`nohup`) stays
//! ignored. Once the last one that was armed for a signal is dropped, the signal does what it
//! does by default: signal-hook leaves its handler installed for good, so the handler itself
//! then takes the default action. A program that is executed starts with the defaults and with
//! what is ignored, as if none of this were here.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::parent_id;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::unistd::Pid;
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::exfiltrator::origin::Origin;
use signal_hook::low_level::siginfo::Cause;

use crate::error::{Error, ErrorKind, Result, reason};

/// What asks a process to end: `INT`, `TERM`, `HUP`, `QUIT`.
pub const ENDING: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
/// What a runner passes on to its command: [`ENDING`] and `WINCH`.
pub const PASSED_ON: [i32; 5] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGWINCH,
];
/// What a watch that shows something in place looks out for: [`ENDING`], `WINCH` and [`STOP_KEY`].
pub const WATCHED: [i32; 6] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGWINCH,
    STOP_KEY,
];
/// The terminal's key for stopping: `TSTP`.
pub const STOP_KEY: i32 = libc::SIGTSTP;
/// `TERM`, `HUP` and `KILL` by themselves.
pub const TERM: i32 = libc::SIGTERM;
/// See [`TERM`].
pub const HUP: i32 = libc::SIGHUP;
/// See [`TERM`].
pub const QUIT: i32 = libc::SIGQUIT;
/// See [`TERM`].
pub const KILL: i32 = libc::SIGKILL;
/// A child has ended or stopped: `CHLD`.
pub const CHILD: i32 = libc::SIGCHLD;

/// How often each signal is armed, and the switch that gives it back its default action.
static ARMED: Mutex<BTreeMap<i32, Armed>> = Mutex::new(BTreeMap::new());

struct Armed {
    count: usize,
    by_default: Arc<AtomicBool>,
}

/// Signals that are noted instead of acted on, until this is dropped. What arrived and was not
/// taken is then lost: look before.
#[derive(Debug)]
#[must_use = "dropped at once it catches nothing"]
pub struct Signals {
    delivery: SignalDelivery<UnixStream, WithOrigin>,
    caught: Vec<i32>,
}

impl Signals {
    /// Catches `signals`, except those that this process was started to ignore. [`CHILD`] is
    /// caught even so: where it is ignored, no child's end can be waited for.
    ///
    /// # Errors
    /// A signal that cannot be caught, or no descriptors are left.
    pub fn arm(signals: &[i32]) -> Result<Self> {
        let ignored = ignored();
        let wanted = signals
            .iter()
            .filter(|&&signal| signal == CHILD || !contains(ignored, signal));
        let (read, write) = UnixStream::pair().map_err(|e| cannot_catch(&e))?;
        read.set_nonblocking(true).map_err(|e| cannot_catch(&e))?;
        write.set_nonblocking(true).map_err(|e| cannot_catch(&e))?;
        let delivery = SignalDelivery::with_pipe(
            read,
            write,
            WithOrigin::default(),
            std::iter::empty::<i32>(),
        )
        .map_err(|e| cannot_catch(&e))?;
        let mut armed = Self {
            delivery,
            caught: Vec::new(),
        };
        for &signal in wanted {
            armed.catch(signal)?;
        }
        Ok(armed)
    }

    fn catch(&mut self, signal: i32) -> Result<()> {
        // signal-hook panics on what it does not take.
        let known = Signal::try_from(signal).is_ok();
        if !known || signal_hook::consts::FORBIDDEN.contains(&signal) {
            return Err(Error::new(
                ErrorKind::Io,
                format!("signal {signal} cannot be caught"),
            ));
        }
        if self.caught.contains(&signal) {
            return Ok(());
        }
        self.delivery
            .handle()
            .add_signal(signal)
            .map_err(|e| cannot_catch(&e))?;
        let mut table = table();
        let armed = match table.entry(signal) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let by_default = Arc::new(AtomicBool::new(false));
                register_conditional_default(signal, Arc::clone(&by_default))
                    .map_err(|e| cannot_catch(&e))?;
                place.insert(Armed {
                    count: 0,
                    by_default,
                })
            }
        };
        armed.count += 1;
        armed.by_default.store(false, Ordering::SeqCst);
        self.caught.push(signal);
        Ok(())
    }

    /// Arrivals since the last call: by number, those of one number in the order in which they
    /// came. Of one number at most five are kept; like the kernel, which keeps one.
    pub fn take(&mut self) -> Vec<Arrival> {
        self.delivery.pending().map(|o| Arrival::of(&o)).collect()
    }

    /// Whether something arrived that [`take`](Self::take) has not given yet. May be true once
    /// too often: for what arrived while `take` was at it.
    pub fn pending(&self) -> bool {
        is_readable(self.as_fd())
    }

    /// What tells of arrivals while these signals are in other hands; `None` where no descriptors
    /// are left.
    pub fn bell(&self) -> Option<Bell> {
        self.as_fd().try_clone_to_owned().ok().map(Bell)
    }

    /// Readable when something arrived.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }
}

/// Tells that something arrived, without taking it.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// Whether something has arrived that was not taken yet.
    pub fn rings(&self) -> bool {
        is_readable(self.0.as_fd())
    }
}

fn is_readable(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(fd, PollFlags::POLLIN)];
    // A signal that interrupts the look has arrived.
    match poll(&mut fds, PollTimeout::ZERO) {
        Ok(ready) => ready > 0,
        Err(errno) => errno == Errno::EINTR,
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let mut table = table();
        for signal in &self.caught {
            if let Some(armed) = table.get_mut(signal) {
                armed.count = armed.count.saturating_sub(1);
                armed.by_default.store(armed.count == 0, Ordering::SeqCst);
            }
        }
    }
}

fn table() -> MutexGuard<'static, BTreeMap<i32, Armed>> {
    ARMED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn cannot_catch(error: &io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("cannot catch signals: {}", reason(error)),
    )
}

/// A signal that was sent to this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its number.
    pub signal: i32,
    /// Whether no process sent it: a terminal's Ctrl-C, which its whole foreground group gets.
    pub from_kernel: bool,
    /// Whether this process's parent sent it.
    pub from_parent: bool,
}

impl Arrival {
    fn of(origin: &Origin) -> Self {
        let sender = origin.process.map_or(0, |process| process.pid);
        let parent = i32::try_from(parent_id()).unwrap_or(0);
        Self {
            signal: origin.signal,
            // macOS does not say what the cause was, but names no process either.
            from_kernel: origin.cause == Cause::Kernel
                || cfg!(target_os = "macos") && origin.process.is_none(),
            // 0 is any process of an outer pid namespace.
            from_parent: sender > 0 && sender == parent,
        }
    }

    /// Whether it asks this process to end.
    pub fn ends(&self) -> bool {
        ENDING.contains(&self.signal)
    }
}

/// Sends `signal` to process `pid`; that it has ended is fine.
///
/// # Errors
/// It may not be sent, `signal` is none, or `pid` is not the number of one process.
pub fn send(pid: i32, signal: i32) -> Result<()> {
    let fail = |errno: Errno| {
        let why = reason(&io::Error::from(errno));
        Error::new(
            ErrorKind::Io,
            format!("cannot send {} to process {pid}: {why}", name(signal)),
        )
    };
    // 0 and less would be whole groups.
    if pid <= 0 {
        return Err(fail(Errno::EINVAL));
    }
    let signal = Signal::try_from(signal).map_err(fail)?;
    match kill(Pid::from_raw(pid), signal) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(errno) => Err(fail(errno)),
    }
}

/// Stops this process until it is continued.
///
/// # Errors
/// It may not be.
pub fn stop_myself() -> Result<()> {
    // 0 is no process: nothing is sent.
    send(
        i32::try_from(std::process::id()).unwrap_or(0),
        libc::SIGSTOP,
    )
}

/// The name of `signal`, as `TERM`; `unknown` for what is none.
pub fn name(signal: i32) -> &'static str {
    match Signal::try_from(signal) {
        Ok(signal) => {
            let full = signal.as_str();
            full.strip_prefix("SIG").unwrap_or(full)
        }
        Err(_) => "unknown",
    }
}

/// The signals that this process ignores, as a mask: bit 0 is signal 1.
#[cfg(target_os = "linux")]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    parse_mask(&status, "SigIgn:")
}

/// The signals that this process ignores: this system does not tell.
#[cfg(target_os = "macos")]
fn ignored() -> u64 {
    0
}

/// A set of signals of proc(5), such as `SigIgn:`; nothing where it is missing or damaged.
#[cfg(target_os = "linux")]
fn parse_mask(status: &str, name: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix(name));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

fn contains(mask: u64, signal: i32) -> bool {
    (1..=64).contains(&signal) && mask >> (signal - 1) & 1 == 1
}

/// Whether this process blocks what tells of the file size limit, and was not started to.
static SURVIVES: AtomicBool = AtomicBool::new(false);

fn size_limit() -> SigSet {
    let mut set = SigSet::empty();
    set.add(Signal::SIGXFSZ);
    set
}

/// Makes a write past the file size limit an error, as other failed writes are, rather than the
/// death of the process. Best effort.
pub fn survive_size_limit() {
    let before = size_limit().thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let blocked = before.is_ok_and(|before| !before.contains(Signal::SIGXFSZ));
    SURVIVES.store(blocked, Ordering::SeqCst);
}

/// Takes the signal that a write past the limit has left pending: once unblocked, it would still be the
/// death of the process.
#[cfg(target_os = "linux")]
fn forget_failed_writes() {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    if contains(parse_mask(&status, "SigPnd:"), Signal::SIGXFSZ as i32) {
        let _ = size_limit().wait();
    }
}

/// Takes the signal that a write past the limit has left pending: this system does not tell.
#[cfg(target_os = "macos")]
fn forget_failed_writes() {}

/// Does what starts or executes another program, which inherits what is blocked: without what
/// [`survive_size_limit`] blocks.
pub fn starting<T>(start: impl FnOnce() -> T) -> T {
    let survives = SURVIVES.load(Ordering::SeqCst);
    if survives {
        forget_failed_writes();
        let _ = size_limit().thread_unblock();
    }
    let started = start();
    if survives {
        let _ = size_limit().thread_block();
    }
    started
}

#[cfg(test)]
mod tests;
