//! The one-line file that names the holder: read whole, made whole, removed only when unchanged.

use std::path::Path;

use crate::error::Result;
use crate::identity::PlanId;
use crate::locks::merge::{Holder, LockFile};
use crate::sys::file::{self, Content};
use crate::text;

/// More than this in a lock file is no holder, in bytes.
const LIMIT: u64 = 1024;
/// How much of a malformed holder is kept for people to see, in bytes.
const SHOWN: usize = 200;

/// The lock file and the very bytes it was read from.
#[derive(Clone, Debug)]
pub struct Read {
    /// What it says.
    pub lock: LockFile,
    content: Content,
}

/// Reads the lock file at `path`; `None` when there is none.
pub fn read(path: &Path) -> Result<Option<Read>> {
    let Some(content) = file::read(path, LIMIT)? else {
        return Ok(None);
    };
    let lock = LockFile {
        holder: parse(&content.bytes),
        mtime_ns: content.instance.mtime_ns,
        uid: content.instance.uid,
    };
    Ok(Some(Read { lock, content }))
}

/// Whether the file at `path` is still the same instance with the same bytes.
pub fn is_unchanged(path: &Path, seen: &Read) -> Result<bool> {
    Ok(file::read(path, LIMIT)?.as_ref() == Some(&seen.content))
}

/// What the bytes of a lock file say.
fn parse(bytes: &[u8]) -> Holder {
    let text = String::from_utf8_lossy(bytes);
    let name = text.trim();
    if name.is_empty() && bytes.len() as u64 <= LIMIT {
        return Holder::Unborn;
    }
    match PlanId::parse(name) {
        Some(id) if bytes.len() as u64 <= LIMIT => Holder::Plan(id),
        _ => Holder::Malformed(text::clip(name, SHOWN)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_holder_is_one_plan_id_and_nothing_else() {
        let plan = |name: &str| Holder::Plan(PlanId::parse(name).expect("a plan id"));
        assert_eq!(parse(b"alpha\n"), plan("alpha"));
        assert_eq!(parse(b"alpha"), plan("alpha"));
        assert_eq!(parse(b" alpha \r\n"), plan("alpha"));
        assert_eq!(parse(b""), Holder::Unborn);
        assert_eq!(parse(b"\n"), Holder::Unborn);
        for odd in ["../x", "a\0b", "a\nb", "A", "\u{1b}[31m", "-a", "é"] {
            assert_eq!(
                parse(odd.as_bytes()),
                Holder::Malformed(odd.to_owned()),
                "{odd:?}"
            );
        }
    }

    #[test]
    fn a_huge_file_is_a_malformed_holder() {
        let huge = vec![b'a'; 1025];
        let Holder::Malformed(shown) = parse(&huge) else {
            unreachable!("a holder of 1025 bytes");
        };
        assert!(shown.len() < 210, "{}", shown.len());
        assert_eq!(parse(&[b' '; 1025]), Holder::Malformed(String::new()));
    }

    proptest! {
        #[test]
        fn only_plan_ids_are_ever_taken_for_holders(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Holder::Plan(id) = parse(&bytes) {
                prop_assert!(PlanId::parse(id.as_str()).is_some());
            }
        }
    }
}
