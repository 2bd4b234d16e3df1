//! The merge lock for as long as a `git push` lives.
//!
//! **The steps.** The hook looks who holds the lock: a pusher that does passes, and nothing is changed.
//! Else it waits for its turn as `acquire --wait --while-pid` does, under an id of its own, since two
//! pushes of one caller take turns too. The grant is bound to the push, and lasts as long as that runs.
//!
//! **A crash** of the hook before the grant leaves a place that the next call of the checkout takes over,
//! and stops the push; one after it leaves a lock that counts as nobody's once the push has ended. A push
//! that ends while its hook waits takes the place with it, as the hook does not outwait it.
//!
//! A hook whose turn did not come keeps its place in the queue where it has waited, and leaves nothing
//! behind where it was told not to wait.

use super::announce::announce_grant;
use super::ask::{Asked, Granting};
use super::nested;
use super::turn::MergeTurn;
use super::{About, about_holder};
use crate::commands::asking::workplace;
use crate::commands::context::Context;
use crate::commands::part::{Answer, Part, Queued, suffixed, wait_for};
use crate::commands::waiting::Patience;
use crate::error::{Error, ErrorKind, Result};
use crate::identity::Identity;
use crate::liveness::Verdict;
use crate::locks::asking::Bid;
use crate::locks::merge::{self, Admission, MergeState};
use crate::participant::Kind;
use crate::report::Staleness;
use crate::sys::fifo::Doorbell;
use crate::sys::process::{self, ProcessId, Sight};
use crate::sys::signals::{self, Signals};
use crate::titles::Title;
use crate::wait::{Found, Scene, Senses, Turn};

/// Who holds the lock, for people.
#[derive(Debug, Default)]
pub struct Holding {
    /// Its id.
    pub holder: Option<String>,
    /// Since when it has it.
    pub since: Option<f64>,
    /// Where it works.
    pub workplace: Option<String>,
    /// What it needs it for.
    pub reason: Option<String>,
}

/// What the lock is to a pusher.
#[derive(Debug)]
pub enum Standing {
    /// Its own.
    Held,
    /// Its own, but nothing vouches for it any more.
    Stale(Holding),
    /// Somebody else's, or nobody's.
    NotHeld(Holding),
}

/// What asking for the lock came to.
#[derive(Debug)]
pub enum Taken {
    /// The push has it.
    Granted,
    /// Its turn did not come; its place, where it keeps one.
    Blocked(Holding, Option<usize>),
    /// The holder waits for this very push.
    OwnParent(Holding),
}

/// What the lock is to the pusher that `identity` names, and to its process `push` where that is known.
///
/// # Errors
/// The lock cannot be read.
pub fn standing(
    identity: &Identity,
    push: Option<&ProcessId>,
    context: &Context,
) -> Result<Standing> {
    let seen = context.merge_store().peek()?;
    let (terms, world) = (context.terms(), context.surroundings());
    let verdicts = seen.judge(None, &terms, &world);
    let state = merge::view(&seen, &verdicts);
    if nested::is_inside(&state, context) {
        return Ok(Standing::Held);
    }
    let verdict = verdicts
        .holder
        .or_else(|| state.judge_holder(&terms, &world));
    let record = state.holder_record();
    // A run is only entered by its token.
    let attached = record.is_some_and(|record| record.kind == Kind::Attached);
    let named = !attached && merge::is_holder(&state, &context.caller(identity));
    if named && verdict.is_some_and(Verdict::is_stale) {
        return Ok(Standing::Stale(holding(&state, context)));
    }
    // git runs the hook once for each URL of a remote.
    let fresh = verdict.is_some_and(|verdict| verdict.staleness == Staleness::Fresh);
    let process = record.filter(|record| record.kind == Kind::Process);
    let process = process.and_then(|record| record.process.as_ref());
    let for_push = fresh && process.is_some() && process == push;
    if named || for_push {
        return Ok(Standing::Held);
    }
    Ok(Standing::NotHeld(holding(&state, context)))
}

fn holding(state: &MergeState, context: &Context) -> Holding {
    let About {
        since,
        workplace,
        reason,
        ..
    } = about_holder(state, context);
    Holding {
        holder: state.lock.as_ref().and_then(|lock| lock.holder.shown()),
        since,
        workplace,
        reason,
    }
}

