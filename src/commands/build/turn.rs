//! A process that waits for a slot, and builds in it: its looks at the queue.

use std::path::PathBuf;

use super::announce::announce_wait;
use super::ask::{Asked, Granting, Manner, ask, expects_turn, guess, own};
use super::site::{Decided, Site, fresh_id};
use super::vanished::Place;
use crate::commands::part::{
    self, Answer, Hall, Part, Queued, is_held, listen_for_end, presence_of,
};

use crate::error::{Error, Result};
use crate::identity::Identity;
use crate::locks::asking::{Bid, Poll};
use crate::locks::build::{self, Admission, BuildState, Entry, Waiting};
use crate::sys::clock;
use crate::sys::fifo::Doorbell;
use crate::sys::file::Instance;
use crate::sys::signals::Bell;
use crate::titles::Title;
use crate::wait::{Found, Scene, Senses, Turn};

/// A look that nothing has called for is left out for at most this long, in seconds, …
const UNSEEN: f64 = 15.0;
/// … by those who stand behind this place.
const NEAR: usize = 3;
/// Up to this place, it is listened to who is ahead: a user has few ears.
const LISTENING: usize = 16;

/// One process that waits for a slot, or has one.
pub(super) struct BuildTurn<'a> {
    pub part: Part<'a>,
    pub site: &'a Site<'a>,
    /// What it runs, for people.
    command: Option<String>,
    /// The id that its entry would get.
    fresh_id: String,
    place: Place,
    seen: Option<Seen>,
    /// Once it holds: its entry, as it was last seen.
    pub(super) entry: Option<Entry>,
    /// Which file it was last seen in.
    pub(super) kept_in: Option<Instance>,
    /// Once it holds: what tells that something else is due.
    pub(super) elsewhere: Option<Bell>,
}

/// What a look saw.
struct Seen {
    stamp: Option<Instance>,
    scene: Scene,
    /// The presences of holders, and of the nearest ahead, whose processes were there.
    presences: Vec<PathBuf>,
    /// When, on the steady clock, in seconds.
    at: f64,
}

impl<'a> BuildTurn<'a> {
    /// Begins to take part.
    pub fn new(
        site: &'a Site<'a>,
        identities: (&Identity, Identity),
        bid: Bid,
        no_title: bool,
        bell: Option<&'a Bell>,
    ) -> Result<Self> {
        site.home.prepare()?;
        let hall = Hall {
            ours: site.home.ours(),
            modes: site.store().modes,
        };
        let fresh_id = fresh_id(&identities.1.id)?;
        let part = Part::begin(site.context, hall, identities, bid, no_title, bell)?;
        Ok(Self {
            part,
            site,
            command: None,
            fresh_id,
            place: Place::default(),
            seen: None,
            entry: None,
            kept_in: None,
            elsewhere: None,
        })
    }

    /// The same turn, to run a command, which people are shown as `shown`.
    pub fn running(self, to_run: part::ToRun<'a>, shown: String) -> Self {
        Self {
            part: self.part.running(to_run),
            command: Some(shown),
            ..self
        }
    }

    /// Asks for the last time, `once` and without a trace or after a wait that came to nothing.
    ///
    /// # Errors
    /// A signal came, or what asking failed with.
    pub fn last_word(&mut self, once: bool, senses: &mut Senses) -> Result<Decided<Asked>> {
        let ask = |turn: &mut Self| turn.ask(once, false);
        part::last_word(self, once, senses, ask, |asked| {
            matches!(asked.outcome, Asked::Answer(Admission::Blocked(_)))
        })
    }

    /// Asks, under an id of its own where another process uses the one it has; where its `place` is
    /// kept, only from there.
    fn ask(&mut self, once: bool, place: bool) -> Result<Decided<Asked>> {
        let interrupted = self.part.impatience();
        loop {
            let (caller, bid) = (self.part.caller(), &self.part.bid);
            let fresh = (self.fresh_id.as_str(), self.command.as_deref());
            let manner = Manner { once, place };
            let asked = ask(self.site, &caller, bid, fresh, manner, Some(&interrupted))?;
            match asked.outcome {
                Asked::Answer(Admission::Namesake) => {
                    self.part.rename()?;
                    self.fresh_id = fresh_id(&self.part.identity.id)?;
                }
                _ => return Ok(asked),
            }
        }
    }

