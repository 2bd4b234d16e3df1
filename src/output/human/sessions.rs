//! The session leases' reports in sentences.

use super::{Style, option, quote};
use crate::report::{
    Action, Recommendation, SessionBeside, SessionBlocked, SessionChecked, SessionDegraded,
    SessionLeased, SessionNoted, SessionPeer, SessionReason, SessionRefusal, SessionRefused,
    SessionReleased, SessionSource, SessionState, SessionTaken, SessionsFound, Status,
};
use crate::text;

/// Why one session in a checkout is enough.
const WHY_ALONE: &str = "What two sessions write in one checkout gets mixed up.";

/// "session abc (feature, the review), on box, pid 12, begun 2h ago, heard of 3m ago".
fn session(it: &SessionNoted, style: &Style) -> String {
    let label = it.semantic_session_id.as_deref().map(quote);
    let traits = [it.mode.as_deref().map(quote), label];
    let traits: Vec<String> = traits.into_iter().flatten().collect();
    let name = style.name(&it.session_id);
    let mut facts = vec![if traits.is_empty() {
        format!("session {name}")
    } else {
        format!("session {name} ({})", traits.join(", "))
    }];
    facts.extend(it.host.as_deref().map(|host| format!("on {}", quote(host))));
    facts.extend(it.pid.map(|pid| format!("pid {pid}")));
    for (what, at) in [("begun", it.started_at), ("heard of", it.last_heartbeat)] {
        facts.extend(at.map(|at| format!("{what} {} ago", text::span(style.now - at))));
    }
    facts.join(", ")
}

/// What is to be said of the heartbeat of another machine's session.
fn far_away(same_host: Option<bool>) -> &'static str {
    if same_host == Some(false) {
        " It is another machine's: its heartbeat cannot be corroborated here."
    } else {
        ""
    }
}

/// "`lead`: git locks session `verb` --session-id `id`", where that can be copied.
fn as_session(lead: &str, verb: &str, id: &str) -> Option<String> {
    let id = option("--session-id", id)?;
    Some(format!("{lead}: git locks session {verb} {id}"))
}

/// The command by which a session takes the place of whichever is noted.
fn take(id: Option<&str>) -> String {
    let id = id.and_then(|id| option("--session-id", id));
    let id = id.map_or_else(String::new, |id| format!(" {id}"));
    format!("git locks session take --mode MODE{id}")
}

fn path(path: &str) -> String {
    text::visible(path)
}

pub(super) fn leased(it: &SessionLeased, style: &Style) -> Vec<String> {
    let did = match it.action {
        Action::Renewed => "Still noted:",
        _ => "Noted:",
    };
    let mode = it
        .mode
        .as_deref()
        .map_or_else(String::new, |mode| format!(" ({})", quote(mode)));
    let span = text::span(it.ttl_hours * 3600.0);
    let mut lines = vec![format!(
        "{} session {}{mode}, active for {span} after each heartbeat.",
        style.good(did),
        style.name(&it.session_id)
    )];
    lines.extend(as_session("When it is over", "release", &it.session_id));
    lines
}

pub(super) fn blocked(it: &SessionBlocked, style: &Style) -> Vec<String> {
    let label = style.wait("Blocked:");
    let lock = path(&it.lock_path);
    let take = take(Some(&it.session_id));
    let Some(existing) = &it.existing else {
        return vec![
            format!(
                "{label} {lock} makes no sense, so it cannot be told whether a session is at work here."
            ),
            format!("Next: look at it, then put it aside and begin: {take}"),
        ];
    };
    let who = session(existing, style);
    let far = far_away(it.same_host);
    let what = match it.reason {
        SessionReason::StaleHeartbeat => "has been silent for longer than its time to live",
        _ => "is at work in this checkout",
    };
    let mut lines = vec![format!("{label} {who}, {what}.{far}")];
    lines.push(match it.recommendation {
        Recommendation::Abort => format!(
            "Best: leave it alone, and begin when it is over. {WHY_ALONE} Where you know that it has \
             ended: {take}"
        ),
        Recommendation::Reclaim => {
            format!("Best: take its place, since it has most likely ended: {take}")
        }
    });
    lines
}

