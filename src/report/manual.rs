//! What `git locks man` says.

use serde::Serialize;

use super::Status;

/// `man --install`.
#[derive(Debug, Serialize)]
pub struct ManualInstalled {
    /// Always `success`.
    pub status: Status,
    /// The directory of the pages.
    pub path: String,
    /// Their names.
    pub pages: Vec<String>,
    /// Whether `man` shows these; null where there is no `man` to ask.
    pub found: Option<bool>,
    /// How it would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
