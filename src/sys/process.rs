//! Whether a process runs. A process is its number *and* its start time: numbers are reused.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::process::parent_id;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::{Pid, getpid, getsid};
#[cfg(target_os = "linux")]
use nix::unistd::{SysconfVar, sysconf};
use serde::{Deserialize, Serialize};

/// Numbers that are reused meanwhile could make a circle of parents: it is not followed for ever.
const MOST_ANCESTORS: usize = 1024;

/// A process, as one pid namespace of one boot names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// The number.
    pub pid: i32,
    /// When it started, in the kernel's own unit; compared, never computed with.
    pub start: String,
}

/// What can be seen of a process number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// A process of that number runs and started at this time.
    Running(String),
    /// It has ended: nothing of that number, or a zombie.
    Ended,
    /// It may be there, but we are not shown it.
    Hidden,
}

/// This process; `None` where its start time cannot be read.
pub fn me() -> Option<ProcessId> {
    let pid = i32::try_from(std::process::id()).ok()?;
    match look(pid) {
        Sight::Running(start) => Some(ProcessId { pid, start }),
        Sight::Ended | Sight::Hidden => None,
    }
}

/// Whether this process leads its session: a terminal that hangs up tells it alone.
pub fn leads_session() -> bool {
    getsid(None).is_ok_and(|session| session == getpid())
}

/// What can be seen of process `pid` from here.
pub fn look(pid: i32) -> Sight {
    if pid <= 0 {
        return Sight::Ended;
    }
    match facts(pid) {
        Some(Facts { zombie: true, .. }) => Sight::Ended,
        Some(Facts { start, .. }) => Sight::Running(start),
        // No entry proves nothing by itself: /proc may hide other users' processes.
        None => match kill(Pid::from_raw(pid), None) {
            Err(Errno::ESRCH) => Sight::Ended,
            _ => Sight::Hidden,
        },
    }
}

/// This process's parent, its parent, and so on, nearest first.
///
/// The list may be short: it ends at the first one that cannot be seen, as where `/proc` hides
/// other users' processes, or where the parent is in an outer pid namespace. One that ends
/// meanwhile ends the list too.
pub fn ancestors() -> Vec<ProcessId> {
    let mut found = Vec::new();
    let mut next = i32::try_from(parent_id()).unwrap_or(0);
    while next > 0 && found.len() < MOST_ANCESTORS {
        let Some(facts) = facts(next).filter(|facts| !facts.zombie) else {
            break;
        };
        found.push(ProcessId {
            pid: next,
            start: facts.start,
        });
        next = facts.parent;
    }
    found
}

/// When process `pid`, which runs, has started, in seconds since the Unix epoch; `None` where that cannot
/// be told. For people and for records that others read: the clock may have been set since.
pub fn started_at(pid: i32) -> Option<f64> {
    facts(pid).and_then(|facts| epoch_seconds(&facts.start))
}

/// A start as [`Facts`] have it, in seconds since the Unix epoch.
#[cfg(target_os = "linux")]
fn epoch_seconds(start: &str) -> Option<f64> {
    let ticks: f64 = start.parse().ok()?;
    let a_second = sysconf(SysconfVar::CLK_TCK).ok()??;
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let boot = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    let boot: f64 = boot.trim().parse().ok()?;
    #[expect(clippy::cast_precision_loss, reason = "some hundred")]
    let a_second = a_second as f64;
    Some(boot + ticks / a_second)
}

#[cfg(target_os = "macos")]
fn epoch_seconds(start: &str) -> Option<f64> {
    let time = chrono::NaiveDateTime::parse_from_str(start, "%a %b %e %H:%M:%S %Y").ok()?;
    #[expect(clippy::cast_precision_loss, reason = "whole seconds")]
    let seconds = time.and_utc().timestamp() as f64;
    Some(seconds)
}

struct Facts {
    zombie: bool,
    /// 0 where it has none, or none that can be seen.
    parent: i32,
    start: String,
}

#[cfg(target_os = "linux")]
fn facts(pid: i32) -> Option<Facts> {
    if !proc_is_ours() {
        return None;
    }
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&stat)
}

/// Whether `/proc` is that of our pid namespace: another's shows other processes under the same numbers.
#[cfg(target_os = "linux")]
pub(super) fn proc_is_ours() -> bool {
    let own = std::fs::read_link("/proc/self").ok();
    let own = own.as_deref().and_then(std::path::Path::to_str);
    own.is_some_and(|own| own.parse() == Ok(std::process::id()))
}

/// `stat` of proc(5): the command name may hold anything, so fields count from the last `)`.
#[cfg(target_os = "linux")]
fn parse_stat(stat: &[u8]) -> Option<Facts> {
    let after = stat.iter().rposition(|&byte| byte == b')')? + 1;
    let fields: Vec<&str> = std::str::from_utf8(&stat[after..])
        .ok()?
        .split_ascii_whitespace()
        .collect();
    let state = *fields.first()?;
    let parent = fields.get(1)?.parse().ok()?;
    let start = *fields.get(19)?;
    Some(Facts {
        zombie: matches!(state, "Z" | "X" | "x"),
        parent,
        start: start.to_owned(),
    })
}

