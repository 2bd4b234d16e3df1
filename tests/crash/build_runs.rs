//! Scenes of `build run` and of waiting, and what must hold after a call was cut off in them: a command
//! runs once, and in a slot of its own; whoever comes next is kept waiting by none but the living; and
//! nothing is left over, no process either.

use std::process::{Child, Command};
use std::time::Duration;

use serde_json::{Value, json};

use crate::builds::{
    ACQUIRE, blocked, built_by, in_turn, is_sound, let_go, nothing_is_left, slots,
};
use crate::common::DEADLINE;
use crate::common::builds::plan_of;
use crate::common::turns::waits_for;
use crate::runs::is_over;
use crate::scene::{Scene, Stage, setup};

/// How soon a slot is had that nobody living has: far sooner than anybody is passed over.
const SOON: Duration = Duration::from_secs(5);

/// A command that notes, as it begins and as it ends, which slot it has, and the queue by then.
const COMMAND: &str = r#"queue="$HOME/.plan-marshall/build-queue.json"
note() {
    echo "$1 $GIT_LOCKS_BUILD_ID $GIT_LOCKS_BUILD_SLOT $(tr -d '\n' <"$queue")" >>.plan/notes
}
note begin
note end
"#;

/// The same, that ends only once its slot was confirmed, when the queue is another file; or with its
/// runner.
const KEPT: &str = r#"queue="$HOME/.plan-marshall/build-queue.json"
note() {
    echo "$1 $GIT_LOCKS_BUILD_ID $GIT_LOCKS_BUILD_SLOT $(tr -d '\n' <"$queue")" >>.plan/notes
}
note begin
was=$(stat -c %i "$queue")
tries=0
while [ "$(stat -c %i "$queue")" = "$was" ] && [ $tries -lt 200 ] &&
    [ "$(cat "/proc/$PPID/comm")" = git-locks ]; do
    tries=$((tries + 1))
    sleep 0.05
done
note end
"#;

fn with_command(stage: &Stage, command: &str) {
    slots(stage, 1);
    std::fs::create_dir_all(stage.repo.join(".plan")).expect("a directory");
    std::fs::write(stage.repo.join(".plan/command"), command).expect("a script");
}

/// A free slot is had for a command.
pub const RUN: Scene = Scene {
    name: "build run",
    set: |stage| with_command(stage, COMMAND),
    args: "run -- sh .plan/command",
    after: after_run,
    ..ACQUIRE
};

/// A slot is confirmed while a command runs.
pub const KEEP: Scene = Scene {
    name: "build run keeps",
    set: |stage| {
        with_command(stage, KEPT);
        stage.env.git(&stage.repo, "config locks.ttl 3s");
    },
    ..RUN
};

/// A run waits until another gives it its slot.
pub const WAIT: Scene = Scene {
    name: "build run waits",
    set: |stage| {
        with_command(stage, COMMAND);
        stage.call("acquire --as hold").exits(0);
        let beside = |stage: &Stage, is_over: &dyn Fn() -> bool| {
            let queue = stage.env.builds();
            waits_for("somebody to wait", DEADLINE, || {
                (is_over() || !queue.ids("waiting").is_empty()).then_some(())
            });
            if !is_over() {
                stage.call("release --as hold");
            }
        };
        assert!(stage.beside.set(beside).is_ok());
    },
    after: |stage, turn| {
        is_sound(stage);
        // Not given back yet, where the run did not come to wait.
        stage.quick("release --as hold").exits(0);
        after_run(stage, turn);
    },
    ..RUN
};

/// A place ahead of another is taken over that a killed run of the checkout left, and leads to the
/// slot of a dead one.
pub const TAKE_OVER: Scene = Scene {
    name: "build take over",
    set: |stage| {
        with_command(stage, COMMAND);
        let mut builder = acquire_for_process(stage, "hold");
        let call = stage.env.call(&stage.repo);
        let mut killed = call.args("build run -- sh .plan/command").start();
        stage.env.builds().wait_until_queued(1);
        killed.kill();
        setup(stage, &[("acquire --as wait", 75)]);
        builder.kill().expect("it is ours");
        builder.wait().expect("it ends");
    },
    after: after_take_over,
    ..RUN
};

/// A run is out of time at once, and keeps its place.
pub const TIME_OUT: Scene = Scene {
    name: "build time out",
    set: |stage| {
        with_command(stage, COMMAND);
        stage.call("acquire --as hold").exits(0);
    },
    args: "run --wait=0 -- sh .plan/command",
    after: after_time_out,
    ..RUN
};

/// A run goes ahead in a slot that its id has detached.
pub const VISIT: Scene = Scene {
    name: "build visit",
    args: "run --plan-id hold -- sh .plan/command",
    after: after_visit,
    ..TIME_OUT
};

/// A free slot is acquired by one that would wait for it.
pub const ACQUIRE_WAITING: Scene = Scene {
    name: "build acquire that waits",
    args: "acquire --wait --as me",
    after: |stage, turn| {
        is_over(stage);
        (ACQUIRE.after)(stage, turn);
    },
    ..ACQUIRE
};

/// Acquires a slot that a process vouches for, which is given back.
pub fn acquire_for_process(stage: &Stage, id: &str) -> Child {
    let process = Command::new("sleep").arg("1000").spawn().expect("sleep");
    let args = format!("acquire --as {id} --while-pid {}", process.id());
    stage.call(&args).exits(0);
    process
}

