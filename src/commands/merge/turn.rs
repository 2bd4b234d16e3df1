//! A process that waits for the merge lock, and holds it: its looks at the lock, and how it keeps it.

use std::path::PathBuf;

use super::announce::announce_wait;
use super::ask::{Asked, Granting, ask};
use super::{about_holder, decide_as, set_title};
use crate::commands::context::Context;
use crate::commands::part::{
    self, Answer, Hall, Part, Queued, is_held, listen_for_end, presence_of,
};
use crate::error::{Error, Result};
use crate::identity::Identity;
use crate::locks::asking::{Bid, Poll};
use crate::locks::merge::{self, Admission, Granted, Holder, MergeState, Verdicts, Waiting};
use crate::queue::Entry;
use crate::store::last_resort::LastResort;
use crate::store::merge::{BIRTH_AGE, Committed, Purpose, Stamp};
use crate::sys::clock;
use crate::sys::fifo::Doorbell;
use crate::sys::process;
use crate::sys::signals::Bell;
use crate::titles::Title;
use crate::wait::{Found, Scene, Senses, Turn};

/// A look that nothing has called for is left out for at most this long, in seconds, …
const UNSEEN: f64 = 15.0;
/// … by those who stand behind this place.
const NEAR: usize = 3;

/// One process that waits for the merge lock, or holds it.
pub(super) struct MergeTurn<'a> {
    pub part: Part<'a>,
    seen: Option<Seen>,
    /// Once it holds: what it takes to let go when nothing can be opened any more.
    pub(super) last_resort: Option<LastResort>,
    /// Once it holds: what tells that something else is due.
    pub(super) elsewhere: Option<Bell>,
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

impl<'a> MergeTurn<'a> {
    /// Begins to take part.
    pub fn new(
        context: &'a Context,
        identities: (&Identity, Identity),
        bid: Bid,
        no_title: bool,
        bell: Option<&'a Bell>,
    ) -> Result<Self> {
        let hall = Hall {
            ours: context.place.ours.clone(),
            modes: context.modes(),
        };
        Ok(Self::of(Part::begin(
            context, hall, identities, bid, no_title, bell,
        )?))
    }

    /// The turn of one that takes part.
    fn of(part: Part<'a>) -> Self {
        Self {
            part,
            seen: None,
            last_resort: None,
            elsewhere: None,
        }
    }

    /// The same turn, to run a command.
    pub fn running(self, to_run: part::ToRun<'a>) -> Self {
        Self::of(self.part.running(to_run))
    }

    /// Asks for the last time, `once` and without a trace or after a wait that came to nothing.
    ///
    /// # Errors
    /// A signal came, or what asking failed with.
    pub fn last_word(&mut self, once: bool, senses: &mut Senses) -> Result<Committed<Asked>> {
        let ask = |turn: &mut Self| turn.ask(once);
        part::last_word(self, once, senses, ask, |asked| {
            matches!(asked.outcome, Asked::Answer(Admission::Blocked(_)))
        })
    }

    /// Whether anything stands of this very process: nothing does before it was inside the guard.
    fn takes_part(&self) -> bool {
        let state = self.part.context.merge_store().peek();
        state.map_or(true, |state| {
            let record = state.records.participant(self.part.identity.id.as_str());
            let presence = record.and_then(|record| record.presence.as_deref());
            presence == Some(self.part.presence.name())
        })
    }

