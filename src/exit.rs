//! Exit codes: a documented part of the command-line contract.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done: admitted, released, free, no-op, queried |
//! | 1 | refused, or a negative answer that was asked for |
//! | 2 | usage |
//! | 75 | blocked or timed out: try again later (`EX_TEMPFAIL` of `sysexits.h`) |
//! | 128 | fatal: not a repository, unreadable state, I/O (as git itself) |

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
    /// Not a repository, unreadable state, or a failed system call.
    pub const FATAL: Self = Self(128);

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
