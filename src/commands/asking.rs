//! What a caller brings along that asks for a lock with a queue, as its flags and its place tell.

use std::path::Path;

use crate::cli;
use crate::commands::context::Context;
use crate::config;
use crate::error::{Error, ErrorKind, Result};
use crate::identity::Identity;
use crate::liveness::{Evidence, World, judge_plan};
use crate::locks::asking::Bid;
use crate::participant::Kind;
use crate::sys::process::{self, ProcessId, Sight};
use crate::text;

/// What the caller brings along: of which kind it is, and for how long. `world` is that of its
/// project.
///
/// # Errors
/// A flag makes no sense.
pub fn bid(
    args: &cli::Keeping,
    identity: &Identity,
    context: &Context,
    world: &dyn World,
) -> Result<Bid> {
    let process = args.while_pid.map(running).transpose()?;
    let leased = leased(args.ttl.as_deref(), identity, context, world)?;
    Ok(Bid {
        kind: if process.is_some() {
            Kind::Process
        } else {
            leased.kind
        },
        insists: leased.insists || process.is_some(),
        process,
        reason: given_reason(args.reason.as_deref()),
        ..leased
    })
}

/// What a caller brings along that says nothing but for how long, if that.
///
/// # Errors
/// `ttl` makes no sense.
pub fn leased(
    ttl: Option<&str>,
    identity: &Identity,
    context: &Context,
    world: &dyn World,
) -> Result<Bid> {
    let ttl = ttl.map(|given| lease_length(given, "--ttl")).transpose()?;
    let is_plan = || ttl.is_none() && identity.explicit && world.keeps_plans() != Evidence::Absent;
    Ok(Bid {
        kind: if is_plan() { Kind::Plan } else { Kind::Leased },
        insists: ttl.is_some(),
        ttl: ttl.unwrap_or(context.settings.ttl.as_secs_f64()),
        process: None,
        token: None,
        workplace: Some(workplace(context)),
        reason: None,
    })
}

fn lease_length(given: &str, flag: &str) -> Result<f64> {
    let hint = config::DURATION_HINT;
    match config::duration(given) {
        Some(length) if !length.is_zero() => Ok(length.as_secs_f64()),
        Some(_) => {
            Err(Error::usage(format!("{flag}: '{given}' must be longer than 0")).with_hint(hint))
        }
        None => Err(Error::usage(format!("{flag}: '{given}' is not a duration")).with_hint(hint)),
    }
}

/// What the lock is needed for, as far as it is worth keeping.
pub fn given_reason(given: Option<&str>) -> Option<String> {
    let given = given.filter(|reason| !reason.trim().is_empty());
    given.map(|reason| text::clip(reason, 500))
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

/// Warns of a caller of kind `kind` that nothing in `world` vouches for: anyone may `risk`.
pub fn warn_unvouched(
    kind: Kind,
    identity: &Identity,
    risk: &str,
    context: &Context,
    world: &dyn World,
) {
    if kind == Kind::Plan && judge_plan(&identity.id, world).is_stale() {
        context.voice.warn(format!(
            "nothing vouches for {}: there is no plan of that name, so anyone may {risk}; \
             --ttl or --while-pid keeps it",
            identity.id
        ));
    }
}

/// Where the caller works, for people.
pub fn workplace(context: &Context) -> String {
    let root = context
        .place
        .checkout
        .as_ref()
        .and_then(|checkout| checkout.work_dir.as_deref());
    shown(root.unwrap_or(&context.cwd))
}

/// A path for a report.
pub fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
