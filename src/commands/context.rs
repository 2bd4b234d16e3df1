//! What every command starts from: where it is, what the settings are, who is asking.

use std::cell::{OnceCell, RefCell};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::cli::Who;
use crate::config::{self, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::event_log::{self, Event};
use crate::evidence::{Neighbours, Surroundings};
use crate::identity::{self, Identity, PlanId};
use crate::lease::{Moment, Now};
use crate::liveness::{Evidence, Terms, World};
use crate::locks::asking::Caller;
use crate::locks::merge::Rules;
use crate::output::Style;
use crate::place::{self, Place};
use crate::store::merge::MergeStore;
use crate::store::presence;
use crate::sys::file::{self, Modes};
use crate::sys::host::Host;
use crate::sys::{clock, user};
use crate::text;
use crate::titles::{self, Owner, Title};
use crate::voice::Voice;

/// The longest time a recorded poll may be behind, in seconds.
const POLL_GRAIN: f64 = 30.0;

/// What a command needs around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// The state of a repository, which may be kept apart from it.
    State,
    /// Nothing: it works outside a repository too.
    Nothing,
    /// A repository, wherever its state is kept.
    Repository,
    /// As much as there is: the command tells of a repository that git refuses and of settings that make
    /// no sense, and goes on without.
    Whatever,
}

/// Where the command runs and what holds there.
#[derive(Debug)]
pub struct Context {
    /// The current directory.
    pub cwd: PathBuf,
    /// Where state lives.
    pub place: Place,
    /// Why the repository that is here cannot be used, where the command goes on as if there were none.
    pub refused: Option<Error>,
    /// The settings that hold there.
    pub settings: Settings,
    /// This host, looked up at most once.
    host: OnceCell<Host>,
    /// What is said on standard error.
    pub voice: Voice,
    /// Whether the report is for a person to read.
    pub human: bool,
}

impl Context {
    /// Looks around from the current directory for what the command `needs`.
    ///
    /// # Errors
    /// There is no repository here, or a setting makes no sense.
    pub fn find(voice: Voice, needs: Needs) -> Result<Self> {
        let cwd = place::current_dir()?;
        let mut refused = None;
        let place = match needs {
            Needs::State => Place::find(&cwd)?,
            Needs::Nothing => Place::find_anywhere(&cwd)?,
            Needs::Repository => Place::find_repository(&cwd)?,
            Needs::Whatever => match Place::find_anywhere(&cwd) {
                Ok(place) => place,
                Err(error) => {
                    let Some(place) = Place::without_repository(&cwd) else {
                        return Err(error);
                    };
                    refused = Some(error);
                    place
                }
            },
        };
        let settings = match needs {
            Needs::Whatever => config::load_mended(&place).0,
            _ => config::load(&place)?,
        };
        Ok(Self {
            cwd,
            place,
            refused,
            settings,
            host: OnceCell::new(),
            voice,
            human: false,
        })
    }

    /// The repository that the caller stands in, where its state is kept apart from it and it is no
    /// matter to this context; `None` where there is none.
    ///
    /// # Errors
    /// Git refuses to open it, or a setting of its makes no sense.
    pub fn beside(&self) -> Result<Option<Self>> {
        // What is to be said is said by this one.
        let voice = Voice::new(true, false, false);
        match Self::find(voice, Needs::Repository) {
            Ok(beside) => Ok(Some(beside)),
            Err(error) if error.kind() == ErrorKind::NotARepository => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Who is asking: the flag, the environment, else the checkout.
    pub fn identity(&self, who: &Who) -> Result<Identity> {
        let identity = match named(who)? {
            Some(identity) => identity,
            None => identity::infer(&self.place, &self.cwd)?,
        };
        self.explain(Some(&identity));
        Ok(identity)
    }

    /// Who is asking, where that can be told; queries need no identity.
    pub fn identity_if_any(&self, who: &Who) -> Result<Option<Identity>> {
        let identity = match named(who)? {
            Some(identity) => Some(identity),
            None if self.place.base_is_given => None,
            None => Some(identity::infer(&self.place, &self.cwd)?),
        };
        self.explain(identity.as_ref());
        Ok(identity)
    }

    /// Says, for the curious, who is asking and where the answer is kept.
    fn explain(&self, identity: Option<&Identity>) {
        let who = match identity {
            Some(Identity { id, explicit: true }) => {
                format!("asking as {id}, the name that was given")
            }
            Some(Identity { id, .. }) => format!("asking as {id}, the name of this checkout"),
            None => "asking without a name".to_owned(),
        };
        let base = text::path(&self.place.base);
        self.voice.detail(format!("{who}; state is in {base}"));
    }

    /// The caller, as decisions see it.
    pub fn caller(&self, identity: &Identity) -> Caller {
        Caller {
            id: identity.id.clone(),
            explicit: identity.explicit,
            user: user::me(),
            checkout: self.place.checkout_digest(),
            presence: None,
        }
    }

    /// This host: a process does not change it.
    pub fn host(&self) -> &Host {
        self.host.get_or_init(Host::here)
    }

    /// The root and the git directory of the worktree that the caller stands in.
    ///
    /// # Errors
    /// It stands in none.
    pub fn worktree(&self) -> Result<(&Path, &Path)> {
        let checkout = self.place.checkout.as_ref();
        let found = checkout.and_then(|checkout| {
            let root = checkout.work_dir.as_deref()?;
            Some((root, checkout.git_dir.as_path()))
        });
        found.ok_or_else(|| {
            let message = "a worktree is needed, and there is none here";
            Error::new(ErrorKind::NotARepository, message)
                .with_hint("go into a worktree, or name one with -C DIR")
        })
    }

    /// How people are written to on standard error.
    pub fn style(&self) -> Style {
        Style {
            color: self.voice.is_coloured(),
            now: clock::wall(),
            columns: None,
        }
    }

    /// The modes of what we make here.
    pub fn modes(&self) -> Modes {
        self.place.sharing.modes()
    }

    /// The merge lock's files.
    pub fn merge_store(&self) -> MergeStore<'_> {
        MergeStore::new(
            &self.place.base,
            &self.place.ours,
            &self.place.plan_dir,
            self.modes(),
        )
    }

    /// What evidence is looked for.
    pub fn surroundings(&self) -> Surroundings<'_> {
        self.surroundings_of(&self.place.base)
    }

