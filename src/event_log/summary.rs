//! How long was waited and held, as the timeline tells: pure.
//!
//! A *wait* is from the first `blocked` of a participant to the next entry that gives it the lock; a
//! *hold* from there to its `released`. A hold that ends otherwise, taken by another, is a *reclaim*. A
//! wait that has not ended so is *without a turn*: who stands in the queue waits still; of anybody else
//! it is only known when it was blocked last. What lies outside the entries that are given is not seen.
//!
//! Of each lock as much is kept as it has participants that wait or hold, at most some 100 000, and
//! a count for each length that a span has, in milliseconds.

use std::collections::{BTreeMap, VecDeque};

use super::entries::Entry;
use super::filter::LOCKS;
use super::holds::{Holds, is_grant};

/// How many may wait, or hold, before the oldest are counted as gone.
const MOST_OPEN: usize = 100_000;
/// How many reclaims are told one by one: the last ones.
const MOST_RECLAIMS: usize = 100;

/// How long something lasted each time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    /// How often, by length in milliseconds.
    counts: BTreeMap<u64, u64>,
    count: u64,
}

impl Spans {
    fn add(&mut self, seconds: f64) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped, and saturates"
        )]
        let millis = (seconds.max(0.0) * 1e3).round() as u64;
        *self.counts.entry(millis).or_default() += 1;
        self.count += 1;
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The shortest length, in seconds, such that at least `percent` of a hundred are no longer; `None`
    /// of none.
    pub fn percentile(&self, percent: u32) -> Option<f64> {
        let share = (u128::from(self.count) * u128::from(percent)).div_ceil(100);
        let rank = share.clamp(1, u128::from(self.count.max(1)));
        let mut below = 0;
        let mut lengths = self.counts.iter();
        let found = lengths.find(|(_, count)| {
            below += u128::from(**count);
            below >= rank
        });
        found.map(|(millis, _)| in_seconds(*millis))
    }

    /// The longest, in seconds; `None` of none.
    pub fn longest(&self) -> Option<f64> {
        self.counts
            .keys()
            .next_back()
            .map(|millis| in_seconds(*millis))
    }
}

fn in_seconds(millis: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "exact for millions of years")]
    let millis = millis as f64;
    millis / 1e3
}

/// A wait that has not led to a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Turnless {
    /// Who waits, or gave up.
    pub id: String,
    /// Since when, in seconds since the Unix epoch.
    pub since: f64,
    /// How long, as far as is known, in seconds.
    pub seconds: f64,
    /// Whether it stands in the queue now.
    pub waits: bool,
}

/// A lock that was taken from somebody.
#[derive(Clone, Debug, PartialEq)]
pub struct Reclaim {
    /// When, in seconds since the Unix epoch.
    pub time: f64,
    /// The lock.
    pub lock: &'static str,
    /// From whom.
    pub id: String,
    /// By whom, where that is told.
    pub by: Option<String>,
}

/// What there is to say of one lock.
#[derive(Clone, Debug, PartialEq)]
pub struct LockSummary {
    /// The lock.
    pub lock: &'static str,
    /// The waits that led to a turn.
    pub waits: Spans,
    /// The holds that ended in a release.
    pub holds: Spans,
    /// How many waits have not led to a turn.
    pub turnless: u64,
    /// The longest of those.
    pub longest_turnless: Option<Turnless>,
    /// How often it was taken from somebody.
    pub reclaims: u64,
}

/// What there is to say.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// How many entries it comes from.
    pub entries: u64,
    /// Of each lock.
    pub locks: Vec<LockSummary>,
    /// The last reclaims, oldest first.
    pub reclaims: Vec<Reclaim>,
}

/// Who waits for a lock now.
pub trait Queue {
    /// Since when `id` waits for `lock`, in seconds since the Unix epoch; 0 where only that is unknown;
    /// `None` where it does not, or nobody can tell.
    fn since(&self, lock: &str, id: &str) -> Option<f64>;
}

/// Takes entries, in the order of the timeline.
#[derive(Debug)]
pub struct Summing {
    entries: u64,
    locks: Vec<Ledger>,
    reclaims: VecDeque<Reclaim>,
}

impl Summing {
    /// Of the locks that `wanted` says.
    pub fn new(wanted: impl Fn(&str) -> bool) -> Self {
        let locks = LOCKS.into_iter().filter(|lock| wanted(lock));
        Self {
            entries: 0,
            locks: locks.map(Ledger::new).collect(),
            reclaims: VecDeque::new(),
        }
    }

    /// Takes one more.
    pub fn take(&mut self, entry: &Entry) {
        let mut locks = self.locks.iter_mut();
        let Some(ledger) = locks.find(|ledger| ledger.lock == entry.lock) else {
            return;
        };
        self.entries += 1;
        if let Some(reclaim) = ledger.take(entry) {
            if self.reclaims.len() == MOST_RECLAIMS {
                self.reclaims.pop_front();
            }
            self.reclaims.push_back(reclaim);
        }
    }

