//! One process that takes part in a lock with a queue: who it is, its presence, and the process that
//! will become what it runs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::commands::context::Context;
use crate::commands::waiting::{self, Patience};
use crate::error::{Error, ErrorKind, Result};
use crate::event_log::holds;
use crate::identity::{self, Identity};
use crate::lease::Now;
use crate::locks::asking::{Bid, Caller};
use crate::participant::Participant;
use crate::progress::Progress;
use crate::run::{Parked, shown};
use crate::store::presence::{self, Presence};
use crate::sys::file::{self, Modes};
use crate::sys::signals::Bell;
use crate::sys::{clock, random};
use crate::titles::Title;
use crate::wait::{Ears as _, Scene, Senses, Turn, Waited, wait};

/// A place is confirmed so many times within the life of its ticket.
const CONFIRMED: f64 = 5.0;
/// How long leaving the queue may take, in seconds; less when another signal comes.
const LEAVING: f64 = 3.0;
/// For how long the guard is tried for, however short the wait, in seconds.
const A_MOMENT: f64 = 1.0;
/// So many times in a row a process may fail to be started before the wait is given up.
const STARTS: u32 = 3;
/// How many random bytes tell several calls of one checkout apart.
const SUFFIX_BYTES: usize = 3;

/// What a turn came to.
#[derive(Clone, Debug)]
pub enum Answer<G> {
    /// The lock.
    Granted(G),
    /// Nothing, for ever: this holder waits for the very process that asks.
    OwnParent(String),
}

/// A command, and what it is told about its lock.
pub struct ToRun<'a> {
    /// The command and its arguments.
    pub command: &'a [OsString],
    /// What it is told from the start.
    pub environment: Vec<(&'static str, OsString)>,
}

/// Where the presence of those who take part stands.
#[derive(Clone)]
pub struct Hall {
    /// The directory of the lock's own files.
    pub ours: PathBuf,
    /// The modes of what is made there.
    pub modes: Modes,
}

/// One process that takes part.
pub struct Part<'a> {
    /// Where it runs.
    pub context: &'a Context,
    /// Who asks; a run whose id another process uses gets one of its own.
    pub identity: Identity,
    /// What it brings along.
    pub bid: Bid,
    /// What shows others that it lives.
    pub presence: Presence,
    /// The id before it got one of its own.
    pub named: Identity,
    /// Whether titles are left alone.
    pub no_title: bool,
    /// Whether the last look said that it is worth asking.
    pub promised: bool,
    hall: Hall,
    bell: Option<&'a Bell>,
    /// When to stop trying for the guard, on the steady clock, in seconds.
    until: Option<f64>,
    /// What a run will start.
    to_run: Option<ToRun<'a>>,
    /// The process that will become that.
    parked: Option<Parked>,
    /// How many times in a row it could not be started.
    unstarted: u32,
    asked_at: f64,
}

impl<'a> Part<'a> {
    /// Begins to take part.
    pub fn begin(
        context: &'a Context,
        hall: Hall,
        (named, identity): (&Identity, Identity),
        bid: Bid,
        no_title: bool,
        bell: Option<&'a Bell>,
    ) -> Result<Self> {
        Ok(Self {
            presence: Presence::begin(&hall.ours, hall.modes)?,
            context,
            named: named.clone(),
            identity,
            bid,
            no_title,
            hall,
            bell,
            until: None,
            to_run: None,
            parked: None,
            unstarted: 0,
            promised: false,
            asked_at: f64::NEG_INFINITY,
        })
    }

    /// The same, to run this.
    #[must_use]
    pub fn running(mut self, to_run: ToRun<'a>) -> Self {
        self.to_run = Some(to_run);
        self
    }

    /// Whether it will run a command.
    pub fn runs(&self) -> bool {
        self.to_run.is_some()
    }

    /// What the title of the terminal is to say of `lock`, where titles are wanted.
    pub fn headline(&self, title: Title, lock: &str) -> Option<String> {
        let command = self.to_run.as_ref().map(|to_run| shown(to_run.command));
        self.context
            .headline(title, lock, command.as_deref(), self.no_title)
    }

