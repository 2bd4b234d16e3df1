//! `git locks hook install`.
//!
//! A new hook is written whole under another name and linked into place, so that a hook of somebody
//! else that comes up meanwhile is never overwritten; one that is changed is replaced by a rename, after
//! one more look whether it is still what was read. A crash leaves the hook as it was or as it is to
//! be, and at worst a temporary file beside it.

use std::fs::Metadata;
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::refs::Protected;
use super::script::{self, Found, Whose};
use crate::cli::HookInstall;
use crate::commands::asking::shown;
use crate::commands::context::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::exit::Exit;
use crate::place::{self, HooksDir};
use crate::report::{HookAction, HookChanged, HookRefusal, Outcome, Report, Status};
use crate::sys::file::{self, Content, Modes, Temp};
use crate::text;

/// The longest hook that is read, in bytes.
const LONGEST: u64 = 1024 * 1024;

/// What stands where the hook is looked for.
pub(super) enum Standing {
    /// Nothing.
    Nothing,
    /// A file.
    Hook(Hook),
    /// Something else, in words.
    Odd(&'static str),
}

/// A hook that is there.
pub(super) struct Hook {
    pub content: Content,
    pub mode: u32,
}

impl Hook {
    /// Whether git runs it.
    fn is_executable(&self) -> bool {
        self.mode & 0o111 != 0
    }
}

/// `hook install`.
///
/// # Errors
/// A pattern makes no sense, or the hook cannot be read or written.
pub(super) fn install(args: &HookInstall, context: &Context) -> Result<Outcome> {
    Protected::parse(&args.protect)?;
    let dir = context.place.hooks_dir(&context.cwd)?;
    let task = Task {
        args,
        path: path(&dir),
        dir: &dir,
        modes: modes(context),
        context,
    };
    match look(&task.path)? {
        Standing::Nothing => task.create(),
        Standing::Odd(what) => Ok(task.in_the_way(Some(what), None)),
        Standing::Hook(hook) => match script::find(&hook.content.bytes) {
            Found::Whole(range, whose) => task.update(&hook, &range, whose),
            Found::Changed(first, last) => Ok(changed_by_others(&task.path, first, last)),
            Found::Nothing => task.append(&hook),
        },
    }
}

/// The file of the hook in `dir`.
pub(super) fn path(dir: &HooksDir) -> PathBuf {
    dir.path.join("pre-push")
}

/// What stands at `path`.
pub(super) fn look(path: &Path) -> Result<Standing> {
    let metadata: Metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Standing::Nothing),
        Err(error) => return Err(Error::io("examine", path, &error)),
    };
    if metadata.is_symlink() {
        return Ok(Standing::Odd("a symbolic link"));
    }
    if !metadata.is_file() {
        return Ok(Standing::Odd("no regular file"));
    }
    let Some(content) = file::read(path, LONGEST)? else {
        return Ok(Standing::Nothing);
    };
    if content.bytes.len() as u64 > LONGEST {
        return Ok(Standing::Odd("larger than any hook"));
    }
    let mode = metadata.mode() & 0o777;
    Ok(Standing::Hook(Hook { content, mode }))
}

/// Puts `bytes` in the place of `hook`, unless that has changed since it was read.
pub(super) fn replace(path: &Path, hook: &Hook, bytes: &[u8], modes: Modes) -> Result<()> {
    let modes = Modes {
        file: hook.mode,
        ..modes
    };
    let temp = Temp::write(path.parent().unwrap_or(path), bytes, modes, true)?;
    if file::instance(path)?.as_ref() != Some(&hook.content.instance) {
        return Err(meanwhile(path));
    }
    temp.replace(path)?;
    Ok(())
}

fn meanwhile(path: &Path) -> Error {
    let message = format!("{} has changed meanwhile", text::path(path));
    Error::new(ErrorKind::Timeout, message).with_hint("look at it, then try again")
}

/// The modes of a hook here: whoever may read it may run it.
pub(super) fn modes(context: &Context) -> Modes {
    let modes = context.modes();
    Modes {
        file: modes.file | ((modes.file & 0o444) >> 2),
        ..modes
    }
}

/// A report on the hook at `path`.
pub(super) fn report(path: &Path) -> HookChanged {
    HookChanged {
        status: Status::Success,
        action: None,
        reason: None,
        hook: "pre-push",
        hook_path: shown(path),
        protect: None,
        require: None,
        message: None,
        line: None,
        hint: None,
    }
}

/// The refusal to touch lines that somebody has changed.
pub(super) fn changed_by_others(path: &Path, first: usize, last: usize) -> Outcome {
    let mut report = report(path);
    report.message = Some(format!(
        "the lines of git-locks in {} are not as they were written.",
        shown(path)
    ));
    report.hint = Some(format!(
        "Delete them by hand (lines {first} to {last}), then try again."
    ));
    refused(report, HookRefusal::Changed)
}

fn refused(report: HookChanged, reason: HookRefusal) -> Outcome {
    let report = HookChanged {
        status: Status::Refused,
        reason: Some(reason),
        ..report
    };
    Outcome::new(Report::HookChanged(report), Exit::REFUSED)
}

/// One installation.
struct Task<'a> {
    args: &'a HookInstall,
    path: PathBuf,
    dir: &'a HooksDir,
    modes: Modes,
    context: &'a Context,
}

