//! The merge lock: one merge at a time, first come first served. Pure decisions.
//!
//! **State.** Three things make up a [`MergeState`]: the lock file (nobody, or a holder), the
//! queue, and what we recorded about those who take part. The holder's entry stays in the queue
//! until it releases.
//!
//! **Acquire.** A detached holder that asks again has its lease renewed and changes nothing
//! else. Otherwise dead waiters are pruned, the caller is appended unless it is queued, and only
//! the front — the first entry by position other than the holder's — may try. A free lock is
//! granted; one whose holder is provably stale is reclaimed; anything else blocks.
//!
//! **Pass-over.** Once the lock has stood idle (free, or held by a stale holder) for a while and
//! all entries ahead have been quiet for as long, the first entry that shows a sign of life is
//! granted; those ahead keep their places.
//!
//! **Release.** The caller leaves the queue; the lock is removed when the caller holds it.
//!
//! **What a crash leaves.** The store commits a decision in this order: our records (with the
//! fence of a grant, or a note that the holder is ending), the queue, the lock file, our records
//! again. [`settle`] reads what an interrupted commit left and finishes it: a release that was
//! cut off is completed; a grant that was cut off before its lock file existed is a waiter at
//! its old place; a lock file that somebody removed stays removed, unless its holder is
//! provably present, who gets it back.
//!
//! Every function here is a pure function of its arguments; run again on its own result by the
//! same caller it changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::identity::PlanId;
use crate::lease::{Lease, Moment, Now};
use crate::liveness::{Role, Subject, Terms, Verdict, World, judge};
use crate::participant::{Grant, Kind, Participant};
use crate::queue::{self, Entry};
use crate::report::{Action, Staleness};
use crate::sys::host::Host;
use crate::sys::process::ProcessId;

/// What the lock file says.
#[derive(Clone, Debug, PartialEq)]
pub enum Holder {
    /// A plan id.
    Plan(PlanId),
    /// Text that is none: a dead holder. Never a path, never shown raw.
    Malformed(String),
    /// Nothing yet: another program is between creating and writing it.
    Unborn,
}

impl Holder {
    /// The plan id, where it is one.
    pub fn id(&self) -> Option<&PlanId> {
        match self {
            Self::Plan(id) => Some(id),
            Self::Malformed(_) | Self::Unborn => None,
        }
    }

    /// What to show; `None` for a holder that has not written its name yet.
    pub fn shown(&self) -> Option<String> {
        match self {
            Self::Plan(id) => Some(id.as_str().to_owned()),
            Self::Malformed(text) => Some(text.clone()),
            Self::Unborn => None,
        }
    }
}

/// The lock file, as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct LockFile {
    /// Who it names.
    pub holder: Holder,
    /// Its modification time in nanoseconds since the Unix epoch.
    pub mtime_ns: i64,
    /// Its owner.
    pub uid: u32,
}

impl LockFile {
    /// Its modification time in seconds since the Unix epoch.
    pub fn mtime(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "sub-microsecond")]
        let seconds = self.mtime_ns as f64 / 1e9;
        seconds
    }
}

/// A release that was begun: this holder, of a lock file modified then, has let go.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Ending {
    /// The holder.
    pub plan_id: String,
    /// The modification time of its lock file, in nanoseconds.
    pub mtime_ns: i64,
}

/// Since when the lock has stood idle while somebody waited.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Idle {
    /// When that was first seen.
    pub since: Moment,
    /// Where.
    pub host: Host,
}

/// What we keep beside the files that other programs share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// The number of the last grant.
    pub fence: u64,
    /// A release that was begun.
    pub ending: Option<Ending>,
    /// Since when the lock has stood idle.
    pub idle: Option<Idle>,
    /// When our records were found unreadable, in seconds since the Unix epoch.
    pub lost_at: Option<f64>,
    /// Everyone who takes part, by id.
    pub participants: BTreeMap<String, Arc<Participant>>,
    /// Holders of rate windows who are no plans, by bot: their windows end by the clock alone.
    pub windows: BTreeMap<String, String>,
}

