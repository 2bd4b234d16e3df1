//! Whose the lease of a checkout is, and who may change it.

use std::process::Stdio;

use serde_json::json;

use crate::common::{BIN, Env};
use crate::stage::{lease, session};

#[test]
fn a_second_session_is_blocked_and_nothing_is_changed() {
    let env = Env::new();
    let repo = env.init("repo");
    let first = session(&env, &repo, "acquire --session-id a --mode deep").exits(0);
    assert_eq!(first.get("action"), "acquired");
    let before = std::fs::read(lease(&repo)).expect("a lease");
    let second = session(&env, &repo, "acquire --session-id b --mode deep").exits(75);
    assert_eq!(second.get("reason"), "active");
    assert_eq!(second.get("existing")["session_id"], "a");
    assert_eq!(second.get("existing")["mode"], "deep");
    assert_eq!(second.get("same_host"), true);
    assert_eq!(second.get("recommendation"), "abort");
    let refused = session(&env, &repo, "take --session-id b --mode deep").exits(1);
    assert_eq!(refused.get("reason"), "not_confirmed");
    assert_eq!(std::fs::read(lease(&repo)).expect("a lease"), before);
    let taken = session(&env, &repo, "take --session-id b --mode deep --yes").exits(0);
    assert_eq!(taken.get("replaced_state"), "active");
    assert_eq!(taken.get("replaced")["session_id"], "a");
}

#[test]
fn only_the_exact_id_may_beat_and_let_go() {
    let env = Env::new();
    let repo = env.init("repo");
    let acquire = "acquire --session-id raw --semantic-session-id label --mode deep";
    session(&env, &repo, acquire).exits(0);
    for verb in ["heartbeat", "release"] {
        for id in ["label", "RAW", "raw2"] {
            let refused = session(&env, &repo, &format!("{verb} --session-id {id}")).exits(1);
            assert_eq!(refused.get("reason"), "not_yours", "{verb} {id}");
        }
        session(&env, &repo, verb).exits(2);
    }
    session(&env, &repo, "heartbeat --session-id raw").exits(0);
    let over = session(&env, &repo, "release --session-id raw").exits(0);
    assert_eq!(over.get("action"), "released");
    assert!(!lease(&repo).exists());
    let again = session(&env, &repo, "release --session-id raw").exits(0);
    assert_eq!(again.get("action"), "noop");
}

#[test]
fn an_old_silent_lease_is_stale_and_may_be_reclaimed() {
    let env = Env::new();
    let repo = env.init("repo");
    let host = nix::unistd::gethostname().expect("a name");
    let old = json!({
        "session_id": "old", "started_at": "2020-01-01T00:00:00Z", "mode": "deep",
        "pid": 1, "host": host.to_string_lossy(), "ttl_hours": 4, "theirs": [1],
    });
    std::fs::create_dir(repo.join(".orchestrator")).expect("mkdir");
    std::fs::write(lease(&repo), old.to_string()).expect("write");
    let blocked = session(&env, &repo, "acquire --session-id b --mode deep").exits(75);
    assert_eq!(blocked.get("reason"), "stale-heartbeat");
    assert_eq!(blocked.get("recommendation"), "reclaim");
    session(&env, &repo, "heartbeat --session-id old").exits(0);
    let kept = std::fs::read_to_string(lease(&repo)).expect("a lease");
    assert!(kept.contains("theirs"), "{kept}");
    let active = session(&env, &repo, "check --session-id old --exit-code").exits(0);
    assert_eq!(
        (active.get("mine"), active.get("state")),
        (json!(true), json!("active"))
    );
    assert!(!repo.join(".orchestrator/.gitignore").exists());
}

#[test]
fn what_makes_no_sense_is_neither_free_nor_lost() {
    let env = Env::new();
    let repo = env.init("repo");
    std::fs::create_dir(repo.join(".orchestrator")).expect("mkdir");
    std::fs::write(lease(&repo), "{").expect("write");
    let check = session(&env, &repo, "check --exit-code").exits(1);
    assert_eq!(check.get("status"), "corrupt");
    let blocked = session(&env, &repo, "acquire --mode deep").exits(75);
    assert_eq!(blocked.get("reason"), "corrupt");
    let taken = session(&env, &repo, "take --session-id a --mode deep --yes").exits(0);
    let aside = taken.text("set_aside");
    assert_eq!(std::fs::read_to_string(aside).expect("kept"), "{");
    std::fs::remove_file(lease(&repo)).expect("remove");
    std::fs::create_dir(lease(&repo)).expect("mkdir");
    let check = session(&env, &repo, "check --exit-code").exits(1);
    assert_eq!(check.get("status"), "unreadable");
    let degraded = session(&env, &repo, "acquire --session-id a --mode deep").exits(0);
    assert_eq!(degraded.get("status"), "degraded");
    assert_eq!(degraded.get("reason"), "fs-error");
}

#[test]
fn of_many_at_once_one_wins() {
    let env = Env::new();
    let repo = env.init("repo");
    let start = |number: usize| {
        let mut command = env.command(BIN);
        command.current_dir(&repo).stdout(Stdio::null());
        let id = format!("s{number}");
        command.args(["session", "acquire", "--mode", "deep", "--session-id", &id]);
        command.spawn().expect("it starts")
    };
    let children: Vec<_> = (0..16).map(start).collect();
    let codes = children
        .into_iter()
        .map(|mut child| child.wait().expect("it ends").code());
    let codes: Vec<_> = codes.map(|code| code.expect("no signal")).collect();
    assert_eq!(
        codes.iter().filter(|&&code| code == 0).count(),
        1,
        "{codes:?}"
    );
    assert!(codes.iter().all(|code| [0, 75].contains(code)), "{codes:?}");
}

#[test]
fn a_run_is_a_session_while_its_command_runs() {
    let env = Env::new();
    let repo = env.init("repo");
    let run = env
        .call(&repo)
        .args("session run -- git-locks-is-not-asked");
    run.run().exits(127);
    assert!(!lease(&repo).exists());
    let mut call = env.call(&repo).args("session run --session-id me --");
    for word in [
        "sh",
        "-c",
        "cat .orchestrator/session.lock; echo $GIT_LOCKS_SESSION_ID",
    ] {
        call = call.arg(word);
    }
    let run = call.run().exits(0);
    assert!(run.stdout.contains("\"session_id\": \"me\""), "{run:#?}");
    assert!(run.stdout.ends_with("\nme\n"), "{run:#?}");
    assert!(!lease(&repo).exists());
}
