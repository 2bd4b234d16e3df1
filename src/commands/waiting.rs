//! What every command that waits shares: for how long, and what it says when it gives up.

use std::time::Duration;

use crate::cli;
use crate::commands::context::Context;
use crate::config;
use crate::error::{Error, ErrorKind, Result};
use crate::sys::signals;
use crate::text;

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Not at all.
    None,
    /// At most so long.
    For(Duration),
    /// Until the turn comes.
    Endless,
}

impl Patience {
    /// What the flags ask for, else, where one waits `by_default`, the settings.
    pub fn of(args: &cli::Patience, by_default: bool, context: &Context) -> Result<Self> {
        if args.no_wait || (args.wait.is_none() && !by_default) {
            return Ok(Self::None);
        }
        match args.wait.as_ref().and_then(Option::as_deref) {
            Some(given) => duration(given, "--wait").map(Self::For),
            None => Ok(context
                .settings
                .wait_timeout
                .map_or(Self::Endless, Self::For)),
        }
    }

    /// The budget in seconds; none for no end.
    pub fn budget(self) -> Option<f64> {
        match self {
            Self::None => Some(0.0),
            Self::For(span) => Some(span.as_secs_f64()),
            Self::Endless => None,
        }
    }
}

/// A duration that a flag was given.
pub fn duration(given: &str, flag: &str) -> Result<Duration> {
    config::duration(given).ok_or_else(|| {
        let shown = text::clip(given, 100);
        Error::usage(format!("{flag}: '{shown}' is not a duration"))
            .with_hint(config::DURATION_HINT)
    })
}

/// Says that the place in the queue is kept after a wait that came to nothing.
pub fn say_place_is_kept(context: &Context) {
    let span = text::span(context.settings.ticket_ttl.as_secs_f64());
    context.voice.inform(format!(
        "the wait is over, but the place in the queue is kept for {span}: ask again"
    ));
}

/// The error of a wait that `signal` ended; `left` is what came of leaving the queue.
pub fn interrupted(signal: i32, left: &Result<()>) -> Error {
    let name = signals::name(signal);
    let message = match left {
        Ok(()) => format!("interrupted by {name}; the place in the queue is given up"),
        Err(error) => format!(
            "interrupted by {name}; the place in the queue could not be given up, \
             but keeps nobody waiting: {error}"
        ),
    };
    Error::new(ErrorKind::Interrupted(signal), message)
}

/// The error of a run that `signal` ended after the lock was had and before the command started.
pub fn interrupted_before_start(signal: i32) -> Error {
    let name = signals::name(signal);
    let message = format!("interrupted by {name} before the command was started");
    Error::new(ErrorKind::Interrupted(signal), message)
}
