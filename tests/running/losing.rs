//! A lock that is taken away while the command runs, and a release when little else works.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::fixture::{base, hold, holder, keep_plans, plan, waiting};
use crate::common::turns::{Running, state, take_guard, waits_for};
use crate::common::{BIN, DEADLINE, needs_root, required};
use crate::stage::{AT_ONCE, CONT, STOP, Stage, each};

/// What is promised, and what a busy machine may add to it.
const NOTICED: Duration = Duration::from_secs(2 + 2);

/// A run of `me` whose command notes signals and goes on.
const GOES_ON: &str = "traps INT TERM HUP QUIT; log begin; hold me; log end";
/// One that ends by TERM, in order.
const ENDS: &str = "trap 'log TERM; exit 0' TERM; log begin; hold me; log end";

/// A run of `me` that has begun.
fn begun(stage: &Stage, args: &str, body: &str) -> Running {
    let running = stage.start(&format!("--plan-id me {args}"), body);
    stage.noted("begin");
    assert_eq!(stage.holder(), "me");
    running
}

/// Waits until the lock file names `me` again.
#[track_caller]
fn put_back(stage: &Stage) {
    waits_for("the lock file to be put back", NOTICED, || {
        (holder(&stage.repo).as_deref() == Some("me\n")).then_some(())
    });
}

/// Deletes a directory in which the runner may be making files.
#[track_caller]
fn delete(dir: &Path) {
    waits_for("the directory to go", DEADLINE, || {
        // Made anew as soon as it is gone, it went all the same.
        (std::fs::remove_dir_all(dir).is_ok() || !dir.exists()).then_some(())
    });
}

/// Waits until standard error says something about the lock.
#[track_caller]
fn says_so(running: &Running) {
    waits_for("a word on standard error", NOTICED, || {
        running.stderr().contains("lock").then_some(())
    });
}

/// Another living participant, whose lock it is from now on.
fn taken_by_other(stage: &Stage) {
    hold(&stage.repo, "other\n");
}

/// A repository that keeps plans: those of `me` and `other`.
fn with_plans() -> Stage {
    let stage = Stage::new();
    keep_plans(&stage.repo);
    plan(&stage.repo, "me");
    plan(&stage.repo, "other");
    stage
}

#[test]
fn a_lock_file_that_is_removed_is_put_back() {
    let stage = Stage::new();
    let mut running = begun(&stage, "", GOES_ON);
    for _ in 0..3 {
        std::fs::remove_file(stage.lock_file()).expect("the lock file");
        put_back(&stage);
        says_so(&running);
        stage.is_taken();
    }
    assert!(running.is_alive());
    stage.let_go("me");
    let ended = running.wait(DEADLINE).exits(0);
    assert!(ended.stderr.contains("lock"), "{ended:#?}");
    assert_eq!(stage.log(), ["begin", "end"]);
    stage.is_free();
}

#[test]
fn or_by_whoever_asks_next() {
    let stage = Stage::new();
    let mut running = begun(&stage, "", GOES_ON);
    for ask in [
        "acquire --as other",
        "acquire --as other",
        "acquire --as third",
    ] {
        std::fs::remove_file(stage.lock_file()).expect("the lock file");
        let run = stage.merge(ask).exits(75);
        assert_eq!(run.get("admission"), json!("blocked"), "{run:#?}");
        put_back(&stage);
    }
    assert!(running.is_alive());
    stage.let_go("me");
    running.wait(DEADLINE).exits(0);
    assert_eq!(stage.log(), ["begin", "end"]);
    assert_eq!(holder(&stage.repo), None);
    assert_eq!(waiting(&stage.repo), ["other", "third"]);
}

#[test]
fn put_back_for_the_child_of_a_killed_runner() {
    let stage = Stage::new();
    let mut running = begun(&stage, "", GOES_ON);
    running.kill();
    std::fs::remove_file(stage.lock_file()).expect("the lock file");
    stage.is_taken();
    assert_eq!(holder(&stage.repo).as_deref(), Some("me\n"));
    stage.let_go("me");
    stage.noted("end");
    stage.next_is_admitted();
}

