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

/// The error of a wait in a queue of the kernel's that `signal` ended.
pub fn interrupted_in_line(signal: i32) -> Error {
    let name = signals::name(signal);
    let message = format!("interrupted by {name} while waiting");
    Error::new(ErrorKind::Interrupted(signal), message)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_none_only_for_an_endless_wait() {
        assert_eq!(Patience::None.budget(), Some(0.0));
        let span = Duration::from_millis(1500);
        assert_eq!(Patience::For(span).budget(), Some(1.5));
        assert_eq!(Patience::Endless.budget(), None);
    }

    #[test]
    fn a_duration_that_is_none_is_a_usage_error_that_names_the_flag() {
        assert_eq!(
            duration("1m30s", "--wait").ok(),
            Some(Duration::from_secs(90))
        );
        assert_eq!(duration("0", "--wait").ok(), Some(Duration::ZERO));
        for given in ["", "soon", "-1s", "5 m"] {
            let error = duration(given, "--max-hold").expect_err("no duration");
            assert_eq!(error.kind(), ErrorKind::Usage);
            let expected = format!("--max-hold: '{given}' is not a duration");
            assert_eq!(error.to_string(), expected);
        }
        let long = duration(&"9x".repeat(500), "--wait").expect_err("no duration");
        assert!(long.to_string().len() < 200, "{long}");
    }

    #[test]
    fn an_interrupted_wait_says_by_what_and_what_became_of_the_place() {
        let left = interrupted(15, &Ok(()));
        assert_eq!(left.kind(), ErrorKind::Interrupted(15));
        assert_eq!(
            left.to_string(),
            "interrupted by TERM; the place in the queue is given up"
        );
        let stayed = interrupted(2, &Err(Error::new(ErrorKind::Timeout, "the guard is busy")));
        assert_eq!(stayed.kind(), ErrorKind::Interrupted(2));
        let words = stayed.to_string();
        assert!(words.starts_with("interrupted by INT; "), "{words}");
        assert!(
            words.ends_with("could not be given up, but keeps nobody waiting: the guard is busy")
        );
        let early = interrupted_before_start(1);
        assert_eq!(early.kind(), ErrorKind::Interrupted(1));
        assert_eq!(
            early.to_string(),
            "interrupted by HUP before the command was started"
        );
    }
}
