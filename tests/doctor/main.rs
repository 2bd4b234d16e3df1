//! `git locks doctor`: every finding provoked, and absent where nothing is wrong; what `--fix` removes, and
//! what it leaves alone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, poll, and write files as others do"
)]

#[path = "../common/mod.rs"]
mod common;
mod stage;

mod alive;
mod clocks;
mod copies;
mod file_systems;
mod fresh;
mod ground;
mod install;
mod layouts;
mod leftovers;
mod manners;
mod markers;
mod operations;
mod participants;
mod sessions;
mod slots;
mod snapshots;
mod tracked;
