//! Every kind, role and finding; only a participant's own evidence may be looked at.

mod properties;
mod unrecorded;

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::*;
use crate::participant::Grant;

use Evidence::{Absent, Alive, Unobservable};

/// What a look found, by what was looked at; whatever is not listed must not be looked at.
#[derive(Default)]
struct Fake {
    shows: BTreeMap<&'static str, Evidence>,
    asked: RefCell<Vec<&'static str>>,
}

impl Fake {
    fn showing(shows: &[(&'static str, Evidence)]) -> Self {
        Self {
            shows: shows.iter().copied().collect(),
            asked: RefCell::default(),
        }
    }

    fn look(&self, what: &'static str) -> Evidence {
        self.asked.borrow_mut().push(what);
        match self.shows.get(what) {
            Some(evidence) => *evidence,
            None => panic!("looked at {what}, which is not this participant's evidence"),
        }
    }
}

impl World for Fake {
    fn keeps_plans(&self) -> Evidence {
        self.look("keeps_plans")
    }
    fn plan(&self, id: &PlanId) -> Evidence {
        assert_eq!(id.as_str(), "alpha");
        self.look("plan")
    }
    fn worktree(&self, id: &PlanId) -> Evidence {
        assert_eq!(id.as_str(), "alpha");
        self.look("worktree")
    }
    fn process(&self, process: &ProcessId, host: &Host) -> Evidence {
        assert_eq!((process, host), (&child(), &machine("boot", "machine")));
        self.look("process")
    }
    fn presence(&self, name: &str, host: &Host) -> Evidence {
        assert_eq!((name, host), ("me.presence", &machine("boot", "machine")));
        self.look("presence")
    }
}

/// Everything is recorded then.
const THEN: Moment = Moment {
    wall: 1_000_000.0,
    boot: Some(5_000.0),
};
const TTL: f64 = 600.0;
const DEFAULT_TTL: f64 = 3600.0;
const TICKET_TTL: f64 = 900.0;

fn machine(boot: &str, machine: &str) -> Host {
    Host {
        boot_id: Some(boot.to_owned()),
        machine_id: Some(machine.to_owned()),
        ..Host::default()
    }
}

fn child() -> ProcessId {
    ProcessId {
        pid: 77,
        start: "4242".to_owned(),
    }
}

fn record(kind: Kind) -> Participant {
    Participant {
        kind,
        host: machine("boot", "machine").into(),
        ticket: THEN,
        queued_ts: THEN.wall,
        user: 1000,
        inferred: false,
        checkout: None,
        workplace: None,
        reason: None,
        ttl: (kind == Kind::Leased).then_some(TTL),
        lease: (kind == Kind::Leased).then_some(Lease {
            from: THEN,
            seconds: TTL,
        }),
        process: matches!(kind, Kind::Process | Kind::Attached).then(child),
        presence: (kind == Kind::Attached).then(|| "me.presence".to_owned()),
        token: None,
        grant: Some(Grant {
            fence: 1,
            since: THEN,
            made: None,
            temp: None,
        }),
    }
}

/// `elapsed` seconds later on the same boot.
fn later(elapsed: f64) -> Terms {
    at(
        THEN.wall + elapsed,
        5_000.0 + elapsed,
        machine("boot", "machine"),
    )
}

fn at(wall: f64, boot: f64, host: Host) -> Terms {
    Terms {
        now: Now {
            moment: Moment {
                wall,
                boot: Some(boot),
            },
            host,
        },
        default_ttl: DEFAULT_TTL,
        ticket_ttl: TICKET_TTL,
    }
}

fn verdict(role: Role, record: Option<&Participant>, terms: &Terms, world: &Fake) -> Verdict {
    let id = PlanId::parse("alpha").expect("a plan id");
    let subject = Subject {
        id: Some(&id),
        role,
        record,
        seen_at: THEN.wall,
        closely: true,
        records_lost_at: None,
    };
    judge(&subject, terms, world)
}

fn of(staleness: Staleness, present: bool) -> Verdict {
    Verdict {
        staleness,
        mid_recovery: false,
        present,
        orphaned: false,
    }
}

const MID_RECOVERY: Verdict = Verdict {
    mid_recovery: true,
    ..Verdict::FRESH
};

#[test]
fn a_plan_is_judged_by_its_plan_and_its_worktree_in_either_role() {
    let cases: [(&[(&str, Evidence)], Verdict); 5] = [
        (&[("plan", Alive)], Verdict::FRESH),
        (&[("plan", Unobservable)], Verdict::UNKNOWN),
        (&[("plan", Absent), ("worktree", Alive)], MID_RECOVERY),
        (
            &[("plan", Absent), ("worktree", Unobservable)],
            Verdict::UNKNOWN,
        ),
        (&[("plan", Absent), ("worktree", Absent)], Verdict::STALE),
    ];
    for role in [Role::Holder, Role::Waiter] {
        for (shows, expected) in cases {
            // Neither ticket nor time matters to a plan.
            for terms in [later(0.0), later(1e9), at(0.0, 1.0, machine("x", "y"))] {
                let world = Fake::showing(shows);
                let found = verdict(role, Some(&record(Kind::Plan)), &terms, &world);
                assert_eq!(found, expected, "{role:?} {shows:?}");
                assert_eq!(world.asked.borrow().len(), shows.len());
            }
        }
    }
}

#[test]
fn a_process_vouches_for_its_holder_and_for_nothing_else() {
    for (shown, expected) in [
        (Alive, Verdict::FRESH),
        (Absent, Verdict::STALE),
        (Unobservable, Verdict::UNKNOWN),
    ] {
        for terms in [later(0.0), later(1e9)] {
            let world = Fake::showing(&[("process", shown)]);
            let found = verdict(Role::Holder, Some(&record(Kind::Process)), &terms, &world);
            assert_eq!(found, expected, "{shown:?}");
        }
        let world = Fake::showing(&[("process", shown)]);
        let out = later(TICKET_TTL);
        let found = verdict(Role::Waiter, Some(&record(Kind::Process)), &out, &world);
        assert_eq!(found, expected, "a waiter whose ticket ran out: {shown:?}");
    }
    let nameless = Participant {
        process: None,
        ..record(Kind::Process)
    };
    let found = verdict(Role::Holder, Some(&nameless), &later(1e9), &Fake::default());
    assert_eq!(found, Verdict::UNKNOWN);
}

#[test]
fn an_attached_holder_lives_by_its_presence_or_its_child() {
    let (fresh, stale, unknown) = (Staleness::Fresh, Staleness::Stale, Staleness::Unknown);
    for (presence, process, expected, once_expired) in [
        (Alive, None, of(fresh, true), of(fresh, true)),
        (Absent, Some(Alive), of(fresh, true), of(fresh, true)),
        (Absent, Some(Absent), of(stale, false), of(stale, false)),
        (
            Absent,
            Some(Unobservable),
            of(unknown, false),
            of(stale, false),
        ),
        (Unobservable, Some(Alive), of(fresh, true), of(fresh, true)),
        (
            Unobservable,
            Some(Absent),
            of(unknown, false),
            of(stale, false),
        ),
        (
            Unobservable,
            Some(Unobservable),
            of(unknown, false),
            of(stale, false),
        ),
    ] {
        let mut shows = vec![("presence", presence)];
        shows.extend(process.map(|process| ("process", process)));
        // Without a lease of its own the default one, from its grant, bounds the doubt.
        for (terms, expected) in [
            (later(DEFAULT_TTL - 1.0), expected),
            (later(DEFAULT_TTL), once_expired),
        ] {
            let world = Fake::showing(&shows);
            let found = verdict(Role::Holder, Some(&record(Kind::Attached)), &terms, &world);
            assert_eq!(found, expected, "{presence:?} {process:?}");
        }
    }
    let bare = Participant {
        process: None,
        presence: None,
        ..record(Kind::Attached)
    };
    let found = verdict(Role::Holder, Some(&bare), &later(0.0), &Fake::default());
    assert_eq!(found, Verdict::STALE, "nothing was ever recorded of it");
}

#[test]
fn an_attached_holder_elsewhere_stays_unknown_for_ever() {
    let world = Fake::showing(&[("presence", Unobservable), ("process", Unobservable)]);
    let terms = at(9e9, 1.0, machine("other", "elsewhere"));
    let found = verdict(Role::Holder, Some(&record(Kind::Attached)), &terms, &world);
    assert_eq!(found, Verdict::UNKNOWN);
}

#[test]
fn a_recorded_lease_bounds_the_doubt_about_an_attached_holder() {
    let renewed = Participant {
        lease: Some(Lease {
            from: THEN,
            seconds: 60.0,
        }),
        ..record(Kind::Attached)
    };
    let world = Fake::showing(&[("presence", Unobservable), ("process", Absent)]);
    let found = |elapsed| verdict(Role::Holder, Some(&renewed), &later(elapsed), &world);
    assert_eq!(found(59.0), Verdict::UNKNOWN);
    assert_eq!(found(60.0), Verdict::STALE);
}

#[test]
fn an_attached_waiter_is_present_or_not_while_its_ticket_runs() {
    for (presence, process, expected) in [
        (Alive, None, of(Staleness::Fresh, true)),
        (Absent, Some(Alive), of(Staleness::Fresh, true)),
        (Absent, Some(Absent), ORPHAN),
        (Absent, Some(Unobservable), of(Staleness::Fresh, false)),
        (Unobservable, Some(Absent), of(Staleness::Fresh, false)),
        (Unobservable, Some(Alive), of(Staleness::Fresh, true)),
    ] {
        let mut shows = vec![("presence", presence)];
        shows.extend(process.map(|process| ("process", process)));
        let world = Fake::showing(&shows);
        let found = verdict(
            Role::Waiter,
            Some(&record(Kind::Attached)),
            &later(0.0),
            &world,
        );
        assert_eq!(found, expected, "{presence:?} {process:?}");
    }
    let world = Fake::showing(&[("presence", Alive)]);
    let found = verdict(
        Role::Waiter,
        Some(&record(Kind::Attached)),
        &later(1e9),
        &world,
    );
    assert_eq!(
        found,
        of(Staleness::Fresh, true),
        "presence outlives tickets"
    );
}

#[test]
fn a_lease_is_judged_by_the_clock_it_was_made_on() {
    let here = || machine("boot", "machine");
    let rebooted = || machine("next boot", "machine");
    let elsewhere = || machine("theirs", "another");
    let leased = record(Kind::Leased);
    for (name, terms, expected) in [
        ("running", later(TTL - 0.5), Verdict::FRESH),
        ("expired to the second", later(TTL), Verdict::STALE),
        (
            "wall stepped a day ahead",
            at(THEN.wall + 86_400.0, 5_001.0, here()),
            Verdict::FRESH,
        ),
        (
            "wall stepped a day back",
            at(THEN.wall - 86_400.0, 5_000.0 + TTL, here()),
            Verdict::STALE,
        ),
        (
            "rebooted, running",
            at(THEN.wall + 300.0, 20.0, rebooted()),
            Verdict::FRESH,
        ),
        (
            "rebooted, expired",
            at(THEN.wall + TTL, 20.0, rebooted()),
            Verdict::STALE,
        ),
        (
            "rebooted, by this clock before the record was made",
            at(THEN.wall + 700.0, 9_000.0, rebooted()),
            Verdict::UNKNOWN,
        ),
        (
            "elsewhere, running",
            at(THEN.wall + 1.0, 1.0, elsewhere()),
            Verdict::FRESH,
        ),
        (
            "elsewhere, long over",
            at(THEN.wall + 1e9, 1.0, elsewhere()),
            Verdict::UNKNOWN,
        ),
    ] {
        let found = verdict(Role::Holder, Some(&leased), &terms, &Fake::default());
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_holder_without_a_recorded_lease_has_the_default_from_its_grant() {
    let bare = Participant {
        lease: None,
        ticket: Moment {
            wall: 0.0,
            boot: Some(0.0),
        },
        ..record(Kind::Leased)
    };
    let found = |elapsed| verdict(Role::Holder, Some(&bare), &later(elapsed), &Fake::default());
    assert_eq!(found(DEFAULT_TTL - 1.0), Verdict::FRESH);
    assert_eq!(found(DEFAULT_TTL), Verdict::STALE);
}

#[test]
fn a_waiter_without_a_plan_lives_by_its_ticket() {
    for kind in [Kind::Process, Kind::Leased] {
        let waiter = record(kind);
        let found = |terms: &Terms| verdict(Role::Waiter, Some(&waiter), terms, &Fake::default());
        assert_eq!(found(&later(0.0)), Verdict::FRESH, "{kind:?}");
        assert_eq!(found(&later(TICKET_TTL - 1.0)), Verdict::FRESH, "{kind:?}");
        let elsewhere = at(9e9, 1.0, machine("theirs", "another"));
        assert_eq!(found(&elsewhere), Verdict::UNKNOWN, "{kind:?}");
    }
}

#[test]
fn a_leased_waiter_is_gone_when_its_ticket_ran_out_whatever_its_lease_says() {
    let mut waiter = record(Kind::Leased);
    waiter.lease = Some(Lease {
        from: THEN,
        seconds: 1e9,
    });
    let found = verdict(
        Role::Waiter,
        Some(&waiter),
        &later(TICKET_TTL),
        &Fake::default(),
    );
    assert_eq!(found, Verdict::STALE);
}

#[test]
fn text_that_is_no_id_is_dead_and_nothing_is_looked_at() {
    for role in [Role::Holder, Role::Waiter] {
        for recorded in [None, Some(&record(Kind::Leased))] {
            let subject = Subject {
                id: None,
                role,
                record: recorded,
                seen_at: THEN.wall,
                closely: true,
                records_lost_at: Some(9e9),
            };
            let found = judge(&subject, &later(0.0), &Fake::default());
            assert_eq!(found, Verdict::STALE);
        }
    }
}

/// A waiter whose ticket runs, as `judge` finds it where its process is provably gone.
const ORPHAN: Verdict = Verdict {
    orphaned: true,
    ..Verdict::FRESH
};

#[test]
fn only_an_attached_waiter_whose_process_is_provably_gone_is_an_orphan() {
    let all = [Alive, Absent, Unobservable];
    let mut orphans = 0;
    for kind in [Kind::Plan, Kind::Attached, Kind::Process, Kind::Leased] {
        for role in [Role::Holder, Role::Waiter] {
            for elapsed in [0.0, TICKET_TTL - 1.0, TICKET_TTL, 1e9] {
                for (presence, process, plan) in all
                    .into_iter()
                    .flat_map(|a| all.into_iter().map(move |b| (a, b)))
                    .flat_map(|(a, b)| all.into_iter().map(move |c| (a, b, c)))
                {
                    let world = Fake::showing(&[
                        ("presence", presence),
                        ("process", process),
                        ("plan", plan),
                        ("worktree", plan),
                    ]);
                    let found = verdict(role, Some(&record(kind)), &later(elapsed), &world);
                    let expected = kind == Kind::Attached
                        && role == Role::Waiter
                        && elapsed < TICKET_TTL
                        && (presence, process) == (Absent, Absent);
                    assert_eq!(
                        found.orphaned, expected,
                        "{kind:?} {role:?} {elapsed} {presence:?} {process:?}"
                    );
                    assert!(!expected || found == ORPHAN);
                    orphans += u32::from(found.orphaned);
                }
            }
        }
    }
    assert_eq!(orphans, 2 * 3, "whatever its plan is like, at both times");
}

#[test]
fn a_waiter_that_never_started_anything_is_an_orphan_once_its_presence_is_gone() {
    for (shown, expected) in [(Alive, false), (Absent, true), (Unobservable, false)] {
        let waiter = Participant {
            process: None,
            ..record(Kind::Attached)
        };
        let world = Fake::showing(&[("presence", shown)]);
        let found = verdict(Role::Waiter, Some(&waiter), &later(0.0), &world);
        assert_eq!(found.orphaned, expected, "{shown:?}");
        assert_eq!(found.staleness, Staleness::Fresh, "its ticket runs");
        assert_eq!(*world.asked.borrow(), ["presence"]);
    }
}

#[test]
fn an_orphan_by_a_clock_that_cannot_be_compared_is_unknown_and_an_orphan() {
    let elsewhere = at(9e9, 1.0, machine("theirs", "another"));
    let world = Fake::showing(&[("presence", Absent), ("process", Absent)]);
    let found = verdict(
        Role::Waiter,
        Some(&record(Kind::Attached)),
        &elsewhere,
        &world,
    );
    let expected = Verdict {
        orphaned: true,
        ..Verdict::UNKNOWN
    };
    assert_eq!(found, expected);
}
