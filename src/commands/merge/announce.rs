//! What a call that asked for the lock tells: the timeline, the title, the caller.

use super::{about_holder, lock_path, set_title};
use crate::commands::context::Context;
use crate::event_log::{Event, Level};
use crate::identity::{Identity, PlanId};
use crate::locks::asking::Poll;
use crate::locks::merge::{Granted, MergeState, Waiting};
use crate::report::{self, Action, MergeBlocked, MergeRefused, Refusal, Report, Status};
use crate::text;
use crate::titles::Title;

/// Tells the timeline and the title of a grant.
pub(super) fn announce_grant(
    context: &Context,
    id: &PlanId,
    granted: &Granted,
    waiting_count: usize,
    no_title: bool,
) {
    if granted.action == Action::AlreadyHeld {
        return;
    }
    let name = if granted.reclaimed_from.is_some() {
        "merge:reclaimed"
    } else {
        "merge:acquired"
    };
    context.log(&Event {
        level: Level::Info,
        name,
        id: id.as_str().to_owned(),
        fields: vec![
            ("lock_file", lock_path(context)),
            (
                "reclaimed_from",
                granted.reclaimed_from.clone().unwrap_or_default(),
            ),
            ("waiting_count", waiting_count.to_string()),
        ],
    });
    set_title(context, id, Some(Title::LockOwned), no_title);
}

/// Tells the timeline, the title and, where something is amiss, the caller of a wait.
pub(super) fn announce_wait(
    context: &Context,
    identity: &Identity,
    waiting: &Waiting,
    state: &MergeState,
    no_title: bool,
) {
    let id = &identity.id;
    let holder = state.lock.as_ref().and_then(|lock| lock.holder.shown());
    if waiting.not_local {
        context.voice.warn(format!(
            "the holder is gone, but {} is not known to be on a local file system, where nothing is reclaimed \
             automatically; if you know it is gone: git locks merge release --plan-id {}",
            text::path(&context.merge_store().lock_path),
            text::shell_word(&holder.clone().unwrap_or_default())
        ));
    }
    let recovering = if waiting.mid_recovery { "true" } else { "" };
    // A busy poller must not fill the disk with what was said before.
    if waiting.poll != Poll::Repeated {
        context.log(&Event {
            level: Level::Info,
            name: "merge:blocked",
            id: id.as_str().to_owned(),
            fields: vec![
                ("lock_file", lock_path(context)),
                ("holder", holder.clone().unwrap_or_default()),
                ("waiter", id.as_str().to_owned()),
                ("waiting_count", state.queue.len().to_string()),
                ("stale_holder_live_worktree", recovering.to_owned()),
            ],
        });
    }
    if waiting.poll == Poll::Joined {
        set_title(context, id, Some(Title::LockWaiting), no_title);
    }
    if holder.as_deref() == Some(id.as_str()) && !identity.explicit {
        context.voice.inform(format!(
            "another user or checkout holds the lock as {id}; give yourself a name of your own with --as"
        ));
    }
}

/// The report of a caller that waits.
pub(super) fn blocked_report(
    waiting: &Waiting,
    state: &MergeState,
    identity: &Identity,
    context: &Context,
) -> Report {
    let about = about_holder(state, context);
    Report::MergeBlocked(MergeBlocked {
        status: Status::Blocked,
        plan_id: identity.id.as_str().to_owned(),
        admission: report::Admission::Blocked,
        blocking_plan_id: state.lock.as_ref().and_then(|lock| lock.holder.shown()),
        lock_path: lock_path(context),
        waiting_count: state.queue.len(),
        stale_holder_live_worktree: waiting.mid_recovery,
        position: waiting.position,
        holder_since: about.since,
        holder_where: about.workplace,
        reason: about.reason,
    })
}

/// The refusal of a call that would wait for its own parent.
pub(super) fn refuse_own_parent(context: &Context, identity: &Identity, holder: String) -> Report {
    Report::MergeRefused(MergeRefused {
        status: Status::Refused,
        plan_id: identity.id.as_str().to_owned(),
        reason: Refusal::OwnParent,
        holder: Some(holder),
        staleness: None,
        lock_path: lock_path(context),
    })
}
