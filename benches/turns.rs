//! What taking turns costs, beside `flock` and `heavy`: see `doc/benchmarks.md`.
//!
//! The same code measures all competitors. A holder keeps the lock behind a gate, waiters arrive
//! one after another, the gate opens, and the command of each waiter writes down when it begins
//! and ends. That command is this program again. Slowness never fails; two commands at once, a
//! waiter that fails and an order of ours that is not the order of arrival do.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark talks, fails by panicking, and lays out files as others do"
)]

mod common;

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use nix::sys::signal::{Signal, killpg};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use common::hermetic::{BIN, fixture};
use common::{Aim, Contender, FLOCK, Programs, Row, Scene, compete};

/// The hidden first argument of what runs under the lock; then the log, a tag and maybe a gate.
const UNDER_THE_LOCK: &str = "--under-the-lock";

/// How many waiters are looked at while nothing happens, and are then drained.
const STANDING: usize = 100;

/// How many waiters show whether the order of arrival is kept.
const ORDERED: usize = 500;

/// How long the standing waiters are looked at.
const IDLE: Duration = Duration::from_secs(10);

/// No wait for a single thing takes longer than this.
const DEADLINE: Duration = Duration::from_secs(60);

/// A competitor that has spent this on the hand-offs of one group starts no further round.
const BUDGET: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let begun = monotonic();
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some((first, rest)) = args.split_first()
        && first == UNDER_THE_LOCK
    {
        return match under_the_lock(begun, rest) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("under the lock: {error}");
                ExitCode::FAILURE
            }
        };
    }
    // `cargo test --benches` and `--all-targets` run this too, without the word: not asked for.
    if !args.iter().any(|arg| arg == "--bench") {
        return ExitCode::SUCCESS;
    }
    if !Path::new("/proc/locks").is_file() {
        eprintln!("this benchmark reads /proc as Linux has it: nothing was measured");
        return ExitCode::FAILURE;
    }
    let started = Instant::now();
    let programs = Programs::find();
    let competitors = competitors(&programs);
    let mut table = Table::new(&competitors);
    whole_processes(&programs, &mut table);
    let title = "hand-off from one command to the next, with";
    hand_offs(&format!("{title} 1 waiter"), &programs, &mut table, ONE);
    hand_offs(&format!("{title} 10 waiters"), &programs, &mut table, TEN);
    hand_offs(&format!("{title} 200 waiters"), &programs, &mut table, MANY);
    standing(&programs, &mut table);
    let inverted = order(&programs, &mut table);
    table.print();
    println!("\n{:.0} s in all", started.elapsed().as_secs_f64());
    if inverted > 0 {
        eprintln!("git-locks did not keep the order of arrival: {inverted} pairs");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// The time of a clock that all processes share.
fn monotonic() -> Duration {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC);
    time.expect("a monotonic clock").into()
}

/// What a waiter waits to run: says when it began and ended, one write each, and waits between
/// the two for the gate, where there is one.
fn under_the_lock(begun: Duration, args: &[OsString]) -> io::Result<()> {
    let [log, tag, gate @ ..] = args else {
        return Err(io::Error::other("a log and a tag are needed"));
    };
    let tag = tag.to_string_lossy();
    let mut log = OpenOptions::new().append(true).open(log)?;
    log.write_all(format!("begin {} {tag}\n", begun.as_nanos()).as_bytes())?;
    if let [gate] = gate {
        File::open(gate)?.lock_shared()?;
    }
    let ended = monotonic();
    log.write_all(format!("end {} {tag}\n", ended.as_nanos()).as_bytes())
}

/// A program that makes commands take turns.
trait Competitor {
    /// Its name in the table.
    fn name(&self) -> &'static str;

    /// Its name and version as it gives them.
    fn version(&self) -> String;

