//! JSON: pretty-printed, fields in wire order, floats always with a decimal point.

use serde_json::Value;

/// `value` as JSON, ending in one newline.
pub(super) fn render(value: &Value) -> String {
    // The alternate form of a `Value` is its pretty-printed JSON, and cannot fail.
    format!("{value:#}\n")
}
