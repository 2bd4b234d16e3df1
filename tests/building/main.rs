//! The build queue: at most k builds on one machine at once, over all its repositories, first come
//! first served.
//!
//! Every call is a real process; another program that shares the queue is played by the test
//! (`common::builds::Other`). `GIT_LOCKS_STRESS_SECONDS` makes the storms longer than their few
//! seconds.
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

mod arena;
mod canonical;
mod cast;
mod check;
mod crowd;
mod file;
mod home;
mod liveness;
mod nesting;
mod order;
mod others;
mod outside;
mod places;
mod reaper;
mod renew;
mod replaced;
mod run;
mod slots;
mod storm;
mod timeline;
