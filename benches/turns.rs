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

use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use common::crowd::{self, Competitor, Crowd, Gathering, Member};
use common::hermetic::{BIN, fixture};
use common::peers::{Competitors, Flock, Heavy, said};
use common::table::{Table, median, number};
use common::turn::{Turns, under_the_lock};
use common::{Aim, Contender, FLOCK, Programs, Row, Scene, compete};

/// How many waiters are looked at while nothing happens, and are then drained.
const STANDING: usize = 100;

/// How many waiters show whether the order of arrival is kept.
const ORDERED: usize = 500;

/// How long the standing waiters are looked at.
const IDLE: Duration = Duration::from_secs(10);

/// A competitor that has spent this on the hand-offs of one group starts no further round.
const BUDGET: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    if let Some(code) = under_the_lock() {
        return code;
    }
    // `cargo test --benches` and `--all-targets` run this too, without the word: not asked for.
    if !std::env::args().any(|arg| arg == "--bench") {
        return ExitCode::SUCCESS;
    }
    if !Path::new("/proc/locks").is_file() {
        eprintln!("this benchmark reads /proc as Linux has it: nothing was measured");
        return ExitCode::FAILURE;
    }
    let started = Instant::now();
    let programs = Programs::find();
    let mut found = Competitors::new(GitLocks);
    found.peer("flock", "flock ", Flock::find(&programs, 1));
    found.peer("heavy", "heavy ", Heavy::find(&programs, 1));
    let mut table = Table::new(&found);
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

struct GitLocks;

impl Competitor for GitLocks {
    fn name(&self) -> &'static str {
        "git-locks"
    }

    fn version(&self) -> String {
        said(Command::new(BIN).arg("--version"))
    }

    fn waiter(&self, scene: &Scene<'_>, arrival: usize) -> Command {
        scene.locks(&format!("run --plan-id {} --", crowd::name(arrival)))
    }

    fn stands(&self, scene: &Scene<'_>, member: &Member) -> bool {
        fixture::waiting(&scene.repo).contains(&crowd::name(member.arrival))
    }
}

/// The turns of `waiters` behind one holder. Fails when two commands ran at once.
fn turns(competitor: &dyn Competitor, scene: &Scene<'_>, waiters: usize) -> Turns {
    one_at_a_time(gather(competitor, scene, waiters))
}

fn gather<'a>(competitor: &'a dyn Competitor, scene: &'a Scene<'a>, waiters: usize) -> Crowd<'a> {
    let how = Gathering {
        slots: 1,
        waiters,
        takes: Duration::ZERO,
    };
    Crowd::gather(competitor, scene, how)
}

fn one_at_a_time(crowd: Crowd<'_>) -> Turns {
    let turns = crowd.disperse();
    assert_eq!(turns.intruders(), 0, "two commands ran at once");
    turns
}

/// Taking the lock and letting go, nobody else about.
fn whole_processes(programs: &Programs, table: &mut Table<'_>) {
    let scene = Scene::new(programs);
    let pair = vec![(scene.locks("acquire"), 0), (scene.locks("release"), 0)];
    let pair = Contender::new("acquire + release", pair);
    let mut contenders = vec![pair];
    for competitor in table.competitors {
        let mut command = competitor.waiter(&scene, 0);
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
                let turns = turns(&**competitor, &scenes[i], how.waiting + how.more);
                samples[i].extend(turns.gaps().take(how.more + 1));
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
        let crowd = gather(&**competitor, &scene, STANDING);
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
        drained.push(one_at_a_time(crowd).drained().as_secs_f64() * 1e3);
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
        inverted.push(turns(&**competitor, &scene, ORDERED).inversions());
    }
    table.title(&title);
    let what = "inversions of the order of arrival";
    table.counts(what, &inverted, &[Aim::Zero]);
    inverted[0]
}
