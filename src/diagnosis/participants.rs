//! Everyone who takes part, one by one: what was seen of each, and the verdict that gives.
//!
//! Each is judged by the one judge of its lock, alone in a state of its own, so that it is looked at as
//! closely as the first in line.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::account::{self, Facts, Noted, NotedProjects, Notes};
use crate::identity::PlanId;
use crate::liveness::{Role, Terms, Verdict, World};
use crate::locks::build::{BuildState, Entry, Projects, Recorded};
use crate::locks::merge::{Holder, MergeState, Records};
use crate::report::{Examined, LockName, Part};

/// One who takes part, and the verdict on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// What is said of it.
    pub row: Examined,
    /// What is to be done about it follows from that.
    pub verdict: Verdict,
}

/// Those who take part in the merge lock, the holder first.
pub fn of_merge(state: &MergeState, terms: &Terms, world: &dyn World) -> Vec<Judged> {
    let holder = merge_holder(state, terms, world);
    let name = state.lock.as_ref().and_then(|lock| lock.holder.id());
    let waiting = state
        .queue
        .iter()
        .filter(|entry| name.is_none_or(|id| id.as_str() != entry.plan_id));
    let waiters = waiting.enumerate().map(|(index, entry)| {
        let notes = Notes::default();
        let record = state.records.participants.get(&entry.plan_id);
        let cut_off = state.cut_off.contains(&entry.plan_id);
        // Without its grant, for it is a waiter here.
        let record = record.map(|record| {
            if cut_off {
                Arc::new(record.without_grant())
            } else {
                Arc::clone(record)
            }
        });
        let alone = MergeState {
            lock: None,
            queue: vec![entry.clone()],
            records: Records {
                lost_at: state.records.lost_at,
                participants: record
                    .iter()
                    .map(|record| (entry.plan_id.clone(), Arc::clone(record)))
                    .collect::<BTreeMap<_, _>>(),
                ..Records::default()
            },
            cut_off: vec![entry.plan_id.clone()],
        };
        let verdicts = alone.judge(None, terms, &Noted::new(world, &notes));
        let verdict = verdicts.waiters.get(&entry.plan_id).copied();
        let verdict = verdict.unwrap_or(Verdict::UNKNOWN);
        let facts = Facts {
            role: Role::Waiter,
            record: record.as_deref(),
            seen_at: entry.ts,
        };
        let evidence = account::evidence(&notes, &facts, terms);
        let row = Examined {
            position: Some(index + 1),
            ..row(
                LockName::Merge,
                facts.role,
                &entry.plan_id,
                verdict,
                evidence,
            )
        };
        Judged { row, verdict }
    });
    holder.into_iter().chain(waiters).collect()
}

fn merge_holder(state: &MergeState, terms: &Terms, world: &dyn World) -> Option<Judged> {
    let lock = state.lock.as_ref()?;
    let notes = Notes::default();
    let verdict = state.judge_holder(terms, &Noted::new(world, &notes))?;
    let facts = Facts {
        role: Role::Holder,
        record: state.holder_record(),
        seen_at: lock.mtime(),
    };
    let evidence = match &lock.holder {
        Holder::Plan(_) => account::evidence(&notes, &facts, terms),
        Holder::Malformed(_) => "what the lock file says is no plan id".to_owned(),
        Holder::Unborn => "the lock file is empty, as while it is being made".to_owned(),
    };
    let id = lock.holder.shown().unwrap_or_default();
    let row = row(LockName::Merge, facts.role, &id, verdict, evidence);
    Some(Judged { row, verdict })
}

/// Those who take part in the build queue, as a caller of the project at `own_root` judges them: those
/// who have a slot first.
pub fn of_build(
    state: &BuildState,
    own_root: &Path,
    terms: &Terms,
    projects: &dyn Projects,
) -> Vec<Judged> {
    let judged = |entry: &Entry, position: Option<usize>| {
        let notes = Notes::default();
        let mut alone = BuildState::default();
        let list = if position.is_some() {
            &mut alone.waiting
        } else {
            &mut alone.active
        };
        list.push(entry.clone());
        let noted = NotedProjects::new(projects, &notes);
        let verdicts = alone.judge(None, own_root, 1, terms, &noted);
        let verdict = verdicts.0.get(&entry.id).copied();
        let verdict = verdict.unwrap_or(Verdict::UNKNOWN);
        let record = entry.record.known();
        let part = if position.is_some() {
            Role::Waiter
        } else {
            Role::Holder
        };
        // Who was given a slot and has not come for it is judged as one that waits.
        let claimed = record.is_none_or(|record| record.claimed);
        let since = entry.active_since.unwrap_or(terms.now.moment.wall);
        let facts = Facts {
            role: if claimed { part } else { Role::Waiter },
            record: record.map(|record| &record.who),
            seen_at: if position.is_some() { entry.ts } else { since },
        };
        let evidence = if entry.record == Recorded::Unreadable {
            "what is recorded of it is not for this version to read".to_owned()
        } else if PlanId::parse(entry.plan_id()).is_none() {
            "its id names no plan id".to_owned()
        } else {
            account::evidence(&notes, &facts, terms)
        };
        let row = Examined {
            position,
            project_root: entry.project_root.clone(),
            ..row(LockName::Build, part, &entry.id, verdict, evidence)
        };
        Judged { row, verdict }
    };
    let active = state.active.iter().map(|entry| judged(entry, None));
    let waiting = state.waiting.iter().enumerate();
    let waiting = waiting.map(|(index, entry)| judged(entry, Some(index + 1)));
    active.chain(waiting).collect()
}

fn row(lock: LockName, role: Role, id: &str, verdict: Verdict, evidence: String) -> Examined {
    Examined {
        lock,
        role: match role {
            Role::Holder => Part::Holder,
            Role::Waiter => Part::Waiter,
        },
        position: None,
        id: id.to_owned(),
        project_root: None,
        staleness: verdict.staleness,
        verdict: account::meaning(verdict, role).to_owned(),
        evidence,
    }
}
