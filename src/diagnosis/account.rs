//! What a verdict was drawn from, in words.
//!
//! Nothing is judged here. The one judge of [`crate::liveness`] is shown a world that notes what it is
//! asked and what it answers: what is told is exactly what the verdict rests on, and in that order.

use std::cell::RefCell;
use std::path::Path;

use crate::identity::PlanId;
use crate::lease::{Lease, Standing};
use crate::liveness::{Evidence, Role, Terms, Verdict, World, lease_of, lease_since, ticket_of};
use crate::locks::build::Projects;
use crate::participant::{Kind, Participant};
use crate::report::Staleness;
use crate::sys::host::Host;
use crate::sys::process::ProcessId;
use crate::text;

/// What was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thing {
    Project,
    Plans,
    Plan,
    Worktree,
    Process(i32),
    Presence,
}

/// What was looked at, and what it showed, in the order in which it was.
#[derive(Debug, Default)]
pub struct Notes(RefCell<Vec<(Thing, Evidence)>>);

impl Notes {
    fn note(&self, thing: Thing, evidence: Evidence) -> Evidence {
        let mut seen = self.0.borrow_mut();
        if !seen.contains(&(thing, evidence)) {
            seen.push((thing, evidence));
        }
        evidence
    }
}

/// A world that notes what it is asked.
pub struct Noted<'a> {
    world: &'a dyn World,
    notes: &'a Notes,
}

impl<'a> Noted<'a> {
    /// `world`, of which `notes` are taken.
    pub fn new(world: &'a dyn World, notes: &'a Notes) -> Self {
        Self { world, notes }
    }
}

impl World for Noted<'_> {
    fn keeps_plans(&self) -> Evidence {
        self.notes.note(Thing::Plans, self.world.keeps_plans())
    }

    fn plan(&self, id: &PlanId) -> Evidence {
        self.notes.note(Thing::Plan, self.world.plan(id))
    }

    fn worktree(&self, id: &PlanId) -> Evidence {
        self.notes.note(Thing::Worktree, self.world.worktree(id))
    }

    fn process(&self, process: &ProcessId, host: &Host) -> Evidence {
        let evidence = self.world.process(process, host);
        self.notes.note(Thing::Process(process.pid), evidence)
    }

    fn presence(&self, name: &str, host: &Host) -> Evidence {
        self.notes
            .note(Thing::Presence, self.world.presence(name, host))
    }
}

/// Projects that note what they are asked.
pub struct NotedProjects<'a> {
    projects: &'a dyn Projects,
    notes: &'a Notes,
}

impl<'a> NotedProjects<'a> {
    /// `projects`, of which `notes` are taken.
    pub fn new(projects: &'a dyn Projects, notes: &'a Notes) -> Self {
        Self { projects, notes }
    }
}

impl Projects for NotedProjects<'_> {
    fn is_there(&self, root: &Path) -> Evidence {
        let evidence = self.projects.is_there(root);
        if evidence != Evidence::Alive {
            self.notes.note(Thing::Project, evidence);
        }
        evidence
    }

    fn with_world(&self, root: Option<&Path>, look: &mut dyn FnMut(&dyn World)) {
        let notes = self.notes;
        self.projects
            .with_world(root, &mut |world| look(&Noted::new(world, notes)));
    }
}

/// What is said of one who takes part, besides the evidence that was looked at.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Whether it holds or waits.
    pub role: Role,
    /// What is recorded about it.
    pub record: Option<&'a Participant>,
    /// When its lock file or queue entry was made, in seconds since the Unix epoch.
    pub seen_at: f64,
}

/// What was seen of one who takes part, in words.
pub fn evidence(notes: &Notes, facts: &Facts<'_>, terms: &Terms) -> String {
    let seen = notes.0.borrow();
    let promise = promise(&seen, facts, terms);
    let looked = seen
        .iter()
        .map(|(thing, evidence)| words(*thing, *evidence));
    let all: Vec<String> = promise.into_iter().chain(looked).collect();
    if all.is_empty() {
        "nothing vouches for it".to_owned()
    } else {
        all.join("; ")
    }
}