impl Records {
    /// What is recorded about `id`.
    pub fn participant(&self, id: &str) -> Option<&Participant> {
        self.participants.get(id).map(AsRef::as_ref)
    }

    /// What is recorded about `id`, to be changed.
    pub fn participant_mut(&mut self, id: &str) -> Option<&mut Participant> {
        self.participants.get_mut(id).map(Arc::make_mut)
    }
}

/// Everything there is to know about the lock.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeState {
    /// The lock file; `None` when nobody holds the lock.
    pub lock: Option<LockFile>,
    /// The queue, first come first.
    pub queue: Vec<Entry>,
    /// Our records.
    pub records: Records,
    /// Ids whose grant was cut off before its lock file existed.
    pub cut_off: Vec<String>,
}

/// The verdicts a decision relies on, gathered from the very state it decides on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdicts {
    /// On whoever the lock file names.
    pub holder: Option<Verdict>,
    /// On those in the queue, by id.
    pub waiters: BTreeMap<String, Verdict>,
    /// On those with a grant whose lock file is gone, by id.
    pub bereft: BTreeMap<String, Verdict>,
}

/// Who asks, and for what.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Its id.
    pub id: PlanId,
    /// Whether the id was given rather than inferred.
    pub explicit: bool,
    /// Its user.
    pub user: u32,
    /// A digest of the checkout it stands in.
    pub checkout: Option<String>,
}

/// What a caller that asks for the lock brings along.
#[derive(Clone, Debug)]
pub struct Bid {
    /// What vouches for it.
    pub kind: Kind,
    /// Whether `kind` and `ttl` were asked for, rather than being the default.
    pub insists: bool,
    /// The length of its lease, in seconds.
    pub ttl: f64,
    /// The process it named.
    pub process: Option<ProcessId>,
    /// Where it works.
    pub workplace: Option<String>,
    /// What it needs the lock for.
    pub reason: Option<String>,
}

/// The rules that settings change.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The present.
    pub now: Now,
    /// How long idle and quiet must last before a pass-over, in seconds; `None` for never.
    pub pass_over: Option<f64>,
    /// How old a recorded poll may grow before it is recorded anew, in seconds.
    pub poll_grain: f64,
    /// Whether stale holders may be reclaimed here: not on file systems that are not local.
    pub may_reclaim: bool,
}

/// What became of a request for the lock.
#[derive(Clone, Debug, PartialEq)]
pub enum Admission {
    /// The caller holds it.
    Admitted(Granted),
    /// The caller waits.
    Blocked(Waiting),
}

/// The lock, as the caller holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Granted {
    /// `acquired` or `already_held`.
    pub action: Action,
    /// The stale holder that was removed for it.
    pub reclaimed_from: Option<String>,
    /// The number of the grant.
    pub fence: Option<u64>,
    /// The end of its lease, in seconds since the Unix epoch.
    pub expires_at: Option<f64>,
    /// When it was granted, in seconds since the Unix epoch.
    pub since: Option<f64>,
}

/// The caller's place among those who wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// The caller's place; 1 is next. `None` where it has none of its own.
    pub position: Option<usize>,
    /// The holder's plan is gone but its worktree is live.
    pub mid_recovery: bool,
    /// The holder is stale, but may not be reclaimed here.
    pub not_local: bool,
    /// Whether the caller is new in the queue.
    pub joined: bool,
}

/// What became of a release.
#[derive(Clone, Debug, PartialEq)]
pub enum Release {
    /// The lock was removed.
    Released,
    /// There was nothing of the caller's to remove. Who holds the lock, if somebody does.
    Noop(Option<String>),
    /// The holder's process is there; only it may let go.
    HolderPresent(String),
}

