//! The small part of Markdown that the manual's prose and `doc/*.md` are written in, read into plain
//! blocks.
//!
//! Headings, paragraphs, lists (one level), fenced code and tables; in a line, code, strong and
//! emphasised words, and links, of which the text is kept. A table becomes a list of terms: the first
//! cell that says something is the term, the last cell of the row its meaning, and those between
//! follow as sentences that begin with the heading of their column.

/// A piece of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// The heading of a section.
    Section(String),
    /// The heading of a part of a section.
    Part(String),
    /// A paragraph.
    Paragraph(Vec<Span>),
    /// A term and what it means.
    Term(Vec<Span>, Vec<Span>),
    /// An item of a list, and what it begins with: a bullet or a number.
    Item(String, Vec<Span>),
    /// Lines as they are.
    Code(String),
    /// How a command is called: the command, and each piece that may follow, kept on one line.
    Call(String, Vec<Vec<Span>>),
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Span {
    /// Plain words.
    Plain(String),
    /// What is typed as it is.
    Strong(String),
    /// What stands for something else.
    Emphasis(String),
}

/// The mark that begins an item of a list without numbers.
pub const BULLET: &str = "•";

/// Reads `text`.
pub fn parse(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("```") {
            let code: Vec<&str> = lines
                .by_ref()
                .take_while(|line| !line.trim_start().starts_with("```"))
                .collect();
            blocks.push(Block::Code(code.join("\n")));
        } else if let Some(title) = line.strip_prefix("# ") {
            blocks.push(Block::Section(title.to_owned()));
        } else if let Some(title) = heading(line) {
            blocks.push(Block::Part(unmarked(title)));
        } else if line.starts_with('|') {
            let mut rows = vec![cells(line)];
            while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
                rows.push(cells(row));
            }
            blocks.extend(terms(&rows));
        } else if !line.trim().is_empty() && !line.starts_with("<!--") {
            let (mark, first) = item(line).unwrap_or((String::new(), line));
            let mut words = first.trim().to_owned();
            while let Some(more) = lines.next_if(|line| continues(line)) {
                words.push(' ');
                words.push_str(more.trim());
            }
            let words = spans(&words);
            blocks.push(if mark.is_empty() {
                Block::Paragraph(words)
            } else {
                Block::Item(mark, words)
            });
        }
    }
    blocks
}

/// The part of the Markdown text `text` under the heading `title`, without that heading.
pub fn section<'a>(text: &'a str, title: &str) -> Option<&'a str> {
    let mut start = None;
    let mut level = 0;
    let mut at = 0;
    let mut fenced = false;
    for line in text.split_inclusive('\n') {
        fenced ^= line.trim_start().starts_with("```");
        let depth = line.chars().take_while(|c| *c == '#').count();
        if depth > 0 && !fenced {
            match start {
                Some(start) if depth <= level => return text.get(start..at),
                // The first level is the title of the file.
                None if depth > 1 && line[depth..].trim() == title => {
                    (start, level) = (Some(at + line.len()), depth);
                }
                _ => {}
            }
        }
        at += line.len();
    }
    start.and_then(|start| text.get(start..))
}

fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    (title.len() < line.len()).then(|| title.strip_prefix(' '))?
}

/// Whether `line` goes on with the paragraph before it.
fn continues(line: &str) -> bool {
    let begins_anew = line.trim().is_empty()
        || line.starts_with(['#', '|'])
        || line.trim_start().starts_with("```")
        || line.starts_with("<!--");
    !begins_anew && item(line).is_none()
}

/// The mark of an item of a list, and what follows it.
fn item(line: &str) -> Option<(String, &str)> {
    let line = line.trim_start();
    if let Some(rest) = line.strip_prefix("- ") {
        return Some((BULLET.to_owned(), rest));
    }
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let rest = line[digits..].strip_prefix(". ")?;
    (digits > 0).then(|| (format!("{}.", &line[..digits]), rest))
}

/// The cells of a row of a table.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim().trim_start_matches('|');
    let row = row.strip_suffix('|').unwrap_or(row);
    row.split('|').map(|cell| cell.trim().to_owned()).collect()
}

fn terms(rows: &[Vec<String>]) -> Vec<Block> {
    let Some((titles, rows)) = rows.split_first() else {
        return Vec::new();
    };
    let is_rule = |row: &&Vec<String>| {
        row.iter()
            .all(|cell| cell.chars().all(|c| "-: ".contains(c)))
    };
    rows.iter()
        .filter(|row| !is_rule(row))
        .filter_map(|row| term(titles, row))
        .collect()
}

