//! What these tests share.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Env, Run};

/// A repository in which nobody has asked for anything yet.
pub fn repository() -> (Env, PathBuf) {
    let env = Env::new();
    let repo = env.init("repo");
    (env, repo)
}

/// The report as seen from `dir`, which is there whatever it says.
#[track_caller]
pub fn status(env: &Env, dir: &Path) -> Value {
    let run = env.locks(dir, "status --format json");
    assert_eq!(run.stderr, "", "{run:#?}");
    run.exits(0).json()
}

/// The human form as seen from `dir`.
#[track_caller]
pub fn page(env: &Env, dir: &Path) -> Run {
    env.locks(dir, "status --format human")
}

/// The one element of a list.
#[track_caller]
pub fn only(list: &Value) -> &Value {
    match list.as_array().map(Vec::as_slice) {
        Some([one]) => one,
        _ => panic!("not one element: {list:#}"),
    }
}

/// The values of `field` in the rows of `list`.
#[track_caller]
pub fn column(list: &Value, field: &str) -> Vec<Value> {
    let rows = list.as_array().expect("a list");
    rows.iter().map(|row| row[field].clone()).collect()
}

/// Fails the test unless `row` has these values.
#[track_caller]
pub fn says(row: &Value, fields: &[(&str, Value)]) {
    for (name, expected) in fields {
        assert_eq!(&row[name], expected, "{name} of {row:#}");
    }
}
