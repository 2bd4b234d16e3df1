//! A person who types at a shell's prompt on a terminal of its own, and presses the tabulator.

use std::thread;
use std::time::{Duration, Instant};

use crate::bash;
use crate::common::fixture::worktree;
use crate::common::turns::{Terminal, waits_for};
use crate::common::{DEADLINE, can_run, required};
use crate::ground::{Ground, path_with_us, source};

const TAB: &str = "\t";
const TO_THE_START: &str = "\x01";
const CTRL_C: &str = "\x03";

/// What must never run: a file of this name would be there.
const TRAP: &str = "pwned";

/// Which shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bash,
    Zsh,
    Fish,
}

pub struct Typist<'a> {
    terminal: Terminal,
    ground: &'a Ground,
    count: usize,
}

impl<'a> Typist<'a> {
    /// Starts the shell, with its completions loaded.
    pub fn start(ground: &'a Ground, kind: Kind) -> Self {
        let (env, completions) = (&ground.env, source().join("completions"));
        let completions = completions.display();
        let (shell, setup) = match kind {
            Kind::Bash => {
                let git = bash::of_git().expect("git's completion");
                let setup = format!(". '{}'; . '{completions}/git-locks.bash'", git.display());
                ("bash --norc --noprofile -i", setup)
            }
            Kind::Zsh => {
                let setup = format!(
                    "fpath=('{completions}' $fpath); autoload -U compinit; compinit -u -D; \
                     zstyle ':completion:*' menu no; LISTMAX=0; bindkey '^I' complete-word; bindkey -e"
                );
                ("zsh -f -i", setup)
            }
            Kind::Fish => {
                let setup = format!(
                    "set -g fish_autosuggestion_enabled 0; source '{completions}/git-locks.fish'"
                );
                ("fish -i", setup)
            }
        };
        let path = path_with_us();
        let line = format!(
            "stty cols 300; PATH='{}'; export PATH; exec {shell}",
            path.display()
        );
        let terminal = Terminal::start(env, &ground.repo, &line);
        let mut typist = Self {
            terminal,
            ground,
            count: 0,
        };
        // The prompt may come late, and what is typed before it may be lost.
        typist.sync();
        typist.terminal.types(&format!("{setup}\n"));
        typist.sync();
        typist
    }

    /// Waits until the shell has done all that was typed.
    fn sync(&mut self) {
        self.count += 1;
        let word = format!("now{}done", self.count);
        waits_for(&word, DEADLINE, || {
            let line = format!("echo now{}''done\n", self.count);
            self.terminal.types(&line);
            a_while(|| self.terminal.raw().contains(&word).then_some(()))
        });
    }

    /// Types `line` and a tabulator, and gives back the words that the shell makes of it.
    fn completed(&mut self, line: &str) -> Vec<String> {
        let words = waits_for(&format!("the words of {line:?}"), DEADLINE, || {
            let before = self.terminal.raw().len();
            self.terminal.types(&format!("{line}{TAB}"));
            self.terminal
                .types(&format!("{TO_THE_START}printf '<%s>' \n"));
            let words = a_while(|| printed(self.terminal.raw().get(before..)?));
            if words.is_none() {
                // Typed before the shell was ready for it.
                self.terminal.types(CTRL_C);
            }
            words
        });
        let whole = words.rfind('>').map_or("", |end| &words[..end]);
        let inner = whole.strip_prefix('<').unwrap_or(whole);
        inner.split("><").map(str::to_owned).collect()
    }

    /// Fails the test unless `line` is completed to these words.
    #[track_caller]
    pub fn words(&mut self, line: &str, expected: &[&str]) {
        let mut found = self.completed(line);
        // A directory may be followed by a slash.
        if let Some(last) = found.last_mut() {
            *last = last.trim_end_matches('/').to_owned();
        }
        assert_eq!(found, expected, "{line:?}");
    }

