//! `git locks hook uninstall`: the hook is again what it was before `install`, byte for byte.

use super::install::{Standing, changed_by_others, look, modes, path, remove, replace, report};
use super::script::{self, Found, Whose};
use crate::cli::HookUninstall;
use crate::commands::context::Context;
use crate::error::Result;
use crate::exit::Exit;
use crate::report::{HookAction, HookChanged, Outcome, Report};

/// `hook uninstall`.
///
/// # Errors
/// The hook cannot be read or written.
pub(super) fn uninstall(_args: &HookUninstall, context: &Context) -> Result<Outcome> {
    let path = path(&context.place.hooks_dir(&context.cwd)?);
    let nothing = |message: &str| {
        let report = HookChanged {
            action: Some(HookAction::Noop),
            message: Some(message.to_owned()),
            ..report(&path)
        };
        Ok(Outcome::new(Report::HookChanged(report), Exit::SUCCESS))
    };
    let hook = match look(&path)? {
        Standing::Nothing => return nothing("there is no hook"),
        Standing::Odd(_) => return nothing("the hook is not that of git-locks"),
        Standing::Hook(hook) => hook,
    };
    let (range, whose) = match script::find(&hook.content.bytes) {
        Found::Nothing => return nothing("the hook is not that of git-locks"),
        Found::Changed(first, last) => return Ok(changed_by_others(&path, first, last)),
        Found::Whole(range, whose) => (range, whose),
    };
    let rest = script::without(&hook.content.bytes, &range);
    // What somebody has written into our hook stays theirs.
    if whose == Whose::Own && rest == script::SHEBANG {
        remove(&path, &hook)?;
    } else {
        replace(&path, &hook, &rest, modes(context))?;
    }
    let report = HookChanged {
        action: Some(HookAction::Removed),
        ..report(&path)
    };
    Ok(Outcome::new(Report::HookChanged(report), Exit::SUCCESS))
}
