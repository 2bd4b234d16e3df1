//! Processes that wait for the lock and hold it: started, watched, signalled, and never left
//! behind; a gate that keeps the lock held until the test says so; a terminal.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};

use super::fixture::{holder, waiting};
use super::{BIN, Call, DEADLINE, Env, eventually};

/// A running process with all that it starts: killed and reaped when dropped.
///
/// It leads a process group of its own, and what is left of the group dies with it. Its outputs
/// go to files, which can be read while it runs and never fill up.
pub struct Running {
    child: Child,
    pid: i32,
    reaped: bool,
    orphans: bool,
    out: tempfile::TempPath,
    err: tempfile::TempPath,
}

/// How a process ended, and what it said.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that did.
    pub signal: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ended {
    /// Fails the test unless it ended with `code`.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "unexpected end of {self:#?}");
        self
    }

    /// Fails the test unless `signal` ended it.
    #[track_caller]
    pub fn dies_of(self, signal: i32) -> Self {
        assert_eq!(self.signal, Some(signal), "unexpected end of {self:#?}");
        self
    }
}

impl Running {
    /// Starts `command`, whose standard input is as the command has it.
    #[track_caller]
    pub fn start(command: Command) -> Self {
        Self::prepare(command, None)
    }

    /// The same, with its standard output going elsewhere.
    #[track_caller]
    pub fn start_into(command: Command, stdout: Stdio) -> Self {
        Self::prepare(command, Some(stdout))
    }

    fn prepare(mut command: Command, stdout: Option<Stdio>) -> Self {
        let ((out, out_file), (err, err_file)) = (output_file(), output_file());
        command
            .stdout(stdout.unwrap_or_else(|| Stdio::from(out_file)))
            .stderr(err_file)
            .process_group(0);
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let pid = i32::try_from(child.id()).expect("a pid");
        Self {
            child,
            pid,
            reaped: false,
            orphans: false,
            out,
            err,
        }
    }

    /// Its process id, and that of its group.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// What it has written to standard output so far.
    pub fn stdout(&self) -> String {
        content(&self.out)
    }

    /// What it has written to standard error so far.
    pub fn stderr(&self) -> String {
        content(&self.err)
    }

    /// Waits until standard error contains `words`.
    #[track_caller]
    pub fn says(&self, words: &str) {
        waits_for(&format!("{words:?} on standard error"), DEADLINE, || {
            self.stderr().contains(words).then_some(())
        });
    }

    /// Its standard input, if that is a pipe and was not taken before.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Sends `signal` to the process alone.
    #[track_caller]
    pub fn signal(&self, signal: i32) {
        assert!(!self.reaped, "it has ended");
        send(self.pid, signal);
    }

    /// Sends `signal` to the whole process group, as a terminal does.
    #[track_caller]
    pub fn signal_group(&self, signal: i32) {
        assert!(!self.reaped, "it has ended");
        let signal = Signal::try_from(signal).expect("a signal");
        killpg(Pid::from_raw(self.pid), signal).expect("the group is there");
    }

    /// Whether the process itself still runs.
    pub fn is_alive(&mut self) -> bool {
        self.poll().is_none()
    }

