//! A repository, commands that note what happens to them, and what must be left in the end.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::common::fixture::{base, holder, lock_file, waiting};
use crate::common::turns::{Ended, Running, presence_files, waits_for};
use crate::common::{BIN, DEADLINE, Env, Run};

pub const INT: i32 = Signal::SIGINT as i32;
pub const TERM: i32 = Signal::SIGTERM as i32;
pub const HUP: i32 = Signal::SIGHUP as i32;
pub const QUIT: i32 = Signal::SIGQUIT as i32;
pub const WINCH: i32 = Signal::SIGWINCH as i32;
pub const KILL: i32 = Signal::SIGKILL as i32;
pub const STOP: i32 = Signal::SIGSTOP as i32;
pub const CONT: i32 = Signal::SIGCONT as i32;

/// The signals that end a process, and are passed on.
pub const ENDING: [i32; 4] = [INT, TERM, HUP, QUIT];

/// Time enough for what must happen at once, on a busy machine; far less than any time limit of
/// the program.
pub const AT_ONCE: Duration = Duration::from_secs(5);

/// What `env` is told so that a test does not depend on what its own caller ignores.
pub const DEFAULT_SIGNALS: &str = "--default-signal=INT,QUIT,TERM,HUP,TSTP";

/// The beginning of every script: `log WORDS` notes a line, and `hold NAME` stays until the test
/// lets NAME go or its directory is gone. A trap runs at once: `wait` is interrupted by signals,
/// a command in the foreground is not.
const PRELUDE: &str = r#"
log() { echo "$*" >>"$DIR/log"; }
hold() { while [ -d "$DIR" ] && [ ! -e "$DIR/go-$1" ]; do sleep 0.02 & wait $!; done; }
traps() { for signal; do trap "log $signal" "$signal"; done; }
"#;

static SCRIPTS: AtomicU32 = AtomicU32::new(0);

/// A repository and a log of what commands did.
pub struct Stage {
    pub env: Env,
    pub repo: PathBuf,
}

impl Stage {
    /// A repository in which nobody has asked for the lock yet.
    pub fn new() -> Self {
        let env = Env::new();
        let repo = env.init("repo");
        std::fs::write(env.path("log"), "").expect("a log");
        Self { env, repo }
    }

    /// A script with this body, as the words of a command.
    pub fn script(&self, body: &str) -> [OsString; 2] {
        let number = SCRIPTS.fetch_add(1, Ordering::SeqCst);
        let path = self.env.path(format!("script-{number}"));
        let dir = self.env.root().display();
        let text = format!("DIR='{dir}'\nBIN='{BIN}'\n{PRELUDE}{body}\n");
        std::fs::write(&path, text).expect("a script");
        [OsString::from("sh"), path.into_os_string()]
    }

    /// The same as a line for a shell.
    pub fn script_line(&self, body: &str) -> String {
        let [shell, path] = self.script(body);
        format!("{} '{}'", shell.display(), path.display())
    }

    /// The same as a program that can be started by its path.
    pub fn program(&self, body: &str) -> PathBuf {
        let [_, script] = self.script(body);
        let text = std::fs::read_to_string(&script).expect("the script");
        std::fs::write(&script, format!("#!/bin/sh\n{text}")).expect("a script");
        let path = PathBuf::from(&script).with_extension("program");
        // By another process: what this one has open for writing, if only through a child of
        // another test, cannot be run.
        let mut install = Command::new("install");
        let made = install.args(["-m", "755"]).arg(&script).arg(&path).status();
        assert!(made.expect("install").success(), "no program");
        path
    }

    /// `git-locks merge run` with `args` (split at blanks), to be given `--` and a command.
    pub fn runner(&self, args: &str) -> Command {
        self.program_call(&format!("merge run {args}"))
    }

    /// `git-locks` with `args` (split at blanks), in the repository.
    pub fn program_call(&self, args: &str) -> Command {
        let mut command = self.env.command("env");
        command
            .current_dir(&self.repo)
            .args([DEFAULT_SIGNALS, BIN])
            .args(args.split_whitespace());
        command
    }

    /// `git-locks merge run` with `args` and a script with this body.
    pub fn prepared(&self, args: &str, body: &str) -> Command {
        let mut command = self.runner(args);
        command.arg("--").args(self.script(body));
        command
    }

    /// The same, started.
    #[track_caller]
    pub fn start(&self, args: &str, body: &str) -> Running {
        Running::start(self.prepared(args, body))
    }

    /// The same, run to its end.
    #[track_caller]
    pub fn run(&self, args: &str, body: &str) -> Ended {
        self.start(args, body).wait(DEADLINE)
    }

    /// `git-locks merge run` with `args` and exactly these words as the command, to its end.
    #[track_caller]
    pub fn run_words<S: AsRef<OsStr>>(&self, args: &str, words: &[S]) -> Ended {
        let mut command = self.runner(args);
        command.arg("--").args(words);
        Running::start(command).wait(DEADLINE)
    }