    /// Waits for the one lock of `scene`, runs the command that is added to it, and lets go.
    fn waiter(&self, scene: &Scene<'_>, id: &str) -> Command;

    /// Whether `member` stands in line.
    fn stands(&self, scene: &Scene<'_>, member: &Member) -> bool;
}

/// The competitors that are here, ours first; says which are not.
fn competitors(programs: &Programs) -> Vec<Box<dyn Competitor>> {
    let mut found: Vec<Box<dyn Competitor>> = vec![Box::new(GitLocks)];
    match &programs.flock {
        Some(program) => found.push(Box::new(Flock(program.clone()))),
        None => println!("flock (util-linux): not installed"),
    }
    match &programs.heavy {
        Some(program) => {
            let heavy = Heavy(program.clone());
            if heavy.version().starts_with("heavy ") {
                found.push(Box::new(heavy));
            } else {
                println!("heavy: not the crate of that name, left out");
            }
        }
        None => println!("heavy: not installed"),
    }
    found
}

struct GitLocks;

impl Competitor for GitLocks {
    fn name(&self) -> &'static str {
        "git-locks"
    }

    fn version(&self) -> String {
        said(Command::new(BIN).arg("--version"))
    }

    fn waiter(&self, scene: &Scene<'_>, id: &str) -> Command {
        scene.locks(&format!("run --plan-id {id} --"))
    }

    fn stands(&self, scene: &Scene<'_>, member: &Member) -> bool {
        fixture::waiting(&scene.repo).contains(&member.id)
    }
}

struct Flock(PathBuf);

impl Competitor for Flock {
    fn name(&self) -> &'static str {
        "flock"
    }

    fn version(&self) -> String {
        said(Command::new(&self.0).arg("--version"))
    }

    fn waiter(&self, scene: &Scene<'_>, _id: &str) -> Command {
        let mut command = scene.command(&self.0, "");
        command.arg(scene.env.path("flock"));
        command
    }

    fn stands(&self, scene: &Scene<'_>, member: &Member) -> bool {
        let Ok(file) = fs::metadata(scene.env.path("flock")) else {
            return false;
        };
        let (pid, inode) = (member.child.id().to_string(), format!(":{}", file.ino()));
        let locks = fs::read_to_string("/proc/locks").expect("/proc/locks");
        locks.lines().any(|line| {
            // `1: -> FLOCK  ADVISORY  WRITE 1234 08:02:131073 0 EOF`
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            matches!(fields[..], [_, "->", "FLOCK", _, _, waiter, place, ..]
                if waiter == pid && place.ends_with(&inode))
        })
    }
}

/// The crate `heavy`, with one slot: a lock for which waiters ask every so often.
struct Heavy(PathBuf);

impl Competitor for Heavy {
    fn name(&self) -> &'static str {
        "heavy"
    }

    fn version(&self) -> String {
        said(Command::new(&self.0).arg("--version"))
    }

    fn waiter(&self, scene: &Scene<'_>, _id: &str) -> Command {
        let mut command = scene.command(&self.0, "--slots 1 --dir");
        command.arg(scene.env.path("heavy")).arg("--");
        command
    }

    /// It has no line. It says so once it has asked in vain for the first time.
    fn stands(&self, _scene: &Scene<'_>, member: &Member) -> bool {
        fs::metadata(&member.errors).is_ok_and(|file| file.len() > 0)
    }
}

/// The first line that `command` prints.
fn said(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().unwrap_or_default().to_owned()
}

/// One that holds the lock or waits for it.
struct Member {
    id: String,
    child: Child,
    /// Where its standard error goes.
    errors: PathBuf,
    /// Whether it has been waited for.
    reaped: bool,
}

impl Member {
    /// Whether it has ended; its exit code must be 0.
    fn ended(&mut self) -> bool {
        let Some(status) = self.child.try_wait().expect("a child") else {
            return false;
        };
        self.reaped = true;
        assert!(
            status.success(),
            "{} ended with {status}: {}",
            self.id,
            fs::read_to_string(&self.errors).unwrap_or_default()
        );
        true
    }

