//! The one waiting loop: asks, sleeps until asking again may be worth while, looks, asks.
//!
//! A *look* costs nobody else anything: it reads without the guard, and only when it says so is the
//! lock asked for in earnest. Between looks the process sleeps. Whoever makes room wakes the next
//! in line; what happens to the lock by other hands is seen where the kernel tells, and by a slow
//! look where it does not.
//!
//! **A crash** of a process that waits leaves what the lock keeps of it: its place, for as long as
//! its ticket runs.

use std::path::PathBuf;

use crate::error::{Error, ErrorKind, Result};
use crate::sys::clock;
use crate::sys::fifo::Doorbell;
use crate::sys::process::{self, ProcessId, Sight};
use crate::sys::signals::Signals;
use crate::sys::wake::{self, End, Watch};

/// How long who is next sleeps at most, in seconds; whoever is further behind, longer, …
const SLOW_LOOK: f64 = 1.0;
/// … up to this many times as long.
const SLOWEST: usize = 4;
/// How soon is asked again after a look that promised too much, in seconds; doubled each time.
const VAIN: f64 = 0.01;

/// What is seen of the lock from a place in the queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// The place: 1 is next. `None` where there is none of one's own.
    pub position: Option<usize>,
    /// Whether nobody who could use the next turn is ahead.
    pub next: bool,
    /// How many wait, this one among them.
    pub waiting: usize,
    /// Who holds the lock.
    pub holder: Option<String>,
    /// How many others hold it too.
    pub others: usize,
    /// Since when, in seconds since the Unix epoch.
    pub since: Option<f64>,
    /// Where the holder works.
    pub workplace: Option<String>,
    /// What it needs the lock for.
    pub reason: Option<String>,
    /// Files: what happens to them may end the wait.
    pub watch: Vec<PathBuf>,
    /// Processes: their end may.
    pub processes: Vec<ProcessId>,
    /// In how many seconds time alone may.
    pub change: Option<f64>,
}

/// What asking or looking came to.
#[derive(Debug)]
pub enum Found<T> {
    /// A final answer: as a rule, that the lock is ours.
    Answered(T),
    /// Only from a look: it is worth asking.
    Ready,
    /// Not yet.
    Waiting(Scene),
}

/// One who waits for a lock.
pub trait Turn {
    /// What the turn comes to.
    type Answer;
    /// Asks, in earnest.
    fn attempt(&mut self) -> Result<Found<Self::Answer>>;
    /// Looks whether it is worth asking, at no cost to others.
    fn look(&mut self) -> Result<Found<Self::Answer>>;
    /// What others ring when they have made room.
    fn bell(&self) -> Option<&Doorbell>;
    /// Whether waiting on makes sense after this failure: a disk that is full now need not stay so.
    fn may_pass(&self, error: &Error) -> bool;
}

/// What wakes a sleeper, and the clock.
pub trait Ears {
    /// What to wake for from now on; whether that is new, so that one more look is due.
    fn listen(&mut self, scene: &Scene) -> bool;
    /// Sleeps for at most so many seconds, or until `bell` is rung.
    fn sleep(&mut self, seconds: f64, bell: Option<&Doorbell>);
    /// A signal that ends the wait.
    fn signal(&mut self) -> Option<i32>;
    /// Seconds since some fixed time; they pass while the machine sleeps.
    fn now(&self) -> f64;
}

/// Who shows a person what is waited for.
pub trait Show {
    /// Shows it now, if it is time; `left` in seconds.
    fn scene(&mut self, scene: &Scene, left: Option<f64>);
    /// Says that asking failed and is tried again.
    fn trouble(&mut self, error: &Error);
    /// In how many seconds there will be something to show.
    fn again_in(&self) -> f64;
}

/// How a wait ended.
#[derive(Debug)]
pub enum Waited<T> {
    /// The turn came, or will not.
    Answered(T),
    /// There was no more time.
    TimedOut,
    /// This signal came.
    Interrupted(i32),
}

