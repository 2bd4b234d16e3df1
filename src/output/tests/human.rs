//! The human form, word for word.

use super::samples as s;
use super::*;
use crate::report::*;

#[test]
fn admitted() {
    reads(
        &Report::MergeAdmitted(s::admitted()),
        &[
            "Admitted: beta holds the merge lock (fence 7), for 1h unless renewed.",
            "It was still noted for alpha, for which nothing vouches any more.",
            "2 others wait for it.",
            "When done: git locks merge release --as beta",
        ],
    );
    reads(
        &Report::MergeAdmitted(MergeAdmitted {
            action: Action::AlreadyHeld,
            reclaimed: false,
            waiting_count: 0,
            fence: None,
            expires_at: None,
            reclaimed_from: None,
            ..s::admitted()
        }),
        &[
            "Admitted: beta already holds the merge lock.",
            "When done: git locks merge release --as beta",
        ],
    );
    for (count, expected) in [(1, None), (2, Some("1 other waits for it."))] {
        let text = human(&Report::MergeAdmitted(MergeAdmitted {
            waiting_count: count,
            ..s::admitted()
        }));
        assert_eq!(text.lines().find(|line| line.contains("wait")), expected);
    }
}

#[test]
fn blocked() {
    let turn = "To take your turn, ask again in the same way; that keeps your place.";
    reads(
        &Report::MergeBlocked(s::blocked()),
        &[
            "Blocked: the merge lock is held by alpha, for 12m, in /r/wt/alpha.",
            "Reason: rebase, then merge",
            "You are next, as beta.",
            "Next: git locks merge check",
            turn,
        ],
    );
    reads(
        &Report::MergeBlocked(MergeBlocked {
            position: Some(3),
            stale_holder_live_worktree: true,
            holder_since: None,
            holder_where: None,
            reason: None,
            ..s::blocked()
        }),
        &[
            "Blocked: the merge lock is held by alpha.",
            "The holder's plan is gone but its worktree is live, so the lock is not taken from it.",
            "You are number 3 in the queue, as beta.",
            "That is for a person to decide; to remove it: git locks merge release --plan-id alpha",
            turn,
        ],
    );
    reads(
        &Report::MergeBlocked(MergeBlocked {
            blocking_plan_id: None,
            position: Some(2),
            holder_since: None,
            holder_where: None,
            reason: None,
            ..s::blocked()
        }),
        &[
            "Blocked: the merge lock is free, but others are ahead.",
            "You are number 2 in the queue, as beta.",
            "Next: git locks merge check",
            turn,
        ],
    );
    reads(
        &Report::MergeBlocked(MergeBlocked {
            blocking_plan_id: Some("beta".to_owned()),
            position: None,
            holder_since: None,
            holder_where: None,
            reason: None,
            ..s::blocked()
        }),
        &[
            "Blocked: the merge lock is held by beta.",
            "The holder goes by your name, beta: you have no place of your own.",
            "Next: git locks merge check",
            "To take your turn, ask again in the same way; to have a place, give yourself another \
             name with --as.",
        ],
    );
}

#[test]
fn free_and_held() {
    reads(
        &Report::MergeFree(s::free()),
        &["The merge lock is free.", "Next: git locks merge acquire"],
    );
    let held = "The merge lock is held by alpha, for 12m, in /r/wt/alpha.";
    let reason = "Reason: rebase, then merge";
    reads(
        &Report::MergeHeld(s::held()),
        &[held, reason, "To join the queue: git locks merge acquire"],
    );
    reads(
        &Report::MergeHeld(MergeHeld {
            staleness: Staleness::Stale,
            ..s::held()
        }),
        &[
            held,
            reason,
            "The holder is stale: nothing vouches for it, and whoever is next takes the lock.",
            "To remove it: git locks merge release --require-stale",
        ],
    );
    reads(
        &Report::MergeHeld(MergeHeld {
            staleness: Staleness::Unknown,
            reason: None,
            ..s::held()
        }),
        &[
            held,
            "Whether the holder is still there is unknown, so the lock is not taken from it.",
            "To join the queue: git locks merge acquire",
            "If you know that it is gone, to remove it: git locks merge release --plan-id alpha",
        ],
    );
}

#[test]
fn held_by_the_caller() {
    let mine = MergeHeld {
        mine: true,
        reason: None,
        ..s::held()
    };
    let first = "You hold the merge lock as alpha (fence 7), for 12m, in /r/wt/alpha.";
    let done = "When done: git locks merge release --as alpha";
    reads(&Report::MergeHeld(mine), &[first, done]);
    reads(
        &Report::MergeHeld(MergeHeld {
            mine: true,
            staleness: Staleness::Stale,
            reason: None,
            ..s::held()
        }),
        &[
            first,
            "It is stale: whoever is next may take it from you.",
            "To renew its lease: git locks merge renew --as alpha",
            done,
        ],
    );
}

