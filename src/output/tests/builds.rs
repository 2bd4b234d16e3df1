//! The build queue in the human form, word for word.

use super::samples::HOSTILE;
use super::samples::builds as s;
use super::*;
use crate::report::*;

const CHECK: &str = "Next: git locks build check";

#[test]
fn admitted() {
    reads(
        &Report::BuildAcquired(s::admitted()),
        &[
            "Admitted: beta has build slot 2, for 1h unless renewed.",
            "2 of 5 slots are taken, nobody waits.",
            "When done: git locks build release --as beta",
        ],
    );
    let bare = |max_slots, active_count, waiting_count| {
        Report::BuildAcquired(BuildAcquired {
            max_slots,
            active_count,
            waiting_count,
            slot: None,
            expires_at: None,
            ..s::admitted()
        })
    };
    for (counts, expected) in [
        ((1, 1, 0), "1 of 1 slot is taken, nobody waits."),
        ((5, 1, 1), "1 of 5 slots is taken, 1 waits."),
        ((5, 5, 12), "5 of 5 slots are taken, 12 wait."),
        (
            (2, 4, 0),
            "4 slots are taken, more than your 2, nobody waits.",
        ),
    ] {
        let (max_slots, active_count, waiting_count) = counts;
        reads(
            &bare(max_slots, active_count, waiting_count),
            &[
                "Admitted: beta has a build slot.",
                expected,
                "When done: git locks build release --as beta",
            ],
        );
    }
}

#[test]
fn blocked() {
    let turn = "To take your turn, ask again in the same way; that keeps your place.";
    reads(
        &Report::BuildAcquired(s::blocked()),
        &[
            "Blocked: 5 of 5 slots are taken.",
            "You are number 3 in the queue, as beta.",
            CHECK,
            turn,
        ],
    );
    reads(
        &Report::BuildAcquired(BuildAcquired {
            active_count: 4,
            position: Some(2),
            ..s::blocked()
        }),
        &[
            "Blocked: 4 of 5 slots are taken, but others are ahead.",
            "You are number 2 in the queue, as beta.",
            CHECK,
            turn,
        ],
    );
    reads(
        &Report::BuildAcquired(BuildAcquired {
            active_count: 4,
            position: Some(1),
            ..s::blocked()
        }),
        &[
            "Blocked: 4 of 5 slots are taken.",
            "You are next, as beta.",
            CHECK,
            turn,
        ],
    );
    reads(
        &Report::BuildAcquired(BuildAcquired {
            max_slots: 2,
            position: Some(1),
            ..s::blocked()
        }),
        &[
            "Blocked: 5 slots are taken, more than your 2.",
            "You are next, as beta.",
            CHECK,
            turn,
        ],
    );
    reads(
        &Report::BuildAcquired(s::turned_away()),
        &[
            "Blocked: 5 of 5 slots are taken.",
            "You have no place in the queue, as beta.",
            CHECK,
            "To take your turn, ask again in the same way.",
        ],
    );
}

#[test]
fn released() {
    reads(
        &Report::BuildReleased(s::released()),
        &[
            "Released: beta has left the build queue.",
            &format!("A slot has gone to {}.", s::GAMMA),
            "5 of 5 slots are taken, 1 waits.",
        ],
    );
    reads(
        &Report::BuildReleased(BuildReleased {
            id: Some(s::ALPHA.into()),
            promoted: None,
            active_count: 1,
            ..s::released()
        }),
        &[
            &format!("Released: {} has left the build queue.", s::ALPHA),
            "1 of 5 slots is taken, 1 waits.",
        ],
    );
    reads(
        &Report::BuildReleased(s::released_noop()),
        &[
            "Nothing was released: beta is not in the build queue",
            CHECK,
        ],
    );
}

#[test]
fn refused() {
    reads(
        &Report::BuildRefused(s::refused()),
        &[
            &format!(
                "Refused: the process of {} is running; only it can let go of its slot.",
                s::ALPHA
            ),
            CHECK,
        ],
    );
    reads(
        &Report::BuildRefused(s::lost()),
        &[
            "Refused: beta has no slot any more.",
            "Stop what relies on it, and acquire it again as you did before.",
        ],
    );
    let refused = |reason| {
        Report::BuildRefused(BuildRefused {
            id: Some(s::BETA.into()),
            reason,
            ..s::refused()
        })
    };
    reads(
        &refused(Refusal::OwnParent),
        &[
            "Refused: beta has a slot for the very command that asks: it would wait for itself.",
            "Inside a run the slot is held already; keep GIT_LOCKS_TOKEN in the environment to go \
             straight through.",
        ],
    );
    reads(
        &refused(Refusal::HolderNotProvablyDead),
        &["Refused: beta has a slot and is not provably gone.", CHECK],
    );
}

#[test]
fn renewed() {
    reads(
        &Report::BuildRenewed(s::renewed()),
        &[
            "Renewed: beta has build slot 2, for 1h 30m unless renewed.",
            "When done: git locks build release --as beta",
        ],
    );
    reads(
        &Report::BuildRenewed(BuildRenewed {
            id: s::ALPHA.into(),
            action: Action::Noop,
            slot: None,
            expires_at: None,
            ..s::renewed()
        }),
        &[
            &format!(
                "{} has a build slot without a lease: nothing to renew.",
                s::ALPHA
            ),
            &format!("When done: git locks build release --id {}", s::ALPHA),
        ],
    );
}

