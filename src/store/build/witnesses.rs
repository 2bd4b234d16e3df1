//! The witnesses of those who take part in the build queue, each under its own project.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::identity::PlanId;
use crate::locks::asking::Caller;
use crate::locks::build::{BuildState, Entry, Recorded};
use crate::participant::Kind;
use crate::place::Home;
use crate::report::Note;
use crate::store::ground;
use crate::store::witness::{self, Owner, Stand};
use crate::sys::file;

use super::{BuildStore, QUEUE, everybody};

impl BuildStore<'_> {
    /// Lets programs that know only plans no longer see those who leave. Returns whether there are any.
    pub(super) fn end_witnesses(&self, before: &BuildState, after: &BuildState) -> bool {
        let (was_due, due) = (due(before), due(after));
        let mut over = was_due.difference(&due).peekable();
        let any = over.peek().is_some();
        for (root, id) in over {
            self.remove_witness(Path::new(root), id);
        }
        any
    }

    /// Lets programs that know only plans see the caller alive, where it takes part. A caller that they
    /// cannot see has its place all the same, and is told.
    pub(super) fn see_to_witness(
        &self,
        caller: &Caller,
        own_root: &Path,
        after: &BuildState,
        notes: &mut Vec<Note>,
    ) {
        let due = due(after);
        let own = own_root.to_string_lossy();
        if !due.contains(&(&*own, caller.id.as_str())) {
            // Another program may have removed the entry, which cannot have known of a witness.
            self.remove_witness(own_root, caller.id.as_str());
        } else if let Err(error) = self.make_witness(own_root, &caller.id, after) {
            notes.push(Note::Warning(format!(
                "other programs cannot see that {} takes part, and may remove its entry: {error}",
                caller.id
            )));
        }
    }

    /// Makes the witness of `id` under the project at `root`, where that is a checkout that keeps
    /// plans, or another program is about that looks for one.
    fn make_witness(&self, root: &Path, id: &PlanId, after: &BuildState) -> Result<()> {
        let base = self.base_of(root);
        let wanted = || base.join("plans").is_dir() || self.is_shared(after);
        if !ground::is_checkout(root) || !wanted() {
            return Ok(());
        }
        ground::prepare_base(&base, self.project)?;
        witness::make(self.stand(&base), id, Owner::Build, self.project)
    }

    /// Whether another program uses the queue, or keeps something else in the home root: it judges
    /// everybody by plans, wherever they are from.
    fn is_shared(&self, state: &BuildState) -> bool {
        let foreign = |entry: &Entry| entry.record == Recorded::Not;
        if everybody(state).any(foreign) {
            return true;
        }
        let Ok(names) = std::fs::read_dir(&self.home.root) else {
            return false;
        };
        let mut names = names.flatten().map(|entry| entry.file_name());
        names.any(|name| !is_ours(&name))
    }

    fn remove_witness(&self, root: &Path, id: &str) {
        witness::remove(self.stand(&self.base_of(root)), id, Owner::Build);
    }

    pub(super) fn base_of(&self, root: &Path) -> PathBuf {
        root.join(self.plan_dir).join("local")
    }

    fn stand<'b>(&'b self, base: &'b Path) -> Stand<'b> {
        Stand {
            base,
            plan_dir: self.plan_dir,
        }
    }
}

/// Whether the queue has put what is so called into the home root.
fn is_ours(name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    name == Home::OURS || text.starts_with(QUEUE) || file::is_temp_name(name)
}

/// Whose witnesses are to stand: the project and the plan id of every entry of ours that is no plan's.
fn due(state: &BuildState) -> BTreeSet<(&str, &str)> {
    let entries = everybody(state).filter_map(|entry| {
        let who = &entry.record.known()?.who;
        let root = entry.project_root.as_deref()?;
        (who.kind != Kind::Plan).then_some((root, entry.plan_id()))
    });
    entries.collect()
}
