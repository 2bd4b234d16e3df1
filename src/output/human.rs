//! The human form: a few plain sentences, then the next command to type.
//!
//! Every string that came from a file, the environment or another user is shown with its
//! control characters escaped. A command is suggested only when it is right as it stands: names
//! are quoted for the shell, a name that is no plan id is never put after `--plan-id`, and a
//! name that had to be escaped is not put into a command at all. `release` and `renew` name the
//! caller, because they act on what that name holds. A suggested `acquire` names nobody: an id
//! given by hand is judged otherwise than one inferred from the checkout, and a report does not
//! say which it was; who waits already is asked to repeat the command that made them wait.

mod windows;

use owo_colors::{OwoColorize as _, Style as Paint};

use crate::identity::PlanId;
use crate::report::{
    Action, Failed, MergeAdmitted, MergeBlocked, MergeEvicted, MergeFree, MergeHeld, MergeRefused,
    MergeReleased, MergeRenewed, Note, Refusal, Report, Staleness,
};
use crate::text;

/// The longest piece of somebody else's text that a sentence quotes, in bytes.
const QUOTE_LIMIT: usize = 300;

/// How the human form is written.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Whether to colour.
    pub color: bool,
    /// The time now, in seconds since the Unix epoch.
    pub now: f64,
}

impl Style {
    fn paint(&self, words: &str, paint: Paint) -> String {
        if self.color {
            words.style(paint).to_string()
        } else {
            words.to_owned()
        }
    }

    fn good(&self, words: &str) -> String {
        self.paint(words, Paint::new().green())
    }

    fn wait(&self, words: &str) -> String {
        self.paint(words, Paint::new().yellow())
    }

    fn bad(&self, words: &str) -> String {
        self.paint(words, Paint::new().red())
    }

    fn bold(&self, words: &str) -> String {
        self.paint(words, Paint::new().bold())
    }

    /// A participant's name; a lock file may hold anything, nothing included.
    fn name(&self, id: &str) -> String {
        if id.is_empty() {
            "an unnamed holder".to_owned()
        } else {
            self.bold(&quote(id))
        }
    }

    /// Seconds until `end`, as people say it.
    fn until(&self, end: f64) -> String {
        // Rounded: an hour granted a few milliseconds ago is still an hour.
        text::span((end - self.now).round())
    }

    /// "held by alpha, for 12m, in /home/you/alpha".
    fn held_by(&self, id: &str, since: Option<f64>, place: Option<&str>) -> String {
        let mut words = format!("held by {}", self.name(id));
        words.push_str(&self.details(since, place));
        words
    }

    /// ", for 12m, in /home/you/alpha", as far as it is known.
    fn details(&self, since: Option<f64>, place: Option<&str>) -> String {
        let mut words = String::new();
        if let Some(since) = since {
            words.push_str(", for ");
            words.push_str(&text::span(self.now - since));
        }
        if let Some(place) = place {
            words.push_str(", in ");
            words.push_str(&text::visible(place));
        }
        words
    }
}

/// `report` in sentences, ending in one newline.
pub(super) fn render(report: &Report, style: &Style) -> String {
    let lines = match report {
        Report::MergeAdmitted(it) => admitted(it, style),
        Report::MergeBlocked(it) => blocked(it, style),
        Report::MergeFree(it) => free(it, style),
        Report::MergeHeld(it) => held(it, style),
        Report::MergeReleased(it) => released(it, style),
        Report::MergeEvicted(it) => evicted(it, style),
        Report::MergeRefused(it) => refused(it, style),
        Report::MergeRenewed(it) => renewed(it, style),
        Report::WindowClaimed(it) => windows::claimed(it, style),
        Report::WindowBlocked(it) => windows::blocked(it, style),
        Report::WindowExhausted(it) => windows::exhausted(it, style),
        Report::WindowState(it) => windows::state(it, style),
        Report::WindowReleased(it) => windows::released(it, style),
        Report::Failed(it) => failed(it, style),
    };
    let mut page = lines.join("\n");
    page.push('\n');
    page
}

/// `notes` for standard error, one line each: warnings always, notes unless `quiet`, details
/// only when `verbose`.
pub fn notes(notes: &[Note], quiet: bool, verbose: bool, color: bool) -> String {
    let style = Style { color, now: 0.0 };
    let mut page = String::new();
    for note in notes {
        let (label, words) = match note {
            Note::Warning(words) => (style.wait("warning:"), words),
            Note::Info(words) if !quiet => (style.bold("note:"), words),
            Note::Detail(words) if verbose => (style.bold("detail:"), words),
            Note::Info(_) | Note::Detail(_) => continue,
        };
        page.push_str(&label);
        page.push(' ');
        page.push_str(&text::visible(words));
        page.push('\n');
    }
    page
}

