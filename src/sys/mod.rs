//! The operating system: the only place that knows nix, `/proc` and the shape of system calls.
//!
//! - [`clock`]: wall clock and boot-time clock
//! - [`fifo`]: how one process wakes another
//! - [`mod@file`]: opening state files safely, temporary files, links, modes
//! - [`flock`]: kernel locks on files
//! - [`host`]: which boot, machine and namespaces this is
//! - [`inherit`]: what a child inherits
//! - [`keepers`]: which processes keep a kernel lock
//! - [`process`]: whether a process runs, and whose child this one is
//! - [`random`]: names that nobody else has
//! - [`signals`]: catching, sending and naming signals; those that are errors to us, not deaths
//! - [`terminal`]: how wide it is
//! - [`user`]: who we are, and the names of others
//! - [`wake`]: what ends a sleep: files, processes, signals, time

pub mod clock;
pub mod fifo;
pub mod file;
pub mod flock;
pub mod host;
pub mod inherit;
pub mod keepers;
pub mod process;
pub mod random;
pub mod signals;
pub mod terminal;
pub mod user;
pub mod wake;
