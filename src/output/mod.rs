//! A report as text: one pure function per format, nothing printed here.
//!
//! The machine formats render the same plain data, every string of it stripped of control
//! characters; the human form writes sentences, every string that came from elsewhere escaped.
//! Whatever the format, the text ends in exactly one newline.

mod human;
mod json;
mod toon;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::cli::Format;
use crate::report::Report;
use crate::text;

pub use human::{Style, notes};

/// `report` in `format`. `style` matters to the human form only.
pub fn render(report: &Report, format: Format, style: &Style) -> String {
    match format {
        Format::Toon => toon::render(&machine(report.to_value())),
        Format::Json => json::render(&machine(report.to_value())),
        Format::Human => human::render(report, style),
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
