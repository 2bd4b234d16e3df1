//! Tests of signals, each in a process of its own where it catches any.

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
