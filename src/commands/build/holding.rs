//! A process that builds in a slot while a command runs: how it keeps the slot, and gives it back.

use std::path::PathBuf;

use super::announce::{announce_grant, blocked_report, refused};
use super::ask::{Asked, Granting};
use super::inner;
use super::release::tell_release;
use super::site::Site;
use super::turn::BuildTurn;
use crate::commands::inside;
use crate::commands::part::Queued as _;
use crate::commands::running::{Runs, keep_every, unless_busy, wanted_elsewhere};
use crate::error::Result;
use crate::exit::Exit;
use crate::locks::asking::{Bid, Caller};
use crate::locks::build::{self, Admission, Housekeeping, Keeping, Release, Renewal, Target};
use crate::participant::Kind;
use crate::report::{Outcome, Refusal, Report};
use crate::run::{Held, Kept};
use crate::sys::clock;
use crate::sys::signals::Bell;
use crate::wait::Senses;

/// How often a slot is confirmed at least, in seconds: another program that shares the queue knows
/// ages only, and takes a slot from one that is older than twice 600 s.
const OFTEN: f64 = 300.0;

impl BuildTurn<'_> {
    /// Whether the queue still says that this process has its slot.
    fn stands_in_queue(&mut self) -> Result<bool> {
        let store = self.site.store();
        let stamp = store.stamp()?;
        if stamp.is_some() && stamp == self.kept_in {
            return Ok(true);
        }
        let state = store.peek()?;
        let stands = state.active.iter().any(|entry| self.is_mine(entry));
        if stands {
            self.kept_in = stamp;
        }
        Ok(stands)
    }

    fn is_mine(&self, entry: &build::Entry) -> bool {
        let record = entry.record.known();
        let token = record.and_then(|record| record.who.token.as_ref());
        self.entry.as_ref().is_some_and(|own| own.id == entry.id)
            && token == self.part.bid.token.as_ref()
    }
}

impl Held for BuildTurn<'_> {
    fn what(&self) -> &'static str {
        "the slot"
    }

    fn looks_kept(&mut self) -> bool {
        self.part.presence.stands() && self.stands_in_queue().unwrap_or(false)
    }

    fn keep(&mut self) -> Result<Kept> {
        self.part.stand()?;
        let Some(entry) = self.entry.clone() else {
            return Ok(Kept::Lost(None));
        };
        let wanted = wanted_elsewhere(self.elsewhere.as_ref());
        let (caller, bid) = (self.part.caller(), &self.part.bid);
        let decided = self
            .site
            .decide(&caller, Some(&wanted), |state, verdicts, rules| {
                let (next, keeping) = build::keep(state, &caller, &entry, bid, verdicts, rules);
                (next, (keeping, Housekeeping::default()))
            });
        let Some(decided) = unless_busy(decided)? else {
            return Ok(Kept::Unclear);
        };
        let kept = match decided.outcome {
            Keeping::Kept => Kept::Yes,
            Keeping::Restored => Kept::Restored,
            Keeping::Lost => return Ok(Kept::Lost(None)),
        };
        let mut active = decided.state.active.into_iter();
        self.entry = active.find(|other| other.id == entry.id).or(Some(entry));
        Ok(kept)
    }

    fn watch(&self) -> Vec<PathBuf> {
        vec![self.site.store().queue_path]
    }

    fn keep_every(&self) -> f64 {
        keep_every(self.site.context).min(OFTEN)
    }
}

