//! `git locks repo check` and `git locks worktree check`: what the kernel tells of a lock.

use super::KernelLock;
use super::keeper::{Keeper, line};
use super::look::Look;
use crate::cli;
use crate::error::Result;
use crate::exit::Exit;
use crate::report::{
    KernelKeeper, KernelPath, KernelState, Outcome, Report, Status, WorktreeState,
};
use crate::sys::keepers::Keepers;

/// Says whether `lock` is held, and by whom.
///
/// # Errors
/// It cannot be looked at.
pub fn check(args: &cli::KernelCheck, lock: &KernelLock<'_>) -> Result<Outcome> {
    let look = Look::at(lock)?;
    let state = state(lock, &look.keepers);
    let held = state.status == Status::Held;
    let exit = if args.exit_code && held && state.mine != Some(true) {
        Exit::REFUSED
    } else {
        Exit::SUCCESS
    };
    let report = match lock.workspace() {
        None => Report::KernelState(state),
        Some(workspace) => Report::WorktreeState(WorktreeState {
            lock: state,
            workspace,
            class: look.class(lock),
            owner: look.owner(),
        }),
    };
    Ok(Outcome::new(report, exit))
}

fn state(lock: &KernelLock<'_>, keepers: &Keepers) -> KernelState {
    let line = line();
    let mine = keepers.all().any(|pid| line.contains(&pid));
    let holder = keepers.holder.map(Keeper::seen).unwrap_or_default();
    let keeper = |&pid: &i32| {
        let seen = Keeper::seen(pid);
        KernelKeeper {
            pid: pid.into(),
            since: seen.since,
            command: seen.command,
        }
    };
    // Who asks is gone at once.
    let me = i32::try_from(std::process::id()).ok();
    let others = keepers.others.iter().filter(|&&pid| Some(pid) != me);
    KernelState {
        status: if keepers.held {
            Status::Held
        } else {
            Status::Free
        },
        lock_path: lock.shown(),
        holder_pid: holder.pid,
        holder_command: holder.command,
        holder_since: holder.since,
        mine: keepers.held.then_some(mine),
        keepers: others.map(keeper).collect(),
    }
}

/// Says where the file of `lock` is.
pub fn path(lock: &KernelLock<'_>) -> Outcome {
    let report = KernelPath {
        status: Status::Success,
        lock_path: lock.shown(),
    };
    Outcome::new(Report::KernelPath(report), Exit::SUCCESS)
}
