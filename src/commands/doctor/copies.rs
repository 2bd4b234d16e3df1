//! State files that hold no state, and the copies of such that were set aside.

use std::path::{Path, PathBuf};

use super::Found;
use super::patient::Patient;
use crate::error::{Error, Result};
use crate::report::{Finding, FindingKind, Severity};
use crate::store::document::Document;
use crate::store::{records, run_configuration};
use crate::sys::{clock, file};
use crate::text;

/// Looks at the state files and at what is beside them.
pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Found>> {
    let place = &patient.context.place;
    let mut found = Vec::new();
    let mut documents = Vec::new();
    if patient.has_repository {
        documents.push(patient.context.merge_store().queue_path);
        documents.push(run_configuration::path(&place.base));
        let records = place.ours.join("merge.json");
        found.extend(records_finding(&records));
        found.extend(beside(&records)?);
    }
    documents.extend(patient.build_store().map(|store| store.queue_path));
    for document in documents {
        match Document::load(&document) {
            Ok(content) if content.corrupt => found.push(corrupt(&document)),
            Ok(_) => {}
            Err(error) => found.push(error.into()),
        }
        found.extend(beside(&document)?);
    }
    Ok(found)
}

fn records_finding(path: &Path) -> Option<Found> {
    match records::load(path, false, clock::wall()) {
        Ok(loaded) => loaded.corrupt.then(|| corrupt(path)),
        Err(error) => Some(error.into()),
    }
}

fn corrupt(path: &Path) -> Found {
    let what =
        "a state file makes no sense: it counts as empty, and is set aside by the next change";
    Finding::new(FindingKind::CorruptFile, Severity::Problem, what)
        .at(path)
        .to_do(file::aside_hint(path))
        .into()
}

/// The copies of the file at `path` that were set aside.
pub(super) fn beside(path: &Path) -> Result<Vec<Found>> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(Vec::new());
    };
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", directory, &error)),
    };
    let mut prefix = name.to_owned();
    prefix.push(".corrupt");
    let is_copy = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes()
            .starts_with(prefix.as_encoded_bytes())
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut copies: Vec<PathBuf> = paths.filter(is_copy).collect();
    copies.sort();
    Ok(copies.iter().map(|copy| set_aside(copy)).collect())
}

fn set_aside(path: &Path) -> Found {
    let what = "a state file that made no sense was set aside here: somebody may need what it says";
    let finding = Finding::new(FindingKind::CorruptCopy, Severity::Warning, what).at(path);
    match text::typed(path) {
        Some(typed) => finding
            .to_do(format!("look at it, then remove it: rm {typed}"))
            .into(),
        None => finding.to_do("look at it, then remove it").into(),
    }
}
