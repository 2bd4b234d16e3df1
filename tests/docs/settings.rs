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

/// How the names of variables begin that say where something is kept.
const PLACES: [&str; 3] = ["PLAN_", "CRUCIBLE_", "XDG_"];

/// The variables in the sources that say where something is kept: each is a string of its own.
fn quoted_places(code: &str) -> BTreeSet<String> {
    let parts = code.split('"');
    let names = parts.filter(|part| PLACES.iter().any(|start| part.starts_with(start)));
    let plain = |name: &&str| name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    names.filter(plain).map(str::to_owned).collect()
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
    let named = PLACES
        .iter()
        .flat_map(|start| words(&settings, start, |c| c.is_ascii_uppercase() || c == '_'));
    let (known, named) = (quoted_places(&code), named.collect::<BTreeSet<String>>());
    assert!(known.len() > 4, "{known:?}");
    assert_eq!(named, known, "named in doc/config.md, and read");
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
        let rows = exit_rows(file);
        let missing: Vec<_> = codes.difference(&rows).collect();
        assert!(missing.is_empty(), "not in {file}: {missing:?} of {rows:?}");
        let unknown: Vec<_> = rows.difference(&codes).collect();
        assert!(unknown.is_empty(), "in {file}, and unknown: {unknown:?}");
    }
    // The page of a family has those of its own, and those that every call has.
    let mut pages = 0;
    for file in all()
        .iter()
        .filter(|file| file.contains("man/prose/git-locks-"))
    {
        let rows = exit_rows(file);
        assert!(rows.is_subset(&codes), "{file}: {rows:?}");
        assert!(rows.is_superset(&[0, 2, 128].into()), "{file}: {rows:?}");
        pages += 1;
    }
    assert!(pages > 8, "{pages}");
}

/// The codes in the table of exit codes.
fn exit_rows(file: &str) -> BTreeSet<u8> {
    let text = text(file);
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with("| exit | meaning |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|line| line.split('|').nth(1));
    let codes = cells.flat_map(|cell| cell.split(','));
    codes
        .filter_map(|code| code.trim().trim_matches('`').parse().ok())
        .collect()
}
