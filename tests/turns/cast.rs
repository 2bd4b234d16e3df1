//! Who takes part in these tests.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::common::turns::{Ended, Gate, Running, presence_files};
use crate::common::{DEADLINE, Env, eventually};

/// What happens at once is done after this, on a busy machine too: far less than a place is
/// passed over after, a lease runs, or the guard is tried for.
pub const SOON: Duration = Duration::from_secs(15);

/// INT, TERM, HUP and QUIT.
pub const ENDING: [i32; 4] = [2, 15, 1, 3];
/// TERM.
pub const TERM: i32 = 15;

/// A repository whose lock `keeper` holds, without a process.
pub fn kept() -> (Env, PathBuf) {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as keeper").exits(0);
    (env, repo)
}

/// `keeper` lets go.
#[track_caller]
pub fn keeper_leaves(env: &Env, repo: &Path) {
    env.merge(repo, "release --as keeper").exits(0);
}

/// `acquire --wait` with this id.
pub fn waiter(env: &Env, dir: &Path, id: &str) -> Running {
    let call = env
        .call(dir)
        .args("--format json merge acquire --wait --as");
    call.arg(id).start()
}

/// `run` with this id, of a command that is kept in by `gate`.
pub fn runner(env: &Env, dir: &Path, gate: &Gate, id: &str) -> Running {
    let call = env.call(dir).args("merge run --as").arg(id);
    call.cmd(gate.cmd(id)).start()
}

/// `run` without an id; the gate's log has the id that it got.
pub fn nameless(env: &Env, dir: &Path, gate: &Gate) -> Running {
    let line = format!("exec {}", gate.line("\"$GIT_LOCKS_HOLDER\""));
    env.call(dir)
        .args("merge run")
        .cmd(["sh", "-c", &line])
        .start()
}

/// Kills one that waits, until nothing shows it alive any more: a process that it was about to start
/// keeps its presence for a moment longer.
#[track_caller]
pub fn kill_waiter(repo: &Path, waiter: &mut Running) {
    let present = || {
        let files = presence_files(repo);
        files.iter().filter(|file| is_locked(file)).count()
    };
    let before = present();
    waiter.kill().dies_of(9);
    eventually(DEADLINE, || present() < before);
}

/// Whether somebody keeps a presence file locked; looks as others do, who mistake no look for that.
pub fn is_locked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock_shared().is_err())
}

/// The JSON report on standard output.
#[track_caller]
pub fn report(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|error| panic!("no JSON report ({error}) from {ended:#?}"))
}

/// Fails the test unless this is the end of an `acquire` that was admitted.
#[track_caller]
pub fn admitted(ended: Ended, id: &str) -> Value {
    let ended = ended.exits(0);
    let report = report(&ended);
    assert_eq!(report["status"], "success", "{ended:#?}");
    assert_eq!(report["admission"], "admitted", "{ended:#?}");
    assert_eq!(report["holder"], id, "{ended:#?}");
    report
}

/// The lines that tell of waiting.
pub fn waiting_lines(stderr: &str) -> Vec<String> {
    let lines = stderr.lines();
    let told = lines.filter(|line| line.contains("waiting for the merge lock"));
    told.map(str::to_owned).collect()
}
