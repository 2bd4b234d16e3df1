//! Places of those who were killed: passed over, kept, and taken over.

use std::path::{Path, PathBuf};

use crate::cast::{SOON, admitted, keeper_leaves, kept, kill_waiter, nameless, runner, waiter};
use crate::common::fixture::{waiting, worktree};
use crate::common::turns::{Gate, Running, wait_until_queued, waiters, waits_for};
use crate::common::{DEADLINE, Env, chmod, needs_root};

#[test]
fn one_is_killed_and_the_others_go_on() {
    for victim in 0..3 {
        let (env, repo) = kept();
        let mut gate = Gate::new(&env);
        let mut ids = vec!["a", "b", "c"];
        let mut all = Vec::new();
        for id in &ids {
            all.push(runner(&env, &repo, &gate, id));
            wait_until_queued(&repo, all.len());
        }
        all.remove(victim).kill().dies_of(9);
        let killed = ids.remove(victim);
        assert_eq!(waiters(&repo).len(), 3, "its place is gone");
        gate.open();
        keeper_leaves(&env, &repo);
        for running in &mut all {
            running.wait(SOON).exits(0);
        }
        assert_eq!(gate.order(), ids, "{killed} was killed");
        gate.one_at_a_time(&[]);
        assert_eq!(waiters(&repo), [killed]);
    }
}

#[test]
fn all_but_the_last_are_killed() {
    let (env, repo) = kept();
    let gate = Gate::new(&env);
    let mut killed: Vec<String> = Vec::new();
    for number in 0..6 {
        let id = format!("k{number}");
        let mut victim = if number % 2 == 0 {
            runner(&env, &repo, &gate, &id)
        } else {
            waiter(&env, &repo, &id)
        };
        wait_until_queued(&repo, number + 1);
        kill_waiter(&repo, &mut victim);
        killed.push(id);
    }
    let mut last = waiter(&env, &repo, "last");
    wait_until_queued(&repo, 7);
    keeper_leaves(&env, &repo);
    admitted(last.wait(SOON), "last");
    assert_eq!(waiters(&repo), killed);
    assert_eq!(gate.order(), [""; 0]);
}

#[test]
fn a_poll_passes_over_the_killed_as_well() {
    let (env, repo) = kept();
    waiter_killed(&env, &repo, "a");
    keeper_leaves(&env, &repo);
    env.merge(&repo, "acquire --as b").exits(0);
    assert_eq!(waiters(&repo), ["a"]);
}

/// A waiter with this id was killed at the end of the queue.
fn waiter_killed(env: &Env, dir: &Path, id: &str) {
    let mut victim = waiter(env, dir, id);
    victim.says("waiting for the merge lock");
    kill_waiter(dir, &mut victim);
}

#[test]
fn the_killed_comes_back_to_its_place() {
    let (env, repo) = kept();
    waiter_killed(&env, &repo, "a");
    let gate = Gate::new(&env);
    let mut second = runner(&env, &repo, &gate, "b");
    wait_until_queued(&repo, 2);
    let mut third = runner(&env, &repo, &gate, "c");
    wait_until_queued(&repo, 3);
    keeper_leaves(&env, &repo);
    gate.wait_begun("b");
    let mut back = runner(&env, &repo, &gate, "a");
    back.says("waiting for the merge lock");
    assert_eq!(waiters(&repo), ["a", "c"]);
    for (name, running) in [("b", &mut second), ("a", &mut back), ("c", &mut third)] {
        gate.wait_begun(name);
        gate.let_go();
        running.wait(SOON).exits(0);
    }
    assert_eq!(gate.order(), ["b", "a", "c"]);
    gate.one_at_a_time(&[]);
    assert_eq!(waiting(&repo), [""; 0]);
}

#[test]
fn a_stopped_one_is_not_taken_for_dead() {
    let (env, repo) = kept();
    let gate = Gate::new(&env);
    let first = nameless(&env, &repo, &gate);
    wait_until_queued(&repo, 1);
    let ids = waiters(&repo);
    // Stopped any earlier, it might keep the guard.
    first.says("waiting for the merge lock");
    first.signal(19);
    waits_for("it to stop", DEADLINE, || {
        (crate::common::turns::state(first.pid()) == Some('T')).then_some(())
    });
    let _second = nameless(&env, &repo, &gate);
    wait_until_queued(&repo, 2);
    assert_eq!(waiters(&repo)[0], ids[0]);
}

