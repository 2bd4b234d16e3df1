//! The second witness: what the front matter of a `STATE.md` says of a session. Pure.
//!
//! The text begins with a line `---`, and the next such line ends the front matter. Of the YAML in
//! between, only keys at the start of a line with a value on that line are read: plain, or in single
//! or double quotes. A list or a mapping may stand under a key that tells nothing of the session, and
//! is skipped. Whatever else there is, a key that comes twice too, makes the witness malformed, and
//! a malformed witness tells of nobody: this file guards nothing.

use std::collections::HashMap;

use super::{DEFAULT_TTL_HOURS, LIMIT, SECONDS_PER_HOUR, time};

/// The line before and after.
const FENCE: &str = "---";

/// The keys that tell of the session.
const OURS: [&str; 5] = ["status", "session", "started_at", "mode", "current_wave"];

/// What a `STATE.md` says.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// How the session stands; `active` while it is at work.
    pub status: String,
    /// Its id or its label.
    pub session: String,
    /// When it began, in seconds since the Unix epoch.
    pub started_at: Option<f64>,
    /// What kind of work it is.
    pub mode: Option<String>,
    /// Which wave it is in.
    pub current_wave: Option<i64>,
}

impl Witness {
    /// Whether it tells of a live session other than the caller's, who goes by these ids. One that does
    /// not say when it began is not known to be young enough.
    pub fn is_peer(&self, raw: Option<&str>, semantic: Option<&str>, now: f64) -> bool {
        let session = Some(self.session.as_str());
        let young = |since| time::elapsed(since, now) < DEFAULT_TTL_HOURS * SECONDS_PER_HOUR;
        self.status == "active"
            && session != raw
            && session != semantic
            && self.started_at.is_some_and(young)
    }
}

/// The witness at the beginning of `text`, within [`LIMIT`]; `None` where it is malformed.
pub fn front_matter(text: &str) -> Option<Witness> {
    let mut values = scalars(block(text)?)?;
    let mut take = |key| values.remove(key).filter(|value| !value.is_empty());
    Some(Witness {
        status: take("status")?,
        session: take("session")?,
        started_at: take("started_at").and_then(|text| time::read(&text)),
        mode: take("mode"),
        current_wave: take("current_wave").and_then(|text| text.parse().ok()),
    })
}

/// The lines between the fences.
fn block(text: &str) -> Option<Vec<&str>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let end = usize::try_from(LIMIT).unwrap_or(usize::MAX);
    let mut lines = text.lines().scan(0, |read, line| {
        *read += line.len() + 1;
        (*read <= end).then(|| line.trim_end())
    });
    if lines.next()? != FENCE {
        return None;
    }
    let mut block = Vec::new();
    for line in lines {
        if line == FENCE {
            return Some(block);
        }
        block.push(line);
    }
    None
}

/// The values of the keys that tell of the session; empty where there is none, and of other keys.
fn scalars(lines: Vec<&str>) -> Option<HashMap<&str, String>> {
    let mut found = HashMap::new();
    // Whether the lines of something nested may follow.
    let mut nests = false;
    for line in lines {
        if line.is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        if line.starts_with([' ', '\t', '-']) {
            if nests {
                continue;
            }
            return None;
        }
        let (key, rest) = entry(line)?;
        let ours = OURS.contains(&key);
        nests = !ours && (rest.is_empty() || rest.starts_with(['#', '|', '>']));
        let skipped = nests || (!ours && is_flow(rest));
        let value = if skipped {
            String::new()
        } else {
            scalar(rest)?
        };
        if found.insert(key, value).is_some() {
            return None;
        }
    }
    Some(found)
}

/// The key of a line and what follows its colon.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    let ends = rest.is_empty() || rest.starts_with([' ', '\t']);
    (ends && !key.is_empty() && !key.ends_with(' ') && key.chars().all(word))
        .then_some((key, rest.trim_start()))
}

/// Whether it is a list or a mapping on one line.
fn is_flow(text: &str) -> bool {
    let closed = |close| {
        text.rsplit_once(close)
            .is_some_and(|(_, rest)| is_over(rest))
    };
    (text.starts_with('[') && closed(']')) || (text.starts_with('{') && closed('}'))
}

/// A value on one line, empty where it is null; `None` where it is malformed.
fn scalar(text: &str) -> Option<String> {
    if text.starts_with('"') {
        // What JSON escapes, YAML does.
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let value = values.next()?.ok()?;
        return is_over(text.get(values.byte_offset()..)?).then_some(value);
    }
    if let Some(quoted) = text.strip_prefix('\'') {
        return single_quoted(quoted);
    }
    let value = plain(text)?;
    let null = matches!(value, "~" | "null" | "Null" | "NULL");
    Some(if null {
        String::new()
    } else {
        value.to_owned()
    })
}

/// Whether nothing but a comment follows a quoted value.
fn is_over(rest: &str) -> bool {
    let next = rest.trim_start();
    next.is_empty() || (next.starts_with('#') && next.len() < rest.len())
}

/// The value in single quotes, of which the first has been read.
fn single_quoted(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let (part, after) = rest.split_once('\'')?;
        value.push_str(part);
        match after.strip_prefix('\'') {
            Some(after) => {
                value.push('\'');
                rest = after;
            }
            None => return is_over(after).then_some(value),
        }
    }
}

/// The value without quotes, up to a comment.
fn plain(text: &str) -> Option<&str> {
    let blank = |at: usize| text[..at].ends_with([' ', '\t']);
    let comment = text
        .match_indices('#')
        .find(|&(at, _)| at == 0 || blank(at));
    let value = comment.map_or(text, |(at, _)| &text[..at]).trim_end();
    let odd = value.starts_with(|c: char| "[]{}&*!|>%@`,\"'?:".contains(c))
        || value == "-"
        || value.starts_with("- ")
        || value.contains(": ")
        || value.contains(":\t")
        || value.ends_with(':');
    (!odd).then_some(value)
}
