//! The command under the lock: its codes, its descriptors, its limits.

use std::time::{Duration, Instant};

use crate::cast::{Lock, on_both};
use crate::common::DEADLINE;
use crate::common::turns::{Running, child_of};
use crate::stage::{AT_ONCE, ENDING, TERM, as_shell, descriptors, each};

#[test]
fn its_code_is_ours() {
    on_both(|ground| {
        for code in [0, 1, 3, 75, 76, 255] {
            ground.run("", &format!("exit {code}")).exits(code);
        }
        ground.run_words("", &["no-such-command"]).exits(127);
        ground.run_words("", &["/"]).exits(126);
        let ended = ground.run("", "kill -TERM $$");
        assert_eq!(as_shell(&ended), 143, "{ended:#?}");
        ground.is_free();
    });
}

#[test]
fn its_output_is_its_own() {
    on_both(|ground| {
        let ended = ground.run("", "echo out; echo err >&2").exits(0);
        assert_eq!((&*ended.stdout, &*ended.stderr), ("out\n", "err\n"));
    });
}

#[test]
fn it_inherits_the_lock_and_nothing_else() {
    on_both(|ground| {
        let mut running = ground.start_words("", &["sleep", "60"]);
        let child = child_of(running.pid());
        crate::common::eventually(DEADLINE, || {
            crate::stage::program_of(child).is_some_and(|program| !program.ends_with("git-locks"))
        });
        let lock = ground.file();
        // What this test itself was given by its caller is not ours to close.
        let mut plain = ground.stage.env.command("sleep");
        plain.arg("60");
        let plain = Running::start(plain);
        let given: Vec<String> = descriptors(plain.pid())
            .into_iter()
            .map(|it| it.0)
            .collect();
        let mut open = descriptors(child);
        open.retain(|(number, _)| !given.contains(number));
        let shown: Vec<&str> = open.iter().map(|(_, target)| target.as_str()).collect();
        assert_eq!(shown, [lock.to_string_lossy()], "{:?}", ground.lock);
        running.signal(TERM);
        running.wait(DEADLINE);
    });
}

#[test]
fn signals_go_to_it() {
    on_both(|ground| {
        let ground = &ground;
        each(&ENDING, |signal| {
            let ground = crate::cast::Ground::new(ground.lock);
            let mut held = ground.start(
                "",
                "trap 'log caught; exit 9' INT TERM HUP QUIT\nlog begin; hold me",
            );
            ground.stage.noted("begin");
            held.signal(signal);
            held.wait(DEADLINE).exits(9);
            ground.stage.noted("caught");
            ground.is_free();
        });
    });
}

#[test]
fn it_ends_when_it_has_held_for_too_long() {
    on_both(|ground| {
        let start = Instant::now();
        let ended = ground.run(
            "--max-hold 300ms --kill-after 300ms",
            "trap '' TERM; log begin; hold me",
        );
        assert_eq!(as_shell(&ended), 137, "{ended:#?}");
        assert!(start.elapsed() < Duration::from_secs(10));
        ground.is_free();
    });
}

#[test]
fn what_it_ran_before_the_end_is_under_the_lock() {
    on_both(|ground| {
        let body = "( exec 9>&-; \"$BIN\" --format json repo check >\"$DIR/said-repo\"; \"$BIN\" --format json worktree check >\"$DIR/said-worktree\" )";
        ground.run("", body).exits(0);
        let name = ground.lock.family();
        let text = std::fs::read_to_string(ground.stage.env.path(format!("said-{name}")))
            .expect("a report");
        assert!(text.contains("\"held\""), "{text}");
        let other = if ground.lock == Lock::Repo {
            Lock::Worktree
        } else {
            Lock::Repo
        };
        let text =
            std::fs::read_to_string(ground.stage.env.path(format!("said-{}", other.family())))
                .expect("a report");
        assert!(text.contains("\"free\""), "{text}");
    });
}

#[test]
fn one_after_the_other_as_often_as_one_likes() {
    on_both(|ground| {
        for _ in 0..5 {
            ground.start("--timeout 0", "exit 0").wait(AT_ONCE).exits(0);
        }
        assert!(ground.file().is_file());
    });
}