/// Who stands where after a `run` without an id was killed in the main checkout at the first
/// place; `b` waits behind it.
struct Orphaned {
    env: Env,
    repo: PathBuf,
    gate: Gate,
    old: String,
    b: Running,
}

impl Orphaned {
    fn new() -> Self {
        let (env, repo) = kept();
        let gate = Gate::new(&env);
        nameless_killed(&env, &repo, &gate);
        let old = waiters(&repo).remove(0);
        assert!(old.starts_with("main-checkout-"), "{old}");
        let b = runner(&env, &repo, &gate, "b");
        wait_until_queued(&repo, 2);
        Self {
            env,
            repo,
            gate,
            old,
            b,
        }
    }

    /// Fails the test unless the newcomer got the place; gives back its id.
    #[track_caller]
    fn taken_over(&self, newcomer: &Running) -> String {
        newcomer.says("waiting for the merge lock");
        let waiters = waiters(&self.repo);
        assert_eq!(waiters.len(), 2, "{waiters:?} after {}", self.old);
        assert_ne!(waiters[0], self.old);
        assert_eq!(waiters[1], "b");
        waiters[0].clone()
    }

    /// Fails the test unless it stands at the end, and the place is as it was.
    #[track_caller]
    fn not_taken_over(&self, newcomer: &Running) -> String {
        newcomer.says("waiting for the merge lock");
        let waiters = waiters(&self.repo);
        assert_eq!(waiters.len(), 3, "{waiters:?}");
        assert_eq!(waiters[..2], [self.old.clone(), "b".to_owned()]);
        waiters[2].clone()
    }
}

/// A `run` without an id was killed at the end of the queue.
fn nameless_killed(env: &Env, dir: &Path, gate: &Gate) {
    let mut victim = nameless(env, dir, gate);
    victim.says("waiting for the merge lock");
    kill_waiter(dir, &mut victim);
}

#[test]
fn the_next_run_takes_over() {
    let mut scene = Orphaned::new();
    let mut newcomer = nameless(&scene.env, &scene.repo, &scene.gate);
    let id = scene.taken_over(&newcomer);
    assert!(id.starts_with("main-checkout-"), "{id}");
    scene.gate.open();
    keeper_leaves(&scene.env, &scene.repo);
    newcomer.wait(SOON).exits(0);
    scene.b.wait(SOON).exits(0);
    assert_eq!(scene.gate.order(), [id.as_str(), "b"]);
    assert_eq!(waiting(&scene.repo), [""; 0]);
}

#[test]
fn the_next_waiter_takes_over() {
    let scene = Orphaned::new();
    let call = scene.env.call(&scene.repo);
    let mut newcomer = call.args("--format json merge acquire --wait").start();
    assert_eq!(scene.taken_over(&newcomer), "main-checkout");
    keeper_leaves(&scene.env, &scene.repo);
    admitted(newcomer.wait(SOON), "main-checkout");
    assert_eq!(scene.gate.order(), [""; 0]);
}

#[test]
fn from_a_subdirectory_it_is_the_same_checkout() {
    let scene = Orphaned::new();
    let dir = scene.env.mkdir("repo/sub/dir");
    let newcomer = nameless(&scene.env, &dir, &scene.gate);
    scene.taken_over(&newcomer);
}

#[test]
fn an_explicit_id_takes_nothing_over() {
    let scene = Orphaned::new();
    let newcomer = runner(&scene.env, &scene.repo, &scene.gate, "x");
    assert_eq!(scene.not_taken_over(&newcomer), "x");
    let scene = Orphaned::new();
    let newcomer = waiter(&scene.env, &scene.repo, "x");
    assert_eq!(scene.not_taken_over(&newcomer), "x");
    let scene = Orphaned::new();
    let call = scene.env.call(&scene.repo).env("GIT_LOCKS_PLAN_ID", "x");
    let newcomer = call.args("merge run").cmd(scene.gate.cmd("x")).start();
    assert_eq!(scene.not_taken_over(&newcomer), "x");
}

