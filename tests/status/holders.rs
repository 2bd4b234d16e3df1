//! Every kind of holder of the merge lock and of a slot, and those who wait.

use serde_json::json;

use crate::cast::{column, only, page, repository, says, status};
use crate::common::builds::foreign;
use crate::common::fixture::{
    hold, keep_plans, lock_file, mid_recovery, moved_plan, now, plan, queue_of, worktree,
    write_queue,
};
use crate::common::turns::{Gate, send, waits_for};
use crate::common::{DEADLINE, Env};

#[test]
fn nothing_is_held() {
    let (env, repo) = repository();
    let it = status(&env, &repo);
    says(
        &it,
        &[
            ("status", json!("success")),
            ("repository", json!(repo)),
            ("rate_windows", json!([])),
            ("sessions", json!([])),
        ],
    );
    says(
        &it["merge"],
        &[
            ("status", json!("free")),
            ("lock_path", json!(lock_file(&repo))),
            ("waiting_count", json!(0)),
            ("holders", json!([])),
            ("waiting", json!([])),
        ],
    );
    says(
        &it["build"],
        &[
            ("status", json!("free")),
            ("max_slots", json!(5)),
            ("active", json!([])),
        ],
    );
    assert_eq!(it["repo"]["status"], "free");
    says(
        only(&it["worktrees"]),
        &[
            ("status", json!("free")),
            ("path", json!(repo)),
            ("class", json!("no-lock-file")),
        ],
    );
    let page = page(&env, &repo).exits(0);
    assert!(!page.stdout.contains("doctor"), "{page:#?}");
}

#[test]
fn a_lease_says_when_it_ends_and_who_waits_behind_it() {
    let (env, repo) = repository();
    let call = env
        .call(&repo)
        .args("merge acquire --as alpha --ttl 1h --reason");
    call.arg("land the parser").run().exits(0);
    env.merge(&repo, "acquire --as beta").exits(75);
    let call = env.call(&repo).args("merge acquire --as gamma --reason");
    call.arg("the lexer").run().exits(75);
    let it = status(&env, &repo);
    let (merge, now) = (&it["merge"], now());
    let holder = only(&merge["holders"]);
    says(
        holder,
        &[
            ("plan_id", json!("alpha")),
            ("fence", json!(1)),
            ("where", json!(repo)),
            ("staleness", json!("fresh")),
            ("evidence", json!("lease")),
            ("mid_recovery", json!(false)),
            ("pid", json!(null)),
            ("reason", json!("land the parser")),
        ],
    );
    let end = holder["expires_at"].as_f64().expect("an end");
    assert!((end - now - 3600.0).abs() < 60.0, "{holder:#}");
    let since = holder["since"].as_f64().expect("a time");
    assert!((since - now).abs() < 60.0, "{holder:#}");
    // The holder's own entry is in the queue too, and waits for nothing.
    assert_eq!(merge["waiting_count"], 2);
    assert_eq!(column(&merge["waiting"], "plan_id"), ["beta", "gamma"]);
    assert_eq!(column(&merge["waiting"], "position"), [1, 2]);
    assert_eq!(column(&merge["waiting"], "evidence"), ["ticket", "ticket"]);
    assert_eq!(column(&merge["waiting"], "staleness"), ["fresh", "fresh"]);
    assert_eq!(
        column(&merge["waiting"], "reason"),
        [json!(null), json!("the lexer")]
    );
    assert_eq!(
        column(&merge["waiting"], "where"),
        [json!(repo), json!(repo)]
    );
    // The same from a linked worktree.
    let linked = worktree(&env, &repo, "linked");
    assert_eq!(status(&env, &linked)["merge"], *merge);

    let page = page(&env, &repo).exits(0);
    let lines: Vec<&str> = page.stdout.lines().collect();
    assert!(lines[1].starts_with("merge "), "{page:#?}");
    assert!(lines[1].contains("  alpha  "), "{page:#?}");
    assert!(lines[1].contains("fresh (lease)"), "{page:#?}");
    assert!(lines[1].ends_with("; land the parser"), "{page:#?}");
    assert!(
        lines[2].starts_with("  1 ") && lines[2].contains("  beta "),
        "{page:#?}"
    );
    assert!(
        lines[3].starts_with("  2 ") && lines[3].contains("  gamma "),
        "{page:#?}"
    );
}

