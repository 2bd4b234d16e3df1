//! What must hold after a call was cut off at any point: one holder, no lost place, a fence that
//! only grows, nothing left over. `turn` alternates who calls first afterwards.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::common::fixture::{base, holder, plan_worktree, waiting};
use crate::scene::Stage;

/// Acquires; must be admitted.
#[track_caller]
fn admitted(stage: &Stage, args: &str) -> u64 {
    let run = stage.quick(args).exits(0);
    let fence = run.json()["fence"].as_u64().expect("a fence");
    assert!(fence >= stage.fence_before(), "the fence fell: {run:#?}");
    fence
}

/// Acquires; must be blocked.
#[track_caller]
pub fn blocked(stage: &Stage, args: &str) {
    stage.quick(args).exits(75);
}

/// Lets go, which must be what frees the lock.
#[track_caller]
pub fn let_go(stage: &Stage, id: &str) {
    stage
        .quick(&format!("release --as {id}"))
        .exits(0)
        .says(&[("action", json!("released"))]);
}

/// Each in turn holds the lock, in this order, with growing fences; then nothing is left.
#[track_caller]
pub fn in_turn(stage: &Stage, ids: &[&str], options: &str, above: u64) {
    let mut last = above;
    for id in ids {
        let fence = admitted(stage, &format!("acquire --as {id} {options}"));
        assert!(fence > last, "fence {fence} of {id} after {last}");
        last = fence;
        stage.held_by(id);
        let_go(stage, id);
    }
    nothing_is_left(stage);
}

/// Makes every temporary file of ours too old to be in use.
pub fn let_hours_pass(stage: &Stage) {
    let then = SystemTime::now() - Duration::from_secs(2 * 3600);
    for name in temporary(stage) {
        std::fs::File::open(&name)
            .and_then(|file| file.set_modified(then))
            .expect("utimes");
    }
}

/// The lock is free, nobody waits, and only known files are there.
#[track_caller]
pub fn nothing_is_left(stage: &Stage) {
    let_hours_pass(stage);
    // Whoever comes next sweeps; in the logs, whoever begins another day's.
    for log in list(&stage.repo.join(".plan/logs")) {
        if log.extension().is_some_and(|extension| extension == "log") {
            std::fs::remove_file(&log).expect("a day's log");
        }
    }
    stage.quick("acquire --as broom");
    let_go(stage, "broom");
    assert_eq!(holder(&stage.repo), None);
    assert_eq!(waiting(&stage.repo), Vec::<String>::new());
    stage.keeps_others_keys();
    assert_eq!(temporary(stage), Vec::<PathBuf>::new(), "left over");
    let base = base(&stage.repo);
    let known = [".gitignore", "merge-queue.json", "plans", "worktrees"];
    let odd: Vec<PathBuf> = list(&base)
        .into_iter()
        .filter(|path| !known.iter().any(|name| path == &base.join(name)))
        .collect();
    assert_eq!(odd, Vec::<PathBuf>::new(), "left over");
    // Empty directories may stay: they could be somebody else's.
    assert_eq!(
        files(&base.join("worktrees")),
        Vec::<PathBuf>::new(),
        "left over"
    );
    let records = std::fs::read_to_string(stage.ours().join("merge.json")).expect("records");
    let records: serde_json::Value = serde_json::from_str(&records).expect("JSON");
    assert_eq!(records["participants"], json!({}), "left over");
    let presences = list(&stage.ours().join("presence"));
    assert_eq!(presences, Vec::<PathBuf>::new(), "left over");
}

/// What is in `dir`.
pub fn list(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Whatever is in `dir` that is not a directory.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let (below, mut found): (Vec<_>, Vec<_>) =
        list(dir).into_iter().partition(|path| path.is_dir());
    found.extend(below.iter().flat_map(|dir| files(dir)));
    found
}

/// Temporary files of ours, anywhere.
pub fn temporary(stage: &Stage) -> Vec<PathBuf> {
    let mut open: Vec<PathBuf> = stage.places().to_vec();
    let mut found = Vec::new();
    while let Some(next) = open.pop() {
        for path in list(&next) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(".git-locks-") && name.ends_with(".tmp") {
                found.push(path.clone());
            }
            if path.is_dir() {
                open.push(path);
            }
        }
    }
    found
}

/// After [`crate::scene::ACQUIRE`].
pub fn acquire(stage: &Stage, turn: usize) {
    first_come(stage, turn, "");
}

/// After [`crate::scene::WITNESS`].
pub fn witness(stage: &Stage, turn: usize) {
    have_witnesses(stage);
    first_come(stage, turn, "--ttl 1h");
}

/// To programs that know plans only, whoever holds or waits looks alive.
#[track_caller]
fn have_witnesses(stage: &Stage) {
    let holder = holder(&stage.repo).unwrap_or_default();
    let mut ids = waiting(&stage.repo);
    ids.extend(holder.lines().map(str::to_owned));
    for id in ids {
        let plans = plan_worktree(&stage.repo, &id).join(".plan/local/plans");
        assert!(plans.join(&id).is_dir(), "{id} looks dead");
    }
}

