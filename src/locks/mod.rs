//! The locks. Each module's header is its protocol.

pub mod merge;
pub mod rate_window;