/// Somebody else's words, escaped, and cut where they are longer than a sentence bears.
fn quote(words: &str) -> String {
    text::visible(&text::clip(words, QUOTE_LIMIT))
}

/// `word` for a suggested command; nothing when it could not be copied from a terminal.
fn word(word: &str) -> Option<String> {
    (text::visible(word) == word).then(|| text::shell_word(word))
}

/// Whether `--plan-id` would take `id`.
fn is_plan_id(id: &str) -> bool {
    PlanId::parse(id).is_some()
}

/// "`lead`: git locks merge `verb` --as `id`", where that command is right.
fn as_caller(lead: &str, verb: &str, id: &str) -> Option<String> {
    is_plan_id(id).then(|| {
        format!(
            "{lead}: git locks merge {verb} --as {}",
            text::shell_word(id)
        )
    })
}

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

fn lease_words(expires_at: Option<f64>, style: &Style) -> String {
    expires_at.map_or_else(String::new, |end| {
        format!(", for {} unless renewed", style.until(end))
    })
}

fn admitted(it: &MergeAdmitted, style: &Style) -> Vec<String> {
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
            "It was taken over from {from}, for which nothing vouched any more."
        ));
    }
    // The holder's own entry stays in the queue and is counted.
    match it.waiting_count {
        0 | 1 => {}
        2 => lines.push("1 other waits for it.".to_owned()),
        count => lines.push(format!("{} others wait for it.", count - 1)),
    }
    lines.extend(as_caller("When done", "release", &it.plan_id));
    lines
}

fn blocked(it: &MergeBlocked, style: &Style) -> Vec<String> {
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
        Some(1) => format!("You are next, as {caller}."),
        Some(place) => format!("You are number {place} in the queue, as {caller}."),
        None if namesake => {
            format!("The holder goes by your name, {caller}: you have no place of your own.")
        }
        None => format!("You have no place in the queue, as {caller}."),
    });
    match &it.blocking_plan_id {
        Some(holder) if it.stale_holder_live_worktree => lines.push(override_holder(
            "That is for a person to decide; to remove it",
            holder,
        )),
        _ => lines.push("Next: git locks merge check".to_owned()),
    }
    let turn = "To take your turn, ask again in the same way";
    lines.push(match it.position {
        Some(_) => format!("{turn}; that keeps your place."),
        None if namesake => {
            format!("{turn}; to have a place, give yourself another name with --as.")
        }
        None => format!("{turn}."),
    });
    lines
}

fn reason_line(reason: Option<&str>) -> Option<String> {
    reason.map(|reason| format!("Reason: {}", quote(reason)))
}

fn free(_: &MergeFree, style: &Style) -> Vec<String> {
    vec![
        format!("The merge lock is {}.", style.good("free")),
        "Next: git locks merge acquire".to_owned(),
    ]
}

fn held(it: &MergeHeld, style: &Style) -> Vec<String> {
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
            lines.extend(as_caller("To renew its lease", "renew", holder));
            lines.extend(as_caller("When done", "release", holder));
        }
        (true, _) => lines.extend(as_caller("When done", "release", holder)),
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

fn released(it: &MergeReleased, style: &Style) -> Vec<String> {
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

fn evicted(it: &MergeEvicted, style: &Style) -> Vec<String> {
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

fn refused(it: &MergeRefused, style: &Style) -> Vec<String> {
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
        (Refusal::LockLost, _, _) => {
            "Stop what relies on it, and acquire it again as you did before.".to_owned()
        }
        (Refusal::OwnParent, _, _) => {
            "Inside a run the lock is held already; keep GIT_LOCKS_LOCK and GIT_LOCKS_TOKEN in the \
             environment to go straight through."
                .to_owned()
        }
        _ => "Next: git locks merge check".to_owned(),
    };
    vec![format!("{label} {why}"), next]
}

fn renewed(it: &MergeRenewed, style: &Style) -> Vec<String> {
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
    lines.extend(as_caller("When done", "release", &it.plan_id));
    lines
}

fn failed(it: &Failed, style: &Style) -> Vec<String> {
    let mut lines = vec![format!(
        "{} {}",
        style.bad("error:"),
        text::visible(&it.error)
    )];
    if let Some(hint) = &it.hint {
        let label = style.bold("hint:");
        lines.push(format!("{label} {}", text::visible(hint)));
    }
    lines
}
