//! Waiting for the lock: who is admitted when, who keeps which place, and what ends the waiting.
//! Every participant is a real process.
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

mod bounds;
mod cast;
mod crowd;
mod disasters;
mod helpers;
mod idle;
mod interrupted;
mod live_line;
mod places;
mod presence;
mod waiting;
