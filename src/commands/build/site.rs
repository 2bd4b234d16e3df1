//! Where a command meets the build queue: whose queue, of which project, by which rules.

use std::path::PathBuf;
use std::time::Duration;

use crate::cli;
use crate::commands::asking::shown;
use crate::commands::context::{Context, nearest_existing};
use crate::config;
use crate::error::Result;
use crate::event_log::{Event, Level};
use crate::evidence::{Neighbours, Surroundings};
use crate::identity::PlanId;
use crate::locks::asking::Caller;
use crate::locks::build::{BuildState, Housekeeping, Rules, Verdicts};
use crate::place::Home;
use crate::store::build::{BuildStore, Committed};
use crate::store::run_configuration;
use crate::sys::file;
use crate::sys::random;
use crate::text;
use crate::titles::{self, Title};

/// The build queue, as it is met from here.
pub(in crate::commands) struct Site<'a> {
    pub context: &'a Context,
    pub home: Home,
    /// The project that builds.
    pub project_root: PathBuf,
    /// Where its plans are.
    project_base: PathBuf,
    /// How many slots the caller goes by.
    pub slots: usize,
    /// The adaptive limit of the project, in seconds.
    limit: u64,
}

/// What a decision came to.
pub(in crate::commands) struct Decided<T> {
    pub outcome: T,
    pub state: BuildState,
    /// Who was given a slot by it, but for the caller.
    promoted: Vec<String>,
}

impl<'a> Site<'a> {
    /// Looks around.
    ///
    /// # Errors
    /// The home root or a setting makes no sense.
    pub fn find(context: &'a Context, slots: &cli::Slots) -> Result<Self> {
        let place = &context.place;
        let site = Self {
            home: Home::find(&context.cwd)?,
            project_root: place.project_root(&context.cwd),
            project_base: place.project_base(&context.cwd),
            slots: config::build_slots(place, &context.cwd, slots.max_slots.as_deref())?,
            limit: run_configuration::limit(&place.base),
            context,
        };
        let queue = text::path(&site.store().queue_path);
        let slots = site.slots;
        let voice = &context.voice;
        voice.detail(format!("the build queue is {queue}; slots: {slots}"));
        Ok(site)
    }

