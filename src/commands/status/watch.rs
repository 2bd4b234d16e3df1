//! `git locks status --watch`.
//!
//! Looks, shows what has changed, sleeps until something happens to what was seen, or a slow look is
//! due; and so on, until a signal comes or nobody reads any more. In place on a terminal, where it is
//! shown anew after every look, since ages grow; elsewhere one report after another, only when it says
//! something new.

use super::{Found, look};
use crate::commands::context::Context;
use crate::error::Result;
use crate::exit::Exit;
use crate::page::{Live, Page, Shown};
use crate::report::{Overview, Report};
use crate::sys::clock;
use crate::sys::signals::{self, Signals};
use crate::wait::{Ears, Senses};

/// How long is slept at most, in seconds.
const SLOW_LOOK: f64 = 2.0;
/// How long is slept at least, in seconds.
const REST: f64 = 0.25;

/// Watches until a signal comes, which the exit code tells, or nobody reads any more.
///
/// # Errors
/// Signals cannot be caught, or this process cannot be stopped as it is asked to.
pub(super) fn watch(context: &Context, page: &Page) -> Result<Exit> {
    let mut senses = Senses::new(Signals::arm(&signals::WATCHED)?);
    let mut live = Live::begin(page);
    let mut last = None;
    loop {
        let Found { overview, scene } = look(context);
        let news = Some(ageless(&overview));
        if live.is_in_place() || last != news {
            last = news;
            match live.show(&Report::Overview(Box::new(overview))) {
                Shown::Yes => {}
                Shown::Unread => return Ok(Exit::SUCCESS),
                Shown::Failed => return Ok(Exit::FATAL),
            }
        }
        let rested = clock::steady() + REST;
        let news = senses.listen(&scene);
        // What happened before we listened is not told.
        let slow = if news { REST } else { SLOW_LOOK };
        let span = scene.change.unwrap_or(f64::INFINITY).clamp(REST, slow);
        let mut left = span;
        loop {
            senses.sleep(left, None);
            for arrival in senses.signals.take() {
                if arrival.ends() {
                    return Ok(Exit::signal(arrival.signal));
                }
                if arrival.signal == signals::STOP_KEY {
                    live.suspend()?;
                }
            }
            if live.is_unread() {
                return Ok(Exit::SUCCESS);
            }
            left = rested - clock::steady();
            if left <= 0.0 {
                break;
            }
        }
    }
}

/// What is news of a report: all but how old sessions are, which grows by itself.
fn ageless(it: &Overview) -> Overview {
    let mut it = it.clone();
    for session in it.sessions.iter_mut().flatten() {
        session.age_hours = None;
        session.heartbeat_age_minutes = None;
    }
    it
}