impl<'a> Runs<'a> for BuildTurn<'a> {
    type Grant = Granting;

    fn last_ask(
        &mut self,
        once: bool,
        senses: &mut Senses,
        blocked: Exit,
    ) -> Result<std::result::Result<Granting, Outcome>> {
        let asked = self.last_word(once, senses)?;
        let (outcome, state) = (asked.outcome, asked.state);
        match outcome {
            Asked::OwnParent(entry) => {
                let report = self.own_parent(entry);
                Ok(Err(Outcome::Aside(Box::new(report), Exit::REFUSED)))
            }
            Asked::Answer(Admission::Admitted(granted)) => Ok(Ok(Granting { granted, state })),
            Asked::Answer(Admission::Namesake) | Asked::Gone => Err(self.part.no_name()),
            Asked::Answer(Admission::Blocked(waiting)) => {
                let id = &self.part.identity.id;
                let report = blocked_report(self.site, id, &waiting, &state);
                Ok(Err(Outcome::Aside(Box::new(report), blocked)))
            }
        }
    }

    fn own_parent(&mut self, entry: String) -> Report {
        let id = &self.part.identity.id;
        refused(self.site, id, Some(entry), Refusal::OwnParent)
    }

    fn told(&self, grant: &Granting) -> Vec<(&'static str, String)> {
        let slot = grant.granted.slot.map(|slot| slot.to_string());
        let mut told = vec![
            (inside::HOLDER, self.part.identity.id.as_str().to_owned()),
            (inner::ID, grant.granted.id.clone()),
            (inner::SLOT, slot.unwrap_or_default()),
        ];
        let mut active = grant.state.active.iter();
        let entry = active.find(|entry| entry.id == grant.granted.id);
        let record = entry.and_then(|entry| entry.record.known());
        if record.is_none_or(|record| record.who.token != self.part.bid.token) {
            // A holder that another program recorded.
            let marker = inner::marker(self.site);
            told.push((inside::TOKEN, inside::without(&marker)));
        }
        told
    }

    fn announce(&self, grant: &Granting) {
        let (id, no_title) = (&self.part.identity.id, self.part.no_title);
        announce_grant(self.site, id, &grant.granted, &grant.state, no_title);
    }

    fn visited(&self, grant: &Granting, bell: Option<Bell>) -> Option<Box<dyn Held + 'a>> {
        if grant.granted.kind == Some(Kind::Attached) {
            return None;
        }
        Some(Box::new(Visit {
            site: self.site,
            caller: self.site.context.caller(&self.part.identity),
            bid: Bid {
                kind: Kind::Plan,
                insists: false,
                ..self.part.bid.clone()
            },
            id: grant.granted.id.clone(),
            expires_at: grant.granted.expires_at,
            bell,
        }))
    }

    fn end_visit(&self, grant: &Granting) {
        let caller = self.site.context.caller(&self.part.identity);
        let ended = self.site.decide(&caller, None, |state, _, _| {
            let next = build::end_visit(state, &grant.granted.id, &self.part.bid);
            (next, ((), Housekeeping::default()))
        });
        if let Err(error) = ended {
            let voice = &self.site.context.voice;
            voice.detail(format!("the end of the visit was not recorded: {error}"));
        }
    }

    fn prepare(&mut self, grant: &Granting, bell: Option<Bell>) {
        let mut active = grant.state.active.iter();
        self.entry = active.find(|entry| entry.id == grant.granted.id).cloned();
        self.elsewhere = bell;
    }

    fn let_go(self) -> bool {
        let site = self.site;
        let (caller, no_title) = (self.part.caller(), self.part.no_title);
        let Some(entry) = &self.entry else {
            // A signal came first: nobody else would take the slot out of the queue at once.
            if let Err(error) = self.leave() {
                let voice = &site.context.voice;
                voice.warn(format!("the slot could not be given back: {error}"));
            }
            return false;
        };
        let target = Target::Id(&entry.id);
        let released = site.decide(&caller, None, |state, verdicts, rules| {
            build::release(state, &caller, target, verdicts, rules)
        });
        let voice = &site.context.voice;
        match released {
            Ok(decided) => {
                site.set_title(&caller.id, false, no_title);
                tell_release(site, &decided);
                if matches!(decided.outcome, Release::Released { .. }) {
                    return true;
                }
                voice.warn("the slot was not held any more when the command had ended");
                false
            }
            Err(error) => {
                voice.warn(format!(
                    "the slot could not be given back: {error}; \
                     it counts as free once this process has ended"
                ));
                true
            }
        }
    }
}

/// The slot of a detached holder, while a command of the same id runs.
struct Visit<'a> {
    site: &'a Site<'a>,
    caller: Caller,
    bid: Bid,
    id: String,
    /// When its lease ends, in seconds since the Unix epoch, where it has one.
    expires_at: Option<f64>,
    bell: Option<Bell>,
}

impl Held for Visit<'_> {
    fn what(&self) -> &'static str {
        "the slot"
    }

    fn looks_kept(&mut self) -> bool {
        let seen = self.site.store().peek();
        seen.is_ok_and(|state| state.active.iter().any(|entry| entry.id == self.id))
    }

    fn keep(&mut self) -> Result<Kept> {
        let wanted = wanted_elsewhere(self.bell.as_ref());
        let target = Target::Id(&self.id);
        let (caller, bid) = (&self.caller, &self.bid);
        let decided = self
            .site
            .decide(caller, Some(&wanted), |state, verdicts, rules| {
                let (next, renewal) = build::renew(state, caller, target, bid, verdicts, rules);
                (next, (renewal, Housekeeping::default()))
            });
        Ok(match unless_busy(decided)?.map(|decided| decided.outcome) {
            None => Kept::Unclear,
            Some(Renewal::Lost) => Kept::Lost(None),
            Some(Renewal::Renewed { expires_at, .. }) => {
                self.expires_at = Some(expires_at);
                Kept::Yes
            }
            Some(Renewal::NoLease { .. }) => Kept::Yes,
        })
    }

    fn watch(&self) -> Vec<PathBuf> {
        vec![self.site.store().queue_path]
    }

    /// Three times within what is left of the lease, which may be shorter than ours would be.
    fn keep_every(&self) -> f64 {
        let left = self.expires_at.map(|at| (at - clock::wall()) / 3.0);
        let most = keep_every(self.site.context).min(OFTEN);
        left.map_or(most, |left| left.clamp(0.1, most))
    }
}
