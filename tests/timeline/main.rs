//! `git locks log`: the timeline as it is listed, followed and summed up.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, poll, and write files as others do"
)]

#[path = "../common/mod.rs"]
mod common;

mod asking;
mod damaged;
mod follow;
mod listing;
mod pen;
mod report;