    /// Asks, under an id of its own where another process uses the one it has.
    fn ask(&mut self, once: bool) -> Result<Committed<Asked>> {
        let interrupted = self.part.impatience();
        loop {
            let part = &self.part;
            let asked = ask(
                part.context,
                &part.caller(),
                &part.bid,
                once,
                part.no_title,
                Some(&interrupted),
            )?;
            match asked.outcome {
                Asked::Answer(Admission::Namesake) => self.part.rename()?,
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
            known: token.is_some() && token == self.part.bid.token.as_deref(),
        }
    }

    fn presence_of_holder(&self, state: &MergeState) -> Option<PathBuf> {
        presence_of(state.holder_record()?, &self.part.context.place.ours)
    }

    /// The scene from the place in the queue that `waiting` tells of.
    fn scene(&self, state: &MergeState, waiting: &Waiting) -> Scene {
        let context = self.part.context;
        let about = about_holder(state, context);
        let holder = state.lock.as_ref().and_then(|lock| lock.holder.shown());
        // The entry of a holder stays in the queue, but it does not wait.
        let waits = |entry: &&Entry| holder.as_deref() != Some(entry.plan_id.as_str());
        let mut scene = Scene {
            position: waiting.position,
            next: waiting.next || waiting.position.is_none(),
            waiting: state.queue.iter().filter(waits).count(),
            holder,
            since: about.since,
            workplace: about.workplace,
            reason: about.reason,
            ..Scene::default()
        };
        if scene.next {
            let now = context.terms().now;
            let record = state.holder_record();
            let attended = record
                .is_some_and(|who| listen_for_end(&mut scene, who, &context.place.ours, &now));
            // Whoever came before the runner rings would find it inside the guard.
            if !attended {
                scene.watch.push(context.merge_store().lock_path);
            }
        }
        scene
    }

    /// Tells a run that the very checkout that it runs in holds the lock, and would have to let go.
    fn hint_at_own_holder(&self, state: &MergeState) {
        let own = self.part.context.caller(&self.part.named);
        if self.part.runs() && !self.part.named.explicit && merge::is_holder(state, &own) {
            let id = &self.part.named.id;
            self.part.context.voice.inform(format!(
                "{id}, this very checkout, holds the lock; to run under that: \
                 git locks merge run --as {id} -- …"
            ));
        }
    }
}

/// What would come of asking, going by what can be read without the guard.
fn guess(part: &Part<'_>) -> Result<Guess> {
    let context = part.context;
    let state = context.merge_store().peek_all()?;
    let terms = context.terms();
    let world = context.surroundings();
    let caller = part.caller();
    let verdicts = state.judge(Some(&caller), &terms, &world);
    let rules = context.rules(&terms, &world);
    let mut bid = part.bid.clone();
    if part.runs() {
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
        recorded: is_recorded(part, &state, &verdicts),
        // Only inside the guard it is watched for long enough to be told dead.
        long_unborn: age.is_some_and(|age| age > BIRTH_AGE),
        state: next,
    })
}

fn expects_turn(part: &Part<'_>) -> Result<bool> {
    Ok(matches!(guess(part)?.admission, Admission::Admitted(_)))
}

/// Whether what is recorded of this process still lets others wake it.
fn is_recorded(part: &Part<'_>, state: &MergeState, verdicts: &Verdicts) -> bool {
    let id = part.identity.id.as_str();
    let record = state.records.participant(id);
    let presence = record.and_then(|record| record.presence.as_deref());
    let others = verdicts
        .waiters
        .get(id)
        .is_some_and(|verdict| verdict.present);
    others || presence == Some(part.presence.name())
}

impl<'a> Queued<'a> for MergeTurn<'a> {
    const WHAT: &'static str = "the merge lock";
    const NAME: &'static str = "merge";
    const HELD: Title = Title::LockOwned;

    fn part(&mut self) -> &mut Part<'a> {
        &mut self.part
    }

    fn leave(&self) -> Result<()> {
        if !self.takes_part() {
            return Ok(());
        }
        let part = &self.part;
        decide_as(
            part.context,
            &part.caller(),
            Purpose::Release,
            part.no_title,
            Some(&part.haste()),
            merge::leave,
        )?;
        set_title(part.context, &part.identity.id, None, part.no_title);
        Ok(())
    }
}

impl Turn for MergeTurn<'_> {
    type Answer = Answer<Granting>;

    fn attempt(&mut self) -> Result<Found<Self::Answer>> {
        self.part.stand()?;
        self.seen = None;
        self.part.make_ready(expects_turn)?;
        let asked = self.ask(false)?;
        self.part.has_asked();
        Ok(match asked.outcome {
            Asked::OwnParent(holder) => Found::Answered(Answer::OwnParent(holder)),
            Asked::Answer(Admission::Admitted(granted)) => {
                Found::Answered(Answer::Granted(self.granting(granted, &asked.state)))
            }
            Asked::Answer(Admission::Blocked(waiting)) => {
                announce_wait(
                    self.part.context,
                    &self.part.identity,
                    &waiting,
                    &asked.state,
                    self.part.no_title,
                );
                if waiting.poll == Poll::Joined {
                    self.hint_at_own_holder(&asked.state);
                }
                Found::Waiting(self.scene(&asked.state, &waiting))
            }
            Asked::Answer(Admission::Namesake) => Found::Ready,
        })
    }

    fn look(&mut self) -> Result<Found<Self::Answer>> {
        let now = clock::steady();
        if self.part.must_ask(now) {
            return Ok(Found::Ready);
        }
        let store = self.part.context.merge_store();
        let stamp = store.stamp()?;
        if let Some(Seen {
            stamp: seen,
            scene,
            presence,
            at,
        }) = &self.seen
        {
            if scene.next && scene.holder.is_some() && !stamp.has_lock() {
                self.part.promised = true;
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
        let guess = guess(&self.part)?;
        let waiting = match guess.admission {
            Admission::Admitted(_) | Admission::Namesake => {
                self.part.promised = true;
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
            self.part.park()?;
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
        self.part.presence.bell()
    }

    fn may_pass(&self, error: &Error) -> bool {
        self.part.may_pass(error)
    }
}
