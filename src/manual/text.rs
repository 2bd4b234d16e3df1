//! A page as plain text, for where there is no `man` and for pipes.

use super::markup::{Block, Span};

/// How many columns a line may have.
const WIDTH: usize = 80;
/// How far the text of a section is indented, and what belongs to a term beyond that.
const INDENT: usize = 7;

/// The page `name`, which is about `about` and says `blocks`.
pub(super) fn render(name: &str, about: &str, blocks: &[Block]) -> String {
    let title = format!("{}(1)", name.to_uppercase());
    let gap = WIDTH.saturating_sub(2 * title.len());
    let mut out = format!("{title}{}{title}\n", " ".repeat(gap));
    line(&mut out, 0, "\nNAME");
    fill(&mut out, &format!("{name} - {about}"), INDENT, INDENT);
    let mut before: Option<&Block> = None;
    for block in blocks {
        let after_heading = matches!(before, Some(Block::Section(_) | Block::Part(_)));
        if !after_heading {
            out.push('\n');
        }
        write_block(&mut out, block);
        before = Some(block);
    }
    out
}

fn write_block(out: &mut String, block: &Block) {
    match block {
        Block::Section(title) => line(out, 0, &title.to_uppercase()),
        Block::Part(title) => line(out, 3, title),
        Block::Paragraph(words) => fill(out, &plain(words), INDENT, INDENT),
        Block::Term(term, meaning) => {
            fill(out, &plain(term), INDENT, INDENT);
            fill(out, &plain(meaning), 2 * INDENT, 2 * INDENT);
        }
        Block::Item(mark, words) => {
            fill(
                out,
                &format!("{mark} {}", plain(words)),
                INDENT,
                INDENT + mark.chars().count() + 1,
            );
        }
        Block::Code(code) => code.lines().for_each(|row| line(out, INDENT + 4, row)),
        Block::Call(words, pieces) => {
            // What a piece holds together, no line break may part.
            let pieces: Vec<String> = pieces
                .iter()
                .map(|piece| plain(piece).replace(' ', "\u{a0}"))
                .collect();
            let mut rows = String::new();
            let call = format!("{} {}", words.replace(' ', "\u{a0}"), pieces.join(" "));
            fill(&mut rows, &call, INDENT, INDENT + words.len() + 1);
            out.push_str(&rows.replace('\u{a0}', " "));
        }
    }
}

fn plain(words: &[Span]) -> String {
    let word = |span: &Span| match span {
        Span::Plain(words) | Span::Strong(words) | Span::Emphasis(words) => words.clone(),
    };
    words.iter().map(word).collect()
}

fn line(out: &mut String, indent: usize, words: &str) {
    if !words.is_empty() {
        out.push_str(&" ".repeat(indent));
        out.push_str(words);
    }
    out.push('\n');
}

/// `words` in lines, the first indented by `first`, the others by `rest`.
fn fill(out: &mut String, words: &str, first: usize, rest: usize) {
    let mut row = String::new();
    let mut indent = first;
    for word in words.split(' ').filter(|word| !word.is_empty()) {
        let width = indent + row.chars().count() + 1 + word.chars().count();
        if !row.is_empty() && width > WIDTH {
            line(out, indent, &row);
            row.clear();
            indent = rest;
        }
        if !row.is_empty() {
            row.push(' ');
        }
        row.push_str(word);
    }
    if !row.is_empty() {
        line(out, indent, &row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_in_time_and_pieces_stay_whole() {
        let piece = || vec![Span::Plain("[--something VALUE]".to_owned())];
        let blocks = [
            Block::Section("Synopsis".to_owned()),
            Block::Call("git locks".to_owned(), (0..6).map(|_| piece()).collect()),
            Block::Paragraph(vec![Span::Plain("word ".repeat(60))]),
            Block::Code("a\n\nb".to_owned()),
        ];
        let text = render("git-locks", "turns", &blocks);
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        assert!(text.lines().all(|line| line.trim_end() == line), "{text}");
        assert_eq!(text.matches("[--something VALUE]").count(), 6, "{text}");
        assert!(text.contains("\n           a\n\n           b\n"), "{text}");
    }
}
