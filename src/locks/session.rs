//! Session leases: whether somebody else is already at work in a checkout. Pure decisions.
//!
//! A lease is one JSON object in a file that other programs read and write too. It tells; it
//! bars nobody by force, and nothing here ever clears another's: that is for a person to say.
//!
//! | content | when | who may write |
//! |---|---|---|
//! | free | there is no file | anybody, if it is still so |
//! | held | it has a session id and a readable time | that session; others with consent |
//! | corrupt | anything else, an empty file too | anybody with consent |
//!
//! A session is known by its exact id alone; its label, the semantic id, proves nothing. It is
//! *active* until its TTL has passed since its last heartbeat (or its start, where none is noted),
//! then *stale*. A time yet to come is now: a clock that was put back ends no session. The `pid`
//! is that of a passing process and is never looked at.
//!
//! Keys in order: `session_id`, `started_at`, `last_heartbeat`, `mode`, `pid`, `host`, `ttl_hours`,
//! `semantic_session_id` and `machine_id` where there is one. Times are written in UTC with
//! milliseconds and read with any offset. What has another type than ours counts as missing. Some
//! programs note their host as `host_id`; where that is not empty, it stands for `host`.
//!
//! A crash between deciding and writing leaves the lease as it was: it is written as a whole.

mod modes;
pub mod state_md;
mod time;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::report::{Recommendation, SessionReason, SessionState};
use crate::sys::host::{Host, Relation};
use crate::text;

pub use modes::{Beside, MODES, ModeClass, beside, mode_class};

/// For how many hours after its last heartbeat a session is active, where nothing else is said.
pub const DEFAULT_TTL_HOURS: f64 = 4.0;

/// The longest lease, in bytes; a longer one is corrupt.
pub const LIMIT: u64 = 64 << 10;

/// The longest id, label or mode that a caller may give, in bytes.
const LONGEST_WORD: usize = 512;

/// The longest TTL that a caller may give, in hours: a year.
const LONGEST_TTL_HOURS: f64 = 8760.0;

/// How many TTLs another host's session must have been silent before its place is best taken.
const CLEARLY_OVER: f64 = 2.0;

const SECONDS_PER_HOUR: f64 = 3600.0;

/// A session, as its lease notes it. Times are in seconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct Lease {
    /// The session's own id.
    pub session_id: String,
    /// What kind of work it is.
    pub mode: Option<String>,
    /// When it began.
    pub started_at: Option<f64>,
    /// When it last said that it is at work.
    pub last_heartbeat: Option<f64>,
    /// A process that once wrote the lease.
    pub pid: Option<i64>,
    /// Where it is at work: name and machine id only.
    pub host: Host,
    /// For how many hours after its heartbeat it is active.
    pub ttl_hours: f64,
    /// A label for people.
    pub semantic_session_id: Option<String>,
}

/// What a caller wants noted.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The session's own id.
    pub session_id: String,
    /// What kind of work it is.
    pub mode: String,
    /// For how many hours after its heartbeat it is active.
    pub ttl_hours: f64,
    /// A label for people.
    pub semantic_session_id: Option<String>,
    /// Where the caller runs.
    pub host: Host,
    /// The caller.
    pub pid: i64,
}

impl Lease {
    /// The lease in these bytes; `None` where they are corrupt.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if u64::try_from(bytes.len()).is_ok_and(|length| length > LIMIT) {
            return None;
        }
        let fields: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
        let word = |key: &str| {
            let text = fields.get(key)?.as_str()?;
            (!text.is_empty()).then(|| text.to_owned())
        };
        let moment = |key: &str| time::read(fields.get(key)?.as_str()?);
        let ttl = fields.get("ttl_hours").and_then(Value::as_f64);
        let lease = Self {
            session_id: word("session_id")?,
            mode: word("mode"),
            started_at: moment("started_at"),
            last_heartbeat: moment("last_heartbeat"),
            pid: fields.get("pid").and_then(Value::as_i64),
            host: Host {
                name: word("host_id").or_else(|| word("host")),
                machine_id: word("machine_id"),
                ..Host::default()
            },
            ttl_hours: ttl
                .filter(|&hours| is_span(hours))
                .unwrap_or(DEFAULT_TTL_HOURS),
            semantic_session_id: word("semantic_session_id"),
        };
        lease.heartbeat().is_some().then_some(lease)
    }

    /// The lease of a session that begins now.
    pub fn begin(terms: &Terms, now: f64) -> Self {
        let now = Some(time::noted(now));
        Self {
            session_id: terms.session_id.clone(),
            mode: Some(terms.mode.clone()),
            started_at: now,
            last_heartbeat: now,
            pid: Some(terms.pid),
            host: Host {
                name: terms.host.name.clone(),
                machine_id: terms.host.machine_id.clone(),
                ..Host::default()
            },
            ttl_hours: terms.ttl_hours,
            semantic_session_id: terms.semantic_session_id.clone(),
        }
    }

    /// The lease after a heartbeat.
    #[must_use]
    pub fn renewed(&self, now: f64) -> Self {
        Self {
            last_heartbeat: Some(time::noted(now)),
            ..self.clone()
        }
    }

    /// The lease after the same session has asked once more: it began when it began, and the rest is
    /// as it asks now.
    #[must_use]
    pub fn again(&self, terms: &Terms, now: f64) -> Self {
        let asked = Self::begin(terms, now);
        Self {
            started_at: self.started_at.or(asked.started_at),
            ..asked
        }
    }

    /// Each key in order with the JSON text of its value; `None` where the key is left out.
    pub fn fields(&self) -> Vec<(&'static str, Option<String>)> {
        let quoted = |text: &str| Value::from(text).to_string();
        let word = |text: &Option<String>| text.as_deref().map(quoted);
        let moment = |time: Option<f64>| time.map(|time| quoted(&time::write(time)));
        // In full digits, so that a whole number stays one.
        let ttl = is_span(self.ttl_hours).then(|| self.ttl_hours.to_string());
        vec![
            ("session_id", Some(quoted(&self.session_id))),
            ("started_at", moment(self.started_at)),
            ("last_heartbeat", moment(self.last_heartbeat)),
            ("mode", word(&self.mode)),
            ("pid", self.pid.map(|pid| pid.to_string())),
            ("host", word(&self.host.name)),
            ("ttl_hours", ttl),
            ("semantic_session_id", word(&self.semantic_session_id)),
            ("machine_id", word(&self.host.machine_id)),
        ]
    }

    /// When the session was last heard of.
    fn heartbeat(&self) -> Option<f64> {
        self.last_heartbeat.or(self.started_at)
    }
}

