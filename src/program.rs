//! One run of the program: parse, do, render, exit code. The only code that prints reports.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};

use crate::cli::{self, Cli, Color, Family, Format, Global, Refusal};
use crate::commands::context::Context;
use crate::commands::{self, Failure};
use crate::config;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::{self, Style};
use crate::report::{Failed, Outcome, Report};
use crate::sys::{clock, signals};
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
    match answer(cli, &mut printing) {
        Ok(Outcome::Report(report, exit)) => printing.finish(&report, exit),
        Ok(Outcome::Aside(report, exit)) => printing.finish_aside(&report, exit),
        Ok(Outcome::Silent(exit)) => exit,
        Err(failure) => printing.fail(failure),
    }
}

fn answer(cli: &Cli, printing: &mut Printing) -> Result<Outcome, Failure> {
    if let Family::Become(args) = &cli.family {
        return Ok(commands::become_command(args)?);
    }
    printing.format = printing.format.or(config::output_format(None)?);
    config::exit_zero()?;
    commands::enter_directories(&cli.global)?;
    let context = Context::find(printing.voice())?;
    if printing.format.is_none() {
        printing.format = config::output_format(Some(&context.place))?;
    }
    commands::run(cli, &context)
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
        }
    }

    fn finish(&self, report: &Report, exit: Exit) -> Exit {
        let style = self.style(io::stdout().is_terminal());
        if print(&output::render(report, self.format(), &style)) {
            if self.exit_zero { Exit::SUCCESS } else { exit }
        } else {
            Exit::FATAL
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
            if print(if color { &styled } else { &plain }) {
                Exit::SUCCESS
            } else {
                Exit::FATAL
            }
        }
        Refusal::Incomplete { help } if printing.format() == Format::Human => {
            complain(&help);
            Exit::USAGE
        }
        Refusal::Incomplete { .. } => {
            let error =
                Error::usage("a command is missing").with_hint("git locks -h lists the commands");
            printing.fail(Failure::from(error))
        }
        Refusal::Usage(error) => {
            printing.sink = Sink::aside(cli::names_run(args));
            printing.fail(Failure::from(error))
        }
    }
}

/// Prints on standard output; a reader that has gone away is not an error.
fn print(text: &str) -> bool {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&format!(
                "error: cannot write to standard output: {}\n",
                crate::error::reason(&error)
            ));
            false
        }
        _ => true,
    }
}
