//! A page as roff, in the `man` macros that groff and mandoc share.

use std::fmt::Write as _;

use super::Page;
use super::markup::{BULLET, Block, Span};

/// Words are neither broken nor stretched: much of the text is to be typed.
const RAGGED: &str = ".nh\n.ad l";
/// How each page begins: by it a page of ours is told from another's.
pub(super) const MADE: &str = ".\\\" Made from the command line's definitions and man/prose";
/// How long a line of the source may be.
const WIDTH: usize = 78;

/// `page`, dated `date`.
pub(super) fn render(page: &Page, date: &str) -> String {
    let title = escape(&page.name.to_uppercase(), true);
    let version = env!("CARGO_PKG_VERSION");
    let mut out = String::new();
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "{MADE}; tests/shell keeps it in step.");
    let _ = writeln!(
        out,
        ".TH \"{title}\" \"1\" \"{date}\" \"git\\-locks {version}\" \"Git Locks Manual\""
    );
    line(&mut out, RAGGED);
    let about = escape(&page.about, false);
    let _ = writeln!(out, ".SH NAME\n{} \\- {about}", escape(&page.name, true));
    let mut before: Option<&Block> = None;
    for block in &page.blocks {
        let after_heading = matches!(before, Some(Block::Section(_) | Block::Part(_)));
        write_block(&mut out, block, after_heading);
        before = Some(block);
    }
    out
}

fn write_block(out: &mut String, block: &Block, after_heading: bool) {
    match block {
        Block::Section(title) => line(
            out,
            &format!(".SH {}", escape(&title.to_uppercase(), false)),
        ),
        Block::Part(title) => line(out, &format!(".SS {}", escape(title, false))),
        Block::Paragraph(words) => {
            if !after_heading {
                line(out, ".PP");
            }
            text(out, words);
        }
        Block::Term(term, meaning) => {
            line(out, ".TP");
            line(out, &guarded(&fonts(term)));
            text(out, meaning);
        }
        Block::Item(mark, words) => {
            let mark = if mark == BULLET {
                "\\(bu".to_owned()
            } else {
                mark.clone()
            };
            line(out, &format!(".IP \"{mark}\" 4"));
            text(out, words);
        }
        Block::Code(code) => {
            if !after_heading {
                line(out, ".PP");
            }
            line(out, ".RS 4\n.nf");
            for row in code.lines() {
                line(out, &guarded(&escape(row, true)));
            }
            line(out, ".fi\n.RE");
        }
        Block::Call(words, pieces) => {
            line(out, &format!(".SY \"{}\"", escape(words, true)));
            for piece in pieces {
                line(out, &guarded(&fonts(piece).replace(' ', "\\ ")));
            }
            line(out, ".YS");
            // What ends a call puts back how words are broken elsewhere.
            line(out, RAGGED);
        }
    }
}

fn line(out: &mut String, words: &str) {
    out.push_str(words);
    out.push('\n');
}

/// `words` in lines of the source that are not too long.
fn text(out: &mut String, words: &[Span]) {
    let mut row = String::new();
    for word in fonts(words).split(' ').filter(|word| !word.is_empty()) {
        if !row.is_empty() && row.len() + 1 + word.len() > WIDTH {
            line(out, &guarded(&row));
            row.clear();
        }
        if !row.is_empty() {
            row.push(' ');
        }
        row.push_str(word);
    }
    if !row.is_empty() {
        line(out, &guarded(&row));
    }
}

/// A line of text that is not taken for a macro.
fn guarded(row: &str) -> String {
    if row.starts_with(['.', '\'']) {
        format!("\\&{row}")
    } else {
        row.to_owned()
    }
}

fn fonts(words: &[Span]) -> String {
    let mut said = String::new();
    for span in words {
        match span {
            Span::Plain(words) => said.push_str(&escape(words, false)),
            Span::Strong(words) => said.extend(["\\fB", &escape(words, true), "\\fR"]),
            Span::Emphasis(words) => said.extend(["\\fI", &escape(words, true), "\\fR"]),
        }
    }
    said
}

/// `words` for roff. `typed`: as they are typed, with no quote or dash made prettier.
fn escape(words: &str, typed: bool) -> String {
    let mut said = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '\\' => said.push_str("\\e"),
            '"' => said.push_str("\\(dq"),
            '-' if typed => said.push_str("\\-"),
            '\'' if typed => said.push_str("\\(aq"),
            '`' => said.push_str("\\(ga"),
            '^' => said.push_str("\\(ha"),
            '~' => said.push_str("\\(ti"),
            c if c.is_ascii() => said.push(c),
            // Writing to a `String` cannot fail.
            c => drop(write!(said, "\\[u{:04X}]", u32::from(c))),
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_taken_for_roff() {
        assert_eq!(
            escape(r#"\fB "x" ~^`"#, false),
            r"\efB \(dqx\(dq \(ti\(ha\(ga"
        );
        assert_eq!(escape("--it's …", true), r"\-\-it\(aqs \[u2026]");
        let mut out = String::new();
        write_block(&mut out, &Block::Code(".SH no\n'x".to_owned()), false);
        assert!(out.contains("\n\\&.SH no\n"), "{out}");
        assert!(!out.contains("\n'"), "{out}");
        let mut out = String::new();
        text(
            &mut out,
            &[Span::Plain(format!("{} .x", "a".repeat(WIDTH)))],
        );
        assert!(out.ends_with("\n\\&.x\n"), "{out}");
    }

    #[test]
    fn the_pieces_of_a_call_stay_whole() {
        let piece = vec![
            Span::Strong("--ttl".to_owned()),
            Span::Plain(" ".to_owned()),
            Span::Emphasis("D".to_owned()),
        ];
        let mut out = String::new();
        write_block(
            &mut out,
            &Block::Call("git locks".to_owned(), vec![piece]),
            false,
        );
        assert_eq!(
            out,
            ".SY \"git locks\"\n\\fB\\-\\-ttl\\fR\\ \\fID\\fR\n.YS\n.nh\n.ad l\n"
        );
    }
}
