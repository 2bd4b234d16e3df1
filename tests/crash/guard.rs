//! The guard: whose file is waited for, whose is removed, and a process that stops inside.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;

use crate::common::fixture::{base, holder, queue_file, read_queue, waiting, write_queue};
use crate::common::{DEADLINE, Env, Run, eventually};
use crate::scene::{self, Stage};
use crate::stopped::{Stopped, guard_file, kernel_lock_is_taken};
use crate::strace;

/// A guard file with this content that was last touched so many seconds ago.
fn leave(repo: &Path, content: &str, age: u64) {
    std::fs::create_dir_all(base(repo)).expect("the base");
    let path = guard_file(repo);
    std::fs::write(&path, content).expect("a guard file");
    let then = SystemTime::now() - Duration::from_secs(age);
    let file = File::options().write(true).open(&path).expect("it");
    file.set_modified(then).expect("utimes");
}

fn acquire(env: &Env, repo: &Path, timeout: &str) -> (Run, Duration) {
    let start = Instant::now();
    let run = env
        .call(repo)
        .args("--format json merge acquire --as me")
        .env("GIT_LOCKS_GUARD_TIMEOUT", timeout)
        .run();
    (run, start.elapsed())
}

#[test]
fn another_programs_file_is_waited_for() {
    let env = Env::new();
    let repo = env.init("repo");
    leave(&repo, "12345\n", 50);
    let (run, took) = acquire(&env, &repo, "1s");
    assert!(took >= Duration::from_millis(900), "{took:?}");
    let run = run.exits(75).one_line_error();
    assert!(run.stderr.contains("merge-queue.json.lock"), "{run:?}");
    run.says(&[("status", json!("error")), ("error_code", json!("TIMEOUT"))]);
    assert!(guard_file(&repo).exists());
    assert_eq!(holder(&repo), None);

    // It goes in time.
    thread::scope(|scope| {
        let waits = scope.spawn(|| acquire(&env, &repo, "20s"));
        // Once the other has taken the kernel's lock, it waits for the file.
        eventually(DEADLINE, || kernel_lock_is_taken(&repo));
        std::fs::remove_file(guard_file(&repo)).expect("its own file");
        let (run, took) = waits.join().expect("it ends");
        run.exits(0);
        assert!(took < Duration::from_secs(5), "{took:?}");
    });
}

#[test]
fn an_old_file_of_another_program_is_removed_after_watching_it() {
    let env = Env::new();
    let repo = env.init("repo");
    for (content, age) in [("", 61), ("4711\n", 3600)] {
        leave(&repo, content, age);
        let (run, took) = acquire(&env, &repo, "10s");
        run.exits(0);
        assert!(took >= Duration::from_secs(2), "{took:?}");
        assert!(took < Duration::from_secs(6), "{took:?}");
        assert!(!guard_file(&repo).exists());
        env.merge(&repo, "release --as me").exits(0);
    }
}

#[test]
fn an_old_file_that_changes_is_not_removed() {
    let env = Env::new();
    let repo = env.init("repo");
    leave(&repo, "0\n", 100);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let repo = &repo;
        let over = &over;
        scope.spawn(move || {
            let mut number = 1_u32;
            while !over.load(Ordering::SeqCst) {
                leave(repo, &format!("{number}\n"), 100);
                number += 1;
                thread::sleep(Duration::from_millis(100));
            }
        });
        let (run, _) = acquire(&env, repo, "4s");
        over.store(true, Ordering::SeqCst);
        run.exits(75).says(&[("error_code", json!("TIMEOUT"))]);
    });
    assert!(guard_file(&repo).exists());
}

