//! Who has the lock while a push lives, and when the next one gets it.

use serde_json::json;

use crate::cast::{Field, KILL, TERM, finish, says};
use crate::common::fixture::{holder, lock_file, queue_file, waiting, worktree};
use crate::common::turns::{
    Gate, Running, descendants, records, runs, send, wait_until_queued, waiters, waits_for,
};
use crate::common::{DEADLINE, eventually};

#[test]
fn a_push_holds_the_lock_for_as_long_as_it_lives() {
    let field = Field::gated("--protect gated/*");
    let gate = Gate::new(&field.env);
    field.keep_in(&gate);
    let mut push = field.start(&field.repo, "one");
    gate.wait_begun("one");
    assert_eq!(field.holder().as_deref(), Some("main-checkout"));
    let held = field.env.merge(&field.repo, "check --as other").exits(0);
    held.says(&[
        ("status", json!("held")),
        ("staleness", json!("fresh")),
        ("mine", json!(false)),
        ("reason", json!("git push far HEAD:refs/heads/gated/one")),
        ("holder_where", json!(field.repo.to_str())),
    ]);
    field
        .env
        .merge(&field.repo, "acquire --as other --no-wait")
        .exits(75);
    field.env.merge(&field.repo, "release --as other").exits(0);
    gate.let_go();
    push.wait(DEADLINE).exits(0);
    assert!(field.arrived("refs/heads/gated/one"));
    field.is_to_be_had().says(&[("reclaimed", json!(true))]);
}

#[test]
fn two_pushes_take_turns_in_one_checkout_and_in_two() {
    for two_checkouts in [false, true] {
        let field = Field::gated("--protect gated/*");
        let gate = Gate::new(&field.env);
        field.keep_in(&gate);
        let linked = worktree(&field.env, &field.repo, "linked");
        let second = if two_checkouts { &linked } else { &field.repo };
        let mut one = field.start(&field.repo, "one");
        gate.wait_begun("one");
        let mut two = field.start(second, "two");
        wait_until_queued(&field.repo, 1);
        two.says("waiting for the merge lock");
        assert_eq!(gate.order(), ["one"]);
        gate.let_go();
        one.wait(DEADLINE).exits(0);
        gate.wait_begun("two");
        let expected = if two_checkouts {
            "linked"
        } else {
            "main-checkout"
        };
        assert_eq!(field.holder().as_deref(), Some(expected));
        gate.let_go();
        two.wait(DEADLINE).exits(0);
        gate.one_at_a_time(&[]);
        assert!(field.arrived("refs/heads/gated/two"));
    }
}

#[test]
fn pushes_of_one_id_take_turns_too() {
    let field = Field::gated("--protect gated/*");
    let gate = Gate::new(&field.env);
    field.keep_in(&gate);
    let start = |name: &str| {
        let words = format!("push far HEAD:refs/heads/gated/{name}");
        let mut command = field.git(&field.repo, &words);
        command.env("GIT_LOCKS_PLAN_ID", "me");
        Running::start(command)
    };
    let mut one = start("one");
    gate.wait_begun("one");
    assert_eq!(field.holder().as_deref(), Some("me"));
    let mut two = start("two");
    wait_until_queued(&field.repo, 1);
    assert_eq!(gate.order(), ["one"]);
    gate.let_go();
    one.wait(DEADLINE).exits(0);
    gate.wait_begun("two");
    gate.let_go();
    two.wait(DEADLINE).exits(0);
    gate.one_at_a_time(&[]);
}

#[test]
fn a_crowd_pushes_one_at_a_time() {
    let field = Field::gated("--protect gated/*");
    let mut gate = Gate::new(&field.env);
    field.keep_in(&gate);
    let names: Vec<String> = (0..6).map(|number| format!("n{number}")).collect();
    let mut pushes: Vec<Running> = names
        .iter()
        .map(|name| field.start(&field.repo, name))
        .collect();
    wait_until_queued(&field.repo, 5);
    gate.open();
    for push in &mut pushes {
        push.wait(DEADLINE).exits(0);
    }
    gate.one_at_a_time(&[]);
    assert_eq!(gate.order().len(), 6);
    field.is_to_be_had();
}

