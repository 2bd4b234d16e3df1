//! Asking for the lock.

use std::sync::Arc;

use crate::lease::Lease;
use crate::liveness::Verdict;
use crate::locks::asking::{Bid, Caller, Poll};
use crate::participant::{Grant, Kind, Participant};
use crate::queue::{self, Entry};
use crate::report::Action;

use super::attached;
use super::recording::{adopt, adopts, holder_record_mut};
use super::settle::{holder_verdict, settle};
use super::state::{Holder, Idle, LockFile, MergeState, Verdicts};
use super::{Admission, Granted, Rules, Waiting, is_holder, prune};

/// Decides a request for the lock.
pub fn acquire(
    state: &MergeState,
    caller: &Caller,
    bid: &Bid,
    verdicts: &Verdicts,
    rules: &Rules,
) -> (MergeState, Admission) {
    let mut next = settle(state, verdicts);
    let verdict = holder_verdict(state, &next, verdicts);
    let stale = verdict.is_some_and(Verdict::is_stale);
    if attached::is_holding(&next, caller) {
        attached::take_up(&mut next, bid);
        let admission = Admission::Admitted(as_granted(&next, Action::Acquired));
        return (next, admission);
    }
    if is_holder(&next, caller)
        && next
            .holder_record()
            .is_none_or(|r| r.kind != Kind::Attached)
    {
        if bid.kind != Kind::Attached {
            hold_again(&mut next, caller, bid, stale, rules);
        } else if !attached::visit(&mut next, bid, stale, rules) {
            prune(&mut next, &caller.id, verdicts);
            let admission = behind_namesake(&mut next, caller, bid, verdict, verdicts, rules);
            return (next, admission);
        }
        let admission = Admission::Admitted(as_granted(&next, Action::AlreadyHeld));
        return (next, admission);
    }
    if bid.kind == Kind::Attached && attached::has_namesake(&next, caller, verdicts) {
        return (next, Admission::Namesake);
    }
    let took_over = attached::take_over(&mut next, caller, verdicts);
    prune(&mut next, &caller.id, verdicts);
    let holder = next.lock.as_ref().and_then(|lock| lock.holder.shown());
    if holder.as_deref() == Some(caller.id.as_str()) {
        let admission = behind_namesake(&mut next, caller, bid, verdict, verdicts, rules);
        return (next, admission);
    }
    let bid = &bid.as_before(next.records.participant(caller.id.as_str()));
    let poll = match join(&mut next, caller, bid, verdicts, rules) {
        Poll::Noted if took_over => Poll::Joined,
        poll => poll,
    };
    let mut ahead = queue::ahead(&next.queue, &caller.id, holder.as_deref()).unwrap_or_default();
    let position = ahead.len() + 1;
    ahead.retain(|entry| !verdicts.is_orphan(&entry.plan_id));
    let idle = next.lock.is_none() || stale;
    let is_next = ahead.is_empty();
    let passes = is_next || (idle && all_passed_over(&next, &ahead, verdicts, rules));
    let may_try = passes && bid.can_hold();
    let reclaimable = next.lock.is_some() && stale && rules.may_reclaim;
    if may_try && (next.lock.is_none() || reclaimable) {
        let reclaimed_from = holder.filter(|_| next.lock.is_some());
        let admission = grant(&mut next, caller, bid, rules, reclaimed_from);
        return (next, admission);
    }
    note_idle(&mut next, idle, rules);
    // Only the front meets the holder; those behind it are blocked by those ahead.
    let met = verdict.filter(|_| may_try && next.lock.is_some());
    let waiting = Waiting {
        position: Some(position),
        mid_recovery: met.is_some_and(|verdict| verdict.mid_recovery),
        not_local: met.is_some_and(Verdict::is_stale) && !rules.may_reclaim,
        next: is_next,
        poll,
    };
    (next, Admission::Blocked(waiting))
}

