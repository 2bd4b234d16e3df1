//! `git locks man --install` in sentences.

use super::Style;
use crate::report::ManualInstalled;
use crate::text;

pub(super) fn installed(it: &ManualInstalled, style: &Style) -> Vec<String> {
    let head = style.good("Installed:");
    let mut lines = vec![format!(
        "{head} {} pages in {}",
        it.pages.len(),
        text::visible(&it.path)
    )];
    match it.found {
        Some(true) => lines.push("man finds them: git help locks".to_owned()),
        Some(false) => {}
        None => lines.push("There is no man here to show them: git locks man".to_owned()),
    }
    if let Some(hint) = &it.hint {
        lines.push(format!("{} {}", style.bold("hint:"), text::visible(hint)));
    }
    lines
}
