//! The worktree lock: one attempt per worktree at a time.
//!
//! The lock is an exclusive `flock(2)` on one file per worktree, and the kernel alone says who has it.
//! The file is named after the first 32 hex digits of the SHA-256 of the worktree's resolved path; where
//! it is, [`crate::place::lock_dir`] says. It is never unlinked: who holds the old file and who holds a
//! new one of the same name would both have the lock.
//!
//! 1. Open the file, making it where it is missing, never truncating it.
//! 2. `flock` it, exclusively; then see that it is still the file at its path, else start over.
//! 3. Under the lock, write the sentinel into the very file: over what is there, then cut off the rest.
//!    A crash in between leaves a malformed sentinel, which bars nobody.
//! 4. Let go by closing it; the kernel does so for the dead. The sentinel stays.
//!
//! The sentinel is one JSON object, `{pid, host, process_create_time, acquired_at, workspace, command}`,
//! for people and for the classes below. It never lets anybody past a lock that is held, nor keeps
//! anybody from one that is free. Only what is no object, or has no integer `pid` or no `host`, is
//! malformed; what else is missing is unknown.
//!
//! | class | when |
//! |---|---|
//! | `no-lock-file` | there is no file |
//! | `live` | the lock is held, whatever the sentinel says |
//! | `orphan` | not held, and the sentinel is malformed |
//! | `stale` | not held, and the sentinel's owner has ended |
//! | `idle` | not held, and its owner may still be there; `cleanup` calls it `live` |
//!
//! An owner has ended when it is of this host and nothing of its number runs here, or what does
//! started at another time. On another host it may always be there.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::report::WorktreeClass;
use crate::sys::host::{Host, Relation};
use crate::text;

/// The longest sentinel, in bytes; a longer one is malformed.
pub const LIMIT: u64 = 64 << 10;

/// The longest command that is recorded, in bytes. Escaped, it is still within [`LIMIT`].
const COMMAND_LIMIT: usize = 4 << 10;

/// How far two readings of the start of one process may be apart, in seconds.
const TOLERANCE: f64 = 1.0;

/// Who took the lock last, as it wrote itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sentinel {
    /// The process.
    pub pid: i64,
    /// The name of its host.
    pub host: String,
    /// When the process started, in seconds since the Unix epoch, where that is recorded.
    pub process_create_time: Option<f64>,
    /// When it took the lock, in seconds since the Unix epoch; 0 where that is not recorded.
    pub acquired_at: f64,
    /// The worktree.
    pub workspace: String,
    /// What it runs.
    pub command: String,
}

impl Sentinel {
    /// The sentinel in these bytes; `None` where it is malformed.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if u64::try_from(bytes.len()).is_ok_and(|length| length > LIMIT) {
            return None;
        }
        let fields: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        Some(Self {
            pid: integer(fields.get("pid")?)?,
            host: match fields.get("host")? {
                Value::Null => return None,
                Value::String(host) => host.clone(),
                // No host is called so: somebody else's owner.
                other => other.to_string(),
            },
            process_create_time: fields.get("process_create_time").and_then(Value::as_f64),
            acquired_at: fields.get("acquired_at").and_then(moment).unwrap_or(0.0),
            workspace: text("workspace").to_owned(),
            command: text("command").to_owned(),
        })
    }

    /// The content of the lock file: one line.
    pub fn render(&self) -> String {
        let shortened = Self {
            command: text::clip(&self.command, COMMAND_LIMIT),
            ..self.clone()
        };
        // Strings and numbers always serialise.
        let mut line = serde_json::to_string(&shortened).unwrap_or_default();
        line.push('\n');
        line
    }

    /// When the lock was taken, in seconds since the Unix epoch, where that is recorded.
    pub fn since(&self) -> Option<f64> {
        (self.acquired_at > 0.0).then_some(self.acquired_at)
    }
}

/// A number without a fraction, in whatever width; as far as it fits.
fn integer(value: &Value) -> Option<i64> {
    let Value::Number(number) = value else {
        return None;
    };
    // Beyond, no process has that number either.
    number.as_i64().or(number.as_u64().map(|_| i64::MAX))
}

/// A time, as a number or as people write it.
fn moment(value: &Value) -> Option<f64> {
    if let Some(seconds) = value.as_f64() {
        return Some(seconds);
    }
    let time = chrono::DateTime::parse_from_rfc3339(value.as_str()?).ok()?;
    #[expect(clippy::cast_precision_loss, reason = "sub-microsecond")]
    let seconds = time.timestamp_micros() as f64 / 1e6;
    Some(seconds)
}

/// What can be seen of the number of a sentinel's owner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OwnerSight {
    /// A process of that number runs.
    Running {
        /// When it started, in seconds since the Unix epoch, where that can be read.
        started: Option<f64>,
    },
    /// No process of that number runs.
    Gone,
    /// It may run, but we are not shown it.
    Hidden,
}

/// Whether the owner of `sentinel` may still be there. `host_name` is this host's; `sight` looks at a
/// process number of this host.
pub fn is_owner_alive(
    sentinel: &Sentinel,
    host_name: &str,
    sight: impl Fn(i32) -> OwnerSight,
) -> bool {
    let named = |name: &str| Host {
        name: Some(name.to_owned()),
        ..Host::default()
    };
    if named(host_name).relation(&named(&sentinel.host)) == Relation::Elsewhere {
        return true;
    }
    let seen = i32::try_from(sentinel.pid).map_or(OwnerSight::Gone, sight);
    match (seen, sentinel.process_create_time) {
        (OwnerSight::Gone, _) => false,
        (OwnerSight::Running { started: Some(now) }, Some(then)) => (now - then).abs() <= TOLERANCE,
        (OwnerSight::Running { .. } | OwnerSight::Hidden, _) => true,
    }
}

/// The class of a worktree whose lock file holds `content`, where there is one, and whose lock is `held`
/// by some process or not.
pub fn classify(
    content: Option<&[u8]>,
    held: bool,
    host_name: &str,
    sight: impl Fn(i32) -> OwnerSight,
) -> WorktreeClass {
    let Some(content) = content else {
        return WorktreeClass::NoLockFile;
    };
    if held {
        return WorktreeClass::Live;
    }
    match Sentinel::parse(content) {
        None => WorktreeClass::Orphan,
        Some(sentinel) if is_owner_alive(&sentinel, host_name, sight) => WorktreeClass::Idle,
        Some(_) => WorktreeClass::Stale,
    }
}

#[cfg(test)]
mod tests;
