//! Disks that fill up, bases that go away, clocks that jump, while processes wait.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::cast::{SOON, TERM, admitted, keeper_leaves, kept, report, runner, waiter};
use crate::common::fixture::{
    base, holder, keep_plans, lock_file, now, plan, read_queue, waiting, write_queue,
};
use crate::common::turns::{
    Ended, Gate, Running, edit_records, records, take_guard, wait_until_queued, waiters, waits_for,
};
use crate::common::{BIN, DEADLINE, Env, can_run, eventually, needs_root, required};

/// A mount namespace that stays until this is dropped.
struct Mounts<'a> {
    env: &'a Env,
    keeper: Running,
}

impl<'a> Mounts<'a> {
    fn possible(test: &str) -> bool {
        let tools = ["unshare", "mount", "nsenter"];
        needs_root(test) && tools.iter().all(|tool| required(test, tool))
    }

    /// A namespace that `script` has made ready in `dir`.
    #[track_caller]
    fn new(env: &'a Env, dir: &Path, script: &str) -> Self {
        let mut command = env.command("unshare");
        command
            .current_dir(dir)
            .args(["-m", "sh", "-e", "-c"])
            .arg(format!("{script}\necho ready\nread x"))
            .stdin(Stdio::piped());
        let keeper = Running::start(command);
        waits_for("a namespace", DEADLINE, || {
            keeper.stdout().contains("ready").then_some(())
        });
        Self { env, keeper }
    }

    /// Where a path of the namespace is found from outside.
    fn seen(&self, path: &Path) -> PathBuf {
        let inside = path.strip_prefix("/").expect("an absolute path");
        Path::new("/proc")
            .join(self.keeper.pid().to_string())
            .join("root")
            .join(inside)
    }

    /// A program in `dir` of the namespace.
    fn command(&self, dir: &Path, program: &str) -> Command {
        let mut command = self.env.command("nsenter");
        command
            .args(["-t", &self.keeper.pid().to_string(), "-m"])
            .args(["sh", "-c", "cd \"$0\" && exec \"$@\""])
            .args([dir.as_os_str(), program.as_ref()]);
        command
    }

    /// Runs a line of shell there, whatever its exit code.
    #[track_caller]
    fn shell(&self, dir: &Path, line: &str) -> bool {
        let mut command = self.command(dir, "sh");
        let status = command.args(["-c", line]).status().expect("nsenter");
        status.success()
    }

    fn locks(&self, dir: &Path, args: &str) -> Running {
        let mut command = self.command(dir, BIN);
        command.args(args.split_whitespace());
        Running::start(command)
    }

    fn runner(&self, dir: &Path, gate: &Gate, id: &str) -> Running {
        let mut command = self.command(dir, BIN);
        command.args(["merge", "run", "--as", id, "--"]);
        command.args(gate.cmd(id));
        Running::start(command)
    }
}

/// Whether it said why it cannot go on, or has ended.
fn complains(running: &mut Running, words: &str) {
    waits_for(&format!("a word of {words:?}"), DEADLINE, || {
        (running.stderr().contains(words) || !running.is_alive()).then_some(())
    });
}

/// Fails the test unless it had its turn, or gave up for the reason that it named.
#[track_caller]
fn turn_or_reason(ended: &Ended, gate: &Gate, id: &str, words: &str) {
    let ran = gate.order().iter().any(|name| name == id);
    match ended.code {
        Some(0) => assert!(ran, "{id} says it ran: {ended:#?}"),
        Some(128) => {
            assert!(!ran, "{id} ran: {ended:#?}");
            assert!(ended.stderr.contains("error: "), "{ended:#?}");
            assert!(ended.stderr.contains(words), "{ended:#?}");
        }
        _ => panic!("{id}: {ended:#?}"),
    }
}

