//! What a living process needs is never removed, nor anything of which it cannot be told.

use std::fs::{self, File};

use crate::common::DEADLINE;
use crate::common::fixture::{base, keep_plans, plan_worktree, queue_file};
use crate::common::turns::{
    edit_records, presence_files, take_guard, take_kernel_lock, wait_until_held_by,
};
use crate::stage::{OLD, Stage, kinds, leave, the};

#[test]
fn a_run_keeps_its_presence_its_lock_and_its_slot() {
    let stage = Stage::new();
    keep_plans(&stage.main);
    stage.used();
    let gate = stage.env.path("gate");
    let script = format!("until [ -e '{}' ]; do sleep 0.05; done", gate.display());
    let mut merges = stage.env.call(&stage.main).args("merge run --as alpha");
    merges = merges.cmd(["sh", "-c", &script]);
    let mut merges = merges.start();
    let mut builds = stage.env.call(&stage.main).args("build run --as beta");
    builds = builds.cmd(["sh", "-c", &script]);
    let mut builds = builds.start();
    wait_until_held_by(&stage.main, "alpha");
    stage.env.builds().wait_until_active(&["beta"]);
    let (ours, home) = (presence_files(&stage.main), stage.env.builds().presence());
    assert_eq!((ours.len(), home.len()), (1, 1));
    // Nobody's but by its lock: on no record any more.
    edit_records(&stage.main, |all| {
        all["participants"]["alpha"]["presence"] = "another".into();
    });
    stage.is_well();
    let leftover = base(&stage.main).join(".git-locks-x1.tmp");
    let presence = stage.ours().join("presence/0123456789abcdef");
    let of_home = stage
        .env
        .home_root()
        .join("git-locks/presence/0123456789abcdef");
    leave(&leftover, "", OLD);
    leave(&presence, "", 0);
    leave(&of_home, "", 0);
    let run = stage.doctor("--fix").exits(0);
    assert_eq!(run.get("fixed"), 3, "{run:#?}");
    assert_eq!(presence_files(&stage.main), ours);
    assert_eq!(stage.env.builds().presence(), home);
    for id in ["alpha", "beta"] {
        let witness = plan_worktree(&stage.main, id)
            .join(".plan/local/plans")
            .join(id);
        assert!(witness.is_dir(), "the witness of {id}");
    }
    fs::write(&gate, "").expect("let go");
    merges.wait(DEADLINE).exits(0);
    builds.wait(DEADLINE).exits(0);
}

#[test]
fn a_presence_that_somebody_keeps_is_not_nobodys() {
    let stage = Stage::new();
    stage.used();
    let path = stage.ours().join("presence/0123456789abcdef");
    leave(&path, "", OLD);
    let kept = File::open(&path).expect("opened");
    kept.lock().expect("locked");
    stage.is_well();
    assert!(path.exists());
    kept.unlock().expect("unlocked");
    let run = stage.doctor("--fix").exits(0);
    assert_eq!(the(&run, "presence-file")["fixed"], true);
}

#[test]
fn a_guard_file_whose_maker_is_inside_is_not_left() {
    let stage = Stage::new();
    stage.used();
    let path = queue_file(&stage.main).with_extension("json.lock");
    let inside = take_guard(&stage.main);
    leave(&path, "git-locks guard 1\npid 1\n", OLD);
    stage.is_well();
    assert!(path.exists());
    // What else is behind that guard is not removed past it.
    let temp = base(&stage.main).join(".git-locks-x1.tmp");
    leave(&temp, "", OLD);
    let call = stage
        .call(&stage.main)
        .env("GIT_LOCKS_GUARD_TIMEOUT", "100ms");
    let run = call.args("--fix").run().exits(0);
    let finding = the(&run, "temporary-file");
    assert_eq!(finding["fixed"], false);
    assert!(run.stderr.contains("was not removed"), "{run:#?}");
    assert!(path.exists() && temp.exists());
    drop(inside);
    let run = stage.doctor("--fix").exits(0);
    assert_eq!(run.get("fixed"), 2, "{run:#?}");
    assert!(!path.exists() && !temp.exists());
}

#[test]
fn the_guards_of_the_build_queue_and_of_what_was_learnt_are_looked_at_as_well() {
    let stage = Stage::new();
    stage.used();
    let home = stage.env.builds();
    let learnt = base(&stage.main).join("run-configuration.json.lock");
    for (kernel, path) in [
        (home.path().with_extension("json.guard"), home.guard_file()),
        (stage.ours().join("run-configuration.guard"), learnt),
    ] {
        let inside = take_kernel_lock(&kernel);
        leave(&path, "git-locks guard 1\npid 1\n", OLD);
        crate::common::chmod(path.parent().expect("a directory"), 0o700);
        stage.is_well();
        drop(inside);
        let run = stage.doctor("").exits(0);
        assert_eq!(kinds(&run), ["guard-file"], "{run:#?}");
        fs::remove_file(&path).expect("it was left");
    }
}

#[test]
fn a_witness_stays_where_records_are_lost() {
    let stage = Stage::new();
    keep_plans(&stage.main);
    stage.used();
    let witness = plan_worktree(&stage.main, "gone").join(".plan/local/plans/gone");
    leave(&witness.join(".git-locks-witness"), "4", OLD);
    leave(&witness.join(".git-locks-witness-build"), "4", OLD);
    let records = stage.ours().join("merge.json");
    let text = fs::read(&records).expect("records");
    fs::remove_file(&records).expect("lost");
    stage.is_well();
    fs::write(&records, "{").expect("damaged");
    let run = stage.doctor("--fix").exits(1);
    assert_eq!(kinds(&run), ["corrupt-file"], "{run:#?}");
    assert!(witness.join(".git-locks-witness").exists());
    // The queue of the machine has never been there.
    fs::write(&records, text).expect("back");
    let run = stage.doctor("--fix").exits(0);
    assert_eq!(run.get("fixed"), 1, "{run:#?}");
    assert!(!witness.join(".git-locks-witness").exists());
    assert!(witness.join(".git-locks-witness-build").exists());
}

#[test]
fn one_who_waits_is_no_leftover() {
    let stage = Stage::new();
    keep_plans(&stage.main);
    stage
        .env
        .merge(&stage.main, "acquire --as alpha --ttl 1h")
        .exits(0);
    let mut waits = stage.env.call(&stage.main);
    waits = waits.args("merge acquire --as beta --ttl 1h --wait");
    let mut waits = waits.start();
    crate::common::turns::wait_until_queued(&stage.main, 1);
    stage.is_well();
    let presence = presence_files(&stage.main);
    assert_eq!(presence.len(), 1);
    stage.env.merge(&stage.main, "release --as alpha").exits(0);
    waits.wait(DEADLINE).exits(0);
}
