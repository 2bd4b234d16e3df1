//! Settings, variables and exit codes: what the documents name is what the program knows.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::pages::{all, root, text};

/// Variables of the shell's completions and of a hook's script, and of the tests: not settings.
const INTERNAL: [&str; 4] = [
    "GIT_LOCKS_REFS",
    "GIT_LOCKS_TEST",
    "GIT_LOCKS_UPDATE",
    "GIT_LOCKS_LOCKED",
];

/// The sources of the program, without its unit tests.
fn sources() -> String {
    fn add(directory: &Path, found: &mut String) {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                if !path.ends_with("tests") {
                    add(&path, found);
                }
            } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
                let text = fs::read_to_string(&path).expect("a source");
                let code = text.split("#[cfg(test)]\nmod tests {").next();
                found.push_str(code.unwrap_or_default());
            }
        }
    }
    let mut found = String::new();
    add(&root().join("src"), &mut found);
    found
}

/// The words in `text` that begin with `start` and go on with what `is_part` allows.
fn words(text: &str, start: &str, is_part: impl Fn(char) -> bool) -> BTreeSet<String> {
    let found = text.match_indices(start).filter_map(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let rest = text.get(at..)?;
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = rest.get(..end)?.trim_end_matches(['.', '_']);
        let whole = !before.is_some_and(|c| c.is_ascii_alphanumeric() || "_-/".contains(c));
        (whole && word.len() > start.len()).then(|| word.to_owned())
    });
    found.collect()
}

fn variables(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit();
    let mut found = words(text, "GIT_LOCKS_", is_part);
    found.retain(|word| !INTERNAL.iter().any(|start| word.starts_with(start)));
    found
}

/// The keys that a document names, as git reads them, whatever their case.
fn keys(text: &str) -> BTreeSet<String> {
    let named = words(text, "locks.", |c| c.is_ascii_alphabetic() || c == '.');
    named.iter().map(|key| key.to_lowercase()).collect()
}

/// The keys in the sources: each is a string of its own.
fn quoted_keys(code: &str) -> BTreeSet<String> {
    let strings = code.match_indices("\"locks.").filter_map(|(at, _)| {
        let (key, _) = code.get(at + 1..)?.split_once('"')?;
        let plain = key.chars().all(|c| c.is_ascii_alphabetic() || c == '.');
        plain.then(|| key.to_lowercase())
    });
    strings.collect()
}

#[test]
fn every_variable_and_setting_is_documented_and_nothing_else_is() {
    let code = sources();
    let settings = text("doc/config.md");
    let told: String = all().iter().map(|file| text(file)).collect();
    let (known, named) = (variables(&code), variables(&settings));
    assert!(known.len() > 12, "{known:?}");
    let missing: Vec<_> = known.difference(&named).collect();
    assert!(missing.is_empty(), "not in doc/config.md: {missing:?}");
    let unknown: Vec<_> = variables(&told).difference(&known).cloned().collect();
    assert!(
        unknown.is_empty(),
        "named in a document, and unknown: {unknown:?}"
    );
    let (known, named) = (quoted_keys(&code), keys(&settings));
    assert!(known.len() > 8, "{known:?}");
    let missing: Vec<_> = known.difference(&named).collect();
    assert!(missing.is_empty(), "not in doc/config.md: {missing:?}");
    let unknown: Vec<_> = keys(&told).difference(&known).cloned().collect();
    assert!(
        unknown.is_empty(),
        "named in a document, and unknown: {unknown:?}"
    );
}

#[test]
fn every_exit_code_is_documented_alike() {
    let code = fs::read_to_string(root().join("src/exit.rs")).expect("the exit codes");
    let codes: BTreeSet<u8> = code
        .lines()
        .filter(|line| line.contains("pub const "))
        .filter_map(|line| line.split("Self(").nth(1)?.split(')').next()?.parse().ok())
        .collect();
    assert!(codes.len() >= 6, "{codes:?}");
    for file in ["README.md", "doc/output.md"] {
        let rows: BTreeSet<u8> = text(file)
            .lines()
            .skip_while(|line| !line.starts_with("| exit | meaning |"))
            .skip(2)
            .take_while(|line| line.starts_with('|'))
            .filter_map(|line| line.split('|').nth(1))
            .flat_map(|cell| cell.split(','))
            .filter_map(|code| code.trim().trim_matches('`').parse().ok())
            .collect();
        let missing: Vec<_> = codes.difference(&rows).collect();
        assert!(missing.is_empty(), "not in {file}: {missing:?} of {rows:?}");
        let unknown: Vec<_> = rows.difference(&codes).collect();
        assert!(unknown.is_empty(), "in {file}, and unknown: {unknown:?}");
    }
}
