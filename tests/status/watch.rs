//! `--watch` where there is no terminal: one report after another, whenever it says something new.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Deserializer, Value};

use crate::cast::repository;
use crate::common::fixture::queue_file;
use crate::common::turns::{Running, send, waits_for};
use crate::common::{BIN, DEADLINE, Env};

/// The reports in `text`, whole ones.
pub fn reports(text: &str) -> Vec<Value> {
    let stream = Deserializer::from_str(text).into_iter::<Value>();
    stream.map_while(Result::ok).collect()
}

pub fn watch(env: &Env, repo: &std::path::Path, format: &str) -> Running {
    let mut command = env.command("env");
    command
        .current_dir(repo)
        .args(["--default-signal=INT,QUIT,TERM,HUP", BIN])
        .args(["status", "--watch", "--format", format]);
    Running::start(command)
}

#[test]
fn every_change_brings_a_report_and_nothing_else_does() {
    let (env, repo) = repository();
    let mut watching = watch(&env, &repo, "json");
    let count = |wanted: usize| {
        waits_for(&format!("{wanted} reports"), DEADLINE, || {
            (reports(&watching.stdout()).len() >= wanted).then_some(())
        });
        reports(&watching.stdout())
    };
    assert_eq!(count(1)[0]["merge"]["status"], "free");
    env.merge(&repo, "acquire --as alpha").exits(0);
    assert_eq!(count(2)[1]["merge"]["status"], "held");
    env.merge(&repo, "acquire --as beta").exits(75);
    let seen = count(3);
    assert_eq!(seen[2]["merge"]["waiting"][0]["plan_id"], "beta");
    // Nothing is said twice.
    assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "{seen:#?}");
    env.build(&repo, "acquire --as alpha").exits(0);
    assert_eq!(count(4)[3]["build"]["active_count"], 1);
    send(watching.pid(), nix::libc::SIGINT);
    let ended = watching.wait(DEADLINE).exits(130);
    assert_eq!(ended.stderr, "");
    assert_eq!(reports(&ended.stdout).len(), 4, "{}", ended.stdout);
}

#[test]
fn however_much_happens_there_are_few_reports() {
    let (env, repo) = repository();
    let mut watching = watch(&env, &repo, "json");
    waits_for("a report", DEADLINE, || {
        (!reports(&watching.stdout()).is_empty()).then_some(())
    });
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(2) {
        env.merge(&repo, "acquire --as alpha").exits(0);
        env.merge(&repo, "release --as alpha").exits(0);
    }
    send(watching.pid(), nix::libc::SIGINT);
    let ended = watching.wait(DEADLINE).exits(130);
    let most = 4.0 * started.elapsed().as_secs_f64() + 2.0;
    let count = u32::try_from(reports(&ended.stdout).len()).expect("few");
    assert!(f64::from(count) <= most, "{count} reports");
    assert!(count > 1, "{count} reports");
}

#[test]
fn what_changes_nothing_is_no_news() {
    let (env, repo) = repository();
    env.merge(&repo, "acquire --as alpha").exits(0);
    let mut watching = watch(&env, &repo, "json");
    waits_for("a report", DEADLINE, || {
        (!reports(&watching.stdout()).is_empty()).then_some(())
    });
    let started = Instant::now();
    // Long enough for several looks, each of them woken by this.
    while started.elapsed() < Duration::from_secs(1) {
        let queue = std::fs::File::options()
            .append(true)
            .open(queue_file(&repo));
        queue
            .expect("the queue")
            .set_modified(SystemTime::now())
            .expect("touched");
    }
    send(watching.pid(), nix::libc::SIGINT);
    let ended = watching.wait(DEADLINE).exits(130);
    assert_eq!(reports(&ended.stdout).len(), 1, "{}", ended.stdout);
}

#[test]
fn an_empty_line_parts_the_reports() {
    let (env, repo) = repository();
    let mut watching = watch(&env, &repo, "toon");
    waits_for("a report", DEADLINE, || {
        watching.stdout().contains("\nbuild:").then_some(())
    });
    env.merge(&repo, "acquire --as alpha").exits(0);
    waits_for("another", DEADLINE, || {
        (watching.stdout().matches("\n\nstatus: success\n").count() == 1).then_some(())
    });
    send(watching.pid(), nix::libc::SIGTERM);
    let ended = watching.wait(DEADLINE).exits(143);
    assert!(!ended.stdout.contains('\u{1b}'), "{ended:#?}");
}

#[test]
fn nobody_who_reads_ends_it_quietly() {
    let (env, repo) = repository();
    let mut command = env.command(BIN);
    command
        .current_dir(&repo)
        .args(["status", "--watch", "--format", "toon"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut reader = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("a line");
    assert_eq!(line, "status: success\n");
    // Nothing changes, so that nothing is written which would fail.
    drop(reader);
    let status = waits_for("its end", DEADLINE, || child.try_wait().expect("ours"));
    assert_eq!(status.code(), Some(0));
    let mut said = String::new();
    let mut stderr = child.stderr.take().expect("a pipe");
    stderr.read_to_string(&mut said).expect("read");
    assert_eq!(said, "");
}

#[test]
fn a_dying_holder_is_noticed_without_any_file_that_changes() {
    let (env, repo) = repository();
    let mut sleeper = Running::start({
        let mut command = env.command("sleep");
        command.arg("1000");
        command
    });
    let call = format!("acquire --as alpha --while-pid {}", sleeper.pid());
    env.merge(&repo, &call).exits(0);
    let mut watching = watch(&env, &repo, "json");
    let staleness = |wanted: &str| {
        waits_for(wanted, DEADLINE, || {
            let all = reports(&watching.stdout());
            let last = all.last()?;
            (last["merge"]["holders"][0]["staleness"] == wanted).then_some(())
        });
    };
    staleness("fresh");
    sleeper.kill();
    staleness("stale");
    send(watching.pid(), nix::libc::SIGHUP);
    watching.wait(DEADLINE).exits(129);
}
