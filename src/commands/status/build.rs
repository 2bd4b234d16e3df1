//! The build queue's part of `git locks status`.

use super::{LISTED, told};
use crate::cli::Slots;
use crate::commands::build::check::{disagreeing, holders, waiters};
use crate::commands::build::site::Site;
use crate::commands::context::Context;
use crate::commands::part::listen_for_end;
use crate::error::Result;
use crate::liveness::Terms;
use crate::locks::build::{BuildState, Entry, entry_grounds};
use crate::report::{BuildOverview, Evident, Status};
use crate::sys::user;
use crate::text;
use crate::wait::Scene;

use super::merge::makes_no_sense;

/// Looks at the queue.
pub(super) fn look(context: &Context, terms: &Terms, scene: &mut Scene) -> BuildOverview {
    let slots = Slots { max_slots: None };
    let site = match Site::find(context, &slots) {
        Ok(site) => site,
        Err(error) => return unreadable(None, told(&error)),
    };
    read(&site, terms, scene)
        .unwrap_or_else(|error| unreadable(Some(site.queue_path()), told(&error)))
}

fn unreadable(queue_path: Option<String>, error: String) -> BuildOverview {
    BuildOverview {
        status: Status::Unreadable,
        max_slots: None,
        active_count: None,
        waiting_count: None,
        queue_path,
        user: user::name(user::me()),
        disagreeing_slots: Vec::new(),
        active: Vec::new(),
        waiting: Vec::new(),
        error: Some(error),
    }
}

fn read(site: &Site<'_>, terms: &Terms, scene: &mut Scene) -> Result<BuildOverview> {
    let store = site.store();
    scene.watch.push(store.queue_path.clone());
    let ahead = store.peek_ahead(LISTED)?;
    let state = &ahead.state;
    listen(state, site, terms, scene);
    let neighbours = site.neighbours();
    let judge =
        |state: &BuildState| state.judge(None, &site.project_root, site.slots, terms, &neighbours);
    // Those behind change nothing of what is to be said of those ahead; nor do they make room, but they
    // may take what those ahead leave.
    let verdicts = judge(state);
    let rules = site.rules();
    let mut is_free = state.has_room(&verdicts, &rules);
    if is_free && state.waiting.len() < ahead.waiting {
        let whole = store.peek_ahead(usize::MAX)?.state;
        is_free = whole.has_room(&judge(&whole), &rules);
    }
    let grounds = |entry: &Entry, active| {
        entry_grounds(entry, active, &site.project_root, terms, &neighbours)
    };
    let active = holders(state, &verdicts).into_iter().zip(&state.active);
    let active = active.map(|(who, entry)| Evident {
        who,
        evidence: grounds(entry, true),
    });
    let waiting = waiters(state, &verdicts).into_iter().zip(&state.waiting);
    let waiting = waiting.map(|(who, entry)| Evident {
        who,
        evidence: grounds(entry, false),
    });
    Ok(BuildOverview {
        status: if is_free { Status::Free } else { Status::Held },
        max_slots: Some(site.slots),
        active_count: Some(state.active.len()),
        waiting_count: Some(ahead.waiting),
        queue_path: Some(site.queue_path()),
        user: user::name(user::me()),
        disagreeing_slots: disagreeing(state, site.slots),
        active: active.collect(),
        waiting: waiting.collect(),
        error: ahead
            .corrupt
            .then(|| makes_no_sense(&text::path(&store.queue_path))),
    })
}

/// Listens for the end of those who have a slot.
fn listen(state: &BuildState, site: &Site<'_>, terms: &Terms, scene: &mut Scene) {
    let records = state.active.iter().filter_map(|entry| entry.record.known());
    for record in records {
        listen_for_end(scene, &record.who, &site.home.ours(), &terms.now);
    }
}
