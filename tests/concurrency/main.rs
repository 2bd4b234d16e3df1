//! Exclusion: many real processes take turns in one repository, and a critical section that
//! would betray a second holder watches them.
//!
//! Each variant runs for a few seconds; `GIT_LOCKS_STRESS_SECONDS` makes it longer, and
//! `bash scripts/stress [SECONDS]` is the command for that.
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

mod arena;
mod calls;
mod chance;
mod foreign;
mod mix;

use mix::{Mix, Vouching};

const PLAIN: Mix = Mix {
    ours: 10,
    foreign: 0,
    vouching: Vouching::Leases,
    deaths: false,
    kills: false,
};

#[test]
fn plain() {
    PLAIN.run();
}

#[test]
fn with_processes_killed_every_few_milliseconds() {
    let mix = Mix {
        kills: true,
        ..PLAIN
    };
    mix.run();
}

#[test]
fn with_plans_that_die() {
    let mix = Mix {
        vouching: Vouching::Plans,
        deaths: true,
        ..PLAIN
    };
    mix.run();
}

#[test]
fn with_plans_that_die_and_processes_killed() {
    let mix = Mix {
        vouching: Vouching::Plans,
        deaths: true,
        kills: true,
        ..PLAIN
    };
    mix.run();
}

#[test]
fn with_another_program() {
    let mix = Mix {
        ours: 8,
        foreign: 4,
        vouching: Vouching::Both,
        ..PLAIN
    };
    mix.run();
}

#[test]
fn with_everything_at_once() {
    let mix = Mix {
        ours: 8,
        foreign: 3,
        vouching: Vouching::Both,
        deaths: true,
        kills: true,
    };
    mix.run();
}