    /// The scene from the place in the queue that `waiting` tells of.
    fn scene(&self, state: &BuildState, waiting: &Waiting) -> Scene {
        let longest = state
            .active
            .iter()
            .min_by(|a, b| since(a).total_cmp(&since(b)));
        let record = longest.and_then(|entry| entry.record.known());
        let mut scene = Scene {
            position: waiting.position,
            next: waiting.next,
            waiting: state.waiting.len(),
            holder: longest.map(|entry| entry.plan_id().to_owned()),
            others: state.active.len().saturating_sub(1),
            since: longest.map(since),
            workplace: record.and_then(|record| record.who.workplace.clone()),
            reason: record.and_then(|record| record.who.reason.clone()),
            ..Scene::default()
        };
        if self.is_near(waiting) {
            // Another program that gives it a slot does not ring.
            scene.watch.push(self.site.store().queue_path);
        }
        if !waiting.next && waiting.position.is_some_and(|place| place <= LISTENING) {
            scene.watch.extend(self.nearest_ahead(state, waiting));
        }
        if waiting.next {
            let (ours, now) = (self.site.home.ours(), self.site.context.terms().now);
            let records = state.active.iter().filter_map(|entry| entry.record.known());
            for record in records {
                listen_for_end(&mut scene, &record.who, &ours, &now);
            }
        }
        scene
    }

    /// The presence of the nearest ahead whose process is there: if all who are ahead die, nobody else is
    /// left to tell.
    fn nearest_ahead(&self, state: &BuildState, waiting: &Waiting) -> Option<PathBuf> {
        let ours = self.site.home.ours();
        let ahead = waiting.position?.saturating_sub(1);
        let mut ahead = state.waiting.iter().take(ahead).rev();
        ahead.find_map(|entry| {
            let presence = presence_of(&entry.record.known()?.who, &ours)?;
            is_held(&presence).then_some(presence)
        })
    }

    /// The presences of holders whose processes are there.
    fn presences_held(&self, state: &BuildState) -> Vec<PathBuf> {
        let ours = self.site.home.ours();
        let records = state.active.iter().filter_map(|entry| entry.record.known());
        let presences = records.filter_map(|record| presence_of(&record.who, &ours));
        presences.filter(|presence| is_held(presence)).collect()
    }

    /// The entry of this very process in `state`.
    pub(super) fn own<'s>(&self, state: &'s BuildState) -> Option<&'s Entry> {
        own(state, Some(self.part.presence.name()))
    }

    /// What to go by where its place is gone, and others have a moment to put theirs back.
    fn bides(&mut self, state: &BuildState) -> Option<Scene> {
        let there = self.own(state).is_some();
        self.place.bides(there, clock::steady())
    }

    /// Whether so near the front that the next slots may be its own.
    fn is_near(&self, waiting: &Waiting) -> bool {
        let place = waiting.position.unwrap_or(1);
        waiting.next || place <= self.site.slots
    }
}

/// Since when an entry has its slot, for people.
fn since(entry: &Entry) -> f64 {
    let recorded = entry.record.known().and_then(|record| record.since);
    recorded.map_or_else(
        || entry.active_since.unwrap_or(f64::MAX),
        |since| since.wall,
    )
}

impl<'a> Queued<'a> for BuildTurn<'a> {
    const WHAT: &'static str = "a build slot";
    const NAME: &'static str = "build";
    const HELD: Title = Title::BuildBusy;

    fn part(&mut self) -> &mut Part<'a> {
        &mut self.part
    }

    fn leave(&self) -> Result<()> {
        let state = self.site.store().peek();
        if state.is_ok_and(|state| self.own(&state).is_none()) {
            // Nothing stands of this very process.
            return Ok(());
        }
        let caller = self.part.caller();
        let haste = self.part.haste();
        let left = self
            .site
            .decide(&caller, Some(&haste), |state, verdicts, rules| {
                let (next, done) = build::leave(state, &caller, verdicts, rules);
                (next, ((), done))
            })?;
        self.site.log_promoted(&left);
        Ok(())
    }
}

