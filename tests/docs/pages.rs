//! The documents, and the blocks in them.

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the sources.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A fenced block.
#[derive(Clone, Debug)]
pub struct Block {
    /// The document, from the root.
    pub file: String,
    /// The heading above it.
    pub section: String,
    /// What stands after the fence.
    pub language: String,
    /// What is between the fences.
    pub text: String,
    /// The line of the fence.
    pub line: usize,
}

impl Block {
    /// Where it is, for messages.
    pub fn at(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// The text of a document.
#[track_caller]
pub fn text(file: &str) -> String {
    fs::read_to_string(root().join(file)).expect("a document")
}

/// All documents, from the root.
pub fn all() -> Vec<String> {
    let mut found = Vec::new();
    for directory in ["", "doc", "doc/adr", "man/prose"] {
        let entries = fs::read_dir(root().join(directory)).expect("a directory");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let documents = paths.filter(|path| path.extension().is_some_and(|it| it == "md"));
        let names = documents.map(|path: PathBuf| {
            let name = path.strip_prefix(root()).expect("inside").to_owned();
            name.to_str().expect("UTF-8").to_owned()
        });
        found.extend(names);
    }
    found.sort();
    assert!(found.len() > 15, "{found:?}");
    found
}

/// The lines of a document that are outside of fenced blocks, with their numbers, and the blocks.
#[track_caller]
pub fn read(file: &str) -> (Vec<(usize, String)>, Vec<Block>) {
    let (mut lines, mut blocks) = (Vec::new(), Vec::new());
    let mut open: Option<Block> = None;
    let mut section = String::new();
    for (index, line) in text(file).lines().enumerate() {
        let fence = line.strip_prefix("```");
        match (&mut open, fence) {
            (Some(_), Some(rest)) => {
                assert_eq!(rest, "", "{file}:{} opens within a block", index + 1);
                blocks.extend(open.take());
            }
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, Some(language)) => {
                open = Some(Block {
                    file: file.to_owned(),
                    section: section.clone(),
                    language: language.to_owned(),
                    text: String::new(),
                    line: index + 1,
                });
            }
            (None, None) => {
                // No other kind of block is read: it would be missed silently.
                let other = ["```", "~~~"]
                    .iter()
                    .any(|it| line.trim_start().starts_with(it));
                assert!(!other, "{file}:{}: write ``` at the margin", index + 1);
                if let Some(heading) = line.strip_prefix("## ") {
                    heading.clone_into(&mut section);
                }
                lines.push((index + 1, line.to_owned()));
            }
        }
    }
    assert!(open.is_none(), "{file} ends within a block");
    (lines, blocks)
}
