//! The kernel locks: one mover of a repository's lanes at a time, one attempt per worktree at a time.
//!
//! Every call is a real process; flock(1) and Python's `fcntl.flock` play the other programs.
//! `GIT_LOCKS_STRESS_SECONDS` makes the storms longer than their few seconds.
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

#[allow(dead_code, reason = "another test binary uses the rest of it")]
#[path = "../concurrency/chance.rs"]
mod chance;
#[allow(dead_code, reason = "another test binary uses the rest of it")]
#[path = "../running/stage.rs"]
mod stage;

mod asking;
mod cast;
mod cleanup;
mod dead;
mod files;
mod lock_dir;
mod nesting;
mod others;
mod places;
mod replaced;
mod run;
mod sentinel;
mod storm;
mod waiting;
