//! Which of the entries is the caller's.

use std::path::Path;

use crate::locks::asking::Caller;
use crate::participant::Kind;

use super::sight::Sight;
use super::state::{BuildState, Entry, Record, Recorded};

/// The entry that a caller is to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// The one at this place among the active.
    Active(usize),
    /// The one at this place among those who wait.
    Waiting(usize),
    /// It is another process's.
    Namesake,
    /// There is none.
    Nothing,
}

/// Whether the entry is of the caller's id and project.
pub(super) fn is_of(entry: &Entry, caller: &Caller, own_root: &Path) -> bool {
    let here = |root: &str| root == own_root.to_string_lossy();
    entry.plan_id() == caller.id.as_str()
        && entry.project_root.as_deref().is_none_or(here)
        && entry
            .record
            .known()
            .is_none_or(|record| caller.is_meant_by(&record.who))
}

/// Whether the entry was made by the very process that calls.
pub(super) fn is_of_process(entry: &Entry, caller: &Caller) -> bool {
    let record = entry.record.known();
    caller.presence.is_some() && record.is_some_and(|r| r.who.presence == caller.presence)
}

/// Whether this is a run: a process that builds, or waits to build, by itself.
pub(super) fn is_run(record: &Record) -> bool {
    record.who.kind == Kind::Attached && (record.claimed || record.who.token.is_some())
}

/// Whether this may be of a process that is not the caller's: one that waits, or waited, to hold
/// detached, or one of which we cannot read what it is.
fn may_be_of_process(entry: &Entry) -> bool {
    match &entry.record {
        Recorded::As(record) => record.who.kind == Kind::Attached,
        Recorded::Unreadable => true,
        Recorded::Not => false,
    }
}

/// The entry that the caller is to use; `attached` is whether it asks as a run.
pub(super) fn find(state: &BuildState, caller: &Caller, attached: bool, sight: &Sight<'_>) -> Own {
    let own = |entry: &Entry| is_of(entry, caller, sight.rules.project_root);
    let very = |entry: &Entry| own(entry) && is_of_process(entry, caller);
    if let Some(place) = state.active.iter().position(very) {
        return Own::Active(place);
    }
    if let Some(place) = state.waiting.iter().position(very) {
        return Own::Waiting(place);
    }
    let present = |entry: &Entry| sight.verdict(entry).present;
    let run = |entry: &Entry| entry.record.known().is_some_and(is_run);
    let active_run = |entry: &Entry| own(entry) && run(entry);
    // One that cannot be seen may be there.
    let waiting_run = |entry: &Entry| own(entry) && run(entry) && !sight.is_dead(entry);
    if attached && (state.active.iter().any(active_run) || state.waiting.iter().any(waiting_run)) {
        return Own::Namesake;
    }
    let detached = |entry: &Entry| own(entry) && !run(entry);
    if let Some(place) = state.active.iter().position(detached) {
        let of_another = |entry: &Entry| may_be_of_process(entry) || !sight.may_be_visited(entry);
        if attached && state.active.get(place).is_some_and(of_another) {
            return Own::Namesake;
        }
        return Own::Active(place);
    }
    let waits = |entry: &Entry| own(entry) && !waiting_run(entry);
    let of_another = |entry: &Entry| present(entry) || entry.record == Recorded::Unreadable;
    match state.waiting.iter().position(waits) {
        Some(place) if attached && state.waiting.get(place).is_some_and(of_another) => {
            Own::Namesake
        }
        Some(place) => Own::Waiting(place),
        None => Own::Nothing,
    }
}

/// The entry that the caller may let go or renew: never that of another process's run.
pub(super) fn find_to_end(state: &BuildState, caller: &Caller, own_root: &Path) -> Own {
    let own = |entry: &Entry| {
        let run = entry.record.known().is_some_and(is_run);
        is_of(entry, caller, own_root) && (!run || is_of_process(entry, caller))
    };
    let very = |entry: &Entry| own(entry) && is_of_process(entry, caller);
    let position =
        |entries: &[Entry], which: &dyn Fn(&Entry) -> bool| entries.iter().position(which);
    position(&state.active, &very)
        .map(Own::Active)
        .or_else(|| position(&state.waiting, &very).map(Own::Waiting))
        .or_else(|| position(&state.active, &own).map(Own::Active))
        .or_else(|| position(&state.waiting, &own).map(Own::Waiting))
        .unwrap_or(Own::Nothing)
}

impl Own {
    /// The id of the entry, where there is one to be used.
    pub(super) fn id(self, state: &BuildState) -> Option<String> {
        let entry = match self {
            Self::Active(place) => state.active.get(place),
            Self::Waiting(place) => state.waiting.get(place),
            Self::Namesake | Self::Nothing => None,
        };
        entry.map(|entry| entry.id.clone())
    }
}

/// Where the entry `id` is.
pub(super) fn place_of(state: &BuildState, id: &str) -> Own {
    let named = |entry: &Entry| entry.id == id;
    let active = state.active.iter().position(named).map(Own::Active);
    let waiting = || state.waiting.iter().position(named).map(Own::Waiting);
    active.or_else(waiting).unwrap_or(Own::Nothing)
}

/// Takes the entry `id` out of `entries`.
pub(super) fn take(entries: &mut Vec<Entry>, id: &str) -> Option<Entry> {
    let place = entries.iter().position(|entry| entry.id == id)?;
    Some(entries.remove(place))
}

impl Recorded {
    /// The record, to be changed.
    pub(super) fn known_mut(&mut self) -> Option<&mut Record> {
        match self {
            Self::As(record) => Some(std::sync::Arc::make_mut(record)),
            Self::Not | Self::Unreadable => None,
        }
    }
}
