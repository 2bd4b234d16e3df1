//! `merge run`: a command that has the lock while it runs, whatever happens to it, to the runner
//! and to the lock.
//!
//! Real processes, signals and terminals. A command is let go by the removal of a file in the
//! test's own directory, so that none outlives a test that fails.
//! `GIT_LOCKS_STRESS_SECONDS` makes the storm of killed runners longer than its few seconds.
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

mod codes;
mod killed;
mod losing;
mod nesting;
mod signals;
mod stage;
mod storm;
mod terminal;
mod traced;
