//! The command that waiters wait to run, and what its log tells of their turns.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The hidden first argument of what runs under the lock; then the log, a tag, how many
/// milliseconds it takes, and maybe a gate.
const UNDER_THE_LOCK: &str = "--under-the-lock";

/// The time of a clock that all processes share.
fn monotonic() -> Duration {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC);
    time.expect("a monotonic clock").into()
}

/// Runs the command of a waiter where this process was started to be one. To be called first.
pub fn under_the_lock() -> Option<ExitCode> {
    let begun = monotonic();
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (first, rest) = args.split_first()?;
    if first != UNDER_THE_LOCK {
        return None;
    }
    let code = match take_turn(begun, rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("under the lock: {error}");
            ExitCode::FAILURE
        }
    };
    Some(code)
}

/// Says when it began and ended, one write each, and waits between the two for the gate, where
/// there is one, and for as long as it takes.
fn take_turn(begun: Duration, args: &[OsString]) -> io::Result<()> {
    let [log, tag, millis, gate @ ..] = args else {
        return Err(io::Error::other("a log, a tag and a time are needed"));
    };
    let tag = tag.to_string_lossy();
    let millis = millis.to_string_lossy().parse().map_err(io::Error::other)?;
    let mut log = OpenOptions::new().append(true).open(log)?;
    log.write_all(format!("begin {} {tag}\n", begun.as_nanos()).as_bytes())?;
    if let [gate] = gate {
        File::open(gate)?.lock_shared()?;
    }
    if millis > 0 {
        thread::sleep(Duration::from_millis(millis));
    }
    let ended = monotonic();
    log.write_all(format!("end {} {tag}\n", ended.as_nanos()).as_bytes())
}

/// Adds to `command` what runs under the lock.
pub fn add_to(command: &mut Command, log: &Path, arrival: usize, takes: Duration) {
    let program = std::env::current_exe().expect("this program");
    command.arg(program).arg(UNDER_THE_LOCK).arg(log);
    command.arg(arrival.to_string());
    command.arg(takes.as_millis().to_string());
}

/// One command's time under the lock.
pub struct Turn {
    /// The holders come first, then the waiters.
    pub arrival: usize,
    pub begin: Duration,
    pub end: Duration,
}

/// All turns of a crowd, in the order in which they began.
pub struct Turns {
    pub each: Vec<Turn>,
    /// How many there should be at most at once.
    pub slots: usize,
    /// When each ended, sorted.
    ends: Vec<Duration>,
}

impl Turns {
    /// Reads a log of turns that have all ended.
    pub fn read(log: &str, slots: usize) -> Self {
        let marks = |word: &str| -> Vec<(usize, Duration)> {
            let lines = log.lines().filter_map(|line| line.strip_prefix(word));
            let marks = lines.map(|line| {
                let (time, tag) = line.split_once(' ').expect("a time and a tag");
                let nanos = time.parse().expect("nanoseconds");
                (tag.parse().expect("a number"), Duration::from_nanos(nanos))
            });
            let mut marks: Vec<_> = marks.collect();
            marks.sort_unstable();
            marks
        };
        let (begins, ends) = (marks("begin "), marks("end "));
        let tags = |marks: &[(usize, Duration)]| marks.iter().map(|m| m.0).collect::<Vec<_>>();
        assert_eq!(tags(&begins), tags(&ends), "who began and who ended");
        let both = begins.iter().zip(&ends);
        let mut each: Vec<Turn> = both
            .map(|(&(arrival, begin), &(_, end))| Turn {
                arrival,
                begin,
                end,
            })
            .collect();
        each.sort_by_key(|turn| turn.begin);
        let mut ends: Vec<Duration> = each.iter().map(|turn| turn.end).collect();
        ends.sort_unstable();
        Self { each, slots, ends }
    }

    /// Each end that gives a slot back, with the beginning that takes the slot: whoever is late
    /// by as many as there are slots. With one slot these are neighbours.
    fn handed_on(&self) -> impl Iterator<Item = (Duration, Duration)> {
        let begins = self.each.iter().skip(self.slots).map(|turn| turn.begin);
        self.ends.iter().copied().zip(begins)
    }

    /// From the end of a command to the beginning of the one that gets its slot.
    pub fn gaps(&self) -> impl Iterator<Item = Duration> {
        self.handed_on()
            .map(|(end, begin)| begin.saturating_sub(end))
    }

    /// How many began although all slots were taken.
    pub fn intruders(&self) -> usize {
        let pairs = self.handed_on();
        pairs.filter(|(end, begin)| begin < end).count()
    }

    /// Pairs of which the later one had its turn first.
    pub fn inversions(&self) -> usize {
        let earlier = |place: usize| {
            let turn = &self.each[place];
            let later = self.each[place..].iter();
            later.filter(|other| other.arrival < turn.arrival).count()
        };
        (0..self.each.len()).map(earlier).sum()
    }

    /// From the end of the first command to the end of the last.
    pub fn drained(&self) -> Duration {
        let (first, last) = (self.ends.first(), self.ends.last());
        let (first, last) = first.zip(last).expect("there were turns");
        last.saturating_sub(*first)
    }
}
