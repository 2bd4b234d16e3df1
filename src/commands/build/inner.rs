//! Calls from inside a run of the build queue.
//!
//! Beside what every run tells its command, `GIT_LOCKS_BUILD_ID` is the id of its entry and
//! `GIT_LOCKS_BUILD_SLOT` the number of its slot: from 1, and unique among those that build.

use std::ffi::OsString;

use super::site::Site;
use crate::commands::inside;
use crate::error::Result;
use crate::locks::build::{BuildState, Entry};
use crate::participant::Kind;
use crate::run::{Held, Kept};
use crate::sys::process;

/// The id of the entry.
pub(super) const ID: &str = "GIT_LOCKS_BUILD_ID";
/// The number of the slot.
pub(super) const SLOT: &str = "GIT_LOCKS_BUILD_SLOT";

/// How `GIT_LOCKS_LOCK` names the build queue.
pub(super) fn marker(site: &Site<'_>) -> OsString {
    let mut marker = OsString::from("build:");
    marker.push(site.store().queue_path);
    marker
}

/// The entry of the run that this process is inside of, as it stands in `state`.
pub(super) fn enclosing<'s>(state: &'s BuildState, site: &Site<'_>) -> Option<&'s Entry> {
    let given = inside::given(&marker(site))?;
    state.active.iter().find(|entry| {
        let record = entry.record.known();
        record.is_some_and(|record| record.who.token.as_ref() == Some(&given))
    })
}

/// The same, as the queue stands now.
///
/// # Errors
/// The queue cannot be read.
pub(super) fn enclosing_now(site: &Site<'_>) -> Result<Option<(Entry, BuildState)>> {
    if inside::given(&marker(site)).is_none() {
        return Ok(None);
    }
    let state = site.store().peek()?;
    let entry = enclosing(&state, site).cloned();
    Ok(entry.map(|entry| (entry, state)))
}

/// A run that this process descends from, where nothing but its end would make room: whoever waits
/// would wait for itself.
pub(super) fn own_parent(state: &BuildState) -> Option<&Entry> {
    let child = |entry: &Entry| {
        let record = entry.record.known()?;
        let attached = record.who.kind == Kind::Attached;
        record.who.process.clone().filter(|_| attached)
    };
    // While others have slots too, one of these may come free.
    let children: Option<Vec<_>> = state.active.iter().map(child).collect();
    let children = children.filter(|children| !children.is_empty())?;
    let mut line = process::ancestors();
    line.extend(process::me());
    let all = children.iter().all(|child| line.contains(child));
    state.active.first().filter(|_| all)
}

/// The slot of the run that this process is inside of, while its command runs.
pub(super) struct Enclosing<'s, 'a> {
    pub site: &'s Site<'a>,
}

impl Held for Enclosing<'_, '_> {
    fn what(&self) -> &'static str {
        "the slot"
    }

    fn looks_kept(&mut self) -> bool {
        matches!(enclosing_now(self.site), Ok(Some(_)))
    }

    fn keep(&mut self) -> Result<Kept> {
        self.site.context.place.require_repository()?;
        let state = self.site.store().peek()?;
        let Some(entry) = enclosing(&state, self.site) else {
            return Ok(Kept::Lost(None));
        };
        // What is recorded outlives a run that was killed.
        let verdicts = self.site.judge(&state, None);
        let dead = verdicts.is_dead(&entry.id);
        Ok(if dead { Kept::Lost(None) } else { Kept::Yes })
    }

    fn watch(&self) -> Vec<std::path::PathBuf> {
        vec![self.site.store().queue_path]
    }

    /// That the enclosing run and its command are gone shows nowhere but in a verdict.
    fn keep_every(&self) -> f64 {
        1.0
    }
}
