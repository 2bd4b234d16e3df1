//! At home in the shell: manual pages, completions in the real shells, and the installation.
//!
//! `GIT_LOCKS_UPDATE_MAN=1` rewrites the committed manual pages.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and write files as others do"
)]

#[path = "../common/mod.rs"]
mod common;

mod asking;
mod bash;
mod fish;
mod ground;
mod help;
mod install;
mod man;
mod pages;
mod scripts;
mod typing;
mod zsh;