    /// What it comes to at `now`, in seconds since the Unix epoch.
    pub fn finish(self, queue: &dyn Queue, now: f64) -> Summary {
        let locks = self.locks.into_iter();
        Summary {
            entries: self.entries,
            locks: locks.map(|ledger| ledger.finish(queue, now)).collect(),
            reclaims: self.reclaims.into(),
        }
    }
}

/// A wait that has not ended.
#[derive(Debug)]
struct Open {
    id: String,
    first: f64,
    last: f64,
}

impl Open {
    /// As far as the timeline tells.
    fn turnless(self) -> Turnless {
        Turnless {
            seconds: (self.last - self.first).max(0.0),
            since: self.first,
            id: self.id,
            waits: false,
        }
    }
}

/// What happens to one lock.
#[derive(Debug)]
struct Ledger {
    lock: &'static str,
    /// By who waits and for what.
    open: BTreeMap<String, Open>,
    holding: Holds,
    waits: Spans,
    holds: Spans,
    turnless: u64,
    longest: Option<Turnless>,
    reclaims: u64,
}

impl Ledger {
    fn new(lock: &'static str) -> Self {
        Self {
            lock,
            open: BTreeMap::new(),
            holding: Holds::default(),
            waits: Spans::default(),
            holds: Spans::default(),
            turnless: 0,
            longest: None,
            reclaims: 0,
        }
    }

    fn take(&mut self, entry: &Entry) -> Option<Reclaim> {
        let taken = self.taken(entry);
        if let Some(reclaim) = &taken {
            self.reclaims += 1;
            self.holding.forget(&key(entry, &reclaim.id));
        }
        let who = key(entry, &entry.id);
        if entry.event == "blocked" {
            self.block(&who, entry);
        } else if is_grant(&entry.event) {
            let wait = self
                .open
                .remove(&who)
                .filter(|open| open.first <= entry.time);
            if let Some(open) = wait {
                self.waits.add(entry.time - open.first);
            }
        } else if entry.event == "released" && taken.is_none() {
            // It had its turn, although nothing tells of that.
            self.open.remove(&who);
        }
        let hold = self.holding.take(&entry.event, &who, entry.time);
        if let Some(seconds) = hold {
            self.holds.add(seconds);
        }
        if self.holding.count() >= 2 * MOST_OPEN {
            // So many at once never hold a lock: those that began first are gone.
            self.holding.keep_latest(MOST_OPEN);
        }
        taken
    }

    fn block(&mut self, who: &str, entry: &Entry) {
        let open = self.open.entry(who.to_owned()).or_insert_with(|| Open {
            id: entry.id.clone(),
            first: entry.time,
            last: entry.time,
        });
        open.last = open.last.max(entry.time);
        if self.open.len() >= 2 * MOST_OPEN {
            self.give_up_the_oldest();
        }
    }

    /// Counts those that were blocked least lately as without a turn: they will not be back.
    fn give_up_the_oldest(&mut self) {
        let mut last: Vec<f64> = self.open.values().map(|open| open.last).collect();
        last.sort_unstable_by(|one, other| other.total_cmp(one));
        let Some(&limit) = last.get(MOST_OPEN) else {
            return;
        };
        let all = std::mem::take(&mut self.open);
        let (kept, gone): (BTreeMap<_, _>, BTreeMap<_, _>) =
            all.into_iter().partition(|(_, open)| open.last > limit);
        self.open = kept;
        for open in gone.into_values() {
            self.count_turnless(open.turnless());
        }
    }

    fn count_turnless(&mut self, wait: Turnless) {
        self.turnless += 1;
        let longer = self
            .longest
            .as_ref()
            .is_none_or(|longest| wait.seconds > longest.seconds);
        if longer {
            self.longest = Some(wait);
        }
    }

    /// What `entry` says that was taken from somebody.
    fn taken(&self, entry: &Entry) -> Option<Reclaim> {
        let (id, by) = if entry.event == "reaped-stale" {
            (entry.id.as_str(), None)
        } else {
            (entry.field("reclaimed_from")?, Some(entry.id.clone()))
        };
        Some(Reclaim {
            time: entry.time,
            lock: self.lock,
            id: id.to_owned(),
            by,
        })
    }

    fn finish(mut self, queue: &dyn Queue, now: f64) -> LockSummary {
        for open in std::mem::take(&mut self.open).into_values() {
            let wait = match queue.since(self.lock, &open.id) {
                Some(since) => {
                    // It may have left and come back, or have come before the first entry.
                    let since = if since > 0.0 { since } else { open.first };
                    Turnless {
                        id: open.id,
                        since,
                        seconds: (now - since).max(0.0),
                        waits: true,
                    }
                }
                None => open.turnless(),
            };
            self.count_turnless(wait);
        }
        LockSummary {
            lock: self.lock,
            waits: self.waits,
            holds: self.holds,
            turnless: self.turnless,
            longest_turnless: self.longest,
            reclaims: self.reclaims,
        }
    }
}

/// Who `id` is in an entry like `entry`: of the rate windows, each bot's is another's affair.
fn key(entry: &Entry, id: &str) -> String {
    match entry.field("bot_kind") {
        Some(bot) => format!("{id}\n{bot}"),
        None => id.to_owned(),
    }
}

#[cfg(test)]
mod tests;
