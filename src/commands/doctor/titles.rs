//! Titles of those who take part no longer.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::Found;
use super::patient::{Patient, is_local};
use super::remedy::Remedy;
use crate::error::{Error, Result};
use crate::report::{Finding, FindingKind, Severity};
use crate::sys::{clock, file};
use crate::titles;

/// Looks for them.
pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Found>> {
    let directory = titles::directory(&patient.context.place.ours);
    let entries = match std::fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", &directory, &error)),
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let Some(known) = patient.taking_part().filter(|_| is_local(&directory)) else {
        return Ok(Vec::new());
    };
    let over = paths.into_iter().filter(|path| is_over(path, &known));
    Ok(over.map(title).collect())
}

/// Removes a file of titles that is still nobody's. That a title is set just now costs only that title.
pub(super) fn remove(patient: &Patient<'_>, path: &Path) {
    let known = patient.taking_part();
    if known.is_some_and(|known| is_over(path, &known)) {
        // What stays is seen to stay.
        let _ = file::remove(path);
    }
}

/// Whether nobody believes what the file at `path` says, and who it is of takes part no longer.
fn is_over(path: &Path, known: &HashSet<&str>) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let Some(id) = name.and_then(|name| name.strip_suffix(".json")) else {
        return false;
    };
    // A directory holds no titles, and is not removed as a file is.
    if path.is_dir() && !path.is_symlink() {
        return false;
    }
    let old = file::instance(path).is_ok_and(|there| {
        // The file is made anew whenever a title in it is set.
        there.is_some_and(|there| clock::wall() - there.mtime() > titles::BELIEVED)
    });
    old && !known.contains(id)
}

fn title(path: PathBuf) -> Found {
    let what = "the title of one who takes part no longer was left behind";
    let finding = Finding::new(FindingKind::TitleFile, Severity::Note, what).at(&path);
    Found::curable(finding, Remedy::Title { path })
}
