//! Our own file beside the shared ones: grants, leases, the fence. No other program reads it.
//!
//! `{"format": 1, "fence": N, "hosts": [host, …], "participants": {id: {"host": 0, …}}, …}`.
//! A newer format than we know is refused. A file that cannot be read as this is set aside, and
//! from then on a holder without a record is unknown until the default lease after its lock file's
//! time has passed; the next fence starts at the Unix time in milliseconds, so that it never
//! decreases. So it does when there is no file although the lock was used before.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use crate::error::{Error, ErrorKind, Result};
use crate::locks::merge::{Ending, Idle, Records};
use crate::participant::Participant;
use crate::store::{APPEND_LIMIT, STATE_LIMIT};
use crate::sys::file::{self, Modes, Temp};
use crate::sys::host::Host;
use crate::text;

/// The format we read and write.
const FORMAT: u64 = 1;

/// The file, as it stands on the disk.
#[derive(Debug, Deserialize)]
struct Stored {
    format: u64,
    fence: u64,
    #[serde(default)]
    ending: Option<Ending>,
    #[serde(default)]
    idle: Option<Idle>,
    #[serde(default)]
    lost_at: Option<f64>,
    #[serde(default)]
    hosts: Vec<Host>,
    #[serde(default)]
    participants: BTreeMap<String, Participant<usize>>,
    #[serde(default)]
    windows: BTreeMap<String, String>,
}

/// The format alone, for files of the future.
#[derive(Deserialize)]
struct Version {
    format: u64,
}

/// The records and whether the file that should hold them was unreadable.
#[derive(Debug)]
pub struct Loaded {
    /// The records.
    pub records: Records,
    /// Whether what the file held could not be understood: it must be set aside.
    pub corrupt: bool,
    /// Whether there was no file.
    pub missing: bool,
}

/// Reads the records at `path`. `used_before` tells whether the lock shows signs of earlier use:
/// then missing records must not let the fence start over. `now` is in seconds since the epoch.
///
/// # Errors
/// A newer format, not a regular file, or not readable.
pub fn load(path: &Path, used_before: bool, now: f64) -> Result<Loaded> {
    let Some(content) = file::read(path, STATE_LIMIT)? else {
        let fence = if used_before { unix_time(now) } else { 0 };
        let records = Records {
            fence,
            ..Records::default()
        };
        return Ok(Loaded {
            records,
            corrupt: false,
            missing: true,
        });
    };
    let stored = serde_json::from_slice::<Stored>(&content.bytes).ok();
    let format = match &stored {
        Some(stored) => stored.format,
        None => {
            serde_json::from_slice::<Version>(&content.bytes).map_or(0, |version| version.format)
        }
    };
    if format > FORMAT {
        return Err(Error::new(
            ErrorKind::Io,
            format!(
                "{} has format {format}, newer than this git-locks knows",
                text::path(path)
            ),
        )
        .with_hint("use the newer git-locks that wrote it"));
    }
    match stored
        .filter(|_| content.bytes.len() as u64 <= STATE_LIMIT)
        .and_then(unpack)
    {
        Some(records) => Ok(Loaded {
            records,
            corrupt: false,
            missing: false,
        }),
        None => Ok(Loaded {
            records: Records {
                fence: unix_time(now),
                lost_at: Some(now),
                ..Records::default()
            },
            corrupt: true,
            missing: false,
        }),
    }
}

/// The records of a file; `None` where a participant names a host that is not in the table.
fn unpack(stored: Stored) -> Option<Records> {
    let hosts: Vec<Arc<Host>> = stored.hosts.into_iter().map(Arc::new).collect();
    let participants = stored.participants.into_iter().map(|(id, participant)| {
        let host = Arc::clone(hosts.get(participant.host)?);
        Some((id, Arc::new(participant.with_host(host))))
    });
    Some(Records {
        fence: stored.fence,
        ending: stored.ending,
        idle: stored.idle,
        lost_at: stored.lost_at,
        participants: participants.collect::<Option<_>>()?,
        windows: stored.windows,
    })
}

/// The file of the records, written without a second copy of all participants.
#[derive(Serialize)]
struct Written<'a> {
    format: u64,
    fence: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: &'a Option<Ending>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle: &'a Option<Idle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_at: Option<f64>,
    hosts: Vec<&'a Host>,
    participants: Numbered<'a>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    windows: &'a BTreeMap<String, String>,
}

/// Participants, each with the number of its host.
struct Numbered<'a>(Vec<(&'a String, &'a Participant, usize)>);

impl Serialize for Numbered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let entries = self
            .0
            .iter()
            .map(|&(id, participant, number)| (id, participant.clone().with_host(number)));
        serializer.collect_map(entries)
    }
}

fn written(records: &Records) -> Written<'_> {
    let mut hosts: Vec<&Arc<Host>> = Vec::new();
    let mut participants = Vec::with_capacity(records.participants.len());
    for (id, participant) in &records.participants {
        let host = &participant.host;
        let known = hosts
            .iter()
            .position(|known| Arc::ptr_eq(known, host) || *known == host);
        participants.push((id, participant.as_ref(), known.unwrap_or(hosts.len())));
        if known.is_none() {
            hosts.push(host);
        }
    }
    Written {
        format: FORMAT,
        fence: records.fence,
        ending: &records.ending,
        idle: &records.idle,
        lost_at: records.lost_at,
        hosts: hosts.into_iter().map(AsRef::as_ref).collect(),
        participants: Numbered(participants),
        windows: &records.windows,
    }
}

/// The Unix time in milliseconds: no lock is granted as often as that, so that a fence that
/// started so and is lost again does not fall.
fn unix_time(now: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates"
    )]
    let milliseconds = (now.max(0.0) * 1000.0) as u64;
    milliseconds
}

/// Writes the records under a temporary name beside `path`, for [`super::document::put`].
pub fn stage(records: &Records, path: &Path, modes: Modes) -> Result<Temp> {
    let mut text = serde_json::to_vec(&written(records)).map_err(|e| {
        Error::new(
            ErrorKind::Io,
            format!("cannot write {}: {e}", text::path(path)),
        )
    })?;
    text.push(b'\n');
    let before = file::instance(path)?.map_or(0, |instance| instance.size);
    // One that is past the limit already may still shrink.
    if text.len() > APPEND_LIMIT && text.len() as u64 > before {
        return Err(
            Error::new(ErrorKind::Io, format!("{} is too large", text::path(path)))
                .with_hint("too many participants at once; release those that are gone"),
        );
    }
    let directory = path.parent().unwrap_or(Path::new("."));
    Temp::write(directory, &text, modes, true)
}
