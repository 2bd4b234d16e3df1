//! The gate before `git push`: real pushes to a bare repository beside, through a hook that git runs.
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

mod appending;
mod cast;
mod installing;
mod places;
mod refs;
mod refusing;
mod required;
mod turns;
