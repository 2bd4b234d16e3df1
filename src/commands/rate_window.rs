//! `git locks merge rate-window claim|check|release`.

use serde_json::Value;

use crate::cli::{RateWindow, Window as Args, WindowClaim};
use crate::commands::Failure;
use crate::commands::context::Context;
use crate::error::{Error, Result};
use crate::event_log::{Event, Level};
use crate::exit::Exit;
use crate::identity::{Identity, PlanId};
use crate::liveness::{Evidence, Role, Subject, Terms, Verdict, World, grounds, judge};
use crate::locks::rate_window::{self, ATTEMPT_CAP, Claim, Window};
use crate::report::{
    Action, Grounds, Outcome, Report, Status, WindowBlocked, WindowClaimed, WindowExhausted,
    WindowReleased, WindowState,
};
use crate::store::document::Document;
use crate::sys::clock;
use crate::text;

/// The key of the windows in the shared document.
const KEY: &str = "rate_windows";

/// Runs one of the verbs.
pub fn run(verb: &RateWindow, context: &Context) -> Result<Outcome, Failure> {
    let args = match verb {
        RateWindow::Claim(claim) => &claim.window,
        RateWindow::Check(window) | RateWindow::Release(window) => window,
    };
    let named = match verb {
        RateWindow::Check(_) => context.identity_if_any(&args.who)?,
        _ => Some(context.identity(&args.who)?),
    };
    let plan_id = named
        .as_ref()
        .map(|identity| identity.id.as_str().to_owned());
    let done = match (verb, &named) {
        (RateWindow::Claim(claim), Some(caller)) => self::claim(claim, caller, context),
        (RateWindow::Release(window), Some(caller)) => release(window, caller, context),
        _ => check(args, plan_id.clone(), context),
    };
    done.map_err(|error| Failure { error, plan_id })
}

fn bot_kind(args: &Args) -> Result<&str> {
    let kind = args.bot_kind.as_str();
    if kind.is_empty() || kind.len() > 200 {
        return Err(
            Error::usage("--bot-kind must be a name of at most 200 bytes")
                .with_hint("name the bot whose window it is, such as --bot-kind reviewer"),
        );
    }
    Ok(kind)
}

/// The windows of all bots, as the document has them.
pub(super) fn read_all(document: &Document) -> Vec<(String, Window)> {
    let windows = windows(document);
    let all = windows.entries();
    all.map(|(bot, raw)| (bot.to_owned(), window(&Document::of_value(raw))))
        .collect()
}

fn windows(document: &Document) -> Document {
    document
        .get(KEY)
        .map(Document::of_value)
        .unwrap_or_default()
}

/// The window of `bot`, as the document has it: what is wrong-shaped counts as not there.
fn read(document: &Document, bot: &str) -> (Window, Document) {
    let windows = windows(document);
    let fields = windows.get(bot).map(Document::of_value).unwrap_or_default();
    (window(&fields), fields)
}

/// The window of these fields.
fn window(fields: &Document) -> Window {
    let field = |name: &str| {
        fields
            .get(name)
            .and_then(|raw| serde_json::from_str::<Value>(raw).ok())
    };
    Window {
        holder: field("holder").and_then(|value| value.as_str().map(str::to_owned)),
        pr_number: field("pr_number").and_then(|value| whole(&value)),
        expires_at: field("expires_at").and_then(|value| value.as_f64()),
        attempts: field("attempts")
            .and_then(|value| whole(&value)?.try_into().ok())
            .unwrap_or(0),
    }
}

/// A whole number, which other programs may have written as `1.0`.
fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        #[expect(clippy::cast_possible_truncation, reason = "saturates")]
        let cut = number as i64;
        number.fract().eq(&0.0).then_some(cut)
    })
}

