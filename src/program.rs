//! One run of the program: parse, do, render, exit code. With [`crate::page`], the only code that prints reports.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};

use crate::cli::{self, Cli, Color, Family, Format, Global, Refusal};
use crate::commands::context::{Context, Needs};
use crate::commands::{self, Failure};
use crate::config;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::{self, Style};
use crate::page::{Page, Shown, print, print_bytes};
use crate::report::{Failed, Next, Outcome, Report, Stream};
use crate::sys::{clock, signals, terminal};
use crate::voice::{Voice, complain};

/// Where reports go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sink {
    /// To standard output.
    Output,
    /// To standard error: standard output is another command's.
    Aside,
}

impl Sink {
    fn aside(aside: bool) -> Self {
        if aside { Self::Aside } else { Self::Output }
    }
}

/// How to print, as far as it is known.
struct Printing {
    format: Option<Format>,
    exit_zero: bool,
    quiet: bool,
    verbose: bool,
    color: Color,
    sink: Sink,
}

/// Runs the program with the arguments `args`, its own name first, and returns its exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> Exit {
    signals::survive_size_limit();
    let args: Vec<OsString> = args.into_iter().collect();
    match cli::parse(&args) {
        Ok(cli) => run_parsed(&cli),
        Err(refusal) => refuse(refusal, &args),
    }
}

fn run_parsed(cli: &Cli) -> Exit {
    let mut printing = Printing::new(&cli.global);
    printing.sink = Sink::aside(commands::leaves_stdout(cli));
    let answered = answer(cli, &mut printing);
    if commands::speaks_to_people(cli) {
        printing.format.get_or_insert(Format::Human);
    }
    match answered {
        Ok(Outcome::Report(report, exit)) => printing.finish(&report, exit),
        Ok(Outcome::Aside(report, exit)) => printing.finish_aside(&report, exit),
        Ok(Outcome::Stream(mut stream)) => printing.follow(stream.as_mut()),
        Ok(Outcome::Text(text, exit)) => printing.finish_text(&text, exit),
        Ok(Outcome::Silent(exit)) => exit,
        Err(failure) => printing.fail(failure),
    }
}

fn answer(cli: &Cli, printing: &mut Printing) -> Result<Outcome, Failure> {
    if let Some(outcome) = commands::run_apart(cli, &printing.voice()) {
        return Ok(outcome?);
    }
    let needs = commands::needs(cli);
    let format = heed(config::output_format(None), needs)?;
    printing.format = printing.format.or(format);
    heed(config::exit_zero(), needs)?;
    commands::enter_directories(&cli.global)?;
    if let Family::Man(args) = &cli.family {
        return Ok(commands::man::run(args)?);
    }
    let mut context = Context::find(printing.voice(), needs)?;
    if printing.format.is_none() {
        printing.format = heed(config::output_format(Some(&context.place)), needs)?;
    }
    context.human = printing.format() == Format::Human;
    commands::run(cli, &context, &printing.page())
}

/// What a setting says; nothing where it makes no sense and the command is one that tells of such.
fn heed<T: Default>(read: Result<T, Error>, needs: Needs) -> Result<T, Error> {
    match read {
        Err(_) if needs == Needs::Whatever => Ok(T::default()),
        read => read,
    }
}

impl Printing {
    fn new(global: &Global) -> Self {
        Self {
            format: global.format,
            exit_zero: global.exit_zero || config::exit_zero().unwrap_or(false),
            quiet: global.quiet,
            verbose: global.verbose,
            color: global.color,
            sink: Sink::Output,
        }
    }

    /// What is known when the command line could not be parsed: the words themselves.
    fn guessed(args: &[OsString]) -> Self {
        let words: Vec<&str> = args
            .iter()
            .filter_map(|arg| arg.to_str())
            .take_while(|arg| *arg != "--")
            .collect();
        let value = |name: &str| {
            words.iter().enumerate().find_map(|(index, word)| {
                let rest = word.strip_prefix(name)?;
                match rest.strip_prefix('=') {
                    Some(value) => Some(value),
                    None if rest.is_empty() => words.get(index + 1).copied(),
                    None => None,
                }
            })
        };
        let format = value("--format").and_then(config::format);
        Self {
            format: format.or_else(|| config::output_format(None).ok().flatten()),
            exit_zero: words.contains(&"--exit-zero") || config::exit_zero().unwrap_or(false),
            quiet: false,
            verbose: false,
            color: match value("--color") {
                Some("always") => Color::Always,
                Some("never") => Color::Never,
                _ => Color::Auto,
            },
            sink: Sink::Output,
        }
    }

