//! The user's git configuration: read late, as most calls need none of it.

use std::cell::OnceCell;
use std::env;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::{Config, ConfigEntry, ConfigLevel, Repository};

use super::{fallback, variable};

/// Whether git opens a repository that is not behind a `.git`.
pub(super) const BARE: &str = "safe.bareRepository";

/// A key in git's normal form, and its value.
type Entry = (String, String);

/// Where values come from.
pub(super) struct UserConfig {
    source: Source,
    /// What `git -c` and `GIT_CONFIG_COUNT` export; the last one wins.
    exported: OnceCell<Vec<Entry>>,
}

enum Source {
    /// An open repository, whose configuration libgit2 has read already. It is kept because its
    /// configuration refers to it. Read from a snapshot: the live one looks at every file again
    /// for each key.
    Repository(Repository, OnceCell<Option<Config>>),
    /// git, asked once, in what only git can open.
    Git(OnceCell<Vec<Entry>>),
    /// Only what belongs to the user and the machine.
    Files,
}

impl UserConfig {
    fn new(source: Source) -> Self {
        Self {
            source,
            exported: OnceCell::new(),
        }
    }

    pub(super) fn of_repository(repository: Repository) -> Self {
        Self::new(Source::Repository(repository, OnceCell::new()))
    }

    pub(super) fn asking_git() -> Self {
        Self::new(Source::Git(OnceCell::new()))
    }

    pub(super) fn without_repository() -> Self {
        Self::new(Source::Files)
    }

    /// What the repository's own `config` says and nothing else, where it has been read.
    pub(super) fn local(&self) -> Option<Config> {
        match &self.source {
            Source::Repository(repository, _) => repository
                .config()
                .and_then(|config| config.open_level(ConfigLevel::Local))
                .ok(),
            Source::Git(_) | Source::Files => None,
        }
    }

    /// The value of `key`, as the innermost level that has it says.
    pub(super) fn get(&self, key: &str) -> Option<String> {
        let key = normal(key);
        last(self.exported.get_or_init(exported), &key).or_else(|| match &self.source {
            Source::Repository(repository, snapshot) => {
                let read = || {
                    repository
                        .config()
                        .and_then(|mut live| live.snapshot())
                        .ok()
                };
                let snapshot = snapshot.get_or_init(read).as_ref()?;
                from_repository(repository, snapshot, &key)
            }
            Source::Git(entries) => last(entries.get_or_init(listed), &key),
            Source::Files => user_files().iter().find_map(|path| from_file(path, &key)),
        })
    }
}

impl fmt::Debug for UserConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.source {
            Source::Repository(..) => "UserConfig(repository)",
            Source::Git(_) => "UserConfig(git)",
            Source::Files => "UserConfig(files)",
        })
    }
}

fn last(entries: &[Entry], key: &str) -> Option<String> {
    entries
        .iter()
        .rev()
        .find(|(name, _)| name == key)
        .map(|(_, value)| value.clone())
}

fn from_repository(repository: &Repository, snapshot: &Config, key: &str) -> Option<String> {
    let entry = snapshot.get_entry(key).ok()?;
    // libgit2 reads the XDG file beside GIT_CONFIG_GLOBAL, git instead of it only.
    if entry.level() == ConfigLevel::XDG && env::var_os("GIT_CONFIG_GLOBAL").is_some() {
        let system = repository
            .config()
            .ok()?
            .open_level(ConfigLevel::System)
            .ok()?;
        return system.get_entry(key).ok().map(|entry| value_of(&entry));
    }
    Some(value_of(&entry))
}

fn from_file(path: &Path, key: &str) -> Option<String> {
    let config = Config::open(path).ok()?;
    let entry = config.get_entry(key).ok()?;
    Some(value_of(&entry))
}

/// A key without a value is a boolean, and true.
fn value_of(entry: &ConfigEntry<'_>) -> String {
    if entry.has_value() {
        String::from_utf8_lossy(entry.value_bytes()).into_owned()
    } else {
        "true".to_owned()
    }
}

/// The user's and the machine's files, the innermost first.
fn user_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    if let Some(path) = env::var_os("GIT_CONFIG_GLOBAL") {
        files.push(path.into());
    } else {
        files.extend(Config::find_global().ok());
        files.extend(Config::find_xdg().ok());
    }
    let skipped = variable("GIT_CONFIG_NOSYSTEM")
        .is_some_and(|value| Config::parse_bool(value.as_bytes()).unwrap_or(false));
    if !skipped {
        let given = env::var_os("GIT_CONFIG_SYSTEM").map(PathBuf::from);
        files.extend(given.or_else(|| Config::find_system().ok()));
    }
    files
}

