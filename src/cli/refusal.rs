//! What clap says of a command line that is no command, in our own shape.

use std::ffi::OsString;
use std::mem::ManuallyDrop;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};

use super::Cli;
use crate::error::Error;
use crate::text;

/// Why there is no command to run.
#[derive(Debug)]
pub enum Refusal {
    /// Help or the version was asked for.
    Help {
        /// The text.
        plain: String,
        /// The text for a terminal.
        styled: String,
    },
    /// The command line ends where a command should follow.
    Incomplete {
        /// What may follow.
        help: String,
        /// How to be told so.
        hint: String,
    },
    /// It makes no sense.
    Usage(Error),
}

/// Parses the arguments `args`, the program's own name first.
pub fn parse(args: &[OsString]) -> Result<Cli, Refusal> {
    // The definitions are never taken apart: at a tenth of a short call, that is for nothing.
    let mut command = ManuallyDrop::new(Cli::command());
    let parsed = command.try_get_matches_from_mut(args).and_then(|matches| {
        let mut matches = ManuallyDrop::new(matches);
        Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
    });
    parsed.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Refusal::Help {
            plain: error.render().to_string(),
            styled: error.render().ansi().to_string(),
        },
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Refusal::Incomplete {
            help: error.render().to_string(),
            hint: format!("{} -h lists the commands", verb(args)),
        },
        _ => Refusal::Usage(usage(&error, args)),
    })
}

/// A usage error of clap's as one of ours: what is wrong in a line, and where to read on.
fn usage(error: &clap::Error, args: &[OsString]) -> Error {
    let text = error.render().to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines
        .next()
        .unwrap_or("the command line could not be understood");
    let mut message = first.strip_prefix("error: ").unwrap_or(first).to_owned();
    for line in lines {
        // What follows a colon, and the words that would have been taken, belong to the sentence.
        if message.ends_with(':') || line.starts_with("[possible values") {
            message = format!("{message} {line}");
        } else {
            break;
        }
    }
    let tip = text
        .lines()
        .map(str::trim)
        .find_map(|line| line.strip_prefix("tip: "));
    let hint = stray_duration(args)
        .or_else(|| stray_command(&message, args))
        .or_else(|| tip.map(str::to_owned));
    let hint = hint.unwrap_or_else(|| format!("{} -h says what it takes", verb(args)));
    Error::usage(message).with_hint(hint)
}

/// What to write instead of `--wait 5m`.
fn stray_duration(args: &[OsString]) -> Option<String> {
    let own = before_dashes(args).iter();
    let words: Vec<&str> = own.map(|arg| arg.to_str().unwrap_or_default()).collect();
    let stray = words.iter().skip_while(|word| **word != "--wait").nth(1)?;
    let is_amount = stray.starts_with(|c: char| c.is_ascii_digit());
    is_amount.then(|| format!("write it as --wait={}", text::clip(stray, 40)))
}

/// Where the command of a `run` has to stand, when `message` says that it stands elsewhere or nowhere.
fn stray_command(message: &str, args: &[OsString]) -> Option<String> {
    let verb = verb(before_dashes(args));
    let nowhere = message.ends_with("<CMD>...");
    let elsewhere = message.starts_with("unexpected argument '")
        && !message.starts_with("unexpected argument '-")
        && !args.iter().any(|arg| *arg == "--");
    (verb.ends_with(" run") && (nowhere || elsewhere))
        .then(|| format!("the command stands after two dashes: {verb} -- CMD"))
}

/// What stands before the two dashes, after which nothing is ours.
fn before_dashes(args: &[OsString]) -> &[OsString] {
    let end = args.iter().position(|arg| *arg == "--");
    args.get(..end.unwrap_or(args.len())).unwrap_or(args)
}

