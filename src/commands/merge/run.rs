//! `git locks merge run`: waits for the lock, runs a command under it, and lets go.
//!
//! **The steps**: signals are caught; the turn is waited for; once it is near, a process is parked
//! that will become the command; the grant records it; it is told to begin, and seen through; the
//! lock is let go; signals do what they did before. A signal before the grant leaves the queue, one
//! between the grant and the beginning lets go without it, one after it is passed on to the command.
//!
//! **A crash** before the grant leaves a place that the next call of the checkout takes over; one
//! after it leaves a lock that is free as soon as the command has ended, at once if it was not told
//! to begin.

use super::announce::{blocked_report, refuse_own_parent};
use super::ask::{Answer, Asked, Granting};
use super::held::{Attached, Enclosing, Visit};
use super::nested;
use super::release::log_released;
use super::turn::{MergeTurn, ToRun, suffixed};
use super::{decide_as, failure, lock_path, set_title, workplace};
use crate::cli;
use crate::commands::Failure;
use crate::commands::context::Context;
use crate::commands::waiting::{self, Patience};
use crate::error::{Error, ErrorKind, Result};
use crate::exit::Exit;
use crate::identity::{Identity, PlanId};
use crate::locks::merge::{self, Admission, Bid, Release};
use crate::participant::Kind;
use crate::report::{Action, Failed, Outcome, Report};
use crate::run::{self, Ended, Held, Kept, Parked, Running, Treatment};
use crate::store::last_resort::LastResort;
use crate::store::merge::Purpose;
use crate::sys::signals::{self, Signals};
use crate::sys::{clock, random};
use crate::wait::{Ears as _, Senses};

/// How many random bytes make a token.
const TOKEN_BYTES: usize = 16;

/// `merge run`.
///
/// # Errors
/// Whatever kept the command from being run.
pub fn run(args: &cli::Run, context: &Context) -> Result<Outcome, Failure> {
    let limits = Limits::of(args)?;
    let patience = Patience::of(&args.patience, true, context)?;
    if nested::enclosing(context)?.is_some() {
        return Ok(run_inside(args, limits, context)?);
    }
    let identity = context.identity(&args.who)?;
    let mut id = identity.id.clone();
    let ran = run_as(args, limits, patience, &identity, &mut id, context);
    ran.or_else(|error| {
        if error.kind() != ErrorKind::Timeout {
            return Err(failure(error, &id));
        }
        // The guard was not to be had, so neither was the lock.
        let failed = Failed::new(&error, Some(id.as_str().to_owned()));
        let exit = Exit::of_command(args.blocked_code);
        Ok(Outcome::Aside(Box::new(Report::Failed(failed)), exit))
    })
}

/// How long the command may hold the lock, and take to end, in seconds.
#[derive(Clone, Copy)]
struct Limits {
    hold: Option<f64>,
    kill: Option<f64>,
}

impl Limits {
    fn of(args: &cli::Run) -> Result<Self> {
        let seconds = |given: &Option<String>, flag| {
            let given = given.as_deref();
            let span = given
                .map(|given| waiting::duration(given, flag))
                .transpose();
            span.map(|span| span.map(|span| span.as_secs_f64()))
        };
        Ok(Self {
            hold: seconds(&args.max_hold, "--max-hold")?,
            kill: seconds(&args.kill_after, "--kill-after")?,
        })
    }

    /// What they mean for a command that starts now.
    fn treatment(self, args: &cli::Run) -> Treatment {
        Treatment {
            end_at: self.hold.map(|span| clock::steady() + span),
            kill_after: self.kill,
            end_on_loss: args.on_loss == cli::OnLoss::End,
        }
    }
}

/// Runs the command under the lock of the run that this process is inside of, for as long as that
/// holds it.
fn run_inside(args: &cli::Run, limits: Limits, context: &Context) -> Result<Outcome> {
    let voice = &context.voice;
    voice.detail("inside a run of the same lock: the command runs under that");
    let mut senses = Senses::new(Signals::arm(&signals::ENDING)?);
    catch_for_running(&mut senses)?;
    let mut child = run::start_plainly(&args.command, Vec::new())?;
    let mut held = Enclosing { context };
    let treatment = limits.treatment(args);
    let ended = run::see_through(&mut child, &mut held, &mut senses, treatment, voice)?;
    // The enclosing run may have ended just before.
    let lost = ended.lost || matches!(held.keep(), Ok(Kept::Lost(_)));
    if lost && !ended.lost {
        voice.warn("the enclosing run had ended before the command did");
    }
    Ok(Outcome::Silent(if lost { Exit::LOST } else { ended.exit }))
}

