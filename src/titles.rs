//! Title tokens: what a prompt or a terminal may show about a participant.
//!
//! `<ours>/titles/<id>.json` holds, per owner, `{state, set_at}`. Each owner sets and clears only
//! its own. Best effort: a title never affects a lock.
//!
//! **A crash** of whoever set one leaves it, until the next call that finds the place or the lock
//! lapsed clears it. Whoever shows one therefore believes it for an hour only.
//!
//! While a process waits or runs a command, the title of its terminal says the same ([`headline`]).

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::identity::PlanId;
use crate::store::document::Document;
use crate::sys::file::{self, Modes};
use crate::text;

/// How long a title is believed, in seconds.
pub const BELIEVED: f64 = 3600.0;
/// More than this in a file of titles is none of ours, in bytes.
const LIMIT: u64 = 1 << 16;
/// How much of a command the title of a terminal shows, in bytes.
const SHOWN: usize = 80;

/// Whose titles they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The merge lock.
    MergeLock,
    /// The build queue.
    BuildQueue,
}

impl Owner {
    fn word(self) -> &'static str {
        match self {
            Self::MergeLock => "merge-lock",
            Self::BuildQueue => "build-queue",
        }
    }
}

/// What a title says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Title {
    /// The participant waits for the lock.
    LockWaiting,
    /// The participant has the lock.
    LockOwned,
    /// The participant has a slot of the build queue.
    BuildBusy,
}

impl Title {
    /// All of them, in the order in which they are shown.
    const ALL: [Self; 3] = [Self::LockWaiting, Self::LockOwned, Self::BuildBusy];

    fn word(self) -> &'static str {
        match self {
            Self::LockWaiting => "lock-waiting",
            Self::LockOwned => "lock-owned",
            Self::BuildBusy => "build-busy",
        }
    }

    /// How people are shown it.
    pub fn glyph(self) -> &'static str {
        match self {
            Self::LockWaiting => "⏳",
            Self::LockOwned => "🔒",
            Self::BuildBusy => "🔨",
        }
    }
}

/// The titles of `id` that are to be believed at `now`, in seconds since the epoch, in the order in
/// which they are shown.
///
/// # Errors
/// The file is there and cannot be read.
pub fn read(ours: &Path, id: &PlanId, now: f64) -> Result<Vec<Title>> {
    let content = file::read(&path(ours, id), LIMIT)?;
    let content = content.filter(|content| content.bytes.len() as u64 <= LIMIT);
    let document = content.map(|content| Document::parse(&content.bytes));
    Ok(document.map_or_else(Vec::new, |document| believed(&document, now)))
}

/// What there is to believe in a file of titles at `now`.
fn believed(document: &Document, now: f64) -> Vec<Title> {
    let state = |token: &str| {
        let token: serde_json::Value = serde_json::from_str(token).ok()?;
        // A clock that was set back must not make one last.
        let age = (now - token.get("set_at")?.as_f64()?).abs();
        (age < BELIEVED).then(|| token.get("state")?.as_str().map(str::to_owned))?
    };
    let owners = [Owner::MergeLock, Owner::BuildQueue];
    let tokens = owners.iter().filter_map(|owner| document.get(owner.word()));
    let states: Vec<String> = tokens.filter_map(state).collect();
    let is_set = |title: &Title| states.iter().any(|state| state == title.word());
    Title::ALL.into_iter().filter(is_set).collect()
}

/// `titles`, each once, as a prompt shows them.
pub fn glyphs(titles: &[Title]) -> String {
    let shown = Title::ALL
        .into_iter()
        .filter(|title| titles.contains(title));
    shown.map(Title::glyph).collect()
}

/// What the title of a terminal says of `lock`, and of the command that it is for.
pub fn headline(title: Title, lock: &str, command: Option<&str>) -> String {
    let about = command.map_or_else(String::new, |command| {
        format!(": {}", text::clip(&text::visible(command), SHOWN))
    });
    format!("{} {lock}{about}", title.glyph())
}

/// Where titles are kept, among what is `ours`.
pub fn directory(ours: &Path) -> PathBuf {
    ours.join("titles")
}

fn path(ours: &Path, id: &PlanId) -> PathBuf {
    directory(ours).join(format!("{id}.json"))
}

/// Sets the title of `id` that is `owner`'s, at `now` in seconds since the epoch; `None` clears it.
///
/// # Errors
/// The title could not be written; the caller decides whether to say so.
pub fn set(
    ours: &Path,
    id: &PlanId,
    owner: Owner,
    title: Option<Title>,
    now: f64,
    modes: Modes,
) -> Result<()> {
    let (directory, path) = (directory(ours), path(ours, id));
    let old = Document::load(&path)?;
    let Some(title) = title else {
        file::sweep(&directory, now);
        return clear(&path, owner, &old, modes);
    };
    let mut new = old;
    let token = serde_json::json!({"state": title.word(), "set_at": now});
    new.set(owner.word(), token.to_string());
    file::make_dirs(&directory, modes)?;
    new.replace(&path, modes).map(drop)
}

