//! The merge lock in sentences.

use super::{
    AFTER_A_LOSS, Style, TO_TAKE_YOUR_TURN, as_caller, inside_run, is_plan_id, lease_words,
    place_words, quote, turn_words,
};
use crate::report::{
    Action, MergeAdmitted, MergeBlocked, MergeEvicted, MergeFree, MergeHeld, MergeRefused,
    MergeReleased, MergeRenewed, Refusal, Staleness,
};
use crate::text;

/// The command by which a person removes `holder` without proof that it is gone.
fn override_holder(lead: &str, holder: &str) -> String {
    if is_plan_id(holder) {
        let holder = text::shell_word(holder);
        format!("{lead}: git locks merge release --plan-id {holder}")
    } else {
        // No id can name it, but a name that is no id is stale by definition.
        format!("{lead}: git locks merge release --require-stale")
    }
}

fn entries(count: usize) -> String {
    match count {
        1 => "1 entry is left in the queue.".to_owned(),
        _ => format!("{count} entries are left in the queue."),
    }
}

fn fence_words(fence: Option<u64>) -> String {
    fence.map_or_else(String::new, |fence| format!(" (fence {fence})"))
}

pub(super) fn admitted(it: &MergeAdmitted, style: &Style) -> Vec<String> {
    let already = matches!(it.action, Action::AlreadyHeld);
    let mut lines = vec![format!(
        "{} {} {}holds the merge lock{}{}.",
        style.good("Admitted:"),
        style.name(&it.holder),
        if already { "already " } else { "" },
        fence_words(it.fence),
        lease_words(it.expires_at, style),
    )];
    if let Some(from) = &it.reclaimed_from {
        let from = style.name(from);
        lines.push(format!(
            "It was still noted for {from}, for which nothing vouches any more."
        ));
    }
    // The holder's own entry stays in the queue and is counted.
    match it.waiting_count {
        0 | 1 => {}
        2 => lines.push("1 other waits for it.".to_owned()),
        count => lines.push(format!("{} others wait for it.", count - 1)),
    }
    lines.extend(as_caller("When done", "merge", "release", &it.plan_id));
    lines
}

pub(super) fn blocked(it: &MergeBlocked, style: &Style) -> Vec<String> {
    let label = style.wait("Blocked:");
    let mut lines = Vec::new();
    match &it.blocking_plan_id {
        Some(holder) => {
            let held = style.held_by(holder, it.holder_since, it.holder_where.as_deref());
            lines.push(format!("{label} the merge lock is {held}."));
        }
        None if it.holder_since.is_some() => {
            lines.push(format!("{label} somebody is just taking the merge lock."));
        }
        None => lines.push(format!(
            "{label} the merge lock is free, but others are ahead."
        )),
    }
    lines.extend(reason_line(it.reason.as_deref()));
    if it.stale_holder_live_worktree {
        lines.push(
            "The holder's plan is gone but its worktree is live, so the lock is not taken from it."
                .to_owned(),
        );
    }
    let caller = style.name(&it.plan_id);
    let namesake = it.blocking_plan_id.as_ref() == Some(&it.plan_id);
    lines.push(match it.position {
        None if namesake => {
            format!("The holder goes by your name, {caller}: you have no place of your own.")
        }
        position => place_words(position, &caller),
    });
    match &it.blocking_plan_id {
        Some(holder) if it.stale_holder_live_worktree => lines.push(override_holder(
            "That is for a person to decide; to remove it",
            holder,
        )),
        _ => lines.push("Next: git locks merge check".to_owned()),
    }
    lines.push(match it.position {
        None if namesake => {
            format!("{TO_TAKE_YOUR_TURN}; to have a place, give yourself another name with --as.")
        }
        position => turn_words(position),
    });
    lines
}

fn reason_line(reason: Option<&str>) -> Option<String> {
    reason.map(|reason| format!("Reason: {}", quote(reason)))
}

pub(super) fn free(_: &MergeFree, style: &Style) -> Vec<String> {
    vec![
        format!("The merge lock is {}.", style.good("free")),
        "Next: git locks merge acquire".to_owned(),
    ]
}

