//! Waiting for a turn, and giving up.

use std::time::{Duration, Instant};

use crate::cast::{Ground, Lock, on_both};
use crate::common::DEADLINE;
use crate::common::turns::waits_for;
use crate::stage::{AT_ONCE, ENDING, KILL, as_shell};

/// Waits until a process sleeps in the kernel for a lock, or looks for it anew now and then.
#[track_caller]
fn waits(running: &crate::common::turns::Running) {
    running.says("waiting");
}

#[test]
fn it_comes_as_soon_as_it_is_free() {
    on_both(|ground| {
        let mut held = ground.held();
        let mut waiter = ground.start("--wait", "log mine");
        waits(&waiter);
        ground.stage.let_go("me");
        held.wait(DEADLINE).exits(0);
        let start = Instant::now();
        waiter.wait(AT_ONCE).exits(0);
        assert!(
            start.elapsed() < Duration::from_secs(1),
            "{:?}",
            start.elapsed()
        );
        assert_eq!(ground.stage.log()[1..], ["end", "mine"]);
    });
}

#[test]
fn who_waits_says_for_whom() {
    on_both(|ground| {
        let held = ground.held();
        let waiter = ground.start("--wait", "log mine");
        waiter.says(&format!("{}", held.pid()));
    });
}

#[test]
fn a_timeout_is_kept() {
    on_both(|ground| {
        let _held = ground.held();
        for (timeout, at_least) in [("0", 0.0), ("0.4", 0.4), ("1", 1.0)] {
            let start = Instant::now();
            let ended = ground.run(&format!("--timeout {timeout}"), "log INTRUDER");
            let took = start.elapsed().as_secs_f64();
            assert_eq!(ended.code, Some(75), "{ended:#?}");
            assert!(
                (at_least..at_least + 5.0).contains(&took),
                "{timeout}: {took}"
            );
        }
    });
}

#[test]
fn the_setting_bounds_the_repository_lock_only() {
    let ground = Ground::new(Lock::Repo);
    let repo = &ground.stage.repo;
    ground.stage.env.git(repo, "config locks.waitTimeout 300ms");
    let _held = ground.held();
    ground.run("", "log INTRUDER").exits(75);
}

#[test]
fn who_gives_up_takes_nothing_later() {
    on_both(|ground| {
        for signal in ENDING {
            let mut held = ground.held();
            let mut waiter = ground.start("--wait", "log INTRUDER");
            waits(&waiter);
            waiter.signal(signal);
            let ended = waiter.wait(AT_ONCE);
            assert_eq!(as_shell(&ended), 128 + signal, "{ended:#?}");
            ground.stage.let_go("me");
            held.wait(DEADLINE).exits(0);
            ground.is_free();
            std::fs::remove_file(ground.stage.env.path("go-me")).expect("the gate");
            std::fs::write(ground.stage.env.path("log"), "").expect("the log");
        }
    });
}

#[test]
fn a_killed_waiter_is_no_obstacle() {
    on_both(|ground| {
        let mut held = ground.held();
        let mut first = ground.start("--wait", "log INTRUDER");
        waits(&first);
        let mut second = ground.start("--wait", "log second");
        waits(&second);
        first.signal_group(KILL);
        first.wait(DEADLINE);
        ground.stage.let_go("me");
        held.wait(DEADLINE).exits(0);
        second.wait(AT_ONCE).exits(0);
        ground.is_free();
    });
}

#[test]
fn everybody_has_a_turn() {
    on_both(|ground| {
        let mut held = ground.held();
        let mut waiters: Vec<_> = (0..6)
            .map(|number| ground.start("--wait", &format!("log in {number}; log out {number}")))
            .collect();
        for waiter in &waiters {
            waits(waiter);
        }
        ground.stage.let_go("me");
        held.wait(DEADLINE).exits(0);
        for waiter in &mut waiters {
            waiter.wait(DEADLINE).exits(0);
        }
        let log = ground.stage.log();
        let turns = &log[2..];
        assert_eq!(turns.len(), 12, "{log:?}");
        for turn in turns.chunks(2) {
            let inside = turn[0].strip_prefix("in ").expect("a turn");
            assert_eq!(turn[1], format!("out {inside}"), "two at once: {log:?}");
        }
    });
}

#[test]
fn waiting_costs_next_to_nothing() {
    on_both(|ground| {
        let _held = ground.held();
        let waiter = ground.start("--wait", "log mine");
        waits(&waiter);
        let before = crate::common::turns::ticks(waiter.pid());
        let end = Instant::now() + Duration::from_secs(2);
        waits_for("two seconds", DEADLINE, || {
            (Instant::now() >= end).then_some(())
        });
        let spent = crate::common::turns::ticks(waiter.pid()) - before;
        assert!(spent <= 10, "{spent} ticks in two seconds");
    });
}