    /// Tries for the guard for at most so many seconds more, and a moment at least.
    fn limit(&mut self, seconds: Option<f64>) {
        self.until = seconds.map(|seconds| clock::steady() + seconds.max(A_MOMENT));
    }

    /// Tells whether to stop trying for the guard.
    pub fn impatience(&self) -> impl Fn() -> bool + 'a {
        let (bell, until) = (self.bell, self.until);
        move || bell.is_some_and(Bell::rings) || until.is_some_and(|until| clock::steady() >= until)
    }

    /// The same, for one that was told to end: once its presence is gone, its place keeps nobody
    /// waiting.
    pub fn haste(&self) -> impl Fn() -> bool + 'a {
        let (bell, deadline) = (self.bell, clock::steady() + LEAVING);
        move || clock::steady() >= deadline || bell.is_some_and(Bell::rings)
    }

    /// Parks the process that will become the command: a grant records it. One that somebody has
    /// killed meanwhile is replaced.
    pub fn park(&mut self) -> Result<()> {
        self.forget_ended();
        if let (Some(to_run), None) = (&self.to_run, &self.parked) {
            self.unstarted = self.unstarted.saturating_add(1);
            let parked = Parked::start(to_run.command, &to_run.environment)?;
            self.unstarted = 0;
            self.bid.process = Some(parked.process.clone());
            self.parked = Some(parked);
        }
        Ok(())
    }

    fn forget_ended(&mut self) {
        if self.parked.as_mut().is_some_and(Parked::has_ended) {
            self.parked = None;
            self.bid.process = None;
        }
    }

    /// The parked process, to be told to begin, and whether it is the one that was asked with.
    pub fn take_parked(&mut self) -> Result<(Parked, bool)> {
        let asked_with = self.bid.process.clone();
        self.park()?;
        let parked = self.parked.take();
        let parked = parked.ok_or_else(|| Error::usage("there is no command to run"))?;
        let same = asked_with.as_ref() == Some(&parked.process);
        Ok((parked, same))
    }

    /// The caller, known by its presence.
    pub fn caller(&self) -> Caller {
        Caller {
            presence: Some(self.presence.name().to_owned()),
            ..self.context.caller(&self.identity)
        }
    }

    /// Makes sure that the presence stands where others look for it.
    pub fn stand(&mut self) -> Result<()> {
        if !self.presence.stands() {
            self.context.place.require_repository()?;
            self.presence = self.presence.again(&self.hall.ours, self.hall.modes)?;
        }
        Ok(())
    }

    /// Makes ready to ask in earnest: `worth` tells whether that looks worth a process.
    pub fn make_ready(&mut self, worth: impl FnOnce(&Self) -> Result<bool>) -> Result<()> {
        let promised = std::mem::take(&mut self.promised);
        self.forget_ended();
        if self.parked.is_some() || (self.runs() && (promised || worth(self)?)) {
            self.park()?;
        }
        Ok(())
    }

    /// Remembers that it has just asked.
    pub fn has_asked(&mut self) {
        self.asked_at = clock::steady();
    }

    /// Whether it is time to ask, whatever a look would show: a place is to be confirmed, or the
    /// presence was taken away.
    pub fn must_ask(&self, now: f64) -> bool {
        let confirmed = self.context.settings.ticket_ttl.as_secs_f64() / CONFIRMED;
        now - self.asked_at >= confirmed || !self.presence.stands()
    }

    /// Takes another id, since another process uses the one it has.
    pub fn rename(&mut self) -> Result<()> {
        self.identity.id = suffixed(&self.named)?.id;
        Ok(())
    }

    /// The error of a call that finds no id that nobody else uses: next to impossible.
    pub fn no_name(&self) -> Error {
        let id = &self.named.id;
        Error::new(ErrorKind::Timeout, format!("every id like {id} is in use"))
    }

    /// Whether waiting on makes sense after this failure: who can never take its turn must not keep
    /// those behind it waiting.
    pub fn may_pass(&self, error: &Error) -> bool {
        let hopeless = error.is_out_of_descriptors() || self.unstarted >= STARTS;
        !hopeless && self.context.place.require_repository().is_ok()
    }
}