/// Only an entry that a shell takes as it is shown is suggested, and never as a flag.
#[test]
fn entries_are_suggested_when_they_can_be_copied() {
    for (id, expected) in [
        ("x:1", Some("--id x:1")),
        ("beta:x:1", Some("--id beta:x:1")),
        ("betabel:1", Some("--id betabel:1")),
        ("-x:1", Some("--id=-x:1")),
        ("$(reboot):1", Some("--id '$(reboot):1'")),
        ("it's", Some(r"--id 'it'\''s'")),
        ("", Some("--id ''")),
        ("beta", Some("--id beta")),
        ("beta:1", Some("--as beta")),
        (HOSTILE, None),
    ] {
        let text = human(&Report::BuildRenewed(BuildRenewed {
            id: id.into(),
            ..s::renewed()
        }));
        let command = expected.map(|words| format!("When done: git locks build release {words}"));
        assert_eq!(text.lines().nth(1), command.as_deref(), "{id:?}");
    }
}

#[test]
fn a_queue() {
    let head = "2 of 2 slots are taken, 1 waits: /home/u/.plan-marshall/build-queue.json (of u).";
    let alpha = "Slot 1: alpha, for 12m, in /r; runs: make -j8; reason: nightly, all";
    let gamma = "Place 1: gamma, for 1m, in /r/other project; will run: cargo test";
    reads(
        &Report::BuildQueue(s::queue()),
        &[
            head,
            alpha,
            "A slot: beta, for 5s, unknown whether it is there",
            gamma,
            "Not all go by the same number of slots: you by 2, others by 3, 5.",
            &format!(
                "If you know that beta is gone, to remove it: git locks build release --id {}",
                s::BETA
            ),
            "To join the queue: git locks build acquire",
        ],
    );
    let agreed = || BuildQueue {
        disagreeing_slots: Vec::new(),
        ..s::queue()
    };
    reads(
        &Report::BuildQueue(BuildQueue {
            mine: true,
            active: vec![
                s::holder(),
                BuildHolder {
                    staleness: Staleness::Stale,
                    ..s::foreign_holder()
                },
            ],
            ..agreed()
        }),
        &[
            head,
            alpha,
            "A slot: beta, for 5s, stale",
            gamma,
            "Whoever acquires next removes the stale.",
            "You have a slot, as beta.",
            "When done: git locks build release --as beta",
        ],
    );
    reads(
        &Report::BuildQueue(BuildQueue {
            plan_id: Some("gamma".into()),
            position: Some(1),
            active: vec![s::holder()],
            ..agreed()
        }),
        &[
            head,
            alpha,
            gamma,
            "You are next, as gamma.",
            "To take your turn, acquire again as you did before; that keeps your place.",
        ],
    );
}

#[test]
fn an_empty_queue() {
    let reads_free = |max_slots, expected: &str| {
        reads(
            &Report::BuildQueue(BuildQueue {
                max_slots,
                ..s::empty_queue()
            }),
            &[
                &format!(
                    "Nobody builds or waits, {expected} free: \
                     /home/u/.plan-marshall/build-queue.json (of u)."
                ),
                "Next: git locks build acquire",
            ],
        );
    };
    reads_free(5, "5 slots are");
    reads_free(1, "1 slot is");
}

#[test]
fn hostile_text_is_shown_and_never_suggested() {
    let shown = r"evil\u{1b}[2J\u{202e}\n\u{9b}x\u{7f}";
    reads(
        &Report::BuildQueue(s::hostile_queue()),
        &[
            &format!("1 of 2 slots is taken, 1 waits: /{shown} (of {shown})."),
            &format!(
                "A slot: {shown}, for 5s, in {shown}, unknown whether it is there; \
                 runs: {shown}; reason: {shown}"
            ),
            &format!(
                "Place 1: an unnamed holder, for 1m, in {shown}; \
                 will run: {shown}; reason: {shown}"
            ),
            "To join the queue: git locks build acquire",
        ],
    );
}

#[test]
fn long_lists_and_long_text_are_cut() {
    let holders = |count| (0..count).map(|_| s::holder()).collect::<Vec<_>>();
    let waiters = |count| (0..count).map(|_| s::waiter()).collect::<Vec<_>>();
    let lines = |active, waiting, slots: usize| {
        human(&Report::BuildQueue(BuildQueue {
            active: holders(active),
            waiting: waiters(waiting),
            disagreeing_slots: (2..=slots + 2).collect(),
            ..s::queue()
        }))
    };
    let text = lines(20, 20, 20);
    assert!(!text.contains('…'), "{text}");
    assert_eq!(text.lines().count(), 43, "{text}");
    let text = lines(21, 500, 23);
    assert_eq!(text.lines().count(), 45, "{text}");
    assert_eq!(text.lines().nth(21), Some("… and 1 more"));
    assert_eq!(text.lines().nth(42), Some("… and 480 more"));
    assert!(text.contains(" 21, 22, … and 3 more.\n"), "{text}");

    let long = || Some("y".repeat(9000));
    let text = human(&Report::BuildQueue(BuildQueue {
        queue_path: "y".repeat(9000),
        user: "y".repeat(9000),
        active: vec![BuildHolder {
            plan_id: "y".repeat(9000),
            project_root: long(),
            command: long(),
            reason: long(),
            ..s::holder()
        }],
        ..s::queue()
    }));
    assert!(text.len() < 2500, "{text}");
}
