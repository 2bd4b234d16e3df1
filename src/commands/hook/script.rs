//! The lines of shell that make a hook of git ask for the lock, and how they are found again. Pure.
//!
//! The lines stand between two marks, right after the first line of the hook: a hook that never
//! reaches its end passes them all the same. They keep what git says on standard input for what comes
//! after them. The first mark says whether the whole hook is ours (`own`) or only these lines (`added`),
//! and bears a digest of the lines: lines that somebody has changed are nobody's to take away.

use std::ops::Range;

use crate::text;

/// The first line of a hook that is ours.
pub const SHEBANG: &[u8] = b"#!/bin/sh\n";

const BEGIN: &str = "# git-locks: begin ";
const END: &str = "# git-locks: end";
const ABOUT: &str =
    "'git locks hook install' made these lines, 'git locks hook uninstall' takes them away";

/// How many bytes of the digest of the lines are kept.
const DIGEST: usize = 8;

/// Shells that understand the lines.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"];

/// Whose hook the lines stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The whole hook is ours.
    Own,
    /// Somebody else's, to which they were added.
    Added,
}

impl Whose {
    fn word(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Added => "added",
        }
    }
}

/// What there is of our lines in a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// All of them, as they were written: these bytes.
    Whole(Range<usize>, Whose),
    /// Something, between these lines, counted from 1.
    Changed(usize, usize),
}

/// What the hook runs, with the patterns and the mode that it was installed with.
pub fn command(patterns: &[String], require: bool) -> String {
    let mut words = "git-locks hook pre-push".to_owned();
    if require {
        words.push_str(" --require");
    }
    for pattern in patterns {
        words.push_str(" --protect=");
        words.push_str(&text::shell_word(pattern));
    }
    words + " -- \"$@\""
}

/// The lines that run `command`, with their marks.
pub fn lines(command: &str, whose: Whose) -> String {
    let body = format!(
        r#"git_locks_refs=$(cat) || exit 1
if ! command -v git-locks >/dev/null 2>&1; then
	echo 'error: nothing is pushed: the pre-push hook needs git-locks, which is not on PATH' >&2
	echo 'hint: put git-locks on PATH; to push without any hook: git push --no-verify' >&2
	exit 1
fi
{command} <<GIT_LOCKS_REFS || exit $?
$git_locks_refs
GIT_LOCKS_REFS
if [ -n "$git_locks_refs" ]; then
	exec <<GIT_LOCKS_REFS || exit 1
$git_locks_refs
GIT_LOCKS_REFS
fi
unset git_locks_refs
"#
    );
    let digest = digest(whose.word(), body.as_bytes());
    let word = whose.word();
    format!("{BEGIN}{word} {digest}: {ABOUT}\n{body}{END}\n")
}

fn digest(word: &str, body: &[u8]) -> String {
    text::digest(&[word.as_bytes(), b"\n", body].concat(), DIGEST)
}

/// Looks for our lines in a hook.
pub fn find(hook: &[u8]) -> Found {
    let mut marks = Vec::new();
    let mut at = 0;
    for (index, line) in hook.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let range = at..at + line.len();
        at = range.end;
        let begins = line.starts_with(BEGIN.trim_end().as_bytes());
        if begins || line.starts_with(END.as_bytes()) {
            marks.push((index + 1, range, begins));
        }
    }
    match marks.as_slice() {
        [] => Found::Nothing,
        [(_, begin, true), (_, end, false)] => match whose(hook, begin, end) {
            Some(whose) => Found::Whole(begin.start..end.end, whose),
            None => changed(&marks),
        },
        _ => changed(&marks),
    }
}

fn changed(marks: &[(usize, Range<usize>, bool)]) -> Found {
    let line = |mark: Option<&(usize, Range<usize>, bool)>| mark.map_or(1, |(line, _, _)| *line);
    Found::Changed(line(marks.first()), line(marks.last()))
}

/// Whose hook it is, where the lines between these marks are as they were written.
fn whose(hook: &[u8], begin: &Range<usize>, end: &Range<usize>) -> Option<Whose> {
    let mark = std::str::from_utf8(hook.get(begin.clone())?).ok()?;
    let body = hook.get(begin.end..end.start)?;
    let last = hook.get(end.clone())?;
    [Whose::Own, Whose::Added].into_iter().find(|whose| {
        let digest = digest(whose.word(), body);
        let expected = format!("{BEGIN}{} {digest}: {ABOUT}\n", whose.word());
        mark == expected && last.strip_suffix(b"\n").unwrap_or(last) == END.as_bytes()
    })
}

/// Whether a hook is one for a shell that understands the lines.
pub fn is_shell(hook: &[u8]) -> bool {
    let line = hook.split(|&byte| byte == b'\n').next();
    let line = line.and_then(|line| std::str::from_utf8(line.strip_prefix(b"#!")?).ok());
    let Some(line) = line.filter(|line| !line.ends_with('\r')) else {
        return false;
    };
    let mut words = line.split_ascii_whitespace();
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let mut program = words.next().map(name);
    if program.as_deref() == Some("env") {
        program = words.find(|word| !word.starts_with('-')).map(name);
    }
    program.is_some_and(|program| SHELLS.contains(&program.as_str()))
}

