//! The fields of the reports, their order and their words: what `doc/output.md` says is what is printed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::fixture::worktree;
use crate::common::{Env, Run};
use crate::pages::{read, root, text};

/// The names that begin what stands between backticks: `status` of `status: success`.
fn names(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2);
    let names = spans.map(|span| {
        let end = span.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
        span[..end.unwrap_or(span.len())].to_owned()
    });
    names.filter(|name| !name.is_empty()).collect()
}

/// What stands below the heading `section`, where backticks do not count.
#[track_caller]
fn below(section: &str) -> String {
    let document = text("doc/output.md");
    let heading = |line: &str| line.strip_prefix("## ").map(|line| line.replace('`', ""));
    let own: Vec<&str> = document
        .lines()
        .skip_while(|line| heading(line).as_deref() != Some(section))
        .skip(1)
        .take_while(|line| heading(line).is_none())
        .collect();
    assert!(!own.is_empty(), "doc/output.md has no section {section:?}");
    own.join("\n")
}

/// The names in each table and paragraph of a section: of a table, those in its first column, or, where it
/// has a column of fields, those in each row of that.
#[track_caller]
fn told(section: &str) -> Vec<Vec<String>> {
    let own = below(section);
    let blocks = own.split("\n\n").flat_map(|block| {
        let mut lines = block.lines();
        match lines.next() {
            Some(head) if head.ends_with("| fields |") => lines
                .filter_map(|line| line.rsplit('|').nth(1).map(names))
                .collect(),
            Some(head) if head.starts_with('|') => {
                let cells = lines.filter_map(|line| line.split('|').nth(1));
                vec![cells.flat_map(names).collect()]
            }
            _ => vec![names(&block.replace('\n', " "))],
        }
    });
    blocks.collect()
}

/// Whether `keys` stand in `told`, in this order.
fn in_order(keys: &[&String], told: &[&String]) -> bool {
    let mut rest = told.iter();
    keys.iter().all(|key| rest.any(|name| name == key))
}

/// Fails the test unless the fields of `object` are told of in this order, in one table or paragraph of the
/// first section and then one of each that follows.
#[track_caller]
fn is_told(sections: &[&str], object: &Value) {
    let fields = object.as_object().expect("an object");
    assert!(!fields.is_empty(), "{sections:?}: nothing is reported");
    let keys: Vec<&String> = fields.keys().collect();
    let blocks: Vec<Vec<Vec<String>>> = sections.iter().map(|section| told(section)).collect();
    let mut all: Vec<Vec<&String>> = vec![Vec::new()];
    for section in &blocks {
        all = all
            .iter()
            .flat_map(|before| {
                let next = section.iter();
                next.map(move |block| before.iter().copied().chain(block).collect())
            })
            .collect();
    }
    assert!(
        all.iter().any(|told| in_order(&keys, told)),
        "doc/output.md, {sections:?}, does not tell of {keys:?} in this order"
    );
}

/// A place where everything can be asked.
struct Asker {
    env: Env,
    repo: std::path::PathBuf,
}

impl Asker {
    fn run(&self, args: &str) -> Run {
        self.env.locks(&self.repo, &format!("--format json {args}"))
    }

    /// The report of a call, after its fields were looked up in the section of its name.
    #[track_caller]
    fn asks(&self, args: &str, code: i32) -> Value {
        let verbs = args.split(' ').take_while(|word| !word.starts_with('-'));
        self.asks_in(&[&verbs.collect::<Vec<_>>().join(" ")], args, code)
    }

    #[track_caller]
    fn asks_in(&self, sections: &[&str], args: &str, code: i32) -> Value {
        let run = self.run(args).exits(code);
        let report: Value = serde_json::from_str(&run.stdout).expect("a report");
        is_told(sections, &report);
        report
    }
}

fn asker() -> Asker {
    let env = Env::new();
    let repo = env.init("repo");
    Asker { env, repo }
}

