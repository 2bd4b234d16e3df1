//! System calls of the build queue that fail: a documented exit code, one line that names the path,
//! nothing granted in silence, nothing lost.

use crate::build_runs;
use crate::builds;
use crate::failures::{cut_short, every_failure, every_shortage, few_descriptors};
use crate::scene::Scene;

#[test]
fn in_an_acquire_with_a_witness() {
    every_failure(builds::WITNESS);
}

#[test]
fn in_the_removal_of_a_dead_builder() {
    every_failure(builds::PRUNE);
}

#[test]
fn in_release() {
    every_failure(builds::RELEASE);
}

#[test]
fn in_a_renewal() {
    every_failure(builds::RENEW);
}

#[test]
fn in_a_run() {
    every_shortage(build_runs::RUN, |stage| build_runs::ran(stage).len());
}

const SHORT: [Scene; 2] = [builds::PRUNE, builds::RELEASE];

#[test]
fn writes_that_are_cut_short() {
    cut_short(&SHORT);
}

#[test]
fn no_descriptors_to_spare() {
    few_descriptors(&SHORT);
}