#[test]
fn a_disk_that_fills_up() {
    if !Mounts::possible("disasters::a_disk_that_fills_up") {
        return;
    }
    let env = Env::new();
    let dir = env.mkdir("mounted");
    let mut gate = Gate::new(&env);
    let script = "mount -t tmpfs -o size=4m tmpfs \"$PWD\"; cd \"$PWD\"; git init -q -b main .";
    let mounts = Mounts::new(&env, &dir, script);
    let repo = mounts.seen(&dir);
    let mut first = mounts.locks(&dir, "merge acquire --as keeper");
    first.wait(SOON).exits(0);
    let mut a = mounts.runner(&dir, &gate, "a");
    wait_until_queued(&repo, 1);
    let mut b = mounts.runner(&dir, &gate, "b");
    wait_until_queued(&repo, 2);
    gate.open();
    mounts.shell(&dir, "dd if=/dev/zero of=filler bs=4k 2>/dev/null");
    let mut check = mounts.locks(&dir, "merge check");
    let check = check.wait(SOON).exits(0);
    assert!(check.stdout.contains("keeper"), "{check:#?}");
    assert!(a.is_alive() && b.is_alive(), "a full disk ended the wait");
    let mut release = mounts.locks(&dir, "merge release --as keeper");
    release.wait(SOON);
    waits_for("the keeper to let go", DEADLINE, || {
        (holder(&repo).as_deref() != Some("keeper\n")).then_some(())
    });
    complains(&mut a, "No space left");
    assert_eq!(gate.order(), [""; 0], "admitted without a record");
    assert!(mounts.shell(&dir, "rm filler"));
    for (id, running) in [("a", &mut a), ("b", &mut b)] {
        let ended = running.wait(DEADLINE * 2);
        turn_or_reason(&ended, &gate, id, "No space left");
    }
    gate.one_at_a_time(&[]);
    let mut late = mounts.runner(&dir, &gate, "late");
    late.wait(SOON).exits(0);
    assert_eq!(holder(&repo), None);
}

#[test]
fn a_disk_that_is_full_when_one_comes() {
    if !Mounts::possible("disasters::a_disk_that_is_full_when_one_comes") {
        return;
    }
    let env = Env::new();
    let dir = env.mkdir("mounted");
    let mut gate = Gate::new(&env);
    gate.open();
    let script = "mount -t tmpfs -o size=4m tmpfs \"$PWD\"; cd \"$PWD\"; git init -q -b main .";
    let mounts = Mounts::new(&env, &dir, script);
    let mut first = mounts.locks(&dir, "merge acquire --as keeper");
    first.wait(SOON).exits(0);
    mounts.shell(&dir, "dd if=/dev/zero of=filler bs=4k 2>/dev/null");
    for args in ["merge acquire --wait --as w", "merge run --as w -- true"] {
        let ended = mounts.locks(&dir, args).wait(SOON).exits(128);
        assert!(ended.stderr.contains("No space left"), "{ended:#?}");
    }
    assert!(mounts.shell(&dir, "rm filler"));
    mounts
        .locks(&dir, "merge release --as keeper")
        .wait(SOON)
        .exits(0);
    mounts.runner(&dir, &gate, "late").wait(SOON).exits(0);
}

#[test]
fn a_base_that_becomes_read_only() {
    if !Mounts::possible("disasters::a_base_that_becomes_read_only") {
        return;
    }
    let (env, repo) = kept();
    let mut gate = Gate::new(&env);
    let script = "mount --bind .plan/local .plan/local";
    let mounts = Mounts::new(&env, &repo, script);
    let mut a = mounts.runner(&repo, &gate, "a");
    wait_until_queued(&repo, 1);
    let mut b = mounts.runner(&repo, &gate, "b");
    wait_until_queued(&repo, 2);
    gate.open();
    // Somebody may be writing just now.
    eventually(DEADLINE, || {
        mounts.shell(&repo, "mount -o remount,bind,ro .plan/local 2>/dev/null")
    });
    let mut check = mounts.locks(&repo, "merge check");
    check.wait(SOON).exits(0);
    assert!(a.is_alive() && b.is_alive(), "it ended the wait");
    // Where it can be written, the holder leaves.
    keeper_leaves(&env, &repo);
    complains(&mut a, "Read-only file system");
    assert_eq!(gate.order(), [""; 0], "admitted without a lock file");
    assert!(mounts.shell(&repo, "mount -o remount,bind,rw .plan/local"));
    for (id, running) in [("a", &mut a), ("b", &mut b)] {
        let ended = running.wait(DEADLINE * 2);
        turn_or_reason(&ended, &gate, id, "Read-only file system");
    }
    gate.one_at_a_time(&[]);
    let mut late = runner(&env, &repo, &gate, "late");
    late.wait(SOON).exits(0);
    assert_eq!(holder(&repo), None);
}