/// The plan ids for which commands began, in order. Each of them ran in a slot of its own, beside no
/// other.
#[track_caller]
pub fn ran(stage: &Stage) -> Vec<String> {
    let notes = std::fs::read_to_string(stage.repo.join(".plan/notes")).unwrap_or_default();
    let mut begun = Vec::new();
    let mut inside = None;
    for line in notes.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let [what, id, slot, queue] = words[..] else {
            panic!("a command ran without a slot: {notes}");
        };
        let queue: Value = serde_json::from_str(queue).expect("the queue is JSON");
        let active = queue["active"].as_array().expect("those who build");
        let own = active.iter().find(|entry| entry["id"] == id);
        let own = own.unwrap_or_else(|| panic!("{id} ran without a slot: {notes}"));
        let number: u64 = slot.parse().expect("a slot's number");
        assert_eq!(own["git_locks"]["slot"], json!(number), "{notes}");
        if what == "begin" {
            assert_eq!(inside, None, "two commands ran at once: {notes}");
            begun.push(plan_of(id));
            inside = Some(id);
        } else {
            assert_eq!(inside, Some(id), "another command ended: {notes}");
            inside = None;
        }
    }
    begun
}

/// Acquires the slot, which nobody has but a command that is about to end, if anybody.
#[track_caller]
fn gets_it(stage: &Stage, id: &str) {
    let args = format!("acquire --as {id}");
    waits_for(&format!("{id} to get the slot"), SOON, || {
        Some(stage.quick(&args)).filter(|run| run.code == 0)
    });
    is_sound(stage);
    built_by(stage, &[id]);
}

/// The same for one that waits, and runs a command. Lets go.
#[track_caller]
fn runs(stage: &Stage, who: &str) -> String {
    let before = ran_so_far(stage);
    let call = stage.env.call(&stage.repo);
    let args = format!(
        "build run {who} --wait={}s -- sh .plan/command",
        SOON.as_secs()
    );
    call.args(&args).run().exits(0);
    let ran = ran(stage);
    // One that was cut off may have begun meanwhile, before it.
    assert!(ran.len() > before, "it did not run");
    ran.last().expect("its note").clone()
}

fn ran_so_far(stage: &Stage) -> usize {
    let notes = std::fs::read_to_string(stage.repo.join(".plan/notes")).unwrap_or_default();
    let begun = notes.lines().filter(|line| line.starts_with("begin "));
    begun.count()
}

/// The plan ids of those that wait and that nobody named.
fn nameless(stage: &Stage) -> Vec<String> {
    let mut ids = stage.env.builds().waiting();
    ids.retain(|id| id.starts_with("main-checkout-"));
    ids
}

/// The next call of the checkout has the place that was left, so that nothing is left any more.
#[track_caller]
fn ends_well(stage: &Stage) {
    // It need not be kept for long any more.
    std::fs::write(stage.repo.join(".plan/command"), COMMAND).expect("a script");
    runs(stage, "");
    is_over(stage);
    nothing_is_left(stage);
}

fn after_run(stage: &Stage, turn: usize) {
    if turn.is_multiple_of(2) {
        gets_it(stage, "other");
        is_over(stage);
        built_by(stage, &["other"]);
        assert!(ran(stage).len() <= 1, "it ran twice");
        let_go(stage, "other");
    } else {
        std::fs::write(stage.repo.join(".plan/command"), COMMAND).expect("a script");
        assert_eq!(runs(stage, "--as other"), "other");
        is_over(stage);
        is_sound(stage);
        assert!(ran(stage).len() <= 2, "it ran twice");
    }
    assert!(nameless(stage).len() <= 1);
    ends_well(stage);
}

fn after_take_over(stage: &Stage, turn: usize) {
    is_sound(stage);
    let left = nameless(stage);
    assert!(left.len() <= 1, "two have one place: {left:?}");
    let mut queue = left;
    queue.push("wait".to_owned());
    // What it runs may end between two looks.
    let now = stage.env.builds().waiting();
    assert!(now == queue || now == ["wait"] || now.is_empty(), "{now:?}");
    if turn.is_multiple_of(2) {
        blocked(stage, "acquire --as late");
    }
    gets_it(stage, "wait");
    is_over(stage);
    built_by(stage, &["wait"]);
    assert!(ran(stage).len() <= 1, "it ran twice");
    blocked(stage, "acquire --as late");
    let_go(stage, "wait");
    gets_it(stage, "late");
    let_go(stage, "late");
    ends_well(stage);
}

fn after_time_out(stage: &Stage, turn: usize) {
    is_over(stage);
    is_sound(stage);
    built_by(stage, &["hold"]);
    assert!(nameless(stage).len() <= 1);
    assert_eq!(ran(stage), [""; 0], "it ran without a slot");
    if turn.is_multiple_of(2) {
        blocked(stage, "acquire --as late");
    }
    let_go(stage, "hold");
    gets_it(stage, "late");
    let_go(stage, "late");
    ends_well(stage);
}

fn after_visit(stage: &Stage, turn: usize) {
    is_over(stage);
    is_sound(stage);
    built_by(stage, &["hold"]);
    assert!(ran(stage).len() <= 1, "it ran twice");
    if turn.is_multiple_of(2) {
        blocked(stage, "acquire --as wait");
    }
    stage.quick("acquire --as hold").exits(0);
    blocked(stage, "acquire --as wait");
    let_go(stage, "hold");
    in_turn(stage, &["wait"], "");
}