/// Decides a request that leaves no trace unless it is granted.
pub fn try_acquire(
    state: &MergeState,
    caller: &Caller,
    bid: &Bid,
    verdicts: &Verdicts,
    rules: &Rules,
) -> (MergeState, Admission) {
    match acquire(state, caller, bid, verdicts, rules) {
        (_, Admission::Blocked(mut waiting)) => {
            waiting.position = None;
            (settle(state, verdicts), Admission::Blocked(waiting))
        }
        decided => decided,
    }
}

/// Decides for a caller whose namesake holds the lock. The entry of that id is the holder's: the
/// caller has no place of its own, and gets its turn when the holder is gone and nobody is ahead.
fn behind_namesake(
    next: &mut MergeState,
    caller: &Caller,
    bid: &Bid,
    verdict: Option<Verdict>,
    verdicts: &Verdicts,
    rules: &Rules,
) -> Admission {
    let id = caller.id.as_str();
    let others = next.queue.iter().filter(|entry| entry.plan_id != id);
    let ahead: Vec<&Entry> = others
        .filter(|entry| !verdicts.is_orphan(&entry.plan_id))
        .collect();
    let stale = verdict.is_some_and(Verdict::is_stale);
    let ahead_is_empty = ahead.is_empty();
    let passes = ahead_is_empty || (stale && all_passed_over(next, &ahead, verdicts, rules));
    let may_try = passes && bid.can_hold();
    if may_try && stale && rules.may_reclaim {
        // Nothing of the holder's record is the caller's.
        next.records.participants.remove(id);
        let admission = grant(next, caller, bid, rules, Some(id.to_owned()));
        let entry = Entry::new(&caller.id, rules.now.moment.wall);
        next.queue.push(entry);
        return admission;
    }
    note_idle(next, stale, rules);
    Admission::Blocked(Waiting {
        position: None,
        mid_recovery: may_try && verdict.is_some_and(|verdict| verdict.mid_recovery),
        not_local: may_try && stale,
        next: ahead_is_empty,
        poll: Poll::Repeated,
    })
}

/// A detached holder asks again: its lease is renewed, the queue is untouched. What vouches for
/// it changes when it insists, or when the process that vouched has ended.
fn hold_again(next: &mut MergeState, caller: &Caller, bid: &Bid, stale: bool, rules: &Rules) {
    next.records.idle = None;
    if adopts(next, bid, rules) {
        adopt(next, caller, bid, rules);
    }
    if let Some(record) = holder_record_mut(next) {
        bid.hold_again(record, stale, &rules.now);
    }
}

/// The lock as its holder has it.
fn as_granted(state: &MergeState, action: Action) -> Granted {
    let record = state.holder_record();
    let grant = record.and_then(|record| record.grant.as_ref());
    Granted {
        action,
        reclaimed_from: None,
        fence: grant.map(|grant| grant.fence),
        expires_at: record.and_then(Participant::end_of_lease),
        since: grant
            .map(|grant| grant.since.wall)
            .or_else(|| state.lock.as_ref().map(LockFile::mtime)),
    }
}

/// Appends the caller unless it is queued, and records its poll.
fn join(
    next: &mut MergeState,
    caller: &Caller,
    bid: &Bid,
    verdicts: &Verdicts,
    rules: &Rules,
) -> Poll {
    let id = caller.id.as_str();
    let place = next.queue.iter().find(|entry| entry.plan_id == id);
    let joined = place.is_none();
    let ts = place.map_or(rules.now.moment.wall, |entry| entry.ts);
    if joined {
        next.queue.push(Entry::new(&caller.id, ts));
    }
    let mut fresh = bid.waiter(caller, ts, &rules.now);
    let is_present = verdicts.waiters.get(id).is_some_and(|v| v.present);
    match next.records.participant_mut(id) {
        Some(record) if !joined => {
            if is_present && record.presence != caller.presence {
                // Another process waits under this id; what vouches for the place stays.
                fresh.kind = record.kind;
                fresh.host.clone_from(&record.host);
                fresh.presence.clone_from(&record.presence);
                fresh.process.clone_from(&record.process);
                fresh.ttl = record.ttl;
            }
            if !bid.repeats(record, &fresh, &rules.now, rules.poll_grain) {
                fresh.reason = fresh.reason.or_else(|| record.reason.take());
                *record = fresh;
                return Poll::Noted;
            }
            Poll::Repeated
        }
        _ => {
            next.records
                .participants
                .insert(id.to_owned(), Arc::new(fresh));
            if joined { Poll::Joined } else { Poll::Noted }
        }
    }
}