/// Ways for a base to go away.
type Loss = fn(&Env, &Path);

fn delete(_: &Env, base: &Path) {
    // Somebody may be writing into it just now.
    eventually(DEADLINE, || {
        std::fs::remove_dir_all(base).is_ok() || !base.exists()
    });
}

fn delete_and_make(env: &Env, base: &Path) {
    delete(env, base);
    std::fs::create_dir_all(base).expect("a base");
}

fn move_aside(env: &Env, base: &Path) {
    std::fs::rename(base, env.path("moved-aside")).expect("a rename");
    std::fs::create_dir_all(base).expect("a base");
}

fn delete_with_its_parent(env: &Env, base: &Path) {
    delete(env, base.parent().expect("a parent"));
}

#[test]
fn a_base_that_goes_away() {
    let ways: [Loss; 4] = [delete, delete_and_make, move_aside, delete_with_its_parent];
    for lose in ways {
        let (env, repo) = kept();
        let gate = Gate::new(&env);
        let mut a = runner(&env, &repo, &gate, "a");
        wait_until_queued(&repo, 1);
        let mut b = runner(&env, &repo, &gate, "b");
        wait_until_queued(&repo, 2);
        a.says("waiting for the merge lock");
        b.says("waiting for the merge lock");
        // With the base goes the lock of a holder without a process.
        lose(&env, &base(&repo));
        waits_for("one of them", DEADLINE, || gate.order().first().cloned());
        wait_until_queued(&repo, 1);
        assert_eq!(gate.order().len(), 1, "two at once");
        gate.let_go();
        waits_for("the other", DEADLINE, || gate.order().get(1).cloned());
        gate.let_go();
        a.wait(SOON).exits(0);
        b.wait(SOON).exits(0);
        gate.one_at_a_time(&[]);
        assert_eq!(gate.order().len(), 2);
        assert_eq!(waiting(&repo), [""; 0]);
        assert_eq!(holder(&repo), None);
    }
}

#[test]
fn a_base_that_goes_away_where_plans_are_kept() {
    let env = Env::new();
    let repo = env.init("repo");
    keep_plans(&repo);
    plan(&repo, "keeper");
    env.merge(&repo, "acquire --as keeper").exits(0);
    let mut gate = Gate::new(&env);
    gate.open();
    let mut a = runner(&env, &repo, &gate, "a");
    wait_until_queued(&repo, 1);
    let mut b = runner(&env, &repo, &gate, "b");
    wait_until_queued(&repo, 2);
    delete_and_make(&env, &base(&repo));
    keep_plans(&repo);
    a.wait(SOON).exits(0);
    b.wait(SOON).exits(0);
    gate.one_at_a_time(&[]);
    assert_eq!(waiting(&repo), [""; 0]);
    let worktrees = std::fs::read_dir(base(&repo).join("worktrees"));
    let left = worktrees.map_or(0, |entries| entries.flatten().count());
    assert_eq!(left, 0, "a witness was left");
}

