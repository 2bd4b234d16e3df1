//! Asking for the merge lock, by whoever does not wait for its own parent.

use super::decide_as;
use super::nested;
use crate::commands::context::Context;
use crate::error::Result;
use crate::locks::asking::{Bid, Caller};
use crate::locks::merge::{self, Admission, Granted, MergeState};
use crate::participant::Kind;
use crate::store::merge::{Committed, Purpose};
use crate::sys::process;

/// A turn that came.
#[derive(Clone, Debug)]
pub(super) struct Granting {
    /// The grant.
    pub granted: Granted,
    /// How many stand in the queue, the holder among them.
    pub waiting_count: usize,
    /// What vouches for the holder, where that is recorded.
    pub kind: Option<Kind>,
    /// Whether calls from inside the command can be told by their token.
    pub known: bool,
}

/// What asking came to.
#[derive(Debug)]
pub(super) enum Asked {
    /// The lock's own answer.
    Answer(Admission),
    /// This holder waits for the very process that asks.
    OwnParent(String),
}

/// Asks for the lock; where `once`, leaving no trace unless it is granted.
pub(super) fn ask(
    context: &Context,
    caller: &Caller,
    bid: &Bid,
    once: bool,
    no_title: bool,
    interrupted: Option<&dyn Fn() -> bool>,
) -> Result<Committed<Asked>> {
    decide_as(
        context,
        caller,
        Purpose::Ordinary,
        no_title,
        interrupted,
        |state, caller, verdicts, rules| {
            // A holder whose lock file vanished is found by what settling puts back.
            let vanished = state.lock.is_none() && state.bereft().next().is_some();
            let settled = vanished.then(|| merge::settle(state, verdicts));
            if let Some(holder) = own_parent(settled.as_ref().unwrap_or(state), caller, context) {
                return (merge::settle(state, verdicts), Asked::OwnParent(holder));
            }
            let decide = if once {
                merge::try_acquire
            } else {
                merge::acquire
            };
            let (next, admission) = decide(state, caller, bid, verdicts, rules);
            (next, Asked::Answer(admission))
        },
    )
}

/// The holder, where this process descends from what it runs.
fn own_parent(state: &MergeState, caller: &Caller, context: &Context) -> Option<String> {
    let holder = state.lock.as_ref()?.holder.shown()?;
    let record = state.holder_record()?;
    let attached = record.kind == Kind::Attached;
    let child = record.process.as_ref().filter(|_| attached);
    // What runs is this very process where it was replaced by us, as a shell's `exec` does.
    let descends = child.is_some_and(|child| {
        process::me().as_ref() == Some(child) || process::ancestors().contains(child)
    });
    let visits = !attached && holder != caller.id.as_str() && nested::claims_inside(state, context);
    (descends || visits).then_some(holder)
}