fn run_as(
    args: &cli::Run,
    limits: Limits,
    patience: Patience,
    named: &Identity,
    asking: &mut PlanId,
    context: &Context,
) -> Result<Outcome> {
    let caught = Signals::arm(&signals::ENDING)?;
    let bell = caught.bell();
    let token = random::hex(TOKEN_BYTES)?;
    let bid = Bid {
        kind: Kind::Attached,
        insists: false,
        ttl: context.settings.ttl.as_secs_f64(),
        process: None,
        token: Some(nested::digest(&token)),
        workplace: Some(workplace(context)),
        reason: super::acquire::given_reason(args.reason.as_deref()),
    };
    // Two runs of one checkout are two participants.
    let identity = if named.explicit {
        named.clone()
    } else {
        suffixed(named)?
    };
    let command = ToRun {
        command: &args.command,
        environment: vec![
            (nested::LOCK, nested::marker(context)),
            (nested::TOKEN, token.into()),
        ],
    };
    let mut turn = MergeTurn::new(
        context,
        named,
        identity,
        bid,
        args.no_title_token,
        bell.as_ref(),
    )?
    .running(command);
    let mut senses = Senses::new(caught);
    asking.clone_from(&turn.identity.id);
    let answered = admitted(&mut turn, patience, &mut senses, args, context);
    asking.clone_from(&turn.identity.id);
    let granting = match answered? {
        Ok(granting) => granting,
        Err(outcome) => return Ok(outcome),
    };
    let treatment = limits.treatment(args);
    if granting.granted.action == Action::AlreadyHeld {
        return visit(&mut turn, &granting, senses, treatment);
    }
    let ran = run_attached(&mut turn, &granting, &mut senses, treatment);
    let kept = let_go(turn, ran.last_resort.as_ref(), args.no_title_token, context);
    let ended = ran.ended?;
    let lost = ended.lost || !kept;
    Ok(Outcome::Silent(if lost { Exit::LOST } else { ended.exit }))
}

/// Waits for the turn; or what to say where it does not come.
fn admitted(
    turn: &mut MergeTurn<'_>,
    patience: Patience,
    senses: &mut Senses,
    args: &cli::Run,
    context: &Context,
) -> Result<Result<Granting, Outcome>> {
    let once = patience == Patience::None;
    if !once {
        match turn.wait(patience, senses)? {
            Some(Answer::Granted(granting)) => return Ok(Ok(granting)),
            Some(Answer::OwnParent(holder)) => {
                return Ok(Err(own_parent(context, &turn.identity, holder)));
            }
            None => {}
        }
    }
    if once {
        turn.park()?;
    }
    let asked = turn.last_word(once, senses)?;
    match asked.outcome {
        Asked::OwnParent(holder) => Ok(Err(own_parent(context, &turn.identity, holder))),
        Asked::Answer(Admission::Admitted(granted)) => Ok(Ok(turn.granting(granted, &asked.state))),
        Asked::Answer(Admission::Namesake) => Err(turn.no_name()),
        Asked::Answer(Admission::Blocked(waiting)) => {
            let report = blocked_report(&waiting, &asked.state, &turn.identity, context);
            let exit = Exit::of_command(args.blocked_code);
            Ok(Err(Outcome::Aside(Box::new(report), exit)))
        }
    }
}

fn own_parent(context: &Context, identity: &Identity, holder: String) -> Outcome {
    let report = refuse_own_parent(context, identity, holder);
    Outcome::Aside(Box::new(report), Exit::REFUSED)
}

/// How an attached run went, and what is left to let go with.
struct Ran {
    ended: Result<Ended>,
    last_resort: Option<LastResort>,
}

fn run_attached(
    turn: &mut MergeTurn<'_>,
    granting: &Granting,
    senses: &mut Senses,
    treatment: Treatment,
) -> Ran {
    let context = turn.context;
    // Before the command can use anything up.
    let last_resort = LastResort::prepare(&context.merge_store()).unwrap_or_default();
    let mut held = Attached {
        context,
        turn,
        last_resort,
        bell: None,
    };
    let ended = begin_and_see_through(&mut held, granting, senses, treatment);
    Ran {
        ended,
        last_resort: held.last_resort,
    }
}

