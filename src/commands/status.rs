//! `git locks status`: every lock of the repository, and of the machine, at a glance.
//!
//! It is put together from the very looks of the checks: nothing is locked, nothing is written. What
//! cannot be read is shown as that, and hides nothing else.

mod build;
mod kernels;
mod merge;
mod sessions;
mod watch;
mod windows;

use crate::cli::StatusArgs;
use crate::commands::asking::shown;
use crate::commands::context::Context;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::liveness::Verdict;
use crate::page::Page;
use crate::report::{Outcome, Overview, Report, Staleness, Status};
use crate::wait::Scene;

/// How many of those who wait are listed, in whatever format; all of them are counted.
const LISTED: usize = 100;

/// What was found, and what to listen to for it to change.
struct Found {
    overview: Overview,
    scene: Scene,
}

/// Runs it.
///
/// # Errors
/// A watch could not be kept. What cannot be read is no error: it is in the report.
pub fn run(args: &StatusArgs, context: &Context, page: &Page) -> Result<Outcome> {
    if args.watch {
        return watch::watch(context, page).map(Outcome::Silent);
    }
    let overview = look(context).overview;
    let exit = match overview.status {
        Status::Unreadable => Exit::FATAL,
        _ => Exit::SUCCESS,
    };
    Ok(Outcome::new(Report::Overview(Box::new(overview)), exit))
}

/// Looks at everything.
fn look(context: &Context) -> Found {
    let mut scene = Scene::default();
    let place = &context.place;
    let has_state = place.common_dir.is_some() || place.base_is_given;
    let terms = context.terms();
    let world = context.surroundings();
    let mut overview = Overview {
        status: Status::Success,
        repository: None,
        merge: None,
        repo: None,
        worktrees: None,
        rate_windows: None,
        sessions: None,
        session_errors: Vec::new(),
        build: build::look(context, &terms, &mut scene),
    };
    if has_state {
        let read = merge::Read::now(context);
        overview.merge = Some(merge::look(&read, context, &terms, &world, &mut scene));
        overview.rate_windows = Some(windows::look(&read, &terms, &world));
    }
    if place.base_is_given {
        // State that is kept elsewhere has a repository all the same, if the caller stands in one.
        match context.beside() {
            Ok(Some(repository)) => add_repository(&mut overview, &repository, &mut scene),
            Ok(None) => {}
            Err(error) => overview.repo = Some(kernels::unreadable_repository(&error)),
        }
    } else if place.common_dir.is_some() {
        add_repository(&mut overview, context, &mut scene);
    }
    overview.status = summary(&overview);
    Found { overview, scene }
}

/// Adds what is the repository's, wherever its state is kept.
fn add_repository(overview: &mut Overview, context: &Context, scene: &mut Scene) {
    overview.repository = repository_name(context);
    overview.repo = Some(kernels::repository(context, scene));
    overview.worktrees = Some(kernels::worktrees(context, scene));
    sessions::add(overview, context, scene);
}

/// What the repository is called: by its main checkout, where it has one.
fn repository_name(context: &Context) -> Option<String> {
    let place = &context.place;
    let root = place.main_root.as_ref().or(place.common_dir.as_ref())?;
    Some(shown(root))
}

/// Whether all of it could be read, some of it or nothing.
fn summary(it: &Overview) -> Status {
    let merge = it.merge.iter().map(|it| (it.status, it.error.is_some()));
    let repo = it.repo.iter().map(|it| (it.status, it.error.is_some()));
    let worktrees = it.worktrees.iter().flatten();
    let worktrees = worktrees.map(|it| (it.status, it.error.is_some()));
    let windows = it.rate_windows.iter().flatten();
    let windows = windows.map(|it| (it.status, it.error.is_some()));
    let build = [(it.build.status, it.build.error.is_some())];
    let parts = merge.chain(repo).chain(worktrees).chain(windows);
    let parts: Vec<_> = parts.chain(build).collect();
    if parts.iter().all(|part| part.0 == Status::Unreadable) {
        Status::Unreadable
    } else if parts.iter().any(|part| part.1) || !it.session_errors.is_empty() {
        Status::Degraded
    } else {
        Status::Success
    }
}

/// The verdict on one who waits: whose process is gone can use no turn, whatever keeps its place.
fn waiting(verdict: Option<&Verdict>) -> Staleness {
    match verdict {
        Some(verdict) if verdict.orphaned => Staleness::Stale,
        Some(verdict) => verdict.staleness,
        None => Staleness::Unknown,
    }
}

/// Why something could not be read, for a report.
fn told(error: &Error) -> String {
    error.message().to_owned()
}

/// A time that is recorded; 0 is what is not known.
fn known(moment: f64) -> Option<f64> {
    (moment > 0.0).then_some(moment)
}