#[test]
fn released_and_removed() {
    reads(
        &Report::MergeReleased(s::released()),
        &["Released: beta has let go of the merge lock."],
    );
    reads(
        &Report::MergeReleased(s::released_noop()),
        &[
            "Nothing was released: beta does not hold the merge lock",
            "The merge lock is held by alpha.",
            "1 entry is left in the queue.",
            "hint: git locks merge release --plan-id alpha",
        ],
    );
    reads(
        &Report::MergeEvicted(s::evicted()),
        &[
            "Removed: alpha, for which nothing vouched any more, no longer holds the merge lock.",
            "2 entries are left in the queue.",
            "Next: git locks merge acquire",
        ],
    );
    reads(
        &Report::MergeEvicted(MergeEvicted {
            action: Action::Noop,
            staleness: None,
            reclaimed_from: None,
            waiting_count: None,
            message: Some("nobody holds it".into()),
            ..s::evicted()
        }),
        &["Nothing was removed: nobody holds it"],
    );
}

#[test]
fn refused_and_renewed() {
    let check = "Next: git locks merge check";
    reads(
        &Report::MergeRefused(s::refused()),
        &["Refused: alpha holds the merge lock and is alive.", check],
    );
    reads(
        &Report::MergeRefused(MergeRefused {
            staleness: Some(Staleness::Unknown),
            ..s::refused()
        }),
        &[
            "Refused: alpha holds the merge lock, and whether it is gone is unknown.",
            "If you know that it is gone, to remove it: git locks merge release --plan-id alpha",
        ],
    );
    reads(
        &Report::MergeRefused(MergeRefused {
            reason: Refusal::HolderPresent,
            staleness: None,
            ..s::refused()
        }),
        &[
            "Refused: the process of alpha is running; only it can let go of the merge lock.",
            check,
        ],
    );
    reads(
        &Report::MergeRefused(s::own_parent()),
        &[
            "Refused: alpha holds the merge lock for the very command that asks: \
             it would wait for itself.",
            "Inside a run the lock is held already; keep GIT_LOCKS_TOKEN in the environment to go \
             straight through.",
        ],
    );
    let again = "Stop what relies on it, and acquire it again as you did before.";
    for (holder, expected) in [
        (Some("alpha"), "alpha holds it now."),
        (None, "nobody holds it now."),
    ] {
        reads(
            &Report::MergeRefused(MergeRefused {
                reason: Refusal::LockLost,
                holder: holder.map(Into::into),
                staleness: None,
                ..s::refused()
            }),
            &[
                &format!("Refused: beta has lost the merge lock; {expected}"),
                again,
            ],
        );
    }
    let done = "When done: git locks merge release --as beta";
    reads(
        &Report::MergeRenewed(s::renewed()),
        &[
            "Renewed: beta holds the merge lock (fence 7), for 1h 30m unless renewed.",
            done,
        ],
    );
    reads(
        &Report::MergeRenewed(MergeRenewed {
            action: Action::Noop,
            expires_at: None,
            ..s::renewed()
        }),
        &[
            "beta holds the merge lock (fence 7) without a lease: nothing to renew.",
            done,
        ],
    );
}

#[test]
fn failures() {
    reads(
        &Report::Failed(s::failed()),
        &[
            "error: 'x y' is not a plan id",
            "hint: use a-z, 0-9 and dashes",
        ],
    );
    reads(
        &Report::Failed(Failed {
            error: s::HOSTILE.into(),
            hint: None,
            ..s::failed()
        }),
        &[r"error: evil\u{1b}[2J\u{202e}\n\u{9b}x\u{7f}"],
    );
}

#[test]
fn hostile_text_is_shown_and_never_suggested() {
    let shown = r"evil\u{1b}[2J\u{202e}\n\u{9b}x\u{7f}";
    reads(
        &Report::MergeHeld(s::hostile_held()),
        &[
            &format!("The merge lock is held by {shown}, for 12m, in {shown}."),
            &format!("Reason: {shown}"),
            "The holder is stale: nothing vouches for it, and whoever is next takes the lock.",
            "To remove it: git locks merge release --require-stale",
        ],
    );
    reads(
        &Report::MergeHeld(MergeHeld {
            staleness: Staleness::Unknown,
            holder_plan_id: "$(reboot)".into(),
            ..MergeHeld {
                reason: None,
                ..s::held()
            }
        }),
        &[
            "The merge lock is held by $(reboot), for 12m, in /r/wt/alpha.",
            "Whether the holder is still there is unknown, so the lock is not taken from it.",
            "To join the queue: git locks merge acquire",
            "If you know that it is gone, to remove it: git locks merge release --require-stale",
        ],
    );
    reads(
        &Report::MergeHeld(MergeHeld {
            holder_plan_id: String::new(),
            holder_since: None,
            holder_where: None,
            reason: None,
            ..s::held()
        }),
        &[
            "The merge lock is held by an unnamed holder.",
            "To join the queue: git locks merge acquire",
        ],
    );
    let reads_claim = |bot: &str, expected: Option<&str>| {
        let text = human(&Report::WindowExhausted(WindowExhausted {
            bot_kind: bot.into(),
            ..s::window_exhausted()
        }));
        assert_eq!(text.lines().nth(1), expected);
    };
    reads_claim(s::HOSTILE, None);
    let command = "Next: git locks merge rate-window check --bot-kind";
    reads_claim("it's", Some(&format!(r"{command} 'it'\''s'")));
    reads_claim("-x", Some(&format!("{command}=-x")));
    reads_claim("$(reboot)", Some(&format!("{command} '$(reboot)'")));
}

