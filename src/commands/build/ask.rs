//! Asking for a slot, in earnest or as a guess.

use super::inner;
use super::site::{Decided, Site};
use crate::commands::part::Part;
use crate::error::Result;
use crate::locks::asking::{Bid, Caller};
use crate::locks::build::{self, Admission, BuildState, Entry, Granted, Housekeeping};
use crate::sys::process;

/// A turn that came.
#[derive(Clone, Debug)]
pub(super) struct Granting {
    /// The slot.
    pub granted: Granted,
    /// The queue by then.
    pub state: BuildState,
}

/// What asking came to.
#[derive(Debug)]
pub(super) enum Asked {
    /// The queue's own answer.
    Answer(Admission),
    /// This entry waits for the very process that asks, and nothing else could make room.
    OwnParent(String),
    /// Nothing: the place that it had is gone.
    Gone,
}

/// The entry of the process of that presence.
pub(super) fn own<'s>(state: &'s BuildState, presence: Option<&str>) -> Option<&'s Entry> {
    let mut all = state.active.iter().chain(&state.waiting);
    all.find(|entry| {
        let record = entry.record.known();
        record.is_some_and(|record| record.who.presence.as_deref() == presence)
    })
}

/// How it is asked.
#[derive(Clone, Copy, Default)]
pub(super) struct Manner {
    /// Whether no trace is left unless it is granted.
    pub once: bool,
    /// Whether only from the place that the process has: not anew.
    pub place: bool,
}

/// Asks for a slot. `fresh` is the id of a new entry and what it runs, for people.
pub(super) fn ask(
    site: &Site<'_>,
    caller: &Caller,
    bid: &Bid,
    (fresh_id, command): (&str, Option<&str>),
    manner: Manner,
    interrupted: Option<&dyn Fn() -> bool>,
) -> Result<Decided<Asked>> {
    // Who has a slot may keep it and give it back; but nobody is to build where there is nothing any more.
    site.context.place.require_repository()?;
    let decided = site.decide(caller, interrupted, |state, verdicts, rules| {
        if manner.place && own(state, caller.presence.as_deref()).is_none() {
            return (state.clone(), (Asked::Gone, Housekeeping::default()));
        }
        let decide = if manner.once {
            build::try_acquire
        } else {
            build::acquire
        };
        let (next, (admission, done)) =
            decide(state, caller, bid, fresh_id, command, verdicts, rules);
        let blocked = matches!(admission, Admission::Blocked(_));
        // Who is admitted need not be looked for among its own ancestors.
        let parent = blocked.then(|| inner::own_parent(&next)).flatten();
        match parent.map(|parent| parent.id.clone()) {
            Some(parent) => {
                let untouched = (Asked::OwnParent(parent), Housekeeping::default());
                (state.clone(), untouched)
            }
            None => (next, (Asked::Answer(admission), done)),
        }
    })?;
    site.log_promoted(&decided);
    Ok(decided)
}

/// What would come of asking, going by `state` as it can be read without the guard: the answer, and the
/// state that it would lead to.
pub(super) fn guess(
    site: &Site<'_>,
    part: &Part<'_>,
    state: &BuildState,
    fresh_id: &str,
    command: Option<&str>,
) -> (Admission, BuildState) {
    let caller = part.caller();
    let verdicts = site.judge(state, Some(&caller));
    let mut bid = part.bid.clone();
    if part.runs() {
        // The one that would be parked by then.
        bid.process = bid.process.or_else(process::me);
    }
    let rules = site.rules();
    let (next, (admission, _)) =
        build::acquire(state, &caller, &bid, fresh_id, command, &verdicts, &rules);
    (admission, next)
}

pub(super) fn expects_turn(
    site: &Site<'_>,
    part: &Part<'_>,
    fresh_id: &str,
    command: Option<&str>,
) -> Result<bool> {
    let state = site.store().peek()?;
    let (admission, _) = guess(site, part, &state, fresh_id, command);
    Ok(matches!(admission, Admission::Admitted(_)))
}
