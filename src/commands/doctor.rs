//! `git locks doctor`: what is wrong here, or worth knowing, and what was seen of everyone who takes part.
//!
//! **Looking** takes no guard and writes nothing. What cannot be looked at is a finding itself, and keeps
//! nothing else from being looked at.
//!
//! A repository that cannot be used is a finding too: the machine is looked at as if from outside of it. A
//! setting that makes no sense is one, and the default holds meanwhile. Either way nothing is removed.
//!
//! **`--fix`** removes only what is provably nobody's, each thing in the way in which the locks themselves
//! tidy up, and only after looking again:
//!
//! | what | proof | where |
//! |---|---|---|
//! | temporary files | our name, older than an hour, not named by the record of a grant | inside the guard of its state, where it has one |
//! | guard files | our mark while nobody has the kernel lock; another program's when 60 s old and unchanged | by entering the guard |
//! | presence files | unlocked and on no record; bells whose presence is gone | inside the guard |
//! | witnesses | ours, of an id that takes part no longer, while everybody who does is known | inside the guard |
//! | titles | an hour old, of an id that takes part no longer | by itself |
//!
//! A lock, an entry of a queue, the lease of a session, and a copy of a corrupt file, which somebody may
//! still need, are never touched; nothing is where locks are not known to tell of every process (a file
//! system that is not local). A crash in between leaves the rest for the next call.

mod copies;
mod cure;
mod file_systems;
mod ground;
mod guards;
mod install;
mod layout;
mod markers;
mod operations;
mod patient;
mod presence;
mod remedy;
mod sessions;
mod temporary;
mod titles;
mod tracked;
mod witnesses;

use crate::cli::DoctorArgs;
use crate::commands::context::Context;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::report::{Diagnosis, Finding, FindingKind, Outcome, Report, Severity, Status};

use patient::Patient;
use remedy::Remedy;

/// One look: what it found.
type Look = fn(&Patient<'_>) -> Result<Vec<Found>>;

/// Something that was found, and what `--fix` does about it.
struct Found {
    finding: Finding,
    remedy: Option<Remedy>,
}

impl Found {
    /// Something that `--fix` removes.
    fn curable(finding: Finding, remedy: Remedy) -> Self {
        Self {
            finding: finding.fixable(),
            remedy: Some(remedy),
        }
    }
}

impl From<Finding> for Found {
    fn from(finding: Finding) -> Self {
        Self {
            finding,
            remedy: None,
        }
    }
}

/// What could not be looked at.
impl From<Error> for Found {
    fn from(error: Error) -> Self {
        finding_of(&error, FindingKind::Unreadable).into()
    }
}

/// An error as a finding of that kind.
fn finding_of(error: &Error, kind: FindingKind) -> Finding {
    let finding = Finding::new(kind, Severity::Problem, error.message());
    match error.hint() {
        Some(hint) => finding.to_do(hint),
        None => finding,
    }
}

/// Adds what a look found, or that it failed.
fn note(found: &mut Vec<Found>, looked: Result<Vec<Found>>) {
    match looked {
        Ok(more) => found.extend(more),
        Err(error) => found.push(error.into()),
    }
}

/// Runs it.
///
/// # Errors
/// None: what cannot be looked at is a finding.
pub fn run(args: &DoctorArgs, context: &Context) -> Result<Outcome> {
    let (patient, mut found) = Patient::examine(context);
    let ground = ground::look(context);
    let is_firm = ground.is_empty();
    found.extend(ground);
    let looks: [Look; 12] = [
        copies::look,
        file_systems::look,
        guards::look,
        layout::look,
        markers::look,
        operations::look,
        presence::look,
        sessions::look,
        temporary::look,
        titles::look,
        tracked::look,
        witnesses::look,
    ];
    for look in looks {
        note(&mut found, look(&patient));
    }
    found.extend(install::look());
    if args.fix && is_firm {
        cure::apply(&patient, &mut found);
    } else if args.fix {
        let first = "first see to the settings and the repository";
        context.voice.warn(format!("nothing was removed: {first}"));
    }
    let participants = patient.into_rows();
    let mut findings: Vec<Finding> = found.into_iter().map(|found| found.finding).collect();
    findings.sort_by(|a, b| {
        let key = |it: &Finding| (it.severity, it.kind);
        key(a).cmp(&key(b)).then_with(|| a.path.cmp(&b.path))
    });
    let needs_person = findings.iter().any(Finding::needs_person);
    let diagnosis = Diagnosis {
        status: Status::Success,
        needs_person,
        fixed: findings.iter().filter(|finding| finding.fixed).count(),
        findings,
        participants,
    };
    let exit = if needs_person {
        Exit::REFUSED
    } else {
        Exit::SUCCESS
    };
    Ok(Outcome::new(Report::Diagnosis(diagnosis), exit))
}
