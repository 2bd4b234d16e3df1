//! What the benchmarks share: contenders that take turns, and a hermetic repository to run them in.
#![allow(dead_code, reason = "each benchmark uses its own part of this")]

#[path = "../../tests/common/mod.rs"]
pub mod hermetic;

pub mod crowd;
pub mod peers;
pub mod table;
pub mod turn;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hermetic::{BIN, Env};

/// No competition takes longer than this, by much.
pub const BUDGET: Duration = Duration::from_secs(8);

pub const GIT: &str = "git rev-parse --git-common-dir";
pub const FLOCK: &str = "flock FILE true";

/// Programs by their full paths: a search of `PATH` would count.
pub struct Programs {
    pub git: PathBuf,
    pub flock: Option<PathBuf>,
    pub heavy: Option<PathBuf>,
    pub sem: Option<PathBuf>,
}

impl Programs {
    pub fn find() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let find = |name: &str| {
            std::env::split_paths(&path)
                .map(|dir| dir.join(name))
                .find(|file| file.is_file())
        };
        Self {
            git: find("git").expect("git is installed"),
            flock: find("flock"),
            heavy: find("heavy"),
            sem: find("sem"),
        }
    }
}

/// One way of doing something.
pub struct Contender<'a> {
    pub name: &'a str,
    /// What is timed: these calls, one after another, with their exit codes.
    pub calls: Vec<(Command, i32)>,
    /// What is done after each round, untimed.
    pub undo: Option<(Command, i32)>,
    pub aim: Option<Aim>,
}

impl<'a> Contender<'a> {
    pub fn new(name: &'a str, calls: Vec<(Command, i32)>) -> Self {
        Self {
            name,
            calls,
            undo: None,
            aim: None,
        }
    }

    pub fn undo(mut self, command: Command, code: i32) -> Self {
        self.undo = Some((command, code));
        self
    }

    pub fn aim(mut self, aim: Aim) -> Self {
        self.aim = Some(aim);
        self
    }

    pub fn round(&mut self) -> Duration {
        let started = Instant::now();
        for (command, code) in &mut self.calls {
            expect(command, *code);
        }
        let took = started.elapsed();
        if let Some((command, code)) = &mut self.undo {
            expect(command, *code);
        }
        took
    }
}

/// What we want to see. Nothing fails when we do not.
#[derive(Clone, Copy)]
pub enum Aim {
    /// At most so many times the peer's.
    Ratio(f64, &'static str),
    /// Below so many milliseconds.
    Millis(f64),
    /// None at all.
    Zero,
}

impl Aim {
    /// The aim in words, and whether `value` meets it; nothing where its peer is missing.
    /// `over` is how many times the named peer's value it is.
    pub fn verdict(self, value: f64, over: impl Fn(&str) -> Option<f64>) -> Option<String> {
        let (met, words) = match self {
            Self::Ratio(limit, peer) => {
                let short = if peer == GIT { "rev-parse" } else { "flock" };
                (over(peer)? <= limit, format!("<= {limit} {short}"))
            }
            Self::Millis(limit) => (value < limit, format!("< {limit} ms")),
            Self::Zero => (value == 0.0, "0".to_owned()),
        };
        let verdict = if met { "met" } else { "missed" };
        Some(format!("{words}: {verdict}"))
    }
}

/// Runs `command`; its exit code must be `code`.
pub fn expect(command: &mut Command, code: i32) {
    let status = command.status().expect("the command starts");
    assert!(
        status.code() == Some(code),
        "{command:?} ended with {status}, not with {code}"
    );
}

/// What came out for one contender.
pub struct Row {
    pub name: String,
    /// Sorted, in milliseconds.
    pub samples: Vec<f64>,
    pub aim: Option<Aim>,
    /// Which rows of the group took turns with it: those of the same number.
    pub peers: usize,
}

impl Row {
    pub fn new(name: &str, samples: &[Duration], aim: Option<Aim>) -> Self {
        let mut samples: Vec<f64> = samples.iter().map(|d| d.as_secs_f64() * 1e3).collect();
        samples.sort_by(f64::total_cmp);
        Self {
            name: name.to_owned(),
            samples,
            aim,
            peers: 0,
        }
    }

