//! Who is asking: a plan id, given or found from the checkout.
//!
//! `--plan-id` wins, then `GIT_LOCKS_PLAN_ID`, then the checkout the caller stands in; never the
//! branch, which changes between acquire and release. Whatever name is not a plan id itself gets
//! six hex digits of its own hash, so that two names never become one holder.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::place::{Checkout, Place, git_dir_behind, resolve, worktree_of};
use crate::text;

/// The longest plan id, in bytes.
pub const MAX_LENGTH: usize = 200;

/// The id of the main checkout, whatever its branch; no other name is converted to it.
const MAIN_CHECKOUT: &str = "main-checkout";

/// A participant's name: matches `^[a-z][a-z0-9-]*$` and has at most 200 bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct PlanId(String);

impl PlanId {
    /// `text` as a plan id, if it is one.
    pub fn parse(text: &str) -> Option<Self> {
        let valid = text.len() <= MAX_LENGTH
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && text
                .bytes()
                .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        valid.then(|| Self(text.to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A caller's plan id and how it came by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The id.
    pub id: PlanId,
    /// Whether the caller named it.
    pub explicit: bool,
}

impl Identity {
    fn inferred(id: PlanId) -> Self {
        Self {
            id,
            explicit: false,
        }
    }
}

/// The identity that the caller named: by `flag`, else by `env`, where empty means unset.
pub fn explicit(flag: Option<&OsStr>, env: Option<&OsStr>) -> Result<Option<Identity>> {
    let env = env.filter(|value| !value.is_empty());
    let named = flag
        .map(|value| ("--plan-id", value))
        .or_else(|| env.map(|value| ("GIT_LOCKS_PLAN_ID", value)));
    let Some((source, value)) = named else {
        return Ok(None);
    };
    match value.to_str().and_then(PlanId::parse) {
        Some(id) => Ok(Some(Identity { id, explicit: true })),
        None => Err(not_an_id(source, value)),
    }
}

fn not_an_id(source: &str, value: &OsStr) -> Error {
    let shown = text::clip(&text::path(Path::new(value)), 100);
    Error::usage(format!("{source}: {shown} is not a plan id")).with_hint(format!(
        "a plan id matches ^[a-z][a-z0-9-]*$ and has at most {MAX_LENGTH} bytes, such as my-task"
    ))
}

/// `id` with a dash and `suffix`, cut where it would be too long: for one of several calls that ask
/// under the same id.
pub fn suffixed(id: &PlanId, suffix: &str) -> PlanId {
    let room = MAX_LENGTH.saturating_sub(suffix.len() + 1);
    // A plan id is ASCII.
    let kept = id.0.get(..room).unwrap_or(&id.0);
    PlanId(format!("{kept}-{suffix}"))
}

/// A name of any bytes as a plan id: itself if it is one, else converted and told apart by its
/// hash.
pub fn from_name(name: &OsStr) -> PlanId {
    match name.to_str().and_then(PlanId::parse) {
        Some(id) if id.0 != MAIN_CHECKOUT => id,
        _ => told_apart(name.as_bytes(), name.as_bytes()),
    }
}

/// `name` converted, with six hex digits of the hash of `distinct` at its end.
fn told_apart(name: &[u8], distinct: &[u8]) -> PlanId {
    let mut id = String::new();
    for chunk in name.utf8_chunks() {
        id.extend(chunk.valid().chars().map(plain));
        id.extend(chunk.invalid().iter().map(|_| '-'));
    }
    if !id.starts_with(|c: char| c.is_ascii_lowercase()) {
        id.insert_str(0, "x-");
    }
    // All of it is ASCII by now.
    id.truncate(MAX_LENGTH - 7);
    PlanId(format!("{id}-{}", text::digest(distinct, 3)))
}

/// A character of a name as one of a plan id.
fn plain(c: char) -> char {
    match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9') => c,
        _ => '-',
    }
}

/// The identity of the checkout that the caller at `cwd` stands in.
pub fn infer(place: &Place, cwd: &Path) -> Result<Identity> {
    let Some(checkout) = &place.checkout else {
        if !place.base_is_given {
            // Outside a repository, the directory is all there is.
            let name = cwd.file_name().unwrap_or(OsStr::new("root"));
            return Ok(Identity::inferred(from_name(name)));
        }
        return Err(
            Error::usage("PLAN_BASE_DIR is set, so the caller must say who it is")
                .with_hint("add --plan-id ID, or set GIT_LOCKS_PLAN_ID"),
        );
    };
    let worktrees = place.base.join("worktrees");
    if fs::symlink_metadata(&worktrees).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    {
        // Nobody stands in what is not there, and nobody in it has a namesake.
        return Ok(Identity::inferred(of_name(checkout)));
    }
    let worktrees = resolve(&worktrees);
    let id = match child_of(&worktrees, &resolve(cwd)) {
        Some(name) => from_name(&name),
        None => of_checkout(&worktrees, checkout),
    };
    Ok(Identity::inferred(id))
}

/// The id of `checkout`, whose caller stands outside `worktrees`.
fn of_checkout(worktrees: &Path, checkout: &Checkout) -> PlanId {
    let Some(admin_name) = &checkout.linked_name else {
        return PlanId(MAIN_CHECKOUT.to_owned());
    };
    // The caller may stand in the admin directory of one of the plans' worktrees.
    let of_plan = worktree_of(&checkout.git_dir)
        .and_then(|root| child_of(worktrees, &root))
        .filter(|name| is_at(&worktrees.join(name), &checkout.git_dir));
    if let Some(name) = of_plan {
        return from_name(&name);
    }
    // A plan's worktree may have this name: git's names and directories' names are two things.
    // A directory without a checkout (a witness, an orphaned shell) is nobody's namesake.
    let namesake = worktrees.join(admin_name).join(".git");
    if fs::symlink_metadata(&namesake).is_ok()
        && git_dir_behind(&namesake).as_ref() != Some(&checkout.git_dir)
    {
        let distinct = checkout.git_dir.as_os_str().as_bytes();
        return told_apart(admin_name.as_bytes(), distinct);
    }
    from_name(admin_name)
}

/// The id of `checkout` by its own name alone.
fn of_name(checkout: &Checkout) -> PlanId {
    match &checkout.linked_name {
        Some(admin_name) => from_name(admin_name),
        None => PlanId(MAIN_CHECKOUT.to_owned()),
    }
}

/// Whether the checkout at `root` is that of `git_dir`.
fn is_at(root: &Path, git_dir: &Path) -> bool {
    git_dir_behind(&root.join(".git")).is_some_and(|found| found == git_dir)
}

/// The child of `dir` that `path` is, or lies in.
fn child_of(dir: &Path, path: &Path) -> Option<OsString> {
    match path.strip_prefix(dir).ok()?.components().next()? {
        Component::Normal(name) => Some(name.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn converted(name: &[u8]) -> String {
        from_name(OsStr::from_bytes(name)).0
    }

    #[test]
    fn a_plan_id_stays_as_it_is() {
        for id in ["a", "feature-x", "x9--", &"a".repeat(200)] {
            assert_eq!(converted(id.as_bytes()), id);
        }
    }

    #[test]
    fn any_other_name_is_told_apart() {
        for (name, start) in [
            ("Feature/X", "feature-x-"),
            ("feature/x", "feature-x-"),
            ("2026-x", "x-2026-x-"),
            ("größe", "gr--e-"),
            ("-a", "x--a-"),
            ("", "x--"),
            ("main-checkout", "main-checkout-"),
        ] {
            let id = converted(name.as_bytes());
            assert_eq!(id.len(), start.len() + 6, "{id}");
            assert!(id.starts_with(start), "{id}");
        }
        assert_ne!(converted(b"Feature/X"), converted(b"feature/x"));
        assert_ne!(converted(b"\xff"), converted(b"\xfe"));
        assert_ne!(converted(&[b'a'; 201]), converted(&[b'a'; 300]));
        assert_eq!(converted(&[b'a'; 300]).len(), MAX_LENGTH);
    }

    #[test]
    fn the_suffix_is_of_the_sha256_of_the_name() {
        assert_eq!(converted(b"ABC"), "abc-b5d404");
    }

    #[test]
    fn who_names_itself_must_do_it_well() {
        let named = |flag: Option<&str>, env: Option<&str>| {
            explicit(flag.map(OsStr::new), env.map(OsStr::new))
                .map(|identity| identity.map(|i| i.id.0))
                .map_err(|error| error.message().to_owned())
        };
        assert_eq!(named(None, None), Ok(None));
        assert_eq!(named(None, Some("")), Ok(None));
        assert_eq!(named(Some("a"), Some("B")), Ok(Some("a".into())));
        assert_eq!(named(None, Some("b")), Ok(Some("b".into())));
        assert_eq!(
            named(Some(""), Some("b")),
            Err("--plan-id: '' is not a plan id".into())
        );
        assert_eq!(
            named(None, Some("a\nb")),
            Err("GIT_LOCKS_PLAN_ID: 'a\\nb' is not a plan id".into())
        );
    }

    proptest! {
        #[test]
        fn every_name_becomes_a_plan_id(name in proptest::collection::vec(any::<u8>(), 0..400)) {
            let id = converted(&name);
            prop_assert!(PlanId::parse(&id).is_some(), "{id}");
            prop_assert!(id != MAIN_CHECKOUT);
            prop_assert!(id.as_bytes() == name || !name.starts_with(id.as_bytes()));
        }
    }
}