pub(super) fn beside(it: &SessionBeside, style: &Style) -> Vec<String> {
    let mode = it
        .blocking_mode
        .as_deref()
        .map_or_else(String::new, |mode| format!(" ({})", quote(mode)));
    let who = format!(
        "session {}{mode} is at work in {}",
        style.name(&it.blocking_session_id),
        path(&it.blocking_worktree)
    );
    if it.status == Status::Success {
        let label = style.good("Go ahead:");
        return vec![format!(
            "{label} {who}, and this one only reads: it goes without a lease."
        )];
    }
    let label = style.wait("Blocked:");
    let why = match it.reason {
        SessionReason::ActiveCompatibleParallel => {
            "Both may run side by side, each in a worktree of its own."
        }
        _ => "One of the two wants the repository to itself.",
    };
    vec![
        format!("{label} {who}. {why}"),
        "To see all sessions: git locks session peers".to_owned(),
        "To begin nevertheless, ask without --consider-peers.".to_owned(),
    ]
}

pub(super) fn degraded(it: &SessionDegraded, style: &Style) -> Vec<String> {
    vec![format!(
        "{} no lease could be noted in {}: {}. The session goes on without; nobody is warned of it.",
        style.wait("Degraded:"),
        path(&it.lock_path),
        text::visible(&it.error)
    )]
}

pub(super) fn checked(it: &SessionChecked, style: &Style) -> Vec<String> {
    let lock = path(&it.lock_path);
    match (it.status, &it.existing) {
        (Status::Held, Some(existing)) => {
            let who = session(existing, style);
            let label = match it.mine {
                Some(true) => style.good("Yours:"),
                _ => style.bold("Held:"),
            };
            let far = far_away(it.same_host);
            let state = match it.state {
                Some(SessionState::Stale) => style.wait("stale"),
                _ => "active".to_owned(),
            };
            vec![format!("{label} {who}: {state}.{far}")]
        }
        (Status::Corrupt, _) => vec![
            format!("{} {lock} makes no sense.", style.bad("Corrupt:")),
            format!(
                "Next: look at it, then put it aside and begin: {}",
                take(None)
            ),
        ],
        (Status::Unreadable, _) => {
            let why = it.error.as_deref().map_or_else(String::new, text::visible);
            vec![format!("{} {lock}: {why}.", style.bad("Unreadable:"))]
        }
        _ => vec![format!(
            "{} no session is noted in this checkout.",
            style.good("Free:")
        )],
    }
}

pub(super) fn taken(it: &SessionTaken, style: &Style) -> Vec<String> {
    let own = style.name(&it.session_id);
    let mut lines = vec![format!(
        "{} session {own} is noted in this checkout.",
        style.good("Taken:")
    )];
    match (&it.replaced, it.replaced_state) {
        (_, None | Some(SessionState::Own)) => {}
        (Some(replaced), Some(state)) => {
            let who = session(replaced, style);
            let state = match state {
                SessionState::Active => "was active: make sure that it stops",
                _ => "was stale",
            };
            lines.push(format!("It replaces {who}, which {state}."));
        }
        (None, Some(_)) => {
            let aside = it.set_aside.as_deref().map_or_else(String::new, |aside| {
                format!(", which is kept as {}", path(aside))
            });
            lines.push(format!("It replaces a lease that made no sense{aside}."));
        }
    }
    lines.extend(as_session("When it is over", "release", &it.session_id));
    lines
}

pub(super) fn refused(it: &SessionRefused, style: &Style) -> Vec<String> {
    let label = style.bad("Refused:");
    let lock = path(&it.lock_path);
    let own = style.name(&it.session_id);
    let who = it
        .existing
        .as_ref()
        .map(|existing| session(existing, style));
    let who = who.unwrap_or_else(|| format!("what {lock} says"));
    let first = match it.reason {
        SessionRefusal::NotConfirmed => {
            format!("{label} {who} is in the way, and nobody has said yes.")
        }
        SessionRefusal::NotYours => format!("{label} {own} is not noted here, but {who}."),
        SessionRefusal::NotNoted => format!("{label} {own} is not noted here: no session is."),
        SessionRefusal::Corrupt => format!("{label} {lock} makes no sense."),
        SessionRefusal::Changed => format!("{label} {lock} has changed since it was looked at."),
    };
    let mut lines = vec![first];
    lines.push(match (&it.hint, it.reason) {
        (Some(hint), _) => format!("Next: {}", text::visible(hint)),
        (None, SessionRefusal::NotNoted) => {
            "Next: git locks session acquire --mode MODE".to_owned()
        }
        (None, _) => "Next: git locks session check".to_owned(),
    });
    lines
}

