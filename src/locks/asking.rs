//! Who asks for a lock, and what it brings along: the same for every lock with a queue.

use std::sync::Arc;

use crate::identity::PlanId;
use crate::lease::{Lease, Now};
use crate::participant::{Kind, Participant};
use crate::sys::process::ProcessId;

/// Who asks.
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
    /// The name of the presence file that its process keeps, where it keeps one.
    pub presence: Option<String>,
}

impl Caller {
    /// Whether the caller is one of those who are given places that others left: a process that waits
    /// and named nobody.
    pub fn is_nameless(&self) -> bool {
        !self.explicit && self.checkout.is_some() && self.presence.is_some()
    }

    /// Whether a nameless call of the caller's checkout made this record.
    pub fn shares_checkout(&self, record: &Participant) -> bool {
        record.inferred && record.user == self.user && record.checkout == self.checkout
    }

    /// Whether the caller is who the record of its id is about: an inferred id means the same only for
    /// the same user in the same checkout.
    pub fn is_meant_by(&self, record: &Participant) -> bool {
        self.explicit || (record.user == self.user && record.checkout == self.checkout)
    }
}

/// What became of a request for a lock, or for a slot.
#[derive(Clone, Debug, PartialEq)]
pub enum Admission<Granted, Waiting> {
    /// The caller has it.
    Admitted(Granted),
    /// The caller waits.
    Blocked(Waiting),
    /// Another process takes part under the caller's id: the caller needs one of its own.
    Namesake,
}

/// What a caller that asks for a lock brings along.
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
    /// Kind `attached`: a digest of the secret by which its command will be known.
    pub token: Option<String>,
    /// Where it works.
    pub workplace: Option<String>,
    /// What it needs the lock for.
    pub reason: Option<String>,
}

impl Bid {
    /// Whether a grant would be complete: an attached holder is known by what it is about to run.
    pub fn can_hold(&self) -> bool {
        self.kind != Kind::Attached || self.process.is_some()
    }

    /// How long the lease lasts of one that asks so, in seconds, where it has one.
    pub fn length_of_lease(&self) -> Option<f64> {
        matches!(self.kind, Kind::Leased | Kind::Attached).then_some(self.ttl)
    }

    /// What is recorded of `caller` when it holds; `queued_ts` is the time of its entry.
    pub fn participant(&self, caller: &Caller, queued_ts: f64, now: &Now) -> Participant {
        Participant {
            kind: self.kind,
            host: Arc::new(now.host.clone()),
            ticket: now.moment,
            queued_ts,
            user: caller.user,
            inferred: !caller.explicit,
            checkout: caller.checkout.clone(),
            workplace: self.workplace.clone(),
            reason: self.reason.clone(),
            ttl: self.length_of_lease(),
            lease: None,
            process: self.process.clone(),
            // Of one that only waited as a process: cut off, its grant leaves such a waiter again.
            presence: caller.presence.clone(),
            token: self.token.clone(),
            grant: None,
        }
    }

    /// What is recorded of `caller` while it waits: as long as its process is there, that vouches for
    /// it.
    pub fn waiter(&self, caller: &Caller, queued_ts: f64, now: &Now) -> Participant {
        let holder = self.participant(caller, queued_ts, now);
        if caller.presence.is_none() {
            return holder;
        }
        Participant {
            kind: Kind::Attached,
            process: None,
            token: None,
            ..holder
        }
    }

    /// What a waiter that asks again without saying for how long brings along: what it said `before`.
    #[must_use]
    pub fn as_before(&self, before: Option<&Participant>) -> Self {
        // An attached waiter with a lease to come was one that waits to be leased.
        let asked = |record: &&Participant| {
            record.ttl.is_some() && matches!(record.kind, Kind::Leased | Kind::Attached)
        };
        match before.filter(|record| asked(record) && !self.insists) {
            Some(record) if self.kind == Kind::Plan || self.kind == Kind::Leased => Self {
                kind: Kind::Leased,
                ttl: record.ttl.unwrap_or(self.ttl),
                ..self.clone()
            },
            _ => self.clone(),
        }
    }

    /// Whether a call that would be recorded as `fresh` says nothing that `record` does not, and comes
    /// within `grain` seconds of it.
    pub fn repeats(
        &self,
        record: &Participant,
        fresh: &Participant,
        now: &Now,
        grain: f64,
    ) -> bool {
        let recent = record
            .quiet_for(now)
            .is_some_and(|s| (0.0..grain).contains(&s));
        let same = Participant {
            host: record.host.clone(),
            ticket: record.ticket,
            workplace: record.workplace.clone(),
            reason: record.reason.clone(),
            ..fresh.clone()
        } == *record;
        recent && same && (self.reason.is_none() || self.reason == record.reason)
    }

    /// Records that a detached holder asks again. What vouches for it changes when it insists, or when
    /// the process that vouched has ended (`stale`).
    pub fn hold_again(&self, record: &mut Participant, stale: bool, now: &Now) {
        let anew = self.insists || (stale && record.kind == Kind::Process);
        if anew {
            record.kind = self.kind;
            record.process.clone_from(&self.process);
            record.ttl = self.length_of_lease();
        }
        // A process means something only where it was recorded.
        if anew || record.kind != Kind::Process {
            record.host = Arc::new(now.host.clone());
            record.ticket = now.moment;
        }
        record.lease = (record.kind == Kind::Leased)
            .then(|| Lease::starting(now, record.ttl.unwrap_or(self.ttl)));
        if self.reason.is_some() {
            record.reason.clone_from(&self.reason);
        }
    }

    /// Records that a run goes ahead under what its id holds detached: calls from inside the command
    /// are known as those from inside a run are, and what lease there is does not run out.
    pub fn visit(&self, record: &mut Participant, now: &Now) {
        record.token.clone_from(&self.token);
        if record.kind != Kind::Leased {
            return;
        }
        let ttl = record.ttl.or(record.lease.map(|lease| lease.seconds));
        if let Some(ttl) = ttl {
            record.host = Arc::new(now.host.clone());
            record.lease = Some(Lease::starting(now, ttl));
            record.ticket = now.moment;
        }
    }
}

/// A call of one that waits, as a sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// The caller is new in the queue.
    Joined,
    /// The call was recorded.
    Noted,
    /// The one before was so recently recorded that this one was not.
    Repeated,
}
