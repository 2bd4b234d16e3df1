//! What other programs leave in a repository: plans, worktrees of plans, queues, holders.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Env;

/// `<main>/.plan/local`.
pub fn base(main: &Path) -> PathBuf {
    main.join(".plan/local")
}

/// `<main>/.plan/local/merge.lock`.
pub fn lock_file(main: &Path) -> PathBuf {
    base(main).join("merge.lock")
}

/// `<main>/.plan/local/merge-queue.json`.
pub fn queue_file(main: &Path) -> PathBuf {
    base(main).join("merge-queue.json")
}

/// Makes the repository one that keeps plans.
pub fn keep_plans(main: &Path) {
    std::fs::create_dir_all(base(main).join("plans")).expect("plans");
}

/// A living plan in the main checkout.
pub fn plan(main: &Path, id: &str) -> PathBuf {
    let dir = base(main).join("plans").join(id);
    std::fs::create_dir_all(&dir).expect("a plan");
    dir
}

/// A living plan that has moved into its worktree.
pub fn moved_plan(main: &Path, id: &str) -> PathBuf {
    keep_plans(main);
    let dir = plan_worktree(main, id).join(".plan/local/plans").join(id);
    std::fs::create_dir_all(&dir).expect("a plan in its worktree");
    dir
}

/// Where a plan's worktree is.
pub fn plan_worktree(main: &Path, id: &str) -> PathBuf {
    base(main).join("worktrees").join(id)
}

/// A plan that is gone although its worktree is live.
pub fn mid_recovery(main: &Path, id: &str) {
    keep_plans(main);
    let dir = plan_worktree(main, id);
    std::fs::create_dir_all(&dir).expect("a worktree");
    std::fs::write(dir.join(".git"), "gitdir: /nowhere\n").expect("a .git file");
}

/// Writes the lock file as another program would.
pub fn hold(main: &Path, content: impl AsRef<[u8]>) {
    std::fs::create_dir_all(base(main)).expect("the base");
    std::fs::write(lock_file(main), content).expect("a lock file");
}

/// Writes the queue as another program would.
pub fn write_queue(main: &Path, queue: &Value) {
    std::fs::create_dir_all(base(main)).expect("the base");
    let text = serde_json::to_string_pretty(queue).expect("JSON");
    std::fs::write(queue_file(main), text).expect("a queue");
}

/// Writes a queue of these ids, in this order.
pub fn queue_of(main: &Path, ids: &[&str]) {
    let now = super::fixture::now();
    let waiting: Vec<Value> = ids
        .iter()
        .map(|id| json!({"plan_id": id, "ts": now}))
        .collect();
    write_queue(main, &json!({ "waiting": waiting }));
}

/// The queue as it is on disk; an empty object where there is none.
pub fn read_queue(main: &Path) -> Value {
    match std::fs::read(queue_file(main)) {
        Ok(bytes) => serde_json::from_slice(&bytes).expect("the queue is JSON"),
        Err(_) => json!({}),
    }
}

/// The ids in the queue, in order.
pub fn waiting(main: &Path) -> Vec<String> {
    let queue = read_queue(main);
    let entries = queue
        .get("waiting")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let id = |entry: &Value| {
        entry
            .get("plan_id")
            .and_then(Value::as_str)
            .map(ToOwned::to_owned)
    };
    entries.iter().filter_map(id).collect()
}

/// What is in the lock file, or nothing.
pub fn holder(main: &Path) -> Option<String> {
    std::fs::read_to_string(lock_file(main)).ok()
}

/// Float epoch seconds.
pub fn now() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("a clock after 1970").as_secs_f64()
}

/// A linked worktree `name` of `main` beside it, on a branch of that name.
pub fn worktree(env: &Env, main: &Path, name: impl AsRef<OsStr>) -> PathBuf {
    let path = env.root().join(name.as_ref());
    env.git_args(
        main,
        &[
            OsStr::new("worktree"),
            OsStr::new("add"),
            OsStr::new("-q"),
            OsStr::new("--detach"),
            path.as_os_str(),
        ],
    );
    path
}

/// Every file and directory below `dir` with its bytes, sorted; `.git` included.
pub fn tree(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).expect("a directory").flatten() {
            let path = entry.path();
            let kind = entry.file_type().expect("a file type");
            let bytes = if kind.is_file() {
                std::fs::read(&path).expect("a file")
            } else {
                Vec::new()
            };
            if kind.is_dir() {
                open.push(path.clone());
            }
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

/// Fails the test unless `now` is the tree that `before` was; names what differs.
#[track_caller]
pub fn same_tree(before: &[(PathBuf, Vec<u8>)], now: &[(PathBuf, Vec<u8>)]) {
    let only = |a: &[(PathBuf, Vec<u8>)], b: &[(PathBuf, Vec<u8>)]| -> Vec<PathBuf> {
        let missing = a.iter().filter(|entry| !b.contains(entry));
        missing.map(|entry| entry.0.clone()).collect()
    };
    let (gone, new) = (only(before, now), only(now, before));
    assert!(
        gone.is_empty() && new.is_empty(),
        "gone or changed: {gone:?}; new or changed: {new:?}"
    );
}
