//! What these tests share.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use crate::common::fixture::now;
use crate::common::{Env, Run};

/// Where the lease of a checkout is.
pub fn lease(checkout: &Path) -> PathBuf {
    checkout.join(".orchestrator/session.lock")
}

/// What the lease of a checkout says.
#[track_caller]
pub fn noted(checkout: &Path) -> Value {
    let text = fs::read(lease(checkout)).expect("a lease");
    serde_json::from_slice(&text).expect("whole")
}

/// Writes a lease as another program would.
#[track_caller]
pub fn write_lease(checkout: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(checkout.join(".orchestrator")).expect("mkdir");
    fs::write(lease(checkout), text).expect("write");
}

/// A command of the family, in JSON.
pub fn session(env: &Env, dir: &Path, args: &str) -> Run {
    let args = format!("--format json session {args}");
    env.call(dir).args(&args).run()
}

/// So many hours ago, as a lease notes it.
pub fn hours_ago(hours: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "milliseconds of our days")]
    let millis = ((now() - hours * 3600.0) * 1000.0) as i64;
    let time = DateTime::<Utc>::from_timestamp_millis(millis).expect("a time");
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// The name of this host.
pub fn host() -> String {
    let name = nix::unistd::gethostname().expect("a name");
    name.into_string().expect("UTF-8")
}

/// The lease of `id`, last heard of so many hours ago, on a host of that name.
pub fn silent_for(id: &str, hours: f64, host: &str) -> Value {
    json!({
        "session_id": id, "started_at": hours_ago(hours + 1.0), "last_heartbeat": hours_ago(hours),
        "mode": "deep", "pid": 1, "host": host, "ttl_hours": 4,
    })
}

/// Writes the `STATE.md` of a checkout, below `directory`; its path.
#[track_caller]
pub fn write_state(checkout: &Path, directory: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let directory = checkout.join(directory);
    fs::create_dir_all(&directory).expect("mkdir");
    let path = directory.join("STATE.md");
    fs::write(&path, text).expect("write");
    path
}

/// A `STATE.md` of a session that began so many hours ago.
pub fn state(session: &str, status: &str, hours: f64) -> String {
    let since = hours_ago(hours);
    format!(
        "---\nstatus: {status}\nsession: {session}\nstarted_at: {since}\nmode: deep\ncurrent_wave: 3\n---\n# Notes\n"
    )
}
