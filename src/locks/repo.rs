//! The repository lock: whoever changes the branches of a repository, an integrator for instance, holds it.
//!
//! The lock is an exclusive `flock(2)` on [`NAME`] in the common git directory, the same file for every
//! worktree of a repository. Any program that locks that file excludes us and is excluded. The file's
//! name is part of the protocol; its content means nothing.
//!
//! 1. Open the file, making it where it is missing, never truncating it.
//! 2. `flock` it, exclusively; then see that it is still the file at its path, else start over.
//! 3. Start the command, which inherits the locked file: if the process that took the lock is killed,
//!    the kernel keeps it until the command has ended too.
//! 4. When the command has ended, unlock: the lock is free, whoever else still has the file open.
//!
//! The file is never unlinked, nor replaced. Where somebody else has done that, those who hold the old
//! file would exclude nobody: who holds it locks the new one as well, or has lost the lock.
//!
//! It is not re-entrant. Whoever descends from a process that keeps the lock would wait for itself, and
//! is refused.
//!
//! **A crash** frees the lock, as soon as nobody has the locked file open any more. The file stays, and
//! means nothing.

/// The file, in the common git directory.
pub const NAME: &str = "axm-integration.lock";
