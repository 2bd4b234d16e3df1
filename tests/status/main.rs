//! `git locks status`: everything that is held and waited for, in one report; and nothing changed by it.
//!
//! Every holder is a real one: a lease, a process, another program's file.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests fail by panicking, poll, and write files as others do"
)]

#[path = "../common/mod.rs"]
mod common;

mod cast;
mod crowd;
mod holders;
mod kernels;
mod manners;
mod sessions;
mod terminal;
mod unreadable;
mod watch;