#[test]
fn an_explicit_id_is_not_taken_over() {
    let (env, repo) = kept();
    waiter_killed(&env, &repo, "a");
    let gate = Gate::new(&env);
    let newcomer = nameless(&env, &repo, &gate);
    newcomer.says("waiting for the merge lock");
    let waiters = waiters(&repo);
    assert_eq!(waiters.len(), 2, "{waiters:?}");
    assert_eq!(waiters[0], "a");
}

#[test]
fn another_checkout_takes_nothing_over() {
    let scene = Orphaned::new();
    let linked = worktree(&scene.env, &scene.repo, "linked");
    let newcomer = nameless(&scene.env, &linked, &scene.gate);
    let id = scene.not_taken_over(&newcomer);
    assert!(id.starts_with("linked-"), "{id}");
}

#[test]
fn a_poll_takes_nothing_over() {
    let scene = Orphaned::new();
    scene.env.merge(&scene.repo, "acquire").exits(75);
    let waiters = waiters(&scene.repo);
    assert_eq!(waiters, [scene.old.as_str(), "b", "main-checkout"]);
}

#[test]
fn a_living_one_keeps_its_place() {
    let (env, repo) = kept();
    let mut gate = Gate::new(&env);
    let mut all = Vec::new();
    for count in 1..=4 {
        all.push(nameless(&env, &repo, &gate));
        wait_until_queued(&repo, count);
    }
    let ids = waiters(&repo);
    gate.open();
    keeper_leaves(&env, &repo);
    for running in &mut all {
        running.wait(SOON).exits(0);
    }
    assert_eq!(gate.order(), ids);
    gate.one_at_a_time(&[]);
}

#[test]
fn a_run_whose_patience_ended_is_taken_over_too() {
    let (env, repo) = kept();
    let gate = Gate::new(&env);
    let call = env.call(&repo).args("merge run --wait=300ms -- true");
    call.start().wait(SOON).exits(75);
    let old = waiters(&repo);
    assert_eq!(old.len(), 1);
    let _b = runner(&env, &repo, &gate, "b");
    wait_until_queued(&repo, 2);
    let newcomer = nameless(&env, &repo, &gate);
    newcomer.says("waiting for the merge lock");
    let now = waiters(&repo);
    assert_eq!(now.len(), 2, "{now:?} after {old:?}");
    assert_ne!(now[0], old[0]);
    assert_eq!(now[1], "b");
}

#[test]
fn an_acquire_whose_patience_ended_is_taken_over_too() {
    let (env, repo) = kept();
    let gate = Gate::new(&env);
    let call = env.call(&repo).args("merge acquire --wait=300ms");
    call.start().wait(SOON).exits(75);
    assert_eq!(waiters(&repo), ["main-checkout"]);
    let _b = runner(&env, &repo, &gate, "b");
    wait_until_queued(&repo, 2);
    let newcomer = nameless(&env, &repo, &gate);
    newcomer.says("waiting for the merge lock");
    let now = waiters(&repo);
    assert_eq!(now.len(), 2, "{now:?}");
    assert!(now[0].starts_with("main-checkout-"), "{now:?}");
    assert_eq!(now[1], "b");
}

#[test]
fn an_acquire_whose_patience_ended_finds_its_place_again() {
    let (env, repo) = kept();
    let gate = Gate::new(&env);
    let call = env.call(&repo).args("merge acquire --wait=300ms");
    call.start().wait(SOON).exits(75);
    let _b = runner(&env, &repo, &gate, "b");
    wait_until_queued(&repo, 2);
    let call = env.call(&repo).args("--format json merge acquire --wait");
    let mut back = call.start();
    back.says("waiting for the merge lock");
    assert_eq!(waiters(&repo), ["main-checkout", "b"]);
    keeper_leaves(&env, &repo);
    admitted(back.wait(SOON), "main-checkout");
}

