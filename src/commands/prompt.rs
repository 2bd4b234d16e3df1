//! `git locks prompt`: what a shell's prompt may show of the caller.
//!
//! Prints ⏳, 🔒 and 🔨, whichever apply, side by side and without a newline: it may stand in the middle
//! of a prompt. Nothing where there is nothing to say, or it cannot be found out: a prompt is no place
//! for errors, and an absent glyph promises nothing.
//!
//! It is called each time a prompt is drawn, so it reads the title tokens before anything else, and the
//! settings only where it found one. Of a command under a `run`, the tokens of that run count too.
//!
//! A token outlives its owner's death. 🔒 is shown only where the lock file names its owner as well: it
//! may be of a holder that is gone, but never of a lock that another has. ⏳ and 🔨 go by their age
//! alone.

use std::env;

use crate::cli::{Global, Who};
use crate::commands::context::named;
use crate::commands::{enter_directories, inside};
use crate::config;
use crate::error::Result;
use crate::exit::Exit;
use crate::identity::{self, PlanId};
use crate::locks::merge::Holder;
use crate::place::{self, Place};
use crate::report::Outcome;
use crate::store::merge::MergeStore;
use crate::sys::clock;
use crate::titles::{self, Title};
use crate::voice::Voice;

/// `prompt`: never fails.
pub fn run(who: &Who, global: &Global, voice: &Voice) -> Outcome {
    let line = line(who, global).unwrap_or_else(|error| {
        voice.detail(format!("nothing to show: {error}"));
        String::new()
    });
    Outcome::Text(line, Exit::SUCCESS)
}

fn line(who: &Who, global: &Global) -> Result<String> {
    enter_directories(global)?;
    let cwd = place::current_dir()?;
    let place = Place::find(&cwd)?;
    let caller = match named(who)? {
        Some(named) => named,
        None => identity::infer(&place, &cwd)?,
    };
    let mut shown = titles_of(&caller.id, &place)?;
    let run = env::var(inside::HOLDER).ok();
    let run = run.and_then(|id| PlanId::parse(&id));
    if let Some(run) = run.filter(|run| *run != caller.id) {
        shown.extend(titles_of(&run, &place)?);
    }
    if shown.is_empty() || !config::shows_title(&place)? {
        return Ok(String::new());
    }
    Ok(titles::glyphs(&shown))
}

/// The titles of `id` that are true as far as can be told at a glance.
fn titles_of(id: &PlanId, place: &Place) -> Result<Vec<Title>> {
    let mut titles = titles::read(&place.ours, id, clock::wall())?;
    if titles.contains(&Title::LockOwned) {
        let modes = place.sharing.modes();
        let store = MergeStore::new(&place.base, &place.ours, &place.plan_dir, modes);
        if store.holder()? != Some(Holder::Plan(id.clone())) {
            titles.retain(|title| *title != Title::LockOwned);
        }
    }
    Ok(titles)
}
