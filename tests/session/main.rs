//! Session leases, through the real program in real checkouts.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    dead_code,
    reason = "tests fail by panicking, and write files as others do"
)]

#[path = "../common/mod.rs"]
mod common;

mod beside;
mod failing;
mod hosts;
mod leases;
mod peers;
mod questions;
mod running;
mod stage;
