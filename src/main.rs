//! The `git-locks` program: everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    git_locks::program::run(std::env::args_os()).into()
}
