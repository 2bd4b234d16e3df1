//! `marshal.json`: settings that a project tracks, shared with another program. Only read, and what
//! makes no sense in it is as good as not there: it is that program's to complain.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A larger file is not read, in bytes.
const LIMIT: u64 = 1 << 20;

/// The number of slots that the project of a caller in `cwd` sets, where it does.
pub(super) fn build_slots(cwd: &Path, plan_dir: &OsStr) -> Option<usize> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let named = named("PLAN_TRACKED_CONFIG_DIR").or_else(|| named("PLAN_BASE_DIR"));
    let directory = match named {
        Some(named) => cwd.join(named),
        None => directory(cwd, plan_dir),
    };
    slots_of(&directory.join("marshal.json"))
}

/// The plan directory nearest to `cwd` that is in use, else the one that would be there.
fn directory(cwd: &Path, plan_dir: &OsStr) -> PathBuf {
    let mut near = cwd.ancestors().map(|dir| dir.join(plan_dir));
    let found = near.find(|plan| plan.join("local").is_dir());
    found.unwrap_or_else(|| cwd.join(plan_dir))
}

fn slots_of(path: &Path) -> Option<usize> {
    let kind = fs::metadata(path).ok()?;
    if !kind.is_file() || kind.len() > LIMIT {
        return None;
    }
    let value: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let slots = value.get("build")?.get("queue")?.get("max_slots")?;
    let slots = usize::try_from(slots.as_u64()?).ok()?;
    (slots > 0).then_some(slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_positive_integer_counts() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("marshal.json");
        let slots = |text: &str| {
            fs::write(&path, text).expect("write");
            slots_of(&path)
        };
        let set = |value: &str| format!(r#"{{"build": {{"queue": {{"max_slots": {value}}}}}}}"#);
        assert_eq!(slots(&set("3")), Some(3));
        for odd in ["0", "-1", "true", "2.0", "\"3\"", "null", "[3]"] {
            assert_eq!(slots(&set(odd)), None, "{odd}");
        }
        for odd in ["", "[]", "{", r#"{"build": 3}"#] {
            assert_eq!(slots(odd), None, "{odd}");
        }
        assert_eq!(slots_of(&dir.path().join("missing")), None);
        assert_eq!(slots_of(dir.path()), None);
    }

    #[test]
    fn it_stands_in_the_nearest_plan_directory_that_is_in_use() {
        let dir = tempfile::tempdir().expect("temp dir");
        let root = dir.path();
        let deep = root.join("a/b");
        fs::create_dir_all(deep.join(".plan")).expect("mkdir");
        let plan = OsStr::new(".plan");
        assert_eq!(directory(&deep, plan), deep.join(".plan"), "none is in use");
        fs::create_dir_all(root.join(".plan/local")).expect("mkdir");
        assert_eq!(directory(&deep, plan), root.join(".plan"));
        fs::create_dir_all(root.join("a/.work/local")).expect("mkdir");
        assert_eq!(directory(&deep, OsStr::new(".work")), root.join("a/.work"));
    }
}
