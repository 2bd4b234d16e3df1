//! The build queue in sentences.

use super::{
    AFTER_A_LOSS, QUOTE_LIMIT, Style, as_caller, inside_run, lease_words, option, place_words,
    quote, turn_words,
};
use crate::report::{
    Action, Admission, BuildAcquired, BuildHolder, BuildQueue, BuildRefused, BuildReleased,
    BuildRenewed, BuildWaiter, Refusal, Staleness, Status,
};
use crate::text;

/// How many of a list are shown.
const SHOWN: usize = 20;

const CHECK: &str = "Next: git locks build check";

pub(super) fn acquired(it: &BuildAcquired, style: &Style) -> Vec<String> {
    let caller = style.name(&it.plan_id);
    if matches!(it.admission, Admission::Blocked) {
        return vec![
            format!("{} {}.", style.wait("Blocked:"), in_the_way(it)),
            place_words(it.position, &caller),
            CHECK.to_owned(),
            turn_words(it.position),
        ];
    }
    let mut lines = vec![
        format!(
            "{} {caller} has {}{}.",
            style.good("Admitted:"),
            slot_words(it.slot),
            lease_words(it.expires_at, style),
        ),
        occupancy(it.active_count, it.max_slots, it.waiting_count) + ".",
    ];
    lines.extend(let_go(it.id.as_deref(), &it.plan_id));
    lines
}

pub(super) fn released(it: &BuildReleased, style: &Style) -> Vec<String> {
    if !matches!(it.action, Action::Released) {
        let why = it.message.as_deref().unwrap_or("there is no such entry");
        let why = text::visible(why);
        return vec![format!("Nothing was released: {why}"), CHECK.to_owned()];
    }
    let mut lines = vec![format!(
        "{} {} has left the build queue.",
        style.good("Released:"),
        whose(it.id.as_deref(), &it.plan_id, style),
    )];
    if let Some(next) = &it.promoted {
        lines.push(format!("A slot has gone to {}.", style.name(next)));
    }
    lines.push(occupancy(it.active_count, it.max_slots, it.waiting_count) + ".");
    lines
}

pub(super) fn refused(it: &BuildRefused, style: &Style) -> Vec<String> {
    let entry = whose(it.id.as_deref(), &it.plan_id, style);
    let (why, next) = match it.reason {
        Refusal::HolderPresent => (
            format!("the process of {entry} is running; only it can let go of its slot."),
            CHECK.to_owned(),
        ),
        Refusal::OwnParent => (
            format!("{entry} has a slot for the very command that asks: it would wait for itself."),
            inside_run("slot"),
        ),
        Refusal::LockLost => (
            format!("{entry} has no slot any more."),
            AFTER_A_LOSS.to_owned(),
        ),
        Refusal::HolderNotProvablyDead => (
            format!("{entry} has a slot and is not provably gone."),
            CHECK.to_owned(),
        ),
    };
    vec![format!("{} {why}", style.bad("Refused:")), next]
}

pub(super) fn renewed(it: &BuildRenewed, style: &Style) -> Vec<String> {
    let entry = whose(Some(&it.id), &it.plan_id, style);
    let slot = slot_words(it.slot);
    let mut lines = vec![if matches!(it.action, Action::Renewed) {
        let label = style.good("Renewed:");
        let lease = lease_words(it.expires_at, style);
        format!("{label} {entry} has {slot}{lease}.")
    } else {
        format!("{entry} has {slot} without a lease: nothing to renew.")
    }];
    lines.extend(let_go(Some(&it.id), &it.plan_id));
    lines
}

pub(super) fn queue(it: &BuildQueue, style: &Style) -> Vec<String> {
    let head = match (it.active_count, it.waiting_count, it.max_slots) {
        (0, 0, 1) => format!("Nobody builds or waits, 1 slot is {}", style.good("free")),
        (0, 0, slots) => format!(
            "Nobody builds or waits, {slots} slots are {}",
            style.good("free")
        ),
        (active, waiting, slots) => occupancy(active, slots, waiting),
    };
    let (path, user) = (quote(&it.queue_path), quote(&it.user));
    let mut lines = vec![format!("{head}: {path} (of {user}).")];
    lines.extend(cut(&it.active, |holder| holder_line(holder, style)));
    lines.extend(cut(&it.waiting, |waiter| waiter_line(waiter, style)));
    lines.extend(disagreement(it));
    lines.extend(leftovers(&it.active));
    let caller = style.name(it.plan_id.as_deref().unwrap_or_default());
    let own = |holder: &BuildHolder| Some(&holder.plan_id) == it.plan_id.as_ref();
    if it.mine && it.active.iter().any(own) {
        lines.push(format!("You have a slot, as {caller}."));
        let id = it.plan_id.as_deref().unwrap_or_default();
        lines.extend(as_caller("When done", "build", "release", id));
    } else if it.mine {
        lines.push("You have a slot, that of the run that this is inside of.".to_owned());
    } else if it.position.is_some() {
        lines.push(place_words(it.position, &caller));
        lines.push(
            "To take your turn, acquire again as you did before; that keeps your place.".to_owned(),
        );
    } else {
        let lead = match it.status {
            Status::Free => "Next",
            _ => "To join the queue",
        };
        lines.push(format!("{lead}: git locks build acquire"));
    }
    lines
}

