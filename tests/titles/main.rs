//! What a prompt and the title of a terminal show of those who take part, on real terminals.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests fail by panicking, poll, write files as others do, and say how far they came"
)]

#[path = "../common/mod.rs"]
mod common;

mod endings;
mod prompt;
mod shown;
mod silence;
mod stage;
