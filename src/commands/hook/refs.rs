//! Which refs are protected, and what git says it is about to push. Pure.
//!
//! git gives a hook one line for each ref: `<local ref> <local id> <remote ref> <remote id>`. A local
//! ref may hold blanks (`HEAD^{/some words}`), the other words may not, so that a line is read from
//! its end. What cannot be understood counts as protected.

use std::io::{self, BufRead, Read as _};

use crate::error::{Error, Result};
use crate::text;

/// The longest line that is read, in bytes; nobody has a ref of that length.
const LONGEST: u64 = 64 * 1024;
/// So many refs are named where several are pushed.
const NAMED: usize = 5;

/// What stands before the name of a branch.
const BRANCHES: &str = "refs/heads/";

/// What is protected: full names of refs, in which `*` stands for anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protected(Vec<Vec<u8>>);

impl Protected {
    /// What `patterns` protect: a full name where one begins with `refs/`, else a branch.
    ///
    /// # Errors
    /// One of them can match no ref.
    pub fn parse(patterns: &[String]) -> Result<Self> {
        let full = patterns.iter().map(|pattern| full_name(pattern));
        full.collect::<Result<_>>().map(Self)
    }

    /// What is protected where nothing else is said: the remote's default branch, where that is
    /// known, else `main` and `master`.
    pub fn by_default(branch: Option<Vec<u8>>) -> Self {
        let usual = || ["main", "master"].map(|name| format!("{BRANCHES}{name}").into_bytes());
        Self(branch.map_or_else(|| usual().into(), |branch| vec![branch]))
    }

    /// Whether pushes to `name` are protected. A name outside `refs/` may stand for any branch.
    fn covers(&self, name: &[u8]) -> bool {
        !name.starts_with(b"refs/") || self.0.iter().any(|pattern| matches(pattern, name))
    }
}

/// `pattern` as a full name, in which only `*` is more than itself.
fn full_name(pattern: &str) -> Result<Vec<u8>> {
    let impossible = |c: char| c.is_control() || " ~^:?[\\".contains(c);
    let sound = !pattern.is_empty()
        && !pattern.starts_with(['-', '/'])
        && !pattern.ends_with(['/', '.'])
        && !pattern.contains(impossible)
        && !["..", "//", "@{"].iter().any(|odd| pattern.contains(odd));
    if !sound {
        let shown = text::clip(&text::visible(pattern), 100);
        return Err(
            Error::usage(format!("--protect: '{shown}' matches no branch")).with_hint(
                "a pattern is the name of a branch or of a ref, in which * stands for anything, \
                 such as main, release/* or refs/heads/main",
            ),
        );
    }
    if pattern.starts_with("refs/") {
        return Ok(pattern.as_bytes().to_vec());
    }
    Ok(format!("{BRANCHES}{pattern}").into_bytes())
}

/// Whether `name` is what `pattern` says, where a `*` stands for any bytes, slashes too.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let mut pieces = pattern.split(|&byte| byte == b'*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let Some(last) = pieces.next_back() else {
        return rest.is_empty();
    };
    for piece in pieces {
        let Some(at) = find(rest, piece) else {
            return false;
        };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

/// Where `piece` first stands in `bytes`.
fn find(bytes: &[u8], piece: &[u8]) -> Option<usize> {
    if piece.is_empty() {
        return Some(0);
    }
    bytes
        .windows(piece.len())
        .position(|window| window == piece)
}

/// What is about to be pushed to what is protected.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// The names of the first of these refs.
    pub names: Vec<String>,
    /// How many there are.
    pub count: usize,
}

/// Reads what git says to its end, and keeps what is `protected`.
///
/// # Errors
/// It cannot be read.
pub fn read(input: &mut dyn BufRead, protected: &Protected) -> io::Result<Pushed> {
    let mut pushed = Pushed::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(pushed);
        }
        let whole = line.pop_if(|byte| *byte == b'\n').is_some();
        let cut = !whole && line.len() as u64 == LONGEST;
        if cut {
            input.skip_until(b'\n')?;
        }
        if line.is_empty() {
            continue;
        }
        let name = remote_ref(&line).filter(|_| !cut);
        if name.is_none_or(|name| protected.covers(name)) {
            pushed.count += 1;
            if pushed.names.len() < NAMED {
                let shown = String::from_utf8_lossy(name.unwrap_or(&line));
                pushed.names.push(text::clip(&shown, 200));
            }
        }
    }
}

/// The remote ref of a line, where it is one of git's.
fn remote_ref(line: &[u8]) -> Option<&[u8]> {
    let mut words = line.rsplitn(4, |&byte| byte == b' ');
    let (remote_id, name) = (words.next()?, words.next()?);
    let (local_id, local) = (words.next()?, words.next()?);
    let sound = is_id(remote_id) && is_id(local_id) && !local.is_empty() && !name.is_empty();
    sound.then_some(name)
}

