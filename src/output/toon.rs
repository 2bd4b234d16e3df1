//! TOON: one `key: value` a line, strings quoted where they would read as something else.
//!
//! Its canonical numbers have no exponent and no trailing zeros: 0.0 is written `0`.

use serde_json::Value;

/// `value` as TOON, ending in one newline.
pub(super) fn render(value: &Value) -> String {
    match toon_format::encode_default(value) {
        Ok(mut text) => {
            text.push('\n');
            text
        }
        // Only data nested beyond the encoder's limit fails, which no report is; were it to
        // happen, the same data in JSON loses nothing.
        Err(_) => super::json::render(value),
    }
}
