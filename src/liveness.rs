//! One verdict, used by everyone: is this participant alive?
//!
//! Evidence is `Alive`, `Absent` or `Unobservable`. Every participant is of one kind, and only
//! that kind's evidence counts (the table of `doc/protocol.md`). What could not be observed is
//! unknown, and unknown never frees a lock. The rules are pure; looking at the world is
//! [`World`], which tests replace.

use crate::identity::PlanId;
use crate::lease::{Lease, Moment, Now, Standing};
use crate::participant::{Kind, Participant};
use crate::report::{Grounds, Staleness};
use crate::sys::host::Host;
use crate::sys::process::ProcessId;

/// What looking at one thing showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// It is there.
    Alive,
    /// We looked where it would be, could have seen it, and it is not there.
    Absent,
    /// We could not have seen it.
    Unobservable,
}

/// Everything a verdict may need to look at.
pub trait World {
    /// Whether the repository keeps plans at all.
    fn keeps_plans(&self) -> Evidence;
    /// The plan directory of `id`, in the main checkout or in its worktree. Never our witness.
    fn plan(&self, id: &PlanId) -> Evidence;
    /// A genuine worktree of `id`: under the base, or registered with git elsewhere.
    fn worktree(&self, id: &PlanId) -> Evidence;
    /// The process `process` of the host of the record.
    fn process(&self, process: &ProcessId, host: &Host) -> Evidence;
    /// The kernel lock on the presence file of this name.
    fn presence(&self, name: &str, host: &Host) -> Evidence;
}

/// The settings and the clock that a verdict depends on.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The present.
    pub now: Now,
    /// How long a lease lasts where nothing says otherwise, in seconds.
    pub default_ttl: f64,
    /// How long a waiter keeps its place without asking again, in seconds.
    pub ticket_ttl: f64,
}

/// Whether the subject holds or waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It has the lock.
    Holder,
    /// It stands in the queue.
    Waiter,
}

/// Whom to judge.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// The plan id; `None` for text that is none: such a holder is dead.
    pub id: Option<&'a PlanId>,
    /// Whether it holds or waits.
    pub role: Role,
    /// What we recorded about it.
    pub record: Option<&'a Participant>,
    /// When its lock file or queue entry was made, in seconds since the Unix epoch.
    pub seen_at: f64,
    /// Of a waiter whose ticket runs: whether it matters if its process is there.
    pub closely: bool,
    /// When our own records were found lost, if they were: before that, a missing record proves
    /// nothing.
    pub records_lost_at: Option<f64>,
}

/// What the evidence comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Fresh, stale or unknown.
    pub staleness: Staleness,
    /// Its plan is gone, but its worktree is live: a person must decide.
    pub mid_recovery: bool,
    /// Its own process, or the command it started, is provably there, as far as it was looked for.
    pub present: bool,
    /// A waiter whose process is provably gone while its ticket keeps its place.
    pub orphaned: bool,
}

impl Verdict {
    const fn of(staleness: Staleness) -> Self {
        Self {
            staleness,
            mid_recovery: false,
            present: false,
            orphaned: false,
        }
    }

    /// Provably gone.
    pub const STALE: Self = Self::of(Staleness::Stale);
    /// Alive.
    pub const FRESH: Self = Self::of(Staleness::Fresh);
    /// Could not be observed.
    pub const UNKNOWN: Self = Self::of(Staleness::Unknown);

    /// Whether this participant may be reclaimed or pruned.
    pub fn is_stale(self) -> bool {
        self.staleness == Staleness::Stale
    }
}

/// Judges one participant.
pub fn judge(subject: &Subject<'_>, terms: &Terms, world: &dyn World) -> Verdict {
    let Some(id) = subject.id else {
        return Verdict::STALE;
    };
    let Some(record) = subject.record else {
        return judge_unrecorded(id, subject, terms, world);
    };
    if let Some(standing) = running_ticket(subject, record, terms) {
        let verdict = judge_standing(standing);
        return if subject.closely {
            with_presence(verdict, record, world)
        } else {
            verdict
        };
    }
    match record.kind {
        Kind::Plan => judge_plan(id, world),
        Kind::Process => judge_process(record, world),
        Kind::Attached => judge_attached(record, terms, world),
        Kind::Leased => judge_leased(subject.role, record, terms),
    }
}

/// What [`judge`] goes by.
pub fn grounds(subject: &Subject<'_>, terms: &Terms, world: &dyn World) -> Grounds {
    if subject.id.is_none() {
        return Grounds::Nothing;
    }
    let Some(record) = subject.record else {
        return match world.keeps_plans() {
            _ if is_lost(subject, terms) => Grounds::Lost,
            Evidence::Alive | Evidence::Unobservable => Grounds::Plan,
            Evidence::Absent => Grounds::Age,
        };
    };
    if running_ticket(subject, record, terms).is_some() {
        return Grounds::Ticket;
    }
    match record.kind {
        Kind::Plan => Grounds::Plan,
        Kind::Process => Grounds::Process,
        Kind::Attached => Grounds::Presence,
        Kind::Leased => Grounds::Lease,
    }
}

/// How the ticket of a waiter stands that keeps its place by that, and not by a plan; `None` once it is
/// over.
fn running_ticket(subject: &Subject<'_>, record: &Participant, terms: &Terms) -> Option<Standing> {
    if subject.role != Role::Waiter || record.kind == Kind::Plan {
        return None;
    }
    let standing = ticket_of(record, terms).standing(&record.host, &terms.now);
    (standing != Standing::Expired).then_some(standing)
}

