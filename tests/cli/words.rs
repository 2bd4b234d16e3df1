//! What is said to people: who blocks, what vouches for nobody, what a release did, what to type.

use std::path::Path;

use serde_json::json;

use crate::common::fixture::{hold, keep_plans, lock_file, plan, waiting, worktree};
use crate::common::{Env, Run};

fn human(env: &Env, repo: &Path, args: &str) -> Run {
    env.locks(repo, &format!("--format human merge {args}"))
}

#[test]
fn a_lock_that_is_just_being_taken_is_not_called_free() {
    let env = Env::new();
    let repo = env.init("repo");
    for id in ["b", "c"] {
        plan(&repo, id);
    }
    for who in ["b", "c"] {
        // Written anew each time: it must not grow old meanwhile.
        hold(&repo, "");
        env.merge(&repo, &format!("acquire --as {who}"))
            .exits(75)
            .says(&[("blocking_plan_id", json!(null))]);
        hold(&repo, "");
        let run = human(&env, &repo, &format!("acquire --as {who}")).exits(75);
        assert!(!run.stdout.contains("free"), "{run:#?}");
        assert!(run.stdout.contains("just taking"), "{run:#?}");
    }
    // Where there is no lock file, it is free.
    std::fs::remove_file(lock_file(&repo)).expect("the lock");
    let run = human(&env, &repo, "acquire --as c").exits(75);
    assert!(run.stdout.contains("free"), "{run:#?}");
}

#[test]
fn a_waiter_that_nothing_vouches_for_is_warned() {
    let env = Env::new();
    let repo = env.init("repo");
    keep_plans(&repo);
    plan(&repo, "a");
    plan(&repo, "b");
    env.merge(&repo, "acquire --as a").exits(0);
    for _ in 0..2 {
        let run = env.merge(&repo, "acquire --as nobody").exits(75);
        assert!(run.stderr.contains("warning: "), "{run:#?}");
        assert!(
            run.stderr.contains("nothing vouches for nobody"),
            "{run:#?}"
        );
    }
    let quiet = env.merge(&repo, "acquire --as nobody -q").exits(75);
    assert!(quiet.stderr.contains("warning: "), "{quiet:#?}");
    // Whoever is vouched for hears nothing of the kind.
    for args in ["acquire --as b", "acquire --as c --ttl 1h", "acquire"] {
        assert_eq!(env.merge(&repo, args).exits(75).stderr, "", "{args}");
    }
    let plain = env.init("plain");
    env.merge(&plain, "acquire --as a").exits(0);
    assert_eq!(env.merge(&plain, "acquire --as b").exits(75).stderr, "");
}

#[test]
fn who_leaves_the_queue_is_told_so() {
    let env = Env::new();
    let repo = env.init("repo");
    let given_up = |run: &Run| run.stdout.contains("given up") || run.stdout.contains("gives up");
    env.merge(&repo, "acquire --as a").exits(0);
    for who in ["b", "c"] {
        env.merge(&repo, &format!("acquire --as {who}")).exits(75);
    }
    let run = env.merge(&repo, "release --as b").exits(0);
    let message = run.text("message");
    assert!(message.contains("place in the queue"), "{message}");
    assert!(given_up(&run), "{message}");
    run.says(&[("action", json!("noop")), ("holder", json!("a"))]);
    assert_eq!(waiting(&repo), ["a", "c"]);

    // Once more there is no place to give up.
    let run = env.merge(&repo, "release --as b").exits(0);
    assert!(!given_up(&run), "{run:#?}");

    env.merge(&repo, "acquire --as d").exits(75);
    env.merge(&repo, "release --as a").exits(0);
    let run = env.merge(&repo, "release --as c").exits(0);
    assert!(given_up(&run), "the lock is free: {run:#?}");
    let run = human(&env, &repo, "release --as d").exits(0);
    assert!(given_up(&run), "{run:#?}");
    assert!(run.stdout.contains("place in the queue"), "{run:#?}");
    assert!(waiting(&repo).is_empty());
    let run = env.merge(&repo, "release --as d").exits(0);
    assert!(!given_up(&run), "{run:#?}");
}

