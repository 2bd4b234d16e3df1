//! `git locks hook pre-push`: what git runs before a push.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::refs::{self, Protected, Pushed};
use crate::cli::{HookPrePush, Who};
use crate::commands::Failure;
use crate::commands::asking::shown;
use crate::commands::context::Context;
use crate::commands::merge::push::{self, Holding, Standing, Taken};
use crate::commands::waiting::Patience;
use crate::config;
use crate::error::{Error, ErrorKind, Result, reason};
use crate::exit::Exit;
use crate::identity::Identity;
use crate::place;
use crate::report::{Outcome, PushRefusal, PushStopped, Report, Status};
use crate::sys::clock;
use crate::sys::process::{self, ProcessId};
use crate::text;

/// The longest command line that is repeated, in bytes.
const LONGEST: usize = 400;

/// Options of git that stand before its command, and whose value is a word of its own.
const WITH_VALUE: [&str; 9] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--super-prefix",
    "--config-env",
    "--attr-source",
];

/// `hook pre-push`.
///
/// # Errors
/// Whatever keeps it from telling whether the push may go on: it may not.
pub fn pre_push(args: &HookPrePush, context: &Context) -> Result<Outcome, Failure> {
    let remote = args.remote.first().map(OsString::as_os_str);
    let protected = if args.protect.is_empty() {
        Protected::by_default(remote.and_then(place::default_branch))
    } else {
        Protected::parse(&args.protect)?
    };
    let pushed = refs::read(&mut io::stdin().lock(), &protected).map_err(|error| {
        let message = format!("cannot read what is pushed: {}", reason(&error));
        Error::new(ErrorKind::Io, message)
    })?;
    if pushed.count == 0 {
        let voice = &context.voice;
        voice.detail("nothing protected is pushed: the merge lock is left alone");
        return Ok(Outcome::Silent(Exit::SUCCESS));
    }
    let identity = context.identity(&Who { plan_id: None })?;
    let push = git_push();
    let push = push.as_ref();
    let decided = if args.require {
        required(&identity, push, context)
    } else {
        taken(&identity, push, context)
    };
    let stopped = decided.map_err(|error| Failure {
        error,
        plan_id: Some(identity.id.as_str().to_owned()),
    })?;
    Ok(match stopped {
        None => Outcome::Silent(Exit::SUCCESS),
        Some(stop) => stop.outcome(&identity, &pushed, push, context),
    })
}

/// Why the push must not go on.
struct Stop {
    reason: PushRefusal,
    holding: Holding,
    position: Option<usize>,
    waited: Option<f64>,
}

impl Stop {
    fn refused(reason: PushRefusal, holding: Holding) -> Self {
        Self {
            reason,
            holding,
            position: None,
            waited: None,
        }
    }

    fn outcome(
        self,
        identity: &Identity,
        pushed: &Pushed,
        push: Option<&GitPush>,
        context: &Context,
    ) -> Outcome {
        let blocked = self.reason == PushRefusal::NotAdmitted;
        let (status, exit) = if blocked {
            (Status::Blocked, Exit::BLOCKED)
        } else {
            (Status::Refused, Exit::REFUSED)
        };
        let words = push.and_then(|push| repeatable(&push.words));
        let stopped = PushStopped {
            status,
            plan_id: identity.id.as_str().to_owned(),
            reason: self.reason,
            refs: pushed.names.clone(),
            ref_count: pushed.count,
            lock_path: shown(&context.merge_store().lock_path),
            holder: self.holding.holder,
            holder_since: self.holding.since,
            holder_where: self.holding.workplace,
            holder_reason: self.holding.reason,
            position: self.position,
            waited: self.waited,
            command: format!(
                "git locks merge run -- {}",
                words.unwrap_or_else(|| "git push …".to_owned())
            ),
        };
        // Never on standard output, where `--exit-zero` would let the push go on.
        Outcome::Aside(Box::new(Report::PushStopped(stopped)), exit)
    }
}

/// Whether the pusher holds the lock, which it must.
fn required(
    identity: &Identity,
    push: Option<&GitPush>,
    context: &Context,
) -> Result<Option<Stop>> {
    let process = push.map(|push| &push.process);
    Ok(match push::standing(identity, process, context)? {
        Standing::Held => None,
        Standing::Stale(holding) => Some(Stop::refused(PushRefusal::Stale, holding)),
        Standing::NotHeld(holding) => Some(Stop::refused(PushRefusal::NotHeld, holding)),
    })
}

