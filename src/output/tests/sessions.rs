//! The session leases in the human form, word for word.

use super::samples::sessions as s;
use super::*;
use crate::report::*;

#[test]
fn noted() {
    reads(
        &Report::SessionLeased(s::leased()),
        &[
            "Noted: session 5a3f (feature), active for 4h after each heartbeat.",
            "When it is over: git locks session release --session-id 5a3f",
        ],
    );
    reads(
        &Report::SessionLeased(s::renewed()),
        &[
            "Still noted: session 5a3f, active for 4h after each heartbeat.",
            "When it is over: git locks session release --session-id 5a3f",
        ],
    );
}

#[test]
fn blocked() {
    reads(
        &Report::SessionBlocked(s::blocked()),
        &[
            "Blocked: session 91c2 (deep, the review), on box, pid 812, begun 2h ago, heard of 15m ago, is at work in this checkout.",
            "Best: leave it alone, and begin when it is over. What two sessions write in one checkout gets mixed up. Where you know that it has ended: git locks session take --mode MODE --session-id 5a3f",
        ],
    );
    reads(
        &Report::SessionBlocked(s::blocked_by_stale()),
        &[
            "Blocked: session 91c2 (deep), on box, pid 812, begun 10h ago, heard of 5h ago, has been silent for longer than its time to live.",
            "Best: take its place, since it has most likely ended: git locks session take --mode MODE --session-id 5a3f",
        ],
    );
    reads(
        &Report::SessionBlocked(s::blocked_from_afar()),
        &[
            "Blocked: session 91c2 (deep), on box, pid 812, begun 10h ago, heard of 5h ago, has been silent for longer than its time to live. It is another machine's: its heartbeat cannot be corroborated here.",
            "Best: leave it alone, and begin when it is over. What two sessions write in one checkout gets mixed up. Where you know that it has ended: git locks session take --mode MODE --session-id 5a3f",
        ],
    );
    reads(
        &Report::SessionBlocked(s::blocked_by_corrupt()),
        &[
            "Blocked: /r/.orchestrator/session.lock makes no sense, so it cannot be told whether a session is at work here.",
            "Next: look at it, then put it aside and begin: git locks session take --mode MODE --session-id 5a3f",
        ],
    );
}

#[test]
fn beside_others() {
    reads(
        &Report::SessionBeside(s::beside()),
        &[
            "Blocked: session 91c2 (deep) is at work in /r/wt. Both may run side by side, each in a worktree of its own.",
            "To see all sessions: git locks session peers",
            "To begin nevertheless, ask without --consider-peers.",
        ],
    );
    reads(
        &Report::SessionBeside(s::beside_alone()),
        &[
            "Blocked: session 91c2 (housekeeping) is at work in /r/wt. One of the two wants the repository to itself.",
            "To see all sessions: git locks session peers",
            "To begin nevertheless, ask without --consider-peers.",
        ],
    );
    reads(
        &Report::SessionBeside(s::bypassing()),
        &[
            "Go ahead: session 91c2 (deep) is at work in /r/wt, and this one only reads: it goes without a lease.",
        ],
    );
}

#[test]
fn degraded() {
    reads(
        &Report::SessionDegraded(s::degraded()),
        &[
            "Degraded: no lease could be noted in /r/.orchestrator/session.lock: cannot create '/r/.orchestrator': Read-only file system. The session goes on without; nobody is warned of it.",
        ],
    );
}

#[test]
fn checks() {
    reads(
        &Report::SessionChecked(s::free()),
        &["Free: no session is noted in this checkout."],
    );
    reads(
        &Report::SessionChecked(s::held()),
        &[
            "Held: session 91c2 (deep, the review), on box, pid 812, begun 2h ago, heard of 15m ago: active.",
        ],
    );
    reads(
        &Report::SessionChecked(s::mine()),
        &[
            "Yours: session 91c2 (deep, the review), on box, pid 812, begun 2h ago, heard of 15m ago: stale. It is another machine's: its heartbeat cannot be corroborated here.",
        ],
    );
    reads(
        &Report::SessionChecked(s::corrupt()),
        &[
            "Corrupt: /r/.orchestrator/session.lock makes no sense.",
            "Next: look at it, then put it aside and begin: git locks session take --mode MODE",
        ],
    );
    reads(
        &Report::SessionChecked(s::unreadable()),
        &[
            "Unreadable: /r/.orchestrator/session.lock: '/r/.orchestrator/session.lock' is not a regular file.",
        ],
    );
}

