//! A process that waits for a kernel lock: the kernel keeps the order, a thread stands in its queue.

use std::fs::File;

use super::keeper::{Keeper, above, line};
use super::{Attempt, KernelLock};
use crate::error::{Error, Result};
use crate::sys::fifo::Doorbell;
use crate::sys::flock::{self, Waiting};
use crate::sys::{clock, file};
use crate::wait::{Found, Scene, Turn};

/// How long what was seen of the holder is good for, in seconds.
const SEEN: f64 = 1.0;

/// What a turn came to.
pub(super) enum Answer {
    /// The lock's file, locked.
    Granted(File),
    /// Nothing, for ever: this one waits for the very process that asks.
    OwnParent(Keeper),
}

/// One process that waits.
pub(super) struct KernelTurn<'l, 'a> {
    lock: &'l KernelLock<'a>,
    /// Whether it tries once, and stands in no queue.
    once: bool,
    trying: Option<Trying>,
    /// What was seen, and when, on the steady clock, in seconds.
    seen: Option<(Scene, f64)>,
}

/// The file that is waited for.
struct Trying {
    file: File,
    /// None where no thread is to be had: then we try, again and again.
    waiting: Option<Waiting>,
}

impl Trying {
    /// Whether its lock is ours.
    fn has_come(&self, lock: &KernelLock<'_>) -> Result<bool> {
        match &self.waiting {
            Some(waiting) => waiting.has_come(&lock.path),
            None => flock::try_lock(&self.file, &lock.path),
        }
    }
}

impl<'l, 'a> KernelTurn<'l, 'a> {
    pub fn new(lock: &'l KernelLock<'a>, once: bool) -> Self {
        Self {
            lock,
            once,
            trying: None,
            seen: None,
        }
    }

    /// What there is to say while somebody has the lock.
    fn blocked(&mut self) -> Found<Answer> {
        let now = clock::steady();
        if let Some((scene, at)) = &self.seen
            && now - at < SEEN
        {
            return Found::Waiting(scene.clone());
        }
        // Not this process itself: the lock may just have come to the file that it waits for.
        if let Some(holder) = self.lock.own_parent(&above()) {
            return Found::Answered(Answer::OwnParent(holder));
        }
        let holder = self.lock.holder();
        let scene = Scene {
            next: true,
            holder: Some(holder.words()),
            since: holder.since,
            ..Scene::default()
        };
        self.seen = Some((scene.clone(), now));
        Found::Waiting(scene)
    }
}

impl Turn for KernelTurn<'_, '_> {
    type Answer = Answer;

    fn attempt(&mut self) -> Result<Found<Answer>> {
        self.trying = None;
        Ok(match self.lock.attempt()? {
            Attempt::Taken(file) => Found::Answered(Answer::Granted(file)),
            Attempt::Held(file) => {
                if let Some(holder) = self.lock.own_parent(&line()) {
                    return Ok(Found::Answered(Answer::OwnParent(holder)));
                }
                let queues = !self.once;
                let waiting = queues.then(|| Waiting::begin(&file).ok()).flatten();
                self.trying = Some(Trying { file, waiting });
                self.blocked()
            }
        })
    }

    fn look(&mut self) -> Result<Found<Answer>> {
        let Some(trying) = &self.trying else {
            return Ok(Found::Ready);
        };
        let has_come = trying.has_come(self.lock)?;
        // What is locked somewhere else excludes nobody.
        if !file::is_at(&trying.file, &self.lock.path)? {
            self.trying = None;
            self.seen = None;
            return Ok(Found::Ready);
        }
        if !has_come {
            return Ok(self.blocked());
        }
        let granted = self.trying.take().map(|trying| trying.file);
        Ok(granted.map_or(Found::Ready, |file| Found::Answered(Answer::Granted(file))))
    }

    fn bell(&self) -> Option<&Doorbell> {
        let waiting = self.trying.as_ref()?.waiting.as_ref()?;
        Some(waiting.bell())
    }

    fn may_pass(&self, _: &Error) -> bool {
        false
    }
}