#[test]
fn a_run_is_known_by_its_presence_and_a_named_process_by_that() {
    let (env, repo) = repository();
    let gate = Gate::new(&env);
    let call = env
        .call(&repo)
        .args("merge run --as alpha")
        .cmd(gate.cmd("alpha"));
    let mut run = call.start();
    let begun = gate.wait_begun("alpha");
    // Noted a moment after the command begins.
    let holder = waits_for("the command in the report", DEADLINE, || {
        let it = status(&env, &repo);
        let holder = only(&it["merge"]["holders"]).clone();
        (holder["pid"] == json!(begun.pid)).then_some(holder)
    });
    says(
        &holder,
        &[
            ("evidence", json!("presence")),
            ("staleness", json!("fresh")),
            ("expires_at", json!(null)),
        ],
    );
    gate.let_go();
    run.wait(DEADLINE).exits(0);
    let me = std::process::id();
    env.merge(&repo, &format!("acquire --as beta --while-pid {me}"))
        .exits(0);
    says(
        only(&status(&env, &repo)["merge"]["holders"]),
        &[
            ("plan_id", json!("beta")),
            ("evidence", json!("process")),
            ("pid", json!(me)),
            ("staleness", json!("fresh")),
        ],
    );
}

#[test]
fn a_run_whose_lock_file_was_taken_away_or_overwritten_holds_it_all_the_same() {
    let (env, repo) = repository();
    keep_plans(&repo);
    let gate = Gate::new(&env);
    let call = env.call(&repo).args("merge run --as alpha");
    let mut run = call.cmd(gate.cmd("alpha")).start();
    gate.wait_begun("alpha");
    // It would put the file back.
    send(run.pid(), nix::libc::SIGSTOP);
    for written in [None, Some("dead\n")] {
        std::fs::remove_file(lock_file(&repo)).expect("it is there");
        if let Some(text) = written {
            hold(&repo, text);
        }
        let it = status(&env, &repo);
        says(
            &it["merge"],
            &[("status", json!("held")), ("waiting", json!([]))],
        );
        says(
            only(&it["merge"]["holders"]),
            &[
                ("plan_id", json!("alpha")),
                ("staleness", json!("fresh")),
                ("evidence", json!("presence")),
            ],
        );
        hold(&repo, "dead\n");
    }
    send(run.pid(), nix::libc::SIGCONT);
    gate.let_go();
    run.wait(DEADLINE);
}

#[test]
fn a_waiting_run_whose_process_is_gone_is_stale_whatever_keeps_its_place() {
    let (env, repo) = repository();
    env.merge(&repo, "acquire --as alpha").exits(0);
    let mut run = env
        .call(&repo)
        .args("merge run --as beta")
        .cmd(["true"])
        .start();
    let waiting = |staleness: &str| {
        waits_for(staleness, DEADLINE, || {
            let it = status(&env, &repo);
            (column(&it["merge"]["waiting"], "staleness") == [staleness]).then_some(())
        });
    };
    waiting("fresh");
    run.kill();
    waiting("stale");
}

#[test]
fn other_programs_holders_are_told_by_their_plans() {
    let (env, repo) = repository();
    keep_plans(&repo);
    plan(&repo, "alpha");
    hold(&repo, "alpha\n");
    queue_of(&repo, &["alpha", "beta", "gone"]);
    moved_plan(&repo, "beta");
    let it = status(&env, &repo);
    let plans = repo.join(".plan/local/plans/alpha");
    says(
        only(&it["merge"]["holders"]),
        &[
            ("plan_id", json!("alpha")),
            ("evidence", json!("plan")),
            ("staleness", json!("fresh")),
            ("where", json!(plans)),
            ("fence", json!(null)),
        ],
    );
    assert_eq!(column(&it["merge"]["waiting"], "plan_id"), ["beta", "gone"]);
    assert_eq!(
        column(&it["merge"]["waiting"], "staleness"),
        ["fresh", "stale"]
    );

    hold(&repo, "dead\n");
    says(
        only(&status(&env, &repo)["merge"]["holders"]),
        &[("staleness", json!("stale")), ("evidence", json!("plan"))],
    );
    let page = page(&env, &repo).exits(0);
    assert!(page.stdout.contains("git locks doctor"), "{page:#?}");

    mid_recovery(&repo, "dead");
    says(
        only(&status(&env, &repo)["merge"]["holders"]),
        &[("staleness", json!("fresh")), ("mid_recovery", json!(true))],
    );
}

