//! What a command says on standard error while it works: notes as they come, one live line that a
//! terminal shows in place, and the title of that terminal.
//!
//! **The title** is put aside on the terminal's own stack before it is changed, and taken from there
//! in the end, by whoever borrowed it ([`Voice::borrow_title`]): within the reach of the signals that
//! are caught. A process that is killed leaves it as it is. It is borrowed only of a terminal that has
//! one, in the foreground, and not by a voice that is quiet.
//!
//! Whoever does not read what is said there keeps nobody waiting: a process that stands in a queue or
//! looks after a lock must not hang on words. What finds no room is not said.

use std::cell::Cell;
use std::env;
use std::io::{self, IsTerminal as _, Write as _};

use crate::output;
use crate::report::Note;
use crate::sys::terminal;
use crate::text;

/// Goes to the start of the line and erases it.
const ERASE: &str = "\r\u{1b}[K";
/// How long a note waits for room, in milliseconds.
const PATIENCE: u16 = 500;

/// How this run speaks on standard error.
#[derive(Debug)]
pub struct Voice {
    quiet: bool,
    verbose: bool,
    color: bool,
    /// The live line of a terminal: whether it stands there now.
    live: Option<Cell<bool>>,
    /// The title of a terminal that has one: whether it is ours now.
    title: Option<Cell<bool>>,
}

/// Gives the terminal its title back.
#[derive(Debug)]
#[must_use = "dropped at once it gives back nothing"]
pub struct Borrowed<'a>(&'a Voice);

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        self.0.restore_title();
    }
}

impl Voice {
    /// `quiet` silences all but warnings, `verbose` adds details.
    pub fn new(quiet: bool, verbose: bool, color: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        let titled = terminal && !quiet && terminal::has_title(env::var_os("TERM").as_deref());
        Self {
            quiet,
            verbose,
            color,
            live: terminal.then(Cell::default),
            title: titled.then(Cell::default),
        }
    }

    /// Whether a live line can be shown.
    pub fn is_terminal(&self) -> bool {
        self.live.is_some()
    }

    /// Whether what is said may be coloured.
    pub fn is_coloured(&self) -> bool {
        self.color
    }

    /// Whether only warnings are said.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Something is not as it should be.
    pub fn warn(&self, line: impl Into<String>) {
        self.say(Note::Warning(line.into()));
    }

    /// Something worth knowing.
    pub fn inform(&self, line: impl Into<String>) {
        self.say(Note::Info(line.into()));
    }

    /// Something for the curious.
    pub fn detail(&self, line: impl Into<String>) {
        self.say(Note::Detail(line.into()));
    }

    /// Says one note.
    pub fn say(&self, note: Note) {
        let line = output::notes(&[note], self.quiet, self.verbose, self.color);
        if !line.is_empty() {
            self.hush();
            remark(&line, PATIENCE);
        }
    }

    /// Asks a person something, who answers on the same line. What `question` quotes must be fit to be
    /// shown.
    pub fn ask(&self, question: &str) {
        self.hush();
        remark(question, PATIENCE);
    }

    /// Says several, in order.
    pub fn say_all(&self, notes: &[Note]) {
        for note in notes {
            self.say(note.clone());
        }
    }

    /// Puts `line` in the place of the live line, at most `columns` of it.
    pub fn show(&self, line: &str, columns: usize) {
        if let (Some(live), false) = (&self.live, self.quiet) {
            let shown: String = text::visible(line).chars().take(columns).collect();
            remark(&format!("{ERASE}{shown}"), 0);
            live.set(true);
        }
    }

    /// Erases the live line.
    pub fn hush(&self) {
        if self.live.as_ref().is_some_and(|live| live.replace(false)) {
            remark(ERASE, 0);
        }
    }

    /// Borrows the title of the terminal: [`Self::entitle`] may change it until this is dropped.
    pub fn borrow_title(&self) -> Borrowed<'_> {
        Borrowed(self)
    }

    /// Makes `words` the title of the terminal, where it has one. Best effort, and without waiting.
    pub fn entitle(&self, words: &str) {
        let Some(changed) = &self.title else { return };
        if terminal::is_ours() && terminal::takes_words(0) {
            let save = if changed.replace(true) {
                ""
            } else {
                terminal::SAVE_TITLE
            };
            let set = terminal::set_title(&text::visible(words));
            complain(&format!("{save}{set}"));
        }
    }

    fn restore_title(&self) {
        let changed = self.title.as_ref().map(|changed| changed.replace(false));
        if changed == Some(true) {
            terminal::from_background(|| remark(terminal::RESTORE_TITLE, PATIENCE));
        }
    }
}

impl Drop for Voice {
    fn drop(&mut self) {
        self.hush();
    }
}

/// Prints on standard error, if there is room within so many milliseconds.
fn remark(text: &str, patience: u16) {
    if terminal::takes_words(patience) {
        complain(text);
    }
}

/// Prints on standard error. That nobody listens there is nothing to fail for.
pub fn complain(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
