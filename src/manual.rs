//! The manual: one page for the program, one for each family and tool.
//!
//! What a page says of commands and options is the command line's own definitions; the rest is prose,
//! in `man/prose`, one file a page. In it, a line `<!-- doc/config.md: Settings -->` stands for
//! that section of that file, so that what is written there is not written twice. A page is
//! plain blocks, rendered as roff for `man`, or as text where there is no `man`. The rendered
//! pages are committed in `man`; `tests/shell` keeps them in step.

mod calls;
pub mod markup;
mod roff;
mod text;

use crate::cli::outline::{Verb, outline};
use markup::{Block, Span, sentence};

/// The date of the pages: that of the last change to their substance.
const DATE: &str = "2026-12-01";

/// The pages: the command that each is about, and its prose.
const PROSE: [(&str, &str); 10] = [
    ("", include_str!("../man/prose/git-locks.md")),
    ("merge", include_str!("../man/prose/git-locks-merge.md")),
    ("build", include_str!("../man/prose/git-locks-build.md")),
    ("repo", include_str!("../man/prose/git-locks-repo.md")),
    (
        "worktree",
        include_str!("../man/prose/git-locks-worktree.md"),
    ),
    ("session", include_str!("../man/prose/git-locks-session.md")),
    ("hook", include_str!("../man/prose/git-locks-hook.md")),
    ("status", include_str!("../man/prose/git-locks-status.md")),
    ("log", include_str!("../man/prose/git-locks-log.md")),
    ("doctor", include_str!("../man/prose/git-locks-doctor.md")),
];

/// The files that prose takes sections from.
const SOURCES: [(&str, &str); 2] = [
    ("doc/config.md", include_str!("../doc/config.md")),
    ("doc/output.md", include_str!("../doc/output.md")),
];

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its name: `git-locks`, `git-locks-merge`.
    pub name: String,
    /// What it is about, in a line.
    pub about: String,
    /// What it says.
    blocks: Vec<Block>,
}

/// The names of the pages, the program's first.
pub fn names() -> impl Iterator<Item = String> {
    PROSE.iter().map(|(command, _)| name_of(command))
}

/// All pages, the program's first.
pub fn pages() -> Vec<Page> {
    let program = outline();
    PROSE
        .iter()
        .map(|(command, prose)| compose(&program, command, prose))
        .collect()
}

/// The page that is meant by `word`: `git-locks-merge`, `locks-merge` or `merge`.
pub fn page(word: &str) -> Option<Page> {
    let word = word.strip_prefix("git-").unwrap_or(word);
    let command = match word.strip_prefix("locks") {
        Some(rest) => rest.strip_prefix('-').unwrap_or(rest),
        None => word,
    };
    let found = PROSE.iter().find(|(name, _)| *name == command);
    found.map(|(command, prose)| compose(&outline(), command, prose))
}

/// Whether `source`, or what is known of its start, is a page that [`Page::roff`] has made, of whatever
/// version.
pub fn is_ours(source: &[u8]) -> bool {
    source.starts_with(roff::MADE.as_bytes())
}

impl Page {
    /// The page for `man`.
    pub fn roff(&self) -> String {
        roff::render(self, DATE)
    }

    /// The page as text.
    pub fn text(&self) -> String {
        text::render(&self.name, &self.about, &self.blocks)
    }
}

fn name_of(command: &str) -> String {
    if command.is_empty() {
        "git-locks".to_owned()
    } else {
        format!("git-locks-{command}")
    }
}

fn has_page(command: &str) -> bool {
    PROSE.iter().any(|(name, _)| *name == command)
}

fn compose(program: &Verb, command: &str, prose: &str) -> Page {
    let mut told = split(markup::parse(&expand(prose)));
    let rest = told.split_off(told.len().min(1));
    let (name, verb) = (
        name_of(command),
        program.find(&[command]).unwrap_or(program),
    );
    let about = verb.about.clone();
    let mut blocks = vec![Block::Section("Synopsis".to_owned())];
    if command.is_empty() {
        blocks.push(calls::whole(program));
        blocks.extend(told.into_iter().flatten());
        blocks.extend(families(program));
        blocks.extend(calls::options("Options", &calls::shared(program)));
        blocks.extend(tools(program));
    } else {
        let leaves = calls::leaves(verb);
        blocks.extend(
            leaves
                .iter()
                .map(|leaf| calls::call(&leaf.words(command), leaf.verb)),
        );
        blocks.extend(told.into_iter().flatten());
        if !verb.verbs.is_empty() {
            blocks.push(Block::Section("Commands".to_owned()));
            blocks.extend(leaves.iter().map(calls::summary));
        }
        blocks.extend(calls::options("Options", &leaves));
        blocks.push(Block::Paragraph(markup::spans(
            "`-C`, `--format` and the other options of every command are in git-locks(1).",
        )));
    }
    blocks.extend(rest.into_iter().flatten());
    blocks.push(Block::Section("See also".to_owned()));
    blocks.push(Block::Paragraph(vec![Span::Plain(see_also(&name))]));
    Page {
        name,
        about,
        blocks,
    }
}