fn clear(path: &Path, owner: Owner, old: &Document, modes: Modes) -> Result<()> {
    let others: Vec<_> = old
        .entries()
        .filter(|(theirs, _)| *theirs != owner.word())
        .collect();
    if others.is_empty() {
        return file::remove(path);
    }
    if others.len() == old.entries().count() {
        return Ok(());
    }
    let mut new = Document::default();
    for (theirs, token) in others {
        new.set(theirs, token.to_owned());
    }
    new.replace(path, modes).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: Modes = Modes {
        file: 0o644,
        dir: 0o755,
        group: None,
    };

    #[test]
    fn each_owner_sets_and_clears_only_its_own() {
        let ours = tempfile::tempdir().expect("temp dir");
        let id = PlanId::parse("alpha").expect("a plan id");
        let set = |owner, title| set(ours.path(), &id, owner, title, 1.0, MODES).expect("set");
        let path = ours.path().join("titles/alpha.json");
        let states = || {
            let document = Document::load(&path).expect("read");
            let states = document.entries().map(|(owner, token)| {
                let token: serde_json::Value = serde_json::from_str(token).expect("JSON");
                format!("{owner} {}", token["state"].as_str().expect("a state"))
            });
            states.collect::<Vec<_>>()
        };
        set(Owner::MergeLock, Some(Title::LockWaiting));
        set(Owner::BuildQueue, Some(Title::BuildBusy));
        assert_eq!(
            states(),
            ["merge-lock lock-waiting", "build-queue build-busy"]
        );
        set(Owner::MergeLock, None);
        assert_eq!(states(), ["build-queue build-busy"]);
        set(Owner::MergeLock, None);
        assert_eq!(states(), ["build-queue build-busy"]);
        set(Owner::BuildQueue, None);
        assert!(path.symlink_metadata().is_err(), "nothing is left");
    }

    #[test]
    fn a_title_is_believed_for_an_hour() {
        let at = |set_at: &str| {
            let text =
                format!(r#"{{"merge-lock": {{"state": "lock-owned", "set_at": {set_at}}}}}"#);
            believed(&Document::parse(text.as_bytes()), 10_000.0)
        };
        for set_at in ["10000", "6400.5", "13599.5"] {
            assert_eq!(at(set_at), [Title::LockOwned], "{set_at}");
        }
        for set_at in ["6400", "13600", "0", "-1e300", "1e300", "null", "\"10000\""] {
            assert_eq!(at(set_at), [], "{set_at}");
        }
    }

    #[test]
    fn titles_are_shown_in_one_order_and_what_is_none_is_not() {
        let of = |text: &str| believed(&Document::parse(text.as_bytes()), 1.0);
        let token = |state: &str| format!(r#"{{"state": "{state}", "set_at": 1.0, "more": []}}"#);
        let (busy, waiting) = (token("build-busy"), token("lock-waiting"));
        let both = format!(r#"{{"build-queue": {busy}, "x": 1, "merge-lock": {waiting}}}"#);
        assert_eq!(of(&both), [Title::LockWaiting, Title::BuildBusy]);
        let stranger = format!(r#"{{"stranger": {waiting}}}"#);
        let odd = format!(r#"{{"merge-lock": {}}}"#, token("lock\\u001b[2J"));
        for none in [
            "",
            "{",
            "[]",
            "{}",
            r#"{"merge-lock": "lock-owned"}"#,
            &stranger,
            &odd,
        ] {
            assert_eq!(of(none), [], "{none}");
        }
    }

    #[test]
    fn each_glyph_is_shown_once() {
        let twice = [Title::BuildBusy, Title::LockOwned, Title::BuildBusy];
        assert_eq!(glyphs(&twice), "🔒🔨");
        assert_eq!(glyphs(&[]), "");
    }

    #[test]
    fn the_title_of_a_terminal_is_short_and_harmless() {
        assert_eq!(headline(Title::LockWaiting, "merge", None), "⏳ merge");
        assert_eq!(
            headline(Title::BuildBusy, "build", Some("make -j8")),
            "🔨 build: make -j8"
        );
        assert_eq!(
            headline(
                Title::LockOwned,
                "repo",
                Some("a\u{7}\u{1b}]0;b\n\u{9c}\u{202e}")
            ),
            "🔒 repo: a\\u{7}\\u{1b}]0;b\\n\\u{9c}\\u{202e}"
        );
        let long = headline(Title::LockOwned, "merge", Some(&"é".repeat(500)));
        assert!(long.chars().count() < 60 && long.ends_with('…'), "{long}");
    }
}
