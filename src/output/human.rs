//! The human form: a few plain sentences, then the next command to type.
//!
//! Every string that came from a file, the environment or another user is shown with its
//! control characters escaped. A command is suggested only when it is right as it stands: names
//! are quoted for the shell, a name that is no plan id is never put after `--plan-id`, and a
//! name that had to be escaped is not put into a command at all. `release` and `renew` name the
//! caller, because they act on what that name holds. A suggested `acquire` names nobody: an id
//! given by hand is judged otherwise than one inferred from the checkout, and a report does not
//! say which it was; who waits already is asked to repeat the command that made them wait.

mod builds;
mod doctor;
mod hooks;
mod kernels;
mod manual;
mod merges;
mod sessions;
mod status;
mod table;
mod timeline;
mod windows;

pub use sessions::{consent as session_consent, question as session_question};

use owo_colors::{OwoColorize as _, Style as Paint};

use crate::identity::PlanId;
use crate::report::{Failed, Note, Report};
use crate::text;

/// The longest piece of somebody else's text that a sentence quotes, in bytes.
const QUOTE_LIMIT: usize = 300;

/// How a turn is taken by one who is blocked; what it does to its place comes after.
const TO_TAKE_YOUR_TURN: &str = "To take your turn, ask again in the same way";

/// What is left to one whose lock is lost.
const AFTER_A_LOSS: &str = "Stop what relies on it, and acquire it again as you did before.";

/// How the human form is written.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Whether to colour.
    pub color: bool,
    /// The time now, in seconds since the Unix epoch.
    pub now: f64,
    /// How wide a table may be; `None` for as wide as it is.
    pub columns: Option<usize>,
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
        Report::MergeAdmitted(it) => merges::admitted(it, style),
        Report::MergeBlocked(it) => merges::blocked(it, style),
        Report::MergeFree(it) => merges::free(it, style),
        Report::MergeHeld(it) => merges::held(it, style),
        Report::MergeReleased(it) => merges::released(it, style),
        Report::MergeEvicted(it) => merges::evicted(it, style),
        Report::MergeRefused(it) => merges::refused(it, style),
        Report::MergeRenewed(it) => merges::renewed(it, style),
        Report::BuildAcquired(it) => builds::acquired(it, style),
        Report::BuildReleased(it) => builds::released(it, style),
        Report::BuildRefused(it) => builds::refused(it, style),
        Report::BuildRenewed(it) => builds::renewed(it, style),
        Report::BuildQueue(it) => builds::queue(it, style),
        Report::KernelBlocked(it) => kernels::blocked(it, style),
        Report::KernelRefused(it) => kernels::refused(it, style),
        Report::KernelState(it) => kernels::state(it, style),
        Report::KernelPath(it) => kernels::path(it, style),
        Report::WorktreeState(it) => kernels::worktree(it, style),
        Report::WorktreeCleanup(it) => kernels::cleanup(it, style),
        Report::SessionLeased(it) => sessions::leased(it, style),
        Report::SessionBlocked(it) => sessions::blocked(it, style),
        Report::SessionBeside(it) => sessions::beside(it, style),
        Report::SessionDegraded(it) => sessions::degraded(it, style),
        Report::SessionChecked(it) => sessions::checked(it, style),
        Report::SessionTaken(it) => sessions::taken(it, style),
        Report::SessionRefused(it) => sessions::refused(it, style),
        Report::SessionReleased(it) => sessions::released(it, style),
        Report::SessionsFound(it) => sessions::found(it, style),
        Report::Overview(it) => status::overview(it, style),
        Report::Timeline(it) => timeline::timeline(it, style),
        Report::TimelineEntry(it) => timeline::entry(it, style),
        Report::TimelineSummary(it) => timeline::summary(it, style),
        Report::Diagnosis(it) => doctor::diagnosis(it, style),
        Report::HookChanged(it) => hooks::changed(it, style),
        Report::PushStopped(it) => hooks::stopped(it, style),
        Report::ManualInstalled(it) => manual::installed(it, style),
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
    let style = Style {
        color,
        now: 0.0,
        columns: None,
    };
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

/// "`flag` `value`" for a suggested command, where the value can be copied.
fn option(flag: &str, value: &str) -> Option<String> {
    let value = word(value)?;
    // An equals sign, so that a value with a leading dash is not taken for a flag.
    let glue = if value.starts_with('-') { "=" } else { " " };
    Some(format!("{flag}{glue}{value}"))
}

/// Whether `--plan-id` would take `id`.
fn is_plan_id(id: &str) -> bool {
    PlanId::parse(id).is_some()
}

/// "`lead`: git locks `family` `verb` --as `id`", where that command is right.
fn as_caller(lead: &str, family: &str, verb: &str, id: &str) -> Option<String> {
    is_plan_id(id).then(|| {
        format!(
            "{lead}: git locks {family} {verb} --as {}",
            text::shell_word(id)
        )
    })
}

/// Where the caller stands.
fn place_words(position: Option<usize>, caller: &str) -> String {
    match position {
        Some(1) => format!("You are next, as {caller}."),
        Some(place) => format!("You are number {place} in the queue, as {caller}."),
        None => format!("You have no place in the queue, as {caller}."),
    }
}

/// How a caller that is blocked gets its turn.
fn turn_words(position: Option<usize>) -> String {
    match position {
        Some(_) => format!("{TO_TAKE_YOUR_TURN}; that keeps your place."),
        None => format!("{TO_TAKE_YOUR_TURN}."),
    }
}

/// How a caller inside a run gets at the `lock` that the run holds.
fn inside_run(lock: &str) -> String {
    format!(
        "Inside a run the {lock} is held already; keep GIT_LOCKS_TOKEN in the environment to go \
         straight through."
    )
}

fn lease_words(expires_at: Option<f64>, style: &Style) -> String {
    expires_at.map_or_else(String::new, |end| {
        format!(", for {} unless renewed", style.until(end))
    })
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