fn first_come(stage: &Stage, turn: usize, options: &str) {
    let (me, other) = (
        format!("acquire --as me {options}"),
        format!("acquire --as other {options}"),
    );
    let other_first = if turn.is_multiple_of(2) {
        admitted(stage, &me);
        stage.held_by("me");
        blocked(stage, &other);
        false
    } else if stage.quick(&other).code == 0 {
        stage.held_by("other");
        blocked(stage, &me);
        true
    } else {
        admitted(stage, &me);
        stage.held_by("me");
        false
    };
    let fence = stage.fence_now();
    let (first, second) = if other_first {
        ("other", "me")
    } else {
        ("me", "other")
    };
    let_go(stage, first);
    in_turn(stage, &[second], options, fence);
}

/// After [`crate::scene::QUEUE`].
pub fn queue(stage: &Stage, turn: usize) {
    stage.held_by("hold");
    assert_eq!(waiting(&stage.repo)[..2], ["hold", "wait"]);
    let fence = stage.fence_now();
    if turn.is_multiple_of(2) {
        blocked(stage, "acquire --as me");
        blocked(stage, "acquire --as late");
        let_go(stage, "hold");
        in_turn(stage, &["wait", "me", "late"], "", fence);
    } else {
        let_go(stage, "hold");
        blocked(stage, "acquire --as late");
        let joined = waiting(&stage.repo).contains(&"me".to_owned());
        let order = if joined {
            ["wait", "me", "late"]
        } else {
            ["wait", "late", "me"]
        };
        blocked(stage, "acquire --as me");
        in_turn(stage, &order, "", fence);
    }
}

/// After [`crate::scene::RELEASE`].
pub fn release(stage: &Stage, turn: usize) {
    followed(stage, turn, "");
}

/// After [`crate::scene::WITNESS_LEAVES`].
pub fn witness_leaves(stage: &Stage, turn: usize) {
    have_witnesses(stage);
    followed(stage, turn, "--ttl 1h");
}

fn followed(stage: &Stage, turn: usize, options: &str) {
    let (wait, other) = (
        format!("acquire --as wait {options}"),
        format!("acquire --as other {options}"),
    );
    let fence = stage.fence_now();
    blocked(stage, &other);
    if turn.is_multiple_of(2) {
        let first = stage.quick(&wait);
        if first.code == 75 {
            // It was cut off before anything was said of it.
            stage.held_by("hold");
            let_go(stage, "hold");
            admitted(stage, &wait);
        }
    } else {
        stage.quick("release --as hold").exits(0);
        admitted(stage, &wait);
    }
    assert!(stage.fence_now() > fence, "the fence did not grow");
    stage.held_by("wait");
    blocked(stage, &other);
    stage
        .quick("release --as hold")
        .exits(0)
        .says(&[("action", json!("noop"))]);
    stage.held_by("wait");
    let fence = stage.fence_now();
    let_go(stage, "wait");
    in_turn(stage, &["other"], options, fence);
}

/// After [`crate::scene::RECLAIM`].
pub fn reclaim(stage: &Stage, turn: usize) {
    if turn.is_multiple_of(2) {
        blocked(stage, "acquire --as other");
        blocked(stage, "acquire --as late");
    }
    taken_over(stage);
}

/// After [`crate::scene::EVICT`].
pub fn evict(stage: &Stage, turn: usize) {
    if turn.is_multiple_of(2) {
        stage.quick("release --require-stale --as late").exits(0);
        assert_eq!(holder(&stage.repo), None);
    }
    taken_over(stage);
}

/// The first waiter gets the dead holder's lock, and the others follow.
fn taken_over(stage: &Stage) {
    let fence = admitted(stage, "acquire --as wait");
    assert!(fence > stage.fence_before(), "the fence did not grow");
    stage.held_by("wait");
    blocked(stage, "acquire --as late");
    assert_eq!(waiting(&stage.repo), ["wait", "other", "late"]);
    stage
        .quick("release --as dead")
        .exits(0)
        .says(&[("action", json!("noop"))]);
    stage.held_by("wait");
    let_go(stage, "wait");
    in_turn(stage, &["other", "late"], "", fence);
}

/// After [`crate::scene::AGAIN`].
pub fn again(stage: &Stage, turn: usize) {
    if turn.is_multiple_of(2) {
        blocked(stage, "acquire --as wait");
    }
    stage.held_by("hold");
    let run = stage.quick("acquire --as hold").exits(0);
    let fence = stage.fence_before();
    run.says(&[("action", json!("already_held")), ("fence", json!(fence))]);
    blocked(stage, "acquire --as wait");
    let_go(stage, "hold");
    in_turn(stage, &["wait"], "", fence);
}
