//! What the command line's own definitions say on a page: calls, commands, options.

use crate::cli::outline::{Flag, Operand, Value, Verb};

use super::markup::{self, Block, Span, sentence};

/// A command that does something, and the names that lead to it from where the page begins.
pub(super) struct Leaf<'a> {
    names: Vec<&'a str>,
    /// The command.
    pub verb: &'a Verb,
}

impl Leaf<'_> {
    /// `rate-window claim`.
    pub fn name(&self) -> String {
        self.names.join(" ")
    }

    /// `git locks merge rate-window claim`.
    pub fn words(&self, command: &str) -> String {
        let mut words = format!("git locks {command}");
        for name in &self.names {
            words.push(' ');
            words.push_str(name);
        }
        words
    }
}

/// The commands below `verb`, or itself where there is none.
pub(super) fn leaves(verb: &Verb) -> Vec<Leaf<'_>> {
    if verb.verbs.is_empty() {
        return vec![Leaf {
            names: Vec::new(),
            verb,
        }];
    }
    let found = verb.leaves().into_iter();
    found.map(|(names, verb)| Leaf { names, verb }).collect()
}

/// The program itself as one that takes the options of every command.
pub(super) fn shared(program: &Verb) -> Vec<Leaf<'_>> {
    vec![Leaf {
        names: Vec::new(),
        verb: program,
    }]
}

/// How the program is called.
pub(super) fn whole(program: &Verb) -> Block {
    let mut pieces: Vec<Vec<Span>> = program.flags.iter().map(option).collect();
    pieces.push(vec![Span::Emphasis("COMMAND".to_owned())]);
    pieces.push(vec![
        Span::Plain("[".to_owned()),
        Span::Emphasis("ARG".to_owned()),
        Span::Plain("...]".to_owned()),
    ]);
    Block::Call("git locks".to_owned(), pieces)
}

/// How a command is called.
pub(super) fn call(words: &str, verb: &Verb) -> Block {
    let mut pieces: Vec<Vec<Span>> = verb.flags.iter().map(option).collect();
    pieces.extend(verb.operands.iter().map(|it| {
        let mut piece = Vec::new();
        if it.last {
            piece.extend([Span::Strong("--".to_owned()), Span::Plain(" ".to_owned())]);
        }
        piece.push(Span::Emphasis(it.value.name.clone()));
        if it.repeats {
            piece.push(Span::Plain("...".to_owned()));
        }
        bracketed(piece, !it.required)
    }));
    Block::Call(words.to_owned(), pieces)
}

/// A command and what it does.
pub(super) fn summary(leaf: &Leaf<'_>) -> Block {
    Block::Term(
        vec![Span::Strong(leaf.name())],
        markup::spans(&sentence(&leaf.verb.about)),
    )
}

/// The options and operands of `leaves`, each told once: with the commands that take it, where it is not
/// all of them.
pub(super) fn options(title: &str, leaves: &[Leaf<'_>]) -> Vec<Block> {
    let mut terms: Vec<(Block, Vec<String>)> = Vec::new();
    for leaf in leaves {
        let flags = leaf.verb.flags.iter().map(about_flag);
        for block in flags.chain(leaf.verb.operands.iter().map(about_operand)) {
            match terms.iter_mut().find(|(known, _)| *known == block) {
                Some((_, takers)) => takers.push(leaf.name()),
                None => terms.push((block, vec![leaf.name()])),
            }
        }
    }
    let mut blocks = Vec::new();
    if !title.is_empty() && !terms.is_empty() {
        blocks.push(Block::Section(title.to_owned()));
    }
    for (mut block, takers) in terms {
        if let Block::Term(_, meaning) = &mut block
            && takers.len() < leaves.len()
        {
            meaning.push(Span::Plain(" Taken by ".to_owned()));
            meaning.extend(strong_list(&takers));
            meaning.push(Span::Plain(".".to_owned()));
        }
        blocks.push(block);
    }
    blocks
}

/// "a, b and c", where `and` is the last word between.
pub(super) fn list(words: &[String], and: &str) -> String {
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} {and} {last}", before.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

fn strong_list(words: &[String]) -> Vec<Span> {
    let mut said = Vec::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            let between = if index + 1 == words.len() {
                " and "
            } else {
                ", "
            };
            said.push(Span::Plain(between.to_owned()));
        }
        said.push(Span::Strong(word.clone()));
    }
    said
}

/// An option in a call.
fn option(flag: &Flag) -> Vec<Span> {
    let spelling = flag.long.first().map(|name| format!("--{name}"));
    let short = flag.short.map(|letter| format!("-{letter}"));
    let mut piece = vec![Span::Strong(spelling.or(short).unwrap_or_default())];
    piece.extend(flag.value.iter().flat_map(placeholder));
    let mut piece = bracketed(piece, !flag.required);
    if flag.repeats {
        piece.push(Span::Plain("...".to_owned()));
    }
    piece
}

fn bracketed(mut piece: Vec<Span>, optional: bool) -> Vec<Span> {
    if optional {
        piece.insert(0, Span::Plain("[".to_owned()));
        piece.push(Span::Plain("]".to_owned()));
    }
    piece
}

