//! `run-configuration.json`: what a project has learnt of its runs, shared with other programs. Ours
//! is one number, the adaptive limit of the build queue, which is only ever raised.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::locks::build::{LEAST_LIMIT, MOST_LIMIT};
use crate::report::Note;
use crate::store::document::{self, Document};
use crate::store::ground;
use crate::store::guard::{self, Gate, Guard};
use crate::store::transaction::{require_time, set_aside_note};
use crate::sys::clock;
use crate::sys::file::{self, Modes};

/// The way to the limit, from the outside in.
const BUILD: &str = "build";
const QUEUE: &str = "queue";
const LIMIT: &str = "upper_limit_seconds";

/// For how long a build may be held, as far as is known of the project whose base is `base`, in
/// seconds; the least where nothing is.
pub fn limit(base: &Path) -> u64 {
    Document::load(&path(base)).map_or(LEAST_LIMIT, |document| limit_of(&document))
}

/// Raises the limit of the project whose base is `base` to a hold of `held` seconds that was seen.
/// `ours` is where the guard's kernel lock is kept. Returns what to say of it: that a file which cannot
/// be read was set aside.
///
/// # Errors
/// `Timeout` when the guard cannot be had within `patience`; or a system call failed.
pub fn raise(
    base: &Path,
    ours: &Path,
    held: f64,
    modes: Modes,
    patience: Duration,
) -> Result<Option<Note>> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates; a part of a second does not count"
    )]
    let limit = (held.max(0.0) as u64).clamp(LEAST_LIMIT, MOST_LIMIT);
    let path = path(base);
    // It never falls: what is no more than it now never will be. Others wait for what a killed process
    // left, though.
    if limit <= self::limit(base) && !guard::is_left(&path) {
        return Ok(None);
    }
    let deadline = Instant::now() + patience;
    file::make_dirs(ours, modes)?;
    let gate = Gate {
        kernel: &kernel(ours),
        state: &path,
        modes,
        deadline,
        tolerate_full_disk: false,
        interrupted: None,
    };
    loop {
        let guard = Guard::enter(&gate, || ground::prepare_base(base, modes))?;
        let mut document = Document::load(&path)?;
        if limit <= limit_of(&document) {
            return Ok(None);
        }
        set_limit(&mut document, limit);
        let staged = document.stage(&path, true, modes)?;
        if guard.is_intact()? {
            let aside = document::put(staged, &path, document.corrupt)?;
            return Ok(aside.map(|aside| set_aside_note(&path, &aside)));
        }
        drop(guard);
        require_time(deadline, &path)?;
    }
}

/// The guard file that was left here, though nobody is inside.
///
/// # Errors
/// It cannot be looked at.
pub fn guard_left(base: &Path, ours: &Path) -> Result<Option<guard::Left>> {
    guard::left_behind(&kernel(ours), &path(base), clock::wall())
}

fn kernel(ours: &Path) -> PathBuf {
    ours.join("run-configuration.guard")
}

/// The file of the project whose base is `base`.
pub fn path(base: &Path) -> PathBuf {
    base.join("run-configuration.json")
}

/// The object that `key` of `document` is; empty for anything else.
fn inner(document: &Document, key: &str) -> Document {
    document
        .get(key)
        .map(Document::of_value)
        .unwrap_or_default()
}

fn limit_of(document: &Document) -> u64 {
    let queue = inner(&inner(document, BUILD), QUEUE);
    let known = queue.get(LIMIT).and_then(integer).unwrap_or(LEAST_LIMIT);
    known.clamp(LEAST_LIMIT, MOST_LIMIT)
}

/// A JSON integer of any length, as far as it matters: below 0 it is 0.
fn integer(raw: &str) -> Option<u64> {
    let (negative, digits) = match raw.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, raw),
    };
    let whole = digits.bytes().all(|byte| byte.is_ascii_digit());
    whole.then(|| match (negative, digits.parse()) {
        (true, _) => 0,
        (false, Ok(number)) => number,
        (false, Err(_)) => u64::MAX,
    })
}