/// Takes the lock for the push, unless the pusher holds it.
fn taken(identity: &Identity, push: Option<&GitPush>, context: &Context) -> Result<Option<Stop>> {
    let process = push.map(|push| &push.process);
    if let Standing::Held = push::standing(identity, process, context)? {
        context
            .voice
            .detail("the pusher holds the merge lock already");
        return Ok(None);
    }
    let Some(push) = push else {
        return Err(Error::new(
            ErrorKind::NotFound,
            "the git push that this hook works for cannot be seen among its parents, \
             so the merge lock cannot be held for it",
        )
        .with_hint("push under the lock: git locks merge run -- git push …"));
    };
    let wait = config::hook_wait(&context.place)?;
    let patience = if wait.is_zero() {
        Patience::None
    } else {
        Patience::For(wait)
    };
    let began = clock::steady();
    let reason = repeatable(&push.words).unwrap_or_else(|| "git push".to_owned());
    Ok(
        match push::take(identity, &push.process, reason, patience, context)? {
            Taken::Granted => None,
            Taken::OwnParent(holding) => Some(Stop::refused(PushRefusal::OwnParent, holding)),
            Taken::Blocked(holding, position) => Some(Stop {
                reason: PushRefusal::NotAdmitted,
                holding,
                position,
                waited: (!wait.is_zero()).then(|| clock::steady() - began),
            }),
        },
    )
}

/// The push that the hook works for.
struct GitPush {
    process: ProcessId,
    words: Vec<OsString>,
}

/// The nearest ancestor that is a `git push`: git runs the hook, and may run it through other
/// programs. No other ancestor will do: one may end long before the push or long after it.
fn git_push() -> Option<GitPush> {
    process::ancestors().into_iter().find_map(|process| {
        let words = process::arguments(process.pid)?;
        is_git_push(&words).then_some(GitPush { process, words })
    })
}

/// Whether a command line is that of a `git push`.
fn is_git_push(words: &[OsString]) -> bool {
    let mut words = words.iter();
    let program = words.next().and_then(|word| Path::new(word).file_name());
    if program == Some(OsStr::new("git-push")) {
        return true;
    }
    if program != Some(OsStr::new("git")) {
        return false;
    }
    while let Some(word) = words.next() {
        if WITH_VALUE.iter().any(|option| word == option) {
            words.next();
        } else if !word.as_bytes().starts_with(b"-") {
            return word == "push";
        }
    }
    false
}

/// A command line of `git push` to be typed again, unless it is too long, cannot be typed, or may bear
/// a password.
fn repeatable(words: &[OsString]) -> Option<String> {
    let (program, words) = words.split_first()?;
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let words = words?;
    let secret = |word: &&str| word.contains("://") && word.contains('@');
    let odd = |word: &&str| text::visible(word) != **word;
    if words.iter().any(|word| secret(word) || odd(word)) {
        return None;
    }
    let words = words.iter().map(|word| text::shell_word(word));
    let own_program = Path::new(program).file_name() == Some(OsStr::new("git-push"));
    let command = if own_program { "git push" } else { "git" };
    let line: Vec<String> = [vec![command.to_owned()], words.collect()].concat();
    Some(line.join(" ")).filter(|line| line.len() <= LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_git_push_is_told_from_what_runs_beside_it() {
        for line in [
            "git push",
            "git push origin main",
            "/usr/lib/git-core/git push origin",
            "git -C dir -c a.b=push push",
            "git --git-dir=x --no-pager push",
            "git --git-dir push push",
            "/usr/lib/git-core/git-push origin",
        ] {
            assert!(is_git_push(&words(line)), "{line}");
        }
        for line in [
            "git",
            "",
            "git status push",
            "git -C push",
            "git --git-dir push",
            "git hook run pre-push",
            "git locks hook pre-push",
            "git-locks hook pre-push",
            "/bin/sh .git/hooks/pre-push push",
            "sh -c git push",
            "java push",
        ] {
            assert!(!is_git_push(&words(line)), "{line}");
        }
        assert!(!is_git_push(&[]));
    }

    #[test]
    fn a_push_is_repeated_as_it_would_be_typed() {
        let said = |line: &str| repeatable(&words(line));
        assert_eq!(
            said("/usr/lib/git-core/git push origin HEAD^:refs/heads/main").as_deref(),
            Some("git push origin 'HEAD^:refs/heads/main'")
        );
        assert_eq!(
            said("git push git@example.invalid:x").as_deref(),
            Some("git push git@example.invalid:x")
        );
        assert_eq!(
            said("/usr/lib/git-core/git-push origin").as_deref(),
            Some("git push origin")
        );
        assert_eq!(said("git push https://me:secret@example.invalid/x"), None);
        assert_eq!(said("git push a\u{1b}[0m"), None);
        assert_eq!(said(&format!("git push {}", "x".repeat(LONGEST))), None);
    }
}
