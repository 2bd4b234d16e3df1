//! The second witness of a session: what the front matter of a checkout's `STATE.md` says. Other
//! programs keep it; we only read it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::locks::session::LIMIT;
use crate::locks::session::state_md::{Witness, front_matter};
use crate::sys::file;

/// Where it may be, in a checkout's root: the first that exists counts.
const DIRECTORIES: [&str; 4] = [".claude", ".codex", ".cursor", ".pi"];
const NAME: &str = "STATE.md";

/// What was found of a witness.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// There is none.
    NotThere,
    /// There is one, and it says this.
    Read(Witness),
    /// There is one that tells nothing.
    Odd {
        /// Where it is.
        path: PathBuf,
        /// Why it tells nothing, in a sentence.
        why: String,
    },
}

/// What the witness of the checkout in `root` says.
pub fn witness(root: &Path) -> Found {
    let paths = DIRECTORIES.iter().map(|name| root.join(name).join(NAME));
    let first = paths.into_iter().find(|path| may_be_there(path));
    first.map_or(Found::NotThere, read)
}

/// Whether there is something at `path`, as far as can be told.
fn may_be_there(path: &Path) -> bool {
    let absent = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    fs::symlink_metadata(path).map_or_else(|error| !absent.contains(&error.kind()), |_| true)
}

fn read(path: PathBuf) -> Found {
    let content = match file::read(&path, LIMIT) {
        Ok(Some(content)) => content,
        Ok(None) => return Found::NotThere,
        Err(error) => {
            let why = error.message().to_owned();
            return Found::Odd { path, why };
        }
    };
    // The text may be cut off in a character, and need not be text beyond the front matter.
    let chunk = content.bytes.utf8_chunks().next();
    let text = chunk.map_or("", |chunk| chunk.valid());
    match front_matter(text) {
        Some(witness) => Found::Read(witness),
        None => Found::Odd {
            path,
            why: "its front matter makes no sense".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fifo::Doorbell;
    use crate::sys::file::Modes;

    const MODES: Modes = Modes {
        file: 0o600,
        dir: 0o700,
        group: None,
    };

    struct Root(tempfile::TempDir);

    impl Root {
        fn new() -> Self {
            Self(tempfile::tempdir().expect("temp dir"))
        }

        fn write(&self, directory: &str, content: impl AsRef<[u8]>) -> PathBuf {
            let directory = self.0.path().join(directory);
            fs::create_dir_all(&directory).expect("mkdir");
            let path = directory.join(NAME);
            fs::write(&path, content).expect("write");
            path
        }

        fn session(&self) -> Option<String> {
            match witness(self.0.path()) {
                Found::Read(witness) => Some(witness.session),
                Found::NotThere | Found::Odd { .. } => None,
            }
        }

        /// Why the witness at `path` tells nothing.
        fn odd(&self, path: &Path) -> String {
            match witness(self.0.path()) {
                Found::Odd { path: found, why } if found == path => why,
                other => unreachable!("{other:?}"),
            }
        }
    }

    fn of(session: &str) -> String {
        format!("---\nstatus: active\nsession: {session}\nstarted_at: 2026-01-01T00:00:00Z\n---\n")
    }

    #[test]
    fn the_first_that_exists_counts() {
        let root = Root::new();
        assert_eq!(witness(root.0.path()), Found::NotThere);
        for directory in [".pi", ".cursor", ".codex", ".claude"] {
            root.write(directory, of(directory));
            assert_eq!(root.session().as_deref(), Some(directory));
        }
        // Also where it tells nothing.
        let path = root.write(".claude", "# Plan\n");
        root.odd(&path);
        // A file of that name has none in it.
        fs::remove_dir_all(root.0.path().join(".claude")).expect("removed");
        fs::write(root.0.path().join(".claude"), "").expect("write");
        assert_eq!(root.session().as_deref(), Some(".codex"));
        assert_eq!(witness(&root.0.path().join("gone")), Found::NotThere);
    }

    #[test]
    fn what_cannot_be_read_tells_nothing_and_is_not_waited_for() {
        let root = Root::new();
        let path = root.write(".claude", "");
        for what in ["a symbolic link", "a FIFO", "a directory"] {
            let _ = fs::remove_file(&path);
            match what {
                "a FIFO" => drop(Doorbell::make(&path, MODES).expect("made")),
                "a directory" => fs::create_dir(&path).expect("mkdir"),
                _ => std::os::unix::fs::symlink("nowhere", &path).expect("symlink"),
            }
            assert!(root.odd(&path).contains(what), "{what}");
        }
    }

    #[test]
    fn a_witness_may_be_long_and_need_be_text_only_at_its_beginning() {
        let root = Root::new();
        let limit = usize::try_from(LIMIT).expect("fits");
        for after in [
            "x".repeat(2 * limit).into_bytes(),
            "é".repeat(limit).into_bytes(),
            b"\xff\xfe".to_vec(),
        ] {
            root.write(".claude", [of("a").into_bytes(), after].concat());
            assert_eq!(root.session().as_deref(), Some("a"));
        }
        let long = format!("---\nx: {}\n{}", "x".repeat(limit), &of("a")[4..]);
        let path = root.write(".claude", long);
        root.odd(&path);
        let path = root.write(".claude", b"---\nstatus: active\nsession: \xff\n---\n");
        root.odd(&path);
    }
}
