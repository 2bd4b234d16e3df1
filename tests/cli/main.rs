//! The command-line contract, tested from outside on repositories that real git made.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::float_cmp,
    reason = "tests fail by panicking, compare the very numbers they were given, and write files as others do"
)]

#[path = "../common/mod.rs"]
mod common;

mod bad_input;
mod foreign;
mod identity;
mod large_queue;
mod lease;
mod liveness;
mod manners;
mod merge;
mod options;
mod output;
mod place;
mod place_hooks;
mod place_layouts;
mod place_refusals;
mod rate_window;
mod release;
mod shared_clone;
mod surroundings;
mod tickets;
mod timeline;
mod titles;
mod vanished;
mod words;
