//! The verdict on everyone who takes part, each in the world of its own project.

use std::path::Path;

use crate::identity::PlanId;
use crate::liveness::{Evidence, Role, Subject, Terms, Verdict, World, grounds, judge};
use crate::locks::asking::Caller;
use crate::participant::Kind;
use crate::report::Grounds;

use super::own;
use super::state::{BuildState, Entry, Projects, Record, Recorded, Verdicts};

/// What the verdicts of one decision are gathered by.
struct Judge<'a> {
    caller: Option<&'a Caller>,
    own_root: &'a Path,
    terms: &'a Terms,
    projects: &'a dyn Projects,
}

impl BuildState {
    /// Every verdict that a decision for `caller`, whose project is at `own_root` and who has so many
    /// `slots`, may rely on. Behind as many waiters whose processes are there as there may be slots it
    /// matters to nobody whether others' are, but for what concerns the caller itself.
    pub fn judge(
        &self,
        caller: Option<&Caller>,
        own_root: &Path,
        slots: usize,
        terms: &Terms,
        projects: &dyn Projects,
    ) -> Verdicts {
        let judge = Judge {
            caller,
            own_root,
            terms,
            projects,
        };
        let mut verdicts = Verdicts::default();
        for entry in &self.active {
            note(&mut verdicts, entry, judge.on(entry, true, true));
        }
        let recorded = self.waiting.iter().filter_map(|entry| entry.record.known());
        let most = recorded.map(|record| record.slots).fold(slots, usize::max);
        let mut present = 0;
        for entry in &self.waiting {
            let closely = present < most || judge.concerns_caller(entry);
            let verdict = judge.on(entry, false, closely);
            present += usize::from(verdict.present && judge.runs(entry));
            note(&mut verdicts, entry, verdict);
        }
        verdicts
    }
}

/// What the verdict on `entry`, which has a slot or waits, rests on.
pub fn entry_grounds(
    entry: &Entry,
    active: bool,
    own_root: &Path,
    terms: &Terms,
    projects: &dyn Projects,
) -> Grounds {
    let judge = Judge {
        caller: None,
        own_root,
        terms,
        projects,
    };
    judge.grounds_of(entry, active)
}

/// Notes a verdict. Where several entries have one id, it tells nothing but what is true of all.
fn note(verdicts: &mut Verdicts, entry: &Entry, verdict: Verdict) {
    let noted = verdicts.0.entry(entry.id.clone()).or_insert(verdict);
    if *noted != verdict {
        *noted = Verdict::UNKNOWN;
    }
}

impl Judge<'_> {
    fn on(&self, entry: &Entry, active: bool, closely: bool) -> Verdict {
        if entry.record == Recorded::Unreadable {
            return Verdict::UNKNOWN;
        }
        let id = PlanId::parse(entry.plan_id());
        if id.is_none() {
            return Verdict::STALE;
        }
        match self.project_of_plan(entry) {
            Evidence::Alive => {}
            Evidence::Absent => return Verdict::STALE,
            Evidence::Unobservable => return Verdict::UNKNOWN,
        }
        let subject = Subject {
            closely,
            ..self.subject(entry, id.as_ref(), active)
        };
        let mut verdict = Verdict::UNKNOWN;
        self.in_world_of(entry, &mut |world| {
            verdict = judge(&subject, self.terms, world);
        });
        verdict
    }

    /// What that verdict rests on.
    fn grounds_of(&self, entry: &Entry, active: bool) -> Grounds {
        if entry.record == Recorded::Unreadable {
            return Grounds::Lost;
        }
        let id = PlanId::parse(entry.plan_id());
        if id.is_some() && self.project_of_plan(entry) != Evidence::Alive {
            return Grounds::Plan;
        }
        let subject = self.subject(entry, id.as_ref(), active);
        let mut found = Grounds::Lost;
        self.in_world_of(entry, &mut |world| {
            found = grounds(&subject, self.terms, world);
        });
        found
    }

    fn subject<'e>(&self, entry: &'e Entry, id: Option<&'e PlanId>, active: bool) -> Subject<'e> {
        let record = entry.record.known();
        let holds = active && record.is_some_and(|record| record.claimed);
        let active_since = || entry.active_since.unwrap_or(self.terms.now.moment.wall);
        Subject {
            id,
            role: if holds { Role::Holder } else { Role::Waiter },
            record: record.map(|record| &record.who),
            seen_at: if active { active_since() } else { entry.ts },
            closely: false,
            records_lost_at: None,
        }
    }

    /// Whether the project of an entry is there, where it matters: a plan cannot be looked for in one that
    /// is not there, or not to be seen.
    fn project_of_plan(&self, entry: &Entry) -> Evidence {
        let record = entry.record.known();
        let by_plan = record.is_none_or(|record| record.who.kind == Kind::Plan);
        let root = entry.project_root.as_deref().filter(|_| by_plan);
        root.map_or(Evidence::Alive, |root| {
            self.projects.is_there(Path::new(root))
        })
    }

    fn in_world_of(&self, entry: &Entry, look: &mut dyn FnMut(&dyn World)) {
        let root = entry.project_root.as_deref().map(Path::new);
        self.projects.with_world(root, look);
    }

    /// Whether the caller may take the place of this waiter, or need it not be passed over.
    fn concerns_caller(&self, entry: &Entry) -> bool {
        let heir = self.caller.filter(|caller| caller.is_nameless());
        let record = entry.record.known();
        let left = heir.is_some_and(|it| record.is_some_and(|r| it.shares_checkout(&r.who)));
        let is_own = self
            .caller
            .is_some_and(|caller| own::is_of(entry, caller, self.own_root));
        left || is_own || record.is_some_and(|record| record.passed)
    }

    /// Whether the process of this waiter has asked so recently that it is not stopped.
    fn runs(&self, entry: &Entry) -> bool {
        let quiet = |record: &Record| record.who.quiet_for(&self.terms.now);
        let quiet = entry.record.known().and_then(quiet);
        quiet.is_some_and(|quiet| quiet < self.terms.ticket_ttl)
    }
}