/// Takes the lock for `push`, which `named` makes, and says what for.
///
/// # Errors
/// The lock cannot be asked for, a signal came, or the push has ended.
pub fn take(
    named: &Identity,
    push: &ProcessId,
    reason: String,
    patience: Patience,
    context: &Context,
) -> Result<Taken> {
    let caught = Signals::arm(&signals::ENDING)?;
    let bell = caught.bell();
    let mut senses = Senses::new(caught);
    // Nobody gave this very name: the next push of the checkout may have the place.
    let identity = Identity {
        explicit: false,
        ..suffixed(named)?
    };
    let bid = Bid {
        kind: Kind::Process,
        insists: false,
        ttl: context.settings.ttl.as_secs_f64(),
        process: Some(push.clone()),
        token: None,
        workplace: Some(workplace(context)),
        reason: Some(reason),
    };
    // No title: when the push ends, nobody is there to take it away.
    let turn = MergeTurn::new(context, (named, identity), bid, true, bell.as_ref())?;
    let mut turn = PushTurn { turn, push };
    let answered = turn.wait_and_ask(patience, &mut senses);
    if !turn.push_runs() {
        // A lock that was granted to it by then is nobody's already.
        if !matches!(answered, Ok(Taken::Granted)) {
            turn.withdraw();
        }
        return Err(has_ended());
    }
    answered
}

fn has_ended() -> Error {
    Error::new(
        ErrorKind::NotFound,
        "the git push that asked for the merge lock has ended",
    )
}

/// The turn of a push: its end ends the wait.
struct PushTurn<'a> {
    turn: MergeTurn<'a>,
    push: &'a ProcessId,
}

impl PushTurn<'_> {
    fn push_runs(&self) -> bool {
        // What cannot be seen may run.
        match process::look(self.push.pid) {
            Sight::Running(start) => start == self.push.start,
            Sight::Ended => false,
            Sight::Hidden => true,
        }
    }

    fn wait_and_ask(&mut self, patience: Patience, senses: &mut Senses) -> Result<Taken> {
        let once = patience == Patience::None;
        if !once {
            match wait_for(self, patience, senses)? {
                Some(Answer::Granted(granting)) => return Ok(self.granted(&granting)),
                Some(Answer::OwnParent(holder)) => return Ok(self.own_parent(holder)),
                None => {}
            }
        }
        let asked = self.turn.last_word(once, senses)?;
        let context = self.turn.part.context;
        Ok(match asked.outcome {
            Asked::OwnParent(holder) => self.own_parent(holder),
            Asked::Answer(Admission::Admitted(granted)) => {
                let granting = self.turn.granting(granted, &asked.state);
                self.granted(&granting)
            }
            Asked::Answer(Admission::Blocked(waiting)) => {
                Taken::Blocked(holding(&asked.state, context), waiting.position)
            }
            Asked::Answer(Admission::Namesake) => return Err(self.turn.part.no_name()),
        })
    }

    fn granted(&self, granting: &Granting) -> Taken {
        let part = &self.turn.part;
        let (granted, count) = (&granting.granted, granting.waiting_count);
        announce_grant(part.context, &part.identity.id, granted, count, true);
        let id = &part.identity.id;
        part.context
            .voice
            .detail(format!("{id} holds the merge lock until the push ends"));
        Taken::Granted
    }

    fn own_parent(&self, holder: String) -> Taken {
        let context = self.turn.part.context;
        let state = context.merge_store().peek().ok();
        let known = state.map(|state| holding(&state, context));
        let known = known.filter(|known| known.holder.as_ref() == Some(&holder));
        Taken::OwnParent(known.unwrap_or(Holding {
            holder: Some(holder),
            ..Holding::default()
        }))
    }

    /// Gives up the place of a push that has ended. Best effort: nothing vouches for what stays.
    fn withdraw(&self) {
        if let Err(error) = self.turn.leave() {
            let voice = &self.turn.part.context.voice;
            voice.detail(format!("the place in the queue was not given up: {error}"));
        }
    }

    /// Also listens for the end of the push.
    fn hear_end(&self, found: Found<Answer<Granting>>) -> Found<Answer<Granting>> {
        match found {
            Found::Waiting(scene) => {
                let processes = [scene.processes, vec![self.push.clone()]].concat();
                Found::Waiting(Scene { processes, ..scene })
            }
            found => found,
        }
    }
}

impl Turn for PushTurn<'_> {
    type Answer = Answer<Granting>;

    fn attempt(&mut self) -> Result<Found<Self::Answer>> {
        if !self.push_runs() {
            return Err(has_ended());
        }
        let found = self.turn.attempt()?;
        Ok(self.hear_end(found))
    }

    fn look(&mut self) -> Result<Found<Self::Answer>> {
        if !self.push_runs() {
            return Err(has_ended());
        }
        let found = self.turn.look()?;
        Ok(self.hear_end(found))
    }

    fn bell(&self) -> Option<&Doorbell> {
        self.turn.bell()
    }

    fn may_pass(&self, error: &Error) -> bool {
        self.push_runs() && self.turn.may_pass(error)
    }
}

impl<'a> Queued<'a> for PushTurn<'a> {
    const WHAT: &'static str = <MergeTurn<'a> as Queued<'a>>::WHAT;
    const NAME: &'static str = <MergeTurn<'a> as Queued<'a>>::NAME;
    const HELD: Title = <MergeTurn<'a> as Queued<'a>>::HELD;

    fn part(&mut self) -> &mut Part<'a> {
        self.turn.part()
    }

    fn leave(&self) -> Result<()> {
        self.turn.leave()
    }
}
