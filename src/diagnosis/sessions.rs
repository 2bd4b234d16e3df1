//! Leases that make no sense, or that are over.

use std::path::Path;

use crate::locks::session::{Content, Lease, Sight};
use crate::report::{Finding, FindingKind, SessionState, Severity};
use crate::text;

/// What to say of the lease at `path`, of the checkout in `root`. `judge` says how a session stands.
pub fn finding(
    content: &Content,
    path: &Path,
    root: &Path,
    judge: impl Fn(&Lease) -> Sight,
) -> Option<Finding> {
    match content {
        Content::Free => None,
        Content::Corrupt => Some(corrupt(path, root)),
        Content::Held(lease) => {
            let sight = judge(lease);
            (sight.state == SessionState::Stale).then(|| stale(lease, &sight, path, root))
        }
    }
}

fn corrupt(path: &Path, root: &Path) -> Finding {
    let what = "the lease of a session makes no sense: no session begins here by itself";
    // A lease keeps nobody out of anything: no lock fails for it.
    Finding::new(FindingKind::CorruptFile, Severity::Warning, what)
        .at(path)
        .to_do(format!("look at it, then {}", take(root)))
}

fn stale(lease: &Lease, sight: &Sight, path: &Path, root: &Path) -> Finding {
    let silent = text::span(sight.heartbeat_age_minutes * 60.0);
    let due = text::span(lease.ttl_hours * 3600.0);
    let id = &lease.session_id;
    let (far, next) = if sight.same_host {
        ("", take(root))
    } else {
        let next = format!(
            "make sure on its machine that it is over, then {}",
            take(root)
        );
        (
            "; it is another machine's, and cannot be corroborated here",
            next,
        )
    };
    let what = format!(
        "session '{id}' has not been heard of for {silent}, and its lease ran for {due}{far}"
    );
    Finding::new(FindingKind::StaleSession, Severity::Note, what)
        .at(path)
        .to_do(next)
}

/// How a session takes the place of the one that is noted in the checkout in `root`.
fn take(root: &Path) -> String {
    match text::typed(root) {
        Some(root) => format!("git -C {root} locks session take --mode MODE"),
        None => "git locks session take --mode MODE".to_owned(),
    }
}
