//! The loop in simulated time.

use std::cell::{Cell, RefCell};

use super::*;

/// What the loop did.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Did {
    Attempt,
    Look,
    Show,
    Listen,
    Trouble,
    Sleep(f64),
}

/// A lock and its surroundings, in a time of their own.
struct Stage {
    now: Cell<f64>,
    did: RefCell<Vec<Did>>,
    /// A signal comes during the event of this number.
    signal_in: Cell<Option<usize>>,
    came: Cell<bool>,
    /// How many seconds pass in each sleep, where it is not as many as were asked for.
    oversleeps: Cell<Option<f64>>,
    /// Whether the bell never stops ringing.
    rings: Cell<bool>,
    /// How often listening will be news.
    news: Cell<u32>,
    show_in: Cell<f64>,
}

type Says = Box<dyn FnMut(f64) -> Result<Found<u8>>>;

struct Player<'a> {
    stage: &'a Stage,
    attempt: Says,
    look: Says,
    may_pass: bool,
}

struct Hearing<'a>(&'a Stage);
struct Shown<'a>(&'a Stage);

impl Stage {
    fn new() -> Self {
        Self {
            now: Cell::new(1000.0),
            did: RefCell::default(),
            signal_in: Cell::new(None),
            came: Cell::new(false),
            oversleeps: Cell::new(None),
            rings: Cell::new(false),
            news: Cell::new(0),
            show_in: Cell::new(f64::INFINITY),
        }
    }

    fn note(&self, event: Did) {
        let mut did = self.did.borrow_mut();
        if self.signal_in.get() == Some(did.len()) {
            self.came.set(true);
        }
        did.push(event);
        assert!(did.len() < 100_000, "it spins");
    }

    fn count(&self, event: Did) -> usize {
        self.did
            .borrow()
            .iter()
            .filter(|did| **did == event)
            .count()
    }

    fn slept(&self) -> Vec<f64> {
        let did = self.did.borrow();
        let spans = did.iter().filter_map(|event| match event {
            Did::Sleep(span) => Some(*span),
            _ => None,
        });
        spans.collect()
    }

    fn elapsed(&self) -> f64 {
        self.now.get() - 1000.0
    }

    fn wait(
        &self,
        budget: Option<f64>,
        attempt: impl FnMut(f64) -> Result<Found<u8>> + 'static,
        look: impl FnMut(f64) -> Result<Found<u8>> + 'static,
    ) -> Result<Waited<u8>> {
        let mut player = Player {
            stage: self,
            attempt: Box::new(attempt),
            look: Box::new(look),
            may_pass: true,
        };
        wait(&mut player, budget, &mut Hearing(self), &mut Shown(self))
    }
}

impl Turn for Player<'_> {
    type Answer = u8;

    fn attempt(&mut self) -> Result<Found<u8>> {
        self.stage.note(Did::Attempt);
        (self.attempt)(self.stage.elapsed())
    }

    fn look(&mut self) -> Result<Found<u8>> {
        self.stage.note(Did::Look);
        (self.look)(self.stage.elapsed())
    }

    fn bell(&self) -> Option<&Doorbell> {
        None
    }

    fn may_pass(&self, _error: &Error) -> bool {
        self.may_pass
    }
}

impl Ears for Hearing<'_> {
    fn listen(&mut self, _scene: &Scene) -> bool {
        self.0.note(Did::Listen);
        let news = self.0.news.get();
        self.0.news.set(news.saturating_sub(1));
        news > 0
    }

    fn sleep(&mut self, seconds: f64, _bell: Option<&Doorbell>) {
        // A pause between two attempts is none that a bell could end.
        let listens = self.0.did.borrow().last() == Some(&Did::Listen);
        let rung = self.0.rings.get() && listens;
        self.0.note(Did::Sleep(seconds));
        if !self.0.came.get() && !rung {
            let passes = self.0.oversleeps.get().unwrap_or(seconds);
            self.0.now.set(self.0.now.get() + passes);
        }
    }

    fn signal(&mut self) -> Option<i32> {
        self.0.came.get().then_some(15)
    }

    fn now(&self) -> f64 {
        self.0.now.get()
    }
}

