//! Every command in the README and in the recipes, as it stands there, run by the shell or language
//! that it is written for, and the examples of the manual; every mention of a command, and every link, in
//! any document; and what the documents say of fields, settings, exit codes and modules, against the code.
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

mod commands;
mod examples;
mod fields;
mod links;
mod map;
mod mentions;
mod pages;
mod scene;
mod settings;
