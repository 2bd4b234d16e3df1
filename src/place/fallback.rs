//! Asking git itself, where libgit2 refuses or is in doubt.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use git2::{ErrorClass, ErrorCode};

use crate::error::{self, Error, ErrorKind, Result};
use crate::text;

use super::entry::{nearest_entry, no_repository};

/// Why git has to be asked.
pub(super) enum Why {
    /// libgit2 refused, with this class and code.
    Refused(ErrorClass, ErrorCode),
    /// libgit2 found a repository, but git might mean another.
    Doubtful,
}

/// The common dir and the git directory by `git rev-parse`, absolute; or git's refusal in its
/// own words.
pub(super) fn directories(cwd: &Path, why: &Why) -> Result<(PathBuf, PathBuf)> {
    let ask = |option| {
        start(&["rev-parse", "--path-format=absolute", option])
            .map_err(|source| cannot_ask(cwd, &source, why))
    };
    // One value per call, as a path may hold newlines; both calls at once, as each takes as long
    // as all the rest.
    let (common_dir, git_dir) = (ask("--git-common-dir")?, ask("--git-dir")?);
    let hear = |child: Child| {
        let output = child
            .wait_with_output()
            .map_err(|source| cannot_ask(cwd, &source, why))?;
        if !output.status.success() {
            return Err(refusal(cwd, &output));
        }
        one_path(output.stdout).ok_or_else(|| {
            Error::new(ErrorKind::NotARepository, "git rev-parse gave no path")
                .with_hint("git 2.31 or newer is needed for this repository")
        })
    };
    let (common_dir, git_dir) = (hear(common_dir), hear(git_dir));
    Ok((common_dir?, git_dir?))
}

/// What git says to `arguments` in the current directory, with the caller's own environment.
pub(super) fn git(arguments: &[impl AsRef<OsStr>]) -> io::Result<Output> {
    start(arguments)?.wait_with_output()
}

fn start(arguments: &[impl AsRef<OsStr>]) -> io::Result<Child> {
    Command::new("git")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// The path that `output` is, but for the newline that git adds.
pub(super) fn one_path(mut output: Vec<u8>) -> Option<PathBuf> {
    if output.last() == Some(&b'\n') {
        output.pop();
    }
    let path = PathBuf::from(OsString::from_vec(output));
    path.is_absolute().then_some(path)
}

/// git's refusal: its first sentence as the message, what it adds as the hint.
pub(super) fn refusal(cwd: &Path, output: &Output) -> Error {
    let (message, rest) = words(&String::from_utf8_lossy(&output.stderr));
    if message.is_empty() {
        return Error::new(
            ErrorKind::NotARepository,
            format!("git cannot open the repository here ({})", output.status),
        );
    }
    let error = Error::new(ErrorKind::NotARepository, message);
    if !rest.is_empty() {
        return error.with_hint(rest);
    }
    let given = ["GIT_DIR", "GIT_COMMON_DIR", "GIT_CEILING_DIRECTORIES"];
    if let Some(name) = given.iter().find(|name| env::var_os(name).is_some()) {
        return error.with_hint(format!("{name} is set: correct it, or unset it"));
    }
    match nearest_entry(cwd) {
        Some(entry) => error.with_hint(format!(
            "git itself refuses to work here; the nearest .git is {}",
            text::path(&entry)
        )),
        None => error.with_hint("run it inside a repository, or name one with -C DIR"),
    }
}

/// What git said, as one line, and what it added, as another.
fn words(stderr: &str) -> (String, String) {
    let mut lines: Vec<&str> = stderr
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    if lines.is_empty() {
        return (String::new(), String::new());
    }
    let first = lines
        .iter()
        .position(|line| line.starts_with("fatal: "))
        .unwrap_or(0);
    let said = lines.remove(first);
    let mut message = said.strip_prefix("fatal: ").unwrap_or(said).to_owned();
    // A list that was announced belongs to the sentence.
    if message.ends_with(':') {
        for item in lines.drain(first..) {
            message.push(' ');
            message.push_str(item);
        }
    }
    (text::visible(&message), text::visible(&lines.join(" ")))
}

/// git itself could not be started.
fn cannot_ask(cwd: &Path, source: &io::Error, why: &Why) -> Error {
    let git = match source.kind() {
        io::ErrorKind::NotFound => "git, which could, is not on PATH".to_owned(),
        _ => format!(
            "git, which could, does not start: {}",
            error::reason(source)
        ),
    };
    let entry = nearest_entry(cwd);
    let nothing = matches!(why, Why::Refused(_, ErrorCode::NotFound)) && entry.is_none();
    let missing = source.kind() == io::ErrorKind::NotFound;
    if nothing && missing && env::var_os("GIT_DIR").is_none() {
        return no_repository(cwd);
    }
    let here = text::path(entry.as_deref().unwrap_or(cwd));
    let message = match why {
        Why::Refused(class, code) => format!(
            "libgit2 cannot open the repository at {here} ({class:?} error, {code:?}), and {git}"
        ),
        Why::Doubtful => {
            format!("libgit2 cannot say for sure which repository {here} belongs to, and {git}")
        }
    };
    let hint = match why {
        Why::Refused(_, ErrorCode::Owner) => {
            "it belongs to another user: if you trust it, add it to safe.directory in your git \
             configuration"
        }
        _ => "install git, or put it on PATH",
    };
    Error::new(ErrorKind::NotARepository, message).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_newline_is_gits() {
        let path = |bytes: &[u8]| one_path(bytes.to_vec()).map(|p| p.into_os_string().into_vec());
        assert_eq!(path(b"/a\xff b\n\n"), Some(b"/a\xff b\n".to_vec()));
        assert_eq!(path(b"--path-format=absolute\n.git\n"), None);
        assert_eq!(path(b"\n"), None);
    }

    #[test]
    fn gits_words_are_a_message_and_a_hint() {
        let said = "warning: odd\nfatal: detected dubious \u{1b}[1mownership\nTo add:\n\n\tgit x\n";
        let (message, hint) = words(said);
        assert_eq!(message, "detected dubious \\u{1b}[1mownership");
        assert_eq!(hint, "warning: odd To add: git x");
        let listed = words("fatal: unknown extensions found:\n\ta\n\tb\n");
        assert_eq!(
            listed,
            ("unknown extensions found: a b".into(), String::new())
        );
        assert_eq!(words(" \n"), (String::new(), String::new()));
        assert_eq!(words("schwerwiegend: nein\n").0, "schwerwiegend: nein");
    }
}