/// Waits for a turn, at most `budget` seconds.
///
/// # Errors
/// What `turn` failed with, where waiting on makes no sense.
pub fn wait<T: Turn>(
    turn: &mut T,
    budget: Option<f64>,
    ears: &mut dyn Ears,
    show: &mut dyn Show,
) -> Result<Waited<T::Answer>> {
    let start = ears.now();
    let mut scene = Scene::default();
    let mut joined = false;
    let mut vain = 0;
    let mut ask = true;
    loop {
        let found = if ask { turn.attempt() } else { turn.look() };
        let mut trouble = false;
        match found {
            Ok(Found::Answered(answer)) => return Ok(Waited::Answered(answer)),
            Ok(Found::Ready) => {
                ask = true;
                // A look that promises again what was just refused is not believed at once.
                if vain == 0 {
                    vain = 1;
                    continue;
                }
                let pause = (VAIN * f64::from(1 << vain.min(10))).min(SLOW_LOOK);
                ears.sleep(pause, None);
                vain += 1;
            }
            Ok(Found::Waiting(seen)) => {
                if !ask {
                    vain = 0;
                }
                (ask, joined, scene) = (false, true, seen);
            }
            Err(error) => {
                if let Some(signal) = ears.signal() {
                    return Ok(Waited::Interrupted(signal));
                }
                let busy = error.kind() == ErrorKind::Timeout;
                if !(busy || joined && turn.may_pass(&error)) {
                    return Err(error);
                }
                if budget.is_some_and(|budget| ears.now() - start >= budget) && !joined {
                    return Err(error);
                }
                show.trouble(&error);
                trouble = true;
            }
        }
        if let Some(signal) = ears.signal() {
            return Ok(Waited::Interrupted(signal));
        }
        let left = budget.map(|budget| budget - (ears.now() - start));
        if left.is_some_and(|left| left <= 0.0) {
            return Ok(Waited::TimedOut);
        }
        if ask && !trouble {
            continue;
        }
        if !trouble {
            show.scene(&scene, left);
            if ears.listen(&scene) {
                // What happened before we listened is not told.
                continue;
            }
        }
        let mut span = slow_look(&scene).min(left.unwrap_or(f64::INFINITY));
        if !trouble {
            // Else the scene is an old one: it is neither shown again nor a reason to hurry.
            span = span.min(scene.change.unwrap_or(f64::INFINITY));
            span = span.min(show.again_in());
        }
        ears.sleep(span.max(0.0), turn.bell());
    }
}

/// How long to sleep at most in that place, in seconds.
fn slow_look(scene: &Scene) -> f64 {
    let place = scene.position.filter(|_| !scene.next);
    let times = place.unwrap_or(1).clamp(1, SLOWEST);
    SLOW_LOOK * f64::from(u32::try_from(times).unwrap_or(1))
}

/// The ears of a process: the kernel's.
#[derive(Debug)]
pub struct Senses {
    watch: Watch,
    awaited: Vec<ProcessId>,
    ends: Vec<End>,
    /// The signals that are caught meanwhile.
    pub signals: Signals,
}

impl Senses {
    /// Listens for `signals`, and to nothing else yet.
    pub fn new(signals: Signals) -> Self {
        Self {
            watch: Watch::new(),
            awaited: Vec::new(),
            ends: Vec::new(),
            signals,
        }
    }

    /// Watches exactly these files from now on; whether that is new.
    pub fn watch(&mut self, paths: &[PathBuf]) -> bool {
        self.watch.set(paths)
    }

    fn await_ends(&mut self, processes: &[ProcessId]) -> bool {
        if self.awaited == processes {
            return false;
        }
        self.awaited = processes.to_vec();
        let ends = processes.iter().filter_map(|process| {
            let end = wake::end_of(process.pid)?;
            // A number that has been given to another process meanwhile is not the one.
            let runs = process::look(process.pid) == Sight::Running(process.start.clone());
            runs.then_some(end)
        });
        self.ends = ends.collect();
        true
    }
}

impl Ears for Senses {
    fn listen(&mut self, scene: &Scene) -> bool {
        let files = self.watch(&scene.watch);
        let ends = self.await_ends(&scene.processes);
        files || ends
    }

    fn sleep(&mut self, seconds: f64, bell: Option<&Doorbell>) {
        let span = std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default();
        wake::sleep(&self.watch, &self.ends, &self.signals, bell, span);
        self.watch.drain();
        // It is told once: what else is to come may take its time.
        self.ends.retain(|end| !end.has_come());
        if let Some(bell) = bell {
            bell.hush();
        }
    }

    fn signal(&mut self) -> Option<i32> {
        let arrived = self.signals.take();
        arrived
            .iter()
            .find(|arrival| arrival.ends())
            .map(|arrival| arrival.signal)
    }

    fn now(&self) -> f64 {
        clock::steady()
    }
}

#[cfg(test)]
mod tests;
