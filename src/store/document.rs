//! A JSON object in a file shared with other programs.
//!
//! Values are kept as the text they were read as: a key that we do not change, known or not,
//! is written back to the byte and in its place. A missing or empty file is the empty object. A
//! file that holds anything but a JSON object counts as empty too, and is set aside before it is
//! replaced.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind, Result};
use crate::store::{APPEND_LIMIT, STATE_LIMIT};
use crate::sys::file::{self, Modes, Temp};
use crate::text;

/// A JSON object, its values as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    keys: Vec<(String, String)>,
    /// Whether the file held something that is no JSON object.
    pub corrupt: bool,
}

impl Document {
    /// Reads the object at `path`.
    ///
    /// # Errors
    /// Not a regular file, too large, or not readable.
    pub fn load(path: &Path) -> Result<Self> {
        Ok(Self::parse(&read(path)?))
    }

    /// Parses the content of a file.
    pub fn parse(bytes: &[u8]) -> Self {
        if bytes.trim_ascii().is_empty() {
            return Self::default();
        }
        match parse_object(bytes) {
            Some(keys) => Self {
                keys,
                corrupt: false,
            },
            None => Self {
                keys: Vec::new(),
                corrupt: true,
            },
        }
    }

    /// The text of the value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.keys.iter().find(|(name, _)| name == key);
        found.map(|(_, raw)| raw.as_str())
    }

    /// Gives `key` the value that `raw` is the JSON text of, in its place or at the end.
    pub fn set(&mut self, key: &str, raw: String) {
        match self.keys.iter_mut().find(|(name, _)| name == key) {
            Some((_, value)) => *value = raw,
            None => self.keys.push((key.to_owned(), raw)),
        }
    }

    /// Gives `key` the value that `raw` is the JSON text of, in its place, before `next` or at the end.
    pub fn set_before(&mut self, next: &str, key: &str, raw: String) {
        let place = self.keys.iter().position(|(name, _)| name == next);
        match place.filter(|_| self.get(key).is_none()) {
            Some(place) => self.keys.insert(place, (key.to_owned(), raw)),
            None => self.set(key, raw),
        }
    }

    /// Takes `key` away.
    pub fn remove(&mut self, key: &str) {
        self.keys.retain(|(name, _)| name != key);
    }

    /// The keys and the text of their values, in order.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.keys
            .iter()
            .map(|(key, raw)| (key.as_str(), raw.as_str()))
    }

    /// The object that `raw` is the JSON text of; anything else counts as empty.
    pub fn of_value(raw: &str) -> Self {
        Self {
            keys: parse_object(raw.as_bytes()).unwrap_or_default(),
            corrupt: false,
        }
    }

    /// The object as the text of a file, a key a line.
    pub fn to_text(&self) -> String {
        self.joined("{\n  ", ",\n  ", "\n}\n")
    }

    /// The object as the text of a value, on one line.
    pub fn to_value(&self) -> String {
        self.joined("{", ", ", "}")
    }

    fn joined(&self, before: &str, between: &str, after: &str) -> String {
        let length: usize = self
            .keys
            .iter()
            .map(|(key, raw)| key.len() + raw.len() + 16)
            .sum();
        let mut text = String::with_capacity(length + 16);
        text.push_str(before);
        for (index, (key, raw)) in self.keys.iter().enumerate() {
            if index > 0 {
                text.push_str(between);
            }
            text.push_str(&serde_json::Value::from(key.as_str()).to_string());
            text.push_str(": ");
            text.push_str(raw);
        }
        text.push_str(after);
        text
    }

    /// Writes the object under a temporary name beside `path`, for [`put`]. `grows` tells whether
    /// something was added to it: past the limit only that is refused.
    ///
    /// # Errors
    /// The object has grown too large, or a system call failed.
    pub fn stage(&self, path: &Path, grows: bool, modes: Modes) -> Result<Temp> {
        let text = self.to_text();
        if grows && text.len() > APPEND_LIMIT {
            return Err(too_large(path));
        }
        Temp::write(directory_of(path), text.as_bytes(), modes, true)
    }

    /// Puts the object in the place of the file at `path`, outside any guard and without waiting
    /// for the disk: for what may be lost. What cannot be read as an object there is set aside
    /// first. Returns where, if it was.
    ///
    /// # Errors
    /// As for [`put`].
    pub fn replace(&self, path: &Path, modes: Modes) -> Result<Option<PathBuf>> {
        let text = self.to_text();
        let staged = Temp::write(directory_of(path), text.as_bytes(), modes, false)?;
        put(staged, path, self.corrupt)
    }
}

