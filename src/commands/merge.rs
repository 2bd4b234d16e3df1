//! `git locks merge acquire|check|release|renew`.

use std::path::Path;

use crate::cli;
use crate::commands::Failure;
use crate::commands::context::Context;
use crate::config;
use crate::error::{Error, ErrorKind, Result};
use crate::event_log::Event;
use crate::exit::Exit;
use crate::identity::{Identity, PlanId};
use crate::liveness::{Evidence, Role, Subject, Terms, World, judge};
use crate::locks::merge::{
    self, Admission, Bid, Eviction, Granted, MergeState, Poll, Release, Renewal, Verdicts, Waiting,
};
use crate::participant::Kind;
use crate::report::{
    self, Action, MergeAdmitted, MergeBlocked, MergeEvicted, MergeFree, MergeHeld, MergeRefused,
    MergeReleased, MergeRenewed, Outcome, Refusal, Report, Staleness, Status,
};
use crate::store::merge::{Committed, Purpose};
use crate::sys::process::{self, ProcessId, Sight};
use crate::text;
use crate::titles::{self, Title};

/// `merge acquire`.
pub fn acquire(args: &cli::Acquire, context: &mut Context) -> Result<Outcome, Failure> {
    let identity = context.identity(&args.who)?;
    let id = identity.id.clone();
    acquire_as(args, &identity, context).map_err(|error| failure(error, &id))
}

fn failure(error: Error, id: &PlanId) -> Failure {
    Failure {
        error,
        plan_id: Some(id.as_str().to_owned()),
    }
}

fn acquire_as(args: &cli::Acquire, identity: &Identity, context: &mut Context) -> Result<Outcome> {
    let host = crate::sys::host::Host::here();
    let bid = bid(args, identity, context, &context.surroundings(&host))?;
    let committed = decide(
        context,
        identity,
        Purpose::Ordinary,
        args.no_title_token,
        |state, caller, verdicts, rules| merge::acquire(state, caller, &bid, verdicts, rules),
    )?;
    let lock_path = context.merge_store().lock_path;
    let terms = context.terms();
    let world = context.surroundings(&terms.now.host);
    let unvouched =
        bid.kind == Kind::Plan && !vouched_for(&identity.id, &terms, &world, &committed.state);
    if args.timeout.is_some_and(|seconds| seconds > 0.0) {
        context.inform(
            "--timeout drives nothing: acquire answers at once; ask again to keep the place",
        );
    }
    match &committed.outcome {
        Admission::Admitted(granted) => {
            if unvouched {
                context.warn(format!(
                    "nothing vouches for {id}: there is no plan of that name, so anyone may reclaim the lock; \
                     --ttl or --while-pid keeps it",
                    id = identity.id
                ));
            }
            let waiting_count = committed.state.queue.len();
            Ok(admitted(
                granted.clone(),
                waiting_count,
                identity,
                args,
                &lock_path,
                context,
            ))
        }
        Admission::Blocked(waiting) => {
            if unvouched {
                context.warn(format!(
                    "nothing vouches for {id}: there is no plan of that name, so anyone may drop its place; \
                     --ttl or --while-pid keeps it",
                    id = identity.id
                ));
            }
            Ok(blocked(
                waiting,
                &committed.state,
                identity,
                args,
                &lock_path,
                context,
            ))
        }
    }
}

