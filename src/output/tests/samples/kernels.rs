//! Reports of the kernel's locks.

use super::super::NOW;
use super::HOSTILE;
use crate::report::*;

const LOCK: &str = "/r/.git/axm-integration.lock";
const TREE_LOCK: &str = "/tmp/crucible-locks/37f3ed4cb0a46ff8953e83da5a1d1fd1.lock";

pub(in super::super) fn blocked() -> KernelBlocked {
    KernelBlocked {
        status: Status::Blocked,
        lock_path: LOCK.into(),
        workspace: None,
        holder_pid: Some(4242),
        holder_host: Some("box".into()),
        holder_since: Some(NOW - 725.0),
        holder_command: Some("make test".into()),
        timeout: Some(2.5),
    }
}

/// A process of another user has it, and a worktree's lock was asked for once.
pub(in super::super) fn blocked_by_somebody() -> KernelBlocked {
    KernelBlocked {
        lock_path: TREE_LOCK.into(),
        workspace: Some("/r/wt".into()),
        holder_pid: None,
        holder_host: None,
        holder_since: None,
        holder_command: None,
        timeout: Some(0.0),
        ..blocked()
    }
}

pub(in super::super) fn refused() -> KernelRefused {
    KernelRefused {
        status: Status::Refused,
        reason: Refusal::OwnParent,
        lock_path: LOCK.into(),
        workspace: None,
        holder_pid: Some(4242),
        holder_command: Some("git-locks repo run -- make".into()),
    }
}

pub(in super::super) fn free() -> KernelState {
    KernelState {
        status: Status::Free,
        lock_path: LOCK.into(),
        holder_pid: None,
        holder_command: None,
        holder_since: None,
        mine: None,
        keepers: Vec::new(),
    }
}

pub(in super::super) fn held() -> KernelState {
    KernelState {
        status: Status::Held,
        holder_pid: Some(4242),
        holder_command: Some("git-locks repo run -- make".into()),
        holder_since: Some(NOW - 725.0),
        mine: Some(false),
        keepers: vec![KernelKeeper {
            pid: 4243,
            since: Some(NOW - 724.5),
            command: Some("make".into()),
        }],
        ..free()
    }
}

pub(in super::super) fn path() -> KernelPath {
    KernelPath {
        status: Status::Success,
        lock_path: LOCK.into(),
    }
}

pub(in super::super) fn worktree() -> WorktreeState {
    WorktreeState {
        lock: KernelState {
            lock_path: TREE_LOCK.into(),
            ..free()
        },
        workspace: "/r/wt".into(),
        class: WorktreeClass::Stale,
        owner: Some(WorktreeOwner {
            pid: 99,
            host: "box".into(),
            since: Some(NOW - 86_400.0),
            command: Some("make".into()),
        }),
    }
}

pub(in super::super) fn hostile_worktree() -> WorktreeState {
    WorktreeState {
        lock: KernelState {
            lock_path: HOSTILE.into(),
            holder_command: Some(HOSTILE.into()),
            ..held()
        },
        workspace: HOSTILE.into(),
        class: WorktreeClass::Live,
        owner: Some(WorktreeOwner {
            pid: -1,
            host: HOSTILE.into(),
            since: None,
            command: Some(HOSTILE.into()),
        }),
    }
}

pub(in super::super) fn row(path: &str, class: WorktreeClass) -> WorktreeRow {
    let known = !matches!(class, WorktreeClass::NoLockFile | WorktreeClass::Orphan);
    WorktreeRow {
        path: path.into(),
        class,
        pid: known.then_some(4242),
        host: known.then(|| "box".into()),
        since: known.then_some(NOW - 725.0),
        command: known.then(|| "make, all".into()),
        lock_path: TREE_LOCK.into(),
    }
}

pub(in super::super) fn cleanup() -> WorktreeCleanup {
    WorktreeCleanup {
        status: Status::Success,
        refreshed: 0,
        worktrees: vec![
            row("/r", WorktreeClass::Live),
            row("/r/a", WorktreeClass::NoLockFile),
            row("/r/b", WorktreeClass::Orphan),
            row("/r/c d", WorktreeClass::Stale),
        ],
        reason: None,
        hint: None,
    }
}

pub(in super::super) fn unconfirmed() -> WorktreeCleanup {
    WorktreeCleanup {
        status: Status::Refused,
        worktrees: vec![row(HOSTILE, WorktreeClass::Stale)],
        reason: Some("not_confirmed"),
        hint: Some("git locks worktree cleanup --refresh --yes".into()),
        ..cleanup()
    }
}

/// One report of each variant, and some that somebody means harm with.
pub(in super::super) fn all() -> Vec<Report> {
    vec![
        Report::KernelBlocked(blocked()),
        Report::KernelBlocked(blocked_by_somebody()),
        Report::KernelRefused(refused()),
        Report::KernelState(free()),
        Report::KernelState(held()),
        Report::KernelPath(path()),
        Report::WorktreeState(worktree()),
        Report::WorktreeState(hostile_worktree()),
        Report::WorktreeCleanup(cleanup()),
        Report::WorktreeCleanup(unconfirmed()),
    ]
}
