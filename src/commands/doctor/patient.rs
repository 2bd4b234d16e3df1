//! What the doctor looks at: the two queues as they stand, and where everything is kept.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::remedy::Guarded;
use super::{Found, finding_of, note};
use crate::commands::context::{Context, nearest_existing};
use crate::commands::merge::look;
use crate::config;
use crate::diagnosis::participants::{self, Judged};
use crate::diagnosis::{clocks, holders, slots};
use crate::error::Result;
use crate::liveness::Terms;
use crate::locks::build::{BuildState, Entry};
use crate::locks::merge::MergeState;
use crate::place::Home;
use crate::report::{Examined, FindingKind};
use crate::store::build::BuildStore;
use crate::sys::file;
use crate::titles;

/// A queue as it was read, and the verdicts on those who take part.
pub(super) struct Seen<S> {
    pub state: S,
    pub judged: Vec<Judged>,
}

/// What is looked at.
pub(super) struct Patient<'a> {
    pub context: &'a Context,
    pub terms: Terms,
    /// Whether there is state of a repository: in one, or where `PLAN_BASE_DIR` says.
    pub has_repository: bool,
    /// The home root, where it is safe to use.
    pub home: Option<Home>,
    /// The merge lock, where it could be read.
    pub merge: Option<Seen<MergeState>>,
    /// The build queue, where it could be read.
    pub build: Option<Seen<BuildState>>,
}

impl<'a> Patient<'a> {
    /// Looks at everyone who takes part; what there is to say of them, and what could not be read.
    pub fn examine(context: &'a Context) -> (Self, Vec<Found>) {
        let mut found = Vec::new();
        let place = &context.place;
        let mut patient = Self {
            context,
            terms: context.terms(),
            has_repository: place.common_dir.is_some() || place.base_is_given,
            home: match Home::find(&context.cwd) {
                Ok(home) => Some(home),
                Err(error) => {
                    found.push(finding_of(&error, FindingKind::HomeRoot).into());
                    None
                }
            },
            merge: None,
            build: None,
        };
        note(&mut found, patient.examine_merge());
        note(&mut found, patient.examine_build());
        (patient, found)
    }

    fn examine_merge(&mut self) -> Result<Vec<Found>> {
        if !self.has_repository {
            return Ok(Vec::new());
        }
        let store = self.context.merge_store();
        let (read, world) = (store.peek_all()?, self.context.surroundings());
        let state = look::look(&read, &self.terms, &world).state;
        let judged = participants::of_merge(&state, &self.terms, &world);
        let may_reclaim = is_local(&self.context.place.base);
        let mut findings = holders::findings(&judged, &store.lock_path, may_reclaim);
        findings.extend(clocks::of_merge(&state, &store.lock_path, &self.terms.now));
        self.merge = Some(Seen { state, judged });
        Ok(findings.into_iter().map(Found::from).collect())
    }

    fn examine_build(&mut self) -> Result<Vec<Found>> {
        let Some(store) = self.build_store() else {
            return Ok(Vec::new());
        };
        let (state, path) = (store.peek()?, store.queue_path.clone());
        let place = &self.context.place;
        let cwd = &self.context.cwd;
        let neighbours = self.context.neighbours(&store.ours);
        let root = place.project_root(cwd);
        let judged = participants::of_build(&state, &root, &self.terms, &neighbours);
        let mut findings = holders::findings(&judged, &path, is_local(&path));
        findings.extend(clocks::of_build(&state, &path, &self.terms.now));
        // One that makes no sense is a finding of its own.
        let set = config::all_build_slots(place, cwd).unwrap_or_default();
        findings.extend(slots::finding(&set, &state, &judged, &path));
        self.build = Some(Seen { state, judged });
        Ok(findings.into_iter().map(Found::from).collect())
    }

    /// The build queue's files, where its home root is safe to use.
    pub fn build_store(&self) -> Option<BuildStore<'_>> {
        let context = self.context;
        let home = self.home.as_ref()?;
        Some(BuildStore::new(
            home,
            &context.place.plan_dir,
            context.modes(),
        ))
    }

    /// The ids of those who take part in anything, where that is known of all.
    pub fn taking_part(&self) -> Option<HashSet<&str>> {
        let mut ids = match &self.merge {
            Some(seen) => seen.state.taking_part(),
            None if self.has_repository => return None,
            None => HashSet::new(),
        };
        let build = &self.build.as_ref()?.state;
        let entries = build.active.iter().chain(&build.waiting);
        ids.extend(entries.map(Entry::plan_id));
        Some(ids)
    }

    /// The directories of the repository, each with the guard of what is in it.
    pub fn directories(&self) -> Vec<(PathBuf, Guarded)> {
        let place = &self.context.place;
        let mut all = Vec::new();
        if self.has_repository {
            all.push((place.base.clone(), Guarded::Merge));
            all.push((place.ours.clone(), Guarded::Merge));
            all.push((place.logs.clone(), Guarded::Nothing));
        }
        all.push((titles::directory(&place.ours), Guarded::Nothing));
        if let Some(home) = &self.home {
            all.push((home.root.clone(), Guarded::Build));
            all.push((home.ours(), Guarded::Build));
        }
        let mut known = HashSet::new();
        all.retain(|(directory, _)| known.insert(directory.clone()));
        all
    }

    /// Everyone who takes part, as the report has them.
    pub fn into_rows(self) -> Vec<Examined> {
        let merge = self.merge.into_iter().flat_map(|seen| seen.judged);
        let build = self.build.into_iter().flat_map(|seen| seen.judged);
        merge.chain(build).map(|judged| judged.row).collect()
    }
}

/// Whether locks at `path`, or where it would be, are known to be this machine's own business.
pub(super) fn is_local(path: &Path) -> bool {
    file::is_local(nearest_existing(path))
}