pub(super) fn released(it: &SessionReleased, style: &Style) -> Vec<String> {
    let own = style.name(&it.session_id);
    vec![match it.action {
        Action::Noop => {
            format!("Nothing to do: no session is noted in this checkout, so not {own} either.")
        }
        _ => format!("{} session {own} is over.", style.good("Released:")),
    }]
}

pub(super) fn found(it: &SessionsFound, style: &Style) -> Vec<String> {
    if it.peers.is_empty() {
        let label = style.good("Alone:");
        return vec![format!(
            "{label} no session is noted in any worktree of this repository."
        )];
    }
    let mut lines: Vec<String> = it.peers.iter().map(|peer| row(peer, style)).collect();
    lines.push(match it.live_peers {
        0 => "No session but yours is live.".to_owned(),
        1 => "1 live session is not yours.".to_owned(),
        many => format!("{many} live sessions are not yours."),
    });
    lines
}

/// One session on a line.
fn row(it: &SessionPeer, style: &Style) -> String {
    let state = if it.live {
        style.good("live")
    } else {
        style.wait("stale")
    };
    let mut facts = Vec::new();
    facts.extend(
        it.branch
            .as_deref()
            .map(|branch| format!("on {}", quote(branch))),
    );
    facts.extend(it.mode.as_deref().map(quote));
    facts.extend(it.current_wave.map(|wave| format!("wave {wave}")));
    facts.extend(
        it.age_hours
            .map(|hours| format!("begun {} ago", text::span(hours * 3600.0))),
    );
    facts.extend(
        it.heartbeat_age_minutes
            .map(|minutes| format!("heard of {} ago", text::span(minutes * 60.0))),
    );
    if let (Some(host), Some(false)) = (&it.host, it.same_host) {
        facts.push(format!("on another machine, {}", quote(host)));
    }
    if it.source == SessionSource::StateMd {
        facts.push("told of by its STATE.md alone".to_owned());
    }
    let mine = if it.mine == Some(true) {
        " (yours)"
    } else {
        ""
    };
    format!(
        "{state} {}{mine} in {}: {}",
        style.name(&it.session_id),
        path(&it.worktree),
        facts.join(", ")
    )
}

/// The two choices of a person whose session is blocked, the recommended one first, as `1` and `2`; the
/// answer is given on the last line.
pub fn question(it: &SessionBlocked, style: &Style) -> String {
    let who = it
        .existing
        .as_ref()
        .map(|existing| session(existing, style));
    let who = who.unwrap_or_else(|| path(&it.lock_path));
    let far = far_away(it.same_host);
    let (head, take) = match it.reason {
        SessionReason::StaleHeartbeat => (
            format!(
                "A {who}, is noted here and has been silent for longer than its time to live.{far}"
            ),
            "Take its place: silent for so long, it has most likely ended",
        ),
        _ => (
            format!("Another {who}, is at work in this checkout.{far}"),
            "Take its place: it is not told, and goes on writing here unless it has ended",
        ),
    };
    let leave = format!("Leave it alone, and everything as it is. {WHY_ALONE}");
    let (first, second) = match it.recommendation {
        Recommendation::Abort => (leave.as_str(), take),
        Recommendation::Reclaim => (take, leave.as_str()),
    };
    format!("{head}\n  1. (recommended) {first}\n  2. {second}\nYour choice [1/2]: ")
}

/// What a person is asked before a lease is replaced, ending in `[y/N]`.
pub fn consent(it: &SessionRefused, style: &Style) -> String {
    match (&it.existing, it.state) {
        (Some(existing), Some(SessionState::Active)) => format!(
            "Take the place of {}, which is active? [y/N] ",
            session(existing, style)
        ),
        (Some(existing), _) => format!(
            "Take the place of {}, which is stale? [y/N] ",
            session(existing, style)
        ),
        _ => format!(
            "Put {} aside, which makes no sense? [y/N] ",
            path(&it.lock_path)
        ),
    }
}