impl Show for Shown<'_> {
    fn scene(&mut self, _scene: &Scene, _left: Option<f64>) {
        self.0.note(Did::Show);
    }

    fn trouble(&mut self, _error: &Error) {
        self.0.note(Did::Trouble);
    }

    fn again_in(&self) -> f64 {
        self.0.show_in.get()
    }
}

fn waiting(_at: f64) -> Result<Found<u8>> {
    Ok(Found::Waiting(Scene::default()))
}

fn at_place(position: Option<usize>, next: bool) -> Result<Found<u8>> {
    Ok(Found::Waiting(Scene {
        position,
        next,
        ..Scene::default()
    }))
}

fn fails(kind: ErrorKind) -> Result<Found<u8>> {
    Err(Error::new(kind, "it did not work"))
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

#[test]
fn a_turn_that_has_come_is_taken_at_once() {
    let stage = Stage::new();
    let waited = stage.wait(Some(0.0), |_| Ok(Found::Answered(7)), waiting);
    assert!(matches!(waited, Ok(Waited::Answered(7))));
    assert_eq!(*stage.did.borrow(), [Did::Attempt]);
}

#[test]
fn a_turn_that_comes_is_asked_for_when_a_look_says_so() {
    let stage = Stage::new();
    let attempt = |at| match at {
        at if at >= 2.5 => Ok(Found::Answered(7)),
        _ => waiting(at),
    };
    let look = |at| match at {
        at if at >= 2.5 => Ok(Found::Ready),
        _ => waiting(at),
    };
    assert!(matches!(
        stage.wait(None, attempt, look),
        Ok(Waited::Answered(7))
    ));
    assert_eq!(stage.count(Did::Attempt), 2);
    assert!(same(stage.elapsed(), 3.0));
    let last = stage
        .did
        .borrow()
        .iter()
        .rev()
        .take(2)
        .copied()
        .collect::<Vec<_>>();
    assert_eq!(last, [Did::Attempt, Did::Look], "at once");
    // A look may give the final answer as well.
    let stage = Stage::new();
    let waited = stage.wait(None, waiting, |_| Ok(Found::Answered(8)));
    assert!(matches!(waited, Ok(Waited::Answered(8))));
}

#[test]
fn nobody_asks_while_looks_say_waiting_and_the_time_ends_at_the_budget() {
    for budget in [0.0, 0.25, 1.0, 10.5, 3600.0] {
        let stage = Stage::new();
        let waited = stage.wait(Some(budget), waiting, waiting);
        assert!(matches!(waited, Ok(Waited::TimedOut)), "{budget}");
        assert_eq!(stage.count(Did::Attempt), 1, "{budget}");
        assert!(same(stage.elapsed(), budget), "{budget}");
        let sleeps = stage.slept();
        assert!(sleeps.iter().all(|span| *span > 0.0 && *span <= SLOW_LOOK));
        assert_eq!(sleeps.len(), stage.count(Did::Look), "{budget}");
    }
}

#[test]
fn the_time_runs_while_the_machine_sleeps() {
    let stage = Stage::new();
    stage.oversleeps.set(Some(500.0));
    let waited = stage.wait(Some(60.0), waiting, waiting);
    assert!(matches!(waited, Ok(Waited::TimedOut)));
    assert_eq!((stage.slept().len(), stage.count(Did::Look)), (1, 1));
    // What came meanwhile is still taken: the look is before the end.
    let stage = Stage::new();
    stage.oversleeps.set(Some(500.0));
    let attempt = |at| match at {
        at if at > 0.0 => Ok(Found::Answered(7)),
        _ => waiting(at),
    };
    let waited = stage.wait(Some(60.0), attempt, |_| Ok(Found::Ready));
    assert!(matches!(waited, Ok(Waited::Answered(7))));
}

#[test]
fn a_signal_ends_the_wait_wherever_it_comes() {
    // Looks that promise in vain now and then, trouble, and news: every branch of the loop.
    let play = |stage: &Stage| {
        stage.news.set(2);
        let mut looks = 0;
        stage.wait(Some(60.0), waiting, move |at| {
            looks += 1;
            match looks % 5 {
                1 | 2 => Ok(Found::Ready),
                3 => fails(ErrorKind::Io),
                _ => waiting(at),
            }
        })
    };
    let whole = Stage::new();
    assert!(matches!(play(&whole), Ok(Waited::TimedOut)));
    let events = whole.did.borrow().clone();
    let sleeps = events.iter().filter(|did| matches!(did, Did::Sleep(_)));
    assert!(sleeps.count() > 10 && events.contains(&Did::Trouble));
    for (at, _) in events.iter().enumerate() {
        let stage = Stage::new();
        stage.signal_in.set(Some(at));
        let waited = play(&stage);
        assert!(
            matches!(waited, Ok(Waited::Interrupted(15))),
            "in {:?} at {at}: {waited:?}",
            events[at]
        );
        let did = stage.did.borrow();
        let after: Vec<Did> = did.iter().skip(at + 1).copied().collect();
        let attempts = after.iter().filter(|did| **did == Did::Attempt).count();
        let looks = after.iter().filter(|did| **did == Did::Look).count();
        // A look that was under way may still be followed by what it called for.
        assert!(attempts <= 1 && looks <= 1, "{after:?}");
        let sleeps = after.iter().filter(|did| matches!(did, Did::Sleep(_)));
        assert!(sleeps.count() <= 2, "each of which ends at once: {after:?}");
    }
}

#[test]
fn a_signal_during_a_failure_is_a_signal() {
    let stage = Stage::new();
    stage.signal_in.set(Some(0));
    let waited = stage.wait(None, |_| fails(ErrorKind::Io), waiting);
    assert!(matches!(waited, Ok(Waited::Interrupted(15))));
    assert_eq!(*stage.did.borrow(), [Did::Attempt]);
}

#[test]
fn a_look_that_promises_in_vain_does_not_spin() {
    for rings in [false, true] {
        let stage = Stage::new();
        // Whatever would end a sleep ends it at once, all the time.
        stage.rings.set(rings);
        let waited = stage.wait(Some(60.0), waiting, |_| Ok(Found::Ready));
        assert!(matches!(waited, Ok(Waited::TimedOut)), "{rings}");
        let attempts = stage.count(Did::Attempt);
        assert!((30..=70).contains(&attempts), "{rings}: {attempts}");
    }
    // Nor does an attempt that says neither yes nor no.
    let stage = Stage::new();
    let waited = stage.wait(Some(60.0), |_| Ok(Found::Ready), waiting);
    assert!(matches!(waited, Ok(Waited::TimedOut)));
    assert!((30..=70).contains(&stage.count(Did::Attempt)));
}

#[test]
fn a_promise_is_believed_at_once_again_after_a_look_that_made_none() {
    let stage = Stage::new();
    let mut looks = 0;
    let look = move |at| {
        looks += 1;
        match looks % 2 {
            1 => Ok(Found::Ready),
            _ => waiting(at),
        }
    };
    let waited = stage.wait(Some(20.0), waiting, look);
    assert!(matches!(waited, Ok(Waited::TimedOut)));
    let short = stage.slept().into_iter().filter(|span| *span < 0.5);
    assert_eq!(short.count(), 0, "no pause before asking");
}

#[test]
fn trouble_is_survived_once_a_place_is_had_and_ended_by_the_budget() {
    let stage = Stage::new();
    let waited = stage.wait(Some(30.0), waiting, |_| fails(ErrorKind::Io));
    assert!(matches!(waited, Ok(Waited::TimedOut)));
    let troubles = stage.count(Did::Trouble);
    assert!((25..=31).contains(&troubles), "once a second: {troubles}");
    // It passes, and the turn comes.
    let stage = Stage::new();
    let attempt = |at| match at {
        at if at > 9.0 => Ok(Found::Answered(7)),
        _ => waiting(at),
    };
    let look = |at| match at {
        at if at < 10.0 => fails(ErrorKind::Io),
        _ => Ok(Found::Ready),
    };
    assert!(matches!(
        stage.wait(Some(30.0), attempt, look),
        Ok(Waited::Answered(7))
    ));
    assert_eq!(stage.count(Did::Attempt), 2);
}

#[test]
fn trouble_that_will_not_pass_ends_the_wait() {
    let stage = Stage::new();
    let mut player = Player {
        stage: &stage,
        attempt: Box::new(waiting),
        look: Box::new(|_| fails(ErrorKind::Io)),
        may_pass: false,
    };
    let waited = wait(&mut player, None, &mut Hearing(&stage), &mut Shown(&stage));
    assert_eq!(waited.expect_err("failed").kind(), ErrorKind::Io);
    assert_eq!(stage.count(Did::Trouble), 0);
    // Who has no place has nothing to wait for.
    let stage = Stage::new();
    let waited = stage.wait(None, |_| fails(ErrorKind::Io), waiting);
    assert_eq!(waited.expect_err("failed").kind(), ErrorKind::Io);
    assert_eq!(*stage.did.borrow(), [Did::Attempt]);
}

#[test]
fn a_guard_that_is_busy_is_tried_again_until_the_time_is_up() {
    let stage = Stage::new();
    let waited = stage.wait(Some(5.0), |_| fails(ErrorKind::Timeout), waiting);
    assert_eq!(waited.expect_err("no place").kind(), ErrorKind::Timeout);
    assert!(same(stage.elapsed(), 5.0), "{}", stage.elapsed());
    assert!(stage.count(Did::Attempt) <= 7, "once a second");
    assert_eq!(stage.count(Did::Look), 0, "there is no place to look from");
    let stage = Stage::new();
    let attempt = |at| match at {
        at if at < 3.0 => fails(ErrorKind::Timeout),
        _ => Ok(Found::Answered(7)),
    };
    let waited = stage.wait(None, attempt, waiting);
    assert!(matches!(waited, Ok(Waited::Answered(7))));
}

#[test]
fn the_further_behind_the_rarer_the_looks() {
    for (position, next, expected) in [
        (Some(1), true, 1.0),
        (Some(2), false, 2.0),
        (Some(3), false, 3.0),
        (Some(4), false, 4.0),
        (Some(4000), false, 4.0),
        // Whoever is behind dead places alone is next.
        (Some(12), true, 1.0),
        (None, false, 1.0),
    ] {
        let stage = Stage::new();
        let place = move |_| at_place(position, next);
        let waited = stage.wait(Some(100.0), place, place);
        assert!(matches!(waited, Ok(Waited::TimedOut)));
        let first = stage.slept()[0];
        assert!(same(first, expected), "{position:?} {next}: {first}");
        assert!(same(stage.elapsed(), 100.0));
    }
}

#[test]
fn what_time_will_change_and_what_is_to_be_shown_shorten_a_sleep() {
    for (change, show_in, expected) in [
        (Some(0.3), f64::INFINITY, 0.3),
        (Some(50.0), 0.2, 0.2),
        (None, 0.4, 0.4),
        (Some(50.0), 50.0, 4.0),
    ] {
        let stage = Stage::new();
        stage.show_in.set(show_in);
        let scene = move |_| {
            Ok(Found::Waiting(Scene {
                position: Some(4),
                change,
                ..Scene::default()
            }))
        };
        let waited = stage.wait(Some(5.5), scene, scene);
        assert!(matches!(waited, Ok(Waited::TimedOut)));
        let first = stage.slept()[0];
        assert!(same(first, expected), "{change:?} {show_in}: {first}");
    }
}

#[test]
fn an_old_scene_does_not_hurry_one_in_trouble() {
    let stage = Stage::new();
    stage.show_in.set(0.0);
    let scene = |_| {
        Ok(Found::Waiting(Scene {
            change: Some(0.0),
            ..Scene::default()
        }))
    };
    let waited = stage.wait(Some(10.0), scene, |_| fails(ErrorKind::Io));
    assert!(matches!(waited, Ok(Waited::TimedOut)));
    assert!(stage.count(Did::Trouble) <= 12, "{:?}", stage.did.borrow());
}

#[test]
fn listening_for_something_new_causes_one_more_look() {
    let stage = Stage::new();
    stage.news.set(1);
    let waited = stage.wait(Some(0.5), waiting, waiting);
    assert!(matches!(waited, Ok(Waited::TimedOut)));
    let expected = [
        Did::Attempt,
        Did::Show,
        Did::Listen,
        Did::Look,
        Did::Show,
        Did::Listen,
        Did::Sleep(0.5),
        Did::Look,
    ];
    assert_eq!(*stage.did.borrow(), expected);
}
