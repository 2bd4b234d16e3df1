//! Text that came from a file, the environment or another user, made fit to be shown.
//!
//! Machine formats keep newline, carriage return and tab (the format escapes them) and lose
//! every other control character; people see all of them as escapes. Bidirectional controls
//! count as control characters: they can make a line read as something it is not.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use chrono::{DateTime, SecondsFormat};
use sha2::{Digest as _, Sha256};

/// Whether `c` could steer a terminal or reorder a line: C0, DEL, C1, bidirectional controls,
/// line and paragraph separators.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` for a machine format: control characters removed, but for newline, carriage return
/// and tab.
pub fn machine(text: &str) -> String {
    text.chars()
        .filter(|&c| !is_control(c) || matches!(c, '\n' | '\r' | '\t'))
        .collect()
}

/// `text` for a person: every control character as a visible escape (`\n`, `\u{1b}`).
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_control(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// `text` on one line of a log: every control character removed.
pub fn log_line(text: &str) -> String {
    text.chars().filter(|&c| !is_control(c)).collect()
}

/// A path for a message: quoted, bytes that are not UTF-8 as `\xNN`, controls as escapes.
pub fn path(path: &Path) -> String {
    let mut shown = String::from("'");
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        shown.push_str(&visible(chunk.valid()));
        for byte in chunk.invalid() {
            // Writing to a `String` cannot fail.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown.push('\'');
    shown
}

/// At most `limit` bytes of `text`, cut at a character, with `…` where something was cut.
pub fn clip(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

/// A word for a shell command line: as it is where that is safe, else in single quotes.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// `path` as a word of a shell command line; `None` where it cannot be typed as it is shown.
pub fn typed(path: &Path) -> Option<String> {
    let word = path.to_str().filter(|word| visible(word) == *word)?;
    Some(shell_word(word))
}

/// The first `count` bytes of the SHA-256 of `bytes`, in hexadecimal.
pub fn digest(bytes: &[u8], count: usize) -> String {
    let mut hex = String::with_capacity(2 * count);
    for byte in Sha256::digest(bytes).iter().take(count) {
        // Writing to a `String` cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// A span of `seconds` as people say it: `45s`, `12m`, `3h 5m`, `2d 4h`. Negative is `0s`.
pub fn span(seconds: f64) -> String {
    // Saturates: a float cast never wraps.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped at 0"
    )]
    let whole = seconds.max(0.0) as u64;
    let (days, hours, minutes) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{whole}s"),
        (0, 0, m) => format!("{m}m"),
        (0, h, 0) => format!("{h}h"),
        (0, h, m) => format!("{h}h {m}m"),
        (d, 0, _) => format!("{d}d"),
        (d, h, _) => format!("{d}d {h}h"),
    }
}

/// A time, in seconds since the Unix epoch, to the second and in UTC: `2026-12-01T08:00:00Z`; `@` and
/// the seconds where no calendar has it.
pub fn moment(seconds: f64) -> String {
    // Saturates: a float cast never wraps.
    #[expect(clippy::cast_possible_truncation, reason = "whole seconds are meant")]
    let whole = seconds.floor() as i64;
    match DateTime::from_timestamp(whole, 0) {
        Some(time) => time.to_rfc3339_opts(SecondsFormat::Secs, true),
        None => format!("@{seconds}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn machine_formats_keep_only_the_three_that_they_escape() {
        assert_eq!(
            machine("a\n\r\tb\u{1b}[31m\u{202e}\u{7f}\u{9b}é"),
            "a\n\r\tb[31mé"
        );
    }

    #[test]
    fn people_see_every_control() {
        assert_eq!(visible("a\nb\u{1b}[0m\u{202e}"), "a\\nb\\u{1b}[0m\\u{202e}");
    }

    #[test]
    fn a_path_of_any_bytes_is_one_harmless_line() {
        let odd = Path::new(OsStr::from_bytes(b"/a b/\xff\n\x1b"));
        assert_eq!(path(odd), "'/a b/\\xff\\n\\u{1b}'");
    }

    #[test]
    fn spans_read_as_people_say_them() {
        let said = [-5.0, 59.9, 60.0, 3600.0, 7500.0, 86_400.0, 180_000.0].map(span);
        assert_eq!(said, ["0s", "59s", "1m", "1h", "2h 5m", "1d", "2d 2h"]);
    }

    #[test]
    fn moments_read_as_logs_write_them() {
        let said = [1_796_112_000.999, -0.5, 1e300, f64::NAN].map(moment);
        assert_eq!(said[..2], ["2026-12-01T08:00:00Z", "1969-12-31T23:59:59Z"]);
        assert!(said[2].starts_with("@1000"), "{said:?}");
        assert_eq!(said[3], "1970-01-01T00:00:00Z");
    }

    #[test]
    fn a_clip_never_splits_a_character() {
        assert_eq!(clip("ééé", 3), "é…");
        assert_eq!(clip("abc", 3), "abc");
    }

    #[test]
    fn shell_words_survive_a_shell() {
        assert_eq!(shell_word("a-b_c/1"), "a-b_c/1");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