/// Adds to a verdict on a waiter whose ticket runs whether its process is there.
fn with_presence(verdict: Verdict, record: &Participant, world: &dyn World) -> Verdict {
    if record.kind != Kind::Attached {
        return verdict;
    }
    let evidence = is_present(record, world);
    Verdict {
        present: evidence == Evidence::Alive,
        orphaned: evidence == Evidence::Absent,
        ..verdict
    }
}

/// The verdict on one that only a plan of its name vouches for.
pub fn judge_plan(id: &PlanId, world: &dyn World) -> Verdict {
    match world.plan(id) {
        Evidence::Alive => Verdict::FRESH,
        Evidence::Unobservable => Verdict::UNKNOWN,
        Evidence::Absent => match world.worktree(id) {
            Evidence::Alive => Verdict {
                mid_recovery: true,
                ..Verdict::FRESH
            },
            Evidence::Unobservable => Verdict::UNKNOWN,
            Evidence::Absent => Verdict::STALE,
        },
    }
}

fn judge_process(record: &Participant, world: &dyn World) -> Verdict {
    let Some(process) = &record.process else {
        return Verdict::UNKNOWN;
    };
    match world.process(process, &record.host) {
        Evidence::Alive => Verdict::FRESH,
        Evidence::Absent => Verdict::STALE,
        Evidence::Unobservable => Verdict::UNKNOWN,
    }
}

/// Whether the participant's own process or the command it started is there.
fn is_present(record: &Participant, world: &dyn World) -> Evidence {
    let presence = match &record.presence {
        Some(name) => world.presence(name, &record.host),
        None => Evidence::Absent,
    };
    let child = || match &record.process {
        Some(process) => world.process(process, &record.host),
        None => Evidence::Absent,
    };
    match presence {
        Evidence::Alive => Evidence::Alive,
        Evidence::Absent => child(),
        Evidence::Unobservable => match child() {
            Evidence::Alive => Evidence::Alive,
            _ => Evidence::Unobservable,
        },
    }
}

fn judge_attached(record: &Participant, terms: &Terms, world: &dyn World) -> Verdict {
    match is_present(record, world) {
        Evidence::Alive => Verdict {
            present: true,
            ..Verdict::FRESH
        },
        Evidence::Absent => Verdict::STALE,
        // The lease bounds the doubt.
        Evidence::Unobservable => {
            match lease_of(record, terms).standing(&record.host, &terms.now) {
                Standing::Expired => Verdict::STALE,
                Standing::Running | Standing::Unknown => Verdict::UNKNOWN,
            }
        }
    }
}

/// A waiter's lease begins with its grant: until then its ticket alone vouches for it.
fn judge_leased(role: Role, record: &Participant, terms: &Terms) -> Verdict {
    if role == Role::Waiter {
        return Verdict::STALE;
    }
    judge_standing(lease_of(record, terms).standing(&record.host, &terms.now))
}

fn judge_standing(standing: Standing) -> Verdict {
    match standing {
        Standing::Running => Verdict::FRESH,
        Standing::Expired => Verdict::STALE,
        Standing::Unknown => Verdict::UNKNOWN,
    }
}

/// The right of a waiter to its place, which begins anew with each poll.
pub fn ticket_of(record: &Participant, terms: &Terms) -> Lease {
    Lease {
        from: record.ticket,
        seconds: terms.ticket_ttl,
    }
}

/// The lease of a holder; where none is recorded, the default one from its grant.
pub fn lease_of(record: &Participant, terms: &Terms) -> Lease {
    record.lease.unwrap_or(Lease {
        from: record
            .grant
            .as_ref()
            .map_or(record.ticket, |grant| grant.since),
        seconds: terms.default_ttl,
    })
}

/// A participant of which we have no record: another program's, or one whose record was lost.
fn judge_unrecorded(
    id: &PlanId,
    subject: &Subject<'_>,
    terms: &Terms,
    world: &dyn World,
) -> Verdict {
    if is_lost(subject, terms) {
        return Verdict::UNKNOWN;
    }
    match world.keeps_plans() {
        Evidence::Alive => judge_plan(id, world),
        Evidence::Unobservable => Verdict::UNKNOWN,
        Evidence::Absent => judge_standing(age(subject, terms)),
    }
}

/// Whether a holder without a record may be one whose record was lost.
fn is_lost(subject: &Subject<'_>, terms: &Terms) -> bool {
    let lost = subject
        .records_lost_at
        .is_some_and(|at| subject.seen_at <= at);
    lost && subject.role == Role::Holder && age(subject, terms) != Standing::Expired
}

/// How a lease would stand that began when the lock file or queue entry was made.
fn age(subject: &Subject<'_>, terms: &Terms) -> Standing {
    // Recorded here or not, a file's time is wall time of this file system.
    lease_since(subject.seen_at, terms).standing(&terms.now.host, &terms.now)
}

/// The lease of one without a record whose lock file or queue entry was made at `seen_at`, in seconds
/// since the Unix epoch.
pub fn lease_since(seen_at: f64, terms: &Terms) -> Lease {
    Lease {
        from: Moment {
            wall: seen_at,
            boot: None,
        },
        seconds: terms.default_ttl,
    }
}

#[cfg(test)]
mod tests;
