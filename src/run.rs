//! The one runner: starts a command under a lock, passes signals on, keeps the lock while the
//! command runs, and says how it ended. Acquiring and letting go are the caller's.
//!
//! **Starting.** The command is started through a second process of this program, parked before the
//! lock is asked for: it becomes the command when it is told to, and ends when the runner does so
//! first. The grant records it, so that from the first moment the runner's presence and the process
//! vouch for the holder: if the runner is killed, the lock stays held until the command has ended,
//! and not because of anything that the command left behind. One that was never told to begin ends
//! with the runner, and the lock is free.
//!
//! **Signals.** The command stays in the process group of the terminal, so that what the terminal
//! sends reaches it without us; what is sent to the runner alone is passed on.
//!
//! **Losing.** The lock is looked at every second and whenever the kernel tells of a change. Where
//! it was taken away and nobody has it, it is taken again; where another has it, the command is
//! ended.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeWriter, Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use crate::error::{Error, ErrorKind, Result, reason};
use crate::exit::Exit;
use crate::sys::process::{self, ProcessId, Sight};
use crate::sys::signals::{self, Arrival, Signals};
use crate::sys::{clock, inherit};
use crate::text;
use crate::voice::Voice;
use crate::wait::{Ears as _, Senses};

/// How often the lock is looked at, in seconds.
const LOOK: f64 = 1.0;
/// How long a command may take to end once it was asked to, where nothing else is said, in seconds.
const GRACE: f64 = 10.0;
/// A signal that comes again from our parent within this time is the same one, in seconds: git
/// passes on what the terminal has sent to all.
const ECHO: f64 = 1.0;

/// The most of a command that is recorded or shown, in bytes.
const SHOWN: usize = 200;

/// A command as people are shown it.
pub fn shown(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    text::clip(&words.join(" "), SHOWN)
}

/// What looking after the lock came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It is held as before.
    Yes,
    /// It was taken away, nobody had it, and it has been taken again.
    Restored,
    /// That cannot be told just now.
    Unclear,
    /// Another holds it, or nobody does and it could not be taken again.
    Lost(Option<String>),
}

/// A lock that is held while a command runs.
pub trait Held {
    /// What people call it, as in "the lock was lost".
    fn what(&self) -> &'static str;
    /// Whether the lock looks as it was left, at a glance.
    fn looks_kept(&mut self) -> bool;
    /// Finds out, in earnest, and records that the holder lives.
    fn keep(&mut self) -> Result<Kept>;
    /// The files whose change may mean that the lock was taken away.
    fn watch(&self) -> Vec<PathBuf>;
    /// How often `keep` is due without any reason, in seconds.
    fn keep_every(&self) -> f64;
}

/// How the command is treated.
#[derive(Clone, Copy, Debug)]
pub struct Treatment {
    /// When it is asked to end, on the steady clock, in seconds.
    pub end_at: Option<f64>,
    /// How long it may go on after it was asked to end, in seconds.
    pub kill_after: Option<f64>,
    /// Whether it is ended when the lock is lost.
    pub end_on_loss: bool,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code of the command.
    pub exit: Exit,
    /// Whether the lock was lost meanwhile.
    pub lost: bool,
}

/// A process that waits to become a command; ended when dropped.
#[derive(Debug)]
pub struct Parked {
    child: Child,
    word: Option<PipeWriter>,
    /// The process, which stays the same when it becomes the command.
    pub process: ProcessId,
    kept: bool,
}

impl Parked {
    /// Starts a process that will become `command`, with `environment` added to its own.
    ///
    /// # Errors
    /// This program could not be started a second time, or it ended at once.
    pub fn start(command: &[OsString], environment: &[(&str, OsString)]) -> Result<Self> {
        let found = own_program();
        let program = found.map_err(|e| Error::io("find", Path::new("git-locks"), &e))?;
        let fail = |e: io::Error| Error::io("start", &program, &e);
        let (reader, word, number) = inherit::pipe().map_err(fail)?;
        let mut child = Command::new(&program);
        let number = number.to_string();
        child.arg0("git-locks").args(["become", &number, "--"]);
        child.args(command);
        for (name, value) in environment {
            child.env(name, value);
        }
        let mut child = signals::starting(|| child.spawn()).map_err(fail)?;
        drop(reader);
        let pid = i32::try_from(child.id()).unwrap_or_default();
        let Sight::Running(start) = process::look(pid) else {
            // It is ours to end, and to be waited for.
            let _ = child.kill();
            let _ = child.wait();
            return Err(fail(io::Error::from(io::ErrorKind::NotFound)));
        };
        Ok(Self {
            child,
            word: Some(word),
            process: ProcessId { pid, start },
            kept: false,
        })
    }