/// The first of the rows at `pointer`.
#[track_caller]
fn row<'a>(report: &'a Value, pointer: &str) -> &'a Value {
    let rows = report.pointer(pointer).and_then(Value::as_array);
    let first = rows.and_then(|rows| rows.first());
    first.unwrap_or_else(|| panic!("nothing at {pointer} of {report}"))
}

#[test]
fn those_of_the_merge_lock() {
    let it = asker();
    it.asks("merge check --as a", 0);
    it.asks("merge release --as a", 0);
    it.asks("merge release --as a --require-stale", 0);
    it.asks("merge acquire --as a --reason x", 0);
    it.asks("merge acquire --as a", 0);
    it.asks("merge acquire --as b", 75);
    it.asks("merge check --as b", 0);
    it.asks("merge release", 1);
    it.asks("merge release --as a --require-stale", 1);
    it.asks("merge renew --as a", 0);
    it.asks("merge renew --as b", 1);
    it.asks("merge release --as a", 0);
    let window = |verb: &str| format!("merge rate-window {verb} --bot-kind bot");
    it.asks(&window("check"), 0);
    it.asks(&format!("{} --as a", window("claim")), 0);
    it.asks(&format!("{} --as b", window("claim")), 75);
    it.asks(&format!("{} --as a", window("check")), 0);
    it.asks(&format!("{} --as a", window("claim")), 0);
    it.asks(&format!("{} --as a", window("release")), 0);
    it.asks(&format!("{} --as a", window("claim")), 1);
    it.asks_in(&["Errors"], "merge acquire --as Bad", 2);
}

#[test]
fn those_of_the_build_queue() {
    let it = asker();
    let held = it.asks("build acquire --as a --max-slots 1", 0);
    it.asks("build acquire --as b --max-slots 1", 75);
    let report = it.asks("build check --max-slots 2", 0);
    for rows in ["/active", "/waiting"] {
        is_told(&["build check"], row(&report, rows));
    }
    it.asks("build renew --as a", 0);
    it.asks("build renew --as c", 1);
    let id = held["id"].as_str().expect("an id");
    it.asks(&format!("build release --id {id}"), 0);
    it.asks("build release --as c", 0);
}

#[test]
fn those_of_the_kernel_locks_and_the_sessions() {
    let it = asker();
    worktree(&it.env, &it.repo, "linked");
    it.asks("repo check", 0);
    it.asks("repo path", 0);
    it.asks_in(&["repo check", "worktree check"], "worktree check", 0);
    let report = it.asks("worktree cleanup", 0);
    is_told(&["worktree cleanup"], row(&report, "/worktrees"));
    let report = it.asks_in(
        &["worktree cleanup", "worktree cleanup"],
        "worktree cleanup --refresh",
        1,
    );
    is_told(&["worktree cleanup"], row(&report, "/worktrees"));
    for args in ["repo run -- true", "worktree run -- true"] {
        it.run(args).exits(0);
    }
    let mode = "--mode feature --session-id";
    it.asks("session check", 0);
    it.asks(&format!("session acquire {mode} s"), 0);
    it.asks(&format!("session acquire {mode} t"), 75);
    let take = format!("session take {mode} t");
    it.asks_in(&["session heartbeat"], &take, 1);
    it.asks("session heartbeat --session-id t", 1);
    let report = it.asks("session peers", 0);
    is_told(&["session peers"], row(&report, "/peers"));
    it.asks("session release --session-id s", 0);
}

