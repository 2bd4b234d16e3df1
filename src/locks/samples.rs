//! Who takes part in the tests of the locks with a queue.

use crate::identity::PlanId;
use crate::lease::Moment;
use crate::liveness::Verdict;
use crate::locks::asking::{Bid, Caller};
use crate::participant::Kind;
use crate::sys::host::Host;
use crate::sys::process::ProcessId;

/// When everything in these tests happens, unless they say otherwise.
pub const NOW: f64 = 1_000_000.0;
pub const BOOT: f64 = 50_000.0;
pub const TTL: f64 = 600.0;

pub fn id(text: &str) -> PlanId {
    PlanId::parse(text).expect("a plan id")
}

pub fn host() -> Host {
    Host {
        boot_id: Some("boot".to_owned()),
        machine_id: Some("machine".to_owned()),
        pid_ns: Some(1),
        ..Host::default()
    }
}

/// `after` seconds later.
pub fn moment(after: f64) -> Moment {
    Moment {
        wall: NOW + after,
        boot: Some(BOOT + after),
    }
}

pub fn caller(name: &str) -> Caller {
    Caller {
        id: id(name),
        explicit: true,
        user: 1000,
        checkout: Some("here".to_owned()),
        presence: None,
    }
}

pub fn inferred(name: &str, user: u32, checkout: &str) -> Caller {
    Caller {
        explicit: false,
        user,
        checkout: Some(checkout.to_owned()),
        ..caller(name)
    }
}

pub fn bid(kind: Kind) -> Bid {
    Bid {
        kind,
        insists: false,
        ttl: TTL,
        process: matches!(kind, Kind::Process | Kind::Attached).then(|| process(7)),
        token: None,
        workplace: None,
        reason: None,
    }
}

pub fn process(pid: i32) -> ProcessId {
    ProcessId {
        pid,
        start: "1".to_owned(),
    }
}

pub const PRESENT: Verdict = Verdict {
    present: true,
    ..Verdict::FRESH
};

pub const ORPHAN: Verdict = Verdict {
    orphaned: true,
    ..Verdict::FRESH
};

/// A call that names itself, by a process that keeps this presence.
pub fn waits_as(name: &str, presence: &str) -> Caller {
    Caller {
        presence: Some(presence.to_owned()),
        ..caller(name)
    }
}

/// A call that names nobody, by a process that keeps this presence.
pub fn newcomer(name: &str, presence: &str) -> Caller {
    Caller {
        explicit: false,
        ..waits_as(name, presence)
    }
}

/// What a `run` brings along.
pub fn run_bid(token: &str) -> Bid {
    Bid {
        process: Some(process(99)),
        token: Some(token.to_owned()),
        ..bid(Kind::Attached)
    }
}