    /// Field `name` of its `/proc` file, in KiB.
    fn kibibytes(&self, file: &str, name: &str) -> f64 {
        let text = self.proc(file);
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|rest| rest.split_ascii_whitespace().next());
        number
            .and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("no {name} in {file} of {}", self.id))
    }

    fn proc(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).expect("its /proc entry")
    }

    /// Whether it sleeps.
    fn sleeps(&self) -> bool {
        // The command name may hold anything: what follows its last `)` is the state.
        let stat = self.proc("stat");
        stat.rsplit(')')
            .next()
            .is_some_and(|s| s.starts_with(" S "))
    }

    /// The processor time that it and the children it has waited for have used, in ticks.
    fn ticks(&self) -> usize {
        let stat = self.proc("stat");
        let after = stat.rsplit(')').next().unwrap_or_default();
        let fields = after.split_ascii_whitespace().skip(11).take(4);
        let sum: Result<usize, _> = fields.map(str::parse::<usize>).sum();
        sum.expect("processor times")
    }

    /// The processor time of its threads, as the scheduler counts it.
    fn run_time(&self) -> Duration {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("threads");
        let each = threads.flatten().map(|thread| {
            let file = fs::read_to_string(thread.path().join("schedstat")).expect("its schedstat");
            let nanos = file.split(' ').next().and_then(|nanos| nanos.parse().ok());
            Duration::from_nanos(nanos.expect("nanoseconds"))
        });
        each.sum()
    }
}

/// A holder behind a gate and its waiters. What is left of it is killed when dropped.
struct Crowd<'a> {
    competitor: &'a dyn Competitor,
    scene: &'a Scene<'a>,
    /// In the order of arrival, the holder first.
    members: Vec<Member>,
    log: PathBuf,
    /// Locked as long as the gate is shut: it opens by itself should this process die.
    gate: File,
}

impl<'a> Crowd<'a> {
    /// Starts a holder and then `waiters`, each once the one before it stands in line.
    fn gather(competitor: &'a dyn Competitor, scene: &'a Scene<'a>, waiters: usize) -> Self {
        let (log, gate_path) = (scene.env.path("log"), scene.env.path("gate"));
        fs::write(&log, "").expect("a log");
        let gate = File::create(&gate_path).expect("a gate");
        gate.lock().expect("the gate shuts");
        let mut crowd = Self {
            competitor,
            scene,
            members: Vec::new(),
            log,
            gate,
        };
        crowd.start(0, Some(&gate_path));
        crowd.until("holds the lock", |crowd, _| {
            fs::metadata(&crowd.log).is_ok_and(|log| log.len() > 0)
        });
        for arrival in 1..=waiters {
            crowd.start(arrival, None);
            crowd.until("stands in line", |crowd, member| {
                crowd.competitor.stands(crowd.scene, member)
            });
        }
        crowd.settle();
        crowd
    }

    fn start(&mut self, arrival: usize, gate: Option<&Path>) {
        let id = format!("waiter-{arrival}");
        let errors = self.scene.env.path(format!("errors-{arrival}"));
        let program = std::env::current_exe().expect("this program");
        let mut command = self.competitor.waiter(self.scene, &id);
        command.arg(program).arg(UNDER_THE_LOCK).arg(&self.log);
        command.arg(arrival.to_string()).args(gate);
        command.stderr(File::create(&errors).expect("a file for its errors"));
        // A group of its own: to be killed with what it runs.
        let child = command.process_group(0).spawn();
        self.members.push(Member {
            child: child.unwrap_or_else(|error| panic!("cannot start {id}: {error}")),
            id,
            errors,
            reaped: false,
        });
    }

    /// Waits until the newest member does `what`.
    fn until(&mut self, what: &str, condition: impl Fn(&Self, &Member) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !self.members.last().is_some_and(|new| condition(self, new)) {
            let name = self.competitor.name();
            let new = self.members.last_mut().expect("a member");
            assert!(!new.ended(), "{} of {name} never {what}", new.id);
            assert!(
                Instant::now() < deadline,
                "{} of {name} never {what}",
                new.id
            );
            thread::sleep(Duration::from_micros(500));
        }
    }