#[cfg(target_os = "macos")]
fn facts(pid: i32) -> Option<Facts> {
    let output = std::process::Command::new("/bin/ps")
        .args(["-o", "ppid=,stat=,lstart=", "-p", &pid.to_string()])
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (parent, rest) = text.trim().split_once(char::is_whitespace)?;
    let (state, start) = rest.trim_start().split_once(char::is_whitespace)?;
    Some(Facts {
        parent: parent.parse().ok()?,
        zombie: state.starts_with('Z'),
        start: start.trim().to_owned(),
    })
}

/// The words of the command line of process `pid`, where they can be read.
#[cfg(target_os = "linux")]
pub fn arguments(pid: i32) -> Option<Vec<OsString>> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = bytes.strip_suffix(b"\0")?.split(|&byte| byte == 0);
    Some(
        words
            .map(|word| OsString::from_vec(word.to_vec()))
            .collect(),
    )
}

/// The words of the command line of process `pid`, where they can be read; this system tells them
/// only as one line, so that a word with blanks in it becomes several.
#[cfg(target_os = "macos")]
pub fn arguments(pid: i32) -> Option<Vec<OsString>> {
    let output = std::process::Command::new("/bin/ps")
        .args(["-ww", "-o", "args=", "-p", &pid.to_string()])
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    let words = output.stdout.split(u8::is_ascii_whitespace);
    let words = words.filter(|word| !word.is_empty());
    let words: Vec<_> = words
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect();
    (!words.is_empty()).then_some(words)
}

/// The command line of process `pid`, where it can be read.
#[cfg(target_os = "linux")]
pub fn command_line(pid: i32) -> Option<String> {
    let words = arguments(pid)?;
    let words = words.iter().filter(|word| !word.is_empty());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The command line of process `pid`: this system needs a privilege to tell.
#[cfg(target_os = "macos")]
pub fn command_line(_pid: i32) -> Option<String> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_has_a_start() {
        let me = me().expect("own /proc entry");
        assert_eq!(look(me.pid), Sight::Running(me.start));
    }

    #[test]
    fn a_process_started_when_it_was_started() {
        let before = crate::sys::clock::wall();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("a process");
        let started = started_at(i32::try_from(child.id()).expect("a pid"));
        let after = crate::sys::clock::wall();
        child.kill().expect("killed");
        child.wait().expect("reaped");
        let started = started.expect("it ran");
        // The kernel says when it booted in whole seconds.
        assert!((before - 1.1..=after + 1.1).contains(&started), "{started}");
        assert_eq!(started_at(i32::MAX), None);
    }

    #[test]
    fn the_words_of_a_command_line_are_told_apart() {
        let mut child = std::process::Command::new("cat")
            .args(["-", "a b", ""])
            .stdin(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("a process");
        let pid = i32::try_from(child.id()).expect("a pid");
        // It is there a moment before its words are.
        let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while arguments(pid).is_none() && std::time::Instant::now() < end {
            std::thread::yield_now();
        }
        let (words, line) = (arguments(pid), command_line(pid));
        child.kill().expect("killed");
        child.wait().expect("reaped");
        // An empty word is a word, but nothing to show.
        let expected = ["cat", "-", "a b", ""].map(OsString::from);
        assert_eq!(words, Some(expected.into()));
        assert_eq!(line.as_deref(), Some("cat - a b"));
        assert_eq!(arguments(i32::MAX), None);
    }

    #[test]
    fn numbers_that_are_no_process_have_ended() {
        assert_eq!(look(0), Sight::Ended);
        assert_eq!(look(-7), Sight::Ended);
        assert_eq!(look(i32::MAX), Sight::Ended);
    }

    #[test]
    fn a_command_name_cannot_forge_the_fields() {
        let forged = b"7 (a) Z 1 2) S 1 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 4242 9 9";
        let facts = parse_stat(forged).expect("well formed");
        assert!(!facts.zombie);
        assert_eq!(facts.parent, 1);
        assert_eq!(facts.start, "4242");
    }

    #[test]
    fn ancestors_are_a_chain_of_parents_from_ours() {
        let chain = ancestors();
        let parent = i32::try_from(parent_id()).expect("a pid");
        assert_eq!(chain.first().map(|process| process.pid), Some(parent));
        for pair in chain.windows(2) {
            let facts = facts(pair[0].pid).expect("it runs");
            assert_eq!(facts.parent, pair[1].pid, "{chain:?}");
        }
        for process in &chain {
            assert_eq!(look(process.pid), Sight::Running(process.start.clone()));
        }
        assert!(!chain.contains(&me().expect("own /proc entry")));
        // To the end, unless something on the way is hidden from us.
        let last = chain.last().expect("a parent");
        let above = facts(last.pid).expect("it runs").parent;
        assert!(above == 0 || facts(above).is_none(), "{chain:?}");
    }

    #[test]
    fn a_torn_stat_is_no_fact() {
        assert!(parse_stat(b"7 (a) S 1").is_none());
        let odd_parent = b"7 (a) S x 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 4242 9 9";
        assert!(parse_stat(odd_parent).is_none());
        assert!(parse_stat(b"").is_none());
    }
}