#[test]
fn an_old_file_that_is_replaced_is_not_removed() {
    let env = Env::new();
    let repo = env.init("repo");
    leave(&repo, "same\n", 100);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (repo, over) = (&repo, &over);
        scope.spawn(move || {
            while !over.load(Ordering::SeqCst) {
                // Another program's turns, one after the other; clocks may be off.
                let next = base(repo).join("next");
                std::fs::write(&next, "same\n").expect("a file");
                let then = SystemTime::now() - Duration::from_secs(100);
                let file = File::options().write(true).open(&next).expect("it");
                file.set_modified(then).expect("utimes");
                std::fs::rename(&next, guard_file(repo)).expect("its own file");
                thread::sleep(Duration::from_millis(100));
            }
        });
        let (run, _) = acquire(&env, repo, "4s");
        over.store(true, Ordering::SeqCst);
        run.exits(75);
    });
    assert!(guard_file(&repo).exists());
}

#[test]
fn our_own_file_is_removed_at_once() {
    let env = Env::new();
    let repo = env.init("repo");
    for age in [0, 30, 100] {
        leave(&repo, "git-locks guard 1\npid 1\n", age);
        let (run, took) = acquire(&env, &repo, "10s");
        run.exits(0);
        assert!(took < Duration::from_secs(1), "{took:?}");
        assert!(!guard_file(&repo).exists());
        env.merge(&repo, "release --as me").exits(0);
    }
}

#[test]
fn a_stopped_process_inside_is_named() {
    if !strace::possible("guard::a_stopped_process_inside_is_named") {
        return;
    }
    let stage = Stage::new(&scene::ACQUIRE);
    let stopped = Stopped::at(&stage, "acquire --as other", 1);
    let pid = stopped.pid;
    let (run, took) = acquire(&stage.env, &stage.repo, "1s");
    assert!(took < Duration::from_secs(4), "{took:?}");
    let run = run.exits(75).one_line_error();
    assert!(run.stderr.contains(&format!("process {pid}")), "{run:?}");
    run.says(&[("error_code", json!("TIMEOUT"))]);
    // Readers need no guard.
    stage.quick("check").says(&[("status", json!("free"))]);

    stopped
        .goes_on()
        .exits(0)
        .says(&[("admission", json!("admitted"))]);
    stage.held_by("other");
    acquire(&stage.env, &stage.repo, "1s").0.exits(75);
    stage.quick("release --as other").exits(0);
    stage.quick("acquire --as me").exits(0);
}

#[test]
fn a_stopped_process_that_is_killed_leaves_the_guard_free() {
    if !strace::possible("guard::a_stopped_process_that_is_killed_leaves_the_guard_free") {
        return;
    }
    let stage = Stage::new(&scene::RELEASE);
    Stopped::at(&stage, "release --as hold", 1).dies();
    assert!(guard_file(&stage.repo).exists());
    (scene::RELEASE.after)(&stage, 0);
}

#[test]
fn a_guard_taken_away_starts_everything_over() {
    if !strace::possible("guard::a_guard_taken_away_starts_everything_over") {
        return;
    }
    for (scene, last) in [(scene::ACQUIRE, "me"), (scene::RELEASE, "other")] {
        let stage = Stage::new(&scene);
        let stopped = Stopped::at(&stage, scene.args, 1);
        // Another program takes the file for a stale one, and works.
        std::fs::remove_file(guard_file(&stage.repo)).expect("the guard file");
        let mut queue = read_queue(&stage.repo);
        let now = crate::common::fixture::now();
        let entry = json!({"plan_id": "new", "ts": now});
        queue["waiting"].as_array_mut().expect("a list").push(entry);
        queue["newer"] = json!(true);
        write_queue(&stage.repo, &queue);
        stopped.goes_on().exits(if last == "me" { 75 } else { 0 });
        let ids = waiting(&stage.repo);
        let place = |id: &str| ids.iter().position(|there| there == id);
        assert!(
            place("new").is_some(),
            "the other's entry was lost: {ids:?}"
        );
        assert!(place(last).is_some(), "a place was lost: {ids:?}");
        assert_eq!(read_queue(&stage.repo)["newer"], json!(true));
        stage.keeps_others_keys();
        assert!(!guard_file(&stage.repo).exists());
        assert!(queue_file(&stage.repo).exists());
    }
}