    /// The smallest sample that `percent` of all do not exceed.
    pub fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.samples.len() * percent).div_ceil(100).max(1);
        self.samples[rank - 1]
    }

    pub fn median(&self) -> f64 {
        self.percentile(50)
    }
}

pub struct Group {
    pub title: &'static str,
    pub rows: Vec<Row>,
}

/// Lets the contenders take turns, for `rounds` or until the time is up.
pub fn compete(title: &'static str, rounds: usize, mut contenders: Vec<Contender<'_>>) -> Group {
    eprintln!("measuring: {title}");
    for contender in &mut contenders {
        contender.round();
    }
    let mut samples = vec![Vec::with_capacity(rounds); contenders.len()];
    let started = Instant::now();
    for _ in 0..rounds {
        for (contender, samples) in contenders.iter_mut().zip(&mut samples) {
            samples.push(contender.round());
        }
        if started.elapsed() > BUDGET {
            break;
        }
    }
    let rows = contenders
        .iter()
        .zip(&samples)
        .map(|(contender, samples)| Row::new(contender.name, samples, contender.aim))
        .collect();
    Group { title, rows }
}

/// Prints what the groups came to.
pub fn print_groups(groups: &[Group]) {
    println!(
        "{:<34}{:>6}{:>11}{:>9}{:>13}{:>9}  aim",
        "", "runs", "median ms", "p95 ms", "/ rev-parse", "/ flock"
    );
    for group in groups {
        println!("\n{}", group.title);
        for row in &group.rows {
            let over = |peer: &str| {
                let mut peers = group.rows.iter().filter(|other| other.peers == row.peers);
                let peer = peers.find(|other| other.name == peer)?;
                Some(row.median() / peer.median())
            };
            let shown = |ratio: Option<f64>| ratio.map_or(String::new(), |r| format!("{r:.2}"));
            let aim = row.aim.and_then(|aim| aim.verdict(row.median(), over));
            let line = format!(
                "  {:<32}{:>6}{:>11.2}{:>9.2}{:>13}{:>9}  {}",
                row.name,
                row.samples.len(),
                row.median(),
                row.percentile(95),
                shown(over(GIT)),
                shown(over(FLOCK)),
                aim.unwrap_or_default()
            );
            println!("{}", line.trim_end());
        }
    }
}

/// A hermetic repository, and the commands that run in it.
pub struct Scene<'a> {
    pub env: Env,
    pub repo: PathBuf,
    pub programs: &'a Programs,
}

impl<'a> Scene<'a> {
    pub fn new(programs: &'a Programs) -> Self {
        let env = Env::new();
        let repo = env.init("repo");
        Self {
            env,
            repo,
            programs,
        }
    }

    pub fn command(&self, program: &Path, args: &str) -> Command {
        let mut command = self.env.command(program);
        command
            .args(args.split_whitespace())
            .current_dir(&self.repo)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    pub fn program(&self, args: &str) -> Command {
        self.command(Path::new(BIN), args)
    }

    pub fn locks(&self, args: &str) -> Command {
        self.program(&format!("merge {args}"))
    }

    pub fn build(&self, args: &str) -> Command {
        self.program(&format!("build {args}"))
    }

    pub fn run(&self, args: &str, code: i32) {
        expect(&mut self.locks(args), code);
    }

    pub fn git<'n>(&self) -> Contender<'n> {
        let command = self.command(&self.programs.git, "rev-parse --git-common-dir");
        Contender::new(GIT, vec![(command, 0)])
    }

    pub fn flock<'n>(&self) -> Option<Contender<'n>> {
        let program = self.programs.flock.as_ref()?;
        let mut command = self.command(program, "");
        command.arg(self.env.path("flock")).arg("true");
        Some(Contender::new(FLOCK, vec![(command, 0)]))
    }
}
