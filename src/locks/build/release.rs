//! Letting go of a slot or a place.

use std::path::Path;
use std::sync::Arc;

use crate::liveness::Verdict;
use crate::locks::asking::Caller;

use super::housekeeping::{keep_house, let_go};
use super::own::{self, Own};
use super::sight::Sight;
use super::state::{BuildState, Entry, Logged, Verdicts};
use super::{Housekeeping, LOG_LENGTH, Release, Rules, Target};

/// Decides a release.
pub fn release(
    state: &BuildState,
    caller: &Caller,
    target: Target<'_>,
    verdicts: &Verdicts,
    rules: &Rules<'_>,
) -> (BuildState, (Release, Housekeeping)) {
    let sight = Sight {
        verdicts,
        rules,
        own: None,
    };
    let mut next = state.clone();
    let mut done = keep_house(&mut next, &sight);
    let present_run = |entry: &&Entry| is_present_run(entry, sight.verdict(entry));
    let id = match target {
        Target::Own => own::find_to_end(&next, caller, rules.project_root).id(&next),
        Target::Id(id) => Some(id.to_owned()),
    };
    let Some(id) = id else {
        // Nothing but a run of that id, which lets go itself.
        let own = |entry: &&Entry| own::is_of(entry, caller, rules.project_root);
        let mut runs = next.active.iter().filter(present_run).filter(own);
        let release = match runs.next().map(|entry| entry.id.clone()) {
            Some(id) => Release::HolderPresent { id },
            None => Release::Noop { id: None },
        };
        return (next, (release, done));
    };
    let named = |entry: &&Entry| entry.id == id;
    let active = next.active.iter().find(named);
    let held = active.map(|entry| sight.held(entry));
    if let Some(entry) = active
        && present_run(&entry)
        && !own::is_of_process(entry, caller)
    {
        return (next, (Release::HolderPresent { id }, done));
    }
    let Some(promoted) = let_go(&mut next, &id, &sight) else {
        return (next, (Release::Noop { id: Some(id) }, done));
    };
    next.run_log.push(Logged {
        id: id.clone(),
        raw: Arc::from(""),
        plan_id: caller.id.as_str().to_owned(),
        ts: rules.now.moment.wall,
    });
    let old = next.run_log.len().saturating_sub(LOG_LENGTH);
    next.run_log.drain(..old);
    let successor = promoted.first().cloned();
    done.promoted.extend(promoted);
    done.drop_absent(&next);
    let released = Release::Released {
        id,
        promoted: successor,
        held,
    };
    (next, (released, done))
}

/// Whether only its process may let go of this.
fn is_present_run(entry: &Entry, verdict: Verdict) -> bool {
    verdict.present && entry.record.known().is_some_and(own::is_run)
}

/// Decides what becomes of a process that was told to end before it had its turn: its place is given up,
/// or the slot where it was given one meanwhile. What others have under the same id stays.
pub fn leave(
    state: &BuildState,
    caller: &Caller,
    verdicts: &Verdicts,
    rules: &Rules<'_>,
) -> (BuildState, Housekeeping) {
    let sight = Sight {
        verdicts,
        rules,
        own: None,
    };
    let mut next = state.clone();
    let mut done = Housekeeping::default();
    let very = |entry: &&Entry| own::is_of_process(entry, caller);
    let mut all = state.active.iter().chain(&state.waiting);
    if let Some(entry) = all.find(very)
        && let Some(promoted) = let_go(&mut next, &entry.id, &sight)
    {
        done.promoted = promoted;
    }
    (next, done)
}

impl BuildState {
    /// The entry of the caller, whose project is at `own_root`, that it may let go of.
    pub fn own_entry(&self, caller: &Caller, own_root: &Path) -> Option<&Entry> {
        match own::find_to_end(self, caller, own_root) {
            Own::Active(place) => self.active.get(place),
            Own::Waiting(place) => self.waiting.get(place),
            Own::Namesake | Own::Nothing => None,
        }
    }
}

/// The active entry that `target` means, by its place; never that of another process's run where it
/// means the caller's own.
pub(super) fn active_place(
    state: &BuildState,
    caller: &Caller,
    target: Target<'_>,
    rules: &Rules<'_>,
) -> Option<usize> {
    match target {
        Target::Id(id) => state.active.iter().position(|entry| entry.id == id),
        Target::Own => match own::find_to_end(state, caller, rules.project_root) {
            Own::Active(place) => Some(place),
            Own::Waiting(_) | Own::Namesake | Own::Nothing => None,
        },
    }
}