fn set_limit(document: &mut Document, limit: u64) {
    if document.entries().next().is_none() {
        document.set("version", "1".to_owned());
        document.set("commands", "{}".to_owned());
    }
    let mut build = inner(document, BUILD);
    let mut queue = inner(&build, QUEUE);
    queue.set(LIMIT, limit.to_string());
    build.set(QUEUE, queue.to_value());
    document.set(BUILD, build.to_value());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const MODES: Modes = Modes {
        file: 0o644,
        dir: 0o755,
        group: None,
    };

    struct Ground {
        _keep: tempfile::TempDir,
        base: PathBuf,
        ours: PathBuf,
    }

    impl Ground {
        fn new() -> Self {
            let keep = tempfile::tempdir().expect("temp dir");
            let (base, ours) = (keep.path().join("base"), keep.path().join("ours"));
            Self {
                _keep: keep,
                base,
                ours,
            }
        }

        fn raise(&self, held: f64) {
            let patience = Duration::from_secs(20);
            raise(&self.base, &self.ours, held, MODES, patience).expect("raised");
        }

        fn text(&self) -> Option<String> {
            fs::read_to_string(path(&self.base)).ok()
        }

        fn write(&self, text: &str) {
            fs::create_dir_all(&self.base).expect("mkdir");
            fs::write(path(&self.base), text).expect("write");
        }
    }

    #[test]
    fn a_limit_is_only_ever_raised_and_within_its_bounds() {
        let ground = Ground::new();
        assert_eq!(limit(&ground.base), 600);
        for short in [599.0, 600.9, f64::NAN, -1.0] {
            ground.raise(short);
            assert_eq!(ground.text(), None, "{short}");
        }
        for (held, expected) in [(700.9, 700), (650.0, 700), (9e9, 3600), (10.0, 3600)] {
            ground.raise(held);
            assert_eq!(limit(&ground.base), expected, "{held}");
        }
    }

    #[test]
    fn a_new_file_has_the_shape_that_others_expect() {
        let ground = Ground::new();
        ground.raise(700.0);
        let made: serde_json::Value =
            serde_json::from_str(&ground.text().expect("made")).expect("JSON");
        let expected =
            r#"{"version":1,"commands":{},"build":{"queue":{"upper_limit_seconds":700}}}"#;
        assert_eq!(made.to_string(), expected);
    }

    #[test]
    fn what_others_keep_there_is_kept_to_the_byte() {
        let ground = Ground::new();
        ground.write(r#"{"build": {"x": 1.10, "queue": {"y": [ 2 ]}}, "version": 7}"#);
        ground.raise(800.0);
        let text = ground.text().expect("there");
        for kept in [
            r#""x": 1.10"#,
            r#""y": [ 2 ]"#,
            r#""version": 7"#,
            r#""upper_limit_seconds": 800"#,
        ] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
        assert!(!text.contains("commands"), "{text}");
    }

    #[test]
    fn only_an_integer_counts() {
        let ground = Ground::new();
        for (value, expected) in [
            ("1200", 1200),
            ("5", 600),
            ("-5", 600),
            ("99999999999999999999999", 3600),
            ("-99999999999999999999999", 600),
            ("1200.0", 600),
            ("1.2e3", 600),
            ("true", 600),
            ("\"1200\"", 600),
            ("null", 600),
        ] {
            ground.write(&format!(
                r#"{{"build": {{"queue": {{"upper_limit_seconds": {value}}}}}}}"#
            ));
            assert_eq!(limit(&ground.base), expected, "{value}");
        }
        for odd in [
            "",
            "[]",
            "{",
            r#"{"build": []}"#,
            r#"{"build": {"queue": 1200}}"#,
        ] {
            ground.write(odd);
            assert_eq!(limit(&ground.base), 600, "{odd}");
        }
    }

    #[test]
    fn what_a_killed_process_left_is_removed_though_nothing_is_raised() {
        let ground = Ground::new();
        ground.raise(700.0);
        let left = ground.base.join("run-configuration.json.lock");
        fs::write(&left, "git-locks guard 1\npid 1\n").expect("write");
        ground.raise(10.0);
        assert!(!left.exists());
        // Another program's is not waited for in vain.
        fs::write(&left, "4711\n").expect("write");
        let start = Instant::now();
        ground.raise(10.0);
        assert!(start.elapsed() < Duration::from_secs(5));
        assert!(left.exists());
    }

    #[test]
    fn what_is_no_object_is_set_aside() {
        let ground = Ground::new();
        ground.write("[1]");
        ground.raise(700.0);
        assert_eq!(limit(&ground.base), 700);
        let aside = ground.base.join("run-configuration.json.corrupt");
        assert_eq!(fs::read_to_string(aside).expect("kept"), "[1]");
    }
}