    /// Fails the test unless the shell lists `words` for `line`.
    #[track_caller]
    pub fn lists(&mut self, line: &str, words: &str) {
        self.terminal.types(&format!("{line}{TAB}"));
        self.terminal.shows(words);
        self.terminal.types(CTRL_C);
        self.sync();
    }

    /// Completes what there is to complete, called either way, and what might do harm.
    pub fn completes_all(&mut self) {
        let entry = self.ground.entry();
        let evil = format!("$(touch {TRAP}) `touch {TRAP}`; touch {TRAP} 'x' \"y\" \\z *&|~!");
        let session = format!("evil {evil}");
        self.ground.session(&session);
        let tree = worktree(
            &self.ground.env,
            &self.ground.repo,
            format!("tree {}", evil.replace('/', "_")),
        );
        let bot = format!("bot {evil}");
        let claim = self.ground.env.call(&self.ground.repo);
        let claim = claim.args("merge rate-window claim --as alpha --bot-kind");
        claim.arg(&bot).run().exits(0);
        // What a branch may be called.
        let branch = format!("evil/$(touch${{IFS}}{TRAP})`{TRAP}`;'\"&|{{a,b}}<x>!");
        let create = ["branch", &branch];
        self.ground.env.git_args(&self.ground.repo, &create);
        let root = self.ground.env.root().join("tree").display().to_string();
        for program in [&["git", "locks"][..], &["git-locks"]] {
            let mut check = |line: &str, expected: &[&str]| {
                let all = [program, expected].concat();
                self.words(&format!("{} {line}", program.join(" ")), &all);
            };
            check("mer", &["merge"]);
            check("merge acq", &["merge", "acquire"]);
            check(
                "merge release --as al",
                &["merge", "release", "--as", "alpha"],
            );
            check(
                "merge check --format=js",
                &["merge", "check", "--format=json"],
            );
            check(
                "merge check --format js",
                &["merge", "check", "--format", "json"],
            );
            check(
                "build release --id gam",
                &["build", "release", "--id", &entry],
            );
            check(
                "build release --id gamma:",
                &["build", "release", "--id", &entry],
            );
            check(
                "session heartbeat --session-id ev",
                &["session", "heartbeat", "--session-id", &session],
            );
            check(
                "hook install --protect ev",
                &["hook", "install", "--protect", &branch],
            );
            check(
                "merge rate-window check --bot-kind bo",
                &["merge", "rate-window", "check", "--bot-kind", &bot],
            );
            for (line, word) in [
                ("log --lock rate", "rate-window"),
                ("log --event reap", "reaped-stale"),
                ("session acquire --mode house", "housekeeping"),
            ] {
                let mut words: Vec<&str> = line.split(' ').collect();
                words.pop();
                words.push(word);
                check(line, &words);
            }
            check(&format!("-C {root}"), &["-C", &tree.display().to_string()]);
        }
        for dir in [&self.ground.repo, self.ground.env.root()] {
            assert!(!dir.join(TRAP).exists(), "what stands in a file was run");
        }
    }
}

/// What was printed, whole, of the words of a line.
fn printed(shown: &str) -> Option<String> {
    let first = ["<git>", "<git-locks>"];
    let at = first.iter().find_map(|first| shown.find(first))?;
    let from = &shown[at..];
    let end = from.find(['\r', '\n', '\u{1b}'])?;
    Some(from[..end].to_owned())
}

/// What `found` finds, within a few seconds.
fn a_while<T>(found: impl Fn() -> Option<T>) -> Option<T> {
    let end = Instant::now() + Duration::from_secs(5);
    while Instant::now() < end {
        if let Some(it) = found() {
            return Some(it);
        }
        thread::sleep(Duration::from_millis(20));
    }
    None
}

#[test]
fn bash_on_a_terminal() {
    let test = "typing::bash_on_a_terminal";
    let possible = required(test, "bash")
        && required(test, "script")
        && can_run(
            test,
            bash::of_git().is_some(),
            "needs git's completion of bash",
        );
    if possible {
        let ground = Ground::new();
        Typist::start(&ground, Kind::Bash).completes_all();
    }
}