#[test]
fn a_queue_that_is_removed_or_ruined() {
    for ruin in [None, Some("{"), Some("[]"), Some("{\"waiting\": 7}")] {
        let (env, repo) = kept();
        let gate = Gate::new(&env);
        let mut a = runner(&env, &repo, &gate, "a");
        wait_until_queued(&repo, 1);
        let mut b = runner(&env, &repo, &gate, "b");
        wait_until_queued(&repo, 2);
        {
            let _guard = take_guard(&repo);
            let path = base(&repo).join("merge-queue.json");
            std::fs::remove_file(&path).expect("the queue");
            if let Some(text) = ruin {
                std::fs::write(&path, text).expect("a ruined queue");
            }
        }
        keeper_leaves(&env, &repo);
        waits_for("one of them", DEADLINE, || gate.order().first().cloned());
        gate.let_go();
        waits_for("the other", DEADLINE, || gate.order().get(1).cloned());
        gate.let_go();
        a.wait(SOON).exits(0);
        b.wait(SOON).exits(0);
        gate.one_at_a_time(&[]);
        assert_eq!(waiting(&repo), [""; 0], "after {ruin:?}");
    }
}

#[test]
fn a_waiter_that_was_dropped_from_the_queue_joins_again() {
    let (env, repo) = kept();
    let mut a = waiter(&env, &repo, "a");
    wait_until_queued(&repo, 1);
    let mut b = waiter(&env, &repo, "b");
    wait_until_queued(&repo, 2);
    {
        // As an older program would that takes it for dead.
        let _guard = take_guard(&repo);
        let mut queue = read_queue(&repo);
        let entries = queue["waiting"].as_array_mut().expect("waiting");
        entries.retain(|entry| entry["plan_id"] != "a");
        write_queue(&repo, &queue);
    }
    keeper_leaves(&env, &repo);
    // In whatever order: both get it.
    let mut left = vec![("a", &mut a), ("b", &mut b)];
    while !left.is_empty() {
        let at = waits_for("one of them", DEADLINE, || {
            left.iter_mut().position(|(_, running)| !running.is_alive())
        });
        let (id, running) = left.remove(at);
        admitted(running.wait(SOON), id);
        assert_eq!(holder(&repo), Some(format!("{id}\n")));
        env.merge(&repo, &format!("release --as {id}")).exits(0);
    }
    assert_eq!(waiting(&repo), [""; 0]);
}

/// Moves what is recorded of a participant on the wall clock.
fn shift(repo: &Path, id: &str, seconds: f64) {
    edit_records(repo, |all| {
        let record = &mut all["participants"][id];
        let shift = |at: &mut Value| {
            if let Some(wall) = at["wall"].as_f64() {
                at["wall"] = json!(wall + seconds);
            }
        };
        assert!(record["ticket"]["wall"].is_f64(), "no record: {record}");
        shift(&mut record["ticket"]);
        if !record["lease"].is_null() {
            shift(&mut record["lease"]["from"]);
        }
        if !record["grant"].is_null() {
            shift(&mut record["grant"]["since"]);
        }
    });
}

#[test]
fn a_wall_clock_that_was_set_forward() {
    let (env, repo) = kept();
    let mut first = waiter(&env, &repo, "w");
    wait_until_queued(&repo, 1);
    // All records look a day old, yet the machine has not run for a day since.
    shift(&repo, "keeper", -86_400.0);
    shift(&repo, "w", -86_400.0);
    let run = env.merge(&repo, "acquire --as b").exits(75);
    run.says(&[
        ("blocking_plan_id", json!("keeper")),
        ("position", json!(2)),
    ]);
    env.merge(&repo, "check")
        .exits(0)
        .says(&[("staleness", json!("fresh"))]);
    assert!(first.is_alive());
    assert_eq!(waiters(&repo), ["w", "b"]);
    keeper_leaves(&env, &repo);
    admitted(first.wait(SOON), "w");
}

#[test]
fn a_wall_clock_that_was_set_back() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as keeper --ttl 3s").exits(0);
    let mut first = waiter(&env, &repo, "w");
    wait_until_queued(&repo, 1);
    shift(&repo, "keeper", 86_400.0);
    shift(&repo, "w", 86_400.0);
    let start = now();
    let report = admitted(first.wait(DEADLINE), "w");
    assert_eq!(report["reclaimed_from"], "keeper");
    assert!(now() - start < 30.0);
}

