//! The state of the merge lock and the verdicts on those who take part: plain data.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::identity::PlanId;
use crate::lease::Moment;
use crate::liveness::{Role, Subject, Terms, Verdict, World, grounds, judge};
use crate::locks::asking::Caller;
use crate::participant::Participant;
use crate::queue::Entry;
use crate::report::Grounds;
use crate::sys::host::Host;

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
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// The number of the last grant.
    pub fence: u64,
    /// A release that was begun.
    pub ending: Option<Ending>,
    /// Since when the lock has stood idle.
    pub idle: Option<Idle>,
    /// When our records were found lost (unreadable, or missing while a witness stands for the
    /// holder), in seconds since the Unix epoch.
    pub lost_at: Option<f64>,
    /// Everyone who takes part, by id.
    pub participants: BTreeMap<String, Arc<Participant>>,
    /// Holders of rate windows who are no plans, by bot: their windows end by the clock alone.
    pub windows: BTreeMap<String, String>,
}

impl PartialEq for Records {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            fence,
            ending,
            idle,
            lost_at,
            participants,
            windows,
        } = self;
        // Thousands of records that nobody touched are the same without being read.
        let same = |a: &Arc<Participant>, b: &Arc<Participant>| Arc::ptr_eq(a, b) || a == b;
        (fence, ending, idle, lost_at, windows)
            == (
                &other.fence,
                &other.ending,
                &other.idle,
                &other.lost_at,
                &other.windows,
            )
            && participants.len() == other.participants.len()
            && participants
                .iter()
                .zip(&other.participants)
                .all(|((id, a), (other_id, b))| id == other_id && same(a, b))
    }
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

impl Verdicts {
    /// Whether `id` waits, but its process is provably gone.
    pub fn is_orphan(&self, id: &str) -> bool {
        self.waiters.get(id).is_some_and(|verdict| verdict.orphaned)
    }
}

impl MergeState {
    /// The record of the holder, where the lock file is the one that the record stands for.
    pub fn holder_record(&self) -> Option<&Participant> {
        let lock = self.lock.as_ref()?;
        let record = self.records.participant(lock.holder.id()?.as_str())?;
        let grant = record.grant.as_ref()?;
        grant.made_lock_of(lock.mtime_ns).then_some(record)
    }

    /// Whether the place recorded under the caller's id is that of its very process.
    pub fn is_place_of(&self, caller: &Caller) -> bool {
        let record = self.records.participant(caller.id.as_str());
        caller.presence.is_some()
            && record.is_some_and(|r| r.grant.is_none() && r.presence == caller.presence)
    }

    /// Whether the caller is to be given a place that another left: it has none yet.
    pub(super) fn may_be_given_a_place(&self, caller: &Caller) -> bool {
        let is_queued = |entry: &Entry| entry.plan_id == caller.id.as_str();
        caller.is_nameless() && !self.queue.iter().any(is_queued)
    }

    /// The ids of those who wait or hold.
    pub fn taking_part(&self) -> HashSet<&str> {
        let holder = self.lock.as_ref().and_then(|lock| lock.holder.id());
        let queued = self.queue.iter().map(|entry| entry.plan_id.as_str());
        queued.chain(holder.map(PlanId::as_str)).collect()
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
        Some(judge(&self.holder_subject(lock), terms, world))
    }

    /// What that verdict rests on.
    pub fn holder_grounds(&self, terms: &Terms, world: &dyn World) -> Option<Grounds> {
        let lock = self.lock.as_ref()?;
        if lock.holder == Holder::Unborn {
            return Some(Grounds::Age);
        }
        Some(grounds(&self.holder_subject(lock), terms, world))
    }

    fn holder_subject<'a>(&'a self, lock: &'a LockFile) -> Subject<'a> {
        Subject {
            id: lock.holder.id(),
            role: Role::Holder,
            record: self.holder_record(),
            seen_at: lock.mtime(),
            closely: true,
            records_lost_at: self.records.lost_at,
        }
    }

    /// What the verdict on one in the queue rests on.
    pub fn waiter_grounds(&self, entry: &Entry, terms: &Terms, world: &dyn World) -> Grounds {
        let (id, waiter) = (PlanId::parse(&entry.plan_id), self.cut_off_waiter(entry));
        let record = waiter.as_ref().or_else(|| self.record_of(entry));
        let subject = self.waiter_subject(entry, id.as_ref(), record);
        grounds(&subject, terms, world)
    }

    fn record_of(&self, entry: &Entry) -> Option<&Participant> {
        self.records.participant(&entry.plan_id)
    }

    /// The waiter that one in the queue is whose grant was cut off.
    fn cut_off_waiter(&self, entry: &Entry) -> Option<Participant> {
        let cut_off = self.cut_off.contains(&entry.plan_id);
        let record = self.record_of(entry).filter(|_| cut_off);
        record.map(Participant::without_grant)
    }

    fn waiter_subject<'a>(
        &self,
        entry: &Entry,
        id: Option<&'a PlanId>,
        record: Option<&'a Participant>,
    ) -> Subject<'a> {
        Subject {
            id,
            role: Role::Waiter,
            record,
            seen_at: entry.ts,
            closely: false,
            records_lost_at: self.records.lost_at,
        }
    }

    /// The verdict on everyone in the queue, by id. Behind one whose process is there it matters to
    /// nobody whether others' processes are, but for what concerns the caller itself.
    fn judge_waiters(
        &self,
        caller: Option<&Caller>,
        terms: &Terms,
        world: &dyn World,
    ) -> BTreeMap<String, Verdict> {
        let holder = self.lock.as_ref().and_then(|lock| lock.holder.id());
        let heir = caller.filter(|caller| self.may_be_given_a_place(caller));
        let mut behind_one = false;
        self.queue
            .iter()
            .map(|entry| {
                let waiter = self.cut_off_waiter(entry);
                let record = waiter.as_ref().or_else(|| self.record_of(entry));
                let own = caller.is_some_and(|it| it.id.as_str() == entry.plan_id);
                let left = heir.is_some_and(|it| record.is_some_and(|r| it.shares_checkout(r)));
                let id = PlanId::parse(&entry.plan_id);
                let subject = Subject {
                    closely: !behind_one || own || left,
                    ..self.waiter_subject(entry, id.as_ref(), record)
                };
                let verdict = judge(&subject, terms, world);
                let confirmed = record.and_then(|record| record.quiet_for(&terms.now));
                let runs = confirmed.is_some_and(|quiet| quiet < terms.ticket_ttl);
                behind_one |= verdict.present && runs && id.as_ref() != holder;
                (entry.plan_id.clone(), verdict)
            })
            .collect()
    }

    /// Every verdict that a decision for `caller` may rely on.
    pub fn judge(&self, caller: Option<&Caller>, terms: &Terms, world: &dyn World) -> Verdicts {
        let bereft = self.bereft().filter_map(|(id, record)| {
            let plan = PlanId::parse(id)?;
            let subject = Subject {
                id: Some(&plan),
                role: Role::Holder,
                record: Some(record),
                seen_at: record.queued_ts,
                closely: true,
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