pub(super) fn held(it: &MergeHeld, style: &Style) -> Vec<String> {
    let holder = &it.holder_plan_id;
    let place = it.holder_where.as_deref();
    let mut lines = Vec::new();
    if it.mine {
        lines.push(format!(
            "You hold the merge lock as {}{}{}.",
            style.name(holder),
            fence_words(it.fence),
            style.details(it.holder_since, place),
        ));
    } else {
        let held_by = style.held_by(holder, it.holder_since, place);
        lines.push(format!("The merge lock is {held_by}."));
    }
    lines.extend(reason_line(it.reason.as_deref()));
    match (it.mine, it.staleness) {
        (true, Staleness::Stale) => {
            let verdict = style.wait("stale");
            lines.push(format!(
                "It is {verdict}: whoever is next may take it from you."
            ));
            lines.extend(as_caller("To renew its lease", "merge", "renew", holder));
            lines.extend(as_caller("When done", "merge", "release", holder));
        }
        (true, _) => lines.extend(as_caller("When done", "merge", "release", holder)),
        (false, Staleness::Fresh) => {
            lines.push("To join the queue: git locks merge acquire".to_owned());
        }
        (false, Staleness::Stale) => {
            let verdict = style.wait("stale");
            lines.push(format!(
                "The holder is {verdict}: nothing vouches for it, and whoever is next takes the lock."
            ));
            lines.push("To remove it: git locks merge release --require-stale".to_owned());
        }
        (false, Staleness::Unknown) => {
            let verdict = style.wait("unknown");
            lines.push(format!(
                "Whether the holder is still there is {verdict}, so the lock is not taken from it."
            ));
            lines.push("To join the queue: git locks merge acquire".to_owned());
            lines.push(override_holder(
                "If you know that it is gone, to remove it",
                holder,
            ));
        }
    }
    lines
}

pub(super) fn released(it: &MergeReleased, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    if matches!(it.action, Action::Released) {
        let caller = style.name(&it.plan_id);
        let label = style.good("Released:");
        lines.push(format!("{label} {caller} has let go of the merge lock."));
    } else {
        let why = it
            .message
            .as_deref()
            .unwrap_or("you do not hold the merge lock");
        lines.push(format!("Nothing was released: {}", text::visible(why)));
    }
    if let Some(holder) = &it.holder {
        lines.push(format!(
            "The merge lock is {}.",
            style.held_by(holder, None, None)
        ));
    }
    if it.waiting_count > 0 {
        lines.push(entries(it.waiting_count));
    }
    if let Some(hint) = &it.hint {
        lines.push(format!("hint: {}", text::visible(hint)));
    }
    lines
}

pub(super) fn evicted(it: &MergeEvicted, style: &Style) -> Vec<String> {
    if !matches!(it.action, Action::Released) {
        let why = it
            .message
            .as_deref()
            .unwrap_or("nobody holds the merge lock");
        return vec![format!("Nothing was removed: {}", text::visible(why))];
    }
    let gone = it.reclaimed_from.as_deref().unwrap_or_default();
    let mut lines = vec![format!(
        "{} {}, for which nothing vouched any more, no longer holds the merge lock.",
        style.good("Removed:"),
        style.name(gone),
    )];
    lines.extend(it.waiting_count.filter(|&count| count > 0).map(entries));
    lines.push("Next: git locks merge acquire".to_owned());
    lines
}

pub(super) fn refused(it: &MergeRefused, style: &Style) -> Vec<String> {
    let label = style.bad("Refused:");
    let holder = style.name(it.holder.as_deref().unwrap_or_default());
    let why = match it.reason {
        Refusal::HolderNotProvablyDead => match it.staleness {
            Some(Staleness::Fresh) => format!("{holder} holds the merge lock and is alive."),
            _ => format!(
                "{holder} holds the merge lock, and whether it is gone is {}.",
                style.wait("unknown")
            ),
        },
        Refusal::HolderPresent => {
            format!("the process of {holder} is running; only it can let go of the merge lock.")
        }
        Refusal::OwnParent => format!(
            "{holder} holds the merge lock for the very command that asks: it would wait for itself."
        ),
        Refusal::LockLost => {
            let caller = style.name(&it.plan_id);
            match &it.holder {
                Some(_) => format!("{caller} has lost the merge lock; {holder} holds it now."),
                None => format!("{caller} has lost the merge lock; nobody holds it now."),
            }
        }
    };
    let next = match (it.reason, it.staleness, it.holder.as_deref()) {
        (Refusal::HolderNotProvablyDead, Some(Staleness::Unknown), Some(holder))
            if is_plan_id(holder) =>
        {
            override_holder("If you know that it is gone, to remove it", holder)
        }
        (Refusal::LockLost, _, _) => AFTER_A_LOSS.to_owned(),
        (Refusal::OwnParent, _, _) => inside_run("lock"),
        _ => "Next: git locks merge check".to_owned(),
    };
    vec![format!("{label} {why}"), next]
}

pub(super) fn renewed(it: &MergeRenewed, style: &Style) -> Vec<String> {
    let caller = style.name(&it.plan_id);
    let fence = fence_words(it.fence);
    let first = if matches!(it.action, Action::Renewed) {
        let label = style.good("Renewed:");
        let lease = lease_words(it.expires_at, style);
        format!("{label} {caller} holds the merge lock{fence}{lease}.")
    } else {
        format!("{caller} holds the merge lock{fence} without a lease: nothing to renew.")
    };
    let mut lines = vec![first];
    lines.extend(as_caller("When done", "merge", "release", &it.plan_id));
    lines
}
