//! The sentinel in the file of a worktree lock: for people, never for the lock.

use serde_json::{Value, json};

use crate::cast::{Ground, Lock, report};
use crate::common::fixture::now;
use crate::common::turns::Running;
use crate::common::{DEADLINE, required};

fn ground() -> Ground {
    Ground::new(Lock::Worktree)
}

/// The number of a process that ran, and has ended.
pub fn dead_pid() -> u32 {
    let mut child = std::process::Command::new("true").spawn().expect("true");
    let pid = child.id();
    child.wait().expect("it ends");
    pid
}

pub fn host() -> String {
    let name = nix::unistd::gethostname().expect("a host name");
    name.to_string_lossy().into_owned()
}

#[test]
fn it_is_written_while_the_lock_is_held_and_stays() {
    let ground = ground();
    let mut held = ground.held();
    let text = std::fs::read_to_string(ground.file()).expect("the lock file");
    let sentinel = ground.sentinel();
    let names: Vec<&String> = sentinel.as_object().expect("an object").keys().collect();
    let expected = [
        "pid",
        "host",
        "process_create_time",
        "acquired_at",
        "workspace",
        "command",
    ];
    assert_eq!(names, expected);
    assert_eq!(sentinel["pid"], held.pid());
    assert_eq!(sentinel["host"], json!(host()));
    assert_eq!(
        sentinel["workspace"],
        json!(ground.stage.repo.to_string_lossy())
    );
    let command = sentinel["command"].as_str().expect("a command");
    assert!(command.contains("script-"), "{command}");
    let age = |name: &str| now() - sentinel[name].as_f64().expect("a number");
    assert!((-0.1..60.0).contains(&age("acquired_at")), "{sentinel}");
    assert!(
        (-2.0..60.0).contains(&age("process_create_time")),
        "{sentinel}"
    );
    ground.stage.let_go("me");
    held.wait(DEADLINE).exits(0);
    let after = std::fs::read_to_string(ground.file()).expect("the lock file");
    assert_eq!(after, text);
}

#[test]
fn the_next_one_writes_its_own_into_the_same_file() {
    use std::os::unix::fs::MetadataExt as _;
    let ground = ground();
    let long = "x".repeat(2000);
    ground.run_words("", &["true", &long]).exits(0);
    let before = ground.file().metadata().expect("the file");
    let first = ground.sentinel();
    ground.run_words("", &["true"]).exits(0);
    let after = ground.file().metadata().expect("the file");
    let second = ground.sentinel();
    assert_eq!(before.ino(), after.ino(), "another file");
    assert!(after.size() < before.size());
    assert_ne!(first["pid"], second["pid"]);
    assert_eq!(second["command"], "true");
    assert_eq!(std::fs::read_dir(ground.lock_dir()).expect("it").count(), 1);
}

#[test]
fn a_dead_looking_sentinel_lets_nobody_past_a_held_lock() {
    if !required("sentinel::a_dead_looking_sentinel", "flock") {
        return;
    }
    let ground = ground();
    let stale = json!({
        "pid": 99_999_999, "host": host(), "process_create_time": 1_577_836_800.0,
        "acquired_at": "2020-01-01T00:00:00Z", "workspace": "x", "command": "y",
    });
    for content in [
        stale.to_string(),
        "{}".into(),
        String::new(),
        "not json".into(),
    ] {
        let file = ground.make_file();
        std::fs::write(&file, &content).expect("a sentinel");
        let held = ground.flocked("other");
        for timeout in ["0", "0.3"] {
            let ended = ground.run(&format!("--timeout {timeout}"), "log INTRUDER");
            assert_eq!(ended.code, Some(75), "{content}: {ended:#?}");
        }
        assert_eq!(ground.check().text("status"), "held");
        assert_eq!(ground.check().text("class"), "live");
        assert_eq!(std::fs::read_to_string(&file).expect("it stays"), content);
        drop(held);
        crate::common::eventually(DEADLINE, || ground.flock_would());
        std::fs::write(ground.stage.env.path("log"), "").expect("the log");
    }
}

#[test]
fn a_living_sentinel_keeps_nobody_out() {
    let ground = ground();
    let file = ground.make_file();
    for host in [host(), "elsewhere".to_owned()] {
        let sentinel = json!({"pid": std::process::id(), "host": host});
        std::fs::write(&file, sentinel.to_string()).expect("a sentinel");
        ground.run("--timeout 0", "exit 5").exits(5);
    }
}