/// What became of the removal of a stale holder.
#[derive(Clone, Debug, PartialEq)]
pub enum Eviction {
    /// This holder was removed.
    Evicted(String),
    /// Nobody held the lock.
    NothingHeld,
    /// The holder is not provably gone.
    Refused(String, Staleness),
}

/// What became of a renewal.
#[derive(Clone, Debug, PartialEq)]
pub enum Renewal {
    /// The lease runs anew until then.
    Renewed(f64),
    /// The holder keeps no lease.
    NoLease,
    /// Another holds the lock, or nobody.
    Lost(Option<String>),
}

impl MergeState {
    /// The record of the holder, where the lock file is the one that the record stands for.
    pub fn holder_record(&self) -> Option<&Participant> {
        let lock = self.lock.as_ref()?;
        let record = self.records.participant(lock.holder.id()?.as_str())?;
        let grant = record.grant.as_ref()?;
        grant.made_lock_of(lock.mtime_ns).then_some(record)
    }

    /// Whether the lock file is what a release that was cut off meant to remove.
    pub fn is_ending(&self) -> bool {
        let (Some(lock), Some(ending)) = (&self.lock, &self.records.ending) else {
            return false;
        };
        lock.holder
            .id()
            .is_some_and(|id| id.as_str() == ending.plan_id)
            && lock.mtime_ns == ending.mtime_ns
    }

    /// The verdict on whoever the lock file names.
    pub fn judge_holder(&self, terms: &Terms, world: &dyn World) -> Option<Verdict> {
        let lock = self.lock.as_ref()?;
        if lock.holder == Holder::Unborn {
            return Some(Verdict::UNKNOWN);
        }
        let subject = Subject {
            id: lock.holder.id(),
            role: Role::Holder,
            record: self.holder_record(),
            seen_at: lock.mtime(),
            records_lost_at: self.records.lost_at,
        };
        Some(judge(&subject, terms, world))
    }

    /// The verdict on everyone in the queue but `caller`, by id.
    fn judge_waiters(
        &self,
        caller: Option<&PlanId>,
        terms: &Terms,
        world: &dyn World,
    ) -> BTreeMap<String, Verdict> {
        let others = self
            .queue
            .iter()
            .filter(|entry| caller.is_none_or(|id| id.as_str() != entry.plan_id));
        others
            .map(|entry| {
                let id = PlanId::parse(&entry.plan_id);
                let subject = Subject {
                    id: id.as_ref(),
                    role: Role::Waiter,
                    record: self.records.participant(&entry.plan_id),
                    seen_at: entry.ts,
                    records_lost_at: self.records.lost_at,
                };
                (entry.plan_id.clone(), judge(&subject, terms, world))
            })
            .collect()
    }

    /// Every verdict that a decision for `caller` may rely on.
    pub fn judge(&self, caller: Option<&PlanId>, terms: &Terms, world: &dyn World) -> Verdicts {
        let bereft = self.bereft().filter_map(|(id, record)| {
            let plan = PlanId::parse(id)?;
            let subject = Subject {
                id: Some(&plan),
                role: Role::Holder,
                record: Some(record),
                seen_at: record.queued_ts,
                records_lost_at: None,
            };
            Some((id.clone(), judge(&subject, terms, world)))
        });
        Verdicts {
            bereft: bereft.collect(),
            holder: self.judge_holder(terms, world),
            waiters: self.judge_waiters(caller, terms, world),
        }
    }

    /// Those with a grant whose lock file is gone or is not theirs, but for cut-off grants.
    pub fn bereft(&self) -> impl Iterator<Item = (&String, &Participant)> {
        let current = self.holder_record().map(std::ptr::from_ref);
        let all = self
            .records
            .participants
            .iter()
            .map(|(id, record)| (id, record.as_ref()));
        all.filter(move |(id, record)| {
            record.grant.is_some()
                && current != Some(std::ptr::from_ref(*record))
                && !self.cut_off.contains(id)
        })
    }
}