fn vouched_for(id: &PlanId, terms: &Terms, world: &dyn World, state: &MergeState) -> bool {
    let subject = Subject {
        id: Some(id),
        role: Role::Holder,
        record: state.records.participant(id.as_str()),
        seen_at: terms.now.moment.wall,
        records_lost_at: None,
    };
    judge(&subject, terms, world).staleness != Staleness::Stale
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

fn lease_length(given: &str, flag: &str) -> Result<f64> {
    let hint = "a duration is a number with a unit, such as 90s, 5m, 1h30m or 2d";
    match config::duration(given) {
        Some(length) if !length.is_zero() => Ok(length.as_secs_f64()),
        Some(_) => {
            Err(Error::usage(format!("{flag}: '{given}' must be longer than 0")).with_hint(hint))
        }
        None => Err(Error::usage(format!("{flag}: '{given}' is not a duration")).with_hint(hint)),
    }
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

/// Where the caller works, for people.
fn workplace(context: &Context) -> String {
    let root = context
        .place
        .checkout
        .as_ref()
        .and_then(|checkout| checkout.work_dir.as_deref());
    shown(root.unwrap_or(&context.cwd))
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
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
            let age = text::span(crate::sys::clock::wall() - since);
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

/// What is known about the holder, for people.
#[derive(Default)]
struct About {
    fence: Option<u64>,
    since: Option<f64>,
    workplace: Option<String>,
    reason: Option<String>,
}

fn about_holder(state: &MergeState, context: &Context) -> About {
    let Some(lock) = &state.lock else {
        return About::default();
    };
    let record = state.holder_record();
    let grant = record.and_then(|record| record.grant.as_ref());
    let workplace = record.and_then(|record| record.workplace.clone());
    About {
        fence: grant.map(|grant| grant.fence),
        since: Some(grant.map_or(lock.mtime(), |grant| grant.since.wall)),
        workplace: workplace.or_else(|| plan_place(lock.holder.id()?, context)),
        reason: record.and_then(|record| record.reason.clone()),
    }
}

/// Where a plan of another program works: its worktree, else its plan directory.
fn plan_place(id: &PlanId, context: &Context) -> Option<String> {
    let base = &context.place.base;
    let places = [
        base.join("worktrees").join(id.as_str()),
        base.join("plans").join(id.as_str()),
    ];
    places
        .iter()
        .find(|place| place.symlink_metadata().is_ok())
        .map(|place| shown(place))
}

fn set_title(context: &mut Context, id: &PlanId, title: Option<Title>, suppressed: bool) {
    if suppressed || !context.settings.title {
        return;
    }
    let now = crate::sys::clock::wall();
    if let Err(error) = titles::set(&context.place.ours, id, title, now, context.modes()) {
        context.notes.push(report::Note::Detail(format!(
            "the title was not written: {error}"
        )));
    }
}

/// `merge check`.
pub fn check(args: &cli::Check, context: &mut Context) -> Result<Outcome, Failure> {
    let identity = context.identity_if_any(&args.who)?;
    let plan_id = identity
        .as_ref()
        .map(|identity| identity.id.as_str().to_owned());
    check_as(args, identity.as_ref(), context).map_err(|error| Failure { error, plan_id })
}

fn check_as(
    args: &cli::Check,
    identity: Option<&Identity>,
    context: &mut Context,
) -> Result<Outcome> {
    let store = context.merge_store();
    let lock_path = shown(&store.lock_path);
    let seen = store.peek()?;
    let plan_id = identity.map(|identity| identity.id.as_str().to_owned());
    let free = |plan_id, lock_path| {
        let exit = if args.fence.is_some() {
            Exit::REFUSED
        } else {
            Exit::SUCCESS
        };
        let free = MergeFree {
            status: Status::Free,
            plan_id,
            lock_path,
        };
        Ok(Outcome::new(Report::MergeFree(free), exit))
    };
    if seen.lock.is_none() && seen.bereft().next().is_none() {
        // Nobody to judge: nothing to look at the world for.
        return free(plan_id, lock_path);
    }
    let terms = context.terms();
    let world = context.surroundings(&terms.now.host);
    let verdicts = seen.judge(None, &terms, &world);
    let state = merge::view(&seen, &verdicts);
    let Some(lock) = &state.lock else {
        return free(plan_id, lock_path);
    };
    let mine = identity.is_some_and(|identity| merge::is_holder(&state, &context.caller(identity)));
    let about = about_holder(&state, context);
    let verdict = verdicts
        .holder
        .or_else(|| state.judge_holder(&terms, &world));
    let lost = args
        .fence
        .is_some_and(|fence| !(mine && about.fence == Some(fence)));
    let exit = if lost || (args.exit_code && !mine) {
        Exit::REFUSED
    } else {
        Exit::SUCCESS
    };
    let held = MergeHeld {
        status: Status::Held,
        plan_id,
        holder_plan_id: lock.holder.shown().unwrap_or_default(),
        staleness: verdict.map_or(Staleness::Unknown, |verdict| verdict.staleness),
        lock_path,
        mine,
        fence: about.fence,
        holder_since: about.since,
        holder_where: about.workplace,
        reason: about.reason,
    };
    Ok(Outcome::new(Report::MergeHeld(held), exit))
}

/// `merge release`.
pub fn release(args: &cli::Release, context: &mut Context) -> Result<Outcome, Failure> {
    let identity = context.identity(&args.who)?;
    let id = identity.id.clone();
    let outcome = if args.require_stale {
        evict(args, &identity, context)
    } else {
        release_as(args, &identity, context)
    };
    outcome.map_err(|error| failure(error, &id))
}

/// Runs a decision that takes nothing but the caller, the verdicts and the rules.
fn decide<T>(
    context: &mut Context,
    identity: &Identity,
    purpose: Purpose,
    no_title: bool,
    decision: impl Fn(&MergeState, &merge::Caller, &Verdicts, &merge::Rules) -> (MergeState, T),
) -> Result<Committed<T>> {
    let caller = context.caller(identity);
    let terms = || context.terms();
    let world = context.surroundings(&crate::sys::host::Host::here());
    let rules = context.rules(&terms(), &world);
    let patience = context.settings.guard_timeout;
    let store = context.merge_store();
    let committed = store.transact(
        &identity.id,
        purpose,
        patience,
        &terms,
        &world,
        |state, verdicts, now| {
            let rules = merge::Rules {
                now: now.clone(),
                ..rules.clone()
            };
            decision(state, &caller, verdicts, &rules)
        },
    )?;
    for id in committed.departed.iter().filter_map(|id| PlanId::parse(id)) {
        set_title(context, &id, None, no_title);
    }
    context.notes.extend(committed.notes.iter().cloned());
    Ok(committed)
}

fn lock_path(context: &Context) -> String {
    shown(&context.merge_store().lock_path)
}

fn release_as(args: &cli::Release, identity: &Identity, context: &mut Context) -> Result<Outcome> {
    let committed = decide(
        context,
        identity,
        Purpose::Release,
        args.no_title_token,
        merge::release,
    )?;
    let plan_id = identity.id.as_str().to_owned();
    let lock_path = lock_path(context);
    let waiting_count = committed.state.queue.len();
    let mut report = MergeReleased {
        status: Status::Success,
        plan_id: plan_id.clone(),
        action: Action::Noop,
        lock_path: lock_path.clone(),
        holder: None,
        waiting_count,
        message: None,
        hint: None,
    };
    let mut exit = Exit::SUCCESS;
    match committed.outcome {
        Release::Released => {
            report.action = Action::Released;
            log_released(context, &plan_id, &lock_path, None, waiting_count);
        }
        Release::Noop { holder: None, left } => {
            report.message = Some(noop_message("nobody holds the lock", left));
        }
        Release::Noop {
            holder: Some(holder),
            left,
        } => {
            report.message = Some(noop_message("another holds the lock", left));
            if !identity.explicit {
                exit = Exit::REFUSED;
                report.hint = Some(release_hint(&holder));
            }
            report.holder = Some(holder);
        }
        Release::HolderPresent(holder) => {
            let refused = MergeRefused {
                status: Status::Refused,
                plan_id,
                reason: Refusal::HolderPresent,
                holder: Some(holder),
                staleness: None,
                lock_path,
            };
            return Ok(Outcome::new(Report::MergeRefused(refused), Exit::REFUSED));
        }
    }
    if report.holder.as_deref() != Some(plan_id.as_str()) {
        set_title(context, &identity.id, None, args.no_title_token);
    }
    Ok(Outcome::new(Report::MergeReleased(report), exit))
}

fn noop_message(why: &str, left: bool) -> String {
    if left {
        format!("{why}; the place in the queue is given up")
    } else {
        why.to_owned()
    }
}

/// The command that would release `holder`.
fn release_hint(holder: &str) -> String {
    match PlanId::parse(holder) {
        Some(id) => format!("git locks merge release --plan-id {id}"),
        None => "git locks merge release --require-stale".to_owned(),
    }
}

fn log_released(
    context: &mut Context,
    id: &str,
    lock_path: &str,
    from: Option<&str>,
    waiting_count: usize,
) {
    context.log(&Event {
        name: "merge:released",
        id: id.to_owned(),
        fields: vec![
            ("lock_file", lock_path.to_owned()),
            ("reclaimed_from", from.unwrap_or_default().to_owned()),
            ("waiting_count", waiting_count.to_string()),
        ],
    });
}

fn evict(args: &cli::Release, identity: &Identity, context: &mut Context) -> Result<Outcome> {
    let committed = decide(
        context,
        identity,
        Purpose::Ordinary,
        args.no_title_token,
        merge::evict,
    )?;
    let plan_id = identity.id.as_str().to_owned();
    let lock_path = lock_path(context);
    let waiting_count = committed.state.queue.len();
    let outcome = match committed.outcome {
        Eviction::Evicted(holder) => {
            log_released(context, &plan_id, &lock_path, Some(&holder), waiting_count);
            if let Some(gone) = PlanId::parse(&holder) {
                set_title(context, &gone, None, args.no_title_token);
            }
            let evicted = MergeEvicted {
                status: Status::Success,
                plan_id,
                action: Action::Released,
                staleness: Some(Staleness::Stale),
                reclaimed_from: Some(holder),
                lock_path,
                waiting_count: Some(waiting_count),
                message: None,
            };
            Outcome::new(Report::MergeEvicted(evicted), Exit::SUCCESS)
        }
        Eviction::NothingHeld => {
            let nothing = MergeEvicted {
                status: Status::Success,
                plan_id,
                action: Action::Noop,
                staleness: None,
                reclaimed_from: None,
                lock_path,
                waiting_count: None,
                message: Some("nobody holds the lock".to_owned()),
            };
            Outcome::new(Report::MergeEvicted(nothing), Exit::SUCCESS)
        }
        Eviction::Refused(holder, staleness) => {
            let refused = MergeRefused {
                status: Status::Refused,
                plan_id,
                reason: Refusal::HolderNotProvablyDead,
                holder: Some(holder),
                staleness: Some(staleness),
                lock_path,
            };
            Outcome::new(Report::MergeRefused(refused), Exit::REFUSED)
        }
    };
    Ok(outcome)
}

/// `merge renew`.
pub fn renew(args: &cli::Renew, context: &mut Context) -> Result<Outcome, Failure> {
    let identity = context.identity(&args.who)?;
    let id = identity.id.clone();
    renew_as(args, &identity, context).map_err(|error| failure(error, &id))
}

fn renew_as(args: &cli::Renew, identity: &Identity, context: &mut Context) -> Result<Outcome> {
    let ttl = args
        .ttl
        .as_deref()
        .map(|given| lease_length(given, "--ttl"))
        .transpose()?;
    let keeps_plans = context
        .surroundings(&crate::sys::host::Host::default())
        .keeps_plans();
    let bid = Bid {
        kind: if ttl.is_none() && identity.explicit && keeps_plans != Evidence::Absent {
            Kind::Plan
        } else {
            Kind::Leased
        },
        insists: ttl.is_some(),
        ttl: ttl.unwrap_or(context.settings.ttl.as_secs_f64()),
        process: None,
        workplace: Some(workplace(context)),
        reason: None,
    };
    let committed = decide(
        context,
        identity,
        Purpose::Ordinary,
        true,
        |state, caller, verdicts, rules| merge::renew(state, caller, &bid, verdicts, rules),
    )?;
    let plan_id = identity.id.as_str().to_owned();
    let lock_path = lock_path(context);
    let (action, expires_at) = match committed.outcome {
        Renewal::Renewed(expires_at) => (Action::Renewed, Some(expires_at)),
        Renewal::NoLease => {
            context.inform("the lock is not kept by a lease, so there is nothing to renew");
            (Action::Noop, None)
        }
        Renewal::Lost(holder) => {
            let refused = MergeRefused {
                status: Status::Refused,
                plan_id,
                reason: Refusal::LockLost,
                holder,
                staleness: None,
                lock_path,
            };
            return Ok(Outcome::new(Report::MergeRefused(refused), Exit::REFUSED));
        }
    };
    let grant = committed
        .state
        .holder_record()
        .and_then(|record| record.grant.as_ref());
    let renewed = MergeRenewed {
        status: Status::Success,
        plan_id,
        action,
        lock_path,
        fence: grant.map(|grant| grant.fence),
        expires_at,
    };
    Ok(Outcome::new(Report::MergeRenewed(renewed), Exit::SUCCESS))
}