    fn format(&self) -> Format {
        let terminal = match self.sink {
            Sink::Output => io::stdout().is_terminal(),
            Sink::Aside => io::stderr().is_terminal(),
        };
        let default = if terminal {
            Format::Human
        } else {
            Format::Toon
        };
        self.format.unwrap_or(default)
    }

    fn style(&self, terminal: bool) -> Style {
        let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Style {
            color: match self.color {
                Color::Always => true,
                Color::Never => false,
                Color::Auto => terminal && !plain,
            },
            now: clock::wall(),
            columns: terminal::size_of_output().map(|(columns, _)| columns),
        }
    }

    fn page(&self) -> Page {
        Page {
            format: self.format(),
            color: self.style(io::stdout().is_terminal()).color,
        }
    }

    fn finish(&self, report: &Report, exit: Exit) -> Exit {
        let style = self.style(io::stdout().is_terminal());
        self.finish_text(&output::render(report, self.format(), &style), exit)
    }

    fn finish_text(&self, text: &str, exit: Exit) -> Exit {
        match print(text) {
            // A reader that has gone away is not an error.
            Shown::Yes | Shown::Unread if self.exit_zero => Exit::SUCCESS,
            Shown::Yes | Shown::Unread => exit,
            Shown::Failed => Exit::FATAL,
        }
    }

    /// Prints what comes one after another, for as long as somebody reads it.
    fn follow(&self, stream: &mut dyn Stream) -> Exit {
        let style = self.style(io::stdout().is_terminal());
        let voice = self.voice();
        loop {
            match stream.next() {
                Ok(Next::Report(report)) => {
                    let text = output::render_one(&report, self.format(), &style);
                    if let Some(exit) = print_in_pieces(&text, stream) {
                        return exit;
                    }
                }
                Ok(Next::Note(note)) => voice.say(note),
                Ok(Next::End(exit)) => return exit,
                Err(error) => return self.fail(Failure::from(error)),
            }
        }
    }

    /// Says on standard error what else would be said on standard output.
    fn finish_aside(&self, report: &Report, exit: Exit) -> Exit {
        let style = self.style(io::stderr().is_terminal());
        complain(&output::render(report, self.format(), &style));
        exit
    }

    fn fail(&self, failure: Failure) -> Exit {
        let exit = failure.error.kind().exit();
        let report = Report::Failed(Failed::new(&failure.error, failure.plan_id));
        if self.sink == Sink::Aside {
            return self.finish_aside(&report, exit);
        }
        complain(&output::render(
            &report,
            Format::Human,
            &self.style(io::stderr().is_terminal()),
        ));
        if self.format() == Format::Human {
            return exit;
        }
        self.finish(&report, exit)
    }

    fn voice(&self) -> Voice {
        let color = self.style(io::stderr().is_terminal()).color;
        Voice::new(self.quiet, self.verbose, color)
    }
}

/// Answers a command line that is no command: help and versions, or a usage error.
fn refuse(refusal: Refusal, args: &[OsString]) -> Exit {
    let mut printing = Printing::guessed(args);
    match refusal {
        Refusal::Help { plain, styled } => {
            let color = printing.style(io::stdout().is_terminal()).color;
            match print(if color { &styled } else { &plain }) {
                Shown::Yes | Shown::Unread => Exit::SUCCESS,
                Shown::Failed => Exit::FATAL,
            }
        }
        Refusal::Incomplete { help, .. } if printing.format() == Format::Human => {
            complain(&help);
            Exit::USAGE
        }
        Refusal::Incomplete { hint, .. } => {
            let error = Error::usage("a command is missing").with_hint(hint);
            printing.fail(Failure::from(error))
        }
        Refusal::Usage(error) => {
            printing.sink = Sink::aside(cli::names_run(args));
            printing.fail(Failure::from(error))
        }
    }
}

/// As much as a pipe that takes something takes at once, on every system.
const PIECE: usize = 512;

/// Prints `text` of `stream`, which a reader that takes nothing does not keep from ending; how all ends,
/// where it does.
fn print_in_pieces(text: &str, stream: &mut dyn Stream) -> Option<Exit> {
    for piece in text.as_bytes().chunks(PIECE) {
        if let Some(exit) = stream.room() {
            return Some(exit);
        }
        match print_bytes(piece) {
            Shown::Yes => {}
            Shown::Unread => return Some(Exit::SUCCESS),
            Shown::Failed => return Some(Exit::FATAL),
        }
    }
    None
}
