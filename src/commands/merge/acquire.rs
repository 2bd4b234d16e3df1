//! `git locks merge acquire`.

use std::path::Path;

use super::{about_holder, decide, failure, lease_length, set_title, shown, workplace};
use crate::cli;
use crate::commands::Failure;
use crate::commands::context::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::event_log::Event;
use crate::exit::Exit;
use crate::identity::{Identity, PlanId};
use crate::liveness::{Evidence, Role, Subject, World, judge};
use crate::locks::merge::{self, Admission, Bid, Granted, MergeState, Poll, Waiting};
use crate::participant::Kind;
use crate::report::{self, Action, MergeAdmitted, MergeBlocked, Outcome, Report, Status};
use crate::store::merge::Purpose;
use crate::sys::clock;
use crate::sys::process::{self, ProcessId, Sight};
use crate::text;
use crate::titles::Title;

/// `merge acquire`.
pub fn acquire(args: &cli::Acquire, context: &mut Context) -> Result<Outcome, Failure> {
    let identity = context.identity(&args.who)?;
    let id = identity.id.clone();
    acquire_as(args, &identity, context).map_err(|error| failure(error, &id))
}

fn acquire_as(args: &cli::Acquire, identity: &Identity, context: &mut Context) -> Result<Outcome> {
    let bid = bid(args, identity, context, &context.surroundings())?;
    let committed = decide(
        context,
        identity,
        Purpose::Ordinary,
        args.no_title_token,
        |state, caller, verdicts, rules| merge::acquire(state, caller, &bid, verdicts, rules),
    )?;
    let lock_path = context.merge_store().lock_path;
    if args.timeout.is_some_and(|seconds| seconds > 0.0) {
        context.inform(
            "--timeout drives nothing: acquire answers at once; ask again to keep the place",
        );
    }
    if bid.kind == Kind::Plan && !vouched_for(&identity.id, &committed.state, context) {
        let risk = match &committed.outcome {
            Admission::Admitted(_) => "reclaim the lock",
            Admission::Blocked(_) => "drop its place",
        };
        context.warn(format!(
            "nothing vouches for {}: there is no plan of that name, so anyone may {risk}; \
             --ttl or --while-pid keeps it",
            identity.id
        ));
    }
    let state = &committed.state;
    Ok(match &committed.outcome {
        Admission::Admitted(granted) => {
            let waiting_count = state.queue.len();
            admitted(
                granted.clone(),
                waiting_count,
                identity,
                args,
                &lock_path,
                context,
            )
        }
        Admission::Blocked(waiting) => blocked(waiting, state, identity, args, &lock_path, context),
    })
}

fn vouched_for(id: &PlanId, state: &MergeState, context: &Context) -> bool {
    let terms = context.terms();
    let subject = Subject {
        id: Some(id),
        role: Role::Holder,
        record: state.records.participant(id.as_str()),
        seen_at: terms.now.moment.wall,
        records_lost_at: None,
    };
    !judge(&subject, &terms, &context.surroundings()).is_stale()
}

/// What the caller brings along: of which kind it is, and for how long.
fn bid(
    args: &cli::Acquire,
    identity: &Identity,
    context: &Context,
    world: &dyn World,
) -> Result<Bid> {
    let ttl = args
        .ttl
        .as_deref()
        .map(|given| lease_length(given, "--ttl"))
        .transpose()?;
    let process = args.while_pid.map(running).transpose()?;
    let insists = ttl.is_some() || process.is_some();
    let kind = if process.is_some() {
        Kind::Process
    } else if ttl.is_none() && identity.explicit && world.keeps_plans() != Evidence::Absent {
        Kind::Plan
    } else {
        Kind::Leased
    };
    Ok(Bid {
        kind,
        insists,
        ttl: ttl.unwrap_or(context.settings.ttl.as_secs_f64()),
        process,
        workplace: Some(workplace(context)),
        reason: args
            .reason
            .as_deref()
            .filter(|reason| !reason.trim().is_empty())
            .map(|reason| text::clip(reason, 500)),
    })
}

