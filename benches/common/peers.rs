//! Other programs that make commands take turns, with one slot or with more.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;

use super::crowd::{Competitor, Member};
use super::{Programs, Scene};

/// The first line that `command` prints.
pub fn said(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().unwrap_or_default().to_owned()
}

/// Ours, then the peers that are here; and what is to be said of those that are not.
pub struct Competitors {
    pub all: Vec<Box<dyn Competitor>>,
    pub missing: Vec<String>,
}

impl Competitors {
    pub fn new(ours: impl Competitor + 'static) -> Self {
        Self {
            all: vec![Box::new(ours)],
            missing: Vec::new(),
        }
    }

    /// Adds a peer whose version begins with `begins`: another program may bear its name.
    pub fn peer<P: Competitor + 'static>(&mut self, name: &str, begins: &str, peer: Option<P>) {
        match peer {
            Some(peer) if peer.version().starts_with(begins) => self.all.push(Box::new(peer)),
            Some(_) => self
                .missing
                .push(format!("{name}: another program of that name")),
            None => self.missing.push(format!("{name}: not installed")),
        }
    }
}

/// `flock` of util-linux: a file for each slot, which waiters are dealt in turn.
pub struct Flock {
    program: PathBuf,
    slots: usize,
}

impl Flock {
    pub fn find(programs: &Programs, slots: usize) -> Option<Self> {
        let program = programs.flock.clone()?;
        Some(Self { program, slots })
    }

    fn file(&self, scene: &Scene<'_>, arrival: usize) -> PathBuf {
        scene.env.path(format!("flock-{}", arrival % self.slots))
    }
}

impl Competitor for Flock {
    fn name(&self) -> &'static str {
        "flock"
    }

    fn version(&self) -> String {
        said(Command::new(&self.program).arg("--version"))
    }

    fn waiter(&self, scene: &Scene<'_>, arrival: usize) -> Command {
        let mut command = scene.command(&self.program, "");
        command.arg(self.file(scene, arrival));
        command
    }

    fn stands(&self, scene: &Scene<'_>, member: &Member) -> bool {
        let Ok(file) = fs::metadata(self.file(scene, member.arrival)) else {
            return false;
        };
        let (pid, inode) = (member.pid().to_string(), format!(":{}", file.ino()));
        let locks = fs::read_to_string("/proc/locks").expect("/proc/locks");
        locks.lines().any(|line| {
            // `1: -> FLOCK  ADVISORY  WRITE 1234 08:02:131073 0 EOF`
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            matches!(fields[..], [_, "->", "FLOCK", _, _, waiter, place, ..]
                if waiter == pid && place.ends_with(&inode))
        })
    }
}

/// The crate `heavy`, a lock for which waiters ask every so often.
pub struct Heavy {
    program: PathBuf,
    slots: usize,
}

impl Heavy {
    pub fn find(programs: &Programs, slots: usize) -> Option<Self> {
        let program = programs.heavy.clone()?;
        Some(Self { program, slots })
    }
}

impl Competitor for Heavy {
    fn name(&self) -> &'static str {
        "heavy"
    }

    fn version(&self) -> String {
        said(Command::new(&self.program).arg("--version"))
    }

    fn waiter(&self, scene: &Scene<'_>, _arrival: usize) -> Command {
        let mut command = scene.command(&self.program, &format!("--slots {} --dir", self.slots));
        command.arg(scene.env.path("heavy")).arg("--");
        command
    }

    /// It has no line. It says so once it has asked in vain for the first time.
    fn stands(&self, _scene: &Scene<'_>, member: &Member) -> bool {
        fs::metadata(&member.errors).is_ok_and(|file| file.len() > 0)
    }
}

/// GNU `sem`, for which waiters ask every so often too.
pub struct Sem {
    program: PathBuf,
    slots: usize,
}

impl Sem {
    pub fn find(programs: &Programs, slots: usize) -> Option<Self> {
        let program = programs.sem.clone()?;
        Some(Self { program, slots })
    }
}

impl Competitor for Sem {
    fn name(&self) -> &'static str {
        "sem"
    }

    fn version(&self) -> String {
        said(Command::new(&self.program).arg("--version"))
    }

    fn waiter(&self, scene: &Scene<'_>, _arrival: usize) -> Command {
        scene.command(&self.program, &format!("--fg --id slots -j{}", self.slots))
    }

    /// It has no line and says nothing. While it makes ready it computes, or waits for a child.
    fn stands(&self, _scene: &Scene<'_>, member: &Member) -> bool {
        member.sleeps() && !member.has_children()
    }
}