#[test]
fn where_no_plans_are_kept_the_age_of_the_file_is_all_there_is() {
    let (env, repo) = repository();
    hold(&repo, "alpha\n");
    says(
        only(&status(&env, &repo)["merge"]["holders"]),
        &[("evidence", json!("age")), ("staleness", json!("fresh"))],
    );
    let old = std::time::SystemTime::now() - std::time::Duration::from_hours(240);
    let file = std::fs::File::options().write(true).open(lock_file(&repo));
    file.expect("the lock file")
        .set_modified(old)
        .expect("aged");
    says(
        only(&status(&env, &repo)["merge"]["holders"]),
        &[("evidence", json!("age")), ("staleness", json!("stale"))],
    );
    // One that is just being made says nothing yet.
    hold(&repo, "");
    says(
        only(&status(&env, &repo)["merge"]["holders"]),
        &[("plan_id", json!(null)), ("staleness", json!("unknown"))],
    );
}

#[test]
fn what_is_nobodys_name_is_shown_escaped() {
    let (env, repo) = repository();
    let evil = "evil\u{1b}[2J\u{202e}";
    hold(&repo, format!("{evil}\n"));
    write_queue(
        &repo,
        &json!({"waiting": [{"plan_id": format!("{evil}2"), "ts": "soon"}],
            "rate_windows": {evil: {"holder": evil, "expires_at": now() + 60.0}}}),
    );
    env.builds()
        .write_entries(&[foreign(evil, &repo, Some(1.0))], &[]);
    let it = status(&env, &repo);
    says(
        only(&it["merge"]["holders"]),
        &[
            ("plan_id", json!("evil[2J")),
            ("staleness", json!("stale")),
            ("evidence", json!("nothing")),
        ],
    );
    says(
        only(&it["merge"]["waiting"]),
        &[
            ("plan_id", json!("evil[2J2")),
            ("since", json!(null)),
            ("staleness", json!("stale")),
        ],
    );
    says(
        only(&it["rate_windows"]),
        &[
            ("bot_kind", json!("evil[2J")),
            ("evidence", json!("nothing")),
        ],
    );
    assert_eq!(only(&it["build"]["active"])["plan_id"], "evil[2J");
    let page = page(&env, &repo).exits(0);
    assert!(page.stdout.contains("evil\\u{1b}[2J\\u{202e}"), "{page:#?}");
    let odd = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!page.stdout.contains(odd), "{page:#?}");
    assert_eq!(page.stdout.lines().count(), 9, "{page:#?}");
}

#[test]
fn a_record_that_was_lost_leaves_its_holder_unknown() {
    let (env, repo) = repository();
    env.merge(&repo, "acquire --as alpha").exits(0);
    std::fs::write(repo.join(".git/git-locks/merge.json"), "{").expect("written");
    says(
        only(&status(&env, &repo)["merge"]["holders"]),
        &[
            ("plan_id", json!("alpha")),
            ("staleness", json!("unknown")),
            ("evidence", json!("lost")),
        ],
    );
}