fn running(pid: i32) -> Result<ProcessId> {
    match process::look(pid) {
        Sight::Running(start) => Ok(ProcessId { pid, start }),
        Sight::Ended => Err(Error::new(
            ErrorKind::NotFound,
            format!("--while-pid: process {pid} does not run"),
        )
        .with_hint("name a process that outlives this command, such as $$ of a shell")),
        Sight::Hidden => Err(Error::new(
            ErrorKind::NotFound,
            format!("--while-pid: process {pid} cannot be seen from here"),
        )
        .with_hint("name a process of your own, such as $$ of a shell")),
    }
}

fn admitted(
    granted: Granted,
    waiting_count: usize,
    identity: &Identity,
    args: &cli::Acquire,
    lock_path: &Path,
    context: &mut Context,
) -> Outcome {
    let Granted {
        action,
        reclaimed_from,
        fence,
        expires_at,
        since,
    } = granted;
    let id = identity.id.as_str().to_owned();
    let held_before = action == Action::AlreadyHeld;
    let waiting_count = if held_before { 0 } else { waiting_count };
    if held_before {
        if let (false, Some(since)) = (identity.explicit, since) {
            let age = text::span(clock::wall() - since);
            context.inform(format!("{id} has held the lock for {age} already"));
        }
    } else {
        let name = if reclaimed_from.is_some() {
            "merge:reclaimed"
        } else {
            "merge:acquired"
        };
        context.log(&Event {
            name,
            id: id.clone(),
            fields: vec![
                ("lock_file", shown(lock_path)),
                ("reclaimed_from", reclaimed_from.clone().unwrap_or_default()),
                ("waiting_count", waiting_count.to_string()),
            ],
        });
        set_title(
            context,
            &identity.id,
            Some(Title::LockOwned),
            args.no_title_token,
        );
    }
    Outcome::new(
        Report::MergeAdmitted(MergeAdmitted {
            status: Status::Success,
            plan_id: id.clone(),
            action,
            admission: report::Admission::Admitted,
            lock_path: shown(lock_path),
            holder: id,
            reclaimed: reclaimed_from.is_some(),
            waiting_count,
            fence,
            expires_at,
            reclaimed_from,
        }),
        Exit::SUCCESS,
    )
}

fn blocked(
    waiting: &Waiting,
    state: &MergeState,
    identity: &Identity,
    args: &cli::Acquire,
    lock_path: &Path,
    context: &mut Context,
) -> Outcome {
    let Waiting {
        position,
        mid_recovery,
        not_local,
        poll,
    } = *waiting;
    let id = identity.id.as_str().to_owned();
    let holder = state.lock.as_ref().and_then(|lock| lock.holder.shown());
    if not_local {
        context.warn(format!(
            "the holder is gone, but {} is not known to be on a local file system, where nothing is reclaimed \
             automatically; if you know it is gone: git locks merge release --plan-id {}",
            text::path(lock_path),
            text::shell_word(&holder.clone().unwrap_or_default())
        ));
    }
    let about = about_holder(state, context);
    let recovering = if mid_recovery { "true" } else { "" };
    // A busy poller must not fill the disk with what was said before.
    if poll != Poll::Repeated {
        context.log(&Event {
            name: "merge:blocked",
            id: id.clone(),
            fields: vec![
                ("lock_file", shown(lock_path)),
                ("holder", holder.clone().unwrap_or_default()),
                ("waiter", id.clone()),
                ("waiting_count", state.queue.len().to_string()),
                ("stale_holder_live_worktree", recovering.to_owned()),
            ],
        });
    }
    if poll == Poll::Joined {
        set_title(
            context,
            &identity.id,
            Some(Title::LockWaiting),
            args.no_title_token,
        );
    }
    if holder.as_deref() == Some(id.as_str()) && !identity.explicit {
        context.inform(format!(
            "another user or checkout holds the lock as {id}; give yourself a name of your own with --as"
        ));
    }
    Outcome::new(
        Report::MergeBlocked(MergeBlocked {
            status: Status::Blocked,
            plan_id: id,
            admission: report::Admission::Blocked,
            blocking_plan_id: holder,
            lock_path: shown(lock_path),
            waiting_count: state.queue.len(),
            stale_holder_live_worktree: mid_recovery,
            position,
            holder_since: about.since,
            holder_where: about.workplace,
            reason: about.reason,
        }),
        Exit::BLOCKED,
    )
}
