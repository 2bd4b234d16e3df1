//! Reads the words of a command line up to the one that is being typed.
//!
//! Lenient: a word that makes no sense is passed over, but after a word that is no command, where one
//! should stand, nothing makes sense any more.

use crate::cli::outline::{Flag, Operand, Value, Verb};
use crate::event_log::filter::{EVENTS, LOCKS};
use crate::locks::session::{MODES, ModeClass};

use super::{Asked, Besides, Candidate, Live};

/// Where the words have led to.
pub(super) struct Reader<'a> {
    program: &'a Verb,
    verb: &'a Verb,
    names: Vec<&'a str>,
    given: Vec<&'a str>,
    operands: usize,
    /// The option whose value is next.
    open: Option<&'a Flag>,
    command: bool,
    /// Whether there is no command of the name that stands where one should.
    lost: bool,
    directories: Vec<String>,
}

impl<'a> Reader<'a> {
    /// At the beginning of a command line of `program`.
    pub fn new(program: &'a Verb) -> Self {
        Self {
            program,
            verb: program,
            names: Vec::new(),
            given: Vec::new(),
            operands: 0,
            open: None,
            command: false,
            lost: false,
            directories: Vec::new(),
        }
    }

    fn flags(&self) -> impl Iterator<Item = &'a Flag> + use<'a> {
        let of_all = if self.names.is_empty() {
            [].iter()
        } else {
            self.program.flags.iter()
        };
        // The version is the program's alone.
        self.verb
            .flags
            .iter()
            .chain(of_all.filter(|flag| flag.id != "version"))
    }