/// Finishes what an interrupted commit or another program left undone: see the module header.
pub fn settle(state: &MergeState, verdicts: &Verdicts) -> MergeState {
    let mut next = state.clone();
    if let Some(ending) = next.records.ending.take() {
        if state.is_ending() {
            next.lock = None;
            queue::dequeue(&mut next.queue, &ending.plan_id);
        }
        if next.lock.is_none() && has_ended(&next, &ending) {
            forget_grant(&mut next, &ending.plan_id);
        }
    }
    let bereft: Vec<String> = next.bereft().map(|(id, _)| id.clone()).collect();
    for id in bereft {
        let present = verdicts
            .bereft
            .get(&id)
            .is_some_and(|verdict| verdict.present);
        match PlanId::parse(&id) {
            Some(plan) if next.lock.is_none() && present => next.lock = Some(restored(&next, plan)),
            _ => forget_grant(&mut next, &id),
        }
    }
    for id in std::mem::take(&mut next.cut_off) {
        if let Some(record) = next.records.participant_mut(&id) {
            record.grant = None;
        }
    }
    drop_departed(&mut next);
    next
}

/// Whether the recorded grant of that id is the one that was let go.
fn has_ended(state: &MergeState, ending: &Ending) -> bool {
    let record = state.records.participant(&ending.plan_id);
    record
        .and_then(|record| record.grant.as_ref())
        .is_some_and(|grant| grant.made_lock_of(ending.mtime_ns))
}

/// The verdict on who holds the lock in `next`, which `state` was settled to: whoever the lock
/// file named need not be the one.
fn holder_verdict(state: &MergeState, next: &MergeState, verdicts: &Verdicts) -> Option<Verdict> {
    let lock = next.lock.as_ref()?;
    if state.lock.as_ref() == Some(lock) {
        return verdicts.holder;
    }
    verdicts.bereft.get(lock.holder.id()?.as_str()).copied()
}

/// The lock file of a holder that is provably present, made anew.
fn restored(state: &MergeState, plan: PlanId) -> LockFile {
    let record = state.records.participant(plan.as_str());
    let made = record
        .and_then(|record| record.grant.as_ref())
        .and_then(|grant| grant.made);
    LockFile {
        mtime_ns: made.unwrap_or_default(),
        uid: record.map_or(0, |record| record.user),
        holder: Holder::Plan(plan),
    }
}

/// Ends a grant: the entry that it stood on leaves the queue, a later one of the same id stays.
fn forget_grant(state: &mut MergeState, id: &str) {
    let Some(record) = state.records.participant_mut(id) else {
        return;
    };
    record.grant = None;
    record.lease = None;
    let old = record.queued_ts;
    // A file that was written and read again holds exactly the number that was recorded.
    #[expect(clippy::float_cmp, reason = "the same number or another entry")]
    state
        .queue
        .retain(|entry| entry.plan_id != id || entry.ts != old);
}

/// Drops the records of those who neither hold nor wait.
fn drop_departed(state: &mut MergeState) {
    let holder = state
        .lock
        .as_ref()
        .and_then(|lock| lock.holder.id())
        .cloned();
    let MergeState { queue, records, .. } = state;
    let queued: std::collections::HashSet<&str> =
        queue.iter().map(|entry| entry.plan_id.as_str()).collect();
    records.participants.retain(|id, _| {
        queued.contains(id.as_str()) || holder.as_ref().is_some_and(|holder| holder.as_str() == id)
    });
}

/// Prunes waiters that are provably gone; never the caller's entry nor the holder's.
fn prune(state: &mut MergeState, caller: &PlanId, verdicts: &Verdicts) {
    let holder = state
        .lock
        .as_ref()
        .and_then(|lock| lock.holder.id())
        .cloned();
    state.queue.retain(|entry| {
        let id = entry.plan_id.as_str();
        id == caller.as_str()
            || holder.as_ref().is_some_and(|holder| holder.as_str() == id)
            || !verdicts
                .waiters
                .get(id)
                .is_some_and(|verdict| verdict.is_stale())
    });
}