/// Whether a process keeps that presence, as far as can be seen.
pub fn is_held(presence: &Path) -> bool {
    file::is_locked(presence).unwrap_or(false)
}

/// Where the presence of `who` stands among `ours`.
pub fn presence_of(who: &Participant, ours: &Path) -> Option<PathBuf> {
    presence::path(ours, who.presence.as_deref()?)
}

/// Adds to what is listened to what tells of the end of the holder `who`, as seen at `now`. Whether its
/// runner is there, who sees to its command, and rings when it has let go.
pub fn listen_for_end(scene: &mut Scene, who: &Participant, ours: &Path, now: &Now) -> bool {
    let presence = presence_of(who, ours);
    let attended = presence.as_deref().is_some_and(is_held);
    scene.watch.extend(presence);
    let process = who.process.clone().filter(|_| !attended);
    scene.processes.extend(process);
    let changes = [scene.change, who.lease_left(now)].into_iter().flatten();
    scene.change = changes.reduce(f64::min);
    attended
}

/// An id for one of several calls that would ask under the same.
pub fn suffixed(identity: &Identity) -> Result<Identity> {
    Ok(Identity {
        id: identity::suffixed(&identity.id, &random::hex(SUFFIX_BYTES)?),
        explicit: identity.explicit,
    })
}

/// A turn in a lock with a queue.
pub trait Queued<'a>: Turn {
    /// What is waited for, as people say it.
    const WHAT: &'static str;
    /// What the timeline calls it, and the title of a terminal.
    const NAME: &'static str;
    /// What a title says of whoever has it.
    const HELD: Title;
    /// The process that takes part.
    fn part(&mut self) -> &mut Part<'a>;
    /// Leaves the queue, or lets go of what was granted meanwhile.
    fn leave(&self) -> Result<()>;
}

/// Waits for the turn; `None` when it did not come in time.
///
/// # Errors
/// A signal came, or waiting on makes no sense.
pub fn wait_for<'a, T: Queued<'a>>(
    turn: &mut T,
    patience: Patience,
    senses: &mut Senses,
) -> Result<Option<T::Answer>> {
    turn.part().limit(patience.budget());
    let context = turn.part().context;
    let typical = || holds::typical(&holds::recent(&context.place.logs, T::NAME, clock::wall()));
    let headline = turn.part().headline(Title::LockWaiting, T::NAME);
    let mut progress = Progress::new(&context.voice, T::WHAT, typical).entitled(headline);
    let waited = wait(turn, patience.budget(), senses, &mut progress);
    context.voice.hush();
    match waited? {
        Waited::Answered(answer) => Ok(Some(answer)),
        Waited::TimedOut => Ok(None),
        Waited::Interrupted(signal) => Err(waiting::interrupted(signal, &turn.leave())),
    }
}

/// Asks for the last time: once and without a trace, or, after a wait that came to nothing, to
/// confirm the place that is kept.
///
/// # Errors
/// A signal came, or what asking failed with.
pub fn last_word<'a, T: Queued<'a>, A>(
    turn: &mut T,
    once: bool,
    senses: &mut Senses,
    ask: impl FnOnce(&mut T) -> Result<A>,
    is_blocked: impl FnOnce(&A) -> bool,
) -> Result<A> {
    if !once {
        turn.part().limit(Some(0.0));
    }
    let asked = ask(turn).map_err(|error| match senses.signal() {
        Some(signal) => waiting::interrupted(signal, &turn.leave()),
        None => error,
    })?;
    if !once && is_blocked(&asked) {
        waiting::say_place_is_kept(turn.part().context);
    }
    Ok(asked)
}