    /// The queue's files.
    pub fn store(&self) -> BuildStore<'_> {
        BuildStore::new(
            &self.home,
            &self.context.place.plan_dir,
            self.context.modes(),
        )
    }

    /// The queue's file, for reports.
    pub fn queue_path(&self) -> String {
        shown(&self.store().queue_path)
    }

    /// The projects of those who take part.
    pub fn neighbours(&self) -> Neighbours<'_> {
        self.context.neighbours(&self.home.ours())
    }

    /// What evidence is looked for of the caller's own plan.
    pub fn world(&self) -> Surroundings<'_> {
        self.context.surroundings_of(&self.project_base)
    }

    /// The rules that decisions follow.
    pub fn rules(&self) -> Rules<'_> {
        let terms = self.context.terms();
        Rules {
            poll_grain: self.context.poll_grain(),
            now: terms.now,
            slots: self.slots,
            limit: self.limit,
            project_root: &self.project_root,
            pass_over: self.context.pass_over(),
            may_reclaim: file::is_local(nearest_existing(&self.home.root)),
        }
    }

    /// The queue as it stands, and the verdicts on it, as `caller` would see them.
    pub fn look(&self, caller: Option<&Caller>) -> Result<(BuildState, Verdicts)> {
        let state = self.store().peek()?;
        let verdicts = self.judge(&state, caller);
        Ok((state, verdicts))
    }

    /// The verdicts on everyone in `state`, as `caller` would see them.
    pub fn judge(&self, state: &BuildState, caller: Option<&Caller>) -> Verdicts {
        let terms = self.context.terms();
        state.judge(
            caller,
            &self.project_root,
            self.slots,
            &terms,
            &self.neighbours(),
        )
    }

    /// Runs a decision for `caller` to its commit, and tells of those that it took a slot from; of those
    /// that it gave one tells [`Self::log_promoted`]. It is not begun any more once `interrupted` says so.
    ///
    /// # Errors
    /// The guard was not to be had, or a system call failed; nothing is lost.
    pub fn decide<T>(
        &self,
        caller: &Caller,
        interrupted: Option<&dyn Fn() -> bool>,
        decision: impl Fn(&BuildState, &Verdicts, &Rules<'_>) -> (BuildState, (T, Housekeeping)),
    ) -> Result<Decided<T>> {
        self.home.prepare()?;
        let rules = self.rules();
        let mut store = self.store();
        if let Some(interrupted) = interrupted {
            store = store.interruptible(interrupted);
        }
        let committed = store.transact(
            caller,
            &self.project_root,
            self.slots,
            self.patience(),
            &|| self.context.terms(),
            &self.neighbours(),
            |state, verdicts, now| {
                let rules = Rules {
                    now: now.clone(),
                    ..rules.clone()
                };
                decision(state, verdicts, &rules)
            },
        )?;
        let Committed {
            outcome: (outcome, housekeeping),
            state,
            departed,
            notes,
        } = committed;
        self.context.voice.say_all(&notes);
        for reaped in &housekeeping.reaped {
            self.context.log(&Event {
                name: "build:reaped-stale",
                level: Level::Warning,
                id: reaped.id.clone(),
                fields: vec![
                    ("held", format!("{:.3}", reaped.held)),
                    ("threshold", reaped.threshold.to_string()),
                ],
            });
        }
        for entry in &departed {
            let here = entry.project_root.as_deref() == Some(&*shown(&self.project_root));
            let plan = PlanId::parse(entry.plan_id()).filter(|_| here);
            if let Some(plan) = plan.filter(|plan| *plan != caller.id) {
                self.set_title(&plan, false, false);
            }
        }
        Ok(Decided {
            outcome,
            state,
            promoted: housekeeping.promoted,
        })
    }

    fn patience(&self) -> Duration {
        self.context.settings.guard_timeout
    }

    /// Tells the timeline of those who were given a slot.
    pub fn log_promoted<T>(&self, decided: &Decided<T>) {
        for id in &decided.promoted {
            self.log("build:acquired", id, &decided.state);
        }
    }

    /// Tells the timeline what happened to the entry `id`.
    pub fn log(&self, name: &'static str, id: &str, state: &BuildState) {
        self.log_with(name, id, None, state);
    }

    /// The same of a waiter.
    pub fn log_blocked(&self, id: &str, waiter: &PlanId, state: &BuildState) {
        self.log_with("build:blocked", id, Some(waiter), state);
    }

    fn log_with(&self, name: &'static str, id: &str, waiter: Option<&PlanId>, state: &BuildState) {
        let waiter = waiter.map(|waiter| ("waiter", waiter.as_str().to_owned()));
        let counts = [
            ("active_count", state.active.len().to_string()),
            ("waiting_count", state.waiting.len().to_string()),
        ];
        self.context.log(&Event {
            name,
            level: Level::Info,
            id: id.to_owned(),
            fields: waiter.into_iter().chain(counts).collect(),
        });
    }

    /// Shows prompts that `id` builds, or that it does no longer.
    pub fn set_title(&self, id: &PlanId, builds: bool, suppressed: bool) {
        let title = builds.then_some(Title::BuildBusy);
        self.context
            .set_title(titles::Owner::BuildQueue, id, title, suppressed);
    }

    /// Learns from a hold of so many seconds how long builds may take here. Best effort: it only
    /// decides when a slot is taken from one that nothing vouches for.
    pub fn learn(&self, held: f64) {
        let place = &self.context.place;
        if place.require_repository().is_err() {
            return;
        }
        let raised = run_configuration::raise(
            &place.base,
            &place.ours,
            held,
            self.context.modes(),
            self.patience(),
        );
        let voice = &self.context.voice;
        match raised {
            Ok(note) => voice.say_all(note.as_slice()),
            Err(error) => voice.detail(format!("the longest build was not noted: {error}")),
        }
    }
}

/// The id of a new entry of `plan`.
pub(super) fn fresh_id(plan: &PlanId) -> Result<String> {
    Ok(format!("{plan}:{}", random::uuid4()?))
}
