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
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;
    use std::path::Path;
    use std::process::{Child, Command, ExitStatus};
    use std::time::{Duration, Instant};

    /// Tells a test that it runs in a process of its own; names the file by which it says that
    /// it is ready.
    const ROLE: &str = "GIT_LOCKS_TEST_SIGNALS_READY";
    const PATIENCE: Duration = Duration::from_secs(20);

    fn me() -> i32 {
        i32::try_from(std::process::id()).expect("a pid")
    }

    /// What arrives until `enough` says so.
    fn arrivals(signals: &mut Signals, enough: impl Fn(&[Arrival]) -> bool) -> Vec<Arrival> {
        let end = Instant::now() + PATIENCE;
        let mut all = Vec::new();
        while !enough(&all) {
            assert!(Instant::now() < end, "only {all:?} arrived");
            all.extend(signals.take());
            crate::sys::clock::pause(Duration::from_millis(1));
        }
        all
    }

    struct Reaped(Child);

    impl Reaped {
        fn ended(&mut self) -> ExitStatus {
            let end = Instant::now() + PATIENCE;
            loop {
                if let Some(status) = self.0.try_wait().expect("wait") {
                    return status;
                }
                assert!(Instant::now() < end, "the process does not end");
                std::thread::yield_now();
            }
        }
    }

    impl Drop for Reaped {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Runs `test` of this binary in a process of its own, begun by the shell words `start`; gives it to
    /// `meanwhile` once it is ready, then returns how it ended.
    fn apart(test: &str, start: &str, meanwhile: impl FnOnce(i32)) -> ExitStatus {
        let dir = tempfile::tempdir().expect("temp dir");
        let ready = dir.path().join("ready");
        let child = Command::new("sh")
            .arg("-c")
            .arg(format!(r#"{start} "$0" --exact "$1" --test-threads=1"#))
            .arg(std::env::current_exe().expect("this binary"))
            .arg(format!("sys::signals::tests::{test}"))
            .env(ROLE, &ready)
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("spawn");
        let mut child = Reaped(child);
        let end = Instant::now() + PATIENCE;
        while !ready.exists() {
            assert!(Instant::now() < end, "the process is not ready");
            assert!(
                child.0.try_wait().expect("wait").is_none(),
                "ended before it was ready"
            );
            std::thread::yield_now();
        }
        meanwhile(i32::try_from(child.0.id()).expect("a pid"));
        child.ended()
    }

    fn role() -> Option<std::path::PathBuf> {
        std::env::var_os(ROLE).map(Into::into)
    }

    fn say_ready(path: &Path) {
        std::fs::write(path, b"").expect("ready file");
    }

    #[test]
    fn what_arrives_is_given_once_and_readable_before() {
        let mut signals = Signals::arm(&[libc::SIGUSR1]).expect("armed");
        assert!(!signals.pending());
        assert_eq!(signals.take(), []);
        send(me(), libc::SIGUSR1).expect("sent");
        let end = Instant::now() + PATIENCE;
        while !signals.pending() {
            assert!(Instant::now() < end, "nothing is pending");
            std::thread::yield_now();
        }
        let arrived = arrivals(&mut signals, |all| !all.is_empty());
        let expected = Arrival {
            signal: libc::SIGUSR1,
            from_kernel: false,
            from_parent: false,
        };
        assert_eq!(arrived, [expected]);
        assert!(!arrived[0].ends());
        assert!(!signals.pending());
        assert_eq!(signals.take(), []);
    }

    #[test]
    fn a_second_set_is_told_too_and_outlives_the_first() {
        let first = Signals::arm(&[libc::SIGUSR2]).expect("armed");
        let mut second = Signals::arm(&[libc::SIGUSR2, libc::SIGUSR2]).expect("armed");
        drop(first);
        send(me(), libc::SIGUSR2).expect("sent");
        assert_eq!(arrivals(&mut second, |all| !all.is_empty()).len(), 1);
    }

    #[test]
    fn a_dropped_set_gives_back_the_default_action() {
        if let Some(ready) = role() {
            drop(Signals::arm(&ENDING).expect("armed"));
            // Armed, dropped and armed again, it is caught again.
            let mut again = Signals::arm(&ENDING).expect("armed");
            send(me(), libc::SIGTERM).expect("sent");
            arrivals(&mut again, |all| !all.is_empty());
            drop(again);
            say_ready(&ready);
            let end = Instant::now() + PATIENCE;
            while Instant::now() < end {
                std::thread::yield_now();
            }
            panic!("outlived its signal");
        }
        let status = apart(
            "a_dropped_set_gives_back_the_default_action",
            "exec",
            |pid| {
                send(pid, libc::SIGTERM).expect("sent");
            },
        );
        assert_eq!(status.signal(), Some(libc::SIGTERM), "{status}");
    }

    #[test]
    fn a_parent_is_recognised() {
        if let Some(ready) = role() {
            let mut signals = Signals::arm(&PASSED_ON).expect("armed");
            say_ready(&ready);
            let arrived = arrivals(&mut signals, |all| !all.is_empty());
            assert!(arrived[0].from_parent, "{arrived:?}");
            assert!(arrived[0].ends(), "{arrived:?}");
            return;
        }
        let status = apart("a_parent_is_recognised", "exec", |pid| {
            send(pid, libc::SIGTERM).expect("sent");
        });
        assert!(status.success(), "{status}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_was_ignored_from_the_start_stays_ignored() {
        if let Some(ready) = role() {
            let mut signals = Signals::arm(&ENDING).expect("armed");
            say_ready(&ready);
            send(me(), libc::SIGHUP).expect("sent");
            send(me(), libc::SIGTERM).expect("sent");
            let arrived = arrivals(&mut signals, |all| !all.is_empty());
            assert!(
                arrived.iter().all(|a| a.signal == libc::SIGTERM),
                "{arrived:?}"
            );
            drop(signals);
            send(me(), libc::SIGHUP).expect("sent");
            return;
        }
        let test = "what_was_ignored_from_the_start_stays_ignored";
        let status = apart(test, "trap '' HUP; exec", |_| {});
        assert!(status.success(), "{status}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_kernel_sends_by_itself_is_told_apart() {
        let mut signals = Signals::arm(&[libc::SIGALRM]).expect("armed");
        nix::unistd::alarm::set(1);
        let arrived = arrivals(&mut signals, |all| !all.is_empty());
        assert!(arrived[0].from_kernel, "{arrived:?}");
        assert!(!arrived[0].from_parent, "{arrived:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_end_of_a_child_arrives_even_where_that_was_ignored() {
        if let Some(ready) = role() {
            let mut signals = Signals::arm(&[CHILD]).expect("armed");
            say_ready(&ready);
            let child = Command::new("sh").args(["-c", "exit 7"]).spawn();
            let mut child = Reaped(child.expect("spawn"));
            let arrived = arrivals(&mut signals, |all| !all.is_empty());
            assert_eq!(arrived[0].signal, CHILD);
            assert!(!arrived[0].from_kernel && !arrived[0].ends());
            assert_eq!(child.ended().code(), Some(7));
            return;
        }
        let test = "the_end_of_a_child_arrives_even_where_that_was_ignored";
        // Shells do not ignore this one.
        let status = apart(test, "exec env --ignore-signal=CHLD", |_| {});
        assert!(status.success(), "{status}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_mask_of_ignored_signals_is_read_as_proc_writes_it() {
        let mask = parse_mask(
            "Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\tffff\n",
            "SigIgn:",
        );
        let ignored: Vec<i32> = (-1..70).filter(|&s| contains(mask, s)).collect();
        assert_eq!(ignored, [1, 13]);
        assert_eq!(parse_mask("SigIgn:\tzz\n", "SigIgn:"), 0);
        assert_eq!(parse_mask("", "SigIgn:"), 0);
    }

    #[test]
    fn what_cannot_be_caught_is_an_error() {
        for signal in [libc::SIGKILL, libc::SIGSTOP, 0, -1, 4000] {
            assert!(Signals::arm(&[signal]).is_err(), "{signal}");
        }
    }

    #[test]
    fn a_signal_goes_to_one_process_or_nowhere() {
        for pid in [0, -1, i32::MIN] {
            let said = send(pid, libc::SIGTERM).expect_err("refused").to_string();
            assert!(said.contains("TERM"), "{said}");
        }
        assert!(send(me(), 4000).is_err());
        // No process has this number.
        send(i32::MAX, libc::SIGTERM).expect("gone is fine");
    }

    #[test]
    fn signals_have_the_names_that_kill_takes() {
        assert_eq!(ENDING.map(name), ["INT", "TERM", "HUP", "QUIT"]);
        assert_eq!(name(CHILD), "CHLD");
        assert_eq!(name(0), "unknown");
    }
}
