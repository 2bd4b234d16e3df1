//! The `git-locks` program.
fn main() {}