/// The families and tools that have a page of their own.
fn families(program: &Verb) -> Vec<Block> {
    let mut blocks = vec![Block::Section("Commands".to_owned())];
    let told = program.verbs.iter().filter(|verb| has_page(&verb.name));
    blocks.extend(told.map(|verb| {
        let verbs = calls::leaves(verb);
        let verbs: Vec<String> = verbs.iter().map(calls::Leaf::name).collect();
        let mut meaning = markup::spans(&sentence(&verb.about));
        if !verb.verbs.is_empty() {
            meaning.push(Span::Plain(format!(
                " Verbs: {}.",
                calls::list(&verbs, "and")
            )));
        }
        meaning.push(Span::Plain(format!(" See {}(1).", name_of(&verb.name))));
        Block::Term(
            vec![Span::Strong(format!("git locks {}", verb.name))],
            meaning,
        )
    }));
    blocks
}

/// Those that have none, whole.
fn tools(program: &Verb) -> Vec<Block> {
    let told = program.verbs.iter().filter(|verb| !has_page(&verb.name));
    let mut blocks = vec![Block::Section("In the shell".to_owned())];
    for verb in told {
        blocks.push(calls::call(&format!("git locks {}", verb.name), verb));
        blocks.push(Block::Paragraph(markup::spans(&sentence(&verb.about))));
        let leaves = calls::leaves(verb);
        blocks.extend(calls::options("", &leaves));
    }
    blocks
}

fn see_also(name: &str) -> String {
    let others = names()
        .filter(|other| other != name)
        .map(|other| format!("{other}(1)"));
    let all: Vec<String> = others
        .chain(["git(1)".to_owned(), "flock(1)".to_owned()])
        .collect();
    all.join(", ")
}

/// The prose with the sections that it refers to in their places.
fn expand(prose: &str) -> String {
    let mut whole = String::new();
    for line in prose.lines() {
        let told = line
            .strip_prefix("<!-- ")
            .and_then(|line| line.strip_suffix(" -->"));
        let found = told.and_then(|told| {
            let (file, title) = told.split_once(": ")?;
            let (_, source) = SOURCES.iter().find(|(name, _)| *name == file)?;
            markup::section(source, title)
        });
        whole.push_str(found.unwrap_or(line));
        whole.push('\n');
    }
    whole
}

/// The blocks of each section.
fn split(blocks: Vec<Block>) -> Vec<Vec<Block>> {
    let mut sections: Vec<Vec<Block>> = Vec::new();
    for block in blocks {
        match sections.last_mut() {
            Some(section) if !matches!(block, Block::Section(_)) => section.push(block),
            _ => sections.push(vec![block]),
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_goes_by_any_of_its_names() {
        for (word, name) in [
            ("merge", "git-locks-merge"),
            ("locks-merge", "git-locks-merge"),
            ("git-locks-merge", "git-locks-merge"),
            ("git-locks", "git-locks"),
            ("locks", "git-locks"),
        ] {
            assert_eq!(
                page(word).map(|page| page.name).as_deref(),
                Some(name),
                "{word}"
            );
        }
        for word in ["nothing", "git-merge-locks", "../merge", "locksmith"] {
            assert!(page(word).is_none(), "{word}");
        }
    }

    #[test]
    fn every_page_has_its_command_and_nothing_is_left_to_include() {
        let program = outline();
        for (command, prose) in PROSE {
            assert!(
                command.is_empty() || program.find(&[command]).is_some(),
                "{command}"
            );
            let whole = expand(prose);
            assert!(
                !whole.contains("<!-- doc/"),
                "{command}: a section is not found"
            );
            assert!(prose.starts_with("# Description\n"), "{command}");
        }
        let families = program.verbs.iter().filter(|verb| !verb.verbs.is_empty());
        for family in families {
            assert!(has_page(&family.name), "{} has no page", family.name);
        }
    }
}
