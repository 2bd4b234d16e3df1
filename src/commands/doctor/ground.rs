//! What everything else stands on: the repository, and the settings.

use super::{Found, finding_of};
use crate::commands::context::Context;
use crate::config;
use crate::error::ErrorKind;
use crate::report::FindingKind;

/// What of it cannot be used.
pub(super) fn look(context: &Context) -> Vec<Found> {
    let refused = context.refused.iter().map(|error| {
        let kind = match error.kind() {
            ErrorKind::Usage => FindingKind::BadSetting,
            _ => FindingKind::UnusableRepository,
        };
        finding_of(error, kind)
    });
    let amiss = config::amiss(&context.place, &context.cwd);
    let amiss = amiss
        .iter()
        .map(|error| finding_of(error, FindingKind::BadSetting));
    refused.chain(amiss).map(Found::from).collect()
}