#[test]
fn the_lock_of_a_killed_push_is_free() {
    let field = Field::gated("--protect gated/*");
    let gate = Gate::new(&field.env);
    field.keep_in(&gate);
    for signal in [KILL, TERM] {
        let mut push = field.start(&field.repo, &format!("s{signal}"));
        gate.wait_begun(&format!("s{signal}"));
        send(push.pid(), signal);
        push.wait(DEADLINE).dies_of(signal);
        field.is_to_be_had().says(&[("reclaimed", json!(true))]);
    }
}

#[test]
fn who_waits_is_let_in_when_the_push_before_is_killed() {
    let field = Field::gated("--protect gated/*");
    let gate = Gate::new(&field.env);
    field.keep_in(&gate);
    let mut one = field.start(&field.repo, "one");
    gate.wait_begun("one");
    let mut two = field.start(&field.repo, "two");
    wait_until_queued(&field.repo, 1);
    send(one.pid(), KILL);
    one.wait(DEADLINE).dies_of(KILL);
    gate.wait_begun("two");
    two.kill();
}

#[test]
fn a_push_that_is_killed_while_its_hook_waits_takes_the_place_with_it() {
    let field = Field::gated("--protect gated/*");
    field.env.merge(&field.repo, "acquire --as keeper").exits(0);
    let mut push = field.start(&field.repo, "one");
    wait_until_queued(&field.repo, 1);
    send(push.pid(), KILL);
    eventually(DEADLINE, || waiters(&field.repo).is_empty());
    assert_eq!(holder(&field.repo).as_deref(), Some("keeper\n"));
    push.wait(DEADLINE).dies_of(KILL);
}

#[test]
fn a_push_that_ends_just_as_its_turn_comes_does_not_keep_the_lock() {
    let field = Field::gated("--protect gated/*");
    field.env.merge(&field.repo, "acquire --as keeper").exits(0);
    let mut push = field.start(&field.repo, "one");
    // By then its hook is not inside the guard.
    push.says("waiting for the merge lock");
    // Both while nobody of them can look.
    for process in [vec![push.pid()], descendants(push.pid())].concat() {
        send(process, 19);
    }
    let hook = descendants(push.pid());
    field.env.merge(&field.repo, "release --as keeper").exits(0);
    send(push.pid(), KILL);
    eventually(DEADLINE, || !runs(push.pid()));
    for process in hook {
        send(process, 18);
    }
    eventually(DEADLINE, || {
        holder(&field.repo).is_none() && waiting(&field.repo).is_empty()
    });
    push.kill();
}

#[test]
fn an_interrupted_wait_gives_up_the_place() {
    let field = Field::gated("--protect gated/*");
    field.env.merge(&field.repo, "acquire --as keeper").exits(0);
    let mut push = field.start(&field.repo, "one");
    wait_until_queued(&field.repo, 1);
    push.signal_group(2);
    push.wait(DEADLINE);
    eventually(DEADLINE, || waiters(&field.repo).is_empty());
    assert!(!field.arrived("refs/heads/gated/one"));
}

#[test]
fn who_holds_the_lock_passes_and_changes_nothing() {
    let field = Field::gated("--protect gated/*");
    let gate = Gate::new(&field.env);
    field.keep_in(&gate);
    for (id, acquire) in [("main-checkout", ""), ("me", "--as me")] {
        let acquired = field
            .env
            .merge(&field.repo, &format!("acquire {acquire} --ttl 1h"));
        acquired.exits(0);
        let before = records(&field.repo);
        let queue = std::fs::read(queue_file(&field.repo)).expect("a queue");
        let words = format!("push far HEAD:refs/heads/gated/{id}");
        let mut command = field.git(&field.repo, &words);
        if id == "me" {
            command.env("GIT_LOCKS_PLAN_ID", id);
        }
        let mut push = Running::start(command);
        gate.wait_begun(id);
        let expected = format!("{id}\n");
        assert_eq!(holder(&field.repo), Some(expected.clone()));
        gate.let_go();
        push.wait(DEADLINE).exits(0);
        assert_eq!(holder(&field.repo), Some(expected));
        assert_eq!(std::fs::read(queue_file(&field.repo)).ok(), Some(queue));
        assert_eq!(records(&field.repo), before);
        let release = format!("release --as {id}");
        field
            .env
            .merge(&field.repo, &release)
            .exits(0)
            .says(&[("action", json!("released"))]);
    }
}

