//! The merge lock as one sees it who only looks: no guard, nothing written.

use crate::liveness::{Terms, Verdict, World};
use crate::locks::merge::{self, MergeState, Verdicts};

/// What is seen.
pub(in crate::commands) struct Look {
    /// Who holds the lock, and who waits: a release that was cut off has let go, and a holder that is
    /// provably present has what vanished.
    pub state: MergeState,
    /// The verdict on the holder, where there is one.
    pub holder: Option<Verdict>,
    /// The verdicts on everybody else.
    pub verdicts: Verdicts,
}

/// What the state, `read` without the guard, comes to.
pub(in crate::commands) fn look(read: &MergeState, terms: &Terms, world: &dyn World) -> Look {
    let verdicts = read.judge(None, terms, world);
    let state = merge::view(read, &verdicts);
    // Whoever the lock file names need not be the one.
    let holder = if state.lock == read.lock {
        verdicts.holder
    } else {
        state.judge_holder(terms, world)
    };
    Look {
        state,
        holder,
        verdicts,
    }
}
