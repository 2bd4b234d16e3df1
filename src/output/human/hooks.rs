//! `git locks hook` in sentences.

use super::{Style, inside_run, quote};
use crate::report::{HookAction, HookChanged, PushRefusal, PushStopped, Status};
use crate::text;

pub(super) fn changed(it: &HookChanged, style: &Style) -> Vec<String> {
    let path = text::visible(&it.hook_path);
    if it.status == Status::Refused {
        let why = it.message.as_deref().unwrap_or("it cannot be changed");
        let label = style.bad("Refused:");
        let mut lines = vec![format!("{label} {}", text::visible(why))];
        lines.extend(it.hint.as_deref().map(text::visible));
        if let Some(line) = &it.line {
            lines.push(
                "Or have it run this with what git says on standard input, and end when it fails:"
                    .to_owned(),
            );
            lines.push(format!("  {}", text::visible(line)));
        }
        return lines;
    }
    let does = gate(it);
    let mut lines = match it.action {
        Some(HookAction::Installed) => {
            vec![format!("{} {does} ({path})", style.good("Installed:"))]
        }
        Some(HookAction::Added) => vec![format!(
            "{} {does} (added to the hook {path})",
            style.good("Installed:")
        )],
        Some(HookAction::Updated) => vec![format!("{} {does} ({path})", style.good("Updated:"))],
        Some(HookAction::Removed) => vec![format!(
            "{} pushes ask for no lock any more ({path})",
            style.good("Removed:")
        )],
        Some(HookAction::Noop) | None => {
            let why = it.message.as_deref().unwrap_or("nothing was to be done");
            vec![format!("Nothing was changed: {} ({path})", quote(why))]
        }
    };
    lines.extend(it.hint.as_deref().map(text::visible));
    lines
}

/// What the hook does to which pushes.
fn gate(it: &HookChanged) -> String {
    let refs = match it.protect.as_deref() {
        None | Some([]) => "the remote's default branch (else main and master)".to_owned(),
        Some(patterns) => text::visible(&patterns.join(", ")),
    };
    if it.require == Some(true) {
        format!("pushes to {refs} are refused to whoever does not hold the merge lock")
    } else {
        format!("pushes to {refs} take the merge lock")
    }
}

pub(super) fn stopped(it: &PushStopped, style: &Style) -> Vec<String> {
    let refs = refs(it);
    let caller = style.name(&it.plan_id);
    let held = it.holder.as_deref().map(|holder| {
        let held = style.held_by(holder, it.holder_since, it.holder_where.as_deref());
        format!("the merge lock is {held}.")
    });
    let label = if it.status == Status::Blocked {
        style.wait("Blocked:")
    } else {
        style.bad("Refused:")
    };
    let mut lines = Vec::new();
    match it.reason {
        PushRefusal::NotAdmitted => {
            let others = || "the merge lock is free, but others are ahead.".to_owned();
            lines.push(format!("{label} {}", held.unwrap_or_else(others)));
        }
        PushRefusal::NotHeld => {
            lines.push(format!(
                "{label} who pushes to {refs} must hold the merge lock; {caller} does not."
            ));
            lines.push(match held {
                Some(held) => capital(&held),
                None => format!("The merge lock is {}.", style.good("free")),
            });
        }
        PushRefusal::Stale => lines.push(format!(
            "{label} who pushes to {refs} must hold the merge lock; {caller} has it{}, but its time is over.",
            style.details(it.holder_since, None)
        )),
        PushRefusal::OwnParent => {
            let holder = style.name(it.holder.as_deref().unwrap_or_default());
            lines.push(format!(
                "{label} {holder} holds the merge lock{}, for the very command that pushes: it would wait for itself.",
                style.details(it.holder_since, None)
            ));
        }
    }
    let reason = it.holder_reason.as_deref();
    lines.extend(reason.map(|reason| format!("Reason: {}", quote(reason))));
    if it.reason == PushRefusal::NotAdmitted {
        let waited = it.waited.filter(|&waited| waited > 0.0);
        let waited = waited.map(|waited| format!(", after a wait of {}", text::span(waited)));
        let waited = waited.unwrap_or_default();
        lines.push(format!("Nothing is pushed to {refs}{waited}."));
    }
    if let Some(place) = it.position {
        lines.push(format!(
            "Place {place} in the queue is kept for the next push from here, as {caller}."
        ));
    }
    lines.push(if it.reason == PushRefusal::OwnParent {
        inside_run("lock")
    } else {
        format!("To push under the lock: {}", text::visible(&it.command))
    });
    lines
}

/// The refs, as far as they are named.
fn refs(it: &PushStopped) -> String {
    let names: Vec<String> = it.refs.iter().map(|name| quote(name)).collect();
    let more = it.ref_count.saturating_sub(names.len());
    let more = (more > 0).then(|| format!(" and {more} more"));
    names.join(", ") + &more.unwrap_or_default()
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
