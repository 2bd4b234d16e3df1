//! A process that waits for the merge lock: its presence, its place, and its looks at the lock.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::announce::{announce_grant, announce_wait};
use super::ask::{Answer, Asked, Granting, ask};
use super::{about_holder, decide_as, set_title};
use crate::commands::context::Context;
use crate::commands::waiting::{self, Patience};
use crate::error::{Error, ErrorKind, Result};
use crate::event_log::holds;
use crate::identity::{self, Identity};
use crate::locks::merge::{
    self, Admission, Bid, Caller, Granted, Holder, MergeState, Poll, Verdicts, Waiting,
};
use crate::participant::Kind;
use crate::progress::Progress;
use crate::queue::Entry;
use crate::run::Parked;
use crate::store::merge::{BIRTH_AGE, Committed, Purpose, Stamp};
use crate::store::presence::{self, Presence};
use crate::sys::fifo::Doorbell;
use crate::sys::file;
use crate::sys::process;
use crate::sys::signals::Bell;
use crate::sys::{clock, random};
use crate::wait::{Ears as _, Found, Scene, Senses, Turn, Waited, wait};

/// What is waited for.
pub(super) const WHAT: &str = "the merge lock";
/// A look that nothing has called for is left out for at most this long, in seconds, …
const UNSEEN: f64 = 15.0;
/// … by those who stand behind this place.
const NEAR: usize = 3;
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

/// One process that waits for the merge lock.
pub(super) struct MergeTurn<'a> {
    pub context: &'a Context,
    /// Who asks; a run whose id another process uses gets one of its own.
    pub identity: Identity,
    pub bid: Bid,
    pub presence: Presence,
    /// The id before it got one of its own.
    named: Identity,
    no_title: bool,
    bell: Option<&'a Bell>,
    /// When to stop trying for the guard, on the steady clock, in seconds.
    until: Option<f64>,
    /// What a run will start.
    to_run: Option<ToRun<'a>>,
    /// The process that will become that.
    parked: Option<Parked>,
    /// How many times in a row it could not be started.
    unstarted: u32,
    /// Whether the last look said that it is worth asking.
    promised: bool,
    seen: Option<Seen>,
    asked_at: f64,
}

/// What a look saw.
struct Seen {
    stamp: Stamp,
    scene: Scene,
    /// The holder's presence.
    presence: Option<PathBuf>,
    /// When, on the steady clock, in seconds.
    at: f64,
}

/// What would come of asking.
struct Guess {
    admission: Admission,
    /// The state that it would lead to.
    state: MergeState,
    /// Whether what is recorded of this process lets others wake it.
    recorded: bool,
    /// Whether the lock file has been empty for long.
    long_unborn: bool,
}

/// A command, and what it is told about its lock.
pub(super) struct ToRun<'a> {
    pub command: &'a [OsString],
    pub environment: Vec<(&'static str, OsString)>,
}

impl<'a> MergeTurn<'a> {
    /// Begins to take part.
    pub fn new(
        context: &'a Context,
        named: &Identity,
        identity: Identity,
        bid: Bid,
        no_title: bool,
        bell: Option<&'a Bell>,
    ) -> Result<Self> {
        Ok(Self {
            presence: Presence::begin(&context.place.ours, context.modes())?,
            context,
            named: named.clone(),
            identity,
            bid,
            no_title,
            bell,
            until: None,
            to_run: None,
            parked: None,
            unstarted: 0,
            promised: false,
            seen: None,
            asked_at: f64::NEG_INFINITY,
        })
    }

    /// The same turn, to run this.
    pub fn running(mut self, to_run: ToRun<'a>) -> Self {
        self.to_run = Some(to_run);
        self
    }

    /// Tries for the guard for at most so many seconds more, and a moment at least.
    fn limit(&mut self, seconds: Option<f64>) {
        self.until = seconds.map(|seconds| clock::steady() + seconds.max(A_MOMENT));
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

    /// Shows the wait.
    fn progress(&self) -> Progress<'a> {
        let context = self.context;
        let typical =
            || holds::typical(&holds::recent(&context.place.logs, "merge", clock::wall()));
        Progress::new(&context.voice, WHAT, typical)
    }

