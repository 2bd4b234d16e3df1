//! Commands that are only mentioned: they exist, and so do their flags.

use std::collections::{BTreeSet, HashMap};

use crate::common::{Call, Env};
use crate::pages::{all, read, root};

/// What stands between backticks on a line, and in the two lines together where it is broken.
fn spans(text: &str) -> Vec<&str> {
    let mut parts = text.split('`');
    let mut found = Vec::new();
    while let (Some(_), Some(inside)) = (parts.next(), parts.next()) {
        found.push(inside);
    }
    found
}

/// The calls of the program in the lines of a block of shell.
fn calls(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("git locks ").skip(1);
    parts.map(|rest| {
        let end = rest.find(['|', ';', '&', '\'', '"', ')', '`', '#', '\n', '>']);
        rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
    })
}

/// The help of each command that was asked for.
#[derive(Default)]
struct Helps(HashMap<Vec<String>, Option<String>>);

impl Helps {
    /// What `-h` prints after these words; nothing where there is no such command.
    fn of(&mut self, env: &Env, words: &[String]) -> Option<String> {
        let known = self.0.entry(words.to_vec()).or_insert_with(|| {
            let call = words.iter().fold(env.call(env.root()), Call::arg);
            let run = call.arg("-h").run();
            run.stdout
                .contains("Usage: git locks")
                .then_some(run.stdout)
        });
        known.clone()
    }
}

/// Whether the words name a command, with flags that it has.
fn exists(env: &Env, helps: &mut Helps, call: &str) -> Result<(), String> {
    let words: Vec<String> = call.split_whitespace().map(str::to_owned).collect();
    let ours = words
        .iter()
        .position(|word| word == "--")
        .unwrap_or(words.len());
    let words = &words[..ours];
    let is_verb = |word: &&String| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
    };
    let flags = words.iter().filter(|word| word.starts_with("--"));
    let flags: Vec<&str> = flags
        .map(|flag| {
            flag.split(['=', '['])
                .next()
                .unwrap_or(flag)
                .trim_end_matches(']')
        })
        .collect();
    let verbs: Vec<String> = words.iter().take_while(is_verb).cloned().collect();
    // A verb may take an argument that looks like one.
    let long = (1..=verbs.len()).rev();
    let found = long.map(|count| &verbs[..count]).find_map(|known| {
        let help = helps.of(env, known)?;
        Some((known.len(), help))
    });
    let missing = || Err(format!("there is no `git locks {call}`"));
    let Some((known, help)) = found else {
        return if verbs.is_empty() && !words.is_empty() {
            Ok(())
        } else {
            missing()
        };
    };
    if known < verbs.len() && help.contains("\nCommands:") {
        return missing();
    }
    let has = |flag: &str| {
        help.match_indices(flag).any(|(at, _)| {
            let next = help
                .get(at + flag.len()..)
                .and_then(|rest| rest.chars().next());
            !next.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-')
        })
    };
    match flags.iter().find(|flag| !has(flag) && **flag != "--help") {
        Some(flag) => Err(format!("`git locks {call}` has no {flag}")),
        None => Ok(()),
    }
}

#[test]
fn every_command_that_is_mentioned_exists() {
    let env = Env::new();
    let mut helps = Helps::default();
    let mut seen = 0;
    let mut wrong = Vec::new();
    for file in all() {
        let (lines, blocks) = read(&file);
        let prose: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
        let prose = prose.join("\n");
        let inline = prose.split("\n\n").flat_map(spans);
        let inline = inline.filter_map(|span| span.strip_prefix("git locks "));
        let shells = blocks.iter().filter(|block| block.language != "text");
        let shown = shells.flat_map(|block| calls(&block.text));
        for call in inline.chain(shown) {
            seen += 1;
            if let Err(error) = exists(&env, &mut helps, call) {
                wrong.push(format!("{file}: {error}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen > 100, "{seen}");
}

/// The commands that a help lists.
fn listed(help: &str) -> Vec<String> {
    let Some((_, list)) = help.split_once("\nCommands:\n") else {
        return Vec::new();
    };
    let lines = list.lines().take_while(|line| !line.is_empty());
    // What goes on in another line stands further to the right.
    let names = lines.filter_map(|line| line.strip_prefix("  ").filter(|it| !it.starts_with(' ')));
    let names = names.filter_map(|line| line.split(' ').next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// All commands that begin with these words and have none below them.
fn leaves(env: &Env, helps: &mut Helps, words: &[String], found: &mut BTreeSet<String>) {
    let names = listed(&helps.of(env, words).expect("a command"));
    if names.is_empty() {
        found.insert(words.join(" "));
    }
    for name in names {
        leaves(env, helps, &[words, &[name]].concat(), found);
    }
}

#[test]
fn the_tables_of_the_readme_name_every_command() {
    let env = Env::new();
    let mut known = BTreeSet::new();
    leaves(&env, &mut Helps::default(), &[], &mut known);
    // Git runs it, and nobody else.
    assert!(known.remove("hook pre-push"));
    let mut named = BTreeSet::new();
    let (lines, _) = read("README.md");
    let lines = lines.iter().map(|(_, line)| line.as_str());
    let section = lines.skip_while(|line| *line != "## The families").skip(1);
    let rows = section.take_while(|line| !line.starts_with("## "));
    for row in rows.filter(|row| row.starts_with("| `") && !row.contains('…')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        match cells[..] {
            [families, _, _, verbs] => {
                for family in spans(families) {
                    let verbs = spans(verbs).into_iter();
                    named.extend(verbs.map(|verb| format!("{family} {verb}")));
                }
            }
            [commands, _] => named.extend(spans(commands).into_iter().map(str::to_owned)),
            _ => panic!("a table of another kind: {row}"),
        }
    }
    assert_eq!(named, known);
}

/// The page that `git help` or `man` would show.
fn page(span: &str) -> Option<String> {
    let asked = span.strip_prefix("git help ");
    if let Some(asked) = asked {
        // What git does not know as a command of its own gets no dash.
        return Some(match asked {
            "locks" => "git-locks".to_owned(),
            asked if asked.starts_with("git") => asked.to_owned(),
            asked => format!("git{asked}"),
        });
    }
    let page = span.strip_prefix("man ")?;
    (!page.starts_with('-')).then(|| page.to_owned())
}

#[test]
fn every_page_that_is_mentioned_is_there() {
    let mut seen = 0;
    for file in all() {
        let (lines, _) = read(&file);
        for (number, line) in lines {
            for page in spans(&line).into_iter().filter_map(page) {
                let there = root().join("man").join(format!("{page}.1")).is_file();
                assert!(there, "{file}:{number}: there is no page {page}");
                seen += 1;
            }
        }
    }
    assert!(seen > 1, "{seen}");
}

#[test]
fn what_does_not_exist_is_noticed() {
    let env = Env::new();
    let mut helps = Helps::default();
    let mut exists = |call: &str| exists(&env, &mut helps, call).is_ok();
    assert!(exists("merge run --wait=10m --reason x -- make --jobs"));
    assert!(exists("completions bash"));
    assert!(!exists("merge steal"));
    assert!(!exists("stats"));
    assert!(!exists("merge acquire --wait-for-ever"));
    assert!(!exists("merge acquire --wai"));
}
