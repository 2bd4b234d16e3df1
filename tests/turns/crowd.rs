//! Five hundred at once: they go in the order in which they came, one at a time.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::cast::{keeper_leaves, kept};
use crate::common::fixture::{holder, waiting};
use crate::common::turns::{Running, presence_files, waiters, waits_for};
use crate::common::{DEADLINE, Env};

const MANY: usize = 500;
/// How many are on their way into the queue at once.
const ON_THE_WAY: usize = 12;

/// What everybody does: a directory that only one can make betrays a second holder.
fn script(dir: &Path) -> String {
    let at = dir.display();
    format!(
        "mkdir '{at}/inside' || echo \"double $1 0\" >>'{at}/log'\n\
         echo \"in $1 $GIT_LOCKS_FENCE\" >>'{at}/log'\n\
         rmdir '{at}/inside' || echo \"double $1 0\" >>'{at}/log'\n"
    )
}

fn member(env: &Env, repo: &Path, dir: &Path, number: usize) -> Running {
    let id = format!("w{number}");
    let call = env.call(repo).args("-q merge run --as").arg(&id);
    let call = call.cmd(["sh".as_ref(), dir.join("script").as_os_str(), id.as_ref()]);
    Running::start_into(call.into_command(), Stdio::null())
}

#[test]
fn five_hundred_go_in_the_order_in_which_they_came() {
    let (env, repo) = kept();
    let dir = env.mkdir("arena");
    std::fs::write(dir.join("script"), script(&dir)).expect("a script");
    std::fs::write(dir.join("log"), "").expect("a log");
    let start = Instant::now();
    let mut all = Vec::new();
    while all.len() < MANY {
        waits_for("a place", DEADLINE * 2, || {
            (waiters(&repo).len() + ON_THE_WAY > all.len()).then_some(())
        });
        all.push(member(&env, &repo, &dir, all.len()));
    }
    waits_for("everybody's place", DEADLINE * 2, || {
        (waiters(&repo).len() == MANY).then_some(())
    });
    let order = waiters(&repo);
    let queued = start.elapsed();
    assert_eq!(presence_files(&repo).len(), MANY);
    assert!(all.iter_mut().all(Running::is_alive));
    keeper_leaves(&env, &repo);
    let log = || std::fs::read_to_string(dir.join("log")).expect("the log");
    // Nobody is stuck as long as they go on.
    let mut before = 0;
    while before < MANY {
        before = waits_for("the next turn", DEADLINE, || {
            let count = log().lines().count();
            (count > before).then_some(count)
        });
    }
    for running in &mut all {
        let ended = running.wait(DEADLINE);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        assert_eq!(ended.stderr, "");
    }
    let took = start.elapsed();
    eprintln!("{MANY} queued in {queued:?}, done in {took:?}");
    let log = log();
    let entries: Vec<(&str, &str, u64)> = log
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            (words[0], words[1], words[2].parse().expect("a fence"))
        })
        .collect();
    assert!(entries.iter().all(|entry| entry.0 == "in"), "DOUBLE HOLDER");
    let went: Vec<&str> = entries.iter().map(|entry| entry.1).collect();
    assert_eq!(went, order);
    assert!(entries.is_sorted_by(|a, b| a.2 < b.2), "fences do not grow");
    assert_eq!(holder(&repo), None);
    assert_eq!(waiting(&repo), [""; 0]);
    assert_eq!(presence_files(&repo).len(), 0);
    assert!(took < Duration::from_secs(240), "wedged: {took:?}");
}
