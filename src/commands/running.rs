//! Running a command under a lock.
//!
//! **The steps** of a lock with a queue: signals are caught; the turn is waited for; once it is
//! near, a process is parked that will become the command; the grant records it; it is told to
//! begin, and seen through; the lock is let go; signals do what they did before. A signal before the
//! grant leaves the queue, one between the grant and the beginning lets go without it, one after it
//! is passed on to the command.
//!
//! **A crash** before the grant leaves a place that the next call of the checkout takes over; one
//! after it leaves a lock that is free as soon as the command has ended, at once if it was not told
//! to begin.

use std::ffi::OsString;
use std::process::Child;

use crate::cli;
use crate::commands::Failure;
use crate::commands::asking::{given_reason, workplace};
use crate::commands::context::Context;
use crate::commands::inside::Token;
use crate::commands::part::{Answer, Queued, ToRun, suffixed, wait_for};
use crate::commands::waiting::{self, Patience};
use crate::error::{Error, ErrorKind, Result};
use crate::exit::Exit;
use crate::identity::{Identity, PlanId};
use crate::locks::asking::Bid;
use crate::participant::Kind;
use crate::report::{Failed, Outcome, Report};
use crate::run::{self, Ended, Held, Kept, Treatment};
use crate::sys::clock;
use crate::sys::signals::{self, Bell, Signals};
use crate::voice::Voice;
use crate::wait::{Ears as _, Senses};

/// For how long the guard is tried for while a command runs, in seconds, before what else is due is
/// seen to.
const PATIENCE: f64 = 1.0;

/// How the command is to be run, as far as the flags tell.
pub struct Manner<'a> {
    conduct: &'a cli::Conduct,
    patience: Patience,
    hold: Option<f64>,
    kill: Option<f64>,
}

impl<'a> Manner<'a> {
    /// Reads the flags.
    pub fn of(conduct: &'a cli::Conduct, patience: Patience) -> Result<Self> {
        let seconds = |given: &Option<String>, flag| {
            let given = given.as_deref();
            let span = given
                .map(|given| waiting::duration(given, flag))
                .transpose();
            span.map(|span| span.map(|span| span.as_secs_f64()))
        };
        Ok(Self {
            conduct,
            patience,
            hold: seconds(&conduct.max_hold, "--max-hold")?,
            kill: seconds(&conduct.kill_after, "--kill-after")?,
        })
    }

    /// How long to wait.
    pub fn patience(&self) -> Patience {
        self.patience
    }

    /// The command and its arguments.
    pub fn command(&self) -> &'a [OsString] {
        &self.conduct.command
    }

    /// The exit code when the lock was not to be had.
    pub fn blocked_exit(&self) -> Exit {
        Exit::of_command(self.conduct.blocked_code)
    }

    /// What the flags mean for a command that starts now.
    fn treatment(&self) -> Treatment {
        Treatment {
            end_at: self.hold.map(|span| clock::steady() + span),
            kill_after: self.kill,
            end_on_loss: self.conduct.on_loss == cli::OnLoss::End,
        }
    }
}

/// A turn that ends in running a command.
pub trait Runs<'a>: Queued<'a, Answer = Answer<Self::Grant>> + Held + Sized {
    /// The lock, or the slot, as it was granted.
    type Grant;
    /// Asks for the last time, `once` and without a trace or after a wait that came to nothing: what
    /// was granted, or what to say.
    fn last_ask(
        &mut self,
        once: bool,
        senses: &mut Senses,
        blocked: Exit,
    ) -> Result<std::result::Result<Self::Grant, Outcome>>;
    /// What to say where `holder` waits for the very process that asks.
    fn own_parent(&mut self, holder: String) -> Report;
    /// What the command is told when it begins.
    fn told(&self, grant: &Self::Grant) -> Vec<(&'static str, String)>;
    /// Tells the timeline and the title of the grant.
    fn announce(&self, grant: &Self::Grant);
    /// The lock of a detached holder of the same id, where that is what was granted.
    fn visited(&self, grant: &Self::Grant, bell: Option<Bell>) -> Option<Box<dyn Held + 'a>>;
    /// Ends a visit. Best effort.
    fn end_visit(&self, grant: &Self::Grant);
    /// Prepares for looking after what was granted, before the command can use anything up. `bell`
    /// tells of what else is due meanwhile.
    fn prepare(&mut self, grant: &Self::Grant, bell: Option<Bell>);
    /// Lets go, whatever it takes. Whether it was still held.
    fn let_go(self) -> bool;
}

/// Who a run asks as, what it brings along, and what it will start, under the lock that `lock` names.
///
/// # Errors
/// There is no randomness to be had.
pub fn make_ready<'a>(
    args: &'a cli::Run,
    named: &Identity,
    lock: OsString,
    context: &Context,
) -> Result<(Identity, Bid, ToRun<'a>)> {
    let token = Token::new(lock)?;
    let bid = Bid {
        kind: Kind::Attached,
        insists: false,
        ttl: context.settings.ttl.as_secs_f64(),
        process: None,
        token: Some(token.digest()),
        workplace: Some(workplace(context)),
        reason: given_reason(args.reason.as_deref()),
    };
    let to_run = ToRun {
        command: &args.conduct.command,
        environment: token.environment(),
    };
    // Two runs of one checkout are two participants.
    let identity = if named.explicit {
        named.clone()
    } else {
        suffixed(named)?
    };
    Ok((identity, bid, to_run))
}

