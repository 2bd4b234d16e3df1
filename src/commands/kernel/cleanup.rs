//! `git locks worktree cleanup`: what the lock of every worktree is like; and, when asked to, sentinels
//! of those who have ended made fresh.
//!
//! A look changes nothing. What is written is written under the lock, had without waiting, into the very
//! file: nothing is removed, neither a file nor a worktree.

use super::keeper::sight;
use super::look::Look;
use super::{Attempt, KernelLock};
use crate::cli;
use crate::commands::consent;
use crate::commands::context::Context;
use crate::error::Result;
use crate::exit::Exit;
use crate::locks::worktree;
use crate::report::{Outcome, Report, Status, WorktreeClass, WorktreeCleanup, WorktreeRow};
use crate::store::sentinel;

/// What is written as the command of a sentinel that was made fresh.
const COMMAND: &str = "git locks worktree cleanup --refresh";

/// Looks at the lock of every worktree of the repository, and makes fresh what is to be.
///
/// # Errors
/// A lock cannot be looked at, or has no safe place.
pub fn cleanup(args: &cli::Cleanup, context: &Context) -> Result<Outcome> {
    let roots = context.place.worktrees()?;
    let locks = roots.iter().map(|root| KernelLock::at(context, root));
    let locks = locks.collect::<Result<Vec<_>>>()?;
    let rows = locks.iter().map(row).collect::<Result<Vec<_>>>()?;
    let mut report = WorktreeCleanup {
        status: Status::Success,
        refreshed: 0,
        worktrees: rows,
        reason: None,
        hint: None,
    };
    if args.refresh {
        let dead = report.worktrees.iter().map(|row| is_dead(row.class));
        let dead: Vec<&KernelLock<'_>> = locks
            .iter()
            .zip(dead)
            .filter_map(|(lock, dead)| dead.then_some(lock))
            .collect();
        if !args.yes && !may_go_on(dead.len(), context)? {
            report.status = Status::Refused;
            report.reason = Some("not_confirmed");
            report.hint = Some("git locks worktree cleanup --refresh --yes".to_owned());
            let report = Report::WorktreeCleanup(report);
            return Ok(Outcome::new(report, Exit::REFUSED));
        }
        for lock in dead {
            report.refreshed += usize::from(refresh(lock)?);
        }
    }
    let report = Report::WorktreeCleanup(report);
    Ok(Outcome::new(report, Exit::SUCCESS))
}

/// Whether the sentinel of such a worktree is to be made fresh.
fn is_dead(class: WorktreeClass) -> bool {
    matches!(class, WorktreeClass::Orphan | WorktreeClass::Stale)
}

/// What is to be said of the worktree whose lock this is.
fn row(lock: &KernelLock<'_>) -> Result<WorktreeRow> {
    let look = Look::at(lock)?;
    let keeper = look.keeper(lock);
    Ok(WorktreeRow {
        path: lock.workspace().unwrap_or_default(),
        class: match look.class(lock) {
            // Its owner may be about to take the lock again: that is its own affair.
            WorktreeClass::Idle => WorktreeClass::Live,
            class => class,
        },
        pid: keeper.pid,
        host: keeper.host,
        since: keeper.since,
        command: keeper.command,
        lock_path: lock.shown(),
    })
}

/// Whether who asked for it still wants `count` sentinels to be written.
fn may_go_on(count: usize, context: &Context) -> Result<bool> {
    let them = match count {
        0 => return Ok(consent::may_ask(context)),
        1 => "1 sentinel".to_owned(),
        _ => format!("{count} sentinels"),
    };
    consent::says_yes(context, &format!("Write {them} anew? [y/N] "))
}

/// Writes the sentinel of that worktree anew, unless somebody has the lock or has taken it meanwhile;
/// whether it did.
fn refresh(lock: &KernelLock<'_>) -> Result<bool> {
    let Attempt::Taken(file) = lock.attempt()? else {
        return Ok(false);
    };
    let content = sentinel::read(&lock.path)?;
    let class = worktree::classify(content.as_deref(), false, &lock.host_name(), sight);
    if !is_dead(class) {
        return Ok(false);
    }
    let Some(own) = lock.own_sentinel(COMMAND) else {
        return Ok(false);
    };
    sentinel::write(&file, &lock.path, &own)?;
    Ok(true)
}
