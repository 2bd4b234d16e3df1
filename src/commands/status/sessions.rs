//! The sessions' part of `git locks status`.

use super::told;
use crate::commands::context::Context;
use crate::commands::session::peers::{Gathered, gather};
use crate::report::Overview;
use crate::wait::Scene;

/// Adds the sessions of every worktree; `scene` hears of their leases.
pub(super) fn add(overview: &mut Overview, context: &Context, scene: &mut Scene) {
    let gathered = gather(context, None, None, None).unwrap_or_else(|error| Gathered {
        troubles: vec![told(&error)],
        ..Gathered::default()
    });
    scene.watch.extend(gathered.leases);
    overview.sessions = Some(gathered.peers);
    overview.session_errors = gathered.troubles;
}