/// Waits for the turn, runs the command under it, and lets go. `asking` becomes the id that it asks
/// under.
///
/// # Errors
/// Whatever kept the command from being run.
pub fn run_in_turn<'a, T: Runs<'a>>(
    mut turn: T,
    caught: Signals,
    manner: &Manner<'_>,
    asking: &mut PlanId,
) -> Result<Outcome> {
    let mut senses = Senses::new(caught);
    let voice = &turn.part().context.voice;
    let _borrowed = voice.borrow_title();
    asking.clone_from(&turn.part().identity.id);
    let answered = admitted(&mut turn, &mut senses, manner);
    asking.clone_from(&turn.part().identity.id);
    let grant = match answered? {
        Ok(grant) => grant,
        Err(outcome) => return Ok(outcome),
    };
    let treatment = manner.treatment();
    let ended = if turn.visited(&grant, None).is_some() {
        visit(&mut turn, &grant, &mut senses, treatment)?
    } else {
        let ended = begin_and_see_through(&mut turn, &grant, &mut senses, treatment);
        let kept = turn.let_go();
        let ended = ended?;
        Ended {
            lost: ended.lost || !kept,
            ..ended
        }
    };
    Ok(Outcome::Silent(exit_of(&ended)))
}

fn exit_of(ended: &Ended) -> Exit {
    if ended.lost { Exit::LOST } else { ended.exit }
}

/// Waits for the turn; or what to say where it does not come.
fn admitted<'a, T: Runs<'a>>(
    turn: &mut T,
    senses: &mut Senses,
    manner: &Manner<'_>,
) -> Result<std::result::Result<T::Grant, Outcome>> {
    let once = manner.patience == Patience::None;
    if once {
        turn.part().park()?;
    } else {
        match wait_for(turn, manner.patience, senses)? {
            Some(Answer::Granted(grant)) => return Ok(Ok(grant)),
            Some(Answer::OwnParent(holder)) => {
                let report = turn.own_parent(holder);
                return Ok(Err(Outcome::Aside(Box::new(report), Exit::REFUSED)));
            }
            None => {}
        }
    }
    turn.last_ask(once, senses, manner.blocked_exit())
}

fn begin_and_see_through<'a, T: Runs<'a>>(
    turn: &mut T,
    grant: &T::Grant,
    senses: &mut Senses,
    treatment: Treatment,
) -> Result<Ended> {
    catch_for_running(senses)?;
    turn.prepare(grant, senses.signals.bell());
    let (parked, recorded) = turn.part().take_parked()?;
    if !recorded {
        record(turn, senses)?;
    }
    let mut running = parked.begin(&turn.told(grant))?;
    turn.announce(grant);
    entitle(turn);
    let voice = &turn.part().context.voice;
    run::see_through(running.child(), turn, senses, treatment, voice)
}

/// Shows on the terminal that the command runs.
fn entitle<'a, T: Runs<'a>>(turn: &mut T) {
    let part = turn.part();
    if let Some(headline) = part.headline(T::HELD, T::NAME) {
        part.context.voice.entitle(&headline);
    }
}