/// The bytes of the file at `path`; none where there is no file.
///
/// # Errors
/// Not a regular file, too large, or not readable.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let bytes = file::read(path, STATE_LIMIT)?.map(|content| content.bytes);
    let bytes = bytes.unwrap_or_default();
    if bytes.len() as u64 > STATE_LIMIT {
        return Err(too_large(path));
    }
    Ok(bytes)
}

/// Puts a staged file in the place of the one at `path`; with `corrupt`, sets aside first what is
/// there. Returns where, if it did. Apart from the staging, which waits for the disk: what
/// must hold at the renaming is looked at in between.
///
/// # Errors
/// A system call failed; the file is unchanged then.
pub fn put(staged: Temp, path: &Path, corrupt: bool) -> Result<Option<PathBuf>> {
    let aside = if corrupt {
        Some(set_aside(path)?)
    } else {
        None
    };
    staged.replace(path)?;
    Ok(aside)
}

fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// The error of a file at `path` that would be too large.
pub(super) fn too_large(path: &Path) -> Error {
    let message = format!("{} is too large", text::path(path));
    Error::new(ErrorKind::Io, message).with_hint(file::aside_hint(path))
}

/// Keeps an unreadable file under a name of its own: `<name>.corrupt`, or numbered where that is
/// taken.
pub fn set_aside(path: &Path) -> Result<PathBuf> {
    for number in 1_u32.. {
        let mut name = path.as_os_str().to_owned();
        name.push(".corrupt");
        if number > 1 {
            name.push(format!(".{number}"));
        }
        let aside = PathBuf::from(name);
        if file::instance(&aside)?.is_none() {
            std::fs::rename(path, &aside).map_err(|e| Error::io("set aside", path, &e))?;
            return Ok(aside);
        }
    }
    Err(Error::new(
        ErrorKind::Io,
        format!("cannot set aside {}", text::path(path)),
    ))
}

/// The keys of a JSON object in order, the last of duplicates winning; `None` for anything else.
fn parse_object(bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let keys = deserializer.deserialize_map(Keys).ok()?;
    deserializer.end().ok()?;
    Some(keys)
}

/// The items of the JSON array in `raw`, as text.
pub fn array(raw: &str) -> Option<Vec<&str>> {
    let items: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
    Some(items.into_iter().map(RawValue::get).collect())
}

/// The JSON array of items that are text, an item a line.
pub fn lines<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::from("[");
    let mut empty = true;
    for item in items {
        text.push_str(if empty { "\n    " } else { ",\n    " });
        text.push_str(item);
        empty = false;
    }
    text.push_str(if empty { "]" } else { "\n  ]" });
    text
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Vec<(String, String)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut map: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        let mut keys: Self::Value = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        while let Some((key, raw)) = map.next_entry::<String, Box<RawValue>>()? {
            let raw = String::from(Box::<str>::from(raw));
            let place = *places.entry(key.clone()).or_insert(keys.len());
            match keys.get_mut(place) {
                Some((_, value)) => *value = raw,
                None => keys.push((key, raw)),
            }
        }
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_changed_is_kept_to_the_byte() {
        let text = r#"{"b": 1.10e2, "a": [ 123456789012345678901234567890, null ], "waiting": []}"#;
        let mut document = Document::parse(text.as_bytes());
        document.set("waiting", "[1]".to_owned());
        document.set("new", "true".to_owned());
        let written = document.to_text();
        assert!(written.contains(r#""b": 1.10e2"#), "{written}");
        assert!(
            written.contains("[ 123456789012345678901234567890, null ]"),
            "{written}"
        );
        let keys: Vec<_> = document.entries().map(|(key, _)| key.to_owned()).collect();
        assert_eq!(keys, ["b", "a", "waiting", "new"]);
        assert_eq!(Document::parse(written.as_bytes()), document);
    }

    #[test]
    fn anything_but_an_object_is_corrupt_and_nothing_is_not() {
        for text in ["[]", "1", "{\"a\": 1", "{\"a\":1} x", "\u{0}", "{a:1}"] {
            assert!(Document::parse(text.as_bytes()).corrupt, "{text:?}");
        }
        assert!(Document::parse(b"\xff\xfe").corrupt);
        for text in ["", " \n", "{}"] {
            assert_eq!(
                Document::parse(text.as_bytes()),
                Document::default(),
                "{text:?}"
            );
        }
    }

    #[test]
    fn deep_nesting_is_no_way_to_crash_us() {
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(200_000), "]".repeat(200_000));
        // Kept or refused, but never a crash.
        let _ = Document::parse(deep.as_bytes());
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_parsed(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let document = Document::parse(&bytes);
            prop_assert!(!document.corrupt || document.entries().next().is_none());
        }
    }
}