/// What the record itself promises, or its lack comes to.
fn promise(seen: &[(Thing, Evidence)], facts: &Facts<'_>, terms: &Terms) -> Option<String> {
    let here = &terms.now.host;
    let Some(record) = facts.record else {
        let leased = seen.contains(&(Thing::Plans, Evidence::Absent));
        let lease = lease_since(facts.seen_at, terms);
        return Some(if leased {
            let lease = standing("a lease from when it was made", lease, here, terms);
            format!("there is no record of it: {lease}")
        } else {
            "there is no record of it".to_owned()
        });
    };
    let doubtful = seen
        .iter()
        .any(|(_, evidence)| *evidence == Evidence::Unobservable);
    match (facts.role, record.kind) {
        (_, Kind::Plan) | (Role::Holder, Kind::Process) => None,
        (Role::Waiter, _) => Some(standing(
            "its right to its place",
            ticket_of(record, terms),
            &record.host,
            terms,
        )),
        (Role::Holder, Kind::Attached) if !doubtful => None,
        (Role::Holder, _) => Some(standing(
            "its lease",
            lease_of(record, terms),
            &record.host,
            terms,
        )),
    }
}

/// "its lease runs for another 12m", "its lease ended 3m ago".
fn standing(what: &str, lease: Lease, host: &Host, terms: &Terms) -> String {
    let now = &terms.now;
    let left = lease.seconds - now.elapsed_or_wall(lease.from, host);
    // Rounded: an hour granted a few milliseconds ago is still an hour.
    let (left, over) = (text::span(left.round()), text::span(-left.round()));
    match lease.standing(host, now) {
        Standing::Running => format!("{what} runs for another {left}"),
        Standing::Expired => format!("{what} ended {over} ago"),
        Standing::Unknown => format!(
            "{what} ended {over} ago by a clock that cannot be compared with ours, which proves nothing"
        ),
    }
}

fn words(thing: Thing, evidence: Evidence) -> String {
    use Evidence::{Absent, Alive, Unobservable};
    let said = match (thing, evidence) {
        (Thing::Project, Alive) => "its project is there",
        (Thing::Project, Absent) => "its project is gone",
        (Thing::Project, Unobservable) => "its project cannot be looked at",
        (Thing::Plans, Alive) => "plans are kept there",
        (Thing::Plans, Absent) => "no plans are kept there",
        (Thing::Plans, Unobservable) => "whether plans are kept there cannot be seen",
        (Thing::Plan, Alive) => "its plan is there",
        (Thing::Plan, Absent) => "it has no plan",
        (Thing::Plan, Unobservable) => "whether its plan is there cannot be seen",
        (Thing::Worktree, Alive) => "its worktree is live",
        (Thing::Worktree, Absent) => "it has no live worktree",
        (Thing::Worktree, Unobservable) => "whether its worktree is live cannot be seen",
        (Thing::Presence, Alive) => "its process keeps its presence file locked",
        (Thing::Presence, Absent) => "nobody keeps its presence file locked",
        (Thing::Presence, Unobservable) => "its presence file cannot be looked at",
        (Thing::Process(pid), Alive) => return format!("process {pid} runs"),
        (Thing::Process(pid), Absent) => return format!("process {pid} has ended"),
        (Thing::Process(pid), Unobservable) => {
            return format!("process {pid} cannot be seen from here");
        }
    };
    said.to_owned()
}

/// What a verdict means for one who takes part.
pub fn meaning(verdict: Verdict, role: Role) -> &'static str {
    match (verdict.staleness, role) {
        _ if verdict.mid_recovery => {
            "its plan is gone and its worktree is live: it keeps its place until a person decides"
        }
        _ if verdict.orphaned => {
            "its process is gone: its place is kept for the next call of its checkout, and it is passed over"
        }
        (Staleness::Fresh, Role::Holder) => "it is there",
        (Staleness::Fresh, Role::Waiter) => "it keeps its place",
        (Staleness::Stale, Role::Holder) => "it is provably gone: who asks next takes its place",
        (Staleness::Stale, Role::Waiter) => "it is provably gone: its place keeps nobody waiting",
        (Staleness::Unknown, _) => {
            "it cannot be told whether it is there: nothing is taken from it"
        }
    }
}
