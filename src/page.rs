//! Standard output: one report, or one after another while something is watched.
//!
//! **In place**, a terminal shows the human form on its other screen, cut to its size, each report over
//! the one before. The terminal is given back as it was when the watch ends, when it is stopped from the
//! keyboard, and when it fails. **Elsewhere** reports follow each other, with an empty line in between;
//! JSON needs none, and has it too.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};

use crate::cli::Format;
use crate::error::{Result, reason};
use crate::output::{self, Style};
use crate::report::Report;
use crate::sys::{clock, signals, terminal};
use crate::voice::complain;

/// The other screen, no cursor, long lines cut …
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[H\u{1b}[2J";
/// … and back.
const LEAVE: &str = "\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l";
const HOME: &str = "\u{1b}[H";
const CLEAR_LINE: &str = "\u{1b}[K";
const CLEAR_BELOW: &str = "\u{1b}[J";

/// What came of an attempt to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// It is printed.
    Yes,
    /// Nobody reads any more.
    Unread,
    /// It cannot be printed; standard error says why.
    Failed,
}

/// Prints on standard output.
pub fn print(text: &str) -> Shown {
    print_bytes(text.as_bytes())
}

/// The same of a piece of a text, which may end anywhere in it.
pub fn print_bytes(bytes: &[u8]) -> Shown {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Shown::Yes,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Shown::Unread,
        Err(error) => {
            let why = reason(&error);
            complain(&format!("error: cannot write to standard output: {why}\n"));
            Shown::Failed
        }
    }
}

/// How reports are written.
#[derive(Debug)]
pub struct Page {
    /// The format.
    pub format: Format,
    /// Whether to colour.
    pub color: bool,
}

impl Page {
    /// `report` as text.
    fn render(&self, report: &Report) -> String {
        let size = terminal::size_of_output();
        let style = Style {
            color: self.color,
            now: clock::wall(),
            columns: size.map(|(columns, _)| columns),
        };
        output::render(report, self.format, &style)
    }

    /// Whether a report can be shown in the place of another.
    fn has_place(&self) -> bool {
        let dumb = env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        self.format == Format::Human && io::stdout().is_terminal() && !dumb
    }
}

/// Reports that follow each other; over when dropped.
#[derive(Debug)]
#[must_use = "dropped at once it shows nothing"]
pub struct Live<'a> {
    page: &'a Page,
    in_place: bool,
    begun: bool,
}

impl<'a> Live<'a> {
    /// Begins; nothing is printed before the first report.
    pub fn begin(page: &'a Page) -> Self {
        Self {
            page,
            in_place: page.has_place(),
            begun: false,
        }
    }

    /// Whether each report takes the place of the one before.
    pub fn is_in_place(&self) -> bool {
        self.in_place
    }

    /// Shows `report`.
    pub fn show(&mut self, report: &Report) -> Shown {
        let text = self.page.render(report);
        let first = !std::mem::replace(&mut self.begun, true);
        if self.in_place {
            let rows = terminal::size_of_output().map(|(_, rows)| rows);
            let start = if first { ENTER } else { "" };
            return print(&format!("{start}{}", screenful(&text, rows)));
        }
        print(&if first { text } else { format!("\n{text}") })
    }

    /// Whether nobody reads any more.
    pub fn is_unread(&self) -> bool {
        terminal::is_output_unread()
    }

    /// Stops this process, as the key for that asks; returns once it goes on.
    ///
    /// # Errors
    /// It cannot be stopped.
    pub fn suspend(&mut self) -> Result<()> {
        self.leave();
        signals::stop_myself()
    }

    fn leave(&mut self) {
        if self.in_place && std::mem::take(&mut self.begun) {
            print(LEAVE);
        }
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The lines of `text` over whatever stands on a screen of so many `rows`.
fn screenful(text: &str, rows: Option<usize>) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let room = rows.unwrap_or(usize::MAX).max(2);
    let fits = lines.len() <= room;
    let shown = if fits { lines.len() } else { room - 1 };
    let mut screen = HOME.to_owned();
    let rest = (!fits).then(|| format!("… {} more lines", lines.len() - shown));
    let lines = lines.into_iter().take(shown).chain(rest.as_deref());
    for (index, line) in lines.enumerate() {
        if index > 0 {
            screen.push_str("\r\n");
        }
        screen.push_str(line);
        screen.push_str(CLEAR_LINE);
    }
    screen.push_str(CLEAR_BELOW);
    screen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_holds_what_fits_and_says_what_does_not() {
        let shown = |rows| screenful("a\nb\nc\n", rows);
        let all = "\u{1b}[Ha\u{1b}[K\r\nb\u{1b}[K\r\nc\u{1b}[K\u{1b}[J";
        assert_eq!(shown(None), all);
        assert_eq!(shown(Some(3)), all);
        let two = "\u{1b}[Ha\u{1b}[K\r\n… 2 more lines\u{1b}[K\u{1b}[J";
        assert_eq!(shown(Some(2)), two);
        assert_eq!(shown(Some(0)), two);
    }
}
