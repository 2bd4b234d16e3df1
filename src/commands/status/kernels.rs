//! The kernel locks' part of `git locks status`.

use std::path::Path;

use super::{repository_name, told};
use crate::commands::asking::shown;
use crate::commands::context::Context;
use crate::commands::kernel::KernelLock;
use crate::commands::kernel::look::Look;
use crate::error::{Error, Result};
use crate::report::{Grounds, RepoHolder, RepoOverview, Staleness, Status, WorktreeOverview};
use crate::sys::process::{self, ProcessId, Sight};
use crate::wait::Scene;

fn status(held: bool) -> Status {
    if held { Status::Held } else { Status::Free }
}

/// Looks at the repository lock.
pub(super) fn repository(context: &Context, scene: &mut Scene) -> RepoOverview {
    let lock = match KernelLock::of_repository(context) {
        Ok(lock) => lock,
        Err(error) => return unreadable_repository(&error),
    };
    scene.watch.push(lock.path().to_owned());
    let lock_path = Some(lock.shown());
    match Look::at(&lock) {
        Ok(look) => RepoOverview {
            status: status(look.keepers.held),
            lock_path,
            holders: repo_holders(&look, scene),
            error: None,
        },
        Err(error) => RepoOverview {
            lock_path,
            ..unreadable_repository(&error)
        },
    }
}

/// What is to be said where even the repository cannot be looked at.
pub(super) fn unreadable_repository(error: &Error) -> RepoOverview {
    RepoOverview {
        status: Status::Unreadable,
        lock_path: None,
        holders: Vec::new(),
        error: Some(told(error)),
    }
}

/// Those that keep the repository lock. One that cannot be seen is there all the same.
fn repo_holders(look: &Look, scene: &mut Scene) -> Vec<RepoHolder> {
    // Who asks is gone at once.
    let me = i32::try_from(std::process::id()).ok();
    let named = look.keepers.all().filter(|&pid| Some(pid) != me);
    let mut pids: Vec<Option<i32>> = named.map(Some).collect();
    if pids.is_empty() && look.keepers.held {
        pids.push(None);
    }
    let row = |pid: Option<i32>| {
        listen(pid, scene);
        RepoHolder {
            pid: pid.map(i64::from),
            since: pid.and_then(process::started_at),
            staleness: Staleness::Fresh,
            evidence: Grounds::Kernel,
            command: pid.and_then(process::command_line),
        }
    };
    pids.into_iter().map(row).collect()
}

/// Listens for the end of that process.
fn listen(pid: Option<i32>, scene: &mut Scene) {
    if let Some(pid) = pid
        && let Sight::Running(start) = process::look(pid)
    {
        scene.processes.push(ProcessId { pid, start });
    }
}

/// Looks at the lock of every worktree.
pub(super) fn worktrees(context: &Context, scene: &mut Scene) -> Vec<WorktreeOverview> {
    match context.place.worktrees() {
        Ok(roots) => roots
            .iter()
            .map(|root| worktree(context, root, scene))
            .collect(),
        Err(error) => {
            let place = repository_name(context).unwrap_or_default();
            vec![unreadable(place, None, &error)]
        }
    }
}

fn unreadable(path: String, lock_path: Option<String>, error: &Error) -> WorktreeOverview {
    WorktreeOverview {
        status: Status::Unreadable,
        path,
        class: None,
        pid: None,
        host: None,
        since: None,
        staleness: None,
        evidence: None,
        command: None,
        lock_path,
        error: Some(told(error)),
    }
}

fn worktree(context: &Context, root: &Path, scene: &mut Scene) -> WorktreeOverview {
    let lock = match KernelLock::at(context, root) {
        Ok(lock) => lock,
        Err(error) => return unreadable(shown(root), None, &error),
    };
    scene.watch.push(lock.path().to_owned());
    read(&lock, root, scene)
        .unwrap_or_else(|error| unreadable(shown(root), Some(lock.shown()), &error))
}

fn read(lock: &KernelLock<'_>, root: &Path, scene: &mut Scene) -> Result<WorktreeOverview> {
    let look = Look::at(lock)?;
    let held = look.keepers.held;
    let keeper = look.keeper(lock);
    if held {
        listen(look.keepers.holder, scene);
    }
    Ok(WorktreeOverview {
        status: status(held),
        path: shown(root),
        class: Some(look.class(lock)),
        pid: keeper.pid,
        host: keeper.host,
        since: keeper.since,
        staleness: held.then_some(Staleness::Fresh),
        evidence: held.then_some(Grounds::Kernel),
        command: keeper.command,
        lock_path: Some(lock.shown()),
        error: None,
    })
}
