//! The projects of one machine, each a place to look for evidence.
//!
//! An entry of the build queue is judged by its own project, and the same from wherever one looks:
//! plans are in `<root>/<plan dir>/local`, worktrees registered with what `<root>/.git` leads to. Only
//! under `PLAN_BASE_DIR` does the caller know better where its own plans are.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::identity::PlanId;
use crate::liveness::{Evidence, World};
use crate::locks::build::Projects;
use crate::place::{self, Place};
use crate::store::ground;
use crate::sys::host::Host;
use crate::sys::process::ProcessId;

use super::{Registry, Surroundings, absent_if_missing};

/// The projects of this machine, for one call: where each keeps its things is looked up once.
#[derive(Debug)]
pub struct Neighbours<'a> {
    /// The caller's own project.
    own_root: PathBuf,
    plan_dir: &'a OsStr,
    presence: PathBuf,
    host: Host,
    known: RefCell<HashMap<PathBuf, Rc<Project>>>,
}

/// Where a project keeps its things.
#[derive(Debug)]
struct Project {
    base: PathBuf,
    /// Where git registers worktrees, where there is git; or that it cannot be told.
    common_dir: Result<Option<PathBuf>, Evidence>,
    registry: RefCell<Option<Registry>>,
    /// Whether it is there, once it was looked for.
    is_there: OnceCell<Evidence>,
}

impl<'a> Neighbours<'a> {
    /// The projects as a caller in `cwd` sees them, whose own is that of `place`. Presence files are in
    /// `presence`.
    pub fn around(place: &'a Place, cwd: &Path, presence: PathBuf, host: Host) -> Self {
        let own_root = place.project_root(cwd);
        let own = Project {
            base: place.project_base(cwd),
            common_dir: match &place.common_dir {
                Some(common) => Ok(Some(common.clone())),
                None => common_dir(&own_root),
            },
            registry: RefCell::default(),
            is_there: OnceCell::new(),
        };
        Self {
            plan_dir: &place.plan_dir,
            presence,
            host,
            known: RefCell::new(HashMap::from([(own_root.clone(), Rc::new(own))])),
            own_root,
        }
    }

    fn project(&self, root: &Path) -> Rc<Project> {
        if let Some(known) = self.known.borrow().get(root) {
            return Rc::clone(known);
        }
        let project = Rc::new(Project {
            base: root.join(self.plan_dir).join("local"),
            common_dir: common_dir(root),
            registry: RefCell::default(),
            is_there: OnceCell::new(),
        });
        let mut known = self.known.borrow_mut();
        known.insert(root.to_owned(), Rc::clone(&project));
        project
    }
}

impl Projects for Neighbours<'_> {
    fn is_there(&self, root: &Path) -> Evidence {
        *self.project(root).is_there.get_or_init(|| is_there(root))
    }

    fn with_world(&self, root: Option<&Path>, look: &mut dyn FnMut(&dyn World)) {
        let project = self.project(root.unwrap_or(&self.own_root));
        let world = Surroundings {
            base: &project.base,
            plan_dir: self.plan_dir,
            common_dir: project.common_dir.as_ref().ok().and_then(Option::as_deref),
            presence: self.presence.clone(),
            host: self.host.clone(),
            registry: RefCell::new(project.registry.take()),
        };
        if project.common_dir.is_ok() {
            look(&world);
        } else {
            look(&Veiled(&world));
        }
        project.registry.replace(world.registry.into_inner());
    }
}

/// Whether the project at `root` is there.
fn is_there(root: &Path) -> Evidence {
    if !root.is_absolute() {
        // From where it counts is not recorded.
        return Evidence::Unobservable;
    }
    match fs::metadata(root) {
        Ok(there) if there.is_dir() => Evidence::Alive,
        Ok(_) => Evidence::Absent,
        Err(error) => match absent_if_missing(&error, root) {
            // Where what it lay in is gone too, a volume may be away.
            Evidence::Absent if !is_readable(root.parent()) => Evidence::Unobservable,
            found => found,
        },
    }
}

/// Whether `directory` is one that can be listed.
fn is_readable(directory: Option<&Path>) -> bool {
    directory.is_some_and(|directory| fs::read_dir(directory).is_ok())
}

/// What git registers the worktrees of the project at `root` with, if anything.
fn common_dir(root: &Path) -> Result<Option<PathBuf>, Evidence> {
    let entry = root.join(".git");
    match fs::symlink_metadata(&entry) {
        Ok(_) => match place::git_dir_behind(&entry) {
            Some(common) => Ok(Some(common)),
            None => Err(Evidence::Unobservable),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(ground::is_git_dir(root).then(|| root.to_owned()))
        }
        Err(error) => match absent_if_missing(&error, &entry) {
            Evidence::Absent => Ok(None),
            other => Err(other),
        },
    }
}

/// A world whose registry of worktrees cannot be found.
struct Veiled<'a>(&'a Surroundings<'a>);

impl World for Veiled<'_> {
    fn keeps_plans(&self) -> Evidence {
        self.0.keeps_plans()
    }

    fn plan(&self, id: &PlanId) -> Evidence {
        self.0.plan(id)
    }

    fn worktree(&self, id: &PlanId) -> Evidence {
        match self.0.worktree(id) {
            Evidence::Absent => Evidence::Unobservable,
            found => found,
        }
    }

    fn process(&self, process: &ProcessId, host: &Host) -> Evidence {
        self.0.process(process, host)
    }

    fn presence(&self, name: &str, host: &Host) -> Evidence {
        self.0.presence(name, host)
    }
}
