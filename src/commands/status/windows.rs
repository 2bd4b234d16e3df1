//! The rate windows' part of `git locks status`.

use super::merge::Read;
use super::told;
use crate::commands::rate_window::{judge_holder, read_all};
use crate::error::Error;
use crate::liveness::{Terms, World};
use crate::locks::rate_window::{ATTEMPT_CAP, Window};
use crate::report::{Status, WindowOverview};

/// The window of every bot.
pub(super) fn look(read: &Read, terms: &Terms, world: &dyn World) -> Vec<WindowOverview> {
    let windows = match &read.document {
        Ok(document) => read_all(document),
        Err(error) => return vec![unreadable(error)],
    };
    // Who is no plan is told by our records. Without them nobody is known to be one.
    let names = read.state.as_ref().map(|state| &state.records.windows);
    let row = |(bot, window): (String, Window)| {
        let recorded = names.as_ref().map(|names| names.get(&bot));
        let by_clock = recorded.map_or(true, |name| {
            name.is_some() && name == window.holder.as_ref()
        });
        let held = !window.expired(terms.now.moment.wall);
        let holder = window.holder.as_deref().filter(|_| held);
        let verdict = holder.map(|holder| judge_holder(holder, by_clock, terms, world));
        WindowOverview {
            status: if held { Status::Held } else { Status::Free },
            bot_kind: Some(bot),
            staleness: verdict.map(|(verdict, _)| verdict.staleness),
            evidence: verdict.map(|(_, grounds)| grounds),
            expires_at: window.expires_at,
            pr_number: window.pr_number,
            attempts: Some(window.attempts),
            attempt_cap: ATTEMPT_CAP,
            holder: window.holder,
            error: None,
        }
    };
    windows.into_iter().map(row).collect()
}

fn unreadable(error: &Error) -> WindowOverview {
    WindowOverview {
        status: Status::Unreadable,
        bot_kind: None,
        holder: None,
        staleness: None,
        evidence: None,
        expires_at: None,
        pr_number: None,
        attempts: None,
        attempt_cap: ATTEMPT_CAP,
        error: Some(told(error)),
    }
}