/// `hook` with `lines` after its first line.
pub fn with(hook: &[u8], lines: &str) -> Vec<u8> {
    match hook.iter().position(|&byte| byte == b'\n') {
        Some(end) => {
            let (first, rest) = hook.split_at(end + 1);
            [first, lines.as_bytes(), rest].concat()
        }
        // The newline is the lines' own: it goes with them.
        None => [hook, b"\n", lines.trim_end().as_bytes()].concat(),
    }
}

/// `hook` with `lines` in the place of those at `range`.
pub fn replaced(hook: &[u8], range: &Range<usize>, lines: &str) -> Vec<u8> {
    let before = hook.get(..range.start).unwrap_or_default();
    let after = hook.get(range.end..).unwrap_or_default();
    let closed = hook
        .get(range.clone())
        .is_some_and(|old| old.ends_with(b"\n"));
    let lines = if closed { lines } else { lines.trim_end() };
    [before, lines.as_bytes(), after].concat()
}

/// `hook` without the lines at `range`: what [`with`] was given.
pub fn without(hook: &[u8], range: &Range<usize>) -> Vec<u8> {
    let removed = replaced(hook, range, "");
    let closed = hook
        .get(range.clone())
        .is_some_and(|old| old.ends_with(b"\n"));
    match removed.strip_suffix(b"\n") {
        Some(before) if !closed => before.to_vec(),
        _ => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(whose: Whose) -> String {
        lines(&command(&["main".to_owned()], false), whose)
    }

    fn range_of(hook: &[u8]) -> (Range<usize>, Whose) {
        match find(hook) {
            Found::Whole(range, whose) => (range, whose),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_command_bears_its_patterns() {
        let patterns = ["release/*".to_owned(), "it's".to_owned()];
        assert_eq!(
            command(&patterns, true),
            r#"git-locks hook pre-push --require --protect='release/*' --protect='it'\''s' -- "$@""#
        );
        assert_eq!(command(&[], false), r#"git-locks hook pre-push -- "$@""#);
    }

    #[test]
    fn lines_are_found_where_they_were_put() {
        for whose in [Whose::Own, Whose::Added] {
            let hook = with(b"#!/bin/sh -e\nexit 0\n", &block(whose));
            let (range, found) = range_of(&hook);
            assert_eq!(found, whose);
            assert_eq!(&hook[..range.start], b"#!/bin/sh -e\n");
            assert_eq!(&hook[range.end..], b"exit 0\n");
        }
        assert_eq!(find(b"#!/bin/sh\necho git-locks: begin\n"), Found::Nothing);
    }

    #[test]
    fn lines_that_were_changed_are_not_taken_for_ours() {
        let whole = String::from_utf8(with(SHEBANG, &block(Whose::Own))).expect("text");
        let last = whole.lines().count();
        for (from, to) in [
            ("$git_locks_refs", "$refs"),
            ("begin own", "begin added"),
            ("exit 1\nfi", "exit 0\nfi"),
            ("\n", "\r\n"),
            ("takes them away", "takes them"),
        ] {
            let edited = whole.replacen(from, to, 9);
            assert_eq!(find(edited.as_bytes()), Found::Changed(2, last), "{to:?}");
        }
        let marks = whole.replace(END, "");
        assert_eq!(find(marks.as_bytes()), Found::Changed(2, 2));
        let twice = format!("{whole}{}", block(Whose::Added));
        assert!(matches!(find(twice.as_bytes()), Found::Changed(2, _)));
        let swapped = format!("{END}\n{}", whole.replace(END, "x"));
        assert_eq!(find(swapped.as_bytes()), Found::Changed(1, 3));
    }

    #[test]
    fn only_shells_are_shells() {
        for line in [
            "#!/bin/sh",
            "#! /bin/bash -eu",
            "#!/usr/bin/env zsh",
            "#!/usr/bin/env -S bash -e",
            "#!/usr/local/bin/dash",
        ] {
            assert!(is_shell(format!("{line}\nx\n").as_bytes()), "{line}");
            assert!(is_shell(line.as_bytes()), "{line}");
        }
        for line in [
            "#!/usr/bin/python3",
            "#!/usr/bin/env node",
            "#!/bin/sh\r",
            "#!",
            "#!/usr/bin/env",
            "echo",
            "",
            "\u{7f}ELF",
            "#!/usr/bin/fish",
        ] {
            assert!(!is_shell(format!("{line}\nx\n").as_bytes()), "{line}");
        }
        assert!(!is_shell(b"#!/bin/sh\xff\n"));
    }

    #[test]
    fn other_lines_take_their_place() {
        for hook in ["#!/bin/sh\nexit 1\n", "#!/bin/sh"] {
            let once = with(hook.as_bytes(), &block(Whose::Added));
            let (range, _) = range_of(&once);
            let other = lines(&command(&[], true), Whose::Added);
            let twice = replaced(&once, &range, &other);
            let (range, _) = range_of(&twice);
            assert_eq!(without(&twice, &range), hook.as_bytes());
            assert_eq!(twice, with(hook.as_bytes(), &other));
        }
    }

    proptest! {
        #[test]
        fn what_was_there_comes_back(rest in proptest::collection::vec(any::<u8>(), 0..200), first in any::<bool>()) {
            let hook = if first { [b"#!/bin/sh\n".to_vec(), rest].concat() } else { rest };
            prop_assume!(find(&hook) == Found::Nothing);
            let added = with(&hook, &block(Whose::Added));
            let Found::Whole(range, Whose::Added) = find(&added) else {
                return Err(TestCaseError::fail("not found"));
            };
            prop_assert_eq!(without(&added, &range), hook);
        }
    }
}
