//! `git locks man`: shows a page of the manual, or installs all of them.
//!
//! On a terminal `man` shows the page: it is executed in our place, with the page as its standard input,
//! so that nothing of ours is left behind it, neither a process nor a file. Where there is no `man`, and
//! to a pipe, the page is printed as text.

use std::env;
use std::io::{self, IsTerminal as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cli::ManArgs;
use crate::commands::asking::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::exit::Exit;
use crate::manual::{self, Page};
use crate::place;
use crate::report::{ManualInstalled, Outcome, Report, Status};
use crate::sys::file::{self, Modes, Temp};
use crate::sys::signals;
use crate::text;

/// The modes of what is installed.
const MODES: Modes = Modes {
    file: 0o644,
    dir: 0o755,
    group: None,
};

/// How much of a page tells whose it is, in bytes.
const START: u64 = 256;

/// What shows a page that it is given on standard input: the first that there is.
#[cfg(not(target_os = "macos"))]
const VIEWERS: &[&[&str]] = &[&["man", "-l", "/dev/stdin"], &["mandoc", "-a"]];
/// The same; the `man` of this system shows no page that it has not found by itself.
#[cfg(target_os = "macos")]
const VIEWERS: &[&[&str]] = &[&["mandoc", "-a"]];

/// Runs it.
///
/// # Errors
/// There is no such page, or it could not be installed.
pub fn run(args: &ManArgs) -> Result<Outcome> {
    match (&args.install, &args.page) {
        (Some(_), Some(_)) => Err(
            Error::usage("--install installs all pages, and takes no PAGE")
                .with_hint("a directory goes right after it: git locks man --install DIR"),
        ),
        (Some(directory), None) => install(directory.as_deref()),
        (None, page) => show(page.as_deref().unwrap_or("git-locks")),
    }
}

fn show(word: &str) -> Result<Outcome> {
    let page = manual::page(word).ok_or_else(|| {
        let names: Vec<String> = manual::names().collect();
        let message = format!("there is no manual page {}", text::path(Path::new(word)));
        Error::new(ErrorKind::NotFound, message)
            .with_hint(format!("there are {}", names.join(", ")))
    })?;
    if io::stdout().is_terminal() {
        view(&page);
    }
    Ok(Outcome::Text(page.text(), Exit::SUCCESS))
}

/// Becomes what shows the page. Returns only when there is nothing of the kind.
fn view(page: &Page) {
    for viewer in VIEWERS {
        let Ok(source) = file::unnamed(page.roff().as_bytes()) else {
            return;
        };
        if let [program, options @ ..] = viewer {
            let mut command = Command::new(program);
            command.args(options).stdin(source);
            let _ = signals::starting(|| command.exec());
        }
    }
}

fn install(directory: Option<&Path>) -> Result<Outcome> {
    let root = match directory {
        Some(given) => place::current_dir()?.join(given),
        None => own_directory()?,
    };
    let section = root.join("man1");
    file::make_dirs(&section, MODES)?;
    let pages = manual::pages();
    let path = |page: &Page| section.join(format!("{}.1", page.name));
    for page in &pages {
        require_free(&path(page))?;
    }
    for page in &pages {
        Temp::write(&section, page.roff().as_bytes(), MODES, false)?.replace(&path(page))?;
    }
    let found = found_by_man();
    let (finds, hint) = match &found {
        Found::NoMan => (None, None),
        Found::At(page) if is_same(page, &section.join("git-locks.1")) => (Some(true), None),
        Found::At(other) => {
            let other = shown(other);
            let hint = format!("man finds another first, {other}{}", manpath(&root));
            (Some(false), Some(hint))
        }
        Found::Nowhere => {
            let hint = format!("man does not look there yet{}", manpath(&root));
            (Some(false), Some(hint))
        }
    };
    let report = ManualInstalled {
        status: Status::Success,
        path: shown(&section),
        pages: pages.iter().map(|page| page.name.clone()).collect(),
        found: finds,
        hint,
    };
    Ok(Outcome::new(Report::ManualInstalled(report), Exit::SUCCESS))
}

/// Refuses where a page is in the way that we have not made: it may be another program's, or a link into
/// somebody's collection.
fn require_free(path: &Path) -> Result<()> {
    let there = file::read(path, START)?;
    if there.is_none_or(|there| manual::is_ours(&there.bytes)) {
        return Ok(());
    }
    let message = format!("{} is no page of git-locks, and stays", text::path(path));
    Err(Error::new(ErrorKind::Io, message).with_hint(file::aside_hint(path)))
}

/// The command that makes man look in `root` first. The colon stands for where it looks anyway.
/// Nothing where the name of the directory cannot be typed.
fn manpath(root: &Path) -> String {
    text::typed(root).map_or_else(String::new, |root| {
        format!(": export MANPATH={root}:\"${{MANPATH-}}\"")
    })
}

/// The user's own directory of manual pages.
fn own_directory() -> Result<PathBuf> {
    let absolute = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    data.map(|data| data.join("man")).ok_or_else(|| {
        Error::usage("neither XDG_DATA_HOME nor HOME says where your manual pages are")
            .with_hint("name a directory: git locks man --install DIR")
    })
}

/// The page that `man git-locks` shows.
pub(super) enum Found {
    /// There is no `man` that can be asked.
    NoMan,
    /// None.
    Nowhere,
    /// This one.
    At(PathBuf),
}

/// Asks `man`.
pub(super) fn found_by_man() -> Found {
    let mut command = Command::new("man");
    command
        .args(["-w", "git-locks"])
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let Ok(output) = signals::starting(|| command.output()) else {
        return Found::NoMan;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let first = said.lines().next().map(str::trim);
    let path = first.filter(|line| line.starts_with('/'));
    path.map_or(Found::Nowhere, |path| Found::At(PathBuf::from(path)))
}

/// Whether both names lead to one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(one).is_some_and(|one| real(other) == Some(one))
}
