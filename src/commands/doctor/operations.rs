//! A merge, rebase or the like that is unfinished in the main checkout.

use std::path::Path;

use super::Found;
use super::patient::Patient;
use crate::diagnosis::operations::{Operation, finding};
use crate::error::Result;
use crate::place::asking;
use crate::sys::file;
use crate::text;

/// How much of a list of what is to be done is read, in bytes: its first line tells.
const HEAD_OF_TODO: u64 = 4096;

/// Looks for what tells of them in the git directory of the main checkout, which is the common one.
pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Found>> {
    let place = &patient.context.place;
    let (Some(common), Some(root)) = (&place.common_dir, &place.main_root) else {
        return Ok(Vec::new());
    };
    let in_files = file::instance(&common.join("reftable"))?.is_none();
    let typed = text::typed(root).unwrap_or_else(|| text::path(root));
    let merging = patient.merge.as_ref();
    let merging = merging.map_or(&[][..], |seen| &seen.judged);
    let mut found: Vec<Found> = Vec::new();
    for (sign, operation) in Operation::SIGNS {
        if !found.is_empty() && operation != Operation::Bisect {
            continue;
        }
        let path = common.join(sign);
        let is_ref = sign.ends_with("_HEAD");
        let there = file::instance(&path)?.is_some()
            || (is_ref && !in_files && root.is_dir() && asking::has_ref(common, root, sign)?);
        if there {
            let operation = if sign == Operation::SEQUENCE {
                sequence(&path)?
            } else {
                operation
            };
            found.push(finding(operation, &path, &typed, merging).into());
        }
    }
    Ok(found)
}

/// Which operation the sequence in the directory `path` is of.
fn sequence(path: &Path) -> Result<Operation> {
    let todo = file::read(&path.join("todo"), HEAD_OF_TODO)?;
    let todo = todo.map(|todo| todo.bytes).unwrap_or_default();
    Ok(Operation::of_sequence(&todo))
}
