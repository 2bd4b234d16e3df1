//! Terminals, and what was done to their titles.

use std::path::{Path, PathBuf};

use crate::common::turns::{Terminal, quoted_bin, waits_for};
use crate::common::{DEADLINE, Env, required};

/// What a terminal is told before its title is changed for the first time.
pub const SAVED: &str = "saved";
/// What it is told in the end.
pub const RESTORED: &str = "restored";

/// Whether there are terminals.
pub fn possible(test: &str) -> bool {
    required(test, "script") && required(test, "stty")
}

/// A repository whose lock `keeper` holds.
pub fn kept() -> (Env, PathBuf) {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as keeper").exits(0);
    (env, repo)
}

/// A line of shell on a terminal without colours, `@locks` in it being the program.
pub fn terminal(env: &Env, dir: &Path, line: &str) -> Terminal {
    let line = line.replace("@locks", &quoted_bin());
    Terminal::start(env, dir, &format!("export NO_COLOR=1; {line}"))
}

/// What the terminal was told of its title, in order: [`SAVED`], each title, [`RESTORED`].
#[track_caller]
pub fn titles(raw: &str) -> Vec<String> {
    let mut told = Vec::new();
    let mut parts = raw.split('\u{1b}');
    // What is before the first of them.
    parts.next();
    for part in parts {
        if let Some(title) = part.strip_prefix("]") {
            let (title, _) = title.split_once('\u{7}').expect("the end of a title");
            let title = title.strip_prefix("0;").expect("the title of the window");
            told.push(title.to_owned());
        } else if part.starts_with("[22;0t") {
            told.push(SAVED.to_owned());
        } else if part.starts_with("[23;0t") {
            told.push(RESTORED.to_owned());
        } else {
            assert!(part.starts_with("[K"), "a stray escape: {part:?}");
        }
    }
    told
}

/// Waits until the title of the terminal is `title`.
#[track_caller]
pub fn wait_until_titled(terminal: &Terminal, title: &str) {
    let set = format!("\u{1b}]0;{title}\u{7}");
    waits_for(&format!("the title {title:?}"), DEADLINE, || {
        terminal.raw().contains(&set).then_some(())
    });
}
