//! One text per call, the same on every machine, compared with the committed copy.

use std::path::{Path, PathBuf};

use super::{Env, Run};

/// A call as one text: arguments, exit code, standard output, standard error; with what differs
/// from run to run replaced.
pub fn text(env: &Env, run: &Run) -> String {
    let args: Vec<String> = run
        .args
        .iter()
        .map(|arg| arg.to_string_lossy().into_owned())
        .collect();
    let raw = format!(
        "$ git locks {}\nexit {}\n--- stdout\n{}--- stderr\n{}",
        args.join(" "),
        run.code,
        run.stdout,
        run.stderr
    );
    normalise(env, &raw)
}

/// Compares `actual` with `tests/cli/snapshots/<name>.txt`. With
/// `GIT_LOCKS_UPDATE_SNAPSHOTS` set the file is written instead.
#[track_caller]
pub fn check(name: &str, actual: &str) {
    let file = file(name);
    if std::env::var_os("GIT_LOCKS_UPDATE_SNAPSHOTS").is_some() {
        std::fs::create_dir_all(file.parent().expect("a directory")).expect("snapshots");
        std::fs::write(&file, actual).expect("a snapshot");
        return;
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        actual == expected,
        "{} differs; set GIT_LOCKS_UPDATE_SNAPSHOTS=1 to accept\n=== committed\n{expected}\n=== now\n{actual}",
        file.display()
    );
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cli/snapshots")
        .join(format!("{name}.txt"))
}

/// `text` with the temporary directory as `[ROOT]`, times and fractions as `[TIME]` and
/// `[NUMBER]`, and spans such as `3m` as `[SPAN]`.
pub fn normalise(env: &Env, text: &str) -> String {
    numbers(&text.replace(&*env.root().to_string_lossy(), "[ROOT]"))
}

fn word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Replaces what is a time, a fraction or a span; leaves other numbers alone.
fn numbers(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        result.push_str(before);
        let inside_word = before.ends_with(|c: char| word_char(c) || c == '.')
            || (before.is_empty() && result.ends_with(|c: char| word_char(c) || c == '.'));
        let end = from
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(from.len());
        let (digits, mut after) = from.split_at(end);
        let mut fraction = false;
        if let Some(tail) = after.strip_prefix('.') {
            let length = tail
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(tail.len());
            if length > 0 {
                fraction = true;
                after = &tail[length..];
            }
        }
        let mut letters = after.chars();
        let unit = letters.next().is_some_and(|c| "smhd".contains(c))
            && !letters.next().is_some_and(word_char);
        if inside_word {
            result.push_str(&from[..from.len() - after.len()]);
        } else if digits.len() >= 10 {
            result.push_str("[TIME]");
        } else if fraction {
            result.push_str("[NUMBER]");
        } else if unit {
            result.push_str("[SPAN]");
            after = &after[1..];
        } else {
            result.push_str(digits);
        }
        rest = after;
    }
    result + rest
}