    /// The lines noted so far.
    pub fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.env.path("log")).expect("the log");
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until this line is noted.
    #[track_caller]
    pub fn noted(&self, line: &str) {
        waits_for(&format!("{line:?} in the log"), DEADLINE, || {
            self.log().iter().any(|noted| noted == line).then_some(())
        });
    }

    /// The rest of the first line that begins with this word, waited for.
    #[track_caller]
    pub fn note(&self, word: &str) -> String {
        let begin = format!("{word} ");
        waits_for(&format!("{word:?} in the log"), DEADLINE, || {
            let log = self.log();
            let found = log.iter().find_map(|line| line.strip_prefix(&begin));
            found.map(str::to_owned)
        })
    }

    /// The rest of the first line that begins with this word, as a number.
    #[track_caller]
    pub fn number(&self, word: &str) -> i32 {
        self.note(word).trim().parse().expect("a number")
    }

    /// Lets the commands go that hold under this name.
    pub fn let_go(&self, name: &str) {
        std::fs::write(self.env.path(format!("go-{name}")), "").expect("a file");
    }

    /// `git-locks merge` with `args`, which prints a JSON report.
    #[track_caller]
    pub fn merge(&self, args: &str) -> Run {
        self.env.merge(&self.repo, args)
    }

    /// Lets `id` hold the lock without a process.
    #[track_caller]
    pub fn held_by(&self, id: &str) {
        self.merge(&format!("acquire --as {id} --ttl 1h")).exits(0);
    }

    /// Our record of a participant; null where there is none.
    pub fn record(&self, id: &str) -> Value {
        let text = std::fs::read(self.repo.join(".git/git-locks/merge.json"));
        let records: Value =
            serde_json::from_slice(&text.unwrap_or_default()).unwrap_or(Value::Null);
        records["participants"][id].clone()
    }

    /// Who holds the lock, waited for.
    #[track_caller]
    pub fn holder(&self) -> String {
        waits_for("a holder", DEADLINE, || {
            holder(&self.repo)
                .map(|line| line.trim_end().to_owned())
                .filter(|id| !id.is_empty())
        })
    }

    /// Another `run` that does not wait is not admitted, and leaves nothing.
    #[track_caller]
    pub fn is_taken(&self) {
        let before = waiting(&self.repo);
        let ended = self.run("--no-wait --plan-id looks", "log INTRUDER");
        assert_eq!(ended.code, Some(75), "{ended:#?}");
        assert!(!self.log().contains(&"INTRUDER".to_owned()));
        assert_eq!(waiting(&self.repo), before);
    }

    /// Nobody holds the lock, nobody waits, and nothing of a process that took part is left.
    #[track_caller]
    pub fn is_free(&self) {
        assert_eq!(holder(&self.repo), None, "a lock file is left");
        assert_eq!(waiting(&self.repo), Vec::<String>::new(), "somebody waits");
        let presence = presence_files(&self.repo);
        assert!(presence.is_empty(), "left behind: {presence:?}");
        let guard = base(&self.repo).join("merge-queue.json.lock");
        assert!(!guard.exists(), "a guard file is left");
        self.merge("check").says(&[("status", json!("free"))]);
    }

    /// The next one gets the lock at once.
    #[track_caller]
    pub fn next_is_admitted(&self) {
        let mut next = self.start("--plan-id next", "exit 0");
        let ended = next.wait(AT_ONCE);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
    }

    /// The lock file that everyone asks.
    pub fn lock_file(&self) -> PathBuf {
        lock_file(&self.repo)
    }
}

/// The exit code that a shell would see.
pub fn as_shell(ended: &Ended) -> i32 {
    ended
        .code
        .or(ended.signal.map(|signal| 128 + signal))
        .expect("it ended")
}

/// Does the same for each of `items`, all at the same time.
#[track_caller]
pub fn each<T: Copy + Send>(items: &[T], work: impl Fn(T) + Sync) {
    thread::scope(|scope| {
        for item in items {
            let work = &work;
            let item = *item;
            scope.spawn(move || work(item));
        }
    });
}

/// The first JSON value in `text`.
#[track_caller]
pub fn json_in(text: &str) -> Value {
    let from = text.find('{').map_or("", |at| &text[at..]);
    let mut values = serde_json::Deserializer::from_str(from).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => value,
        other => panic!("no JSON report ({other:?}) in {text:?}"),
    }
}

/// Runs a helper program that must succeed.
#[track_caller]
pub fn tool<S: AsRef<OsStr>>(program: &str, args: &[S]) {
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program}: {output:?}");
}

/// Sends a signal from a process that is not the parent of `pid`.
#[track_caller]
pub fn send_from_elsewhere(pid: i32, signal: i32) {
    let line = format!("kill -{signal} {pid}");
    tool("sh", &["-c", &line]);
}

/// The program that process `pid` runs.
pub fn program_of(pid: i32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// Whether process `pid` runs the program under test.
pub fn is_ours(pid: i32) -> bool {
    let ours = Path::new(BIN).canonicalize().expect("the program");
    program_of(pid).as_deref() == Some(ours.as_path())
}

/// What the open descriptors of process `pid` lead to.
pub fn descriptors(pid: i32) -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    let shown = |entry: std::fs::DirEntry| {
        let target = std::fs::read_link(entry.path()).ok()?;
        let number = entry.file_name().to_string_lossy().into_owned();
        Some((number, target.to_string_lossy().into_owned()))
    };
    entries.flatten().filter_map(shown).collect()
}

/// The process group of `pid` and the foreground group of its terminal.
#[track_caller]
pub fn groups(pid: i32) -> (i32, i32) {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let after = text.rsplit(')').next().expect("its fields");
    let fields: Vec<&str> = after.split_whitespace().collect();
    let number = |at: usize| fields[at].parse::<i32>().expect("a number");
    (number(2), number(5))
}
