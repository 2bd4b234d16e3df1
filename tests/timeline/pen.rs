//! Who writes in the timeline as any program may.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Env, Run};

/// A repository and its timeline.
pub struct Pen {
    pub env: Env,
    pub repo: PathBuf,
}

impl Pen {
    pub fn new() -> Self {
        let env = Env::new();
        let repo = env.init("repo");
        std::fs::create_dir_all(repo.join(".plan/logs")).expect("the directory");
        Self { env, repo }
    }

    pub fn logs(&self) -> PathBuf {
        self.repo.join(".plan/logs")
    }

    /// The file of a day, as in `2026-11-30`.
    pub fn file(&self, day: &str) -> PathBuf {
        self.logs().join(format!("lock-{day}.log"))
    }

    /// Appends to the file of a day.
    pub fn write(&self, day: &str, text: impl AsRef<[u8]>) {
        append(&self.file(day), text);
    }

    /// `git locks log` with `args`, its report in JSON.
    #[track_caller]
    pub fn log(&self, args: &str) -> Run {
        let call = self.env.call(&self.repo).args("--format json log");
        call.args(args).run()
    }

    /// The ids of the entries that `args` ask for.
    #[track_caller]
    pub fn ids(&self, args: &str) -> Vec<String> {
        ids(&self.log(args).exits(0))
    }
}

pub fn append(path: &Path, text: impl AsRef<[u8]>) {
    let file = File::options().append(true).create(true).open(path);
    let written = file.expect("a log").write_all(text.as_ref());
    written.expect("written");
}

/// An entry: `time` as in `2026-11-30T08:00:00Z`, `name` as in `merge:acquired`, fields as in `a=1 b=2`.
pub fn entry(time: &str, name: &str, id: &str, fields: &str) -> String {
    let mut text = format!("[{time}] [INFO] [0123ab] [LOCK] ({name}) {id}\n");
    for field in fields.split_whitespace() {
        let (key, value) = field.split_once('=').expect("a field");
        text = text + "  " + key + ": " + value + "\n";
    }
    text
}

/// An entry of the merge lock so many seconds after 08:00 on 2026-11-30.
pub fn merge(second: u32, event: &str, id: &str, fields: &str) -> String {
    let time = format!("2026-11-30T08:{:02}:{:02}Z", second / 60, second % 60);
    entry(&time, &format!("merge:{event}"), id, fields)
}

/// 2026-11-30T08:00:00Z.
pub const EIGHT: f64 = 1_796_025_600.0;

pub fn entries(run: &Run) -> Vec<Value> {
    let entries = run.get("entries");
    entries.as_array().expect("entries").clone()
}

pub fn ids(run: &Run) -> Vec<String> {
    let ids = entries(run).into_iter().map(|entry| text(&entry, "id"));
    ids.collect()
}

#[track_caller]
pub fn text(value: &Value, field: &str) -> String {
    value[field].as_str().expect(field).to_owned()
}