/// Writes the window of `bot` into the document, leaving every other byte of it alone.
fn write(document: &mut Document, bot: &str, window: &Window, mut fields: Document) {
    fields.set("holder", Value::from(window.holder.clone()).to_string());
    fields.set("pr_number", Value::from(window.pr_number).to_string());
    fields.set("expires_at", Value::from(window.expires_at).to_string());
    fields.set("attempts", Value::from(window.attempts).to_string());
    let mut windows = windows(document);
    windows.set(bot, fields.to_value());
    document.set(KEY, windows.to_value());
}

/// The verdict on the holder of a window that runs, and what it rests on. One that is no plan ends by
/// the clock alone.
pub(super) fn judge_holder(
    holder: &str,
    by_clock: bool,
    terms: &Terms,
    world: &dyn World,
) -> (Verdict, Grounds) {
    let id = PlanId::parse(holder);
    if id.is_some() && (by_clock || world.keeps_plans() != Evidence::Alive) {
        return (Verdict::FRESH, Grounds::Lease);
    }
    let subject = Subject {
        id: id.as_ref(),
        role: Role::Holder,
        record: None,
        seen_at: terms.now.moment.wall,
        closely: false,
        records_lost_at: None,
    };
    let verdict = judge(&subject, terms, world);
    (verdict, grounds(&subject, terms, world))
}

fn claim(args: &WindowClaim, caller: &Identity, context: &Context) -> Result<Outcome> {
    let bot = bot_kind(&args.window)?.to_owned();
    let me = caller.id.as_str().to_owned();
    let terms = context.terms();
    let world = context.surroundings();
    let by_clock = !caller.explicit;
    let patience = context.settings.guard_timeout;
    let ((window, outcome, now), notes) =
        context
            .merge_store()
            .edit_document(patience, |document, records| {
                // Inside the guard: a claim that waited for it must not shorten a later one.
                let now = clock::wall();
                let (window, fields) = read(document, &bot);
                let ends_by_clock = records
                    .windows
                    .get(&bot)
                    .is_some_and(|id| Some(id) == window.holder.as_ref());
                let dead = window.holder.as_deref().is_some_and(|holder| {
                    let verdict = || judge_holder(holder, ends_by_clock, &terms, &world).0;
                    holder != me && verdict().is_stale()
                });
                let (next, outcome) = rate_window::claim(
                    &window,
                    &me,
                    args.pr_number,
                    args.window_seconds,
                    dead,
                    now,
                );
                if next != window {
                    write(document, &bot, &next, fields);
                    if by_clock {
                        records.windows.insert(bot.clone(), me.clone());
                    } else {
                        records.windows.remove(&bot);
                    }
                }
                (next, outcome, now)
            })?;
    context.voice.say_all(&notes);
    Ok(report_claim(
        &bot,
        &me,
        args.pr_number,
        &window,
        outcome,
        now,
        context,
    ))
}

fn report_claim(
    bot: &str,
    me: &str,
    pr_number: i64,
    window: &Window,
    outcome: Claim,
    now: f64,
    context: &Context,
) -> Outcome {
    let (plan_id, bot_kind) = (me.to_owned(), bot.to_owned());
    let attempts = window.attempts;
    let expires_at = window.expires_at.unwrap_or(0.0);
    let seconds_remaining = window.seconds_remaining(now);
    match outcome {
        Claim::Granted(action, reclaimed_from) => {
            let name = if action == Action::Reclaimed {
                "rate-window:reclaimed"
            } else {
                "rate-window:claimed"
            };
            log(
                context,
                name,
                me,
                bot,
                window,
                vec![("reclaimed_from", reclaimed_from.clone().unwrap_or_default())],
            );
            let claimed = WindowClaimed {
                status: Status::Success,
                plan_id,
                bot_kind,
                action,
                holder: me.to_owned(),
                pr_number,
                expires_at,
                seconds_remaining,
                attempts,
                attempt_cap: ATTEMPT_CAP,
                attempts_remaining: window.attempts_remaining(),
                reclaimed_from,
            };
            Outcome::new(Report::WindowClaimed(claimed), Exit::SUCCESS)
        }
        Claim::Blocked(holder) => {
            log(
                context,
                "rate-window:blocked",
                me,
                bot,
                window,
                vec![("holder", holder.clone()), ("waiter", me.to_owned())],
            );
            let blocked = WindowBlocked {
                status: Status::Blocked,
                plan_id,
                bot_kind,
                reason: "window_held_by_other_plan",
                holder,
                pr_number: window.pr_number,
                expires_at,
                seconds_remaining,
                attempts,
                attempt_cap: ATTEMPT_CAP,
            };
            Outcome::new(Report::WindowBlocked(blocked), Exit::BLOCKED)
        }
        Claim::Exhausted => {
            log(
                context,
                "rate-window:exhausted",
                me,
                bot,
                window,
                Vec::new(),
            );
            let exhausted = WindowExhausted {
                status: Status::Refused,
                plan_id,
                bot_kind,
                reason: "recovery_cap_exhausted",
                pr_number,
                attempts,
                attempt_cap: ATTEMPT_CAP,
            };
            Outcome::new(Report::WindowExhausted(exhausted), Exit::REFUSED)
        }
    }
}

