//! The sentinel in the lock file of a worktree: written in place under its lock. The file is never
//! replaced, since the lock is on the very file.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::error::{Error, Result};
use crate::locks::worktree::{LIMIT, Sentinel};
use crate::sys::file;

/// Writes `sentinel` into `file`, which was opened from `path` and is locked by us.
///
/// # Errors
/// It may not be written, or the disk is full; then the sentinel is malformed, as after a crash.
pub fn write(file: &File, path: &Path, sentinel: &Sentinel) -> Result<()> {
    let words = sentinel.render();
    // Over the old bytes first, which takes no room on a full disk.
    let written = file.write_all_at(words.as_bytes(), 0);
    let written = written.and_then(|()| file.set_len(words.len() as u64));
    written.map_err(|e| file::denied(Error::io("write", path, &e), path, &e))
}

/// What the lock file at `path` holds; `None` where there is none.
///
/// # Errors
/// It is no regular file, or not readable.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    Ok(file::read(path, LIMIT)?.map(|content| content.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentinel_takes_the_place_of_whatever_was_there() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("x.lock");
        assert_eq!(read(&path).expect("read"), None);
        std::fs::write(&path, "garbage ".repeat(100)).expect("written");
        let file = File::options().read(true).write(true).open(&path);
        let file = file.expect("opened");
        let sentinel = |command: &str| Sentinel {
            pid: 7,
            host: "box".to_owned(),
            process_create_time: Some(1.5),
            acquired_at: 2.5,
            workspace: "/w".to_owned(),
            command: command.to_owned(),
        };
        for command in ["make test", "a much longer command than that", "x"] {
            let sentinel = sentinel(command);
            write(&file, &path, &sentinel).expect("written");
            let content = read(&path).expect("read").expect("there");
            assert_eq!(Sentinel::parse(&content), Some(sentinel));
        }
        let reading = File::open(&path).expect("opened");
        write(&reading, &path, &sentinel("y")).expect_err("not open for writing");
    }
}
