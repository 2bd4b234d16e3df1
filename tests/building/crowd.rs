//! A crowd at once, over three repositories: they go in the order in which they came, and never more
//! than there are slots.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::builds::{Queue, plan_of};
use crate::common::fixture::tree;
use crate::common::turns::{Running, waits_for};
use crate::common::{DEADLINE, Env};

/// How many are on their way into the queue at once.
const ON_THE_WAY: usize = 12;

/// What everybody does. A directory for each slot betrays two of one number, and all of them
/// together one too many.
fn script(dir: &Path, slots: usize) -> String {
    let at = dir.display();
    format!(
        "mkdir '{at}/slot-'\"$GIT_LOCKS_BUILD_SLOT\" || echo \"double $1\" >>'{at}/log'\n\
         [ \"$GIT_LOCKS_BUILD_SLOT\" -le {slots} ] || echo \"many $1\" >>'{at}/log'\n\
         echo \"in $1\" >>'{at}/log'\n\
         rmdir '{at}/slot-'\"$GIT_LOCKS_BUILD_SLOT\" || echo \"double $1\" >>'{at}/log'\n"
    )
}

struct Crowd {
    env: Env,
    repos: Vec<PathBuf>,
    dir: PathBuf,
    queue: Queue,
    slots: usize,
    many: usize,
    all: Vec<Running>,
}

impl Crowd {
    /// Everybody waits, in `self.order()`; keepers have all slots.
    fn gather(many: usize, slots: usize) -> Self {
        let env = Env::new();
        let repos: Vec<PathBuf> = ["one", "two", "three"].map(|name| env.init(name)).to_vec();
        let dir = env.mkdir("arena");
        std::fs::write(dir.join("script"), script(&dir, slots)).expect("a script");
        std::fs::write(dir.join("log"), "").expect("a log");
        let queue = env.builds();
        let mut crowd = Self {
            env,
            repos,
            dir,
            queue,
            slots,
            many,
            all: Vec::new(),
        };
        for number in 0..slots {
            crowd.keeper("acquire", number);
        }
        while crowd.all.len() < many {
            waits_for("a place", DEADLINE * 2, || {
                let queued = crowd.queue.list("waiting").len();
                (queued + ON_THE_WAY > crowd.all.len()).then_some(())
            });
            crowd.all.push(crowd.member(crowd.all.len()));
        }
        waits_for("everybody's place", DEADLINE * 2, || {
            (crowd.queue.list("waiting").len() == many).then_some(())
        });
        crowd
    }

    fn keeper(&self, verb: &str, number: usize) {
        let args = format!("{verb} --max-slots {} --as keeper-{number}", self.slots);
        self.env.build(&self.repos[0], &args).exits(0);
    }

    fn member(&self, number: usize) -> Running {
        let id = format!("w{number}");
        let call = self.env.call(&self.repos[number % self.repos.len()]);
        let call = call.args(&format!(
            "-q build run --max-slots {} --as {id}",
            self.slots
        ));
        let call = call.cmd([
            "sh".as_ref(),
            self.dir.join("script").as_os_str(),
            id.as_ref(),
        ]);
        Running::start_into(call.into_command(), Stdio::null())
    }

    fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.dir.join("log")).expect("the log");
        text.lines().map(str::to_owned).collect()
    }

    /// The keepers let go, and everybody has a turn; in which order they had it.
    fn drain(&mut self) -> Vec<String> {
        let start = Instant::now();
        for number in 0..self.slots {
            self.keeper("release", number);
        }
        // Nobody is stuck as long as they go on.
        let mut before = 0;
        while before < self.many {
            before = waits_for("the next turn", DEADLINE, || {
                let count = self.log().len();
                (count > before).then_some(count)
            });
        }
        for running in &mut self.all {
            let ended = running.wait(DEADLINE);
            assert_eq!(ended.code, Some(0), "{ended:#?}");
            assert_eq!(ended.stderr, "");
        }
        eprintln!(
            "{} through {} slots in {:?}",
            self.many,
            self.slots,
            start.elapsed()
        );
        assert!(start.elapsed() < Duration::from_secs(240), "wedged");
        self.queue.is_empty();
        let log = self.log();
        assert!(log.iter().all(|line| line.starts_with("in ")), "{log:#?}");
        log.iter()
            .map(|line| line["in ".len()..].to_owned())
            .collect()
    }

    /// Every grant there was is told once in the timeline of its own repository.
    fn each_was_told_once(&self, ids: &[String]) {
        for (number, repo) in self.repos.iter().enumerate() {
            let mut told = Vec::new();
            for (_, bytes) in tree(&repo.join(".plan/logs")) {
                let text = String::from_utf8(bytes).expect("UTF-8");
                let acquired = text
                    .lines()
                    .filter_map(|line| line.split_once("(build:acquired) "));
                told.extend(acquired.map(|(_, id)| id.to_owned()));
            }
            // Who was given a slot by one of another repository is told there too.
            let is_of = |id: &str| {
                let name = id.strip_prefix('w').and_then(|rest| rest.split(':').next());
                let member = name.and_then(|name| name.parse::<usize>().ok());
                member.is_some_and(|member| member % self.repos.len() == number)
            };
            told.retain(|id| is_of(id));
            told.sort();
            let mut wanted: Vec<&String> = ids.iter().filter(|id| is_of(id)).collect();
            wanted.sort();
            assert_eq!(told.iter().collect::<Vec<_>>(), wanted);
        }
    }
}

#[test]
fn two_hundred_go_one_by_one_in_the_order_in_which_they_came() {
    let mut crowd = Crowd::gather(200, 1);
    let ids = crowd.queue.ids("waiting");
    let order: Vec<String> = ids.iter().map(|id| plan_of(id)).collect();
    assert_eq!(crowd.drain(), order);
    crowd.each_was_told_once(&ids);
    let released = crowd.queue.list("run_log");
    let last: Vec<&str> = released
        .iter()
        .filter_map(|line| line["id"].as_str())
        .collect();
    assert_eq!(last, ids[100..]);
}

#[test]
fn sixty_go_through_two_slots() {
    let mut crowd = Crowd::gather(60, 2);
    let ids = crowd.queue.ids("waiting");
    let order: Vec<String> = ids.iter().map(|id| plan_of(id)).collect();
    let went = crowd.drain();
    crowd.each_was_told_once(&ids);
    // One that was given its slot first may be noticed second, but nobody is given one before
    // another has let go: whoever came so much later is not before it.
    for (place, name) in went.iter().enumerate() {
        let came = order
            .iter()
            .position(|other| other == name)
            .expect("one of them");
        assert!(
            place.abs_diff(came) < 2 + 1,
            "{name} came as {came} and went as {place}"
        );
    }
    let mut all = went;
    all.sort();
    let mut wanted = order;
    wanted.sort();
    assert_eq!(all, wanted, "each once");
}