#[test]
fn the_base_deleted_and_made_anew() {
    let stage = Stage::new();
    let mut running = begun(&stage, "", GOES_ON);
    for deleted in [base(&stage.repo), stage.repo.join(".plan")] {
        delete(&deleted);
        std::fs::create_dir_all(base(&stage.repo)).expect("a base");
        put_back(&stage);
        says_so(&running);
        stage.is_taken();
    }
    assert!(running.is_alive());
    stage.let_go("me");
    running.wait(DEADLINE).exits(0);
    assert_eq!(stage.log(), ["begin", "end"]);
    stage.is_free();
}

#[test]
fn all_that_is_recorded_deleted() {
    let stage = Stage::new();
    let body = format!("log pid $$; {GOES_ON}");
    let mut running = begun(&stage, "", &body);
    let child = stage.number("pid");
    delete(&stage.repo.join(".git/git-locks"));
    waits_for("the command on record again", NOTICED, || {
        (stage.record("me")["process"]["pid"] == child).then_some(())
    });
    stage.is_taken();
    // So it counts although its runner does not any more.
    running.kill();
    stage.is_taken();
    stage.let_go("me");
    stage.noted("end");
    stage.next_is_admitted();
    stage.is_free();
}

#[test]
fn what_a_nested_run_is_inside_of_survives_a_loss_that_is_made_good() {
    let stage = Stage::new();
    let inner = stage.script_line(GOES_ON);
    let body = format!("\"$BIN\" merge run -- {inner}; log code $?");
    let mut running = begun(&stage, "", &body);
    delete(&stage.repo.join(".git/git-locks"));
    waits_for("a record again", NOTICED, || {
        (!stage.record("me")["token"].is_null()).then_some(())
    });
    std::fs::remove_file(stage.lock_file()).expect("the lock file");
    put_back(&stage);
    hold(&stage.repo, "me\n");
    says_so(&running);
    let begin = Instant::now();
    waits_for("time to notice", DEADLINE, || {
        (begin.elapsed() > NOTICED).then_some(())
    });
    stage.is_taken();
    stage.let_go("me");
    running.wait(DEADLINE).exits(0);
    assert_eq!(stage.log(), ["begin", "end", "code 0"]);
    stage.is_free();
}

#[test]
fn the_base_deleted_and_not_made_anew() {
    let stage = Stage::new();
    let mut running = begun(&stage, "", GOES_ON);
    delete(&base(&stage.repo));
    // Whoever asks meanwhile does not get in.
    stage.is_taken();
    says_so(&running);
    assert!(running.is_alive());
    stage.let_go("me");
    running.wait(DEADLINE).exits(0);
    assert_eq!(stage.log(), ["begin", "end"]);
    stage.is_free();
}

#[test]
fn another_living_holder_ends_the_command() {
    let stage = with_plans();
    let mut running = begun(&stage, "", ENDS);
    let begin = Instant::now();
    taken_by_other(&stage);
    waits_for("TERM", NOTICED, || {
        stage.log().contains(&"TERM".to_owned()).then_some(())
    });
    let ended = running.wait(AT_ONCE).exits(76);
    assert!(begin.elapsed() < NOTICED + AT_ONCE);
    assert!(ended.stderr.contains("other"), "{ended:#?}");
    assert_eq!(stage.log(), ["begin", "TERM"]);
    // What is the other's stays the other's.
    assert_eq!(holder(&stage.repo).as_deref(), Some("other\n"));
    assert!(!waiting(&stage.repo).contains(&"me".to_owned()));
    stage.merge("check").says(&[
        ("holder_plan_id", json!("other")),
        ("staleness", json!("fresh")),
    ]);
    stage.merge("release --as other").exits(0);
    stage.is_free();
}

#[test]
fn a_command_that_does_not_end_is_killed() {
    // After the time that was given, or else after ten seconds.
    each(&[("", 10, 25), ("--kill-after 1s", 1, 9)], |case| {
        let (args, least, most) = case;
        let stage = with_plans();
        let mut running = begun(&stage, args, GOES_ON);
        let begin = Instant::now();
        taken_by_other(&stage);
        let ended = running.wait(DEADLINE).exits(76);
        let took = begin.elapsed();
        assert!(took >= Duration::from_millis(least * 1000 - 50), "{took:?}");
        assert!(took < Duration::from_secs(most), "{took:?}");
        assert!(ended.stderr.contains("other"), "{ended:#?}");
        assert_eq!(stage.log(), ["begin", "TERM"]);
        assert_eq!(holder(&stage.repo).as_deref(), Some("other\n"));
    });
}

