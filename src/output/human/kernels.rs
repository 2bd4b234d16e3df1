//! The kernel's locks in sentences.

use super::{Style, quote};
use crate::report::{
    KernelBlocked, KernelPath, KernelRefused, KernelState, Status, WorktreeClass, WorktreeCleanup,
    WorktreeOwner, WorktreeRow, WorktreeState,
};
use crate::text;

/// What is left to one whose lock is its own parent's.
const INSIDE: &str = "Inside, the lock is held already: run the command without it.";

/// What the lock is called, which is a worktree's or the repository's.
fn lock(workspace: Option<&str>) -> String {
    workspace.map_or_else(
        || "the repository lock".to_owned(),
        |workspace| format!("the lock of the worktree {}", text::visible(workspace)),
    )
}

/// The command that tells more of it.
fn check(workspace: Option<&str>) -> String {
    let family = workspace.map_or("repo", |_| "worktree");
    format!("Next: git locks {family} check")
}

/// "process 123 (make test) on box", as far as it is known.
fn process(pid: Option<i64>, command: Option<&str>, host: Option<&str>) -> String {
    let pid = pid.map_or_else(
        || "a process that cannot be seen".to_owned(),
        |pid| format!("process {pid}"),
    );
    let command = command.map(|command| format!(" ({})", quote(command)));
    let host = host.map(|host| format!(" on {}", quote(host)));
    [Some(pid), command, host].into_iter().flatten().collect()
}

/// ", 12m ago", where it is known.
fn ago(since: Option<f64>, style: &Style) -> String {
    since.map_or_else(String::new, |since| {
        format!(", {} ago", text::span(style.now - since))
    })
}

pub(super) fn blocked(it: &KernelBlocked, style: &Style) -> Vec<String> {
    let label = style.wait("Blocked:");
    let workspace = it.workspace.as_deref();
    let lock = lock(workspace);
    let host = it.holder_host.as_deref();
    let holder = process(it.holder_pid, it.holder_command.as_deref(), host);
    let since = style.details(it.holder_since, None);
    let mut lines = vec![format!("{label} {lock} is held by {holder}{since}.")];
    if let Some(span) = it.timeout.filter(|&span| span > 0.0) {
        lines.push(format!("Gave up after {}.", text::span(span)));
    }
    lines.push(check(workspace));
    lines
}

pub(super) fn refused(it: &KernelRefused, style: &Style) -> Vec<String> {
    let label = style.bad("Refused:");
    let lock = lock(it.workspace.as_deref());
    let holder = process(it.holder_pid, it.holder_command.as_deref(), None);
    vec![
        format!("{label} {lock} is held by {holder}, which waits for this very command."),
        INSIDE.to_owned(),
    ]
}

pub(super) fn state(it: &KernelState, style: &Style) -> Vec<String> {
    let mut lines = vec![headline(it, None, style)];
    lines.extend(keepers(it));
    lines
}

pub(super) fn worktree(it: &WorktreeState, style: &Style) -> Vec<String> {
    let mut lines = vec![headline(&it.lock, Some(&it.workspace), style)];
    lines.extend(keepers(&it.lock));
    if it.lock.status == Status::Free {
        let owner = it.owner.as_ref().map(|owner| last(owner, style));
        let malformed = it.class == WorktreeClass::Orphan;
        let malformed = malformed.then(|| "What its file says makes no sense.".to_owned());
        lines.extend(owner.or(malformed));
    }
    lines
}

fn headline(it: &KernelState, workspace: Option<&str>, style: &Style) -> String {
    let lock = lock(workspace);
    if it.status == Status::Free {
        return format!("{} {lock} is not held.", style.good("Free:"));
    }
    let holder = process(it.holder_pid, it.holder_command.as_deref(), None);
    let since = style.details(it.holder_since, None);
    format!("{} {lock} is held by {holder}{since}.", style.wait("Held:"))
}

fn keepers(it: &KernelState) -> impl Iterator<Item = String> + '_ {
    it.keepers.iter().map(|keeper| {
        let keeper = process(Some(keeper.pid), keeper.command.as_deref(), None);
        format!("It is also kept by {keeper}.")
    })
}

/// Who took a worktree's lock last.
fn last(owner: &WorktreeOwner, style: &Style) -> String {
    let process = process(Some(owner.pid), owner.command.as_deref(), Some(&owner.host));
    let since = ago(owner.since, style);
    format!("It was last taken by {process}{since}.")
}

pub(super) fn path(it: &KernelPath, _: &Style) -> Vec<String> {
    vec![text::visible(&it.lock_path)]
}

pub(super) fn cleanup(it: &WorktreeCleanup, style: &Style) -> Vec<String> {
    let rows = it.worktrees.iter().map(|row| line(row, style));
    let mut lines: Vec<String> = rows.collect();
    if lines.is_empty() {
        lines.push("The repository has no worktrees.".to_owned());
    }
    if it.status == Status::Refused {
        let label = style.bad("Refused:");
        lines.push(format!(
            "{label} nobody has said yes, and nothing was written."
        ));
        let hint = it.hint.as_deref();
        lines.extend(hint.map(|hint| format!("To be asked nothing: {}", text::visible(hint))));
        return lines;
    }
    let is_dead =
        |row: &&WorktreeRow| matches!(row.class, WorktreeClass::Orphan | WorktreeClass::Stale);
    match it.refreshed {
        0 if it.worktrees.iter().any(|row| is_dead(&row)) => lines.push(
            "What is stale or an orphan keeps nobody out. To write it anew: git locks worktree \
             cleanup --refresh"
                .to_owned(),
        ),
        0 => {}
        1 => lines.push(format!("{} 1 lock file.", style.good("Refreshed:"))),
        more => lines.push(format!("{} {more} lock files.", style.good("Refreshed:"))),
    }
    lines
}

/// "/r/wt: stale, last taken by process 123 (make) on box, 12m ago".
fn line(row: &WorktreeRow, style: &Style) -> String {
    let class = match row.class {
        WorktreeClass::NoLockFile => "no lock file".to_owned(),
        WorktreeClass::Live => style.good("live"),
        WorktreeClass::Orphan => style.wait("orphan"),
        WorktreeClass::Stale => style.wait("stale"),
        WorktreeClass::Idle => "idle".to_owned(),
    };
    let path = quote(&row.path);
    if row.pid.is_none() && row.class != WorktreeClass::Live {
        return format!("{path}: {class}");
    }
    let who = process(row.pid, row.command.as_deref(), row.host.as_deref());
    let since = ago(row.since, style);
    format!("{path}: {class}, last taken by {who}{since}")
}