    /// Whether it has ended before it was told to begin.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Tells it to become the command now, with these variables too. Where it has ended already,
    /// its end is that of the command.
    ///
    /// # Errors
    /// It could not be told; it has been ended.
    pub fn begin(mut self, environment: &[(&str, String)]) -> Result<Running> {
        let lines = environment
            .iter()
            .map(|(name, value)| format!("{name}={value}\n"));
        let words: String = lines.chain(["\n".to_owned()]).collect();
        if let Some(mut word) = self.word.take() {
            match word.write_all(words.as_bytes()) {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    let message = format!("cannot begin the command: {}", reason(&error));
                    return Err(Error::new(ErrorKind::Io, message));
                }
                _ => {}
            }
        }
        self.kept = true;
        Ok(Running(self))
    }
}

impl Drop for Parked {
    fn drop(&mut self) {
        if !self.kept {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A command that runs; left alone when dropped.
#[derive(Debug)]
pub struct Running(Parked);

impl Running {
    /// The child process that became the command.
    pub fn child(&mut self) -> &mut Child {
        &mut self.0.child
    }
}

/// The other side of [`Parked`]: waits on the inherited descriptor `number` for the word to begin,
/// then becomes `command`. Returns only when that cannot be, or, without an error, when the word did
/// not come.
pub fn wait_and_become(number: i32, command: &[OsString]) -> Result<()> {
    // The terminal's Ctrl-\ is the runner's to answer: here it would only leave a core file.
    let mut caught = Signals::arm(&[signals::QUIT])?;
    let mut words = String::new();
    let read = inherit::take(number).and_then(|mut pipe| pipe.read_to_string(&mut words));
    let Some(lines) = read.ok().and_then(|_| words.strip_suffix("\n\n")) else {
        return Ok(());
    };
    if caught.take().iter().any(Arrival::ends) {
        let message = "interrupted before the command began";
        return Err(Error::new(ErrorKind::Interrupted(signals::QUIT), message));
    }
    let environment = lines.lines().filter_map(|line| line.split_once('='));
    let (program, arguments) = split(command)?;
    let mut command = Command::new(program);
    command.args(arguments).envs(environment);
    Err(cannot_run(program, &signals::starting(|| command.exec())))
}

/// Starts `command` with `environment` added to its own, under a lock that is another's to keep.
///
/// # Errors
/// It could not be started.
pub fn start_plainly(command: &[OsString], environment: Vec<(&str, OsString)>) -> Result<Child> {
    let (program, arguments) = split(command)?;
    let mut child = Command::new(program);
    child.args(arguments).envs(environment);
    let started = signals::starting(|| child.spawn());
    started.map_err(|error| cannot_run(program, &error))
}

/// Where this very program is, whatever has happened to its file since.
#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "the other system can fail")]
fn own_program() -> io::Result<PathBuf> {
    Ok(PathBuf::from("/proc/self/exe"))
}

#[cfg(target_os = "macos")]
fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// The program and its arguments.
fn split(command: &[OsString]) -> Result<(&OsString, &[OsString])> {
    let split = command.split_first();
    split.ok_or_else(|| Error::usage("there is no command to run"))
}

/// Why `program` could not be run, with the exit code that shells give for it.
fn cannot_run(program: &OsStr, error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::CommandNotFound,
        _ => ErrorKind::CannotExecute,
    };
    let name = text::path(Path::new(program));
    Error::new(kind, format!("cannot run {name}: {}", reason(error)))
}

/// Sees `child` through to its end.
///
/// # Errors
/// The end of the command could not be learned.
pub fn see_through(
    child: &mut Child,
    held: &mut dyn Held,
    senses: &mut Senses,
    treatment: Treatment,
    voice: &Voice,
) -> Result<Ended> {
    let mut watch = Watching::new(held, treatment, voice);
    let pid = i32::try_from(child.id()).unwrap_or(i32::MAX);
    let mut post = Post::new(pid);
    loop {
        let ended = child.try_wait();
        let ended = ended.map_err(|error| {
            let message = format!("cannot learn how the command ended: {}", reason(&error));
            Error::new(ErrorKind::Io, message)
        })?;
        if let Some(status) = ended {
            return Ok(Ended {
                exit: exit_of(status),
                lost: watch.lost,
            });
        }
        let now = clock::steady();
        for arrival in senses.signals.take() {
            if post.pass_on(arrival, now) && asks_to_end(arrival.signal) {
                watch.kill_in(treatment.kill_after, now);
            }
        }
        watch.tend(&post, now);
        // Whatever happened before we watched, the next look sees.
        if senses.watch(&watch.held.watch()) {
            watch.look_at = now;
            continue;
        }
        let span = watch.until_next(now);
        senses.sleep(span, None);
        if clock::steady() - now < span {
            watch.look_at = now;
        }
    }
}

fn asks_to_end(signal: i32) -> bool {
    signal == signals::TERM || signal == signals::HUP
}

/// The code by which a shell tells how a command ended.
fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::of_command(u8::try_from(code & 0xff).unwrap_or(u8::MAX)),
        (None, Some(signal)) => Exit::signal(signal),
        (None, None) => Exit::FATAL,
    }
}

/// Whose the lock is, in words.
pub fn whose(holder: Option<&str>) -> String {
    holder.map_or_else(
        || "nobody holds it".to_owned(),
        |holder| format!("held by {}", text::clip(holder, 200)),
    )
}