#[test]
fn a_command_that_may_go_on() {
    each(&[0, 3], |code| {
        let stage = with_plans();
        let body = format!("{GOES_ON}; exit {code}");
        let mut running = begun(&stage, "--on-loss=continue", &body);
        taken_by_other(&stage);
        waits_for("the other's name", NOTICED, || {
            running.stderr().contains("other").then_some(())
        });
        assert!(running.is_alive());
        stage.let_go("me");
        running.wait(DEADLINE).exits(76);
        // Nobody told it anything.
        assert_eq!(stage.log(), ["begin", "end"]);
        assert_eq!(holder(&stage.repo).as_deref(), Some("other\n"));
    });
}

#[test]
fn said_once() {
    let stage = with_plans();
    let mut running = begun(&stage, "--on-loss=continue", GOES_ON);
    let begin = Instant::now();
    taken_by_other(&stage);
    let naming = |text: &str| text.lines().filter(|line| line.contains("other")).count();
    waits_for("the other's name, and time to repeat it", DEADLINE, || {
        let said = naming(&running.stderr()) > 0;
        (said && begin.elapsed() > Duration::from_secs(7)).then_some(())
    });
    stage.let_go("me");
    let ended = running.wait(DEADLINE).exits(76);
    // While it runs, and perhaps once more at the end.
    assert!(naming(&ended.stderr) <= 2, "{ended:#?}");
}

#[test]
fn a_loss_that_is_seen_only_at_the_end() {
    // Taken as the command ends: the other's lock is not removed.
    let stage = with_plans();
    let body = "printf 'other\\n' >\"$DIR/repo/.plan/local/merge.lock\"; log end; exit 0";
    let ended = stage.run("--plan-id me", body).exits(76);
    assert!(ended.stderr.contains("other"), "{ended:#?}");
    assert_eq!(holder(&stage.repo).as_deref(), Some("other\n"));
    assert!(!waiting(&stage.repo).contains(&"me".to_owned()));
}

/// Nobody's lock, whatever is in it: either the runner takes it back, or the command ends.
#[test]
fn garbage_in_the_lock_file() {
    let all = ["Not a plan id\n", "", "\u{1b}[31mred\n", "../../etc\n"];
    each(&all, |garbage| {
        let stage = with_plans();
        let mut running = begun(&stage, "", ENDS);
        hold(&stage.repo, garbage);
        // An empty one is being written, until it has been so for two seconds.
        let lost = waits_for("an answer", NOTICED + Duration::from_secs(2), || {
            let taken_back = holder(&stage.repo).as_deref() == Some("me\n");
            let ended = stage.log().contains(&"TERM".to_owned());
            (taken_back || ended).then_some(ended)
        });
        if lost {
            running.wait(AT_ONCE).exits(76);
        } else {
            stage.is_taken();
            assert!(running.is_alive());
            stage.let_go("me");
            running.wait(DEADLINE).exits(0);
            assert_eq!(stage.log(), ["begin", "end"]);
        }
        let said = running.stderr();
        assert!(said.contains("lock"), "{garbage:?}: {said:?}");
        assert!(!said.contains('\u{1b}'), "{said:?}");
    });
}

#[test]
fn garbage_lets_nobody_in() {
    let stage = with_plans();
    let mut running = begun(&stage, "--on-loss=continue", GOES_ON);
    for nobody in ["Not a plan id\n", "no-such-plan\n"] {
        for stopped in [false, true, true] {
            // A runner that stands still, outside of the guard, cannot be quicker than who asks.
            if stopped {
                let guard = take_guard(&stage.repo);
                running.signal(STOP);
                waits_for("the runner to stand still", DEADLINE, || {
                    (state(running.pid()) == Some('T')).then_some(())
                });
                drop(guard);
            }
            hold(&stage.repo, nobody);
            let run = stage.merge("acquire --as other").exits(75);
            assert_eq!(run.get("admission"), json!("blocked"), "{run:#?}");
            assert_eq!(holder(&stage.repo).as_deref(), Some("me\n"));
            running.signal(CONT);
        }
    }
    assert!(running.is_alive());
    stage.let_go("me");
    running.wait(DEADLINE);
    assert_eq!(stage.log(), ["begin", "end"]);
}

