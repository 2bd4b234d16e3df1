//! Title tokens: they go with whom they are about.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::fixture::{base, plan, waiting};
use crate::common::{DEADLINE, Env, eventually};

fn title(repo: &Path, id: &str) -> PathBuf {
    repo.join(".git/git-locks/titles")
        .join(format!("{id}.json"))
}

#[test]
fn the_title_of_a_waiter_goes_when_it_is_pruned() {
    for pruning in ["acquire --as c", "acquire --as new", "release --as c"] {
        let env = Env::new();
        let repo = env.init("repo");
        for id in ["a", "gone", "c", "new"] {
            plan(&repo, id);
        }
        env.merge(&repo, "acquire --as a").exits(0);
        env.merge(&repo, "acquire --as gone").exits(75);
        env.merge(&repo, "acquire --as c").exits(75);
        assert!(title(&repo, "gone").exists());
        std::fs::remove_dir(base(&repo).join("plans/gone")).expect("its plan");
        env.merge(&repo, pruning);
        assert!(!waiting(&repo).contains(&"gone".to_owned()), "{pruning}");
        assert!(!title(&repo, "gone").exists(), "{pruning}");
        assert!(title(&repo, "a").exists(), "{pruning}");
    }
}

#[test]
fn the_title_of_a_waiter_goes_when_its_ticket_has_run_out() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as a").exits(0);
    let short = |who: &str| {
        let call = env.call(&repo).env("GIT_LOCKS_TICKET_TTL", "1s");
        let args = format!("--format json merge acquire --as {who}");
        call.args(&args).run().exits(75)
    };
    short("gone");
    assert!(title(&repo, "gone").exists());
    eventually(DEADLINE, || short("c").get("position") == json!(1));
    assert!(!title(&repo, "gone").exists());
    assert!(title(&repo, "c").exists());
}

#[test]
fn the_title_of_a_stale_holder_goes_when_it_is_reclaimed() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "a");
    plan(&repo, "b");
    env.merge(&repo, "acquire --as a").exits(0);
    assert!(title(&repo, "a").exists());
    std::fs::remove_dir(base(&repo).join("plans/a")).expect("its plan");
    env.merge(&repo, "acquire --as b")
        .exits(0)
        .says(&[("reclaimed_from", json!("a"))]);
    assert!(!title(&repo, "a").exists());
    assert!(title(&repo, "b").exists());
}

#[test]
fn the_title_of_a_holder_goes_when_its_lease_has_ended_and_another_takes_over() {
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as a --ttl 1s").exits(0);
    assert!(title(&repo, "a").exists());
    eventually(Duration::from_secs(10), || {
        env.merge(&repo, "acquire --as b").code == 0
    });
    assert!(!title(&repo, "a").exists());
}

#[test]
fn what_others_say_about_the_same_id_stays() {
    let env = Env::new();
    let repo = env.init("repo");
    plan(&repo, "a");
    plan(&repo, "b");
    env.merge(&repo, "acquire --as a").exits(0);
    let file = title(&repo, "a");
    let bytes = std::fs::read(&file).expect("a title");
    let mut about: Value = serde_json::from_slice(&bytes).expect("JSON");
    about["build-queue"] = json!({"state": "build-busy", "set_at": 1.5});
    std::fs::write(&file, about.to_string()).expect("a title");
    std::fs::remove_dir(base(&repo).join("plans/a")).expect("its plan");
    env.merge(&repo, "acquire --as b").exits(0);
    let bytes = std::fs::read(&file).expect("what is not ours");
    let about: Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(about["build-queue"]["state"], json!("build-busy"));
    assert_eq!(about.get("merge-lock"), None);
}