impl Turn for BuildTurn<'_> {
    type Answer = Answer<Granting>;

    fn attempt(&mut self) -> Result<Found<Self::Answer>> {
        self.part.stand()?;
        self.seen = None;
        let (site, fresh, command) = (self.site, &self.fresh_id, self.command.as_deref());
        self.part
            .make_ready(|part| expects_turn(site, part, fresh, command))?;
        let asked = self.ask(false, self.place.is_kept(clock::steady()))?;
        self.part.has_asked();
        Ok(match asked.outcome {
            Asked::Gone => self
                .bides(&asked.state)
                .map_or(Found::Ready, Found::Waiting),
            Asked::OwnParent(entry) => Found::Answered(Answer::OwnParent(entry)),
            Asked::Answer(Admission::Admitted(granted)) => {
                Found::Answered(Answer::Granted(Granting {
                    granted,
                    state: asked.state,
                }))
            }
            Asked::Answer(Admission::Blocked(waiting)) => {
                if waiting.poll == Poll::Joined {
                    announce_wait(self.site, &self.part.identity.id, &waiting, &asked.state);
                }
                let scene = self.scene(&asked.state, &waiting);
                let own = self.own(&asked.state).map(|_| scene.clone());
                self.place.stands(own);
                Found::Waiting(scene)
            }
            Asked::Answer(Admission::Namesake) => Found::Ready,
        })
    }

    fn look(&mut self) -> Result<Found<Self::Answer>> {
        let now = clock::steady();
        if self.part.must_ask(now) {
            let state = self.site.store().peek()?;
            return Ok(self.bides(&state).map_or(Found::Ready, Found::Waiting));
        }
        let stamp = self.site.store().stamp()?;
        if let Some(seen) = &self.seen {
            // Where nothing was written, only deaths and time let anybody in, and those far behind
            // hardly ever at once. The death of a holder is seen by those next to it; if they died
            // with it, by those behind them.
            let behind = |place: usize| place > self.site.slots.max(NEAR);
            let far = !seen.scene.next && seen.scene.position.is_some_and(behind);
            let they_live = || seen.presences.iter().all(|presence| is_held(presence));
            if far && seen.stamp == stamp && now - seen.at < UNSEEN && they_live() {
                return Ok(Found::Waiting(seen.scene.clone()));
            }
        }
        let state = self.site.store().peek()?;
        if let Some(scene) = self.bides(&state) {
            return Ok(Found::Waiting(scene));
        }
        let (caller, bid) = (self.part.caller(), &self.part.bid);
        if let Some(granted) = build::given(&state, &caller, bid, &self.site.rules()) {
            return Ok(Found::Answered(Answer::Granted(Granting {
                granted,
                state,
            })));
        }
        let (site, fresh, command) = (self.site, &self.fresh_id, self.command.as_deref());
        let (admission, next) = guess(site, &self.part, &state, fresh, command);
        let waiting = match admission {
            Admission::Admitted(_) | Admission::Namesake => {
                self.part.promised = true;
                return Ok(Found::Ready);
            }
            Admission::Blocked(waiting) => waiting,
        };
        if waiting.poll == Poll::Joined {
            return Ok(Found::Ready);
        }
        if self.part.runs() && self.is_near(&waiting) {
            // So that the command can begin as soon as the slot is given: it is recorded by then.
            self.part.park()?;
            let own = self.own(&state).and_then(|entry| entry.record.known());
            let recorded = own.and_then(|record| record.who.process.as_ref());
            if recorded != self.part.bid.process.as_ref() {
                return Ok(Found::Ready);
            }
        }
        let scene = self.scene(&next, &waiting);
        let mut presences = self.presences_held(&next);
        presences.extend(self.nearest_ahead(&next, &waiting));
        self.seen = Some(Seen {
            stamp,
            scene: scene.clone(),
            presences,
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