    /// Waits for its end. Fails the test when it takes longer than `deadline`.
    #[track_caller]
    pub fn wait(&mut self, deadline: Duration) -> Ended {
        let mut status = None;
        let end = std::time::Instant::now() + deadline;
        while status.is_none() {
            status = self.poll();
            assert!(
                status.is_some() || std::time::Instant::now() < end,
                "still running after {deadline:?}; it said {:?} and {:?}",
                self.stdout(),
                self.stderr()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        let status = status.expect("it ended");
        Ended {
            code: status.code(),
            signal: status.signal(),
            stdout: self.stdout(),
            stderr: self.stderr(),
        }
    }

    /// Kills the process alone, not what it started, and reaps it.
    #[track_caller]
    pub fn kill(&mut self) -> Ended {
        self.signal(Signal::SIGKILL as i32);
        self.wait(DEADLINE)
    }

    fn poll(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().expect("it is ours");
        if status.is_some() && !self.reaped {
            self.reaped = true;
            self.orphans = killpg(Pid::from_raw(self.pid), None).is_ok();
        }
        status
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Once nobody was left in the group, its number may be another's.
        if !self.reaped || self.orphans {
            let _ = killpg(Pid::from_raw(self.pid), Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}

fn output_file() -> (tempfile::TempPath, File) {
    let file = tempfile::Builder::new()
        .prefix("git-locks-test-output-")
        .append(true)
        .tempfile()
        .expect("a file for its output");
    let (file, path) = file.into_parts();
    (path, file)
}

fn content(path: &Path) -> String {
    let bytes = std::fs::read(path).expect("its output");
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Call {
    /// Adds `--` and a command.
    pub fn cmd<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.command.arg("--").args(words);
        self
    }

    /// Removes an environment variable.
    pub fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Starts it, its outputs going to files.
    #[track_caller]
    pub fn start(self) -> Running {
        Running::start(self.command)
    }

    /// The command as it stands, to be wrapped or changed.
    pub fn into_command(self) -> Command {
        self.command
    }
}

/// What holders do: a script that notes when it begins and ends, and in between waits to be let
/// go. Nobody is kept any longer when this is dropped.
pub struct Gate {
    dir: PathBuf,
    fifo: Option<File>,
}

/// What a holder noted when it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The name it was given.
    pub name: String,
    /// Its process id.
    pub pid: i32,
    /// Its `GIT_LOCKS_FENCE`; empty without one.
    pub fence: String,
}

static GATES: AtomicU32 = AtomicU32::new(0);

impl Gate {
    /// A gate that is closed.
    pub fn new(env: &Env) -> Self {
        let number = GATES.fetch_add(1, Ordering::SeqCst);
        let dir = env.mkdir(format!("gate-{number}"));
        let at = dir.display();
        // One `echo` is one write, and whoever appends does so at the end.
        let script = format!(
            "echo \"begin $1 $$ $GIT_LOCKS_FENCE\" >>'{at}/log'\n\
             read x 2>/dev/null <'{at}/fifo'\n\
             echo \"end $1\" >>'{at}/log'\n\
             exit \"${{2:-0}}\"\n"
        );
        std::fs::write(dir.join("script"), script).expect("a script");
        std::fs::write(dir.join("log"), "").expect("a log");
        mkfifo(&dir.join("fifo"), Mode::S_IRUSR | Mode::S_IWUSR).expect("a FIFO");
        // Open in both directions, so that nobody is kept from opening it.
        let fifo = OpenOptions::new()
            .read(true)
            .write(true)
            .open(dir.join("fifo"))
            .expect("the FIFO");
        Self {
            dir,
            fifo: Some(fifo),
        }
    }

    /// The command of a holder with this name.
    pub fn cmd(&self, name: &str) -> [OsString; 3] {
        let script = self.dir.join("script").into_os_string();
        [OsString::from("sh"), script, OsString::from(name)]
    }

    /// The same as one line for a shell.
    pub fn line(&self, name: &str) -> String {
        format!("sh '{}' {name}", self.dir.join("script").display())
    }

    /// Lets one holder go: the one that is inside, or the next that comes.
    pub fn let_go(&self) {
        let mut fifo = self.fifo.as_ref().expect("a gate that is not open");
        fifo.write_all(b"\n").expect("the FIFO takes a byte");
    }

    /// Lets everybody go, now and later.
    pub fn open(&mut self) {
        // In this order: whoever does not find the FIFO goes on, whoever reads from it too.
        let _ = std::fs::remove_file(self.dir.join("fifo"));
        self.fifo = None;
    }

    /// The lines noted so far.
    pub fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.dir.join("log")).expect("the log");
        text.lines().map(str::to_owned).collect()
    }

    /// Who has begun so far, in order.
    pub fn begun(&self) -> Vec<Begun> {
        let begun = |line: &String| {
            let mut words = line.strip_prefix("begin ")?.split(' ');
            Some(Begun {
                name: words.next()?.to_owned(),
                pid: words.next()?.parse().ok()?,
                fence: words.next().unwrap_or_default().to_owned(),
            })
        };
        self.log().iter().filter_map(begun).collect()
    }

    /// The names of those who have begun so far, in order.
    pub fn order(&self) -> Vec<String> {
        self.begun().into_iter().map(|begun| begun.name).collect()
    }

    /// Waits until the holder with this name has begun.
    #[track_caller]
    pub fn wait_begun(&self, name: &str) -> Begun {
        waits_for(&format!("{name} to begin"), DEADLINE, || {
            self.begun().into_iter().find(|begun| begun.name == name)
        })
    }

    /// Whether the holder with this name has ended by itself.
    pub fn has_ended(&self, name: &str) -> bool {
        self.log().contains(&format!("end {name}"))
    }

    /// Fails the test if two were inside at once. Those in `killed` end without a note, at the
    /// latest when the next one begins.
    #[track_caller]
    pub fn one_at_a_time(&self, killed: &[&str]) {
        let log = self.log();
        let mut inside: Option<&str> = None;
        for line in &log {
            let mut words = line.split(' ');
            let (what, name) = (words.next(), words.next().unwrap_or_default());
            if what == Some("begin") {
                let before = inside.filter(|name| !killed.contains(name));
                assert_eq!(before, None, "{name} began beside it: {log:#?}");
                inside = Some(name);
            } else {
                assert_eq!(inside, Some(name), "{name} ended out of turn: {log:#?}");
                inside = None;
            }
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

/// A shell on a terminal of its own, of 24 rows and 80 columns: `script` keeps the other end.
pub struct Terminal {
    /// The process at the other end; its standard output is what the terminal shows.
    pub script: Running,
    keys: Option<ChildStdin>,
}

impl Terminal {
    /// Runs a line of shell there, in `dir`. `script` must be on the `PATH`.
    #[track_caller]
    pub fn start(env: &Env, dir: &Path, line: &str) -> Self {
        let mut command = env.command("script");
        command
            .current_dir(dir)
            .env("TERM", "xterm")
            .args(["-q", "-e", "-f", "-c"])
            .arg(format!("stty rows 24 cols 80; {line}"))
            .arg("/dev/null")
            .stdin(Stdio::piped());
        let mut script = Running::start(command);
        let keys = script.take_stdin();
        Self { script, keys }
    }

    /// Presses keys: `\x03` is Ctrl-C, `\x1c` is Ctrl-\, `\x1a` is Ctrl-Z.
    #[track_caller]
    pub fn types(&mut self, keys: &str) {
        let pipe = self.keys.as_mut().expect("a keyboard");
        pipe.write_all(keys.as_bytes()).expect("it takes keys");
        pipe.flush().expect("it takes keys");
    }

    /// Everything that was written to it so far.
    pub fn raw(&self) -> String {
        self.script.stdout()
    }

    /// The lines that can be read on it now, without blanks at their ends.
    pub fn screen(&self) -> Vec<String> {
        screen(&self.raw())
    }

    /// Waits until `words` were written to it.
    #[track_caller]
    pub fn shows(&self, words: &str) {
        waits_for(&format!("{words:?} on the terminal"), DEADLINE, || {
            self.raw().contains(words).then_some(())
        });
    }

    /// Waits for the end of the shell, whose exit code this is.
    #[track_caller]
    pub fn wait(&mut self, deadline: Duration) -> Ended {
        self.script.wait(deadline)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // They are in a session of their own, out of reach of the other end's process group.
        if self.script.is_alive() {
            for pid in descendants(self.script.pid()) {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    }
}

/// A process that this test knows by its id alone: killed when this is dropped, unless another
/// has taken the id since.
pub struct Doomed {
    pid: i32,
    started: Option<String>,
}

impl Doomed {
    /// Takes charge of a process.
    pub fn new(pid: i32) -> Self {
        let started = stat(pid).get(19).cloned();
        Self { pid, started }
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether it still runs.
    pub fn runs(&self) -> bool {
        runs(self.pid) && stat(self.pid).get(19) == self.started.as_ref()
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        if self.runs() {
            let _ = kill(Pid::from_raw(self.pid), Signal::SIGKILL);
        }
    }
}

/// What a terminal shows after `text`, line by line: carriage returns, erasing, and titles that
/// are set are understood, colours are left out. It does not wrap.
pub fn screen(text: &str) -> Vec<String> {
    let mut lines = vec![Vec::new()];
    let (mut row, mut column) = (0_usize, 0_usize);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let line: &mut Vec<char> = &mut lines[row];
        match c {
            '\r' => column = 0,
            '\n' => {
                row += 1;
                if row == lines.len() {
                    lines.push(Vec::new());
                }
            }
            '\u{8}' => column = column.saturating_sub(1),
            '\u{7}' => {}
            '\u{1b}' => match rest.next() {
                Some('[') => {
                    let mut argument = String::new();
                    let mut end = ' ';
                    for c in rest.by_ref() {
                        if ('@'..='~').contains(&c) {
                            end = c;
                            break;
                        }
                        argument.push(c);
                    }
                    match (end, argument.as_str()) {
                        ('K', "" | "0") => line.truncate(column),
                        ('K', "2") => line.clear(),
                        ('A', count) => {
                            row = row.saturating_sub(count.parse().unwrap_or(1));
                        }
                        ('G', place) => column = place.parse::<usize>().unwrap_or(1) - 1,
                        _ => {}
                    }
                }
                Some(']') => {
                    // A title: up to a bell or a string terminator.
                    while let Some(c) = rest.next() {
                        if c == '\u{7}' || (c == '\u{1b}' && rest.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                _ => {}
            },
            other => {
                if line.len() <= column {
                    line.resize(column + 1, ' ');
                }
                line[column] = other;
                column += 1;
            }
        }
    }
    let shown = |line: &Vec<char>| line.iter().collect::<String>().trim_end().to_owned();
    let mut shown: Vec<String> = lines.iter().map(shown).collect();
    while shown.last().is_some_and(String::is_empty) {
        shown.pop();
    }
    shown
}

/// Sends `signal` to a process.
#[track_caller]
pub fn send(pid: i32, signal: i32) {
    let signal = Signal::try_from(signal).expect("a signal");
    kill(Pid::from_raw(pid), signal).expect("the process is there");
}

/// Polls until there is something; fails the test at the deadline and says what it waited for.
#[track_caller]
pub fn waits_for<T>(what: &str, deadline: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let end = std::time::Instant::now() + deadline;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            std::time::Instant::now() < end,
            "waited {deadline:?} in vain for {what}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The ids in the queue besides the holder's, in order.
pub fn waiters(main: &Path) -> Vec<String> {
    let holder = holder(main).unwrap_or_default();
    let mut ids = waiting(main);
    ids.retain(|id| id != holder.trim_end());
    ids
}

/// Waits until exactly `count` stand in the queue besides the holder.
#[track_caller]
pub fn wait_until_queued(main: &Path, count: usize) {
    let end = std::time::Instant::now() + DEADLINE;
    loop {
        let seen = waiters(main);
        if seen.len() == count {
            return;
        }
        assert!(
            std::time::Instant::now() < end,
            "{count} should wait, but these do: {seen:?}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until the lock file names `id`.
#[track_caller]
pub fn wait_until_held_by(main: &Path, id: &str) {
    waits_for(&format!("{id} to hold the lock"), DEADLINE, || {
        (holder(main).as_deref() == Some(format!("{id}\n").as_str())).then_some(())
    });
}

/// Waits until nobody holds the lock.
#[track_caller]
pub fn wait_until_free(main: &Path) {
    waits_for("the lock to be free", DEADLINE, || {
        holder(main).is_none().then_some(())
    });
}

/// The children of a process now, in order of their start.
pub fn children(pid: i32) -> Vec<i32> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let list = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let pids = text.split_whitespace().filter_map(|pid| pid.parse().ok());
        pids.collect::<Vec<i32>>()
    };
    tasks.flatten().flat_map(list).collect()
}

/// The children of a process, theirs, and so on.
pub fn descendants(pid: i32) -> Vec<i32> {
    let mut found = children(pid);
    let mut at = 0;
    while at < found.len() {
        found.extend(children(found[at]));
        at += 1;
    }
    found
}

/// The first child of a process, waited for.
#[track_caller]
pub fn child_of(pid: i32) -> i32 {
    waits_for(&format!("a child of {pid}"), DEADLINE, || {
        children(pid).first().copied()
    })
}

/// The fields of `/proc/PID/stat` after the name: the first is the state.
fn stat(pid: i32) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after = text.rsplit(')').next().unwrap_or_default();
    after.split_whitespace().map(str::to_owned).collect()
}

/// The state of a process as `/proc` has it: `S` sleeps, `T` is stopped, `Z` is a zombie. None
/// when it is gone.
pub fn state(pid: i32) -> Option<char> {
    stat(pid).first().and_then(|state| state.chars().next())
}

/// Whether a process is there and not a zombie.
pub fn runs(pid: i32) -> bool {
    !matches!(state(pid), None | Some('Z' | 'X'))
}

/// The processor time of a process, in clock ticks.
#[track_caller]
pub fn ticks(pid: i32) -> u64 {
    let fields = stat(pid);
    let number = |at: usize| fields[at].parse::<u64>().expect("a number");
    number(11) + number(12)
}

/// `<common dir>/git-locks/merge.guard` of an ordinary repository.
pub fn guard_path(main: &Path) -> PathBuf {
    main.join(".git/git-locks/merge.guard")
}

/// Takes the kernel lock of the guard; it is free again when the file is dropped.
#[track_caller]
pub fn take_guard(main: &Path) -> File {
    take_kernel_lock(&guard_path(main))
}

/// Takes the kernel lock on a file, which is made where it is missing; it is free again when the
/// file is dropped.
#[track_caller]
pub fn take_kernel_lock(path: &Path) -> File {
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("our directory");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path)
        .expect("the guard");
    eventually(DEADLINE, || file.try_lock().is_ok());
    file
}

/// A process that stopped while it has the kernel lock of the guard. `flock` must be on the
/// `PATH`.
#[track_caller]
pub fn stopped_in_guard(env: &Env, main: &Path) -> Running {
    drop(take_guard(main));
    let mut command = env.command("sh");
    command
        .args(["-c", "exec 9<>\"$1\"; flock -x 9; kill -STOP $$", "sh"])
        .arg(guard_path(main));
    let stopped = Running::start(command);
    eventually(DEADLINE, || state(stopped.pid()) == Some('T'));
    stopped
}

/// The presence files there are, and what stands for nobody beside them: a bell whose presence is
/// gone is a leftover.
pub fn presence_files(main: &Path) -> Vec<PathBuf> {
    presence_files_in(&main.join(".git/git-locks/presence"))
}

/// The same in any directory of presence files.
pub fn presence_files_in(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let belongs = |path: &PathBuf| {
        let is_bell = path
            .extension()
            .is_some_and(|extension| extension == "bell");
        is_bell && path.with_extension("").exists()
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = paths.filter(|path| !belongs(path)).collect();
    found.sort();
    found
}

/// The records of the lock.
#[track_caller]
pub fn records(main: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(main.join(".git/git-locks/merge.json")).expect("records");
    serde_json::from_str(&text).expect("JSON")
}

/// Changes the records inside the kernel lock of the guard, as nobody but a test does.
#[track_caller]
pub fn edit_records(main: &Path, edit: impl FnOnce(&mut serde_json::Value)) {
    let _guard = take_guard(main);
    edit_records_inside(main, edit);
}

/// The same, where the caller is inside the guard.
#[track_caller]
pub fn edit_records_inside(main: &Path, edit: impl FnOnce(&mut serde_json::Value)) {
    let mut all = records(main);
    edit(&mut all);
    let path = main.join(".git/git-locks/merge.json");
    let temporary = path.with_extension("json.test");
    std::fs::write(&temporary, all.to_string()).expect("new records");
    std::fs::rename(&temporary, &path).expect("the records");
}

/// The program between single quotes, for a line of shell.
pub fn quoted_bin() -> String {
    format!("'{BIN}'")
}