#[test]
fn rate_windows_of_plans_and_of_others() {
    let (env, repo) = repository();
    env.merge(&repo, "rate-window claim --bot-kind tester")
        .exits(0);
    keep_plans(&repo);
    plan(&repo, "alpha");
    let claim = "rate-window claim --bot-kind reviewer --pr-number 7 --as";
    env.merge(&repo, &format!("{claim} alpha")).exits(0);
    let windows = status(&env, &repo)["rate_windows"].clone();
    assert_eq!(column(&windows, "bot_kind"), ["tester", "reviewer"]);
    // The checkout is no plan: its window ends by the clock alone.
    says(
        &windows[0],
        &[
            ("holder", json!("main-checkout")),
            ("staleness", json!("fresh")),
            ("evidence", json!("lease")),
        ],
    );
    says(
        &windows[1],
        &[
            ("status", json!("held")),
            ("holder", json!("alpha")),
            ("staleness", json!("fresh")),
            ("evidence", json!("plan")),
            ("pr_number", json!(7)),
            ("attempts", json!(1)),
            ("attempt_cap", json!(2)),
        ],
    );
    std::fs::remove_dir_all(repo.join(".plan/local/plans/alpha")).expect("removed");
    assert_eq!(status(&env, &repo)["rate_windows"][1]["staleness"], "stale");
    env.merge(&repo, "rate-window release --bot-kind tester")
        .exits(0);
    says(
        &status(&env, &repo)["rate_windows"][0],
        &[
            ("status", json!("free")),
            ("holder", json!(null)),
            ("staleness", json!(null)),
        ],
    );
    // What is free is nothing to show a person.
    let page = page(&env, &repo).exits(0);
    assert!(
        page.stdout.contains("reviewer; pull request 7"),
        "{page:#?}"
    );
    assert!(!page.stdout.contains("tester"), "{page:#?}");
}

#[test]
fn builds_of_two_repositories_are_the_machines() {
    let (env, shop) = repository();
    let bank = env.init("bank");
    let gate = Gate::new(&env);
    let call = env
        .call(&shop)
        .args("build run --as alpha --max-slots 2 --reason nightly");
    let mut run = call.cmd(gate.cmd("alpha")).start();
    gate.wait_begun("alpha");
    env.build(&bank, "acquire --as beta --max-slots 2 --ttl 1h")
        .exits(0);
    env.build(&bank, "acquire --as gamma --max-slots 2")
        .exits(75);
    env.build(&shop, "acquire --as delta --max-slots 2")
        .exits(75);
    let outside = env.mkdir("outside");
    let it = waits_for("the claimed slot", DEADLINE, || {
        let it = status(&env, &outside);
        (column(&it["build"]["active"], "evidence")[0] == "presence").then_some(it)
    });
    let build = &it["build"];
    says(
        build,
        &[
            // For who goes by five slots.
            ("status", json!("free")),
            ("active_count", json!(2)),
            ("waiting_count", json!(2)),
            ("disagreeing_slots", json!([2, 5])),
        ],
    );
    assert_eq!(column(&build["active"], "plan_id"), ["alpha", "beta"]);
    assert_eq!(column(&build["active"], "evidence"), ["presence", "lease"]);
    assert_eq!(
        column(&build["active"], "project_root"),
        [json!(shop), json!(bank)]
    );
    assert_eq!(
        column(&build["active"], "reason"),
        [json!("nightly"), json!(null)]
    );
    assert_eq!(column(&build["waiting"], "plan_id"), ["gamma", "delta"]);
    assert_eq!(column(&build["waiting"], "position"), [1, 2]);
    assert_eq!(column(&build["waiting"], "evidence"), ["ticket", "ticket"]);
    // Outside a repository there is the machine's alone.
    assert_eq!(it["repository"], json!(null));
    for part in ["merge", "repo", "worktrees", "rate_windows", "sessions"] {
        assert!(it.get(part).is_none(), "{part} of {it:#}");
    }
    let seen = &status(&env, &bank)["build"];
    assert_eq!(seen["active"], build["active"]);
    assert_eq!(seen["waiting"], build["waiting"]);
    gate.let_go();
    run.wait(DEADLINE).exits(0);
}

#[test]
fn builds_of_other_programs() {
    let env = Env::new();
    let repo = env.init("repo");
    keep_plans(&repo);
    plan(&repo, "alpha");
    let gone = env.path("gone");
    let active = [
        foreign("alpha", &repo, Some(9.0)),
        foreign("dead", &repo, Some(9.0)),
        foreign("away", &gone, Some(9.0)),
    ];
    let mut newer = foreign("newer", &repo, Some(9.0));
    newer["git_locks"] = json!({"format": 99});
    env.builds()
        .write_entries(&[&active[..], &[newer]].concat(), &[]);
    let build = status(&env, &repo)["build"].clone();
    let expected = ["fresh", "stale", "stale", "unknown"];
    assert_eq!(column(&build["active"], "staleness"), expected);
    let expected = ["plan", "plan", "plan", "lost"];
    assert_eq!(column(&build["active"], "evidence"), expected);
}
