//! The locks. Each module's header is its protocol.

pub mod asking;
pub mod build;
pub mod merge;
pub mod rate_window;
pub mod repo;
pub mod session;
pub mod worktree;

#[cfg(test)]
mod samples;
