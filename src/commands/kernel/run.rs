//! `git locks repo run` and `git locks worktree run`.

use std::io;
use std::time::Duration;

use super::KernelLock;
use super::holding::Holding;
use super::keeper::Keeper;
use super::turn::{Answer, KernelTurn};
use crate::cli;
use crate::commands::inside::Token;
use crate::commands::running::{Manner, run_at_once};
use crate::commands::waiting::{self, Patience};
use crate::error::{Error, ErrorKind, Result, reason};
use crate::exit::Exit;
use crate::progress::Progress;
use crate::report::{KernelBlocked, KernelRefused, Outcome, Refusal, Report, Status};
use crate::run;
use crate::sys::inherit;
use crate::sys::signals::{self, Signals};
use crate::titles::Title;
use crate::wait::{Senses, Waited, wait};

/// Waits for `lock`, by default for so long, and runs a command under it.
///
/// # Errors
/// Whatever kept the command from being run.
pub fn run(
    args: &cli::KernelRun,
    lock: &KernelLock<'_>,
    default: Option<Duration>,
) -> Result<Outcome> {
    let context = lock.context;
    let manner = Manner::of(&args.conduct, patience(args, lock, default)?)?;
    let mut senses = Senses::new(Signals::arm(&signals::ENDING)?);
    let once = manner.patience() == Patience::None;
    let mut turn = KernelTurn::new(lock, once);
    let command = run::shown(manner.command());
    let headline = |title| context.headline(title, lock.family, Some(&command), false);
    let _borrowed = context.voice.borrow_title();
    let mut progress =
        Progress::new(&context.voice, lock.what, || None).entitled(headline(Title::LockWaiting));
    let budget = manner.patience().budget();
    let waited = wait(&mut turn, budget, &mut senses, &mut progress);
    context.voice.hush();
    let file = match waited? {
        Waited::Answered(Answer::Granted(file)) => file,
        Waited::Answered(Answer::OwnParent(holder)) => return Ok(refused(lock, holder)),
        Waited::TimedOut => return Ok(blocked(lock, budget, manner.blocked_exit())),
        Waited::Interrupted(signal) => return Err(waiting::interrupted_in_line(signal)),
    };
    let environment = Token::new(lock.marker())?.mention();
    let lent = file.try_clone().map_err(|e| cannot_lend(&e))?;
    if let Some(headline) = headline(Title::LockOwned) {
        context.voice.entitle(&headline);
    }
    let mut holding = Holding::begin(lock, file, command);
    let start = || {
        let start = || run::start_plainly(manner.command(), environment);
        inherit::lend(&lent, start).map_err(|e| cannot_lend(&e))?
    };
    let afterwards = "another held the lock when the command had ended";
    let ended = run_at_once(
        start,
        &manner,
        &mut holding,
        senses,
        afterwards,
        &context.voice,
    );
    if ended.is_ok() {
        holding.let_go();
    }
    ended
}

fn cannot_lend(error: &io::Error) -> Error {
    let message = format!("cannot give the command the lock: {}", reason(error));
    Error::new(ErrorKind::Io, message)
}

/// How long to wait: as the flags say, else by default.
fn patience(
    args: &cli::KernelRun,
    lock: &KernelLock<'_>,
    default: Option<Duration>,
) -> Result<Patience> {
    let silent = args.patience.wait.is_none() && !args.patience.no_wait;
    match (args.timeout, default.filter(|_| silent)) {
        (Some(seconds), _) => within(seconds),
        (None, Some(span)) => Ok(Patience::For(span)),
        (None, None) => Patience::of(&args.patience, true, lock.context),
    }
}

/// A wait of at most so many seconds.
fn within(seconds: f64) -> Result<Patience> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(Duration::ZERO) => Ok(Patience::None),
        Ok(span) => Ok(Patience::For(span)),
        Err(_) => {
            let message = format!("--timeout: '{seconds}' is not a number of seconds");
            Err(Error::usage(message).with_hint("it is 0 or more, as in 2.5; 0 tries once"))
        }
    }
}

fn blocked(lock: &KernelLock<'_>, timeout: Option<f64>, exit: Exit) -> Outcome {
    let Keeper {
        pid,
        host,
        since,
        command,
    } = lock.holder();
    let report = KernelBlocked {
        status: Status::Blocked,
        lock_path: lock.shown(),
        workspace: lock.workspace(),
        holder_pid: pid,
        holder_host: host,
        holder_since: since,
        holder_command: command,
        timeout,
    };
    Outcome::Aside(Box::new(Report::KernelBlocked(report)), exit)
}

fn refused(lock: &KernelLock<'_>, holder: Keeper) -> Outcome {
    let report = KernelRefused {
        status: Status::Refused,
        reason: Refusal::OwnParent,
        lock_path: lock.shown(),
        workspace: lock.workspace(),
        holder_pid: holder.pid,
        holder_command: holder.command,
    };
    Outcome::Aside(Box::new(Report::KernelRefused(report)), Exit::REFUSED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_a_wait_and_none_of_0() {
        let quarter = Patience::For(Duration::from_millis(250));
        assert_eq!(within(0.25).ok(), Some(quarter));
        for none in [0.0, -0.0] {
            assert_eq!(within(none).ok(), Some(Patience::None));
        }
        for odd in [-1.0, -0.5, f64::NAN, f64::INFINITY, 1e300] {
            let error = within(odd).expect_err("no time");
            assert_eq!(error.kind(), ErrorKind::Usage, "{odd}");
        }
    }
}