#[test]
fn a_push_inside_a_run_passes() {
    let field = Field::gated("--protect gated/*");
    let mut command = field.git(&field.repo, "locks merge run --");
    command.args(["git", "push", "far", "HEAD:refs/heads/gated/one"]);
    finish(command).exits(0);
    assert!(field.arrived("refs/heads/gated/one"));
    assert_eq!(holder(&field.repo), None);
    let log = std::fs::read_dir(field.repo.join(".plan/logs")).expect("logs");
    let text: String = log
        .flatten()
        .map(|file| std::fs::read_to_string(file.path()).expect("a log"))
        .collect();
    assert_eq!(text.matches("(merge:acquired)").count(), 1, "{text}");
}

#[test]
fn a_push_inside_a_run_that_lost_its_token_does_not_wait_for_itself() {
    let field = Field::gated("--protect gated/*");
    let mut command = field.git(&field.repo, "locks merge run --");
    let push = ["git", "push", "far", "HEAD:refs/heads/gated/one"];
    command.args([&["env", "-u", "GIT_LOCKS_TOKEN"], push.as_slice()].concat());
    let ended = finish(command).exits(1);
    says(&ended, "it would wait for itself");
    says(&ended, "GIT_LOCKS_TOKEN");
    assert!(!field.arrived("refs/heads/gated/one"));
}

#[test]
fn a_remote_of_two_urls_is_pushed_to_under_one_grant() {
    let field = Field::gated("--protect gated/*");
    field.env.git(field.env.root(), "init -q --bare near.git");
    for far in ["../far.git", "../near.git"] {
        let words = format!("remote set-url --add --push far {far}");
        field.env.git(&field.repo, &words);
    }
    field
        .push(&field.repo, "HEAD:refs/heads/gated/one")
        .exits(0);
    let near = field.env.path("near.git");
    field
        .env
        .git(&near, "show-ref --verify refs/heads/gated/one");
    field.is_to_be_had().says(&[("fence", json!(2))]);
}

#[test]
fn a_dead_holder_keeps_nobody() {
    let field = Field::gated("--protect gated/*");
    // Nothing vouches for it: no such plan.
    std::fs::create_dir_all(field.repo.join(".plan/local/plans")).expect("plans");
    std::fs::write(lock_file(&field.repo), "nobody\n").expect("a lock file");
    field
        .push(&field.repo, "HEAD:refs/heads/gated/one")
        .exits(0);
    assert!(field.arrived("refs/heads/gated/one"));
}

#[test]
fn the_place_of_a_push_that_gave_up_is_the_next_ones() {
    let field = Field::gated("--protect gated/*");
    field.env.merge(&field.repo, "acquire --as keeper").exits(0);
    let mut command = field.git(&field.repo, "push far HEAD:refs/heads/gated/one");
    command.env("GIT_LOCKS_HOOK_WAIT", "1s");
    finish(command).exits(1);
    wait_until_queued(&field.repo, 1);
    field.env.merge(&field.repo, "acquire --as later").exits(75);
    let mut push = field.start(&field.repo, "two");
    waits_for("the place to be taken over", DEADLINE, || {
        push.stderr()
            .contains("waiting for the merge lock")
            .then_some(())
    });
    let queue = waiters(&field.repo);
    assert_eq!(queue.len(), 2, "{queue:?}");
    assert!(queue[0].starts_with("main-checkout-"), "{queue:?}");
    field.env.merge(&field.repo, "release --as keeper").exits(0);
    push.wait(DEADLINE).exits(0);
}
