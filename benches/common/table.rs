//! The table of those who compete in taking turns.

use std::fs;
use std::process::Command;
use std::thread;

use super::crowd::Competitor;
use super::peers::{Competitors, said};
use super::{Aim, Programs, Scene};

pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
pub fn number(count: usize) -> f64 {
    count as f64
}

/// The figures of all competitors, ours in the first column.
pub struct Table<'a> {
    pub competitors: &'a [Box<dyn Competitor>],
    lines: Vec<String>,
}

impl<'a> Table<'a> {
    pub fn new(found: &'a Competitors) -> Self {
        let competitors = found.all.as_slice();
        let cores = thread::available_parallelism().map_or(0, usize::from);
        let kernel = said(Command::new("uname").arg("-srm"));
        // More waiters than that cannot all be woken by what happens to a file.
        let watches = fs::read_to_string("/proc/sys/fs/inotify/max_user_instances");
        let watches = watches.map_or("unknown".to_owned(), |text| text.trim().to_owned());
        let versions = competitors.iter().map(|c| c.version());
        let versions: Vec<String> = versions.chain(found.missing.iter().cloned()).collect();
        let heads = competitors.iter().map(|c| format!("{:>11}", c.name()));
        let heads = heads.collect::<Vec<_>>().concat();
        let lines = vec![
            format!("{cores} cores, {kernel}; {}", versions.join(", ")),
            format!("inotify instances that a user may have: {watches}\n"),
            format!("{:<38}{heads}{:>9}  aim", "", "/ flock"),
        ];
        Self { competitors, lines }
    }

    pub fn scenes<'p>(&self, programs: &'p Programs) -> Vec<Scene<'p>> {
        let each = self.competitors.iter();
        each.map(|_| Scene::new(programs)).collect()
    }

    pub fn title(&mut self, title: &str) {
        self.lines.push(format!("\n{title}"));
    }

    /// Adds a line: one value for each competitor, and what is wanted of ours.
    pub fn figure(&mut self, what: &str, values: &[f64], aims: &[Aim]) {
        let names = self.competitors.iter().map(|c| c.name());
        let flock = names.zip(values).find(|(name, _)| *name == "flock");
        let ratio = flock.map(|(_, theirs)| values[0] / theirs);
        let ratio = ratio.filter(|ratio| ratio.is_finite());
        let cells = values.iter().map(|value| format!("{value:.2}"));
        self.line(what, cells, values[0], ratio, aims);
    }

    /// The same for counts, which nobody wants to divide.
    pub fn counts(&mut self, what: &str, counts: &[usize], aims: &[Aim]) {
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

    pub fn print(&self) {
        for line in &self.lines {
            println!("{line}");
        }
    }
}
