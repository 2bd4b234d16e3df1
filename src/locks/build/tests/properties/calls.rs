//! What may be asked, in a world made at random: who lives is the world's to say, never a verdict's.

use super::super::*;
use crate::identity::PlanId;
use crate::liveness::{Evidence, Terms, World};
use crate::locks::build::{self, sight::Sight};
use crate::sys::host::Host;
use crate::sys::process::ProcessId;

pub(super) const NAMES: [&str; 4] = ["a", "b", "c", "n"];
pub(super) const MOST: usize = 9;

/// What there is to be seen of each entry, by its number: its plan, its process, its presence.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub of: Vec<[Evidence; 3]>,
    pub keeps_plans: bool,
    /// The presence of whoever calls.
    pub caller: Option<String>,
}

impl World for Seen {
    fn keeps_plans(&self) -> Evidence {
        if self.keeps_plans {
            Evidence::Alive
        } else {
            Evidence::Absent
        }
    }
    fn plan(&self, id: &PlanId) -> Evidence {
        let place = NAMES.iter().position(|name| *name == id.as_str());
        self.of[place.expect("a name")][0]
    }
    fn worktree(&self, _: &PlanId) -> Evidence {
        Evidence::Absent
    }
    fn process(&self, process: &ProcessId, _: &Host) -> Evidence {
        let place = usize::try_from(process.pid).expect("an index");
        self.of.get(place).map_or(Evidence::Alive, |seen| seen[1])
    }
    fn presence(&self, name: &str, _: &Host) -> Evidence {
        if self.caller.as_deref() == Some(name) {
            return Evidence::Alive;
        }
        let number = name.strip_suffix(".presence").and_then(|n| n.parse().ok());
        number.map_or(Evidence::Absent, |n: usize| self.of[n][2])
    }
}

impl Projects for Seen {
    fn is_there(&self, root: &Path) -> Evidence {
        match root.to_str() {
            Some("/gone") => Evidence::Absent,
            Some("/hidden") => Evidence::Unobservable,
            _ => Evidence::Alive,
        }
    }
    fn with_world(&self, _: Option<&Path>, look: &mut dyn FnMut(&dyn World)) {
        look(self);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Call {
    Acquire,
    TryAcquire,
    Release,
    ReleaseId(usize),
    Leave,
    Renew,
    Keep(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub state: BuildState,
    pub seen: Seen,
    pub caller: Caller,
    pub bid: Bid,
    pub rules: Rules<'static>,
}

/// What a call led to.
#[derive(Debug)]
pub(super) struct Done {
    pub state: BuildState,
    pub house: Housekeeping,
    pub admission: Option<Admission>,
    /// What the call itself removed, …
    pub released: Option<String>,
    /// … and who got the slot of that.
    pub successor: Option<String>,
}

impl Scene {
    pub fn judged(&self, state: &BuildState) -> Verdicts {
        let terms = Terms {
            now: self.rules.now.clone(),
            default_ttl: TTL,
            ticket_ttl: 900.0,
        };
        let (root, slots) = (self.rules.project_root, self.rules.slots);
        state.judge(Some(&self.caller), root, slots, &terms, &self.seen)
    }

    /// The entry of that number, wherever it is, or was.
    pub fn entry(&self, number: usize) -> Option<Entry> {
        let mut all = self.state.active.iter().chain(&self.state.waiting);
        let end = format!(":{number}");
        all.find(|entry| entry.id.ends_with(&end)).cloned()
    }

    pub fn by_id(&self, id: &str) -> Option<&Entry> {
        let mut all = self.state.active.iter().chain(&self.state.waiting);
        all.find(|entry| entry.id == id)
    }

    /// Whether an entry may be used by the caller where it is not its process's own.
    pub fn is_detached_own(&self, entry: &Entry) -> bool {
        build::own::is_of(entry, &self.caller, self.rules.project_root)
            && !entry.record.known().is_some_and(build::own::is_run)
    }

    pub fn decide(&self, call: Call, state: &BuildState, fresh: usize) -> Done {
        let fresh = &self.fresh(fresh);
        let all = self.judged(state);
        let (caller, bid, rules) = (&self.caller, &self.bid, &self.rules);
        let mut done = Done {
            state: state.clone(),
            house: Housekeeping::default(),
            admission: None,
            released: None,
            successor: None,
        };
        match call {
            Call::Acquire | Call::TryAcquire => {
                let ask = if call == Call::Acquire {
                    build::acquire
                } else {
                    try_acquire
                };
                let (next, (admission, house)) =
                    ask(state, caller, bid, fresh, Some("make"), &all, rules);
                (done.state, done.house) = (next, house);
                done.admission = Some(admission);
            }
            Call::Release | Call::ReleaseId(_) => {
                let id = match call {
                    Call::ReleaseId(number) => self.entry(number).map(|entry| entry.id),
                    _ => None,
                };
                let named = Target::Id(id.as_deref().unwrap_or("nobody:0"));
                let target = if call == Call::Release {
                    Target::Own
                } else {
                    named
                };
                let (next, (release, house)) = build::release(state, caller, target, &all, rules);
                (done.state, done.house) = (next, house);
                if let Release::Released { id, promoted, .. } = release {
                    done.released = Some(id);
                    done.successor = promoted;
                }
            }
            Call::Leave => {
                let (next, house) = leave(state, caller, &all, rules);
                let own = |entry: &&Entry| build::own::is_of_process(entry, caller);
                done.released = state
                    .active
                    .iter()
                    .chain(&state.waiting)
                    .find(own)
                    .map(|entry| entry.id.clone());
                done.successor = house.promoted.first().cloned();
                (done.state, done.house) = (next, house);
            }
            Call::Renew => done.state = renew(state, caller, Target::Own, bid, &all, rules).0,
            Call::Keep(number) => {
                if let Some(was) = self.entry(number) {
                    let token = was
                        .record
                        .known()
                        .and_then(|record| record.who.token.clone());
                    let bid = Bid {
                        token,
                        ..bid.clone()
                    };
                    done.state = keep(state, caller, &was, &bid, &all, rules).0;
                }
            }
        }
        done
    }

    /// The id of a newcomer's entry, and of one that is made when there is one already.
    pub fn fresh(&self, number: usize) -> String {
        format!("{}:fresh{number}", self.caller.id)
    }

    /// How the entries look to a caller that uses the entry `own`.
    pub fn sees<T>(&self, own: Option<&str>, look: impl FnOnce(&Sight<'_>) -> T) -> T {
        let verdicts = self.judged(&self.state);
        look(&Sight {
            verdicts: &verdicts,
            rules: &self.rules,
            own: own.map(str::to_owned),
        })
    }
}

impl Done {
    /// The id of the caller's entry, where the call has one.
    pub fn own(&self) -> Option<&str> {
        match self.admission.as_ref()? {
            Admission::Admitted(granted) => Some(&granted.id),
            Admission::Blocked(waiting) => waiting.id.as_deref(),
            Admission::Namesake => None,
        }
    }
}