fn log(
    context: &Context,
    name: &'static str,
    id: &str,
    bot: &str,
    window: &Window,
    more: Vec<(&'static str, String)>,
) {
    let number = |value: Option<String>| value.unwrap_or_default();
    let mut fields = vec![
        ("bot_kind", bot.to_owned()),
        (
            "pr_number",
            number(window.pr_number.map(|pr| pr.to_string())),
        ),
        (
            "expires_at",
            number(window.expires_at.map(|end| end.to_string())),
        ),
        ("attempts", window.attempts.to_string()),
        ("attempt_cap", ATTEMPT_CAP.to_string()),
    ];
    fields.extend(more);
    context.log(&Event {
        level: Level::Info,
        name,
        id: id.to_owned(),
        fields: fields
            .into_iter()
            .map(|(key, value)| (key, text::clip(&value, 500)))
            .collect(),
    });
}

fn check(args: &Args, plan_id: Option<String>, context: &Context) -> Result<Outcome> {
    let bot = bot_kind(args)?;
    let now = context.terms().now.moment.wall;
    let (window, _) = read(&context.merge_store().peek_document()?, bot);
    let claimed = window.holder.is_some();
    let expired = window.expired(now);
    let state = WindowState {
        status: if expired { Status::Free } else { Status::Held },
        plan_id,
        bot_kind: bot.to_owned(),
        pr_number: window.pr_number.filter(|_| claimed),
        expires_at: window.expires_at.filter(|_| claimed),
        seconds_remaining: window.seconds_remaining(now),
        expired,
        attempts: window.attempts,
        attempt_cap: ATTEMPT_CAP,
        attempts_remaining: window.attempts_remaining(),
        holder: window.holder,
    };
    Ok(Outcome::new(Report::WindowState(state), Exit::SUCCESS))
}

fn release(args: &Args, caller: &Identity, context: &Context) -> Result<Outcome> {
    let bot = bot_kind(args)?.to_owned();
    let me = caller.id.as_str().to_owned();
    let patience = context.settings.guard_timeout;
    let ((window, released), notes) =
        context
            .merge_store()
            .edit_document(patience, |document, records| {
                let (window, fields) = read(document, &bot);
                match rate_window::release(&window, &me) {
                    Some(next) => {
                        write(document, &bot, &next, fields);
                        records.windows.remove(&bot);
                        (next, true)
                    }
                    None => (window, false),
                }
            })?;
    context.voice.say_all(&notes);
    if released {
        log(
            context,
            "rate-window:released",
            &me,
            &bot,
            &window,
            Vec::new(),
        );
    }
    let report = WindowReleased {
        status: Status::Success,
        plan_id: me,
        bot_kind: bot,
        action: if released {
            Action::Released
        } else {
            Action::Noop
        },
        holder: window.holder,
        attempts: window.attempts,
        attempt_cap: ATTEMPT_CAP,
    };
    Ok(Outcome::new(Report::WindowReleased(report), Exit::SUCCESS))
}
