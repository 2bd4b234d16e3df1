//! Calls from inside a run of the merge lock.
//!
//! Beside what every run tells its command, `GIT_LOCKS_FENCE` is the number of the grant.

use std::env;
use std::ffi::OsString;

use crate::commands::context::Context;
use crate::commands::inside;
use crate::error::Result;
use crate::liveness::Verdict;
use crate::locks::merge::{self, Holder, MergeState, Verdicts};
use crate::run::Kept;

/// The number of the grant.
pub(super) const FENCE: &str = "GIT_LOCKS_FENCE";

/// How `GIT_LOCKS_LOCK` names the merge lock of this repository.
pub(super) fn marker(context: &Context) -> OsString {
    let mut marker = OsString::from("merge:");
    marker.push(context.merge_store().lock_path);
    marker
}

/// The digest of the token that this process was given for this very lock.
pub(super) fn given_token(context: &Context) -> Option<String> {
    inside::given(&marker(context))
}

/// Whether this process is inside a run of the lock as it stands in `state`.
pub(super) fn is_inside(state: &MergeState, context: &Context) -> bool {
    let recorded = state.holder_record().and_then(|r| r.token.as_deref());
    recorded.is_some_and(|recorded| given_token(context).as_deref() == Some(recorded))
}

/// The lock as it stands, where this process is inside a run of it.
pub(super) fn enclosing(context: &Context) -> Result<Option<MergeState>> {
    if given_token(context).is_none() {
        return Ok(None);
    }
    let (_, _, state) = look(context)?;
    Ok(Some(state).filter(|state| is_inside(state, context)))
}

/// The lock as it is read, the verdicts on it, and as it stands by these.
fn look(context: &Context) -> Result<(MergeState, Verdicts, MergeState)> {
    let seen = context.merge_store().peek()?;
    let verdicts = seen.judge(None, &context.terms(), &context.surroundings());
    let state = merge::view(&seen, &verdicts);
    Ok((seen, verdicts, state))
}

/// Whether the run that this process is inside of still holds the lock.
pub(super) fn keep(context: &Context) -> Result<Kept> {
    context.place.require_repository()?;
    let (seen, verdicts, state) = look(context)?;
    let holder = state.lock.as_ref().map(|lock| &lock.holder);
    if holder == Some(&Holder::Unborn) {
        return Ok(Kept::Unclear);
    }
    if !is_inside(&state, context) {
        let shown = holder.and_then(Holder::shown);
        if state.holder_record().is_none()
            && shown.is_some()
            && shown == env::var(inside::HOLDER).ok()
        {
            // Its record was lost, and it is about to make it anew.
            return Ok(Kept::Unclear);
        }
        return Ok(Kept::Lost(shown));
    }
    // Where its lock file vanished, it holds the lock only because it was seen to be there.
    let gone = seen.lock.is_some() && verdicts.holder.is_some_and(Verdict::is_stale);
    Ok(if gone { Kept::Lost(None) } else { Kept::Yes })
}

/// Whether the environment says that what this process was started for runs under the lock as it
/// stands in `state`: no proof of anything, but reason enough not to wait for that very holder.
pub(super) fn claims_inside(state: &MergeState, context: &Context) -> bool {
    let Some(lock) = &state.lock else {
        return false;
    };
    let is = |name: &str, value: Option<String>| value.is_some() && env::var(name).ok() == value;
    let record = state.holder_record();
    let grant = record.and_then(|record| record.grant.as_ref());
    env::var_os(inside::LOCK).is_some_and(|named| named == marker(context))
        && is(inside::HOLDER, lock.holder.shown())
        && is(FENCE, grant.map(|grant| grant.fence.to_string()))
}