/// A line for each of the first of `items`, and one for how many more there are.
pub(super) fn cut<T>(items: &[T], line: impl Fn(&T) -> String) -> Vec<String> {
    let more = items.len().saturating_sub(SHOWN);
    let tail = (more > 0).then(|| format!("… and {more} more"));
    items.iter().take(SHOWN).map(line).chain(tail).collect()
}

fn holder_line(it: &BuildHolder, style: &Style) -> String {
    let slot = match it.slot {
        Some(slot) => format!("Slot {slot}"),
        None => "A slot".to_owned(),
    };
    let mut line = format!("{slot}: {}", style.name(&it.plan_id));
    line.push_str(&about(
        it.since,
        it.project_root.as_deref(),
        it.staleness,
        style,
    ));
    line.push_str(&purpose(
        "runs",
        it.command.as_deref(),
        it.reason.as_deref(),
    ));
    line
}

fn waiter_line(it: &BuildWaiter, style: &Style) -> String {
    let mut line = format!("Place {}: {}", it.position, style.name(&it.plan_id));
    line.push_str(&about(
        // 0 is what is not known.
        Some(it.since).filter(|&since| since > 0.0),
        it.project_root.as_deref(),
        it.staleness,
        style,
    ));
    line.push_str(&purpose(
        "will run",
        it.command.as_deref(),
        it.reason.as_deref(),
    ));
    line
}

/// ", for 12m, in /home/you/shop, stale".
fn about(since: Option<f64>, project: Option<&str>, staleness: Staleness, style: &Style) -> String {
    let project = project.map(|project| text::clip(project, QUOTE_LIMIT));
    let mut words = style.details(since, project.as_deref());
    match staleness {
        Staleness::Fresh => {}
        Staleness::Stale => {
            words.push_str(", ");
            words.push_str(&style.wait("stale"));
        }
        Staleness::Unknown => {
            words.push_str(", ");
            words.push_str(&style.wait("unknown"));
            words.push_str(" whether it is there");
        }
    }
    words
}

/// "; runs: make -j8; reason: nightly", as far as it is known.
fn purpose(verb: &str, command: Option<&str>, reason: Option<&str>) -> String {
    [(verb, command), ("reason", reason)]
        .into_iter()
        .filter_map(|(label, said)| Some(format!("; {label}: {}", quote(said?))))
        .collect()
}

/// The numbers of slots that are not the caller's.
fn disagreement(it: &BuildQueue) -> Option<String> {
    let yours = it.max_slots;
    let others: Vec<usize> = it
        .disagreeing_slots
        .iter()
        .copied()
        .filter(|&it| it != yours)
        .collect();
    let said = cut(&others, usize::to_string).join(", ");
    (!said.is_empty()).then(|| {
        format!("Not all go by the same number of slots: you by {yours}, others by {said}.")
    })
}

/// What becomes of those who have a slot and may be gone.
fn leftovers(active: &[BuildHolder]) -> Vec<String> {
    let first = |verdict| active.iter().find(move |it| it.staleness == verdict);
    let stale = first(Staleness::Stale);
    let unknown = first(Staleness::Unknown);
    let removal = stale.map(|_| "Whoever acquires next removes the stale.".to_owned());
    let by_hand = unknown.and_then(|it| {
        let name = quote(&it.plan_id);
        let id = option("--id", &it.id)?;
        Some(format!(
            "If you know that {name} is gone, to remove it: git locks build release {id}"
        ))
    });
    removal.into_iter().chain(by_hand).collect()
}

/// "2 of 5 slots are taken".
fn taken(active: usize, slots: usize) -> String {
    let noun = if slots == 1 { "slot" } else { "slots" };
    let verb = if active == 1 { "is" } else { "are" };
    if active > slots {
        format!("{active} slots {verb} taken, more than your {slots}")
    } else {
        format!("{active} of {slots} {noun} {verb} taken")
    }
}

/// "2 of 5 slots are taken, 1 waits".
fn occupancy(active: usize, slots: usize, waiting: usize) -> String {
    let taken = taken(active, slots);
    match waiting {
        0 => format!("{taken}, nobody waits"),
        1 => format!("{taken}, 1 waits"),
        _ => format!("{taken}, {waiting} wait"),
    }
}

/// Why a caller is not admitted.
fn in_the_way(it: &BuildAcquired) -> String {
    let taken = taken(it.active_count, it.max_slots);
    if it.active_count < it.max_slots && it.position != Some(1) {
        format!("{taken}, but others are ahead")
    } else {
        taken
    }
}

fn slot_words(slot: Option<usize>) -> String {
    match slot {
        Some(slot) => format!("build slot {slot}"),
        None => "a build slot".to_owned(),
    }
}

/// Whether the entry `id` is one of `plan_id`.
fn is_of(id: &str, plan_id: &str) -> bool {
    let rest = id
        .strip_prefix(plan_id)
        .and_then(|rest| rest.strip_prefix(':'));
    rest.is_some_and(|rest| !rest.contains(':'))
}

/// The caller's name where the entry `id` is its own, or none is named; else the entry.
fn whose(id: Option<&str>, caller: &str, style: &Style) -> String {
    match id {
        Some(id) if !is_of(id, caller) => style.name(id),
        _ => style.name(caller),
    }
}

/// The command that lets go of the entry `id`.
fn let_go(id: Option<&str>, caller: &str) -> Option<String> {
    match id {
        Some(id) if !is_of(id, caller) => {
            let id = option("--id", id)?;
            Some(format!("When done: git locks build release {id}"))
        }
        _ => as_caller("When done", "build", "release", caller),
    }
}