#[test]
fn times_in_the_queue_order_nobody() {
    let (env, repo) = kept();
    let mut a = waiter(&env, &repo, "a");
    wait_until_queued(&repo, 1);
    let b = waiter(&env, &repo, "b");
    wait_until_queued(&repo, 2);
    b.says("waiting for the merge lock");
    let before = records(&repo);
    {
        let _guard = take_guard(&repo);
        let mut queue = read_queue(&repo);
        for (at, ts) in [(1, now() * 2.0), (2, 1.0)] {
            queue["waiting"][at]["ts"] = json!(ts);
        }
        write_queue(&repo, &queue);
    }
    assert!(before["participants"]["a"].is_object());
    keeper_leaves(&env, &repo);
    admitted(a.wait(SOON), "a");
    b.signal(TERM);
}

#[test]
fn in_another_time_namespace() {
    let test = "disasters::in_another_time_namespace";
    let (env, repo) = kept();
    let inside = |args: &str| {
        let mut command = env.command("unshare");
        command
            .current_dir(&repo)
            .args(["-T", "-f", "--boottime", "864000", "--monotonic", "864000"])
            .args(args.split_whitespace());
        command
    };
    let probe = inside("true").output();
    let possible = probe.is_ok_and(|output| output.status.success());
    if !can_run(test, possible, "needs time namespaces") {
        return;
    }
    // Ten days later by its boot clock, no lease has ended and no patience either.
    let start = std::time::Instant::now();
    let args = format!("{BIN} --format json merge acquire --wait=2s --as w");
    let ended = Running::start(inside(&args)).wait(SOON).exits(75);
    assert!(start.elapsed() >= std::time::Duration::from_secs(2));
    assert_eq!(report(&ended)["blocking_plan_id"], "keeper", "{ended:#?}");
    assert_eq!(holder(&repo).as_deref(), Some("keeper\n"));
    let args = format!("{BIN} --format json merge acquire --wait --as w");
    let mut inner = Running::start(inside(&args));
    inner.says("waiting for the merge lock");
    let mut outer = waiter(&env, &repo, "x");
    outer.says("waiting for the merge lock");
    assert_eq!(waiters(&repo), ["w", "x"]);
    keeper_leaves(&env, &repo);
    admitted(inner.wait(SOON), "w");
    assert!(outer.is_alive());
    assert!(lock_file(&repo).exists());
    env.merge(&repo, "release --as w").exits(0);
    admitted(outer.wait(SOON), "x");
}

/// What stands in the old place of a repository after its holder and its waiter have ended: `lose`
/// makes it go away meanwhile.
#[track_caller]
fn without_its_repository(lose: impl FnOnce(&Env, &Path)) -> Env {
    let env = Env::new();
    let repo = env.init("repo");
    let gate = Gate::new(&env);
    let mut a = runner(&env, &repo, &gate, "a");
    gate.wait_begun("a");
    let mut b = runner(&env, &repo, &gate, "b");
    b.says("waiting for the merge lock");
    lose(&env, &repo);
    let ended = b.wait(SOON).exits(128);
    assert!(ended.stderr.contains("not there any more"), "{ended:#?}");
    a.says("not there any more");
    assert!(a.is_alive(), "its command was ended");
    gate.let_go();
    a.wait(SOON).exits(0);
    assert_eq!(gate.order(), ["a"], "two at once");
    assert!(!repo.exists(), "something was made in the old place");
    env
}

#[test]
fn a_repository_that_is_moved_is_not_made_anew() {
    let env = without_its_repository(|env, repo| {
        std::fs::rename(repo, env.path("moved")).expect("a rename");
    });
    let moved = env.path("moved");
    let gate = Gate::new(&env);
    let mut late = runner(&env, &moved, &gate, "late");
    gate.wait_begun("late");
    gate.let_go();
    late.wait(SOON).exits(0);
    assert_eq!(holder(&moved), None);
}

#[test]
fn a_repository_that_is_removed_is_not_made_anew() {
    without_its_repository(|env, repo| {
        // Until this is gone, it looks like a repository whose lock was taken away.
        std::fs::remove_file(repo.join(".git/HEAD")).expect("its HEAD");
        delete(env, repo);
    });
}

