//! A process that holds the merge lock while a command runs: how it keeps the lock, and lets it go.

use std::path::PathBuf;

use super::announce::{announce_grant, blocked_report, refuse_own_parent};
use super::ask::{Asked, Granting};
use super::held::Visit;
use super::nested;
use super::release::log_released;
use super::turn::MergeTurn;
use super::{decide_as, lock_path, set_title};
use crate::commands::inside;
use crate::commands::running::{Runs, keep_every, unless_busy, wanted_elsewhere};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::locks::merge::{self, Admission, Keeping, Release};
use crate::report::{Action, Outcome, Report};
use crate::run::{self, Held, Kept};
use crate::store::last_resort::LastResort;
use crate::store::merge::Purpose;
use crate::sys::signals::Bell;
use crate::wait::Senses;

impl Held for MergeTurn<'_> {
    fn what(&self) -> &'static str {
        "the lock"
    }

    fn looks_kept(&mut self) -> bool {
        let store = self.part.context.merge_store();
        let last = self.last_resort.as_ref();
        last.is_some_and(|last| last.is_current(&store)) && self.part.presence.stands()
    }

    fn keep(&mut self) -> Result<Kept> {
        self.part.stand()?;
        let wanted = wanted_elsewhere(self.elsewhere.as_ref());
        let part = &self.part;
        let committed = decide_as(
            part.context,
            &part.caller(),
            Purpose::Ordinary,
            true,
            Some(&wanted),
            |state, caller, verdicts, rules| merge::keep(state, caller, &part.bid, verdicts, rules),
        );
        let kept = match unless_busy(committed)?.map(|committed| committed.outcome) {
            Some(Keeping::Kept) => Kept::Yes,
            Some(Keeping::Restored) => Kept::Restored,
            Some(Keeping::Unclear) | None => Kept::Unclear,
            Some(Keeping::Lost(holder)) => Kept::Lost(Some(holder)),
        };
        if matches!(kept, Kept::Yes | Kept::Restored) {
            self.last_resort = LastResort::prepare(&part.context.merge_store())?;
        }
        Ok(kept)
    }

    fn watch(&self) -> Vec<PathBuf> {
        vec![self.part.context.merge_store().lock_path]
    }

    fn keep_every(&self) -> f64 {
        keep_every(self.part.context)
    }
}

impl<'a> Runs<'a> for MergeTurn<'a> {
    type Grant = Granting;

    fn last_ask(
        &mut self,
        once: bool,
        senses: &mut Senses,
        blocked: Exit,
    ) -> Result<std::result::Result<Granting, Outcome>> {
        let asked = self.last_word(once, senses)?;
        match asked.outcome {
            Asked::OwnParent(holder) => {
                let report = self.own_parent(holder);
                Ok(Err(Outcome::Aside(Box::new(report), Exit::REFUSED)))
            }
            Asked::Answer(Admission::Admitted(granted)) => {
                Ok(Ok(self.granting(granted, &asked.state)))
            }
            Asked::Answer(Admission::Namesake) => Err(self.part.no_name()),
            Asked::Answer(Admission::Blocked(waiting)) => {
                let part = &self.part;
                let report = blocked_report(&waiting, &asked.state, &part.identity, part.context);
                Ok(Err(Outcome::Aside(Box::new(report), blocked)))
            }
        }
    }

    fn own_parent(&mut self, holder: String) -> Report {
        refuse_own_parent(self.part.context, &self.part.identity, holder)
    }

    fn told(&self, grant: &Granting) -> Vec<(&'static str, String)> {
        let fence = grant.granted.fence.map(|fence| fence.to_string());
        let mut told = vec![
            (inside::HOLDER, self.part.identity.id.as_str().to_owned()),
            (nested::FENCE, fence.unwrap_or_default()),
        ];
        if !grant.known {
            // A holder that another program recorded, or nobody did.
            let marker = nested::marker(self.part.context);
            told.push((inside::TOKEN, inside::without(&marker)));
        }
        told
    }

    fn announce(&self, grant: &Granting) {
        let part = &self.part;
        let (granted, count) = (&grant.granted, grant.waiting_count);
        announce_grant(
            part.context,
            &part.identity.id,
            granted,
            count,
            part.no_title,
        );
    }

    fn visited(&self, grant: &Granting, bell: Option<Bell>) -> Option<Box<dyn Held + 'a>> {
        let granted = &grant.granted;
        if granted.action != Action::AlreadyHeld {
            return None;
        }
        Some(Box::new(Visit {
            identity: self.part.identity.clone(),
            context: self.part.context,
            fence: granted.fence,
            expires_at: granted.expires_at,
            bell,
        }))
    }

    fn end_visit(&self, _: &Granting) {
        let part = &self.part;
        let ended = decide_as(
            part.context,
            &part.context.caller(&part.identity),
            Purpose::Ordinary,
            true,
            None,
            |state, _caller, verdicts, _rules| (merge::end_visit(state, &part.bid, verdicts), ()),
        );
        if let Err(error) = ended {
            let voice = &part.context.voice;
            voice.detail(format!("the end of the visit was not recorded: {error}"));
        }
    }

    fn prepare(&mut self, _: &Granting, bell: Option<Bell>) {
        self.last_resort =
            LastResort::prepare(&self.part.context.merge_store()).unwrap_or_default();
        self.elsewhere = bell;
    }

    fn let_go(self) -> bool {
        let context = self.part.context;
        let caller = self.part.caller();
        let (id, no_title) = (self.part.identity.id.clone(), self.part.no_title);
        let released = decide_as(
            context,
            &caller,
            Purpose::Release,
            no_title,
            None,
            merge::release,
        );
        let voice = &context.voice;
        let committed = match released {
            Ok(committed) => committed,
            Err(error) => return self.let_go_at_last(&error),
        };
        set_title(context, &id, None, no_title);
        let holder = match committed.outcome {
            Release::Released => {
                let waiting = committed.state.queue.len();
                log_released(context, id.as_str(), &lock_path(context), None, waiting);
                return true;
            }
            Release::Noop { holder, .. } => holder,
            Release::HolderPresent(holder) => Some(holder),
        };
        let now = run::whose(holder.as_deref());
        voice.warn(format!(
            "the lock was not held any more when the command had ended: now {now}"
        ));
        false
    }
}

impl MergeTurn<'_> {
    /// Lets go where `error` kept that from being done in the ordinary way. Whether it was still held.
    fn let_go_at_last(self, error: &Error) -> bool {
        let context = self.part.context;
        let (part, last_resort) = (self.part, self.last_resort);
        let (store, patience) = (context.merge_store(), context.settings.guard_timeout);
        let removed = last_resort.map(|last| last.remove_lock(&store, patience, || drop(part)));
        let voice = &context.voice;
        match removed {
            Some(Ok(true)) => voice.warn(format!("the release could not be recorded: {error}")),
            Some(Ok(false)) => {
                voice.warn("the lock was not held any more when the command had ended");
                return false;
            }
            _ => voice.warn(format!(
                "the lock could not be let go: {error}; \
                 it counts as free once this process has ended"
            )),
        }
        true
    }
}
