//! `SIGKILL` at every system call from the first that has to do with our files; at some before.
//! In a row of calls that change nothing outside the process, the first stands for all, unless
//! `GIT_LOCKS_TEST_EVERY_CALL` asks for more.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::build_runs;
use crate::builds;
use crate::common::fixture;
use crate::runs;
use crate::scene::{self, Scene, Stage};
use crate::sessions;
use crate::stopped::Stopped;
use crate::strace::{self, Syscall};

/// Of the system calls before the first of ours, one in so many.
const SPARSE: usize = 50;

/// How often a run is killed anew that ended before it came to the call.
const TRIES: usize = 8;

fn at_every_call(scene: Scene) {
    // Of calls in a row that change nothing, each leaves what the first of them leaves.
    at_calls(scene, |calls, first, at| {
        at == first || !(changes_nothing(&calls[at]) && changes_nothing(&calls[at - 1]))
    });
}

/// Once before each call that changes something outside the process: what others find is not the
/// same after it.
fn at_every_change(scene: Scene) {
    at_calls(scene, |calls, _, at| {
        strace::changes(&calls[at]) || at + 1 == calls.len()
    });
}

/// Kills at those calls that are `chosen`, given where the first of ours is, from there on; and at
/// some before.
fn at_calls(scene: Scene, chosen: impl Fn(&[Syscall], usize, usize) -> bool) {
    let test = format!("kills: {}", scene.name);
    if !strace::possible(&test) {
        return;
    }
    let stage = Stage::new(&scene);
    let calls = strace::calls(&stage, scene.args);
    let first = strace::first_of_ours(&calls);
    let full = std::env::var_os("GIT_LOCKS_TEST_EVERY_CALL").is_some();
    let points = (0..calls.len()).filter(|&at| {
        if at < first {
            at % SPARSE == 0
        } else {
            full || chosen(&calls, first, at)
        }
    });
    let (mut killed, mut wanted) = (0, 0);
    for (number, at) in points.enumerate() {
        wanted += 1;
        let mut call = calls[at].clone();
        let all = calls.iter().filter(|other| other.name == call.name).count();
        for _ in 0..TRIES {
            stage.reset();
            let ended = strace::kill_at(&stage, &call, scene.args);
            let fine = catch_unwind(AssertUnwindSafe(|| (scene.after)(&stage, number)));
            assert!(fine.is_ok(), "{}, killed at {call:?}", scene.name);
            match ended.signal {
                Some(9) => {
                    killed += 1;
                    break;
                }
                // One that waits may need some calls less than another: the next is killed at the
                // one that is as far from the end.
                None => {
                    let fewer = all.saturating_sub(strace::made(&stage, &call.name));
                    call.number = calls[at].number.saturating_sub(fewer).max(1);
                }
                Some(_) => panic!("{call:?}: {ended:?}"),
            }
        }
    }
    eprintln!("{test}: killed at {killed} of {} calls", calls.len());
    assert!(killed + 3 >= wanted, "survived {} kills", wanted - killed);
    assert!(killed >= scene.least().0, "only {killed} kills");
}

/// Whether a call leaves everything outside the process as it was.
fn changes_nothing(call: &Syscall) -> bool {
    const READERS: [&str; 30] = [
        "access",
        "brk",
        "faccessat",
        "faccessat2",
        "fcntl",
        "fstat",
        "getcwd",
        "getdents64",
        "getegid",
        "geteuid",
        "getgid",
        "getpid",
        "getrandom",
        "getuid",
        "ioctl",
        "lseek",
        "lstat",
        "mmap",
        "mprotect",
        "munmap",
        "newfstatat",
        "pread64",
        "read",
        "readlink",
        "readlinkat",
        "sigaltstack",
        "stat",
        "statfs",
        "statx",
        "uname",
    ];
    let opens_only = call.name == "openat" && !call.shown.contains("O_CREAT");
    READERS.contains(&call.name.as_str()) || opens_only
}

#[test]
fn strace_kills_before_the_call_takes_effect() {
    if !strace::possible("kills::strace_kills_before_the_call_takes_effect") {
        return;
    }
    let stage = Stage::new(&scene::ACQUIRE);
    let args = scene::ACQUIRE.args;
    let lock = fixture::lock_file(&stage.repo);
    let calls = strace::calls(&stage, args);
    let link = calls
        .iter()
        .position(|call| call.name.starts_with("link") && call.shown.contains("/merge.lock\""))
        .expect("the call that makes the lock file");
    for (at, made) in [(link, false), (link + 1, true)] {
        stage.reset();
        let ended = strace::kill_at(&stage, &calls[at], args);
        assert_eq!(ended.signal, Some(9), "{ended:?}");
        assert_eq!(lock.exists(), made, "{:?}", calls[at]);
    }
}

#[test]
fn a_grant_cut_off_long_ago_keeps_its_place() {
    if !strace::possible("kills::a_grant_cut_off_long_ago_keeps_its_place") {
        return;
    }
    let scene = scene::RECLAIM;
    let stage = Stage::new(&scene);
    let calls = strace::calls(&stage, scene.args);
    let link = calls
        .iter()
        .find(|call| call.name.starts_with("link") && call.shown.contains("/merge.lock\""))
        .expect("the call that makes the lock file");
    for turn in 0..2 {
        stage.reset();
        assert_eq!(strace::kill_at(&stage, link, scene.args).signal, Some(9));
        crate::aftermath::let_hours_pass(&stage);
        (scene.after)(&stage, turn);
    }
}

