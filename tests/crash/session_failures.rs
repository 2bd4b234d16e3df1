//! System calls of the session lease that fail: no session is stopped, nothing is lost, and what is said is
//! what happened.

use crate::failures::{cut_short, every_failure, few_descriptors};
use crate::scene::Scene;
use crate::sessions;

#[test]
fn in_a_session_that_begins() {
    every_failure(sessions::BEGIN);
}

#[test]
fn in_a_session_that_takes_the_place_of_another() {
    every_failure(sessions::TAKE);
}

#[test]
fn in_a_session_that_sets_aside_what_makes_no_sense() {
    every_failure(sessions::MEND);
}

#[test]
fn in_a_heartbeat() {
    every_failure(sessions::BEAT);
}

#[test]
fn in_a_session_that_ends() {
    every_failure(sessions::END);
}

const SHORT: [Scene; 2] = [sessions::TAKE, sessions::BEAT];

#[test]
fn writes_that_are_cut_short() {
    cut_short(&SHORT);
}

#[test]
fn no_descriptors_to_spare() {
    few_descriptors(&SHORT);
}