/// Whether the lock has stood idle, and everyone ahead been quiet, for long enough.
fn all_passed_over(
    state: &MergeState,
    ahead: &[&Entry],
    verdicts: &Verdicts,
    rules: &Rules,
) -> bool {
    let (Some(limit), Some(idle)) = (rules.pass_over, &state.records.idle) else {
        return false;
    };
    // A pass-over frees nothing, so wall clocks will do between machines.
    rules.now.elapsed_or_wall(idle.since, &idle.host) >= limit
        && ahead.iter().all(|entry| {
            let present = verdicts
                .waiters
                .get(&entry.plan_id)
                .is_some_and(|v| v.present);
            let quiet = match state.records.participant(&entry.plan_id) {
                Some(record) => rules.now.elapsed_or_wall(record.ticket, &record.host),
                // Another program's polls do not show, and a time in the future tells nothing.
                None if entry.ts > rules.now.moment.wall + limit => f64::INFINITY,
                None => rules.now.moment.wall - entry.ts,
            };
            let silent = !present || quiet >= rules.ticket_ttl;
            silent && quiet >= limit
        })
}

/// Remembers since when the lock has stood idle while somebody waits.
pub(super) fn note_idle(next: &mut MergeState, idle: bool, rules: &Rules) {
    let idle_now = || Idle {
        since: rules.now.moment,
        host: rules.now.host.clone(),
    };
    if !idle {
        next.records.idle = None;
    } else if next.records.idle.is_none() {
        next.records.idle = Some(idle_now());
    }
}

fn grant(
    next: &mut MergeState,
    caller: &Caller,
    bid: &Bid,
    rules: &Rules,
    reclaimed_from: Option<String>,
) -> Admission {
    if let Some(stale) = &reclaimed_from {
        // Its record stays until its lock file is gone: a crash in between must find it judged
        // by the same evidence.
        queue::dequeue(&mut next.queue, stale);
    }
    next.records.idle = None;
    next.records.fence = next.records.fence.saturating_add(1);
    let fence = next.records.fence;
    let ts = next
        .queue
        .iter()
        .find(|entry| entry.plan_id == caller.id.as_str())
        .map(|entry| entry.ts);
    let mut record = bid.participant(caller, ts.unwrap_or(rules.now.moment.wall), &rules.now);
    if let Some(waited) = next.records.participant(caller.id.as_str()) {
        record.reason = record.reason.or_else(|| waited.reason.clone());
    }
    // That of an attached holder bounds the doubt where its process cannot be observed.
    record.lease = record.ttl.map(|ttl| Lease::starting(&rules.now, ttl));
    record.grant = Some(Grant {
        fence,
        since: rules.now.moment,
        made: None,
        temp: None,
    });
    let expires_at = record.end_of_lease();
    next.records
        .participants
        .insert(caller.id.as_str().to_owned(), Arc::new(record));
    next.lock = Some(LockFile {
        holder: Holder::Plan(caller.id.clone()),
        mtime_ns: 0,
        uid: caller.user,
    });
    Admission::Admitted(Granted {
        action: Action::Acquired,
        reclaimed_from,
        fence: Some(fence),
        expires_at,
        since: Some(rules.now.moment.wall),
    })
}
