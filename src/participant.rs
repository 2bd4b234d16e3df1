//! What we record about everyone who takes part in a lock: of which kind they are, and what
//! vouches for them. Plain data; [`crate::liveness`] judges it, [`crate::store`] keeps it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::lease::{Lease, Moment, Now};
use crate::sys::host::Host;
use crate::sys::process::ProcessId;

/// What vouches for a participant. Only its own kind's evidence counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Its plan directory, in the main checkout or moved into its worktree.
    Plan,
    /// A kernel lock that its process keeps, or the command that it started.
    Attached,
    /// A process that it named.
    Process,
    /// A promise with an end.
    Leased,
}

/// One participant: the holder, or a waiter. `H` is its host: itself in memory, its number in
/// a table on disk, where thousands of participants share few hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Participant<H = Arc<Host>> {
    /// What vouches for it.
    pub kind: Kind,
    /// Where `ticket`, `lease` and `process` were recorded.
    pub host: H,
    /// When it last asked.
    pub ticket: Moment,
    /// The `ts` of its queue entry: tells that entry from a later one of the same id.
    pub queued_ts: f64,
    /// Its user.
    pub user: u32,
    /// Whether its id was inferred from where it stood rather than given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inferred: bool,
    /// A digest of the checkout it stood in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout: Option<String>,
    /// Where it works, for people.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub workplace: Option<String>,
    /// What it needs the lock for, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The length its lease will have, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<f64>,
    /// The lease of a holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// Kind `process`: the process named. Kind `attached`: the command that was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessId>,
    /// Kind `attached`: the name of its presence file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence: Option<String>,
    /// Kind `attached`, once it holds: a digest of the secret that its command knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The grant of a holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Grant>,
}

/// The lock, as it was given to a holder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// The number of the grant.
    pub fence: u64,
    /// When it was given.
    pub since: Moment,
    /// The modification time given to the lock file, in nanoseconds since the Unix epoch: tells
    /// that lock file from one that another program made for the same id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<i64>,
    /// The temporary name that the lock file had before it got its own: where that is still
    /// there and the lock file is not, the grant was cut off before it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temp: Option<String>,
}

/// How far a rounded modification time may be from the one that was given: two seconds on FAT, …
const ROUNDED_BY_NS: u64 = 2_000_000_000;
/// … and what it is then a multiple of: ten milliseconds on exFAT, more elsewhere.
const ROUNDED_TO_NS: i64 = 10_000_000;

impl Grant {
    /// Whether this grant is the one that the lock file modified at `mtime_ns` stands for. Only
    /// what a file system has rounded may differ: another program may make a lock file for the
    /// same id a moment after ours is gone.
    pub fn made_lock_of(&self, mtime_ns: i64) -> bool {
        let rounded = mtime_ns % ROUNDED_TO_NS == 0;
        self.made.is_some_and(|made| {
            made == mtime_ns || (rounded && made.abs_diff(mtime_ns) < ROUNDED_BY_NS)
        })
    }
}

impl<H> Participant<H> {
    /// The same participant with its host put in another way.
    pub fn with_host<G>(self, host: G) -> Participant<G> {
        Participant {
            host,
            kind: self.kind,
            ticket: self.ticket,
            queued_ts: self.queued_ts,
            user: self.user,
            inferred: self.inferred,
            checkout: self.checkout,
            workplace: self.workplace,
            reason: self.reason,
            ttl: self.ttl,
            lease: self.lease,
            process: self.process,
            presence: self.presence,
            token: self.token,
            grant: self.grant,
        }
    }
}

impl Participant {
    /// The waiter that a grant which was cut off before it was given leaves behind: one that waited as
    /// a process does so again, or did.
    #[must_use]
    pub fn without_grant(&self) -> Self {
        let waited = self.presence.is_some();
        Self {
            kind: if waited { Kind::Attached } else { self.kind },
            process: self.process.clone().filter(|_| !waited),
            lease: None,
            grant: None,
            ..self.clone()
        }
    }

    /// When what a holder was promised ends, in seconds since the Unix epoch. The lease of an attached
    /// holder is no promise to it: it bounds the doubt of others.
    pub fn end_of_lease(&self) -> Option<f64> {
        let lease = self.lease.filter(|_| self.kind == Kind::Leased);
        lease.map(|lease| lease.expires_at())
    }

    /// Seconds until the lease ends that vouches for a holder; `None` where none does, or it has ended.
    pub fn lease_left(&self, now: &Now) -> Option<f64> {
        let lease = self.lease.filter(|_| self.kind == Kind::Leased)?;
        let elapsed = now.elapsed(lease.from, &self.host)?;
        (elapsed < lease.seconds).then_some(lease.seconds - elapsed)
    }

    /// Seconds since this participant last showed a sign of life; `None` where that cannot be
    /// told.
    pub fn quiet_for(&self, now: &Now) -> Option<f64> {
        now.elapsed(self.ticket, &self.host)
    }
}
