//! A report as text: one pure function per format, nothing printed here.
//!
//! The machine formats render the same plain data, every string of it stripped of control
//! characters; the human form writes sentences, every string that came from elsewhere escaped.
//! Whatever the format, the text ends in exactly one newline, but for the TOON of one of many reports,
//! which an empty line ends.

mod human;
mod json;
mod toon;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::cli::Format;
use crate::report::Report;
use crate::text;

pub use human::{Style, notes, session_consent, session_question};

/// `report` in `format`. `style` matters to the human form only.
pub fn render(report: &Report, format: Format, style: &Style) -> String {
    match format {
        Format::Toon => toon::render(&machine(report.to_value())),
        Format::Json => json::render(&machine(report.to_value())),
        Format::Human => human::render(report, style),
    }
}

/// `report`, one of many that come one after another, in `format`: a JSON object on one line, a TOON
/// document and an empty line, or a line for people.
pub fn render_one(report: &Report, format: Format, style: &Style) -> String {
    match format {
        Format::Toon => render(report, format, style) + "\n",
        Format::Json => format!("{}\n", machine(report.to_value())),
        Format::Human => render(report, format, style),
    }
}

/// `value` with every string in it, keys too, fit for a machine format.
fn machine(value: Value) -> Value {
    match value {
        Value::String(string) => Value::String(text::machine(&string)),
        Value::Array(items) => items.into_iter().map(machine).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, field)| (text::machine(&key), machine(field)))
            .collect(),
        plain => plain,
    }
}