impl Task<'_> {
    fn command(&self) -> String {
        script::command(&self.args.protect, self.args.require)
    }

    /// The command that would install it with one more `flag`.
    fn again_with(&self, flag: &str) -> String {
        let mut words = vec!["git locks hook install".to_owned()];
        let patterns = self.args.protect.iter();
        words.extend(patterns.map(|pattern| format!("--protect={}", text::shell_word(pattern))));
        let flags = [
            ("--require", self.args.require),
            ("--append", self.args.append),
            ("--shared", self.args.shared),
        ];
        let given = flags.iter().filter(|(name, given)| *given && *name != flag);
        words.extend(given.map(|(name, _)| (*name).to_owned()));
        words.push(flag.to_owned());
        words.join(" ")
    }

    fn done(&self, action: HookAction) -> Outcome {
        let noop = action == HookAction::Noop;
        let report = HookChanged {
            action: Some(action),
            protect: Some(self.args.protect.clone()),
            require: Some(self.args.require),
            message: noop.then(|| "the hook is there already".to_owned()),
            hint: (!noop).then(|| "To take it away: git locks hook uninstall".to_owned()),
            ..report(&self.path)
        };
        Outcome::new(Report::HookChanged(report), Exit::SUCCESS)
    }

    /// Says whom a hook in that directory concerns; or the refusal where it would be others.
    fn whom_it_concerns(&self) -> Option<Outcome> {
        let (voice, dir) = (&self.context.voice, text::path(&self.dir.path));
        match self.dir.whose {
            place::Whose::Repository => {}
            place::Whose::Checkout => voice.inform(format!(
                "core.hooksPath names {dir}, which is in the work tree: what is written there may be committed, \
                 and other checkouts have their own"
            )),
            place::Whose::Others if self.args.shared => voice.warn(format!(
                "core.hooksPath names {dir}, outside this repository: every repository that uses it asks \
                 for its merge lock from now on"
            )),
            place::Whose::Others => {
                let report = HookChanged {
                    message: Some(format!(
                        "core.hooksPath names {}, outside this repository, which other repositories may use too.",
                        shown(&self.dir.path)
                    )),
                    hint: Some(format!(
                        "To install it there, for all of them: {}",
                        self.again_with("--shared")
                    )),
                    ..report(&self.path)
                };
                return Some(refused(report, HookRefusal::SharedHooks));
            }
        }
        None
    }

    fn create(&self) -> Result<Outcome> {
        if let Some(refusal) = self.whom_it_concerns() {
            return Ok(refusal);
        }
        let lines = script::lines(&self.command(), Whose::Own);
        let bytes = script::with(script::SHEBANG, &lines);
        file::make_dirs(&self.dir.path, self.context.modes())?;
        let temp = Temp::write(&self.dir.path, &bytes, self.modes, true)?;
        match temp.create(&self.path)? {
            Some(_) => Ok(self.done(HookAction::Installed)),
            None => Err(meanwhile(&self.path)),
        }
    }

    fn update(&self, hook: &Hook, range: &Range<usize>, whose: Whose) -> Result<Outcome> {
        let lines = script::lines(&self.command(), whose);
        let bytes = script::replaced(&hook.content.bytes, range, &lines);
        let mut hook = Hook {
            content: hook.content.clone(),
            mode: hook.mode,
        };
        let idle = !hook.is_executable();
        if idle && whose == Whose::Own {
            hook.mode = self.modes.file;
        } else if idle {
            self.context.voice.warn(format!(
                "git does not run {}, which is not executable",
                text::path(&self.path)
            ));
        }
        if bytes == hook.content.bytes && !(idle && whose == Whose::Own) {
            return Ok(self.done(HookAction::Noop));
        }
        replace(&self.path, &hook, &bytes, self.modes)?;
        Ok(self.done(HookAction::Updated))
    }

    fn append(&self, hook: &Hook) -> Result<Outcome> {
        if !self.args.append {
            return Ok(self.in_the_way(None, Some(self.again_with("--append"))));
        }
        let unfit = if !script::is_shell(&hook.content.bytes) {
            Some("no script for a shell that git-locks can add lines to")
        } else if !hook.is_executable() {
            Some("not executable, so that git does not run it")
        } else {
            None
        };
        if let Some(what) = unfit {
            return Ok(self.in_the_way(Some(what), None));
        }
        if let Some(refusal) = self.whom_it_concerns() {
            return Ok(refusal);
        }
        let lines = script::lines(&self.command(), Whose::Added);
        let bytes = script::with(&hook.content.bytes, &lines);
        replace(&self.path, hook, &bytes, self.modes)?;
        Ok(self.done(HookAction::Added))
    }

    /// The refusal to touch what stands there, which is not ours: `what` keeps it from bearing our
    /// lines, or `next` is the command that would add them.
    fn in_the_way(&self, what: Option<&str>, next: Option<String>) -> Outcome {
        let path = shown(&self.path);
        let message = match what {
            Some(what) => format!("the hook {path} is {what}."),
            None => format!("there is another hook already: {path}."),
        };
        let report = HookChanged {
            message: Some(message),
            line: Some(self.command()),
            hint: next.map(|next| format!("To put the gate before what it does: {next}")),
            ..report(&self.path)
        };
        let appending = self.args.append && what.is_some();
        let reason = if appending {
            HookRefusal::CannotAppend
        } else {
            HookRefusal::AnotherHook
        };
        refused(report, reason)
    }
}

/// Removes the hook at `path`, unless it has changed since it was read.
pub(super) fn remove(path: &Path, hook: &Hook) -> Result<()> {
    if file::instance(path)?.as_ref() != Some(&hook.content.instance) {
        return Err(meanwhile(path));
    }
    file::remove(path)
}