#[test]
fn only_a_plan_id_is_suggested_as_one() {
    let longest = "a".repeat(200);
    let too_long = "a".repeat(201);
    let cases = [
        ("a-1", true),
        (longest.as_str(), true),
        (too_long.as_str(), false),
        ("", false),
        ("-a", false),
        ("1a", false),
        ("aB", false),
        ("a b", false),
        ("a$(reboot)", false),
        ("a\n", false),
        ("ä", false),
    ];
    for (id, named) in cases {
        let text = human(&Report::MergeBlocked(MergeBlocked {
            blocking_plan_id: Some(id.into()),
            stale_holder_live_worktree: true,
            ..s::blocked()
        }));
        let by_name = format!("to remove it: git locks merge release --plan-id {id}\n");
        let unnamed = "to remove it: git locks merge release --require-stale\n";
        assert_eq!(text.contains(&by_name), named, "{id:?}");
        assert_eq!(text.contains(unnamed), !named, "{id:?}");

        let text = human(&Report::MergeRenewed(MergeRenewed {
            plan_id: id.into(),
            ..s::renewed()
        }));
        assert_eq!(text.contains("When done"), named, "{id:?}");
    }
    let message = format!("nothing: {}", s::HOSTILE);
    let text = human(&Report::MergeReleased(MergeReleased {
        message: Some(message.clone()),
        hint: Some(message),
        ..s::released_noop()
    }));
    assert!(
        !text.chars().any(|c| c.is_control() && c != '\n'),
        "{text:?}"
    );
}

#[test]
fn long_text_is_cut() {
    let text = human(&Report::MergeBlocked(MergeBlocked {
        blocking_plan_id: Some("x".repeat(9000)),
        reason: Some("y".repeat(9000)),
        ..s::blocked()
    }));
    assert!(text.len() < 1200, "{text}");
    assert!(text.contains("xxx…, for 12m"));
}

#[test]
fn only_newlines_and_only_when_asked_colours() {
    let bright = Style {
        color: true,
        columns: None,
        now: NOW,
    };
    for report in s::all() {
        let plain = human(&report);
        assert!(!plain.chars().any(|c| c.is_control() && c != '\n'));
        assert!(plain.ends_with('\n') && !plain.ends_with("\n\n"));
        assert!(plain.lines().count() <= 7, "{plain}");
        // Colour adds its own codes and changes no word.
        let mut uncoloured = String::new();
        let coloured = render(&report, Format::Human, &bright);
        for (index, piece) in coloured.split("\u{1b}[").enumerate() {
            let words = piece.split_once('m').map_or(piece, |(_, words)| words);
            uncoloured.push_str(if index == 0 { piece } else { words });
        }
        assert_eq!(uncoloured, plain);
    }
    let coloured = |report| render(&report, Format::Human, &bright);
    assert!(
        coloured(Report::MergeAdmitted(s::admitted()))
            .starts_with("\u{1b}[32mAdmitted:\u{1b}[0m \u{1b}[1mbeta\u{1b}[0m holds")
    );
    assert!(coloured(Report::MergeBlocked(s::blocked())).starts_with("\u{1b}[33mBlocked:"));
    assert!(coloured(Report::MergeRefused(s::refused())).starts_with("\u{1b}[31mRefused:"));
    assert!(coloured(Report::Failed(s::failed())).starts_with("\u{1b}[31merror:"));
}

#[test]
fn notes_say_as_much_as_was_asked_for() {
    let all = [
        Note::Detail("d".into()),
        Note::Warning(s::HOSTILE.into()),
        Note::Info("i\nj".into()),
    ];
    let warning = r"warning: evil\u{1b}[2J\u{202e}\n\u{9b}x\u{7f}";
    let cases = [
        (false, false, format!("{warning}\nnote: i\\nj\n")),
        (true, false, format!("{warning}\n")),
        (false, true, format!("detail: d\n{warning}\nnote: i\\nj\n")),
    ];
    for (quiet, verbose, expected) in cases {
        assert_eq!(notes(&all, quiet, verbose, false), expected);
    }
    assert_eq!(notes(&[], false, true, false), "");
    let warning = [Note::Warning("w".into())];
    assert_eq!(
        notes(&warning, false, false, true),
        "\u{1b}[33mwarning:\u{1b}[0m w\n"
    );
}