#[test]
fn an_inferred_waiter_that_leaves_is_told_so_too() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    env.merge(&repo, "acquire").exits(0);
    env.merge(&linked, "acquire").exits(75);
    let run = env.merge(&linked, "release").exits(1);
    let message = run.text("message");
    assert!(message.contains("place in the queue"), "{message}");
    assert_eq!(waiting(&repo), ["main-checkout"]);
}

#[test]
fn a_reason_may_begin_with_a_dash() {
    let env = Env::new();
    let repo = env.init("repo");
    for reason in ["- x", "-x", "--why not"] {
        let call = env.call(&repo).args("--format json merge acquire --as a");
        call.arg("--reason").arg(reason).run().exits(0);
        env.merge(&repo, "check").says(&[("reason", json!(reason))]);
        env.merge(&repo, "release --as a").exits(0);
    }
}

#[test]
fn a_usage_error_names_the_help_of_its_own_verb() {
    let env = Env::new();
    let repo = env.init("repo");
    for (args, command) in [
        ("merge acquire stray", "git locks merge acquire -h"),
        (
            "merge acquire --while-pid none",
            "git locks merge acquire -h",
        ),
        (
            "merge acquire --ttl 5m --while-pid 1",
            "git locks merge acquire -h",
        ),
        (
            "--color never merge release stray",
            "git locks merge release -h",
        ),
        ("-C . merge check --fence few", "git locks merge check -h"),
        (
            "merge rate-window claim",
            "git locks merge rate-window claim -h",
        ),
        ("nonsense", "git locks -h"),
    ] {
        let run = env
            .locks(&repo, &format!("--format json {args}"))
            .exits(2)
            .one_line_error();
        let hints = run.stderr.lines().filter(|line| line.starts_with("hint: "));
        let named = hints
            .filter(|hint| hint.contains(command))
            .collect::<Vec<_>>();
        assert_eq!(named.len(), 1, "{args}: {run:#?}");
        assert!(run.text("hint").contains(command), "{args}: {run:#?}");
    }
}

#[test]
fn a_bad_format_is_answered_with_the_good_ones() {
    let env = Env::new();
    let repo = env.init("repo");
    let by_env = env.call(&repo).env("GIT_LOCKS_FORMAT", "yaml");
    let flag = env.locks(&repo, "merge check --format yaml").exits(2);
    for run in [flag, by_env.args("merge check").run().exits(2)] {
        let run = run.one_line_error();
        for format in ["toon", "json", "human"] {
            assert!(run.stderr.contains(format), "{format}: {run:#?}");
        }
    }
    let color = env
        .locks(&repo, "--format json --color blue merge check")
        .exits(2);
    for word in ["auto", "always", "never"] {
        assert!(color.stderr.contains(word), "{word}: {color:#?}");
    }
}

#[test]
fn a_lease_of_no_length_is_called_too_short_and_not_ill_written() {
    let env = Env::new();
    let repo = env.init("repo");
    for none in ["0", "0s", "0h0m"] {
        for verb in ["acquire", "renew"] {
            let run = env
                .merge(&repo, &format!("{verb} --as a --ttl {none}"))
                .exits(2)
                .one_line_error();
            assert!(run.stderr.contains("longer than 0"), "{run:#?}");
            assert!(!run.stderr.contains("not a duration"), "{run:#?}");
        }
    }
}

#[test]
fn a_bot_without_a_name_gets_a_hint() {
    let env = Env::new();
    let repo = env.init("repo");
    for verb in ["claim", "check", "release"] {
        let call = env.call(&repo).args("--format json merge rate-window");
        let run = call.arg(verb).arg("--bot-kind=").run();
        let run = run.exits(2).one_line_error();
        assert!(run.stderr.contains("\nhint: "), "{run:#?}");
        assert!(!run.text("hint").is_empty());
    }
}