#[test]
fn without_a_descriptor_to_spare() {
    if !required("losing::without_a_descriptor_to_spare", "prlimit") {
        return;
    }
    each(&["3:3", "0:0"], |limit| {
        let stage = Stage::new();
        let mut running = begun(&stage, "", "log begin; hold me; log end; exit 3");
        let mut second = stage.start("--plan-id second", "log second");
        crate::common::turns::wait_until_queued(&stage.repo, 1);
        crate::stage::tool(
            "prlimit",
            &[
                "--pid".to_owned(),
                running.pid().to_string(),
                format!("--nofile={limit}"),
            ],
        );
        stage.let_go("me");
        let ended = running.wait(DEADLINE).exits(3);
        assert!(!ended.stderr.contains("panicked"), "{ended:#?}");
        second.wait(AT_ONCE).exits(0);
        assert_eq!(stage.log(), ["begin", "end", "second"]);
        stage.next_is_admitted();
        stage.is_free();
    });
}

#[test]
fn signals_without_a_descriptor_to_spare() {
    if !required("losing::signals_without_a_descriptor_to_spare", "prlimit") {
        return;
    }
    let stage = Stage::new();
    let mut running = begun(&stage, "", "log begin; hold me; log end");
    let pid = running.pid().to_string();
    crate::stage::tool("prlimit", &["--pid", &pid, "--nofile=3:3"]);
    running.signal(crate::stage::TERM);
    running.wait(AT_ONCE).exits(143);
    assert_eq!(holder(&stage.repo), None, "the lock is still there");
    assert_eq!(stage.log(), ["begin"]);
    stage.next_is_admitted();
    stage.is_free();
}

/// Runs a script in a small file system of its own, in a mount namespace of its own: `$1` is a
/// directory outside of it.
#[track_caller]
fn on_a_small_disk(stage: &Stage, script: &str) -> PathBuf {
    let small = stage.env.mkdir("small");
    let prelude = "set -e\nmount -t tmpfs -o size=3m tmpfs .\ncd \"$PWD\"\n\
                   git init -q -b main --template= .\n\
                   git commit -q --allow-empty -m first\n";
    let outside = stage.env.mkdir("outside");
    let mut command = stage.env.command("unshare");
    command
        .current_dir(&small)
        .args(["-m", "sh", "-c"])
        .arg(format!("{prelude}BIN='{BIN}'\n{script}"))
        .arg("sh")
        .arg(&outside);
    Running::start(command).wait(DEADLINE).exits(0);
    outside
}

#[test]
fn a_disk_that_is_full_by_the_end() {
    let test = "losing::a_disk_that_is_full_by_the_end";
    if !needs_root(test) || !required(test, "unshare") || !required(test, "mount") {
        return;
    }
    let stage = Stage::new();
    let outside = on_a_small_disk(
        &stage,
        "set +e\n\
         \"$BIN\" merge run --plan-id me -- sh -c '\n\
             dd if=/dev/zero of=fill bs=4k 2>/dev/null; [ -s fill ] && exit 3\n\
         ' 2>\"$1/said\"; echo $? >\"$1/code\"\n\
         ls -A .plan/local >\"$1/left\"\n\
         \"$BIN\" --format json merge check >\"$1/check\"\n\
         rm fill\n\
         \"$BIN\" merge run --plan-id next -- true; echo $? >\"$1/next\"\n\
         cp .plan/local/merge-queue.json \"$1/queue\"; exit 0\n",
    );
    let read = |name: &str| std::fs::read_to_string(outside.join(name)).expect("an output");
    let said = read("said");
    assert_eq!(read("code"), "3\n", "{said}");
    let left = read("left");
    assert!(!left.lines().any(|name| name == "merge.lock"), "{said}");
    assert!(read("check").contains("free"), "{}", read("check"));
    assert_eq!(read("next"), "0\n");
    let queue: Value = serde_json::from_str(&read("queue")).expect("JSON");
    // What could not be written is said.
    let entries = queue["waiting"].as_array().expect("a list");
    assert!(
        entries.is_empty() || (said.contains("warning") && entries[0]["plan_id"] == "me"),
        "{said:?}, but {queue}"
    );
}