    /// The same, where plans are kept in `base`.
    pub fn surroundings_of<'a>(&'a self, base: &'a Path) -> Surroundings<'a> {
        Surroundings {
            base,
            plan_dir: &self.place.plan_dir,
            common_dir: self.place.common_dir.as_deref(),
            presence: presence::directory(&self.place.ours),
            host: self.host().clone(),
            registry: RefCell::default(),
        }
    }

    /// The clock and the settings that verdicts depend on.
    pub fn terms(&self) -> Terms {
        Terms {
            now: Now {
                moment: Moment {
                    wall: clock::wall(),
                    boot: clock::boot(),
                },
                host: self.host().clone(),
            },
            default_ttl: self.settings.ttl.as_secs_f64(),
            ticket_ttl: self.settings.ticket_ttl.as_secs_f64(),
        }
    }

    /// The rules that decisions follow.
    pub fn rules(&self, terms: &Terms, world: &dyn World) -> Rules {
        Rules {
            now: terms.now.clone(),
            pass_over: self.pass_over(),
            ticket_ttl: terms.ticket_ttl,
            poll_grain: self.poll_grain(),
            keeps_plans: world.keeps_plans() != Evidence::Absent,
            may_reclaim: file::is_local(nearest_existing(&self.place.base)),
        }
    }

    /// How long silence must last before a waiter is passed over, in seconds; `None` for never.
    pub fn pass_over(&self) -> Option<f64> {
        self.settings.pass_over.map(|span| span.as_secs_f64())
    }

    /// How old a recorded poll may grow before it is recorded anew, in seconds.
    pub fn poll_grain(&self) -> f64 {
        let ticket_ttl = self.settings.ticket_ttl.as_secs_f64();
        let shortest = self.pass_over().unwrap_or(f64::INFINITY).min(ticket_ttl);
        (shortest / 4.0).min(POLL_GRAIN)
    }

    /// Sets the title of `id` that is `owner`'s, unless titles are not wanted; `None` clears it. Best
    /// effort: a failure is a detail.
    pub fn set_title(&self, owner: Owner, id: &PlanId, title: Option<Title>, suppressed: bool) {
        if suppressed || !self.settings.title {
            return;
        }
        let (now, modes) = (clock::wall(), self.modes());
        let there = self.place.require_repository();
        let set = there.and_then(|()| titles::set(&self.place.ours, id, owner, title, now, modes));
        if let Err(error) = set {
            self.voice
                .detail(format!("the title was not written: {error}"));
        }
    }

    /// What the title of the terminal is to say of `lock`, and of the command that it is for, where titles
    /// are wanted.
    pub fn headline(
        &self,
        title: Title,
        lock: &str,
        command: Option<&str>,
        suppressed: bool,
    ) -> Option<String> {
        let wanted = self.settings.title && !suppressed;
        wanted.then(|| titles::headline(title, lock, command))
    }

    /// The projects of those who take part in what the whole machine shares; `ours` is where that
    /// keeps what is only ours.
    pub fn neighbours(&self, ours: &Path) -> Neighbours<'_> {
        let presence = presence::directory(ours);
        Neighbours::around(&self.place, &self.cwd, presence, self.host().clone())
    }

    /// Appends to the timeline. Best effort: a failure is a detail.
    pub fn log(&self, event: &Event) {
        // In the place of a repository that is gone, nothing is made anew.
        let there = self.place.require_repository();
        let written = there.and_then(|()| event_log::append(&self.place.logs, self.modes(), event));
        if let Err(error) = written {
            self.voice
                .detail(format!("the timeline was not written: {error}"));
        }
    }
}

/// The nearest of `path` and the directories above it that is there.
pub fn nearest_existing(path: &Path) -> &Path {
    let there = path.ancestors().find(|dir| dir.symlink_metadata().is_ok());
    there.unwrap_or(path)
}

/// Who the caller says it is, if it does.
pub(super) fn named(who: &Who) -> Result<Option<Identity>> {
    let variable: Option<OsString> = env::var_os("GIT_LOCKS_PLAN_ID");
    identity::explicit(who.plan_id.as_deref(), variable.as_deref())
}
