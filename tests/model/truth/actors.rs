//! Who takes part.

use git_locks::identity::PlanId;
use git_locks::participant::Kind;
use git_locks::sys::host::Host;
use git_locks::sys::process::ProcessId;

pub(super) const NAMES: [&str; 14] = [
    "p0", "p1", "l0", "l1", "w0", "w1", "r0", "r1", "n", "n", "v0", "v1", "q0", "q1",
];
pub(super) const KINDS: [Kind; 14] = [
    Kind::Plan,
    Kind::Plan,
    Kind::Leased,
    Kind::Leased,
    Kind::Process,
    Kind::Process,
    Kind::Attached,
    Kind::Attached,
    Kind::Leased,
    Kind::Leased,
    Kind::Leased,
    Kind::Leased,
    Kind::Attached,
    Kind::Attached,
];
/// Two users share the inferred id `n`; `v1` and the `q`s are calls of one checkout; everyone else
/// names itself.
pub const ACTORS: usize = NAMES.len();
pub(super) const NAMESAKES: std::ops::Range<usize> = 8..10;
/// These wait as processes that are there all the time, and hold as leased.
pub(super) const WAIT_ATTACHED: std::ops::Range<usize> = 10..12;
/// These name nobody and stand in one checkout.
pub(super) const CHECKOUT: std::ops::Range<usize> = 11..14;
/// The number of the process that an actor parked, which may become its command, beside its own.
pub(super) const CHILD: usize = 100;
/// Another program's plan.
pub(super) const OTHER: usize = ACTORS;

pub(super) fn name(who: usize) -> &'static str {
    NAMES.get(who).copied().unwrap_or("other")
}

pub(super) fn kind(who: usize) -> Kind {
    KINDS.get(who).copied().unwrap_or(Kind::Plan)
}

/// Those who run a command under the lock.
pub fn runners() -> Vec<usize> {
    (0..ACTORS)
        .filter(|who| kind(*who) == Kind::Attached)
        .collect()
}

pub(super) fn id(who: usize) -> PlanId {
    PlanId::parse(name(who)).expect("a plan id")
}

pub(super) fn actor(id: &str) -> usize {
    NAMES.iter().position(|name| *name == id).unwrap_or(OTHER)
}

pub(super) fn process_id(pid: usize, start: u32) -> ProcessId {
    ProcessId {
        pid: i32::try_from(pid).expect("small"),
        start: start.to_string(),
    }
}

/// Whether an actor that waits is a process that is there all the time.
pub(super) fn keeps_presence(who: usize) -> bool {
    kind(who) == Kind::Attached || WAIT_ATTACHED.contains(&who)
}

pub(super) fn host() -> Host {
    Host {
        boot_id: Some("boot".to_owned()),
        machine_id: Some("machine".to_owned()),
        ..Host::default()
    }
}
