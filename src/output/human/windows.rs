//! The rate windows in sentences.

use super::{Style, is_plan_id, option, quote};
use crate::report::{
    Action, WindowBlocked, WindowClaimed, WindowExhausted, WindowReleased, WindowState,
};
use crate::text;

/// "`lead`: git locks merge rate-window `verb` --bot-kind `bot`", where that can be copied.
fn window_command(lead: &str, verb: &str, bot: &str) -> Option<String> {
    let bot = option("--bot-kind", bot)?;
    Some(format!("{lead}: git locks merge rate-window {verb} {bot}"))
}

pub(super) fn claimed(it: &WindowClaimed, style: &Style) -> Vec<String> {
    let verb = match it.action {
        Action::Renewed => "has renewed",
        Action::Reclaimed => "has taken over",
        _ => "has claimed",
    };
    let mut lines = vec![format!(
        "{} {} {verb} the rate window of {} for pull request {}, for {}.",
        style.good("Claimed:"),
        style.name(&it.holder),
        quote(&it.bot_kind),
        it.pr_number,
        text::span(it.seconds_remaining.round()),
    )];
    if let Some(from) = &it.reclaimed_from {
        let from = style.name(from);
        lines.push(format!("It was {from}'s before."));
    }
    lines.push(format!(
        "Attempts used: {} of {}.",
        it.attempts, it.attempt_cap
    ));
    if is_plan_id(&it.plan_id) {
        let command = window_command("When done", "release", &it.bot_kind);
        lines.extend(command.map(|command| format!("{command} --as {}", it.plan_id)));
    }
    lines
}

pub(super) fn blocked(it: &WindowBlocked, style: &Style) -> Vec<String> {
    let request = it
        .pr_number
        .map_or_else(String::new, |number| format!(" for pull request {number}"));
    let mut lines = vec![
        format!(
            "{} {} has the rate window of {}{request}, for another {}.",
            style.wait("Blocked:"),
            style.name(&it.holder),
            quote(&it.bot_kind),
            text::span(it.seconds_remaining.round()),
        ),
        format!("Attempts used: {} of {}.", it.attempts, it.attempt_cap),
    ];
    lines.extend(window_command("Next", "check", &it.bot_kind));
    lines
}

pub(super) fn exhausted(it: &WindowExhausted, style: &Style) -> Vec<String> {
    let mut lines = vec![format!(
        "{} no attempts are left for {} and pull request {}: {} of {} used.",
        style.bad("Refused:"),
        quote(&it.bot_kind),
        it.pr_number,
        it.attempts,
        it.attempt_cap,
    )];
    lines.extend(window_command("Next", "check", &it.bot_kind));
    lines
}

pub(super) fn state(it: &WindowState, style: &Style) -> Vec<String> {
    let bot = quote(&it.bot_kind);
    let request = it
        .pr_number
        .map_or_else(String::new, |number| format!(" for pull request {number}"));
    let first = match &it.holder {
        None => format!("The rate window of {bot} is {}.", style.good("free")),
        Some(holder) => {
            let holder = style.name(holder);
            if it.expired {
                format!("The rate window of {bot}, claimed by {holder}{request}, has ended.")
            } else {
                let left = text::span(it.seconds_remaining.round());
                format!(
                    "The rate window of {bot} is held by {holder}{request}, for another {left}."
                )
            }
        }
    };
    let mut lines = vec![
        first,
        format!("Attempts used: {} of {}.", it.attempts, it.attempt_cap),
    ];
    if it.holder.is_none() || it.expired {
        lines.extend(window_command("Next", "claim", &it.bot_kind));
    }
    lines
}

pub(super) fn released(it: &WindowReleased, style: &Style) -> Vec<String> {
    let bot = quote(&it.bot_kind);
    let first = if matches!(it.action, Action::Released) {
        let label = style.good("Released:");
        let caller = style.name(&it.plan_id);
        format!("{label} {caller} has given back the rate window of {bot}.")
    } else {
        match &it.holder {
            Some(holder) => {
                let holder = style.name(holder);
                format!("Nothing was released: {holder} has the rate window of {bot}.")
            }
            None => format!("Nothing was released: nobody has the rate window of {bot}."),
        }
    };
    vec![
        first,
        format!("Attempts used: {} of {}.", it.attempts, it.attempt_cap),
    ]
}
