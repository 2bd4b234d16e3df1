//! Exit codes: a documented part of the command-line contract.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done: admitted, released, free, no-op, queried |
//! | 1 | refused, or a negative answer that was asked for |
//! | 2 | usage |
//! | 75 | blocked or timed out: try again later (`EX_TEMPFAIL` of `sysexits.h`) |
//! | 76 | `run`: the lock was lost while the command ran |
//! | 126, 127 | `run`: the command could not be started; there was none |
//! | 128 | fatal: not a repository, unreadable state, I/O (as git itself) |
//! | 128+n | ended by signal n |
//!
//! A `run` that was admitted and kept its lock exits as its command did.

/// A process exit code of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(u8);

impl Exit {
    /// Done: admitted, released, free, a no-op, or a query answered.
    pub const SUCCESS: Self = Self(0);
    /// Refused, or a negative answer that was asked for.
    pub const REFUSED: Self = Self(1);
    /// The command line could not be understood.
    pub const USAGE: Self = Self(2);
    /// Blocked or timed out: try again later.
    pub const BLOCKED: Self = Self(75);
    /// The lock was lost while the command ran.
    pub const LOST: Self = Self(76);
    /// The command cannot be executed.
    pub const CANNOT_EXECUTE: Self = Self(126);
    /// There is no such command.
    pub const COMMAND_NOT_FOUND: Self = Self(127);
    /// Not a repository, unreadable state, or a failed system call.
    pub const FATAL: Self = Self(128);

    /// A command's own exit code.
    pub const fn of_command(code: u8) -> Self {
        Self(code)
    }

    /// The code by which shells tell that signal `number` ended a process.
    pub fn signal(number: i32) -> Self {
        Self(u8::try_from(number.saturating_add(128)).unwrap_or(u8::MAX))
    }

    /// The number given to the operating system.
    pub const fn code(self) -> u8 {
        self.0
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}
