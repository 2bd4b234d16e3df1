//! The rate windows in the human form, word for word.

use super::samples as s;
use super::*;
use crate::report::*;

#[test]
fn rate_windows() {
    let check = "Next: git locks merge rate-window check --bot-kind reviewer";
    reads(
        &Report::WindowClaimed(s::window_claimed()),
        &[
            "Claimed: beta has taken over the rate window of reviewer for pull request 12, for 1h.",
            "It was alpha's before.",
            "Attempts used: 1 of 2.",
            "When done: git locks merge rate-window release --bot-kind reviewer --as beta",
        ],
    );
    reads(
        &Report::WindowBlocked(s::window_blocked()),
        &[
            "Blocked: alpha has the rate window of reviewer for pull request 12, for another 1m.",
            "Attempts used: 1 of 2.",
            check,
        ],
    );
    reads(
        &Report::WindowExhausted(s::window_exhausted()),
        &[
            "Refused: no attempts are left for reviewer and pull request 12: 2 of 2 used.",
            check,
        ],
    );
    let claim = "Next: git locks merge rate-window claim --bot-kind reviewer";
    reads(
        &Report::WindowState(s::window_free()),
        &[
            "The rate window of reviewer is free.",
            "Attempts used: 0 of 2.",
            claim,
        ],
    );
    reads(
        &Report::WindowState(s::window_held()),
        &[
            "The rate window of reviewer is held by alpha for pull request 12, for another 1m.",
            "Attempts used: 1 of 2.",
        ],
    );
    reads(
        &Report::WindowState(WindowState {
            expired: true,
            seconds_remaining: 0.0,
            ..s::window_held()
        }),
        &[
            "The rate window of reviewer, claimed by alpha for pull request 12, has ended.",
            "Attempts used: 1 of 2.",
            claim,
        ],
    );
    reads(
        &Report::WindowReleased(s::window_released()),
        &[
            "Released: beta has given back the rate window of reviewer.",
            "Attempts used: 1 of 2.",
        ],
    );
    for (holder, expected) in [
        (Some("alpha"), "alpha has the rate window of reviewer."),
        (None, "nobody has the rate window of reviewer."),
    ] {
        reads(
            &Report::WindowReleased(WindowReleased {
                action: Action::Noop,
                holder: holder.map(Into::into),
                ..s::window_released()
            }),
            &[
                &format!("Nothing was released: {expected}"),
                "Attempts used: 1 of 2.",
            ],
        );
    }
}