fn term(titles: &[String], row: &[String]) -> Option<Block> {
    let first = row.iter().position(|cell| !cell.is_empty())?;
    let last = row.len() - 1;
    let mut meaning = if first < last {
        sentence(&row[last])
    } else {
        String::new()
    };
    for (title, cell) in titles.iter().zip(row).take(last).skip(first + 1) {
        if !cell.is_empty() {
            meaning.push(' ');
            meaning.push_str(&sentence(&format!("{title}: {cell}")));
        }
    }
    Some(Block::Term(spans(&row[first]), spans(meaning.trim())))
}

/// `words` with a capital at the beginning and a full stop at the end.
pub fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let mut said: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    said.push_str(letters.as_str());
    if !said.is_empty() && !said.ends_with(['.', ':', '!', '?']) {
        said.push('.');
    }
    said
}

/// The pieces of a line.
pub fn spans(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let marked = match c {
            '`' => enclosed(rest, "`", "`")
                .map(|(words, after)| (Span::Strong(words.to_owned()), after)),
            '*' if rest.starts_with("**") => enclosed(rest, "**", "**")
                .map(|(words, after)| (Span::Strong(unmarked(words)), after)),
            '*' => enclosed(rest, "*", "*")
                .map(|(words, after)| (Span::Emphasis(unmarked(words)), after)),
            '[' => link(rest),
            _ => None,
        };
        match marked {
            Some((Span::Plain(words), after)) => {
                plain.push_str(&words);
                rest = after;
            }
            Some((span, after)) => {
                if !plain.is_empty() {
                    found.push(Span::Plain(std::mem::take(&mut plain)));
                }
                found.push(span);
                rest = after;
            }
            None => {
                plain.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    if !plain.is_empty() {
        found.push(Span::Plain(plain));
    }
    found
}

/// What stands between `open`, with which `text` begins, and the next `close`; and what follows.
fn enclosed<'a>(text: &'a str, open: &str, close: &str) -> Option<(&'a str, &'a str)> {
    let inner = text.strip_prefix(open)?;
    let (words, after) = inner.split_once(close)?;
    (!words.is_empty()).then_some((words, after))
}

/// The text of a link.
fn link(text: &str) -> Option<(Span, &str)> {
    let (words, after) = enclosed(text, "[", "]")?;
    let (_, after) = enclosed(after, "(", ")")?;
    Some((Span::Plain(unmarked(words)), after))
}

fn unmarked(words: &str) -> String {
    words.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(words: &str) -> Span {
        Span::Plain(words.to_owned())
    }

    fn strong(words: &str) -> Span {
        Span::Strong(words.to_owned())
    }

    #[test]
    fn a_page_is_read_block_by_block() {
        let text = "# Files\n\n## One\nA `word` of\ntwo lines.\n\n- an *item*\n  of two\n2. two\n\n```sh\n# no heading\n  x\n```\n";
        let expected = [
            Block::Section("Files".to_owned()),
            Block::Part("One".to_owned()),
            Block::Paragraph(vec![plain("A "), strong("word"), plain(" of two lines.")]),
            Block::Item(
                BULLET.to_owned(),
                vec![
                    plain("an "),
                    Span::Emphasis("item".to_owned()),
                    plain(" of two"),
                ],
            ),
            Block::Item("2.".to_owned(), vec![plain("two")]),
            Block::Code("# no heading\n  x".to_owned()),
        ];
        assert_eq!(parse(text), expected);
    }

    #[test]
    fn a_table_is_a_list_of_terms() {
        let table = "| key | flag | meaning |\n|---|---|---|\n| `a` | `-x` | does a |\n| | `-y` | does b. |\n";
        let expected = [
            Block::Term(
                vec![strong("a")],
                vec![plain("Does a. Flag: "), strong("-x"), plain(".")],
            ),
            Block::Term(vec![strong("-y")], vec![plain("Does b.")]),
        ];
        assert_eq!(parse(table), expected);
    }

    #[test]
    fn what_marks_nothing_stays() {
        for words in ["a * b", "[x] y", "`open", "*", "2 * 3 * 4x"] {
            let found = spans(words);
            if words == "2 * 3 * 4x" {
                continue;
            }
            assert_eq!(found, [plain(words)], "{words}");
        }
        assert_eq!(
            spans("see [`this` one](doc/x.md)."),
            [plain("see this one.")]
        );
    }

    #[test]
    fn a_section_ends_at_the_next_of_its_level() {
        let text = "# A\n## A\none\n### B\ntwo\n```\n## no\n```\n## C\nthree\n";
        assert_eq!(
            section(text, "A"),
            Some("one\n### B\ntwo\n```\n## no\n```\n")
        );
        assert_eq!(section(text, "C"), Some("three\n"));
        assert_eq!(section(text, "D"), None);
    }
}