#[test]
fn two_newcomers_never_take_the_same_place() {
    let (env, repo) = kept();
    let mut gate = Gate::new(&env);
    // All wait at once, so that none takes over from another; then they are killed.
    let mut orphans: Vec<Running> = Vec::new();
    for count in 1..=3 {
        orphans.push(nameless(&env, &repo, &gate));
        wait_until_queued(&repo, count);
    }
    let old = waiters(&repo);
    let mut b = runner(&env, &repo, &gate, "b");
    wait_until_queued(&repo, 4);
    for orphan in &mut orphans {
        kill_waiter(&repo, orphan);
    }
    let mut newcomers: Vec<Running> = (0..5).map(|_| nameless(&env, &repo, &gate)).collect();
    for newcomer in &newcomers {
        newcomer.says("waiting for the merge lock");
    }
    let ids = waiters(&repo);
    assert_eq!(ids.len(), 6, "{ids:?} after {old:?}");
    assert_eq!(ids[3], "b", "{ids:?} after {old:?}");
    assert!(ids.iter().all(|id| !old.contains(id)), "{ids:?} {old:?}");
    let distinct: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), 6, "{ids:?}");
    gate.open();
    keeper_leaves(&env, &repo);
    for running in newcomers.iter_mut().chain([&mut b]) {
        running.wait(SOON).exits(0);
    }
    assert_eq!(gate.order(), ids);
    gate.one_at_a_time(&[]);
}

#[test]
fn the_foremost_is_taken_over_first() {
    let (env, repo) = kept();
    let gate = Gate::new(&env);
    let mut orphans: Vec<Running> = Vec::new();
    for count in 1..=3 {
        orphans.push(nameless(&env, &repo, &gate));
        wait_until_queued(&repo, count);
    }
    let old = waiters(&repo);
    // The second of three lives.
    kill_waiter(&repo, &mut orphans[0]);
    kill_waiter(&repo, &mut orphans[2]);
    let one = nameless(&env, &repo, &gate);
    one.says("waiting for the merge lock");
    let ids = waiters(&repo);
    assert_eq!(ids[1..], old[1..]);
    assert_ne!(ids[0], old[0]);
    let two = nameless(&env, &repo, &gate);
    two.says("waiting for the merge lock");
    let then = waiters(&repo);
    assert_eq!(then[..2], ids[..2]);
    assert!(then.len() == 3 && then[2] != old[2], "{then:?}");
    let three = nameless(&env, &repo, &gate);
    three.says("waiting for the merge lock");
    assert_eq!(waiters(&repo)[..3], then[..]);
    assert_eq!(waiters(&repo).len(), 4);
}

#[test]
fn a_place_that_comes_free_meanwhile_runs_at_once() {
    // The keeper leaves before the newcomer comes: the place is the first, the lock is free.
    let mut scene = Orphaned::new();
    kill_waiter(&scene.repo, &mut scene.b);
    keeper_leaves(&scene.env, &scene.repo);
    scene.gate.open();
    let mut newcomer = nameless(&scene.env, &scene.repo, &scene.gate);
    newcomer.wait(SOON).exits(0);
    assert_eq!(scene.gate.order().len(), 1);
    assert_eq!(waiting(&scene.repo), ["b"]);
}

/// The first user, the second, and the group they share.
const ANN: u32 = 64_001;
const BEN: u32 = 64_002;
const GROUP: u32 = 64_000;

#[test]
fn another_user_takes_nothing_over() {
    if !needs_root("places::another_user_takes_nothing_over") {
        return;
    }
    let env = Env::new();
    env.public_bin();
    let repo = env.init_with("repo", "--shared=group");
    for (program, args) in [("chmod", "g+rwX"), ("chown", "64001:64000")] {
        let mut command = env.command(program);
        let status = command.args(["-R", args]).arg(&repo).status();
        assert!(status.expect("it runs").success());
    }
    chmod(&repo, 0o2775);
    let call = |uid: u32, args: &str| {
        let call = env.call(&repo).user(&env, uid, GROUP);
        call.args("--format json merge").args(args)
    };
    call(ANN, "acquire --as keeper").run().exits(0);
    let mut victim = call(ANN, "run -- true").start();
    victim.says("waiting for the merge lock");
    kill_waiter(&repo, &mut victim);
    let old = waiters(&repo);
    assert_eq!(old.len(), 1);
    let other = call(BEN, "run -- true").start();
    other.says("waiting for the merge lock");
    let ids = waiters(&repo);
    assert_eq!(ids.len(), 2, "{ids:?}");
    assert_eq!(ids[0], old[0]);
    let same = call(ANN, "run -- true").start();
    same.says("waiting for the merge lock");
    let now = waiters(&repo);
    assert_eq!(now.len(), 2, "{now:?}");
    assert_ne!(now[0], old[0]);
    assert_eq!(now[1], ids[1]);
}