    fn long(&self, name: &str) -> Option<&'a Flag> {
        self.flags()
            .find(|flag| flag.long.iter().any(|long| long == name))
    }

    /// Takes a word that is complete.
    pub fn read(&mut self, word: &str) {
        if self.command {
            return;
        }
        if let Some(flag) = self.open.take()
            && !(is_optional(flag) && word.starts_with('-'))
        {
            return self.note(flag, word);
        }
        if word == "--" {
            self.command = true;
        } else if let Some(option) = word.strip_prefix("--") {
            let (name, value) = option
                .split_once('=')
                .map_or((option, None), |(name, value)| (name, Some(value)));
            if let Some(flag) = self.long(name) {
                self.take(flag, value);
            }
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            self.read_letters(letters);
        } else if let Some(below) = self.verb.verbs.iter().find(|below| below.name == word) {
            self.verb = below;
            self.names.push(&below.name);
        } else if !self.verb.verbs.is_empty() {
            self.lost = true;
        } else {
            self.operands += 1;
        }
    }

    fn read_letters(&mut self, letters: &str) {
        for (at, letter) in letters.char_indices() {
            let Some(flag) = self.flags().find(|flag| flag.short == Some(letter)) else {
                return;
            };
            let rest = &letters[at + letter.len_utf8()..];
            let takes = flag.value.is_some();
            self.take(flag, Some(rest).filter(|rest| takes && !rest.is_empty()));
            if takes {
                return;
            }
        }
    }

    fn take(&mut self, flag: &'a Flag, value: Option<&str>) {
        self.given.push(&flag.id);
        match (&flag.value, value) {
            (Some(_), Some(value)) => self.note(flag, value),
            (Some(takes), None) if !takes.attached => self.open = Some(flag),
            _ => {}
        }
    }

    fn note(&mut self, flag: &Flag, value: &str) {
        if flag.id == "directory" {
            self.directories.push(value.to_owned());
        }
    }

    /// What may stand in the place of a word of which `typed` is typed already.
    pub fn answer(self, typed: &str, pages: &[String]) -> Asked {
        let mut asked = Asked {
            known: Vec::new(),
            live: None,
            besides: Besides::Nothing,
            before: String::new(),
            typed: typed.to_owned(),
            directories: self.directories.clone(),
        };
        if self.lost {
            return asked;
        }
        if self.command {
            if self.verb.operands.iter().any(|operand| operand.last) {
                asked.besides = Besides::Command;
            }
            return asked;
        }
        if let Some(flag) = self.open
            && let Some(value) = &flag.value
            && !(value.optional && typed.starts_with('-'))
        {
            self.values(&flag.id, value, pages, &mut asked);
            return asked;
        }
        let option = typed
            .strip_prefix("--")
            .and_then(|option| option.split_once('='));
        if let Some((name, _)) = option {
            if let Some(flag) = self.long(name)
                && let Some(value) = &flag.value
            {
                asked.before = format!("--{name}=");
                self.values(&flag.id, value, pages, &mut asked);
            }
        } else if typed.starts_with('-') {
            asked.known.extend(self.options());
        } else {
            self.next_words(pages, &mut asked);
        }
        asked
    }

    /// What is no option: commands, operands; else options, rather than nothing.
    fn next_words(&self, pages: &[String], asked: &mut Asked) {
        let verbs = self.verb.verbs.iter();
        asked
            .known
            .extend(verbs.map(|verb| Candidate::new(&verb.name, &verb.about)));
        let plain: Vec<&Operand> = self
            .verb
            .operands
            .iter()
            .filter(|operand| !operand.last)
            .collect();
        let repeated = plain.last().filter(|operand| operand.repeats);
        if let Some(operand) = plain.get(self.operands).or(repeated) {
            self.values(&operand.id, &operand.value, pages, asked);
        }
        if asked.known.is_empty() && asked.live.is_none() && asked.besides == Besides::Nothing {
            asked.known.extend(self.options());
        }
    }

    fn options(&self) -> impl Iterator<Item = Candidate> {
        let fresh = self
            .flags()
            .filter(|flag| flag.repeats || !self.given.contains(&flag.id.as_str()));
        let spelled = fresh.flat_map(|flag| {
            flag.spellings()
                .map(|word| Candidate::new(word, &flag.help))
        });
        let command = self.verb.operands.iter().filter(|operand| operand.last);
        spelled.chain(command.map(|operand| Candidate::new("--", &operand.help)))
    }

    /// What may be given as `value` of what goes by `id`.
    fn values(&self, id: &str, value: &Value, pages: &[String], asked: &mut Asked) {
        let words = value.words.iter();
        asked
            .known
            .extend(words.map(|(word, about)| Candidate::new(word, about)));
        let family = self.names.first().copied().unwrap_or_default();
        match (family, id) {
            (_, "directory") => {
                asked.live = Some(Live::Worktrees);
                asked.besides = Besides::Directories;
            }
            ("merge", "plan_id") => asked.live = Some(Live::Mergers),
            ("build", "plan_id") => asked.live = Some(Live::Builders),
            ("build", "id") => asked.live = Some(Live::Entries),
            ("log", "id") => asked.live = Some(Live::Participants),
            ("log", "lock") => {
                let locks = LOCKS.iter();
                asked
                    .known
                    .extend(locks.map(|lock| Candidate::new(*lock, "")));
            }
            ("log", "event") => {
                let events = EVENTS.iter();
                let told = events.map(|(event, about)| Candidate::new(*event, *about));
                asked.known.extend(told);
            }
            ("hook", "protect") => asked.live = Some(Live::Branches),
            ("session", "mode") => {
                let modes = MODES.iter();
                asked
                    .known
                    .extend(modes.map(|(mode, class)| told(mode, *class)));
            }
            (_, "session_id") => asked.live = Some(Live::Sessions),
            (_, "bot_kind") => asked.live = Some(Live::Bots),
            ("man", "install") => asked.besides = Besides::Directories,
            ("man", "page") => asked
                .known
                .extend(pages.iter().map(|page| Candidate::new(page, ""))),
            _ => {}
        }
    }
}

fn is_optional(flag: &Flag) -> bool {
    flag.value.as_ref().is_some_and(|value| value.optional)
}

/// A mode, and what it means.
fn told(mode: &str, class: ModeClass) -> Candidate {
    let about = match class {
        ModeClass::Exclusive => "wants to be alone in the repository",
        ModeClass::Parallel | ModeClass::Unknown => "goes beside others, in worktrees of their own",
        ModeClass::AlwaysOk => "only reads",
    };
    Candidate::new(mode, about)
}