/// Whether `hours` can be a TTL.
fn is_span(hours: f64) -> bool {
    hours.is_finite() && hours > 0.0
}

impl Terms {
    /// The session id that a caller gave.
    ///
    /// # Errors
    /// Usage: it could not be told from another, or not be noted.
    pub fn session_id(given: &str) -> Result<String> {
        checked("session id", given)
    }

    /// The label that a caller gave.
    ///
    /// # Errors
    /// As for [`Self::session_id`].
    pub fn semantic_session_id(given: &str) -> Result<String> {
        checked("semantic session id", given)
    }

    /// The kind of work that a caller gave.
    ///
    /// # Errors
    /// As for [`Self::session_id`].
    pub fn mode(given: &str) -> Result<String> {
        checked("mode", given)
    }

    /// The TTL that a caller gave, in hours, or else the default.
    ///
    /// # Errors
    /// Usage: nothing could be active for so long, or it would be for ever.
    pub fn ttl_hours(given: Option<f64>) -> Result<f64> {
        let hours = given.unwrap_or(DEFAULT_TTL_HOURS);
        if is_span(hours) && hours <= LONGEST_TTL_HOURS {
            return Ok(hours);
        }
        Err(
            Error::usage(format!("{hours} is not a TTL in hours")).with_hint(format!(
                "a TTL is more than 0 and at most {LONGEST_TTL_HOURS} hours, such as --ttl-hours 4"
            )),
        )
    }
}

/// `given`, if it reads the same wherever it is shown.
fn checked(what: &str, given: &str) -> Result<String> {
    let plain = !given.is_empty() && given.trim() == given && text::visible(given) == given;
    if plain && given.len() <= LONGEST_WORD {
        return Ok(given.to_owned());
    }
    let shown = text::clip(&text::visible(given), 100);
    Err(Error::usage(format!("'{shown}' is not a {what}")).with_hint(format!(
        "a {what} has 1 to {LONGEST_WORD} bytes, no control characters, and no blank at either end"
    )))
}

/// What stands in a checkout's lease.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a call has one or two of them")]
pub enum Content {
    /// There is none.
    Free,
    /// A session is noted.
    Held(Lease),
    /// There is a file, and it makes no sense.
    Corrupt,
}

impl Content {
    /// What the file says; `None` where there is no file.
    pub fn of(bytes: Option<&[u8]>) -> Self {
        match bytes {
            None => Self::Free,
            Some(bytes) => Lease::parse(bytes).map_or(Self::Corrupt, Self::Held),
        }
    }
}

/// What can be said of a session that is noted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sight {
    /// `Active` or `Stale`.
    pub state: SessionState,
    /// For how many hours it has been going on, where it is noted when it began.
    pub age_hours: Option<f64>,
    /// For how many minutes it has been silent.
    pub heartbeat_age_minutes: f64,
    /// Whether it is of this host, as far as can be told.
    pub same_host: bool,
    /// What another session is best advised to do.
    pub recommendation: Recommendation,
}

/// Judges a session from `here`, at `now`.
///
/// Ages are finite and never negative. One that cannot be told is 0: nothing is stale without proof.
pub fn judge(lease: &Lease, now: f64, here: &Host) -> Sight {
    let silent = lease
        .heartbeat()
        .map_or(0.0, |since| time::elapsed(since, now));
    let silent_hours = silent / SECONDS_PER_HOUR;
    let stale = silent_hours >= lease.ttl_hours;
    let same_host = here.relation(&lease.host) != Relation::Elsewhere;
    let over = stale && (same_host || silent_hours > CLEARLY_OVER * lease.ttl_hours);
    Sight {
        state: if stale {
            SessionState::Stale
        } else {
            SessionState::Active
        },
        age_hours: lease
            .started_at
            .map(|since| time::elapsed(since, now) / SECONDS_PER_HOUR),
        heartbeat_age_minutes: silent / 60.0,
        same_host,
        recommendation: if over {
            Recommendation::Reclaim
        } else {
            Recommendation::Abort
        },
    }
}

/// What becomes of a session that asks for the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is noted.
    Begin,
    /// It is noted already, and its heartbeat is renewed.
    Renew,
    /// Somebody has to decide: `Active`, `StaleHeartbeat` or `Corrupt`.
    Blocked(SessionReason),
}

/// Decides whether the session may be noted without anybody's consent.
pub fn decide(content: &Content, session_id: &str, now: f64, here: &Host) -> Decision {
    match content {
        Content::Free => Decision::Begin,
        Content::Corrupt => Decision::Blocked(SessionReason::Corrupt),
        Content::Held(lease) if lease.session_id == session_id => Decision::Renew,
        Content::Held(lease) => Decision::Blocked(match judge(lease, now, here).state {
            SessionState::Stale => SessionReason::StaleHeartbeat,
            _ => SessionReason::Active,
        }),
    }
}

#[cfg(test)]
mod tests;
