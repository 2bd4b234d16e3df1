#![forbid(unsafe_code)]
//! git-locks: take turns in a git repository.

pub mod cli;
pub mod config;
pub mod error;
pub mod exit;
pub mod identity;
pub mod place;
pub mod output;
pub mod report;
pub mod text;