/// Whether the caller is who the lock file names: the same id, and, for an inferred id, the
/// same user in the same checkout.
pub fn is_holder(state: &MergeState, caller: &Caller) -> bool {
    let Some(lock) = &state.lock else {
        return false;
    };
    if lock.holder.id() != Some(&caller.id) {
        return false;
    }
    if caller.explicit {
        return true;
    }
    match state.holder_record() {
        Some(record) => record.user == caller.user && record.checkout == caller.checkout,
        None => lock.uid == caller.user,
    }
}

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
    if is_holder(&next, caller)
        && next
            .holder_record()
            .is_none_or(|r| r.kind != Kind::Attached)
    {
        let admission = hold_again(&mut next, caller, bid, stale, rules);
        return (next, admission);
    }
    prune(&mut next, &caller.id, verdicts);
    let holder = next.lock.as_ref().and_then(|lock| lock.holder.shown());
    if holder.as_deref() == Some(caller.id.as_str()) {
        let admission = behind_namesake(&mut next, caller, bid, verdict, verdicts, rules);
        return (next, admission);
    }
    let joined = join(&mut next, caller, bid, rules);
    let ahead = queue::ahead(&next.queue, &caller.id, holder.as_deref()).unwrap_or_default();
    let position = ahead.len() + 1;
    let idle = next.lock.is_none() || stale;
    let may_try = ahead.is_empty() || (idle && all_passed_over(&next, &ahead, verdicts, rules));
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
        joined,
    };
    (next, Admission::Blocked(waiting))
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
    let ahead: Vec<&Entry> = others.collect();
    let stale = verdict.is_some_and(Verdict::is_stale);
    let may_try = ahead.is_empty() || (stale && all_passed_over(next, &ahead, verdicts, rules));
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
        joined: false,
    })
}

/// A detached holder asks again: its lease is renewed, the queue is untouched. What vouches for
/// it changes when it insists, or when the process that vouched has ended.
fn hold_again(
    next: &mut MergeState,
    caller: &Caller,
    bid: &Bid,
    stale: bool,
    rules: &Rules,
) -> Admission {
    next.records.idle = None;
    if next.holder_record().is_none() && bid.kind != Kind::Plan {
        adopt(next, caller, bid, rules);
    }
    if let Some(record) = holder_record_mut(next) {
        let anew = bid.insists || (stale && record.kind == Kind::Process);
        if anew {
            record.kind = bid.kind;
            record.process.clone_from(&bid.process);
            record.ttl = Some(bid.ttl);
        }
        // A process means something only where it was recorded.
        if anew || record.kind != Kind::Process {
            record.host = Arc::new(rules.now.host.clone());
            record.ticket = rules.now.moment;
        }
        record.lease = (record.kind == Kind::Leased)
            .then(|| Lease::starting(&rules.now, record.ttl.unwrap_or(bid.ttl)));
        if bid.reason.is_some() {
            record.reason.clone_from(&bid.reason);
        }
    }
    let record = next.holder_record();
    let grant = record.and_then(|record| record.grant.as_ref());
    Admission::Admitted(Granted {
        action: Action::AlreadyHeld,
        reclaimed_from: None,
        fence: grant.map(|grant| grant.fence),
        expires_at: record
            .and_then(|record| record.lease)
            .map(|lease| lease.expires_at()),
        since: grant
            .map(|grant| grant.since.wall)
            .or_else(|| next.lock.as_ref().map(LockFile::mtime)),
    })
}

/// Records a holder that another program, or a lost record, left unrecorded.
fn adopt(next: &mut MergeState, caller: &Caller, bid: &Bid, rules: &Rules) {
    let Some(lock) = next.lock.clone() else {
        return;
    };
    let entry = next
        .queue
        .iter()
        .find(|entry| entry.plan_id == caller.id.as_str());
    let mut record = participant(caller, bid, entry.map_or(lock.mtime(), |e| e.ts), rules);
    next.records.fence = next.records.fence.saturating_add(1);
    record.grant = Some(Grant {
        fence: next.records.fence,
        since: Moment {
            wall: lock.mtime(),
            boot: None,
        },
        made: Some(lock.mtime_ns),
        temp: None,
    });
    next.records
        .participants
        .insert(caller.id.as_str().to_owned(), Arc::new(record));
}

