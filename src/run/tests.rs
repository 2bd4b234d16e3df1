//! Which signals reach a command, and how its end is told.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;

use super::*;

const INT: i32 = 2;
const WINCH: i32 = 28;
const USR1: i32 = 10;

/// A process to send signals to: it goes with this.
struct Target(Child);

impl Target {
    fn new() -> Self {
        let mut command = Command::new("sleep");
        command.arg("600").stdin(Stdio::null());
        Self(command.spawn().expect("sleep"))
    }

    fn post(&self) -> Post {
        Post::new(i32::try_from(self.0.id()).expect("a pid"))
    }

    /// The signal that it dies of.
    fn dies_of(mut self) -> Option<i32> {
        let status = self.0.wait().expect("its end");
        status.signal()
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().expect("a look").is_none()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn arrival(signal: i32, from_kernel: bool, from_parent: bool) -> Arrival {
    Arrival {
        signal,
        from_kernel,
        from_parent,
    }
}

#[test]
fn what_others_send_is_passed_on() {
    for signal in signals::ENDING {
        let target = Target::new();
        assert!(target.post().pass_on(arrival(signal, false, false), 5.0));
        assert_eq!(target.dies_of(), Some(signal));
    }
    let target = Target::new();
    assert!(target.post().pass_on(arrival(WINCH, false, false), 5.0));
}

#[test]
fn what_the_terminal_sends_to_all_is_not_passed_on() {
    for signal in signals::PASSED_ON {
        let mut target = Target::new();
        // That it has hung up, it tells the leader of the session alone.
        let expected = signal == signals::HUP && process::leads_session();
        let passed = target.post().pass_on(arrival(signal, true, false), 5.0);
        assert_eq!(passed, expected, "{signal}");
        assert_eq!(target.lives(), !expected, "{signal}");
    }
}

#[test]
fn what_is_not_for_the_command_is_not_passed_on() {
    for signal in [signals::CHILD, USR1] {
        let target = Target::new();
        assert!(!target.post().pass_on(arrival(signal, false, false), 5.0));
    }
}

#[test]
fn the_parent_s_echo_within_a_second_is_the_same_signal() {
    let target = Target::new();
    let passed = |signals: &[(i32, bool, bool, f64)]| -> Vec<bool> {
        let mut post = target.post();
        let all = signals.iter();
        all.map(|(signal, kernel, parent, at)| {
            post.pass_on(arrival(*signal, *kernel, *parent), *at)
        })
        .collect()
    };
    // A harmless one, so that the target is there to the end.
    let echo = passed(&[(WINCH, true, false, 5.0), (WINCH, false, true, 5.9)]);
    assert_eq!(echo, [false, false], "first the terminal's");
    let late = passed(&[(WINCH, true, false, 5.0), (WINCH, false, true, 6.0)]);
    assert_eq!(late, [false, true], "a second later");
    let first = passed(&[(WINCH, false, true, 5.0)]);
    assert_eq!(first, [true], "there was none before");
    let other = passed(&[(WINCH, false, false, 5.0), (WINCH, false, false, 5.1)]);
    assert_eq!(other, [true, true], "others mean it each time");
    let repeated = passed(&[(WINCH, false, true, 5.0), (WINCH, false, true, 5.5)]);
    assert_eq!(repeated, [true, false], "whoever sent the first");
    let insisting = passed(&[
        (WINCH, true, false, 5.0),
        (WINCH, false, true, 5.6),
        (WINCH, false, true, 6.2),
    ]);
    assert_eq!(insisting, [false, false, true], "from the first on");
    let mixed = Target::new();
    let mut post = mixed.post();
    assert!(!post.pass_on(arrival(INT, true, false), 5.0));
    assert!(
        post.pass_on(arrival(WINCH, false, true), 5.1),
        "another signal"
    );
    assert!(
        !post.pass_on(arrival(INT, false, true), 5.2),
        "still the same"
    );
}

#[test]
fn a_command_ends_with_the_code_that_a_shell_gives() {
    let exit = |raw| exit_of(ExitStatus::from_raw(raw));
    assert_eq!(exit(0), Exit::of_command(0));
    assert_eq!(exit(3 << 8), Exit::of_command(3));
    assert_eq!(exit(255 << 8), Exit::of_command(255));
    for signal in [1, 2, 9, 15] {
        assert_eq!(exit(signal), Exit::signal(signal));
    }
}

#[test]
fn what_cannot_be_run_says_why() {
    let missing = cannot_run(
        OsStr::new("no such\u{1b}program"),
        &io::Error::from(io::ErrorKind::NotFound),
    );
    assert_eq!(missing.kind(), ErrorKind::CommandNotFound);
    assert!(!missing.to_string().contains('\u{1b}'), "{missing}");
    for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::Other] {
        let error = cannot_run(OsStr::new("x"), &io::Error::from(kind));
        assert_eq!(error.kind(), ErrorKind::CannotExecute);
    }
}

#[test]
fn whose_the_lock_is_in_words() {
    assert_eq!(whose(None), "nobody holds it");
    assert_eq!(whose(Some("alpha")), "held by alpha");
}
