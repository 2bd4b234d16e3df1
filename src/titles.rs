//! Title tokens: what a prompt or a terminal may show about a participant.
//!
//! `<ours>/titles/<id>.json` holds, per owner, `{state, set_at}`. Each owner sets and clears only
//! its own. Best effort: a title never affects a lock.

use std::path::Path;

use crate::error::Result;
use crate::identity::PlanId;
use crate::store::document::Document;
use crate::sys::file::{self, Modes};

/// The owner of the merge lock's titles.
const MERGE_OWNER: &str = "merge-lock";

/// What a title says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Title {
    /// The participant waits for the lock.
    LockWaiting,
    /// The participant has the lock.
    LockOwned,
}

impl Title {
    fn word(self) -> &'static str {
        match self {
            Self::LockWaiting => "lock-waiting",
            Self::LockOwned => "lock-owned",
        }
    }
}

/// Sets the merge lock's title of `id`, at `now` in seconds since the epoch; `None` clears it.
///
/// # Errors
/// The title could not be written; the caller decides whether to say so.
pub fn set(ours: &Path, id: &PlanId, title: Option<Title>, now: f64, modes: Modes) -> Result<()> {
    let directory = ours.join("titles");
    let path = directory.join(format!("{id}.json"));
    let old = Document::load(&path)?;
    let Some(title) = title else {
        file::sweep(&directory, now);
        return clear(&path, &old, modes);
    };
    let mut new = old;
    let token = serde_json::json!({"state": title.word(), "set_at": now});
    new.set(MERGE_OWNER, token.to_string());
    file::make_dirs(&directory, modes)?;
    new.replace(&path, modes).map(drop)
}

fn clear(path: &Path, old: &Document, modes: Modes) -> Result<()> {
    let others: Vec<_> = old
        .entries()
        .filter(|(owner, _)| *owner != MERGE_OWNER)
        .collect();
    if others.is_empty() {
        return file::remove(path);
    }
    if others.len() == old.entries().count() {
        return Ok(());
    }
    let mut new = Document::default();
    for (owner, token) in others {
        new.set(owner, token.to_owned());
    }
    new.replace(path, modes).map(drop)
}