fn holder_record_mut(state: &mut MergeState) -> Option<&mut Participant> {
    state.holder_record()?;
    let id = state.lock.as_ref()?.holder.id()?.as_str().to_owned();
    state.records.participant_mut(&id)
}

fn participant(caller: &Caller, bid: &Bid, queued_ts: f64, rules: &Rules) -> Participant {
    Participant {
        kind: bid.kind,
        host: Arc::new(rules.now.host.clone()),
        ticket: rules.now.moment,
        queued_ts,
        user: caller.user,
        inferred: !caller.explicit,
        checkout: caller.checkout.clone(),
        workplace: bid.workplace.clone(),
        reason: bid.reason.clone(),
        ttl: (bid.kind == Kind::Leased).then_some(bid.ttl),
        lease: None,
        process: bid.process.clone(),
        presence: None,
        grant: None,
    }
}

/// Appends the caller unless it is queued, and records its poll. Returns whether it is new.
fn join(next: &mut MergeState, caller: &Caller, bid: &Bid, rules: &Rules) -> bool {
    let id = caller.id.as_str();
    let place = next.queue.iter().find(|entry| entry.plan_id == id);
    let joined = place.is_none();
    let ts = place.map_or(rules.now.moment.wall, |entry| entry.ts);
    if joined {
        next.queue.push(Entry::new(&caller.id, ts));
    }
    let fresh = participant(caller, bid, ts, rules);
    match next.records.participant_mut(id) {
        Some(record) if !joined => {
            let recent = record
                .quiet_for(&rules.now)
                .is_some_and(|s| (0.0..rules.poll_grain).contains(&s));
            let same = Participant {
                host: record.host.clone(),
                ticket: record.ticket,
                workplace: record.workplace.clone(),
                reason: record.reason.clone(),
                ..fresh.clone()
            } == *record;
            if !(recent && same && (bid.reason.is_none() || bid.reason == record.reason)) {
                *record = fresh;
            }
        }
        _ => {
            next.records
                .participants
                .insert(id.to_owned(), Arc::new(fresh));
        }
    }
    joined
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
    let long = |seconds: Option<f64>| seconds.is_some_and(|seconds| seconds >= limit);
    long(rules.now.elapsed(idle.since, &idle.host))
        && ahead.iter().all(|entry| {
            let present = verdicts
                .waiters
                .get(&entry.plan_id)
                .is_some_and(|v| v.present);
            let quiet = match state.records.participant(&entry.plan_id) {
                Some(record) => record.quiet_for(&rules.now),
                None => Some(rules.now.moment.wall - entry.ts),
            };
            !present && long(quiet)
        })
}

