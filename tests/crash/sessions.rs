//! Scenes of the session lease.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::scene::{Family, Scene, Stage};

/// What no program would write whole.
const HALF: &str = "{\"session_id\": \"hal";

fn directory(stage: &Stage) -> PathBuf {
    stage.repo.join(".orchestrator")
}

fn lease(stage: &Stage) -> PathBuf {
    directory(stage).join("session.lock")
}

fn begin(stage: &Stage) {
    let acquire = "acquire --session-id old --mode deep";
    stage.call(acquire).exits(0);
}

/// A lease with what only another program knows of.
fn begin_elsewhere(stage: &Stage) {
    begin(stage);
    let text = fs::read_to_string(lease(stage)).expect("a lease");
    let mut theirs: Value = serde_json::from_str(&text).expect("JSON");
    theirs["theirs"] = json!([1.5, {"a": null}]);
    fs::write(lease(stage), theirs.to_string()).expect("written");
}

fn spoil(stage: &Stage) {
    begin(stage);
    fs::write(lease(stage), HALF).expect("written");
}

/// Whose lease is there, all of it; nothing where there is none.
#[track_caller]
fn whose(stage: &Stage) -> Option<String> {
    let text = match fs::read_to_string(lease(stage)) {
        Ok(text) => text,
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
            return None;
        }
    };
    let lease: Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"));
    for key in ["started_at", "last_heartbeat", "ttl_hours"] {
        assert!(!lease[key].is_null(), "{key} of {text}");
    }
    Some(lease["session_id"].as_str().expect("an id").to_owned())
}

/// The next session can be noted, and is.
#[track_caller]
fn goes_on(stage: &Stage) {
    let take = "take --yes --session-id next --mode deep";
    let taken = stage.quick(take);
    assert_eq!(taken.get("status"), "success", "{taken:#?}");
    assert_eq!(whose(stage).as_deref(), Some("next"));
    let check = stage.quick("check --session-id next");
    assert_eq!(
        (check.get("status"), check.get("mine")),
        (json!("held"), json!(true))
    );
}

fn begun_or_free(stage: &Stage, _: usize) {
    assert!([None, Some("new")].contains(&whose(stage).as_deref()));
    goes_on(stage);
}

fn old_or_new(stage: &Stage, _: usize) {
    assert!([Some("old"), Some("new")].contains(&whose(stage).as_deref()));
    goes_on(stage);
}

fn old_or_free(stage: &Stage, _: usize) {
    assert!([None, Some("old")].contains(&whose(stage).as_deref()));
    goes_on(stage);
}

fn old_with_all_of_it(stage: &Stage, _: usize) {
    assert_eq!(whose(stage).as_deref(), Some("old"));
    let text = fs::read_to_string(lease(stage)).expect("a lease");
    let lease: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(lease["theirs"], json!([1.5, {"a": null}]), "{text}");
    goes_on(stage);
}

/// What made no sense is in its place or set aside, to the byte.
fn half_is_kept(stage: &Stage, _: usize) {
    let is_half = |path: PathBuf| fs::read_to_string(path).is_ok_and(|text| text == HALF);
    let left = fs::read_dir(directory(stage)).expect("listed");
    let mut left = left.map(|entry| entry.expect("an entry").path());
    assert!(left.any(is_half), "it is lost");
    if !is_half(lease(stage)) {
        assert!([None, Some("new")].contains(&whose(stage).as_deref()));
    }
    goes_on(stage);
    let left = fs::read_dir(directory(stage)).expect("listed");
    let mut left = left.map(|entry| entry.expect("an entry").path());
    assert!(left.any(is_half), "it is lost afterwards");
}

/// The first lease of a checkout, with its directory.
pub const BEGIN: Scene = Scene {
    family: Family::Session,
    name: "a session begins",
    set: |_| {},
    args: "acquire --session-id new --mode deep",
    after: begun_or_free,
};

/// Another's place is taken.
pub const TAKE: Scene = Scene {
    family: Family::Session,
    name: "a session takes the place of another",
    set: begin,
    args: "take --yes --session-id new --mode deep",
    after: old_or_new,
};

/// What makes no sense is set aside.
pub const MEND: Scene = Scene {
    family: Family::Session,
    name: "a session takes the place of what makes no sense",
    set: spoil,
    args: "take --yes --session-id new --mode deep",
    after: half_is_kept,
};

/// A heartbeat in another program's lease.
pub const BEAT: Scene = Scene {
    family: Family::Session,
    name: "a heartbeat",
    set: begin_elsewhere,
    args: "heartbeat --session-id old",
    after: old_with_all_of_it,
};

/// A session is over.
pub const END: Scene = Scene {
    family: Family::Session,
    name: "a session ends",
    set: begin,
    args: "release --session-id old",
    after: old_or_free,
};
