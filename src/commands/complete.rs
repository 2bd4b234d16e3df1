//! `git locks complete`: what a shell's completion asks. It reads, takes no lock, says nothing on
//! standard error and never fails: what cannot be looked up is not offered.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::CompleteArgs;
use crate::cli::outline::outline;
use crate::commands::asking::shown;
use crate::completion::{self, Candidate, Live, unquoted};
use crate::error::Result;
use crate::exit::Exit;
use crate::identity::PlanId;
use crate::locks::build::Entry;
use crate::locks::session::Content;
use crate::manual;
use crate::place::{self, Home, Place, asking};
use crate::report::Outcome;
use crate::store::build::BuildStore;
use crate::store::document::Document;
use crate::store::merge::MergeStore;
use crate::store::session;
use crate::sys::file::Modes;

/// Answers. Where we are not `there` where the question is asked from, nothing is looked up.
pub fn run(args: &CompleteArgs, there: bool) -> Outcome {
    let word = |word: &OsString| {
        let word = word.to_string_lossy();
        if args.quoted {
            unquoted(&word)
        } else {
            word.into_owned()
        }
    };
    let words: Vec<String> = args.words.iter().map(word).collect();
    let pages: Vec<String> = manual::names().collect();
    let asked = completion::ask(&outline(), &words, &pages);
    let found = asked
        .live
        .filter(|_| there)
        .and_then(|live| look_up(live, &asked.directories).ok());
    Outcome::Text(
        asked.answer(found.unwrap_or_default(), args.quoted),
        Exit::SUCCESS,
    )
}

/// Looks up what the shell asks for, from the directories that `-C` has named.
fn look_up(live: Live, directories: &[String]) -> Result<Vec<Candidate>> {
    let mut cwd = place::current_dir()?;
    for directory in directories.iter().filter(|directory| !directory.is_empty()) {
        cwd.push(at_home(directory));
    }
    // Everything else looks from the process's own.
    if !directories.is_empty() && std::env::set_current_dir(&cwd).is_err() {
        return Ok(Vec::new());
    }
    let place = Place::find_anywhere(&cwd)?;
    match live {
        Live::Mergers => mergers(&place),
        Live::Builders => builders(&place, &cwd),
        Live::Participants => {
            let mut found = mergers(&place).unwrap_or_default();
            found.extend(builders(&place, &cwd).unwrap_or_default());
            Ok(found)
        }
        Live::Entries => entries(&place, &cwd),
        Live::Sessions => sessions(&place),
        Live::Bots => bots(&place),
        Live::Worktrees => Ok(worktrees(&place.worktrees()?)),
        Live::Branches => branches(&place),
    }
}

fn branches(place: &Place) -> Result<Vec<Candidate>> {
    let Some(git_dir) = &place.common_dir else {
        return Ok(Vec::new());
    };
    let names = asking::branches(git_dir)?;
    Ok(names
        .into_iter()
        .map(|name| Candidate::new(name, "branch"))
        .collect())
}

/// A directory as it was typed, with `~` in the place of the home directory.
fn at_home(directory: &str) -> PathBuf {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    match (directory.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(directory),
    }
}

fn modes(place: &Place) -> Modes {
    Modes {
        file: place.sharing.file_mode,
        dir: place.sharing.dir_mode,
        group: place.sharing.group,
    }
}

/// Adds `id` unless it is no plan id, which no option would take, or there already.
fn add(found: &mut Vec<Candidate>, id: &str, about: &str) {
    if PlanId::parse(id).is_some() && !found.iter().any(|known| known.word == id) {
        found.push(Candidate::new(id, about));
    }
}

fn mergers(place: &Place) -> Result<Vec<Candidate>> {
    let store = MergeStore::new(&place.base, &place.ours, &place.plan_dir, modes(place));
    let state = store.peek_all()?;
    let mut found = Vec::new();
    if let Some(id) = state.lock.as_ref().and_then(|lock| lock.holder.id()) {
        add(&mut found, id.as_str(), "has the merge lock");
    }
    let mut waiting = Vec::new();
    for entry in &state.queue {
        if PlanId::parse(&entry.plan_id).is_some()
            && found
                .first()
                .is_none_or(|holder| holder.word != entry.plan_id)
        {
            waiting.push(Candidate::new(&entry.plan_id, "waits for the merge lock"));
        }
    }
    found.extend(waiting);
    plans(&place.base, &mut found);
    Ok(found)
}

/// Adds the plans that are kept in `base`.
fn plans(base: &Path, found: &mut Vec<Candidate>) {
    let kept = fs::read_dir(base.join("plans")).into_iter().flatten();
    for plan in kept.flatten() {
        let name = plan.file_name();
        if let Some(id) = name.to_str() {
            add(found, id, "a plan");
        }
    }
}

/// Each entry of the build queue, and a few words about it.
fn build_queue(place: &Place, cwd: &Path) -> Result<Vec<(Entry, String)>> {
    let home = Home::find(cwd)?;
    let state = BuildStore::new(&home, &place.plan_dir, modes(place)).peek()?;
    let told = |verb: &str, entry: &Entry| match &entry.project_root {
        Some(root) => format!("{verb} in {root}"),
        None => verb.to_owned(),
    };
    let active = state.active.into_iter().map(|entry| ("builds", entry));
    let waiting = state
        .waiting
        .into_iter()
        .map(|entry| ("waits to build", entry));
    let all = active.chain(waiting);
    Ok(all
        .map(|(verb, entry)| (entry.clone(), told(verb, &entry)))
        .collect())
}

fn builders(place: &Place, cwd: &Path) -> Result<Vec<Candidate>> {
    let project = shown(&place.project_root(cwd));
    let mut found = Vec::new();
    for (entry, about) in build_queue(place, cwd)? {
        // In another project the same id is another caller.
        if entry
            .project_root
            .as_ref()
            .is_none_or(|root| *root == project)
        {
            add(&mut found, entry.plan_id(), &about);
        }
    }
    plans(&place.project_base(cwd), &mut found);
    Ok(found)
}

fn entries(place: &Place, cwd: &Path) -> Result<Vec<Candidate>> {
    let queue = build_queue(place, cwd)?.into_iter();
    Ok(queue
        .map(|(entry, about)| Candidate::new(entry.id, about))
        .collect())
}

fn sessions(place: &Place) -> Result<Vec<Candidate>> {
    let mut found = Vec::new();
    for root in place.worktrees()? {
        if let Ok(Content::Held(lease)) = session::read(&root) {
            let about = format!("in {}", shown(&root));
            found.push(Candidate::new(lease.session_id, about));
        }
    }
    Ok(found)
}

fn bots(place: &Place) -> Result<Vec<Candidate>> {
    let store = MergeStore::new(&place.base, &place.ours, &place.plan_dir, modes(place));
    let document = store.peek_document()?;
    let windows = document
        .get("rate_windows")
        .map(Document::of_value)
        .unwrap_or_default();
    Ok(windows
        .entries()
        .map(|(bot, _)| Candidate::new(bot, "has a rate window"))
        .collect())
}

/// The worktrees whose paths can be typed.
fn worktrees(roots: &[PathBuf]) -> Vec<Candidate> {
    let there = roots
        .iter()
        .filter(|root| root.is_dir())
        .filter_map(|root| root.to_str());
    there.map(|root| Candidate::new(root, "worktree")).collect()
}
