//! `git locks completions`.

use crate::cli::{CompletionsArgs, Shell};
use crate::completion::{BASH, FISH, ZSH};
use crate::exit::Exit;
use crate::report::Outcome;

/// Prints what the shell reads.
pub fn run(args: &CompletionsArgs) -> Outcome {
    let script = match args.shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
    };
    Outcome::Text(script.to_owned(), Exit::SUCCESS)
}
