//! What a crash, a failing system call or an odd file leaves, and that the next call copes.
//!
//! Needs strace for the first two; `GIT_LOCKS_STRESS_SECONDS` makes every system call fail in
//! every way, instead of a choice of both.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail by panicking and say how much they covered"
)]

#[path = "../common/mod.rs"]
mod common;

mod aftermath;
mod failures;
mod guard;
mod kills;
mod odd_files;
mod scene;
mod strace;