#[test]
fn those_of_the_tools() {
    let it = asker();
    for args in [
        "merge acquire --as a",
        "merge acquire --as b",
        "build acquire --as a",
        "merge rate-window claim --bot-kind bot --as a",
        "session acquire --mode feature --session-id s",
    ] {
        it.run(args);
    }
    let report = it.asks("status", 0);
    for (rows, other) in [
        ("/worktrees", None),
        ("/rate_windows", None),
        ("/sessions", Some("session peers")),
        ("/merge/holders", None),
        ("/merge/waiting", None),
    ] {
        // What a table says of holders, and of those who wait, stands in the cells beside their names.
        let first = row(&report, rows);
        if rows.starts_with("/merge") {
            all_named("status", first);
        } else {
            is_told(&[other.unwrap_or("status")], first);
        }
    }
    for object in ["/merge", "/repo"] {
        is_told(&["status"], report.pointer(object).expect(object));
    }
    let report = it.asks("log", 0);
    is_told(&["log"], row(&report, "/entries"));
    let report = it.asks("log --report", 0);
    is_told(&["log"], row(&report, "/locks"));
    fs::write(it.repo.join(".git/MERGE_HEAD"), "").expect("an unfinished merge");
    let report = it.run("doctor");
    let report: Value = serde_json::from_str(&report.stdout).expect("a report");
    is_told(&["doctor"], &report);
    for rows in ["/findings", "/participants"] {
        is_told(&["doctor"], row(&report, rows));
    }
    it.asks("hook install", 0);
    it.asks("hook uninstall", 0);
    fs::write(it.repo.join(".git/hooks/pre-push"), "#!/bin/sh\n").expect("a hook");
    it.asks("hook install", 1);
    it.asks_in(&["man, completions"], "man --install pages", 0);
}

/// Fails the test unless each field of `object` is named somewhere in the section.
#[track_caller]
fn all_named(section: &str, object: &Value) {
    let named: BTreeSet<String> = names(&below(section)).into_iter().collect();
    for key in object.as_object().expect("an object").keys() {
        assert!(named.contains(key), "{section}: {key} is not told of");
    }
}

/// `NotMine`, as it is printed: `not_mine`, or with another `between`.
fn printed(variant: &str, between: char) -> String {
    let mut word = String::new();
    for c in variant.chars() {
        if c.is_ascii_uppercase() && !word.is_empty() {
            word.push(between);
        }
        word.push(c.to_ascii_lowercase());
    }
    word
}

/// The words of each `enum` of the reports that is printed, and its name.
fn words() -> Vec<(String, BTreeSet<String>)> {
    let source = root().join("src");
    let entries = fs::read_dir(source.join("report")).expect("a directory");
    let mut files: Vec<_> = entries.map(|it| it.expect("an entry").path()).collect();
    files.push(source.join("report.rs"));
    let mut found = Vec::new();
    for file in files {
        add_words(&file, &mut found);
    }
    found
}

fn add_words(file: &Path, found: &mut Vec<(String, BTreeSet<String>)>) {
    let source = fs::read_to_string(file).expect("a source");
    for part in source.split("#[serde(rename_all = \"").skip(1) {
        let (style, rest) = part.split_once('"').expect("a style");
        let between = match style {
            "snake_case" => '_',
            "kebab-case" => '-',
            other => panic!("{}: {other}", file.display()),
        };
        let Some((_, rest)) = rest.split_once("pub enum ") else {
            continue;
        };
        let (name, rest) = rest.split_once(" {\n").expect("an enum");
        let (body, _) = rest.split_once("\n}").expect("its end");
        let variants = body.lines().filter_map(|line| {
            let line = line.trim();
            let plain = line.starts_with(|c: char| c.is_ascii_uppercase());
            plain.then(|| printed(line.trim_end_matches(','), between))
        });
        found.push((name.to_owned(), variants.collect()));
    }
}

#[test]
fn every_word_of_a_report_is_told_of() {
    let document = text("doc/output.md");
    let (lines, _) = read("doc/output.md");
    let all = words();
    assert!(all.len() > 15, "{all:?}");
    for (name, words) in &all {
        for word in words {
            let stands = [format!("`{word}`"), format!(": {word}`")];
            let told = stands.iter().any(|word| document.contains(word));
            assert!(told, "doc/output.md does not tell of {word} ({name})");
        }
    }
    // Of findings, the table tells of each, and of no other.
    let kinds = all.iter().find(|(name, _)| name == "FindingKind");
    let table = lines.iter().map(|(_, line)| line.as_str());
    let table = table
        .skip_while(|line| *line != "| `kind` | severity | what |")
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let cells = table.filter_map(|line| line.split('|').nth(1));
    let rows = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let rows: BTreeSet<String> = rows.map(str::to_owned).collect();
    assert_eq!(Some(&rows), kinds.map(|(_, words)| words));
}
