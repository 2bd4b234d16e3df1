//! The words of the table of `git locks status`.

use owo_colors::Style as Paint;

use super::super::table::Cell;
use super::super::{QUOTE_LIMIT, Style};
use crate::report::{Grounds, Staleness, Status};
use crate::text;

/// 9990 as "9,990".
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut words = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            words.push(',');
        }
        words.push(digit);
    }
    words
}

/// The place of one who waits, under the lock.
pub(super) fn place(position: usize) -> String {
    format!("  {position}")
}

/// A name that may be anything.
pub(super) fn name_of(id: &str) -> String {
    if id.is_empty() {
        "unnamed".to_owned()
    } else {
        text::visible(&text::clip(id, QUOTE_LIMIT))
    }
}

/// A process, where it is known.
pub(super) fn process(pid: Option<i64>) -> String {
    pid.map_or_else(
        || "not to be seen".to_owned(),
        |pid| format!("process {pid}"),
    )
}

/// "ends in 48m".
pub(super) fn ends(end: f64, style: &Style) -> String {
    if end <= style.now {
        return "has ended".to_owned();
    }
    format!("ends in {}", style.until(end))
}

/// A cell in colour.
pub(super) fn painted(words: &str, paint: Paint) -> Cell {
    Cell {
        text: words.to_owned(),
        paint: Some(paint),
    }
}

/// What a lock is that nobody is shown to have.
pub(super) fn state(status: Status) -> Cell {
    match status {
        Status::Free => painted("free", Paint::new().green()),
        Status::Held => painted("held", Paint::new().yellow()),
        _ => painted("unreadable", Paint::new().red()),
    }
}

/// "fresh (lease)".
pub(super) fn verdict(staleness: Staleness, evidence: Grounds) -> Cell {
    let (word, paint) = match staleness {
        Staleness::Fresh => ("fresh", Paint::new().green()),
        Staleness::Stale => ("stale", Paint::new().yellow()),
        Staleness::Unknown => ("unknown", Paint::new().yellow()),
    };
    let grounds = match evidence {
        Grounds::Presence => "presence",
        Grounds::Process => "process",
        Grounds::Lease => "lease",
        Grounds::Plan => "plan",
        Grounds::Ticket => "ticket",
        Grounds::Age => "age",
        Grounds::Kernel => "kernel",
        Grounds::Lost => "record lost",
        Grounds::Nothing => "nothing",
    };
    painted(&format!("{word} ({grounds})"), paint)
}
