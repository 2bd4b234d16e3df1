//! The file is replaced or removed under those who have the lock, and under those who wait for it.

use crate::cast::{Ground, on_both};
use crate::common::turns::Running;
use crate::common::{DEADLINE, required};

/// Puts another file in the place of the lock file.
fn replace(ground: &Ground) {
    let file = ground.file();
    let other = file.with_extension("other");
    std::fs::write(&other, "").expect("another file");
    std::fs::rename(other, file).expect("in its place");
}

#[test]
fn a_waiter_gets_the_lock_on_what_is_there() {
    if !required("replaced::a_waiter_gets_the_lock", "flock") {
        return;
    }
    on_both(|ground| {
        let mut held = ground.flocked("other");
        let mut waiter = ground.start("--wait", "log begin; hold me");
        waiter.says("waiting");
        replace(&ground);
        ground.stage.let_go("other");
        held.wait(DEADLINE);
        ground.stage.noted("begin");
        assert!(
            !ground.flock_would(),
            "{:?}: it has a file that is gone",
            ground.lock
        );
        ground.stage.let_go("me");
        waiter.wait(DEADLINE).exits(0);
        ground.is_free();
    });
}

#[test]
fn a_waiter_is_not_kept_by_a_file_that_is_gone() {
    if !required("replaced::a_waiter_is_not_kept", "flock") {
        return;
    }
    on_both(|ground| {
        let held = ground.flocked("other");
        let mut waiter = ground.start("--wait=20s", "log begin");
        waiter.says("waiting");
        replace(&ground);
        waiter.wait(DEADLINE).exits(0);
        drop(held);
        ground.is_free();
    });
}

#[test]
fn a_holder_takes_what_is_put_in_its_place() {
    if !required("replaced::a_holder_takes_what_is_put_in_its_place", "flock") {
        return;
    }
    on_both(|ground| {
        for removed in [false, true] {
            let mut held = ground.held();
            if removed {
                std::fs::remove_file(ground.file()).expect("removed");
            } else {
                replace(&ground);
            }
            // Whoever tried for the new file before would take it away from the holder.
            held.says("held again");
            assert!(!ground.flock_would(), "{:?} {removed}", ground.lock);
            ground.stage.let_go("me");
            held.wait(DEADLINE).exits(0);
            std::fs::remove_file(ground.stage.env.path("go-me")).expect("the gate");
            std::fs::write(ground.stage.env.path("log"), "").expect("the log");
            ground.is_free();
        }
    });
}

/// Has the lock on a new file that it puts in the place of the old.
fn usurper(ground: &Ground) -> Running {
    let file = ground.file();
    let other = file.with_extension("other");
    let body = format!(
        "mv '{}' '{}'; log usurped; hold usurper",
        other.display(),
        file.display()
    );
    let mut command = ground.stage.env.command("flock");
    command
        .arg("-x")
        .arg(&other)
        .args(ground.stage.script(&body));
    let running = Running::start(command);
    ground.stage.noted("usurped");
    running
}

#[test]
fn a_holder_whose_lock_another_has_is_ended() {
    if !required(
        "replaced::a_holder_whose_lock_another_has_is_ended",
        "flock",
    ) {
        return;
    }
    on_both(|ground| {
        let mut held = ground.start(
            "--kill-after 5s",
            "trap 'log ended; exit 0' TERM\nlog begin; hold me",
        );
        ground.stage.noted("begin");
        let usurper = usurper(&ground);
        held.wait(DEADLINE).exits(76);
        ground.stage.noted("ended");
        // What the other has is left alone.
        ground.is_taken();
        drop(usurper);
    });
}

#[test]
fn a_holder_may_go_on_without() {
    if !required("replaced::a_holder_may_go_on_without", "flock") {
        return;
    }
    on_both(|ground| {
        let mut held = ground.start(
            "--on-loss=continue",
            "trap 'log ended' TERM\nlog begin; hold me; log end",
        );
        ground.stage.noted("begin");
        let usurper = usurper(&ground);
        held.says("lost");
        ground.stage.let_go("me");
        held.wait(DEADLINE).exits(76);
        assert!(!ground.stage.log().contains(&"ended".to_owned()));
        drop(usurper);
    });
}
