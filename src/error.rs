//! The one error of the crate: a kind, a one-line message, and the next thing to type.

use std::fmt;
use std::io;
use std::path::Path;

use crate::exit::Exit;
use crate::text;

/// `EMFILE`, on Linux and macOS alike.
const OUT_OF_DESCRIPTORS: i32 = 24;

/// What kind of failure an [`Error`] is; it decides the exit code and the `error_code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The command line or the environment asks for something that makes no sense.
    Usage,
    /// Something that was named does not exist (a process, for instance).
    NotFound,
    /// There is no repository here, or git refuses to open it.
    NotARepository,
    /// A state file or a system call failed.
    Io,
    /// A guard could not be had in time; the caller may try again.
    Timeout,
    /// This signal came before what was asked for.
    Interrupted(i32),
    /// The command to run does not exist.
    CommandNotFound,
    /// The command to run cannot be executed.
    CannotExecute,
    /// The lock under which the command should run is not held any more.
    Lost,
}

impl ErrorKind {
    /// The word of the output contract: `NOT_FOUND`, `INVALID_INPUT`, `TIMEOUT` or `IO`.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Usage => "INVALID_INPUT",
            Self::NotFound | Self::NotARepository | Self::CommandNotFound => "NOT_FOUND",
            Self::Io | Self::CannotExecute | Self::Lost => "IO",
            Self::Timeout | Self::Interrupted(_) => "TIMEOUT",
        }
    }

    /// The exit code of a command that ends with this kind of error.
    pub fn exit(self) -> Exit {
        match self {
            Self::Usage => Exit::USAGE,
            Self::NotFound => Exit::REFUSED,
            Self::NotARepository | Self::Io => Exit::FATAL,
            Self::Timeout => Exit::BLOCKED,
            Self::Interrupted(signal) => Exit::signal(signal),
            Self::CommandNotFound => Exit::COMMAND_NOT_FOUND,
            Self::CannotExecute => Exit::CANNOT_EXECUTE,
            Self::Lost => Exit::LOST,
        }
    }
}

/// A failure, ready to be shown to a person or a program.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    cause: Option<io::ErrorKind>,
    code: Option<i32>,
}

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind`, with a one-line `message` that needs no context to be understood.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            cause: None,
            code: None,
        }
    }

    /// A usage error (exit 2).
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// A failed attempt to `verb` the file at `path`, as in "cannot read '…': …".
    pub fn io(verb: &str, path: &Path, source: &io::Error) -> Self {
        let mut error = Self::new(
            ErrorKind::Io,
            format!("cannot {verb} {}: {}", text::path(path), reason(source)),
        );
        error.cause = Some(source.kind());
        error.code = source.raw_os_error();
        error
    }

    /// The same error with the next thing to do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The kind of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The one-line message. It may hold text from files: renderers sanitise it.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The next thing to do, where there is one.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Whether this very process may open no more files: that does not pass by itself.
    pub fn is_out_of_descriptors(&self) -> bool {
        self.code == Some(OUT_OF_DESCRIPTORS)
    }

    /// Whether something on the way was not there (any more).
    pub fn is_not_found(&self) -> bool {
        self.cause == Some(io::ErrorKind::NotFound)
    }

    /// Whether the disk or the quota is full.
    pub fn is_out_of_space(&self) -> bool {
        matches!(
            self.cause,
            Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The operating system's words without Rust's "(os error N)".
pub fn reason(error: &io::Error) -> String {
    let words = error.to_string();
    match words.find(" (os error") {
        Some(end) => words[..end].to_owned(),
        None => words,
    }
}