/// What nobody should write there.
fn hostile() -> Vec<Vec<u8>> {
    let evil = "\u{1b}[2J\u{202e}\n\r\u{9b}31m";
    let text = |value: Value| value.to_string().into_bytes();
    vec![
        text(
            json!({"pid": 1, "host": evil, "workspace": evil, "command": evil, "acquired_at": evil}),
        ),
        text(
            json!({"pid": -1, "host": host(), "process_create_time": -1e308, "acquired_at": 1e308}),
        ),
        text(json!({"pid": 0, "host": "", "command": "x".repeat(40_000)})),
        text(json!({"pid": u64::MAX, "host": [], "command": {}})),
        text(json!({"pid": "1", "host": evil})),
        b"\0".repeat(100),
        b"\xff\xfe{".to_vec(),
        b"[".repeat(100_000),
        b" ".repeat(1 << 20),
        b"{\"pid\": 1e400, \"host\": \"x\"}".to_vec(),
        b"NaN".to_vec(),
        b"<<<<<<< ours".to_vec(),
    ]
}

#[track_caller]
fn harmless(text: &str) {
    for bad in ['\u{1b}', '\u{202e}', '\u{9b}', '\u{0}'] {
        assert!(!text.contains(bad), "{bad:?} in {text:?}");
    }
}

#[test]
fn whatever_it_says_it_is_harmless() {
    if !required("sentinel::whatever_it_says_it_is_harmless", "flock") {
        return;
    }
    for content in hostile() {
        let ground = ground();
        let file = ground.make_file();
        std::fs::write(&file, &content).expect("a sentinel");
        let env = &ground.stage.env;
        let shown = String::from_utf8_lossy(&content[..content.len().min(80)]).into_owned();
        for verb in ["check", "cleanup"] {
            for format in ["toon", "json", "human"] {
                let call = env.call(&ground.stage.repo).args("--format").arg(format);
                let run = call.args("worktree").args(verb).run();
                assert_eq!(run.code, 0, "{shown}: {run:#?}");
                harmless(&run.stdout);
                harmless(&run.stderr);
            }
        }
        assert_eq!(std::fs::read(&file).expect("it"), content, "it was changed");
        let held = ground.flocked("other");
        for format in ["toon", "json", "human"] {
            let mut command = env.command(crate::common::BIN);
            command
                .current_dir(&ground.stage.repo)
                .args(["--format", format]);
            command.args(["worktree", "run", "--timeout", "0.1", "--", "true"]);
            let ended = Running::start(command).wait(DEADLINE).exits(75);
            harmless(&ended.stderr);
        }
        drop(held);
        crate::common::eventually(DEADLINE, || ground.flock_would());
        ground.run("--timeout 0", "exit 5").exits(5);
        assert!(ground.sentinel()["pid"].is_u64(), "{shown}");
    }
}

#[test]
fn check_tells_of_it() {
    let ground = ground();
    let class = |ground: &Ground| ground.check().exits(0).text("class");
    assert_eq!(class(&ground), "no-lock-file");
    let mut held = ground.held();
    let check = ground.check();
    assert_eq!(check.text("class"), "live");
    assert_eq!(check.text("workspace"), ground.stage.repo.to_string_lossy());
    ground.stage.let_go("me");
    held.wait(DEADLINE).exits(0);
    assert_eq!(class(&ground), "stale");
    let write = |value: Value| {
        std::fs::write(ground.file(), value.to_string()).expect("a sentinel");
    };
    write(json!({"pid": std::process::id(), "host": host()}));
    assert_eq!(class(&ground), "idle");
    write(json!({"pid": dead_pid(), "host": "elsewhere"}));
    assert_eq!(class(&ground), "idle");
    write(json!({"pid": "x"}));
    assert_eq!(class(&ground), "orphan");
    assert_eq!(ground.check().text("status"), "free");
}

#[test]
fn a_timeout_names_the_owner() {
    let ground = ground();
    let held = ground.held();
    let ended = ground.run("--timeout 0.2", "log INTRUDER").exits(75);
    let said = report(&ended).to_string();
    for word in [held.pid().to_string(), host(), "script-".to_owned()] {
        assert!(said.contains(&word), "no {word} in {said}");
    }
}