#[test]
fn one_that_can_open_no_more_files_keeps_nobody_waiting() {
    for limit in 8..14 {
        let (env, repo) = kept();
        let mut poor = env.command("sh");
        poor.current_dir(&repo)
            .args(["-c", "ulimit -n \"$0\"; exec \"$@\"", &limit.to_string()])
            .args([BIN, "merge", "run", "--as", "poor", "--", "true"]);
        let mut poor = Running::start(poor);
        waits_for("it to wait or to end", DEADLINE, || {
            (!poor.is_alive() || waiters(&repo) == ["poor"]).then_some(())
        });
        let gate = Gate::new(&env);
        let mut next = runner(&env, &repo, &gate, "next");
        next.says("waiting for the merge lock");
        keeper_leaves(&env, &repo);
        waits_for("the next", SOON, || {
            gate.order().first().cloned().or_else(|| {
                assert!(next.is_alive(), "limit {limit}");
                None
            })
        });
        gate.let_go();
        next.wait(SOON).exits(0);
        let ended = poor.wait(SOON);
        assert!(matches!(ended.code, Some(0 | 128)), "{limit}: {ended:#?}");
    }
}

#[test]
fn one_that_can_start_no_process_keeps_nobody_waiting() {
    if !Mounts::possible("one_that_can_start_no_process_keeps_nobody_waiting") {
        return;
    }
    let (env, repo) = kept();
    let mut poor = env.command("unshare");
    poor.current_dir(&repo)
        .args(["-m", "sh", "-e", "-c"])
        .arg("mount -t tmpfs none /proc; exec \"$0\" \"$@\"")
        .args([BIN, "merge", "run", "--as", "poor", "--", "true"]);
    let mut poor = Running::start(poor);
    wait_until_queued(&repo, 1);
    let gate = Gate::new(&env);
    let mut next = runner(&env, &repo, &gate, "next");
    next.says("waiting for the merge lock");
    keeper_leaves(&env, &repo);
    waits_for("the next", SOON, || gate.order().first().cloned());
    gate.let_go();
    next.wait(SOON).exits(0);
    let ended = poor.wait(SOON).exits(128);
    assert!(ended.stderr.contains("cannot start"), "{ended:#?}");
}

/// The writing end of a pipe that is full, and the other end, which nobody reads.
fn full_pipe() -> (std::io::PipeWriter, std::io::PipeReader) {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).expect("not to wait");
    while std::io::Write::write(&mut writer, &[b'x'; 4096]).is_ok() {}
    fcntl(&writer, FcntlArg::F_SETFL(OFlag::empty())).expect("to wait");
    (writer, reader)
}

#[test]
fn one_whose_words_nobody_reads_keeps_nobody_waiting() {
    let (env, repo) = kept();
    let gate = Gate::new(&env);
    let (writer, _reader) = full_pipe();
    let mut unheard = env.call(&repo).args("merge run --as unheard");
    unheard = unheard.cmd(gate.cmd("unheard"));
    let mut unheard = unheard.into_command();
    unheard
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(writer);
    let mut unheard = Unread(unheard.spawn().expect("a run"));
    wait_until_queued(&repo, 1);
    let mut next = runner(&env, &repo, &gate, "next");
    next.says("waiting for the merge lock");
    keeper_leaves(&env, &repo);
    waits_for("the unheard one", SOON, || gate.order().first().cloned());
    // What there is to say of a lock file that is gone does not keep it from being put back.
    std::fs::remove_file(lock_file(&repo)).expect("the lock file");
    waits_for("the lock file", SOON, || holder(&repo));
    gate.let_go();
    waits_for("the next", SOON, || gate.order().get(1).cloned());
    gate.let_go();
    next.wait(SOON).exits(0);
    assert!(unheard.0.wait().expect("its end").success());
    gate.one_at_a_time(&[]);
}

/// A process whose standard error is nobody's to read; it goes with this.
struct Unread(std::process::Child);

impl Drop for Unread {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
