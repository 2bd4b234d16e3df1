//! Holders behind a gate, and those who wait for their turn.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::Scene;
use super::turn::{self, Turns};

/// No wait for a single thing takes longer than this.
const DEADLINE: Duration = Duration::from_secs(60);

/// A program that makes commands take turns.
pub trait Competitor {
    /// Its name in the table.
    fn name(&self) -> &'static str;

    /// Its name and version as it gives them.
    fn version(&self) -> String;

    /// Waits for its turn in `scene`, runs the command that is added to it, and lets go.
    fn waiter(&self, scene: &Scene<'_>, arrival: usize) -> Command;

    /// Whether `member` stands in line.
    fn stands(&self, scene: &Scene<'_>, member: &Member) -> bool;
}

/// What the member that arrives so late is called, as a plan id too.
pub fn name(arrival: usize) -> String {
    format!("waiter-{arrival}")
}

/// One that holds the lock or waits for it.
pub struct Member {
    /// The holders come first, then the waiters.
    pub arrival: usize,
    child: Child,
    /// Where its standard error goes.
    pub errors: PathBuf,
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
            name(self.arrival),
            fs::read_to_string(&self.errors).unwrap_or_default()
        );
        true
    }

    /// Field `field` of its `/proc` file, in KiB.
    pub fn kibibytes(&self, file: &str, field: &str) -> f64 {
        let text = self.proc(file);
        let line = text.lines().find_map(|line| line.strip_prefix(field));
        let number = line.and_then(|rest| rest.split_ascii_whitespace().next());
        number
            .and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("no {field} in {file} of {}", name(self.arrival)))
    }

    fn proc(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).expect("its /proc entry")
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has children.
    pub fn has_children(&self) -> bool {
        let pid = self.pid();
        !self.proc(&format!("task/{pid}/children")).is_empty()
    }

    /// Whether it sleeps.
    pub fn sleeps(&self) -> bool {
        // The command name may hold anything: what follows its last `)` is the state.
        let stat = self.proc("stat");
        stat.rsplit(')')
            .next()
            .is_some_and(|s| s.starts_with(" S "))
    }

    /// The processor time that it and the children it has waited for have used, in ticks.
    pub fn ticks(&self) -> usize {
        let stat = self.proc("stat");
        let after = stat.rsplit(')').next().unwrap_or_default();
        let fields = after.split_ascii_whitespace().skip(11).take(4);
        let sum: Result<usize, _> = fields.map(str::parse::<usize>).sum();
        sum.expect("processor times")
    }

    /// The processor time of its threads, as the scheduler counts it.
    pub fn run_time(&self) -> Duration {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("threads");
        let each = threads.flatten().map(|thread| {
            let file = fs::read_to_string(thread.path().join("schedstat")).expect("its schedstat");
            let nanos = file.split(' ').next().and_then(|nanos| nanos.parse().ok());
            Duration::from_nanos(nanos.expect("nanoseconds"))
        });
        each.sum()
    }
}

/// Holders behind a gate and their waiters. What is left of it is killed when dropped.
pub struct Crowd<'a> {
    competitor: &'a dyn Competitor,
    scene: &'a Scene<'a>,
    how: Gathering,
    /// In the order of arrival, the holders first.
    members: Vec<Member>,
    log: PathBuf,
    /// Locked as long as the gate is shut: it opens by itself should this process die.
    gate: File,
}

/// How many gather, and what for.
#[derive(Clone, Copy)]
pub struct Gathering {
    /// How many may have their turn at once: so many hold the lock behind the gate.
    pub slots: usize,
    pub waiters: usize,
    /// How long the command of a waiter takes.
    pub takes: Duration,
}

impl<'a> Crowd<'a> {
    /// Starts the holders and then the waiters, each once the one before it stands in line.
    pub fn gather(competitor: &'a dyn Competitor, scene: &'a Scene<'a>, how: Gathering) -> Self {
        let (log, gate_path) = (scene.env.path("log"), scene.env.path("gate"));
        fs::write(&log, "").expect("a log");
        let gate = File::create(&gate_path).expect("a gate");
        gate.lock().expect("the gate shuts");
        let mut crowd = Self {
            competitor,
            scene,
            how,
            members: Vec::new(),
            log,
            gate,
        };
        for _ in 0..how.slots {
            crowd.start(Some(&gate_path));
            crowd.until("holds the lock", |crowd, member| {
                let log = fs::read_to_string(&crowd.log).unwrap_or_default();
                log.lines().count() > member.arrival
            });
        }
        for _ in 0..how.waiters {
            crowd.start(None);
            crowd.until("stands in line", |crowd, member| {
                crowd.competitor.stands(crowd.scene, member)
            });
        }
        crowd.settle();
        crowd
    }

    fn start(&mut self, gate: Option<&Path>) {
        let arrival = self.members.len();
        let errors = self.scene.env.path(format!("errors-{arrival}"));
        let mut command = self.competitor.waiter(self.scene, arrival);
        let takes = gate.map_or(self.how.takes, |_| Duration::ZERO);
        turn::add_to(&mut command, &self.log, arrival, takes);
        command.args(gate);
        command.stderr(File::create(&errors).expect("a file for its errors"));
        // A group of its own: to be killed with what it runs.
        let child = command.process_group(0).spawn();
        self.members.push(Member {
            arrival,
            child: child.unwrap_or_else(|error| panic!("cannot start {}: {error}", name(arrival))),
            errors,
            reaped: false,
        });
    }

    /// Waits until the newest member does `what`.
    fn until(&mut self, what: &str, condition: impl Fn(&Self, &Member) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !self.members.last().is_some_and(|new| condition(self, new)) {
            let new = self.members.last_mut().expect("a member");
            let who = format!("{} of {}", name(new.arrival), self.competitor.name());
            assert!(!new.ended(), "{who} never {what}");
            assert!(Instant::now() < deadline, "{who} never {what}");
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

    pub fn waiters(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().skip(self.how.slots)
    }

    /// Opens the gate, waits for all, and gives their turns.
    pub fn disperse(mut self) -> Turns {
        self.gate.unlock().expect("the gate opens");
        let deadline = Instant::now() + DEADLINE;
        for member in &mut self.members {
            while !member.ended() {
                let who = format!("{} of {}", name(member.arrival), self.competitor.name());
                assert!(Instant::now() < deadline, "{who} is stuck");
                thread::sleep(Duration::from_millis(2));
            }
        }
        let log = fs::read_to_string(&self.log).expect("the log");
        let turns = Turns::read(&log, self.how.slots);
        assert_eq!(turns.each.len(), self.members.len(), "turns and members");
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