/// Whether a command line that could not be parsed names the `run` of a lock, or what git runs before a
/// push: their standard output is not for reports, nor their exit code for `--exit-zero`.
pub fn names_run(args: &[OsString]) -> bool {
    let verb = verb(before_dashes(args));
    verb == "git locks hook pre-push" || (verb.split(' ').count() == 4 && verb.ends_with(" run"))
}

/// The command that was meant, as far as it was named: `git locks merge acquire`.
fn verb(args: &[OsString]) -> String {
    let mut command = Cli::command();
    let mut words = vec!["git".to_owned(), "locks".to_owned()];
    for word in args.iter().skip(1).filter_map(|arg| arg.to_str()) {
        let Some(next) = command.find_subcommand(word) else {
            continue;
        };
        words.push(word.to_owned());
        command = next.clone();
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn hint(line: &str) -> Option<String> {
        match parse(&words(line)) {
            Err(Refusal::Usage(error)) => error.hint().map(str::to_owned),
            Err(other) => panic!("{line}: {other:?}"),
            Ok(_) => panic!("{line} is a command"),
        }
    }

    #[test]
    fn a_missing_command_is_looked_for_where_it_is_missing() {
        for line in [
            "git-locks",
            "git-locks build",
            "git-locks -q merge rate-window",
        ] {
            let Err(Refusal::Incomplete { hint, .. }) = parse(&words(line)) else {
                panic!("{line} is a command");
            };
            let expected = line.replace("git-locks", "git locks").replace(" -q", "");
            assert_eq!(hint, format!("{expected} -h lists the commands"));
        }
    }

    #[test]
    fn a_duration_apart_from_its_flag_is_put_right() {
        for verb in ["acquire", "run"] {
            let found = hint(&format!("git-locks merge {verb} --wait 5m"));
            let expected = match verb {
                // What follows is the command to run, but it has to stand behind two dashes.
                "run" | "acquire" => Some("write it as --wait=5m".to_owned()),
                _ => None,
            };
            assert_eq!(found, expected, "{verb}");
        }
        assert_eq!(
            hint("git-locks merge run --wait 90 -- true").as_deref(),
            Some("write it as --wait=90")
        );
        for line in [
            "git-locks merge acquire --wait soon",
            "git-locks merge run --nonsense -- x --wait 5m",
        ] {
            let found = hint(line);
            let about_wait = found.is_some_and(|hint| hint.contains("--wait="));
            assert!(!about_wait, "{line}");
        }
        let long = hint(&format!(
            "git-locks merge acquire --wait {}",
            "9".repeat(500)
        ));
        assert!(long.is_some_and(|hint| hint.len() < 80));
    }

    #[test]
    fn a_command_to_run_is_told_its_place() {
        for (line, expected) in [
            ("git-locks merge run make", true),
            ("git-locks -q build run --max-slots 2 make -j8", true),
            ("git-locks repo run", true),
            ("git-locks merge run --", true),
            ("git-locks session run make", true),
            ("git-locks merge run --nonsense", false),
            ("git-locks merge run --nonsense -- make", false),
            ("git-locks merge run stray -- make", false),
            ("git-locks merge check run", false),
        ] {
            let found = hint(line).is_some_and(|hint| hint.ends_with(" run -- CMD"));
            assert_eq!(found, expected, "{line}: {:?}", hint(line));
        }
    }

    #[test]
    fn a_line_that_names_run_is_told_from_others() {
        for (line, expected) in [
            ("git-locks merge run --wait 5m -- x", true),
            ("git-locks merge run", true),
            ("git-locks build run", true),
            ("git-locks hook pre-push --nonsense", true),
            ("git-locks hook install --nonsense", false),
            ("git-locks -q merge run --nonsense", true),
            ("git-locks merge acquire --nonsense", false),
            ("git-locks merge acquire -- merge run", false),
            ("git-locks merge -- run", false),
            ("git-locks run", false),
            ("git-locks", false),
        ] {
            assert_eq!(names_run(&words(line)), expected, "{line}");
        }
    }
}