/// Everything that git says from the current directory.
fn listed() -> Vec<Entry> {
    match fallback::git(&["config", "--null", "--list"]) {
        Ok(output) if output.status.success() => parse_list(&output.stdout),
        _ => Vec::new(),
    }
}

/// `key LF value NUL`, or `key NUL`, for each entry.
fn parse_list(list: &[u8]) -> Vec<Entry> {
    list.split(|&byte| byte == 0)
        .filter(|entry| !entry.is_empty())
        .map(|entry| {
            let entry = String::from_utf8_lossy(entry);
            match entry.split_once('\n') {
                Some((key, value)) => (normal(key), value.to_owned()),
                None => (normal(&entry), "true".to_owned()),
            }
        })
        .collect()
}

/// What the environment holds, the strongest last.
fn exported() -> Vec<Entry> {
    let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
    let mut entries = Vec::new();
    let count = text("GIT_CONFIG_COUNT")
        .and_then(|count| count.parse::<u32>().ok())
        .unwrap_or(0);
    for index in 0..count {
        // git refuses a list with a gap; past one nothing is believed.
        let Some(key) = text(&format!("GIT_CONFIG_KEY_{index}")) else {
            break;
        };
        let value = text(&format!("GIT_CONFIG_VALUE_{index}")).unwrap_or_default();
        entries.push((normal(&key), value));
    }
    entries.extend(parse_parameters(
        &text("GIT_CONFIG_PARAMETERS").unwrap_or_default(),
    ));
    entries
}

/// A list of `'key=value'`, `'key'='value'` and `'key'`, parted by spaces.
fn parse_parameters(list: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut rest = list.trim_start();
    while let Some((word, after)) = unquote(rest) {
        let entry = if let Some(tail) = after.strip_prefix('=') {
            // `'key'=` alone is a key without a value.
            let (value, after) = unquote(tail).unwrap_or_else(|| ("true".to_owned(), tail));
            rest = after;
            (normal(&word), value)
        } else {
            rest = after;
            match word.split_once('=') {
                Some((key, value)) => (normal(key), value.to_owned()),
                None => (normal(&word), "true".to_owned()),
            }
        };
        entries.push(entry);
        rest = rest.trim_start();
    }
    entries
}

/// The shell-quoted word that `text` begins with, and what follows it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('\'')?;
    let mut word = String::new();
    loop {
        let (part, after) = rest.split_once('\'')?;
        word.push_str(part);
        // Between two quoted pieces git escapes only `'` and `!`.
        let escaped = after
            .strip_prefix('\\')
            .and_then(|after| {
                after
                    .strip_prefix(['\'', '!'])
                    .map(|tail| (&after[..1], tail))
            })
            .and_then(|(c, tail)| tail.strip_prefix('\'').map(|tail| (c, tail)));
        match escaped {
            Some((c, tail)) => {
                word.push_str(c);
                rest = tail;
            }
            None => return Some((word, after)),
        }
    }
}

/// `key` as git compares it: all but the subsection in lower case.
fn normal(key: &str) -> String {
    match (key.find('.'), key.rfind('.')) {
        (Some(first), Some(final_dot)) if first < final_dot => format!(
            "{}{}{}",
            key[..first].to_ascii_lowercase(),
            &key[first..final_dot],
            key[final_dot..].to_ascii_lowercase()
        ),
        _ => key.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &str, value: &str) -> Entry {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn parameters_of_old_and_new_git() {
        let list = r"'locks.ttl=5m' 'Locks.Title'='it'\''s'  'locks.format'= 'a.B.C' 'x.y='\!'z'";
        let expected = [
            entry("locks.ttl", "5m"),
            entry("locks.title", "it's"),
            entry("locks.format", "true"),
            entry("a.B.c", "true"),
            entry("x.y", "!z"),
        ];
        assert_eq!(parse_parameters(list), expected);
        assert_eq!(parse_parameters(""), []);
        assert_eq!(parse_parameters("bare"), []);
        assert_eq!(parse_parameters("'open"), []);
    }

    #[test]
    fn a_listed_value_may_hold_newlines() {
        let list = b"locks.ttl\n5m\nx\0locks.title\0";
        let expected = [entry("locks.ttl", "5m\nx"), entry("locks.title", "true")];
        assert_eq!(parse_list(list), expected);
    }

    #[test]
    fn the_last_entry_wins() {
        let entries = [entry("a.b", "1"), entry("a.b", "2")];
        assert_eq!(last(&entries, "a.b").as_deref(), Some("2"));
        assert_eq!(last(&entries, "a.c"), None);
    }
}