/// Remembers since when the lock has stood idle while somebody waits.
fn note_idle(next: &mut MergeState, idle: bool, rules: &Rules) {
    let idle_now = || Idle {
        since: rules.now.moment,
        host: rules.now.host.clone(),
    };
    if !idle {
        next.records.idle = None;
    } else if next
        .records
        .idle
        .as_ref()
        .is_none_or(|i| rules.now.elapsed(i.since, &i.host).is_none())
    {
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
    let mut record = participant(caller, bid, ts.unwrap_or(rules.now.moment.wall), rules);
    if let Some(waited) = next.records.participant(caller.id.as_str()) {
        record.reason = record.reason.or_else(|| waited.reason.clone());
        record.presence.clone_from(&waited.presence);
    }
    record.lease = (bid.kind == Kind::Leased).then(|| Lease::starting(&rules.now, bid.ttl));
    record.grant = Some(Grant {
        fence,
        since: rules.now.moment,
        made: None,
        temp: None,
    });
    let expires_at = record.lease.map(|lease| lease.expires_at());
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

/// Decides a release.
pub fn release(
    state: &MergeState,
    caller: &Caller,
    verdicts: &Verdicts,
    rules: &Rules,
) -> (MergeState, Release) {
    let mut next = settle(state, verdicts);
    let verdict = holder_verdict(state, &next, verdicts);
    prune(&mut next, &caller.id, verdicts);
    let holder = next.lock.as_ref().map(|lock| lock.holder.clone());
    let names_caller = holder.as_ref().and_then(Holder::id) == Some(&caller.id);
    if !is_holder(&next, caller) {
        if !names_caller {
            queue::dequeue(&mut next.queue, caller.id.as_str());
        }
        return (
            next,
            Release::Noop(holder.and_then(|holder| holder.shown())),
        );
    }
    let attached = next
        .holder_record()
        .is_some_and(|record| record.kind == Kind::Attached);
    if attached && verdict.is_some_and(|verdict| verdict.present) {
        return (next, Release::HolderPresent(caller.id.as_str().to_owned()));
    }
    let_go(&mut next, caller.id.as_str(), rules);
    (next, Release::Released)
}

/// Removes the holder `id` and its entry. Its record goes once the lock file is gone.
fn let_go(next: &mut MergeState, id: &str, rules: &Rules) {
    next.lock = None;
    queue::dequeue(&mut next.queue, id);
    next.records.idle = None;
    if !next.queue.is_empty() {
        note_idle(next, true, rules);
    }
}

/// Decides the removal of a holder that is provably gone.
pub fn evict(
    state: &MergeState,
    caller: &Caller,
    verdicts: &Verdicts,
    rules: &Rules,
) -> (MergeState, Eviction) {
    let mut next = settle(state, verdicts);
    prune(&mut next, &caller.id, verdicts);
    let Some(lock) = next.lock.clone() else {
        return (next, Eviction::NothingHeld);
    };
    let shown = lock.holder.shown().unwrap_or_default();
    let staleness = holder_verdict(state, &next, verdicts)
        .map_or(Staleness::Unknown, |verdict| verdict.staleness);
    if staleness != Staleness::Stale || !rules.may_reclaim {
        return (next, Eviction::Refused(shown, staleness));
    }
    let_go(&mut next, &shown, rules);
    (next, Eviction::Evicted(shown))
}

/// Decides the renewal of a lease; `ttl` in seconds, `None` for its length so far.
pub fn renew(
    state: &MergeState,
    caller: &Caller,
    bid: &Bid,
    verdicts: &Verdicts,
    rules: &Rules,
) -> (MergeState, Renewal) {
    let mut next = settle(state, verdicts);
    if !is_holder(&next, caller) {
        let holder = next.lock.as_ref().and_then(|lock| lock.holder.shown());
        return (next, Renewal::Lost(holder));
    }
    if next.holder_record().is_none() && bid.kind != Kind::Plan {
        adopt(&mut next, caller, bid, rules);
    }
    let Some(record) = holder_record_mut(&mut next).filter(|record| record.kind == Kind::Leased)
    else {
        return (next, Renewal::NoLease);
    };
    if bid.insists {
        record.ttl = Some(bid.ttl);
    }
    record.host = Arc::new(rules.now.host.clone());
    record.ticket = rules.now.moment;
    let lease = Lease::starting(&rules.now, record.ttl.unwrap_or(bid.ttl));
    record.lease = Some(lease);
    next.records.idle = None;
    (next, Renewal::Renewed(lease.expires_at()))
}

/// Who holds the lock, as a reader sees it: a release that was cut off has let go, and a holder
/// that is provably present holds it although its lock file vanished.
pub fn view(state: &MergeState, verdicts: &Verdicts) -> MergeState {
    settle(state, verdicts)
}

#[cfg(test)]
mod tests;
