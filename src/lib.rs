#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        clippy::unnecessary_wraps,
        reason = "tests make the mess that the code must cope with, in the shapes it takes"
    )
)]
//! git-locks: take turns in a git repository. No daemon: files, the kernel, and git.
//!
//! Arrows point down only; a module knows those below it.
//!
//! | module | what is in it |
//! |---|---|
//! | [`program`] | one run: parse, do, render, exit code |
//! | [`commands`] | one file per command: arguments in, a report out |
//! | [`page`] | what is said on standard output |
//! | [`manual`] | the manual pages, from the command line's definitions and prose |
//! | [`completion`] | what may come next on a command line |
//! | [`run`] | the one runner: a command under a lock |
//! | [`progress`] | what a person sees while a call waits |
//! | [`voice`] | what is said on standard error while a command works |
//! | [`output`] | a report as TOON, JSON or sentences: pure functions |
//! | [`wait`] | the one waiting loop |
//! | [`titles`] | title tokens for prompts and terminals |
//! | [`event_log`] | the `[LOCK]` timeline |
//! | [`diagnosis`] | evidence in words, and findings: pure |
//! | [`evidence`] | looking for signs of life |
//! | [`store`] | guard, shared documents, records: the only writer of state |
//! | [`locks`] | who is admitted, pruned, reclaimed: pure decisions |
//! | [`liveness`] | evidence in, verdict out: pure |
//! | [`participant`] | what is recorded about those who take part |
//! | [`queue`], [`lease`] | first come first served; promises with an end: pure |
//! | [`config`] | settings: environment, git configuration, defaults |
//! | [`identity`] | plan ids, and how a caller without one gets one |
//! | [`place`] | where state lives; git2's home |
//! | [`cli`] | the command line: definitions only; clap's home |
//! | [`report`] | the output contract |
//! | [`sys`] | the operating system; nix's home |
//! | [`error`], [`exit`], [`text`] | failures, exit codes, text fit to be shown |

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!(
    "git-locks builds on Linux and macOS only: its locks need flock, hard links and O_EXCL as Unix has them"
);

pub mod cli;
pub mod commands;
pub mod completion;
pub mod config;
pub mod diagnosis;
pub mod error;
pub mod event_log;
pub mod evidence;
pub mod exit;
pub mod identity;
pub mod lease;
pub mod liveness;
pub mod locks;
pub mod manual;
pub mod output;
pub mod page;
pub mod participant;
pub mod place;
pub mod program;
pub mod progress;
pub mod queue;
pub mod report;
pub mod run;
pub mod store;
pub mod sys;
pub mod text;
pub mod titles;
pub mod voice;
pub mod wait;