fn begin_and_see_through(
    held: &mut Attached<'_, '_>,
    granting: &Granting,
    senses: &mut Senses,
    treatment: Treatment,
) -> Result<Ended> {
    catch_for_running(senses)?;
    held.bell = senses.signals.bell();
    let (parked, recorded) = held.turn.take_parked()?;
    if !recorded && !matches!(held.keep()?, Kept::Yes | Kept::Restored) {
        let message = "the lock was lost before the command began; it was not started";
        return Err(Error::new(ErrorKind::Lost, message));
    }
    let mut running = begin(parked, granting, held.turn)?;
    held.turn.announce(granting);
    let voice = &held.context.voice;
    run::see_through(running.child(), held, senses, treatment, voice)
}

/// Lets the command begin.
fn begin(parked: Parked, granting: &Granting, turn: &MergeTurn<'_>) -> Result<Running> {
    let fence = granting.granted.fence.map(|fence| fence.to_string());
    let mut told = vec![
        (nested::HOLDER, turn.identity.id.as_str()),
        (nested::FENCE, fence.as_deref().unwrap_or_default()),
    ];
    if !granting.known {
        // A holder that another program recorded, or nobody did.
        told.push((nested::TOKEN, ""));
    }
    parked.begin(&told)
}

/// Runs the command under a lock that its id holds detached, and leaves it as it was.
fn visit(
    turn: &mut MergeTurn<'_>,
    granting: &Granting,
    mut senses: Senses,
    treatment: Treatment,
) -> Result<Outcome> {
    let (id, voice) = (&turn.identity.id, &turn.context.voice);
    voice.inform(format!(
        "{id} holds the lock already, and keeps it afterwards"
    ));
    catch_for_running(&mut senses)?;
    let (parked, _) = turn.take_parked()?;
    let mut running = begin(parked, granting, turn)?;
    let mut held = Visit {
        identity: &turn.identity,
        context: turn.context,
        fence: granting.granted.fence,
        expires_at: granting.granted.expires_at,
        bell: senses.signals.bell(),
    };
    let ended = run::see_through(
        running.child(),
        &mut held,
        &mut senses,
        treatment,
        &turn.context.voice,
    );
    end_visit(turn);
    let ended = ended?;
    let exit = if ended.lost { Exit::LOST } else { ended.exit };
    Ok(Outcome::Silent(exit))
}

/// Makes the token of a visit worth nothing. Best effort: it was the command's alone.
fn end_visit(turn: &MergeTurn<'_>) {
    let ended = decide_as(
        turn.context,
        &turn.context.caller(&turn.identity),
        Purpose::Ordinary,
        true,
        None,
        |state, _caller, verdicts, _rules| (merge::end_visit(state, &turn.bid, verdicts), ()),
    );
    if let Err(error) = ended {
        let voice = &turn.context.voice;
        voice.detail(format!("the end of the visit was not recorded: {error}"));
    }
}

/// From now on also hears of the command's end and of a terminal that changes its size.
fn catch_for_running(senses: &mut Senses) -> Result<()> {
    let mut wanted = signals::PASSED_ON.to_vec();
    wanted.push(signals::CHILD);
    let caught = Signals::arm(&wanted)?;
    if let Some(signal) = senses.signal() {
        return Err(waiting::interrupted_before_start(signal));
    }
    senses.signals = caught;
    Ok(())
}

/// Lets go of the lock, whatever it takes. Whether it was still held.
fn let_go(
    turn: MergeTurn<'_>,
    last_resort: Option<&LastResort>,
    no_title: bool,
    context: &Context,
) -> bool {
    let caller = turn.caller();
    let id = turn.identity.id.clone();
    let released = decide_as(
        context,
        &caller,
        Purpose::Release,
        no_title,
        None,
        merge::release,
    );
    let voice = &context.voice;
    match released {
        Ok(committed) => {
            set_title(context, &id, None, no_title);
            let holder = match committed.outcome {
                Release::Released => {
                    let waiting = committed.state.queue.len();
                    log_released(context, id.as_str(), &lock_path(context), None, waiting);
                    return true;
                }
                Release::Noop { holder, .. } => holder,
                Release::HolderPresent(holder) => Some(holder),
            };
            let now = run::whose(holder.as_deref());
            voice.warn(format!(
                "the lock was not held any more when the command had ended: now {now}"
            ));
            false
        }
        Err(error) => {
            let store = context.merge_store();
            let patience = context.settings.guard_timeout;
            let removed = last_resort.map(|last| last.remove_lock(&store, patience, || drop(turn)));
            match removed {
                Some(Ok(true)) => voice.warn(format!("the release could not be recorded: {error}")),
                Some(Ok(false)) => {
                    voice.warn("the lock was not held any more when the command had ended");
                    return false;
                }
                _ => voice.warn(format!(
                    "the lock could not be let go: {error}; \
                     it counts as free once this process has ended"
                )),
            }
            true
        }
    }
}