/// Records the process that will become the command, where another one is on record.
fn record<'a, T: Runs<'a>>(turn: &mut T, senses: &mut Senses) -> Result<()> {
    let patience = turn.part().context.settings.guard_timeout.as_secs_f64();
    let until = clock::steady() + patience;
    loop {
        match turn.keep()? {
            Kept::Yes | Kept::Restored => return Ok(()),
            Kept::Lost(_) => {
                let what = turn.what();
                let message =
                    format!("{what} was lost before the command began; it was not started");
                return Err(Error::new(ErrorKind::Lost, message));
            }
            Kept::Unclear => {}
        }
        if let Some(signal) = senses.signal() {
            return Err(waiting::interrupted_before_start(signal));
        }
        if clock::steady() >= until {
            let message = "what will run could not be recorded in time; it was not started";
            return Err(Error::new(ErrorKind::Timeout, message));
        }
    }
}

/// Runs the command under a lock that its id holds detached, and leaves it as it was.
fn visit<'a, T: Runs<'a>>(
    turn: &mut T,
    grant: &T::Grant,
    senses: &mut Senses,
    treatment: Treatment,
) -> Result<Ended> {
    let context = turn.part().context;
    let (id, voice) = (turn.part().identity.id.clone(), &context.voice);
    voice.inform(format!(
        "{id} holds {} already, and keeps it afterwards",
        turn.what()
    ));
    catch_for_running(senses)?;
    let (parked, _) = turn.part().take_parked()?;
    let bell = senses.signals.bell();
    let Some(mut held) = turn.visited(grant, bell) else {
        return Err(Error::new(ErrorKind::Lost, "there is nothing to visit"));
    };
    let mut running = parked.begin(&turn.told(grant))?;
    entitle(turn);
    let ended = run::see_through(running.child(), &mut *held, senses, treatment, voice);
    turn.end_visit(grant);
    ended
}

/// Runs the command under the lock of the run that this process is inside of, for as long as that
/// holds it.
///
/// # Errors
/// The command could not be started.
pub fn run_inside(manner: &Manner<'_>, held: &mut dyn Held, context: &Context) -> Result<Outcome> {
    let voice = &context.voice;
    let what = held.what();
    voice.detail(format!(
        "inside a run that holds {what}: the command runs under that"
    ));
    let start = || run::start_plainly(manner.command(), Vec::new());
    let senses = Senses::new(Signals::arm(&signals::ENDING)?);
    // The enclosing run may have ended just before.
    let afterwards = "the enclosing run had ended before the command did";
    run_at_once(start, manner, held, senses, afterwards, voice)
}

/// Runs the command that `start` starts, under a lock that is `held` already. Where it turns out to be
/// lost only `afterwards`, that is said.
///
/// # Errors
/// The command could not be started, or its end not be learned.
pub fn run_at_once(
    start: impl FnOnce() -> Result<Child>,
    manner: &Manner<'_>,
    held: &mut dyn Held,
    mut senses: Senses,
    afterwards: &str,
    voice: &Voice,
) -> Result<Outcome> {
    // Given back while signals are still caught.
    let _borrowed = voice.borrow_title();
    catch_for_running(&mut senses)?;
    let mut child = start()?;
    let treatment = manner.treatment();
    let mut ended = run::see_through(&mut child, held, &mut senses, treatment, voice)?;
    if !ended.lost && matches!(held.keep(), Ok(Kept::Lost(_))) {
        ended.lost = true;
        voice.warn(afterwards);
    }
    Ok(Outcome::Silent(exit_of(&ended)))
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

/// What to say where a run failed: that the guard was not to be had means that the lock was not.
pub fn failed(error: Error, id: &PlanId, manner: &Manner<'_>) -> Result<Outcome, Failure> {
    let plan_id = Some(id.as_str().to_owned());
    if error.kind() != ErrorKind::Timeout {
        return Err(Failure { error, plan_id });
    }
    let failed = Report::Failed(Failed::new(&error, plan_id));
    Ok(Outcome::Aside(Box::new(failed), manner.blocked_exit()))
}

/// What was decided, or nothing where somebody is inside the guard, who will leave it.
pub fn unless_busy<T>(decided: Result<T>) -> Result<Option<T>> {
    match decided {
        Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
        decided => decided.map(Some),
    }
}

/// Tells who looks after the lock that something else is due: a signal, the end of the command, or
/// one of its time limits.
pub fn wanted_elsewhere(bell: Option<&Bell>) -> impl Fn() -> bool {
    let until = clock::steady() + PATIENCE;
    move || clock::steady() >= until || bell.is_some_and(Bell::rings)
}

/// Three times within a lease, in seconds.
pub fn keep_every(context: &Context) -> f64 {
    (context.settings.ttl.as_secs_f64() / 3.0).max(1.0)
}
