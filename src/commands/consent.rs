//! Asking a person, where there is one.

use std::io::{self, IsTerminal as _};

use crate::commands::context::Context;
use crate::error::{Error, ErrorKind, Result, reason};

/// Whether there is a person to ask: at both ends a terminal.
pub fn may_ask(context: &Context) -> bool {
    context.voice.is_terminal() && io::stdin().is_terminal()
}

/// What a person answers to `question`, without blanks around it; nothing at the end of the input.
///
/// # Errors
/// The answer cannot be read.
pub fn answer(context: &Context, question: &str) -> Result<Option<String>> {
    context.voice.ask(question);
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer).map_err(|e| {
        let message = format!("cannot read the answer: {}", reason(&e));
        Error::new(ErrorKind::Io, message)
    })?;
    Ok((read > 0).then(|| answer.trim().to_owned()))
}

/// Whether a person says yes to `question`, which ends in `[y/N]`; nobody there has not said so.
///
/// # Errors
/// As for [`answer`].
pub fn says_yes(context: &Context, question: &str) -> Result<bool> {
    if !may_ask(context) {
        return Ok(false);
    }
    let answer = answer(context, question)?;
    Ok(matches!(answer.as_deref(), Some("y" | "Y" | "yes")))
}
