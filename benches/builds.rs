//! What the build queue costs, beside `flock`, `heavy` and GNU `sem`: see `doc/benchmarks.md`.
//!
//! Whole calls are measured as `commands.rs` measures them, the draining of a queue as `turns.rs`
//! does, with more than one slot. Slowness never fails; more commands of ours at once than there
//! are slots, a waiter that fails and another exit code than the expected one do.
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
use std::time::{Duration, Instant};

use common::crowd::{self, Competitor, Crowd, Gathering, Member};
use common::hermetic::BIN;
use common::peers::{Competitors, Flock, Heavy, Sem, said};
use common::table::{Table, median};
use common::turn::under_the_lock;
use common::{Contender, Group, Programs, Row, Scene, compete, print_groups};

/// How many slots a queue is drained through.
const SLOTS: usize = 2;

/// How many waiters are drained.
const WAITERS: usize = 100;

/// How long a command takes that is like a build in that it outlasts what goes on beside it.
const LONG: Duration = Duration::from_millis(50);

/// A competitor that has spent this on the rounds of one group starts no further one.
const BUDGET: Duration = Duration::from_secs(20);

/// No more rounds than these.
const ROUNDS: usize = 5;

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
    let mut found = Competitors::new(Builds { slots: SLOTS });
    found.peer("flock", "flock ", Flock::find(&programs, SLOTS));
    found.peer("heavy", "heavy ", Heavy::find(&programs, SLOTS));
    found.peer("sem", "GNU parallel ", Sem::find(&programs, SLOTS));
    let groups = [
        uncontended(&programs, &found),
        check_free(&programs),
        check_long(&programs),
    ];
    let mut table = Table::new(&found);
    let title = format!("{WAITERS} waiters drained through {SLOTS} slots");
    drained(
        &format!("{title}, commands as short as can be"),
        &programs,
        &mut table,
        Duration::ZERO,
    );
    let millis = LONG.as_millis();
    drained(
        &format!("{title}, commands of {millis} ms"),
        &programs,
        &mut table,
        LONG,
    );
    print_groups(&groups);
    println!();
    table.print();
    println!("\n{:.0} s in all", started.elapsed().as_secs_f64());
    ExitCode::SUCCESS
}

/// The build queue, with so many slots.
struct Builds {
    slots: usize,
}

impl Competitor for Builds {
    fn name(&self) -> &'static str {
        "git-locks"
    }

    fn version(&self) -> String {
        said(Command::new(BIN).arg("--version"))
    }

    fn waiter(&self, scene: &Scene<'_>, arrival: usize) -> Command {
        let (slots, id) = (self.slots, crowd::name(arrival));
        scene.build(&format!("run --max-slots {slots} --plan-id {id} --"))
    }

    fn stands(&self, scene: &Scene<'_>, member: &Member) -> bool {
        let waiting = scene.env.builds().waiting();
        waiting.contains(&crowd::name(member.arrival))
    }
}

/// Taking a slot and giving it back, nobody else about.
fn uncontended(programs: &Programs, found: &Competitors) -> Group {
    let scene = Scene::new(programs);
    let slots = format!("--max-slots {SLOTS}");
    let pair = vec![
        (scene.build(&format!("acquire {slots}")), 0),
        (scene.build(&format!("release {slots}")), 0),
    ];
    let run = scene.build(&format!("run {slots} -- true"));
    let mut contenders = vec![
        Contender::new("build acquire + build release", pair),
        Contender::new("build run -- true", vec![(run, 0)]),
    ];
    contenders.extend(scene.flock());
    contenders.push(scene.git());
    let title = "taking a slot and giving it back";
    let mut group = compete(title, 400, contenders);
    // Not in turns with ours: they take so long that few rounds would be left.
    let mut contenders = Vec::new();
    for competitor in &found.all {
        let name = match competitor.name() {
            "heavy" => "heavy --slots 2 -- true",
            "sem" => "sem --fg -j2 true",
            _ => continue,
        };
        let mut command = competitor.waiter(&scene, 0);
        command.arg("true");
        contenders.push(Contender::new(name, vec![(command, 0)]));
    }
    if contenders.is_empty() {
        return group;
    }
    contenders.extend(scene.flock());
    contenders.push(scene.git());
    let mut second = compete(title, 400, contenders);
    for row in &mut second.rows {
        row.peers = 1;
    }
    group.rows.append(&mut second.rows);
    group
}

fn check_free(programs: &Programs) -> Group {
    let scene = Scene::new(programs);
    let check = Contender::new("build check", vec![(scene.build("check"), 0)]);
    compete("build check, nobody builds", 1000, vec![check, scene.git()])
}

/// What it costs to look at a long queue of processes that are all there.
fn check_long(programs: &Programs) -> Group {
    let title = "build check, 5 build and 200 wait";
    let scene = Scene::new(programs);
    let how = Gathering {
        slots: 5,
        waiters: 200,
        takes: Duration::ZERO,
    };
    let builds = Builds { slots: how.slots };
    let crowd = Crowd::gather(&builds, &scene, how);
    let check = Contender::new("build check", vec![(scene.build("check"), 0)]);
    let group = compete(title, 1000, vec![check, scene.git()]);
    let turns = crowd.disperse();
    assert_eq!(turns.intruders(), 0, "more commands than slots at once");
    group
}

/// How long it takes until all have had their turn, and how long a slot is empty in between.
fn drained(title: &str, programs: &Programs, table: &mut Table<'_>, takes: Duration) {
    eprintln!("measuring: {title}");
    let how = Gathering {
        slots: SLOTS,
        waiters: WAITERS,
        takes,
    };
    let mut samples = vec![Vec::new(); table.competitors.len()];
    let mut all = vec![Vec::new(); table.competitors.len()];
    let mut spent = vec![Duration::ZERO; table.competitors.len()];
    let mut intruders = vec![0; table.competitors.len()];
    let mut inverted = vec![0; table.competitors.len()];
    for _ in 0..ROUNDS {
        for (i, competitor) in table.competitors.iter().enumerate() {
            if spent[i] < BUDGET {
                let started = Instant::now();
                let scene = Scene::new(programs);
                let turns = Crowd::gather(&**competitor, &scene, how).disperse();
                samples[i].extend(turns.gaps());
                all[i].push(turns.drained().as_secs_f64() * 1e3);
                intruders[i] += turns.intruders();
                inverted[i] += turns.inversions();
                spent[i] += started.elapsed();
            }
        }
    }
    assert_eq!(intruders[0], 0, "more commands than slots at once");
    let rows: Vec<Row> = samples.iter().map(|s| Row::new("", s, None)).collect();
    table.title(title);
    let percentile = |percent| -> Vec<f64> {
        let each = rows.iter().map(|row| row.percentile(percent));
        each.collect()
    };
    table.figure("hand-off of a slot: p50 ms", &percentile(50), &[]);
    table.figure("hand-off of a slot: p99 ms", &percentile(99), &[]);
    let medians: Vec<f64> = all.iter().map(|all| median(all.iter().copied())).collect();
    table.figure("drained: ms", &medians, &[]);
    let counts: Vec<usize> = samples.iter().map(Vec::len).collect();
    table.counts("hand-offs measured", &counts, &[]);
    table.counts("begun although all slots were taken", &intruders, &[]);
    let all = inverted.iter().zip(&all);
    let each: Vec<usize> = all.map(|(sum, rounds)| sum / rounds.len()).collect();
    table.counts("inversions in a round", &each, &[]);
}