/// Passes signals on to the command.
struct Post {
    pid: i32,
    /// The signals that came last, and when.
    last: Vec<(i32, f64)>,
}

impl Post {
    fn new(pid: i32) -> Self {
        Self {
            pid,
            last: Vec::new(),
        }
    }

    /// Passes one signal on, if the command has not got it already; whether it did.
    fn pass_on(&mut self, arrival: Arrival, now: f64) -> bool {
        let signal = arrival.signal;
        if !signals::PASSED_ON.contains(&signal) {
            return false;
        }
        let before = self.last.iter().find(|(known, _)| *known == signal);
        if arrival.from_parent && before.is_some_and(|(_, at)| now - at < ECHO) {
            // Measured from the first: one that keeps coming is meant.
            return false;
        }
        self.last.retain(|(known, _)| *known != signal);
        self.last.push((signal, now));
        // The terminal sends to the whole group, and the command is in it; but that it hangs up
        // it tells the leader of the session alone.
        let hung_up = signal == signals::HUP && process::leads_session();
        if arrival.from_kernel && !hung_up {
            return false;
        }
        self.send(signal);
        true
    }

    fn send(&self, signal: i32) {
        // One that has ended already need not be told.
        let _ = signals::send(self.pid, signal);
    }
}

/// Looks after the lock and the time.
struct Watching<'a> {
    held: &'a mut dyn Held,
    treatment: Treatment,
    voice: &'a Voice,
    lost: bool,
    look_at: f64,
    keep_at: f64,
    end_at: Option<f64>,
    kill_at: Option<f64>,
    /// The last failure that was said.
    said: Option<String>,
}

impl<'a> Watching<'a> {
    fn new(held: &'a mut dyn Held, treatment: Treatment, voice: &'a Voice) -> Self {
        let now = clock::steady();
        Self {
            look_at: now + LOOK,
            keep_at: now + held.keep_every(),
            held,
            treatment,
            voice,
            lost: false,
            end_at: treatment.end_at,
            kill_at: None,
            said: None,
        }
    }

    fn kill_in(&mut self, span: Option<f64>, now: f64) {
        if let (Some(span), None) = (span, self.kill_at) {
            self.kill_at = Some(now + span);
        }
    }

    fn until_next(&self, now: f64) -> f64 {
        // A lock that is lost is not looked at any more.
        let look_at = (!self.lost).then(|| self.look_at.min(self.keep_at));
        let times = [look_at, self.end_at, self.kill_at];
        let next = times.into_iter().flatten().fold(f64::INFINITY, f64::min);
        (next - now).clamp(0.0, LOOK)
    }

    /// Does what is due.
    fn tend(&mut self, post: &Post, now: f64) {
        if self.end_at.is_some_and(|at| now >= at) {
            self.end_at = None;
            let what = self.held.what();
            self.voice.warn(format!(
                "the command has held {what} for as long as --max-hold allows; ending it"
            ));
            self.end(post, now);
        }
        if self.kill_at.is_some_and(|at| now >= at) {
            self.kill_at = None;
            self.voice.warn("the command did not end; killing it");
            post.send(signals::KILL);
        }
        if self.lost || now < self.look_at.min(self.keep_at) {
            return;
        }
        let due = now >= self.keep_at || !self.held.looks_kept();
        self.look_at = now + LOOK;
        if due {
            self.keep(post, now);
        }
    }

    fn keep(&mut self, post: &Post, now: f64) {
        match self.held.keep() {
            Ok(Kept::Yes) => self.keep_at = now + self.held.keep_every(),
            Ok(Kept::Restored) => {
                self.keep_at = now + self.held.keep_every();
                let what = self.held.what();
                self.voice.warn(format!(
                    "{what} was taken away while the command runs; nobody has it, so it is held again"
                ));
            }
            Ok(Kept::Unclear) => self.keep_at = self.keep_at.max(now + LOOK),
            Ok(Kept::Lost(holder)) => self.lose(holder.as_deref(), post, now),
            Err(error) => {
                let words = format!("cannot look after {}: {error}", self.held.what());
                if self.said.as_ref() != Some(&words) {
                    self.voice.warn(words.clone());
                    self.said = Some(words);
                }
                self.keep_at = self.keep_at.max(now + LOOK);
            }
        }
    }

    fn lose(&mut self, holder: Option<&str>, post: &Post, now: f64) {
        self.lost = true;
        let who = whose(holder);
        let then = if self.treatment.end_on_loss {
            "ending the command"
        } else {
            "the command runs on"
        };
        let what = self.held.what();
        self.voice.warn(format!(
            "{what} was lost while the command runs: now {who}; {then}"
        ));
        if self.treatment.end_on_loss {
            self.end(post, now);
        }
    }

    /// Asks the command to end, and sees to it that it does.
    fn end(&mut self, post: &Post, now: f64) {
        post.send(signals::TERM);
        self.kill_in(Some(self.treatment.kill_after.unwrap_or(GRACE)), now);
    }
}

#[cfg(test)]
mod tests;
