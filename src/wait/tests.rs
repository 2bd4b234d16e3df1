//! The loop with a clock that only sleeping moves.

use super::*;

/// Answers, the last of them for ever; counts how often it was asked and looked at.
struct Script {
    answers: Vec<fn() -> Result<Found<()>>>,
    asked: usize,
    looked: usize,
}

impl Script {
    fn new(answers: &[fn() -> Result<Found<()>>]) -> Self {
        let answers = answers.iter().rev().copied().collect();
        Self {
            answers,
            asked: 0,
            looked: 0,
        }
    }

    fn next(&mut self) -> Result<Found<()>> {
        let last = self.answers.last().copied().expect("an answer");
        if self.answers.len() > 1 {
            self.answers.pop();
        }
        last()
    }
}

impl Turn for Script {
    type Answer = ();

    fn attempt(&mut self) -> Result<Found<()>> {
        self.asked += 1;
        self.next()
    }

    fn look(&mut self) -> Result<Found<()>> {
        self.looked += 1;
        self.next()
    }

    fn bell(&self) -> Option<&Doorbell> {
        None
    }

    fn may_pass(&self, _error: &Error) -> bool {
        true
    }
}

/// Nothing happens but that time passes.
#[derive(Default)]
struct Deaf {
    now: f64,
    sleeps: Vec<f64>,
}

impl Ears for Deaf {
    fn listen(&mut self, _scene: &Scene) -> bool {
        false
    }

    fn sleep(&mut self, seconds: f64, _bell: Option<&Doorbell>) {
        self.sleeps.push(seconds);
        // Even a sleep of no length takes its time; a loop without a pause would never end.
        self.now += seconds.max(1e-3);
    }

    fn signal(&mut self) -> Option<i32> {
        None
    }

    fn now(&self) -> f64 {
        self.now
    }
}

/// Has shown its line once, and wants to show the next one after so many seconds.
struct Line(f64);

impl Show for Line {
    fn scene(&mut self, _scene: &Scene, _left: Option<f64>) {}
    fn trouble(&mut self, _error: &Error) {}
    fn again_in(&self) -> f64 {
        self.0
    }
}

fn waiting() -> Result<Found<()>> {
    Ok(Found::Waiting(Scene {
        position: Some(1),
        next: true,
        ..Scene::default()
    }))
}

fn soon_over() -> Result<Found<()>> {
    Ok(Found::Waiting(Scene {
        position: Some(1),
        next: true,
        change: Some(0.01),
        ..Scene::default()
    }))
}

fn ready() -> Result<Found<()>> {
    Ok(Found::Ready)
}

fn broken() -> Result<Found<()>> {
    Err(Error::new(ErrorKind::Io, "the disk is full"))
}

/// The length of the first sleep in a place.
fn first_sleep(position: usize, next: bool) -> f64 {
    slow_look(&Scene {
        position: Some(position),
        next,
        ..Scene::default()
    })
}

#[test]
fn whoever_fails_tries_again_after_a_pause_whatever_is_due_to_be_shown() {
    for seen in [waiting, soon_over] {
        let mut turn = Script::new(&[seen, broken]);
        let mut ears = Deaf::default();
        let ended = wait(&mut turn, Some(10.0), &mut ears, &mut Line(0.0));
        assert!(matches!(ended, Ok(Waited::TimedOut)), "{ended:?}");
        let tries = turn.asked + turn.looked;
        assert!(tries <= 13, "{tries} tries in 10 s");
    }
}

#[test]
fn a_failure_before_there_is_a_place_is_final_unless_the_guard_is_taken() {
    let mut turn = Script::new(&[broken]);
    let ended = wait(
        &mut turn,
        None,
        &mut Deaf::default(),
        &mut Line(f64::INFINITY),
    );
    assert_eq!(ended.expect_err("failed").kind(), ErrorKind::Io);
    let taken = || Err(Error::new(ErrorKind::Timeout, "taken"));
    let mut turn = Script::new(&[taken, || Ok(Found::Answered(()))]);
    let mut ears = Deaf::default();
    let ended = wait(&mut turn, None, &mut ears, &mut Line(0.0));
    assert!(matches!(ended, Ok(Waited::Answered(()))), "{ended:?}");
    assert_eq!(ears.sleeps, [SLOW_LOOK]);
}

#[test]
fn a_look_that_promises_in_vain_is_believed_less_and_less() {
    // Asking says "not yet", looking says "worth asking", for ever.
    struct Liar(usize);
    impl Turn for Liar {
        type Answer = ();
        fn attempt(&mut self) -> Result<Found<()>> {
            self.0 += 1;
            waiting()
        }
        fn look(&mut self) -> Result<Found<()>> {
            ready()
        }
        fn bell(&self) -> Option<&Doorbell> {
            None
        }
        fn may_pass(&self, _error: &Error) -> bool {
            true
        }
    }
    let mut turn = Liar(0);
    let mut ears = Deaf::default();
    let ended = wait(&mut turn, Some(20.0), &mut ears, &mut Line(f64::INFINITY));
    assert!(matches!(ended, Ok(Waited::TimedOut)), "{ended:?}");
    assert!(turn.0 <= 25, "asked {} times in 20 s", turn.0);
}

#[test]
fn dead_places_ahead_make_nobody_sleep_longer() {
    let same = |a: f64, b: f64| (a - b).abs() < f64::EPSILON;
    assert!(same(first_sleep(9, true), SLOW_LOOK));
    assert!(same(first_sleep(2, false), 2.0 * SLOW_LOOK));
    assert!(same(first_sleep(900, false), 15.0 * SLOW_LOOK));
}

#[test]
fn time_that_lets_one_in_ends_a_sleep() {
    let mut turn = Script::new(&[soon_over, || Ok(Found::Answered(()))]);
    let mut ears = Deaf::default();
    let ended = wait(&mut turn, None, &mut ears, &mut Line(30.0));
    assert!(matches!(ended, Ok(Waited::Answered(()))), "{ended:?}");
    assert_eq!(ears.sleeps, [0.01]);
    assert_eq!((turn.asked, turn.looked), (1, 1));
}
