//! The command line as plain data, for what describes it: manual pages and completions.
//!
//! What is hidden is left out. The options that every command takes are those of the program itself
//! and are not repeated at the commands.

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::Cli;

/// A command, or the program itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verb {
    /// Its name.
    pub name: String,
    /// What it does, in a line.
    pub about: String,
    /// Its options, in the order of the definitions.
    pub flags: Vec<Flag>,
    /// What it takes besides.
    pub operands: Vec<Operand>,
    /// The commands below it.
    pub verbs: Vec<Verb>,
}

/// An option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The name by which the program knows it.
    pub id: String,
    /// `C` of `-C`.
    pub short: Option<char>,
    /// `plan-id` of `--plan-id`, and its other names.
    pub long: Vec<String>,
    /// What it does.
    pub help: String,
    /// The value that it takes.
    pub value: Option<Value>,
    /// Whether it must be given.
    pub required: bool,
    /// Whether it may be given again.
    pub repeats: bool,
}

/// An operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The name by which the program knows it.
    pub id: String,
    /// What it is.
    pub help: String,
    /// What is put there.
    pub value: Value,
    /// Whether it must be there.
    pub required: bool,
    /// Whether there may be several.
    pub repeats: bool,
    /// Whether it follows two dashes.
    pub last: bool,
}

/// What an option takes, or an operand is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The word that stands for it in texts.
    pub name: String,
    /// The words that it may be, and what they mean; none where it may be anything.
    pub words: Vec<(String, String)>,
    /// Whether the option may also go without it.
    pub optional: bool,
    /// Whether it follows an equals sign.
    pub attached: bool,
    /// What it is where nothing is said.
    pub default: Option<String>,
}

impl Verb {
    /// The command at the end of `names` below this one.
    pub fn find(&self, names: &[&str]) -> Option<&Self> {
        names.iter().try_fold(self, |verb, name| {
            verb.verbs.iter().find(|below| below.name == *name)
        })
    }

    /// The commands below this one that do something themselves, with the names that lead to each.
    pub fn leaves(&self) -> Vec<(Vec<&str>, &Self)> {
        let below = self.verbs.iter().flat_map(|verb| {
            let own = verb.verbs.is_empty().then(|| (Vec::new(), verb));
            let found = own.into_iter().chain(verb.leaves());
            found.map(|(mut names, leaf)| {
                names.insert(0, verb.name.as_str());
                (names, leaf)
            })
        });
        below.collect()
    }
}

impl Flag {
    /// The ways to write it: `-q`, `--quiet`.
    pub fn spellings(&self) -> impl Iterator<Item = String> {
        let short = self.short.map(|letter| format!("-{letter}"));
        let long = self.long.iter().map(|name| format!("--{name}"));
        short.into_iter().chain(long)
    }
}

/// The whole command line.
pub fn outline() -> Verb {
    let mut program = verb(&Cli::command());
    "git locks".clone_into(&mut program.name);
    program
        .flags
        .push(switch("help", 'h', "Say what the command takes"));
    program
        .flags
        .push(switch("version", 'V', "Print the version"));
    program
}

fn switch(name: &str, letter: char, help: &str) -> Flag {
    Flag {
        id: name.to_owned(),
        short: Some(letter),
        long: vec![name.to_owned()],
        help: help.to_owned(),
        value: None,
        required: false,
        repeats: false,
    }
}

fn verb(command: &Command) -> Verb {
    let shown = || command.get_arguments().filter(|arg| !arg.is_hide_set());
    let below = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    Verb {
        name: command.get_name().to_owned(),
        about: command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default(),
        flags: shown()
            .filter(|arg| !arg.is_positional())
            .map(flag)
            .collect(),
        operands: shown()
            .filter(|arg| arg.is_positional())
            .map(operand)
            .collect(),
        verbs: below.map(verb).collect(),
    }
}

fn flag(arg: &Arg) -> Flag {
    let aliases = arg.get_visible_aliases().unwrap_or_default();
    let long = arg.get_long().into_iter().chain(aliases);
    Flag {
        id: arg.get_id().to_string(),
        short: arg.get_short(),
        long: long.map(str::to_owned).collect(),
        help: help(arg),
        value: arg.get_action().takes_values().then(|| value(arg)),
        required: arg.is_required_set(),
        repeats: repeats(arg),
    }
}

fn operand(arg: &Arg) -> Operand {
    Operand {
        id: arg.get_id().to_string(),
        help: help(arg),
        value: value(arg),
        required: arg.is_required_set(),
        repeats: repeats(arg),
        last: arg.is_last_set(),
    }
}

fn help(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

fn repeats(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append | ArgAction::Count)
}

fn value(arg: &Arg) -> Value {
    let name = arg.get_value_names().and_then(|names| names.first());
    let name = name.map_or_else(|| arg.get_id().as_str().to_uppercase(), ToString::to_string);
    let words = arg.get_possible_values().into_iter();
    let words = words.filter(|word| !word.is_hide_set()).map(|word| {
        let meaning = word.get_help().map(ToString::to_string);
        (word.get_name().to_owned(), meaning.unwrap_or_default())
    });
    let default = arg.get_default_values().first();
    Value {
        name,
        words: words.collect(),
        optional: arg
            .get_num_args()
            .is_some_and(|range| range.min_values() == 0),
        attached: arg.is_require_equals_set(),
        default: default.map(|word| word.to_string_lossy().into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_leaf_is_found_and_nothing_hidden() {
        let program = outline();
        let leaves = program.leaves();
        let names: Vec<String> = leaves.iter().map(|(names, _)| names.join(" ")).collect();
        for name in [
            "merge acquire",
            "merge rate-window claim",
            "worktree cleanup",
            "status",
        ] {
            assert!(
                names.iter().any(|found| found == name),
                "{name} in {names:?}"
            );
        }
        for hidden in ["become", "complete"] {
            assert!(!names.iter().any(|found| found == hidden), "{hidden}");
        }
        assert!(program.find(&["merge", "acquire"]).is_some());
        assert!(program.find(&["merge", "nothing"]).is_none());
    }

    #[test]
    fn an_option_is_told_as_it_is_defined() {
        let program = outline();
        let acquire = program.find(&["merge", "acquire"]).expect("a verb");
        let named = |id: &str| {
            acquire
                .flags
                .iter()
                .find(|flag| flag.id == id)
                .expect("a flag")
        };
        let plan_id: Vec<String> = named("plan_id").spellings().collect();
        assert_eq!(plan_id, ["--plan-id", "--as"]);
        let wait = named("wait").value.as_ref().expect("a value");
        assert!(wait.optional && wait.attached);
        assert_eq!(wait.name, "DURATION");
        assert!(named("no_wait").value.is_none());
        let run = program.find(&["merge", "run"]).expect("a verb");
        assert!(
            run.operands
                .iter()
                .any(|operand| operand.last && operand.required)
        );
        let loss = run
            .flags
            .iter()
            .find(|flag| flag.id == "on_loss")
            .expect("a flag");
        let words = &loss.value.as_ref().expect("a value").words;
        assert_eq!(words.len(), 2);
        assert!(words.iter().all(|(_, meaning)| !meaning.is_empty()));
        assert!(
            acquire.flags.iter().all(|flag| flag.id != "format"),
            "global ones are the program's"
        );
    }
}