    /// Waits for the turn; `None` when it did not come in time.
    ///
    /// # Errors
    /// A signal came, or waiting on makes no sense.
    pub fn wait(&mut self, patience: Patience, senses: &mut Senses) -> Result<Option<Answer>> {
        self.limit(patience.budget());
        let mut progress = self.progress();
        let waited = wait(self, patience.budget(), senses, &mut progress);
        self.context.voice.hush();
        match waited? {
            Waited::Answered(answer) => Ok(Some(answer)),
            Waited::TimedOut => Ok(None),
            Waited::Interrupted(signal) => Err(waiting::interrupted(signal, &self.leave())),
        }
    }

    /// Asks for the last time: once and without a trace, or, after a wait that came to nothing, to
    /// confirm the place that is kept.
    ///
    /// # Errors
    /// A signal came, or what asking failed with.
    pub fn last_word(&mut self, once: bool, senses: &mut Senses) -> Result<Committed<Asked>> {
        if !once {
            self.limit(Some(0.0));
        }
        let asked = self.ask(once);
        let asked = asked.map_err(|error| match senses.signal() {
            Some(signal) => waiting::interrupted(signal, &self.leave()),
            None => error,
        })?;
        if !once && matches!(asked.outcome, Asked::Answer(Admission::Blocked(_))) {
            waiting::say_place_is_kept(self.context);
        }
        Ok(asked)
    }

    /// Leaves the queue, or lets go of what was granted meanwhile. Whoever was told to end does not
    /// try for long: once the presence is gone, its place keeps nobody waiting.
    fn leave(&mut self) -> Result<()> {
        if !self.takes_part() {
            return Ok(());
        }
        let caller = self.caller();
        let (bell, deadline) = (self.bell, clock::steady() + LEAVING);
        let interrupted = || clock::steady() >= deadline || bell.is_some_and(Bell::rings);
        decide_as(
            self.context,
            &caller,
            Purpose::Release,
            self.no_title,
            Some(&interrupted),
            merge::leave,
        )?;
        set_title(self.context, &self.identity.id, None, self.no_title);
        Ok(())
    }

    /// Whether anything stands of this very process: nothing does before it was inside the guard.
    fn takes_part(&self) -> bool {
        let state = self.context.merge_store().peek();
        state.map_or(true, |state| {
            let record = state.records.participant(self.identity.id.as_str());
            let presence = record.and_then(|record| record.presence.as_deref());
            presence == Some(self.presence.name())
        })
    }

    /// Asks, under an id of its own where another process uses the one it has.
    fn ask(&mut self, once: bool) -> Result<Committed<Asked>> {
        let (bell, until) = (self.bell, self.until);
        let interrupted = move || {
            bell.is_some_and(Bell::rings) || until.is_some_and(|until| clock::steady() >= until)
        };
        loop {
            let asked = ask(
                self.context,
                &self.caller(),
                &self.bid,
                once,
                self.no_title,
                Some(&interrupted),
            )?;
            match asked.outcome {
                Asked::Answer(Admission::Namesake) => {
                    self.identity.id = suffixed(&self.named)?.id;
                }
                _ => return Ok(asked),
            }
        }
    }

    pub fn granting(&self, granted: Granted, state: &MergeState) -> Granting {
        let record = state.holder_record();
        let token = record.and_then(|record| record.token.as_deref());
        Granting {
            granted,
            waiting_count: state.queue.len(),
            kind: record.map(|record| record.kind),
            known: token.is_some() && token == self.bid.token.as_deref(),
        }
    }

    /// Tells the timeline and the title of the grant.
    pub fn announce(&self, granting: &Granting) {
        announce_grant(
            self.context,
            &self.identity.id,
            &granting.granted,
            granting.waiting_count,
            self.no_title,
        );
    }

    fn presence_of_holder(&self, state: &MergeState) -> Option<PathBuf> {
        let name = state.holder_record()?.presence.as_deref()?;
        presence::path(&self.context.place.ours, name)
    }

