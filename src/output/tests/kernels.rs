//! The kernel's locks in the human form, word for word.

use super::samples::kernels as s;
use super::*;
use crate::report::*;

#[test]
fn blocked() {
    reads(
        &Report::KernelBlocked(s::blocked()),
        &[
            "Blocked: the repository lock is held by process 4242 (make test) on box, for 12m.",
            "Gave up after 2s.",
            "Next: git locks repo check",
        ],
    );
    reads(
        &Report::KernelBlocked(s::blocked_by_somebody()),
        &[
            "Blocked: the lock of the worktree /r/wt is held by a process that cannot be seen.",
            "Next: git locks worktree check",
        ],
    );
}

#[test]
fn refused() {
    reads(
        &Report::KernelRefused(s::refused()),
        &[
            "Refused: the repository lock is held by process 4242 (git-locks repo run -- make), \
             which waits for this very command.",
            "Inside, the lock is held already: run the command without it.",
        ],
    );
}

#[test]
fn checks() {
    reads(
        &Report::KernelState(s::free()),
        &["Free: the repository lock is not held."],
    );
    reads(
        &Report::KernelState(s::held()),
        &[
            "Held: the repository lock is held by process 4242 (git-locks repo run -- make), for 12m.",
            "It is also kept by process 4243 (make).",
        ],
    );
    reads(
        &Report::KernelPath(s::path()),
        &["/r/.git/axm-integration.lock"],
    );
}

#[test]
fn a_worktree() {
    reads(
        &Report::WorktreeState(s::worktree()),
        &[
            "Free: the lock of the worktree /r/wt is not held.",
            "It was last taken by process 99 (make) on box, 1d ago.",
        ],
    );
    let orphan = WorktreeState {
        class: WorktreeClass::Orphan,
        owner: None,
        ..s::worktree()
    };
    reads(
        &Report::WorktreeState(orphan),
        &[
            "Free: the lock of the worktree /r/wt is not held.",
            "What its file says makes no sense.",
        ],
    );
}

#[test]
fn cleanup() {
    let rows = [
        "/r: live, last taken by process 4242 (make, all) on box, 12m ago",
        "/r/a: no lock file",
        "/r/b: orphan",
        "/r/c d: stale, last taken by process 4242 (make, all) on box, 12m ago",
    ];
    let then = |report: WorktreeCleanup, last: &[&str]| {
        let expected: Vec<&str> = rows.iter().chain(last).copied().collect();
        reads(&Report::WorktreeCleanup(report), &expected);
    };
    then(
        s::cleanup(),
        &[
            "What is stale or an orphan keeps nobody out. To write it anew: git locks worktree \
             cleanup --refresh",
        ],
    );
    for (refreshed, last) in [
        (1, "Refreshed: 1 lock file."),
        (3, "Refreshed: 3 lock files."),
    ] {
        let report = WorktreeCleanup {
            refreshed,
            ..s::cleanup()
        };
        then(report, &[last]);
    }
    let unconfirmed = WorktreeCleanup {
        worktrees: s::cleanup().worktrees,
        ..s::unconfirmed()
    };
    then(
        unconfirmed,
        &[
            "Refused: nobody has said yes, and nothing was written.",
            "To be asked nothing: git locks worktree cleanup --refresh --yes",
        ],
    );
    let none = WorktreeCleanup {
        worktrees: Vec::new(),
        ..s::cleanup()
    };
    reads(
        &Report::WorktreeCleanup(none),
        &["The repository has no worktrees."],
    );
}

#[test]
fn nothing_steers_a_terminal() {
    for report in s::all() {
        let said = human(&report);
        let shown = crate::text::visible(&said.replace('\n', ""));
        assert_eq!(shown, said.replace('\n', ""));
    }
}