    /// Waits until all are asleep several looks in a row; not for long, as some never are.
    fn settle(&self) {
        let deadline = Instant::now() + Duration::from_secs(2);
        let mut quiet = 0;
        while quiet < 5 && Instant::now() < deadline {
            let asleep = self.members.iter().all(Member::sleeps);
            quiet = if asleep { quiet + 1 } else { 0 };
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn waiters(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().skip(1)
    }

    /// Opens the gate, waits for all, and gives their turns in the order in which they had them.
    fn disperse(mut self) -> Vec<Turn> {
        self.gate.unlock().expect("the gate opens");
        let deadline = Instant::now() + DEADLINE;
        for member in &mut self.members {
            while !member.ended() {
                let name = self.competitor.name();
                assert!(
                    Instant::now() < deadline,
                    "{} of {name} is stuck",
                    member.id
                );
                thread::sleep(Duration::from_millis(2));
            }
        }
        let turns = turns(&fs::read_to_string(&self.log).expect("the log"));
        assert_eq!(turns.len(), self.members.len(), "turns and members");
        turns
    }
}

impl Drop for Crowd<'_> {
    fn drop(&mut self) {
        // From behind, so that nobody gets a turn meanwhile.
        for member in self.members.iter_mut().rev().filter(|m| !m.reaped) {
            if let Ok(pid) = i32::try_from(member.child.id()) {
                let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
            }
            let _ = member.child.wait();
        }
    }
}

/// One command's time under the lock.
struct Turn {
    /// 0 for the holder, then the waiters.
    arrival: usize,
    begin: Duration,
    end: Duration,
}

/// The turns in a log. Fails when two commands ran at once.
fn turns(log: &str) -> Vec<Turn> {
    let mark = |line: Option<&str>, word: &str| {
        let (time, tag) = line?.strip_prefix(word)?.split_once(' ')?;
        Some((Duration::from_nanos(time.parse().ok()?), tag.parse().ok()?))
    };
    let mut lines = log.lines().peekable();
    let mut turns: Vec<Turn> = Vec::new();
    while lines.peek().is_some() {
        let (begin, end) = (mark(lines.next(), "begin "), mark(lines.next(), "end "));
        let (Some((begin, arrival)), Some((end, same))) = (begin, end) else {
            panic!("no turns, one after another:\n{log}");
        };
        assert_eq!(arrival, same, "two commands ran at once:\n{log}");
        let turn = Turn {
            arrival,
            begin,
            end,
        };
        let before = turns.last().map(|turn| turn.end);
        assert!(before <= Some(turn.begin), "two commands ran at once");
        turns.push(turn);
    }
    turns
}

/// From the end of each command to the beginning of the next.
fn gaps(turns: &[Turn]) -> impl Iterator<Item = Duration> {
    turns
        .windows(2)
        .map(|pair| pair[1].begin.saturating_sub(pair[0].end))
}

/// Pairs of which the later one had its turn first.
fn inversions(turns: &[Turn]) -> usize {
    let earlier = |place: usize| {
        let turn = &turns[place];
        let later = turns[place..].iter();
        later.filter(|other| other.arrival < turn.arrival).count()
    };
    (0..turns.len()).map(earlier).sum()
}

/// Taking the lock and letting go, nobody else about.
fn whole_processes(programs: &Programs, table: &mut Table<'_>) {
    let scene = Scene::new(programs);
    let pair = vec![(scene.locks("acquire"), 0), (scene.locks("release"), 0)];
    let pair = Contender::new("acquire + release", pair);
    let mut contenders = vec![pair];
    for competitor in table.competitors {
        let mut command = competitor.waiter(&scene, "alone");
        command.arg("true");
        contenders.push(Contender::new(competitor.name(), vec![(command, 0)]));
    }
    let title = "taking the lock and letting go, as whole processes";
    let mut rows = compete(title, 400, contenders).rows;
    let pair = rows.remove(0);
    table.title(title);
    let medians = |rows: &[Row]| rows.iter().map(Row::median).collect::<Vec<_>>();
    let run = medians(&rows);
    let acquire = [&[pair.median()], &run[1..]].concat();
    let aims = [Aim::Ratio(2.0, FLOCK)];
    table.figure("acquire, release; run true: p50 ms", &acquire, &aims);
    table.figure("run true: p50 ms", &run, &[]);
}

/// How hand-offs are measured.
#[derive(Clone, Copy)]
struct HandOffs {
    /// How many wait when a hand-off that counts begins, the one who gets the lock among them.
    waiting: usize,
    /// How many more are there at first, so that several hand-offs of a round count.
    more: usize,
    rounds: usize,
    aimed: bool,
}

const ONE: HandOffs = HandOffs {
    waiting: 1,
    more: 0,
    rounds: 100,
    aimed: false,
};

const TEN: HandOffs = HandOffs {
    waiting: 10,
    more: 20,
    rounds: 5,
    aimed: false,
};

const MANY: HandOffs = HandOffs {
    waiting: 200,
    more: 100,
    rounds: 2,
    aimed: true,
};

fn hand_offs(title: &str, programs: &Programs, table: &mut Table<'_>, how: HandOffs) {
    eprintln!("measuring: {title}");
    let scenes: Vec<Scene<'_>> = table.scenes(programs);
    let mut samples = vec![Vec::new(); scenes.len()];
    let mut spent = vec![Duration::ZERO; scenes.len()];
    for _ in 0..how.rounds {
        for (i, competitor) in table.competitors.iter().enumerate() {
            if spent[i] < BUDGET {
                let started = Instant::now();
                let crowd = Crowd::gather(&**competitor, &scenes[i], how.waiting + how.more);
                let turns = crowd.disperse();
                samples[i].extend(gaps(&turns).take(how.more + 1));
                spent[i] += started.elapsed();
            }
        }
    }
    let rows: Vec<Row> = samples.iter().map(|s| Row::new("", s, None)).collect();
    table.title(title);
    let percentile = |percent| -> Vec<f64> {
        let each = rows.iter().map(|row| row.percentile(percent));
        each.collect()
    };
    let aims = |millis| [Aim::Millis(millis), Aim::Ratio(2.0, FLOCK)];
    let wanted = if how.aimed { 2 } else { 0 };
    table.figure("p50 ms", &percentile(50), &aims(5.0)[..wanted]);
    table.figure("p99 ms", &percentile(99), &aims(20.0)[..wanted]);
    let counts: Vec<usize> = samples.iter().map(Vec::len).collect();
    table.counts("hand-offs measured", &counts, &[]);
}

/// What waiters cost while nothing happens, and how long it takes until all have had their turn.
fn standing(programs: &Programs, table: &mut Table<'_>) {
    let title = format!("{STANDING} waiters");
    eprintln!("measuring: {title}");
    let (mut ticks, mut cpu) = (vec![], vec![]);
    let (mut pss, mut rss, mut drained) = (vec![], vec![], vec![]);
    for competitor in table.competitors {
        let scene = Scene::new(programs);
        let crowd = Crowd::gather(&**competitor, &scene, STANDING);
        let used = || {
            let ticks: usize = crowd.waiters().map(Member::ticks).sum();
            let run_time: Duration = crowd.waiters().map(Member::run_time).sum();
            (ticks, run_time)
        };
        let (before, started) = (used(), Instant::now());
        thread::sleep(IDLE);
        let (after, minutes) = (used(), started.elapsed().as_secs_f64() / 60.0);
        ticks.push(after.0 - before.0);
        let millis = after.1.saturating_sub(before.1).as_secs_f64() * 1e3;
        cpu.push(millis / number(STANDING) / minutes);
        let proportional = |member: &Member| member.kibibytes("smaps_rollup", "Pss:");
        pss.push(median(crowd.waiters().map(proportional)));
        let resident = |member: &Member| member.kibibytes("status", "VmRSS:");
        rss.push(median(crowd.waiters().map(resident)));
        let turns = crowd.disperse();
        let all = turns[STANDING].end.saturating_sub(turns[0].end);
        drained.push(all.as_secs_f64() * 1e3);
    }
    table.title(&title);
    table.figure("idle: CPU ms per waiter and minute", &cpu, &[]);
    let what = format!("idle: CPU ticks of all in {} s", IDLE.as_secs());
    table.counts(&what, &ticks, &[]);
    table.figure("memory per waiter: Pss KiB", &pss, &[]);
    table.figure("memory per waiter: RSS KiB", &rss, &[]);
    table.figure("drained: ms", &drained, &[]);
}

/// Whether the order of arrival is kept; gives back our own inversions.
fn order(programs: &Programs, table: &mut Table<'_>) -> usize {
    let title = format!("{ORDERED} waiters");
    eprintln!("measuring: {title}");
    let mut inverted = Vec::new();
    for competitor in table.competitors {
        let scene = Scene::new(programs);
        let turns = Crowd::gather(&**competitor, &scene, ORDERED).disperse();
        inverted.push(inversions(&turns));
    }
    table.title(&title);
    let what = "inversions of the order of arrival";
    table.counts(what, &inverted, &[Aim::Zero]);
    inverted[0]
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn number(count: usize) -> f64 {
    count as f64
}

/// The figures of all competitors, ours in the first column.
struct Table<'a> {
    competitors: &'a [Box<dyn Competitor>],
    lines: Vec<String>,
}

impl<'a> Table<'a> {
    fn new(competitors: &'a [Box<dyn Competitor>]) -> Self {
        let cores = thread::available_parallelism().map_or(0, usize::from);
        let kernel = said(Command::new("uname").arg("-srm"));
        // More waiters than that cannot all be woken by what happens to a file.
        let watches = fs::read_to_string("/proc/sys/fs/inotify/max_user_instances");
        let watches = watches.map_or("unknown".to_owned(), |text| text.trim().to_owned());
        let versions: Vec<String> = competitors.iter().map(|c| c.version()).collect();
        let heads = competitors.iter().map(|c| format!("{:>11}", c.name()));
        let heads = heads.collect::<Vec<_>>().concat();
        let lines = vec![
            format!("{cores} cores, {kernel}; {}", versions.join(", ")),
            format!("inotify instances that a user may have: {watches}\n"),
            format!("{:<38}{heads}{:>9}  aim", "", "/ flock"),
        ];
        Self { competitors, lines }
    }

