//! What a crash, a failing system call or an odd file leaves, and that the next call copes.
//!
//! Needs strace for the first two. `GIT_LOCKS_TEST_EVERY_CALL` kills at every system call, and lets
//! each fail in every way, instead of a choice of both; `bash scripts/stress` sets it.
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

mod aftermath;
mod build_failures;
mod build_runs;
mod builds;
mod changes;
mod failures;
mod guard;
mod guard_taken;
mod kills;
mod odd_files;
mod runs;
mod scene;
mod session_failures;
mod sessions;
mod stopped;
mod strace;