    /// The scene from the place in the queue that `waiting` tells of.
    fn scene(&self, state: &MergeState, waiting: &Waiting) -> Scene {
        let about = about_holder(state, self.context);
        let record = state.holder_record();
        let mut watch = Vec::new();
        let mut processes = Vec::new();
        let mut change = None;
        let next = waiting.next || waiting.position.is_none();
        if next {
            let presence = self.presence_of_holder(state);
            // While that is held, its runner sees to the command and to the lock file, and rings
            // when it has let go: whoever came sooner would find it inside the guard.
            let attended = presence.as_deref().is_some_and(is_held);
            watch.extend(presence);
            if !attended {
                watch.push(self.context.merge_store().lock_path);
            }
            if let Some(record) = record {
                processes.extend(record.process.clone().filter(|_| !attended));
                let terms = self.context.terms();
                change = record
                    .lease
                    .filter(|_| record.kind == Kind::Leased)
                    .and_then(|lease| {
                        let elapsed = terms.now.elapsed(lease.from, &record.host)?;
                        (elapsed < lease.seconds).then_some(lease.seconds - elapsed)
                    });
            }
        }
        let holder = state.lock.as_ref().and_then(|lock| lock.holder.shown());
        // The entry of a holder stays in the queue, but it does not wait.
        let waits = |entry: &&Entry| holder.as_deref() != Some(entry.plan_id.as_str());
        Scene {
            position: waiting.position,
            next,
            waiting: state.queue.iter().filter(waits).count(),
            holder,
            since: about.since,
            workplace: about.workplace,
            reason: about.reason,
            watch,
            processes,
            change,
        }
    }

    /// Tells a run that the very checkout that it runs in holds the lock, and would have to let go.
    fn hint_at_own_holder(&self, state: &MergeState) {
        let own = self.context.caller(&self.named);
        if self.to_run.is_some() && !self.named.explicit && merge::is_holder(state, &own) {
            let id = &self.named.id;
            self.context.voice.inform(format!(
                "{id}, this very checkout, holds the lock; to run under that: \
                 git locks merge run --as {id} -- …"
            ));
        }
    }

    /// Makes sure that the presence stands where others look for it.
    pub fn stand(&mut self) -> Result<()> {
        if !self.presence.stands() {
            self.context.place.require_repository()?;
            self.presence = Presence::begin(&self.context.place.ours, self.context.modes())?;
        }
        Ok(())
    }

    /// What would come of asking, going by what can be read without the guard.
    fn guess(&self) -> Result<Guess> {
        let state = self.context.merge_store().peek_all()?;
        let terms = self.context.terms();
        let world = self.context.surroundings();
        let caller = self.caller();
        let verdicts = state.judge(Some(&caller), &terms, &world);
        let rules = self.context.rules(&terms, &world);
        let mut bid = self.bid.clone();
        if self.to_run.is_some() {
            // The one that would be parked by then.
            bid.process = bid.process.or_else(process::me);
        }
        let (next, admission) = merge::acquire(&state, &caller, &bid, &verdicts, &rules);
        let unborn = state
            .lock
            .as_ref()
            .filter(|lock| lock.holder == Holder::Unborn);
        let age = unborn.map(|lock| (terms.now.moment.wall - lock.mtime()).abs());
        Ok(Guess {
            admission,
            recorded: self.is_recorded(&state, &verdicts),
            // Only inside the guard it is watched for long enough to be told dead.
            long_unborn: age.is_some_and(|age| age > BIRTH_AGE),
            state: next,
        })
    }

    fn expects_turn(&self) -> Result<bool> {
        let guess = self.guess()?;
        Ok(matches!(guess.admission, Admission::Admitted(_)))
    }

    /// Whether what is recorded of this process still lets others wake it.
    fn is_recorded(&self, state: &MergeState, verdicts: &Verdicts) -> bool {
        let id = self.identity.id.as_str();
        let record = state.records.participant(id);
        let presence = record.and_then(|record| record.presence.as_deref());
        let others = verdicts
            .waiters
            .get(id)
            .is_some_and(|verdict| verdict.present);
        others || presence == Some(self.presence.name())
    }
}

