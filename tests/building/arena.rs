//! A critical section for k at once: one file for each of k places, which only one can make.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::chance::Chance;

/// The place that only k may be in.
pub struct Arena {
    dir: PathBuf,
    places: usize,
}

impl Arena {
    /// An empty arena for so many.
    pub fn new(dir: &Path, places: usize) -> Self {
        std::fs::write(dir.join("log"), "").expect("a log");
        Self {
            dir: dir.to_owned(),
            places,
        }
    }

    /// Notes a line; begun with `FAULT`, it is something that must not happen.
    pub fn note(&self, line: &str) {
        let mut log = OpenOptions::new()
            .append(true)
            .open(self.dir.join("log"))
            .expect("the log");
        log.write_all(format!("{line}\n").as_bytes())
            .expect("a line");
    }

    /// The lines noted so far.
    pub fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.dir.join("log")).expect("the log");
        text.lines().map(str::to_owned).collect()
    }

    /// Goes in, works for a moment, and is out again when this returns.
    pub fn visit(&self, id: &str, chance: &mut Chance) {
        let place = (0..self.places).map(|number| self.dir.join(format!("place-{number}")));
        let place = place.into_iter().find(|path| {
            let made = OpenOptions::new().write(true).create_new(true).open(path);
            made.is_ok_and(|mut file| file.write_all(id.as_bytes()).is_ok())
        });
        let Some(place) = place else {
            self.note(&format!("FAULT {id} met {} inside", self.places));
            return;
        };
        self.note(&format!("lap {id}"));
        chance.pause(4);
        if std::fs::read_to_string(&place).ok().as_deref() != Some(id) {
            self.note(&format!("FAULT {id} is not alone in its place"));
        }
        std::fs::remove_file(place).expect("its place");
    }

    /// The same as the body of a shell script, for the number of a slot is a place: two of the
    /// same number meet there, and a number past k is a fault by itself. The kernel ends the lock
    /// on a place with the process that has it, however that ends.
    pub fn script(&self) -> String {
        let (at, places) = (self.dir.display(), self.places);
        format!(
            "fault() {{ echo \"FAULT $GIT_LOCKS_BUILD_ID in $GIT_LOCKS_BUILD_SLOT: $1\" >>'{at}/log'; }}\n\
             [ \"$GIT_LOCKS_BUILD_SLOT\" -ge 1 ] && [ \"$GIT_LOCKS_BUILD_SLOT\" -le {places} ] || fault number\n\
             exec 9>>'{at}/slot-'\"$GIT_LOCKS_BUILD_SLOT\"\n\
             flock -n 9 || fault double\n\
             echo \"lap $GIT_LOCKS_BUILD_ID\" >>'{at}/log'\n\
             sleep 0.00$(( $$ % 10 )) 9>&-\n"
        )
    }

    /// How often somebody was inside.
    pub fn laps(&self) -> usize {
        self.log()
            .iter()
            .filter(|line| line.starts_with("lap "))
            .count()
    }

    /// Fails the test when anything went wrong.
    #[track_caller]
    pub fn verdict(&self) {
        let log = self.log();
        let faults: Vec<&String> = log
            .iter()
            .filter(|line| line.starts_with("FAULT"))
            .collect();
        assert!(
            faults.is_empty(),
            "{} faults: {:#?}",
            faults.len(),
            &faults[..faults.len().min(10)]
        );
    }
}
