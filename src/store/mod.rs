//! Where state lives on disk, and the only code that writes it.
//!
//! - [`guard`]: the critical section around one state file
//! - [`document`]: a JSON file shared with other programs, kept to the byte where we change nothing
//! - [`records`]: our own file beside it
//! - [`lock_file`]: the one-line file that names the holder
//! - [`witness`]: the directory by which other programs see our participants alive
//! - [`last_resort`]: letting go when nothing can be opened any more
//! - [`ground`]: the directories that all of it stands in
//! - [`presence`]: a lock by which others see that a process lives
//! - `reading`: the merge lock's whole state, loaded
//! - [`merge`]: a decision on it, run
//! - `commit`: the order in which a decision reaches the disk
//! - [`build`]: the build queue's state, and a decision on it, run
//! - [`run_configuration`]: what a project has learnt of its builds
//! - [`session`]: the lease of a checkout's session, and the witness beside it
//! - [`sentinel`]: what the lock file of a worktree says
//! - [`transaction`]: what both come to

pub mod build;
mod commit;
pub mod document;
pub mod ground;
pub mod guard;
pub mod last_resort;
pub mod lock_file;
pub mod merge;
pub mod presence;
mod reading;
pub mod records;
pub mod run_configuration;
pub mod sentinel;
pub mod session;
pub mod transaction;
pub mod witness;

/// Larger state files are refused, in bytes.
pub const STATE_LIMIT: u64 = 64 << 20;
/// Nothing is added to a state file past this, in bytes.
pub const APPEND_LIMIT: usize = 32 << 20;