impl MergeTurn<'_> {
    /// The error of a call that finds no id that nobody else uses: next to impossible.
    pub fn no_name(&self) -> Error {
        let id = &self.named.id;
        Error::new(ErrorKind::Timeout, format!("every id like {id} is in use"))
    }
}

/// Whether a process keeps that presence, as far as can be seen.
fn is_held(presence: &Path) -> bool {
    file::is_locked(presence).unwrap_or(false)
}

/// An id for one of several calls that would ask under the same.
pub(super) fn suffixed(identity: &Identity) -> Result<Identity> {
    Ok(Identity {
        id: identity::suffixed(&identity.id, &random::hex(SUFFIX_BYTES)?),
        explicit: identity.explicit,
    })
}

impl Turn for MergeTurn<'_> {
    type Answer = Answer;

    fn attempt(&mut self) -> Result<Found<Answer>> {
        self.stand()?;
        self.seen = None;
        let promised = std::mem::take(&mut self.promised);
        self.forget_ended();
        if self.parked.is_some() || (self.to_run.is_some() && (promised || self.expects_turn()?)) {
            self.park()?;
        }
        let asked = self.ask(false)?;
        self.asked_at = clock::steady();
        Ok(match asked.outcome {
            Asked::OwnParent(holder) => Found::Answered(Answer::OwnParent(holder)),
            Asked::Answer(Admission::Admitted(granted)) => {
                Found::Answered(Answer::Granted(self.granting(granted, &asked.state)))
            }
            Asked::Answer(Admission::Blocked(waiting)) => {
                announce_wait(
                    self.context,
                    &self.identity,
                    &waiting,
                    &asked.state,
                    self.no_title,
                );
                if waiting.poll == Poll::Joined {
                    self.hint_at_own_holder(&asked.state);
                }
                Found::Waiting(self.scene(&asked.state, &waiting))
            }
            Asked::Answer(Admission::Namesake) => Found::Ready,
        })
    }

    fn look(&mut self) -> Result<Found<Answer>> {
        let now = clock::steady();
        let confirmed = self.context.settings.ticket_ttl.as_secs_f64() / CONFIRMED;
        if now - self.asked_at >= confirmed || !self.presence.stands() {
            return Ok(Found::Ready);
        }
        let store = self.context.merge_store();
        let stamp = store.stamp()?;
        if let Some(Seen {
            stamp: seen,
            scene,
            presence,
            at,
        }) = &self.seen
        {
            if scene.next && scene.holder.is_some() && !stamp.has_lock() {
                self.promised = true;
                return Ok(Found::Ready);
            }
            // Where nothing was written, only deaths and time let anybody in, and those far behind
            // hardly ever at once.
            let behind = scene.position.is_some_and(|position| position > NEAR);
            // The death of a holder is seen by those next to it; if they died with it, by all.
            let holder_lives = presence.as_deref().is_none_or(is_held);
            let far = behind && !scene.next && scene.holder.is_some() && holder_lives;
            if far && *seen == stamp && now - at < UNSEEN {
                return Ok(Found::Waiting(scene.clone()));
            }
        }
        let guess = self.guess()?;
        let waiting = match guess.admission {
            Admission::Admitted(_) | Admission::Namesake => {
                self.promised = true;
                return Ok(Found::Ready);
            }
            Admission::Blocked(waiting) => waiting,
        };
        let recorded = waiting.position.is_none() || guess.recorded;
        if waiting.poll == Poll::Joined || !recorded || guess.long_unborn {
            return Ok(Found::Ready);
        }
        if waiting.next {
            // So that the command can begin as soon as the lock is had.
            self.park()?;
        }
        let scene = self.scene(&guess.state, &waiting);
        self.seen = Some(Seen {
            stamp,
            scene: scene.clone(),
            presence: self.presence_of_holder(&guess.state),
            at: now,
        });
        Ok(Found::Waiting(scene))
    }

    fn bell(&self) -> Option<&Doorbell> {
        self.presence.bell()
    }

    fn may_pass(&self, error: &Error) -> bool {
        // Who can never take its turn must not keep those behind it waiting.
        let hopeless = error.is_out_of_descriptors() || self.unstarted >= STARTS;
        !hopeless && self.context.place.require_repository().is_ok()
    }
}
