//! Whether a process runs. A process is its number *and* its start time: numbers are reused.

use std::fs::File;
use std::os::unix::process::parent_id;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::{Pid, getpid, getsid};
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

struct Facts {
    zombie: bool,
    /// 0 where it has none, or none that can be seen.
    parent: i32,
    start: String,
}

#[cfg(target_os = "linux")]
fn facts(pid: i32) -> Option<Facts> {
    // A /proc of another pid namespace shows other processes under the same numbers.
    let own = std::fs::read_link("/proc/self").ok()?;
    if own.to_str()?.parse() != Ok(std::process::id()) {
        return None;
    }
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&stat)
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

/// The process that holds a `flock` on `file`, where the kernel tells.
#[cfg(target_os = "linux")]
pub fn lock_owner(file: &File) -> Option<i32> {
    use std::os::unix::fs::MetadataExt as _;
    let inode = file.metadata().ok()?.ino();
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        // `1: FLOCK  ADVISORY  WRITE 1234 08:02:131073 0 EOF`
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (kind, pid, place) = (fields.get(1)?, fields.get(4)?, fields.get(5)?);
        let same = place.rsplit(':').next()?.parse() == Ok(inode);
        (*kind == "FLOCK" && same)
            .then(|| pid.parse().ok())
            .flatten()
    })
}

/// The process that holds a `flock` on `file`: this system does not tell.
#[cfg(target_os = "macos")]
pub fn lock_owner(_file: &File) -> Option<i32> {
    None
}

/// The command line of process `pid`, where it can be read.
#[cfg(target_os = "linux")]
pub fn command_line(pid: i32) -> Option<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words: Vec<_> = bytes
        .split(|&byte| byte == 0)
        .filter(|word| !word.is_empty())
        .map(String::from_utf8_lossy)
        .collect();
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