#[test]
fn a_release_on_record_is_completed_by_the_next() {
    if !strace::possible("kills::a_release_on_record_is_completed_by_the_next") {
        return;
    }
    let stage = Stage::new(&scene::RELEASE);
    // The second sync is the queue's: that the holder is ending is on record by then.
    Stopped::at(&stage, scene::RELEASE.args, 2).dies();
    assert_eq!(fixture::holder(&stage.repo).as_deref(), Some("hold\n"));
    stage.quick("acquire --as wait").exits(0);
    stage.held_by("wait");
    assert_eq!(fixture::waiting(&stage.repo), ["wait", "other"]);
}

#[test]
fn in_acquire() {
    at_every_call(scene::ACQUIRE);
}

#[test]
fn in_an_acquire_that_queues() {
    at_every_call(scene::QUEUE);
}

#[test]
fn in_release() {
    at_every_call(scene::RELEASE);
}

#[test]
fn in_reclaim() {
    at_every_call(scene::RECLAIM);
}

#[test]
fn in_the_removal_of_a_stale_holder() {
    at_every_call(scene::EVICT);
}

#[test]
fn in_an_acquire_by_the_holder() {
    at_every_call(scene::AGAIN);
}

#[test]
fn in_an_acquire_with_a_witness() {
    at_every_call(scene::WITNESS);
}

#[test]
fn in_a_release_with_a_witness() {
    at_every_call(scene::WITNESS_LEAVES);
}

#[test]
fn in_a_run() {
    at_every_change(runs::RUN);
}

#[test]
fn in_a_run_that_takes_over_a_place() {
    at_every_change(runs::TAKE_OVER);
}

#[test]
fn in_a_run_that_is_out_of_time() {
    at_every_change(runs::TIME_OUT);
}

#[test]
fn in_a_run_of_the_holder() {
    at_every_change(runs::VISIT);
}

#[test]
fn in_an_acquire_that_would_wait() {
    at_every_change(runs::ACQUIRE_WAITING);
}

#[test]
fn in_a_session_that_begins() {
    at_every_call(sessions::BEGIN);
}

#[test]
fn in_a_session_that_takes_the_place_of_another() {
    at_every_call(sessions::TAKE);
}

#[test]
fn in_a_session_that_sets_aside_what_makes_no_sense() {
    at_every_call(sessions::MEND);
}

#[test]
fn in_a_heartbeat() {
    at_every_call(sessions::BEAT);
}

#[test]
fn in_a_session_that_ends() {
    at_every_call(sessions::END);
}

#[test]
fn in_a_build_acquire() {
    at_every_change(builds::ACQUIRE);
}

#[test]
fn in_a_build_acquire_with_a_witness() {
    at_every_change(builds::WITNESS);
}

#[test]
fn in_a_build_acquire_that_queues() {
    at_every_change(builds::QUEUE);
}

#[test]
fn in_the_claim_of_a_slot() {
    at_every_change(builds::CLAIM);
}

#[test]
fn in_the_removal_of_a_dead_builder() {
    at_every_change(builds::PRUNE);
}

#[test]
fn in_the_removal_of_a_dead_builder_with_a_witness() {
    at_every_change(builds::PRUNE_WITNESS);
}

#[test]
fn in_the_removal_of_one_that_builds_for_too_long() {
    at_every_change(builds::REAP);
}

#[test]
fn in_a_build_release() {
    at_every_change(builds::RELEASE);
}

#[test]
fn in_a_build_release_with_a_witness() {
    at_every_change(builds::WITNESS_LEAVES);
}

#[test]
fn in_the_last_build_release() {
    at_every_change(builds::LAST);
}

#[test]
fn in_a_build_renewal() {
    at_every_call(builds::RENEW);
}

#[test]
fn in_a_build_run() {
    at_every_change(build_runs::RUN);
}

#[test]
fn in_a_build_run_that_waits() {
    at_every_change(build_runs::WAIT);
}

#[test]
fn in_a_build_run_that_takes_over_a_place() {
    at_every_change(build_runs::TAKE_OVER);
}

#[test]
fn in_a_build_run_that_is_out_of_time() {
    at_every_change(build_runs::TIME_OUT);
}

#[test]
fn in_a_build_run_of_one_that_has_a_slot() {
    at_every_change(build_runs::VISIT);
}

#[test]
fn in_a_build_acquire_that_would_wait() {
    at_every_change(build_runs::ACQUIRE_WAITING);
}

#[test]
fn while_a_build_run_confirms_its_slot() {
    at_calls(build_runs::KEEP, |calls, _, at| {
        let renames = |call: &&Syscall| {
            call.name.starts_with("rename") && call.shown.contains("/build-queue.json\"")
        };
        // From the grant to what confirms it.
        let done = calls[..at].iter().filter(renames).count();
        done == 1 && strace::changes(&calls[at])
    });
}
