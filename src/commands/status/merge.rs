//! The merge lock's part of `git locks status`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{LISTED, known, told, waiting};
use crate::commands::asking::shown;
use crate::commands::context::Context;
use crate::commands::merge::about_holder;
use crate::commands::merge::look::{Look, look as look_at};
use crate::commands::part::listen_for_end;
use crate::error::{Error, Result};
use crate::liveness::{Terms, World};
use crate::locks::merge::{MergeState, Records};
use crate::participant::Participant;
use crate::queue::Entry;
use crate::report::{Grounds, MergeHolder, MergeOverview, MergeWaiter, Staleness, Status};
use crate::store::document::Document;
use crate::store::merge::{MergeStore, queue_in};
use crate::text;
use crate::wait::Scene;

/// The files of the lock, as far as they can be read.
pub(super) struct Read {
    /// The file that the queue is in, and the rate windows.
    pub document: Result<Document>,
    /// The lock file and our records, without the queue.
    pub state: Result<MergeState>,
}

impl Read {
    /// Reads them.
    pub fn now(context: &Context) -> Self {
        let store = context.merge_store();
        Self {
            document: store.peek_document(),
            state: store.peek(),
        }
    }
}

/// What is to be said of the lock.
pub(super) fn look(
    read: &Read,
    context: &Context,
    terms: &Terms,
    world: &dyn World,
    scene: &mut Scene,
) -> MergeOverview {
    let store = context.merge_store();
    let lock_path = shown(&store.lock_path);
    scene
        .watch
        .extend([store.lock_path.clone(), store.queue_path.clone()]);
    let state = match &read.state {
        Ok(state) => state,
        Err(error) => {
            return MergeOverview {
                status: Status::Unreadable,
                lock_path,
                waiting_count: None,
                holders: Vec::new(),
                waiting: Vec::new(),
                error: Some(told(error)),
            };
        }
    };
    let queue = read.document.as_ref().map(queue_in);
    let all = queue.as_deref().unwrap_or_default();
    let state = ahead(state, all);
    let seen = look_at(&state, terms, world);
    if let Some(record) = seen.state.holder_record() {
        listen_for_end(scene, record, &context.place.ours, &terms.now);
    }
    let holder = holder(&seen, context, terms, world);
    let name = holder.as_ref().and_then(|holder| holder.plan_id.as_deref());
    // What was taken out of those that were looked at is in the file, and waits no longer.
    let settled = state.queue.len() - seen.state.queue.len();
    let own = all
        .iter()
        .filter(|entry| name == Some(entry.plan_id.as_str()));
    let count = all.len().saturating_sub(settled + own.count());
    MergeOverview {
        status: if holder.is_some() {
            Status::Held
        } else {
            Status::Free
        },
        lock_path,
        waiting_count: queue.is_ok().then_some(count),
        waiting: waiters(&seen, name, terms, world),
        holders: holder.into_iter().collect(),
        error: trouble(read.document.as_ref(), &store),
    }
}

/// The state without those far behind in the `queue`, who change nothing of what is to be said of those
/// ahead.
fn ahead(state: &MergeState, queue: &[Entry]) -> MergeState {
    let queue: Vec<Entry> = queue.iter().take(LISTED + 1).cloned().collect();
    let records = &state.records;
    let queued = queue.iter().filter_map(|entry| {
        let (id, record) = records.participants.get_key_value(&entry.plan_id)?;
        Some((id.clone(), Arc::clone(record)))
    });
    let granted = records.participants.iter();
    let granted = granted.filter(|(_, record)| record.grant.is_some());
    let granted = granted.map(|(id, record)| (id.clone(), Arc::clone(record)));
    MergeState {
        lock: state.lock.clone(),
        records: Records {
            fence: records.fence,
            ending: records.ending.clone(),
            idle: None,
            lost_at: records.lost_at,
            participants: granted.chain(queued).collect(),
            windows: BTreeMap::new(),
        },
        cut_off: state.cut_off.clone(),
        queue,
    }
}

/// What is wrong with the file that the queue is in.
fn trouble(
    document: std::result::Result<&Document, &Error>,
    store: &MergeStore<'_>,
) -> Option<String> {
    match document {
        Ok(document) if document.corrupt => Some(makes_no_sense(&text::path(&store.queue_path))),
        Ok(_) => None,
        Err(error) => Some(told(error)),
    }
}

/// What is to be said of a file that should hold a JSON object.
pub(super) fn makes_no_sense(path: &str) -> String {
    format!(
        "{path} is no JSON object: it counts as empty, and is set aside by the next who writes it"
    )
}

fn holder(seen: &Look, context: &Context, terms: &Terms, world: &dyn World) -> Option<MergeHolder> {
    let state = &seen.state;
    let lock = state.lock.as_ref()?;
    let record = state.holder_record();
    let about = about_holder(state, context);
    let process = record.and_then(|record| record.process.as_ref());
    Some(MergeHolder {
        plan_id: lock.holder.shown(),
        fence: about.fence,
        since: about.since,
        workplace: about.workplace,
        staleness: seen.holder.map_or(Staleness::Unknown, |it| it.staleness),
        evidence: state.holder_grounds(terms, world).unwrap_or(Grounds::Lost),
        mid_recovery: seen.holder.is_some_and(|verdict| verdict.mid_recovery),
        expires_at: record.and_then(Participant::end_of_lease),
        pid: process.map(|process| process.pid.into()),
        reason: about.reason,
    })
}

/// Those in the queue, but for the holder, whose entry stays there.
fn waiters(
    seen: &Look,
    holder: Option<&str>,
    terms: &Terms,
    world: &dyn World,
) -> Vec<MergeWaiter> {
    let state: &MergeState = &seen.state;
    let waits = |entry: &&Entry| holder != Some(entry.plan_id.as_str());
    let row = |(index, entry): (usize, &Entry)| {
        let record = state.records.participant(&entry.plan_id);
        MergeWaiter {
            position: index + 1,
            plan_id: entry.plan_id.clone(),
            since: known(entry.ts),
            workplace: record.and_then(|record| record.workplace.clone()),
            staleness: waiting(seen.verdicts.waiters.get(&entry.plan_id)),
            evidence: state.waiter_grounds(entry, terms, world),
            reason: record.and_then(|record| record.reason.clone()),
        }
    };
    let queue = state.queue.iter().filter(waits);
    queue.take(LISTED).enumerate().map(row).collect()
}