    fn scenes<'p>(&self, programs: &'p Programs) -> Vec<Scene<'p>> {
        let each = self.competitors.iter();
        each.map(|_| Scene::new(programs)).collect()
    }

    fn title(&mut self, title: &str) {
        self.lines.push(format!("\n{title}"));
    }

    /// Adds a line: one value for each competitor, and what is wanted of ours.
    fn figure(&mut self, what: &str, values: &[f64], aims: &[Aim]) {
        let names = self.competitors.iter().map(|c| c.name());
        let flock = names.zip(values).find(|(name, _)| *name == "flock");
        let ratio = flock.map(|(_, theirs)| values[0] / theirs);
        let ratio = ratio.filter(|ratio| ratio.is_finite());
        let cells = values.iter().map(|value| format!("{value:.2}"));
        self.line(what, cells, values[0], ratio, aims);
    }

    /// The same for counts, which nobody wants to divide.
    fn counts(&mut self, what: &str, counts: &[usize], aims: &[Aim]) {
        let cells = counts.iter().map(ToString::to_string);
        self.line(what, cells, number(counts[0]), None, aims);
    }

    fn line(
        &mut self,
        what: &str,
        cells: impl Iterator<Item = String>,
        ours: f64,
        ratio: Option<f64>,
        aims: &[Aim],
    ) {
        let cells: Vec<String> = cells.map(|cell| format!("{cell:>11}")).collect();
        let cells = cells.concat();
        let shown = ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
        let verdicts = aims.iter().filter_map(|aim| aim.verdict(ours, |_| ratio));
        let verdicts = verdicts.collect::<Vec<_>>().join(", ");
        let line = format!("  {what:<36}{cells}{shown:>9}  {verdicts}");
        self.lines.push(line.trim_end().to_owned());
    }

    fn print(&self) {
        for line in &self.lines {
            println!("{line}");
        }
    }
}