/// What follows an option that takes `value`.
fn placeholder(value: &Value) -> Vec<Span> {
    let between = if value.attached { "=" } else { " " };
    let (before, after) = match (value.optional, value.attached) {
        (true, true) => ("[=", "]"),
        (true, false) => (" [", "]"),
        (false, _) => (between, ""),
    };
    let name = Span::Emphasis(value.name.clone());
    let mut said = vec![Span::Plain(before.to_owned()), name];
    if !after.is_empty() {
        said.push(Span::Plain(after.to_owned()));
    }
    said
}

fn about_flag(flag: &Flag) -> Block {
    let mut term = Vec::new();
    for spelling in flag.spellings() {
        if !term.is_empty() {
            term.push(Span::Plain(", ".to_owned()));
        }
        term.push(Span::Strong(spelling));
    }
    term.extend(flag.value.iter().flat_map(placeholder));
    Block::Term(term, meaning(&flag.help, flag.value.as_ref()))
}

fn about_operand(operand: &Operand) -> Block {
    let mut term = vec![Span::Emphasis(operand.value.name.clone())];
    if operand.repeats {
        term.push(Span::Plain("...".to_owned()));
    }
    Block::Term(term, meaning(&operand.help, Some(&operand.value)))
}

/// A help text in sentences: `[default: x]` at its end, and the like, is one of its own.
fn meaning(help: &str, value: Option<&Value>) -> Vec<Span> {
    let mut parts = help.split(" [");
    let mut said = sentence(parts.next().unwrap_or_default());
    let mut has_default = false;
    for part in parts {
        has_default |= part.starts_with("default");
        said.push(' ');
        let part = part.strip_suffix(']').unwrap_or(part);
        let spelled = part
            .strip_prefix("env:")
            .map(|name| format!("environment:{name}"));
        said.push_str(&sentence(spelled.as_deref().unwrap_or(part)));
    }
    let Some(value) = value else {
        return markup::spans(&said);
    };
    if let Some(default) = value.default.as_ref().filter(|_| !has_default) {
        said.extend([" Default: `", default, "`."]);
    }
    if !value.words.is_empty() {
        let words: Vec<String> = value
            .words
            .iter()
            .map(|(word, about)| one_of(word, about))
            .collect();
        said.extend([" *", &value.name, "* is ", &list(&words, "or"), "."]);
    }
    markup::spans(&said)
}

fn one_of(word: &str, about: &str) -> String {
    let first = about.split_whitespace().next().unwrap_or_default();
    let is_common = !first.chars().skip(1).any(char::is_uppercase);
    let about = if is_common {
        let mut letters = about.chars();
        let small: String = letters
            .next()
            .into_iter()
            .flat_map(char::to_lowercase)
            .collect();
        small + letters.as_str()
    } else {
        about.to_owned()
    };
    if about.is_empty() || about == word {
        format!("`{word}`")
    } else {
        format!("`{word}` ({about})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(spans: &[Span]) -> String {
        let word = |span: &Span| match span {
            Span::Plain(words) | Span::Strong(words) | Span::Emphasis(words) => words.clone(),
        };
        spans.iter().map(word).collect()
    }

    fn flag(value: Option<Value>) -> Flag {
        Flag {
            id: "x".to_owned(),
            short: Some('x'),
            long: vec!["long".to_owned()],
            help: "Do it [env: X] [default: not]".to_owned(),
            value,
            required: false,
            repeats: false,
        }
    }

    fn value(optional: bool, attached: bool) -> Value {
        let words = [("on", "On a terminal"), ("json", "JSON"), ("off", "Off")];
        let words = words.map(|(word, about)| (word.to_owned(), about.to_owned()));
        Value {
            name: "WHAT".to_owned(),
            words: words.to_vec(),
            optional,
            attached,
            default: Some("on".to_owned()),
        }
    }

    #[test]
    fn options_are_written_as_they_are_typed() {
        let typed = |value| text(&option(&flag(value)));
        assert_eq!(typed(None), "[--long]");
        assert_eq!(typed(Some(value(false, false))), "[--long WHAT]");
        assert_eq!(typed(Some(value(true, false))), "[--long [WHAT]]");
        assert_eq!(typed(Some(value(true, true))), "[--long[=WHAT]]");
        assert_eq!(typed(Some(value(false, true))), "[--long=WHAT]");
    }

    #[test]
    fn a_help_text_becomes_sentences() {
        let Block::Term(term, said) = about_flag(&flag(Some(value(false, false)))) else {
            panic!("no term");
        };
        assert_eq!(text(&term), "-x, --long WHAT");
        assert_eq!(
            text(&said),
            "Do it. Environment: X. Default: not. WHAT is on (on a terminal), json (JSON) or off."
        );
    }

    #[test]
    fn an_option_of_some_commands_names_them() {
        let verb = |flags: Vec<Flag>| Verb {
            name: "v".to_owned(),
            about: String::new(),
            flags,
            operands: Vec::new(),
            verbs: Vec::new(),
        };
        let (with, without) = (verb(vec![flag(None)]), verb(Vec::new()));
        let leaf = |name, verb| Leaf {
            names: vec![name],
            verb,
        };
        let all = [
            leaf("a", &with),
            leaf("b", &with),
            leaf("c", &without),
            leaf("d", &with),
        ];
        let said = |leaves: &[Leaf<'_>]| match options("", leaves).as_slice() {
            [Block::Term(_, said)] => text(said),
            other => panic!("{other:?}"),
        };
        assert!(
            said(&all).ends_with("Taken by a, b and d."),
            "{}",
            said(&all)
        );
        assert!(!said(&all[..2]).contains("Taken"));
    }
}