#[test]
fn taken() {
    reads(
        &Report::SessionTaken(s::taken()),
        &[
            "Taken: session 5a3f is noted in this checkout.",
            "It replaces session 91c2 (deep, the review), on box, pid 812, begun 2h ago, heard of 15m ago, which was active: make sure that it stops.",
            "When it is over: git locks session release --session-id 5a3f",
        ],
    );
    reads(
        &Report::SessionTaken(s::taken_from_corrupt()),
        &[
            "Taken: session 5a3f is noted in this checkout.",
            "It replaces a lease that made no sense, which is kept as /r/.orchestrator/session.lock.corrupt.",
            "When it is over: git locks session release --session-id 5a3f",
        ],
    );
}

#[test]
fn refused() {
    reads(
        &Report::SessionRefused(s::refused()),
        &[
            "Refused: 5a3f is not noted here, but session 91c2 (deep, the review), on box, pid 812, begun 2h ago, heard of 15m ago.",
            "Next: git locks session check",
        ],
    );
    reads(
        &Report::SessionRefused(s::unconfirmed()),
        &[
            "Refused: session 91c2 (deep, the review), on box, pid 812, begun 2h ago, heard of 15m ago is in the way, and nobody has said yes.",
            "Next: git locks session take --yes --mode deep --session-id 5a3f",
        ],
    );
    reads(
        &Report::SessionRefused(s::not_noted()),
        &[
            "Refused: 5a3f is not noted here: no session is.",
            "Next: git locks session acquire --mode MODE",
        ],
    );
}

#[test]
fn released() {
    reads(
        &Report::SessionReleased(s::released(Action::Released)),
        &["Released: session 5a3f is over."],
    );
    reads(
        &Report::SessionReleased(s::released(Action::Noop)),
        &["Nothing to do: no session is noted in this checkout, so not 5a3f either."],
    );
}

#[test]
fn peers() {
    reads(
        &Report::SessionsFound(s::found()),
        &[
            "live 5a3f (yours) in /r: begun 2h ago, heard of 15m ago",
            "live the review in /r/wt: on topic, deep, wave 3, begun 2h ago, told of by its STATE.md alone",
            "stale 91c2 in /r/wt: on topic, deep, wave 3, begun 2h ago, heard of 15m ago, on another machine, elsewhere",
            "1 live session is not yours.",
        ],
    );
    reads(
        &Report::SessionsFound(s::alone()),
        &["Alone: no session is noted in any worktree of this repository."],
    );
}

#[test]
fn questions() {
    let question = |it| crate::output::session_question(&it, &PLAIN);
    let leave = "Leave it alone, and everything as it is. What two sessions write in one checkout \
                 gets mixed up.";
    let take = "Take its place: silent for so long, it has most likely ended";
    assert_eq!(
        question(s::blocked()),
        format!(
            "Another session 91c2 (deep, the review), on box, pid 812, begun 2h ago, heard of 15m \
             ago, is at work in this checkout.\n  1. (recommended) {leave}\n  2. Take its place: it \
             is not told, and goes on writing here unless it has ended\nYour choice [1/2]: "
        )
    );
    let stale = "A session 91c2 (deep), on box, pid 812, begun 10h ago, heard of 5h ago, is noted here \
                 and has been silent for longer than its time to live.";
    assert_eq!(
        question(s::blocked_by_stale()),
        format!("{stale}\n  1. (recommended) {take}\n  2. {leave}\nYour choice [1/2]: ")
    );
    assert_eq!(
        question(s::blocked_from_afar()),
        format!(
            "{stale} It is another machine's: its heartbeat cannot be corroborated here.\n  1. \
             (recommended) {leave}\n  2. {take}\nYour choice [1/2]: "
        )
    );
}