fn is_id(word: &[u8]) -> bool {
    word.len() >= 40 && word.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: &str = "27ce1d38be74af2b3c107806c8a90ac0d5f21469";

    fn protecting(patterns: &[&str]) -> Protected {
        let patterns: Vec<String> = patterns.iter().map(|&p| p.to_owned()).collect();
        Protected::parse(&patterns).expect("patterns")
    }

    fn pushed(input: &[u8], patterns: &[&str]) -> Pushed {
        read(&mut &*input, &protecting(patterns)).expect("read")
    }

    #[test]
    fn a_pattern_is_a_branch_or_a_full_name() {
        for (pattern, name, covered) in [
            ("main", "refs/heads/main", true),
            ("main", "refs/heads/main2", false),
            ("main", "refs/heads/x/main", false),
            ("main", "refs/tags/main", false),
            ("release/*", "refs/heads/release/1", true),
            ("release/*", "refs/heads/release/1/fix", true),
            ("release/*", "refs/heads/release", false),
            ("*", "refs/heads/anything/at/all", true),
            ("*", "refs/tags/v1", false),
            ("refs/tags/v*", "refs/tags/v1", true),
            ("refs/heads/main", "refs/heads/main", true),
            ("*-stable", "refs/heads/a-stable", true),
            ("*-stable", "refs/heads/a-stable-b", false),
            ("a*b*c", "refs/heads/aXbYbc", true),
            ("a*b*c", "refs/heads/acb", false),
            ("aba*aba", "refs/heads/aba", false),
            ("main", "HEAD", true),
        ] {
            let covers = protecting(&[pattern]).covers(name.as_bytes());
            assert_eq!(covers, covered, "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_that_matches_no_ref_is_refused() {
        for pattern in [
            "", "-x", "/main", "main/", "a b", "a?", "[ab]", "a..b", "a//b", "x^", "a\nb", "a:b",
            "@{u}", "a.", "a\\b",
        ] {
            let error = Protected::parse(&[pattern.to_owned()]).expect_err(pattern);
            let words = error.to_string();
            assert!(words.starts_with("--protect: '"), "{words}");
            assert!(error.hint().is_some());
        }
    }

    #[test]
    fn the_default_is_what_the_remote_says_else_main_and_master() {
        let known = Protected::by_default(Some(b"refs/heads/trunk".to_vec()));
        assert!(known.covers(b"refs/heads/trunk") && !known.covers(b"refs/heads/main"));
        let usual = Protected::by_default(None);
        assert!(usual.covers(b"refs/heads/main") && usual.covers(b"refs/heads/master"));
        assert!(!usual.covers(b"refs/heads/trunk") && !usual.covers(b"refs/tags/main"));
    }

    #[test]
    fn only_what_is_protected_is_kept() {
        let lines = format!(
            "refs/heads/a {ID} refs/heads/topic {ID}\n(delete) {ID} refs/heads/main {ID}\n\
             refs/tags/v1 {ID} refs/tags/main {ID}\n"
        );
        let found = pushed(lines.as_bytes(), &["main"]);
        assert_eq!(found.names, ["refs/heads/main"]);
        assert_eq!(pushed(b"", &["*"]), Pushed::default());
        assert_eq!(pushed(b"\n\n", &["*"]), Pushed::default());
        let many = format!("x {ID} refs/heads/main {ID}\n").repeat(9);
        let found = pushed(many.as_bytes(), &["main"]);
        assert_eq!((found.count, found.names.len()), (9, NAMED));
    }

    #[test]
    fn a_local_ref_may_hold_blanks() {
        let odd = format!("HEAD^{{/y z}} {ID} refs/heads/q {ID}");
        assert_eq!(pushed(odd.as_bytes(), &["main"]).count, 0);
        assert_eq!(pushed(odd.as_bytes(), &["q"]).names, ["refs/heads/q"]);
        let forged = format!("x {ID} refs/tags/a {ID} {ID} refs/heads/main {ID}\n");
        assert_eq!(pushed(forged.as_bytes(), &["main"]).count, 1);
    }

    #[test]
    fn what_makes_no_sense_counts() {
        let long = [vec![b'x'; 3 * 64 * 1024], b" y\n".to_vec()].concat();
        let two_blanks = format!("a {ID} refs/tags/v  {ID}\n");
        for line in [
            b"nonsense\n".as_slice(),
            b"a b c d\n",
            b"\xff\xfe",
            b" \n",
            two_blanks.as_bytes(),
            &long,
        ] {
            assert_eq!(pushed(line, &["main"]).count, 1);
        }
        let after = [long.clone(), format!("x {ID} refs/tags/v {ID}\n").into()].concat();
        assert_eq!(pushed(&after, &["main"]).count, 1, "the next line is whole");
        let exact = format!("x {ID} refs/tags/{} {ID}", "v".repeat(64 * 1024));
        assert_eq!(pushed(exact.as_bytes(), &["main"]).count, 1);
        let names = pushed(&long, &["main"]).names;
        assert!(names.iter().all(|name| name.len() < 300));
    }

    proptest! {
        #[test]
        fn nothing_makes_it_fail(input in proptest::collection::vec(any::<u8>(), 0..300)) {
            let found = read(&mut &*input, &protecting(&["a*b", "*"])).expect("read");
            prop_assert!(found.names.len() <= found.count);
        }

        #[test]
        fn a_star_stands_for_anything(a in "[a-z/]{0,4}", b in "[a-z/]{0,4}", any in "[a-z/]{0,9}") {
            let pattern = format!("{a}*{b}");
            let name = format!("{a}{any}{b}");
            prop_assert!(matches(pattern.as_bytes(), name.as_bytes()));
        }
    }
}
