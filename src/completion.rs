//! What may come next on a command line: pure, for the completions of shells.
//!
//! A shell's completion hands over the words of the command line, the last of which is being typed,
//! and gets back a word that says what else the shell may offer (`nothing`, `directories` or
//! `command`: any command, as it would be completed by itself), then a candidate a line, each with a
//! tab and a few words about it. What stands in a file is only ever offered as a candidate of one line
//! without control characters; to quote it is the shell's part.

mod reader;

use crate::cli::outline::Verb;
use crate::text;

use reader::Reader;

/// How many candidates that were looked up are offered at most.
const LIMIT: usize = 1000;

/// The completion of bash.
pub const BASH: &str = include_str!("../completions/git-locks.bash");
/// The completion of zsh.
pub const ZSH: &str = include_str!("../completions/_git-locks");
/// The completion of fish.
pub const FISH: &str = include_str!("../completions/git-locks.fish");

/// What may be typed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// The word, or its end.
    pub word: String,
    /// A few words about it.
    pub about: String,
}

impl Candidate {
    /// A candidate and a few words about it.
    pub fn new(word: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            word: word.into(),
            about: about.into(),
        }
    }
}

/// What has to be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Live {
    /// The ids of those who have or wait for the merge lock.
    Mergers,
    /// The ids of those of this project who have or wait for a slot.
    Builders,
    /// Both.
    Participants,
    /// The entries of the build queue.
    Entries,
    /// The sessions that are noted in the worktrees.
    Sessions,
    /// The bots that have a rate window.
    Bots,
    /// The roots of the worktrees.
    Worktrees,
    /// The branches.
    Branches,
}

/// What the shell may offer besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Besides {
    /// Nothing.
    Nothing,
    /// The directories that there are.
    Directories,
    /// What comes next in the command that begins after the two dashes.
    Command,
}

/// What may stand in the place of the last word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What the definitions know.
    pub known: Vec<Candidate>,
    /// What has to be looked up.
    pub live: Option<Live>,
    /// What the shell may offer.
    pub besides: Besides,
    /// What each candidate begins with: `--as=`, of which the value is asked for.
    before: String,
    /// What is typed already of the word.
    typed: String,
    /// The directories that `-C` has named so far.
    pub directories: Vec<String>,
}

/// What may stand in the place of the last of `words`, of a command line of `program` without its own
/// name. `pages` are the names of manual pages.
pub fn ask(program: &Verb, words: &[String], pages: &[String]) -> Asked {
    let last = words.split_last();
    let (typed, before) = last.map_or(("", words), |(last, rest)| (last.as_str(), rest));
    let mut reader = Reader::new(program);
    for word in before {
        reader.read(word);
    }
    reader.answer(typed, pages)
}

impl Asked {
    /// The answer, with what was looked up. `begun`: only what begins with what is typed already, for a
    /// shell that does not look itself.
    pub fn answer(&self, found: Vec<Candidate>, begun: bool) -> String {
        let typed = self.typed.strip_prefix(&self.before).unwrap_or(&self.typed);
        let fits = |candidate: &Candidate| candidate.word.starts_with(typed);
        let mut found: Vec<Candidate> = found
            .into_iter()
            .filter(|found| is_sound(&found.word))
            .collect();
        if found.len() > LIMIT {
            found.retain(fits);
            found.truncate(LIMIT);
        }
        let mut lines = match self.besides {
            Besides::Nothing => "nothing\n",
            Besides::Directories => "directories\n",
            Besides::Command => "command\n",
        }
        .to_owned();
        let all = self.known.iter().chain(&found);
        for candidate in all.filter(|candidate| !begun || fits(candidate)) {
            lines.push_str(&self.before);
            lines.push_str(&candidate.word);
            lines.push('\t');
            lines.push_str(&text::log_line(&candidate.about));
            lines.push('\n');
        }
        lines
    }
}

/// Whether a word from a file may be offered: it is one line, and steers no terminal.
fn is_sound(word: &str) -> bool {
    !word.is_empty() && text::visible(word) == word
}

/// A word as a shell reads it, from how it was typed, which may be cut off: without quotes and
/// backslashes. What would be replaced by something else stays as it is.
pub fn unquoted(typed: &str) -> String {
    let mut word = String::with_capacity(typed.len());
    let mut quote: Option<char> = None;
    let mut letters = typed.chars().peekable();
    while let Some(c) = letters.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, '\\') => word.extend(letters.next()),
            (Some('"'), '\\') if letters.peek().is_some_and(|next| "\"\\$`".contains(*next)) => {
                word.extend(letters.next());
            }
            _ => word.push(c),
        }
    }
    word
}

#[cfg(test)]
mod tests;
