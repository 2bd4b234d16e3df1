//! What every command starts from: where it is, what the settings are, who is asking.

use std::cell::{OnceCell, RefCell};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::cli::Who;
use crate::config::{self, Settings};
use crate::error::Result;
use crate::event_log::{self, Event};
use crate::evidence::Surroundings;
use crate::identity::{self, Identity};
use crate::lease::{Moment, Now};
use crate::liveness::{Evidence, Terms, World};
use crate::locks::merge::{Caller, Rules};
use crate::place::{self, Place};
use crate::store::merge::MergeStore;
use crate::store::presence;
use crate::sys::file::{self, Modes};
use crate::sys::host::Host;
use crate::sys::{clock, user};
use crate::text;
use crate::voice::Voice;

/// The longest time a recorded poll may be behind, in seconds.
const POLL_GRAIN: f64 = 30.0;

/// Where the command runs and what holds there.
#[derive(Debug)]
pub struct Context {
    /// The current directory.
    pub cwd: PathBuf,
    /// Where state lives.
    pub place: Place,
    /// The settings that hold there.
    pub settings: Settings,
    /// This host, looked up at most once.
    host: OnceCell<Host>,
    /// What is said on standard error.
    pub voice: Voice,
}

impl Context {
    /// Looks around from the current directory.
    ///
    /// # Errors
    /// There is no repository here, or a setting makes no sense.
    pub fn find(voice: Voice) -> Result<Self> {
        let cwd = place::current_dir()?;
        let place = Place::find(&cwd)?;
        let settings = config::load(&place)?;
        Ok(Self {
            cwd,
            place,
            settings,
            host: OnceCell::new(),
            voice,
        })
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
            None if self.place.checkout.is_none() => None,
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
    fn host(&self) -> &Host {
        self.host.get_or_init(Host::here)
    }

    /// The modes of what we make here.
    pub fn modes(&self) -> Modes {
        let sharing = &self.place.sharing;
        Modes {
            file: sharing.file_mode,
            dir: sharing.dir_mode,
            group: sharing.group,
        }
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
        Surroundings {
            base: &self.place.base,
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
        let pass_over = self.settings.pass_over.map(|span| span.as_secs_f64());
        let shortest = pass_over.unwrap_or(f64::INFINITY).min(terms.ticket_ttl);
        Rules {
            now: terms.now.clone(),
            pass_over,
            ticket_ttl: terms.ticket_ttl,
            poll_grain: (shortest / 4.0).min(POLL_GRAIN),
            keeps_plans: world.keeps_plans() != Evidence::Absent,
            may_reclaim: file::is_local(nearest_existing(&self.place.base)),
        }
    }

    /// Appends to the timeline. Best effort: a failure is a detail.
    pub fn log(&self, event: &Event) {
        if let Err(error) = event_log::append(&self.place.logs, self.modes(), event) {
            self.voice
                .detail(format!("the timeline was not written: {error}"));
        }
    }
}

fn nearest_existing(path: &Path) -> &Path {
    let there = path.ancestors().find(|dir| dir.symlink_metadata().is_ok());
    there.unwrap_or(path)
}

/// Who the caller says it is, if it does.
fn named(who: &Who) -> Result<Option<Identity>> {
    let variable: Option<OsString> = env::var_os("GIT_LOCKS_PLAN_ID");
    identity::explicit(who.plan_id.as_deref(), variable.as_deref())
}
