//! Settings: what the environment says, else the git configuration, else (for the build queue)
//! `marshal.json`, else the default. Flags stand above all of these.

mod marshal;

use std::env;
use std::path::Path;
use std::time::Duration;

use crate::cli::Format;
use crate::error::{Error, Result};
use crate::place::Place;
use crate::text;

/// The settings of the merge lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a lease runs.
    pub ttl: Duration,
    /// How long a waiter keeps its place between polls.
    pub ticket_ttl: Duration,
    /// How long the first in the queue may leave a free lock before it is passed over; none:
    /// for ever.
    pub pass_over: Option<Duration>,
    /// How long to try for the guard of the state files.
    pub guard_timeout: Duration,
    /// How long to wait for a turn where nothing else is said; none: without end.
    pub wait_timeout: Option<Duration>,
    /// Whether prompts and terminals show a title.
    pub title: bool,
}

/// One setting: its key in the git configuration and its environment variable.
#[derive(Clone, Copy)]
struct Setting {
    key: &'static str,
    variable: &'static str,
}

const TTL: Setting = Setting::new("locks.ttl", "GIT_LOCKS_TTL");
const TICKET_TTL: Setting = Setting::new("locks.ticketTtl", "GIT_LOCKS_TICKET_TTL");
const PASS_OVER: Setting = Setting::new("locks.passOver", "GIT_LOCKS_PASS_OVER");
const GUARD_TIMEOUT: Setting = Setting::new("locks.guardTimeout", "GIT_LOCKS_GUARD_TIMEOUT");
const WAIT_TIMEOUT: Setting = Setting::new("locks.waitTimeout", "GIT_LOCKS_WAIT_TIMEOUT");
const MAX_SLOTS: Setting = Setting::new("locks.build.maxSlots", "GIT_LOCKS_BUILD_MAX_SLOTS");
const HOOK_WAIT: Setting = Setting::new("locks.hook.wait", "GIT_LOCKS_HOOK_WAIT");
const TITLE: Setting = Setting::new("locks.title", "GIT_LOCKS_TITLE");
const FORMAT: Setting = Setting::new("locks.format", "GIT_LOCKS_FORMAT");

/// What a duration looks like.
pub const DURATION_HINT: &str = "a duration is a number with a unit, such as 90s, 5m, 1h30m or 2d";

/// What a number of slots looks like.
const SLOTS_HINT: &str = "it is a whole number, 1 or more";

/// How many builds may run at once where nothing else is said.
const DEFAULT_SLOTS: usize = 5;

/// How long a push waits for its turn where nothing else is said.
const DEFAULT_HOOK_WAIT: Duration = Duration::from_secs(300);

/// The longest duration that is taken, about a century: sums with it cannot overflow.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 86_400);

/// The settings that hold in `place`.
///
/// # Errors
/// One of them makes no sense.
pub fn load(place: &Place) -> Result<Settings> {
    let (settings, amiss) = load_mended(place);
    first(amiss).map_or(Ok(settings), Err)
}

/// The same, with the default in the place of what makes no sense; and what is wrong with that.
pub fn load_mended(place: &Place) -> (Settings, Vec<Error>) {
    settings(&|setting| setting.find(Some(place)))
}

/// What makes no sense of everything that can be set for a caller in `cwd`.
pub fn amiss(place: &Place, cwd: &Path) -> Vec<Error> {
    let (_, mut amiss) = load_mended(place);
    amiss.extend(output_format(Some(place)).err());
    amiss.extend(exit_zero().err());
    amiss.extend(all_build_slots(place, cwd).err());
    amiss.extend(hook_wait(place).err());
    amiss
}

fn first(errors: Vec<Error>) -> Option<Error> {
    errors.into_iter().next()
}

/// Whether prompts and terminals show a title in `place`: of the settings, this one alone.
///
/// # Errors
/// It is neither true nor false.
pub fn shows_title(place: &Place) -> Result<bool> {
    truth(TITLE.find(Some(place)))
}

/// The output format that the environment or the configuration asks for, if either does.
pub fn output_format(place: Option<&Place>) -> Result<Option<Format>> {
    FORMAT
        .find(place)
        .map(|found| found.read(format, "a format is one of toon, json and human"))
        .transpose()
}

/// How many builds may run at once, as `flag` (`--max-slots`) says, else what else is set for a
/// caller in `cwd`.
///
/// # Errors
/// The flag, the environment or the git configuration says something that is no number of slots.
pub fn build_slots(place: &Place, cwd: &Path, flag: Option<&str>) -> Result<usize> {
    let flag = flag.map(|text| Set {
        source: "--max-slots",
        text: text.to_owned(),
    });
    match flag.or_else(|| MAX_SLOTS.find(Some(place))) {
        Some(set) => set.read(slots, SLOTS_HINT),
        None => Ok(marshal::build_slots(cwd, &place.plan_dir).unwrap_or(DEFAULT_SLOTS)),
    }
}

/// How long a push waits for its turn; zero for not at all.
///
/// # Errors
/// What is set is no duration.
pub fn hook_wait(place: &Place) -> Result<Duration> {
    match HOOK_WAIT.find(Some(place)) {
        Some(set) => set.read(duration, DURATION_HINT),
        None => Ok(DEFAULT_HOOK_WAIT),
    }
}

/// Every number of slots that is set for a caller in `cwd`, with where that is: first the one that counts.
/// The default, where nothing is.
///
/// # Errors
/// The environment or the git configuration says something that is no number of slots.
pub fn all_build_slots(place: &Place, cwd: &Path) -> Result<Vec<(&'static str, usize)>> {
    let set = [MAX_SLOTS.exported(), MAX_SLOTS.configured(Some(place))];
    let read = |set: Set| Ok((set.source, set.read(slots, SLOTS_HINT)?));
    let set = set.into_iter().flatten().map(read);
    let mut all = set.collect::<Result<Vec<_>>>()?;
    let of_project = marshal::build_slots(cwd, &place.plan_dir);
    all.extend(of_project.map(|slots| ("marshal.json", slots)));
    if all.is_empty() {
        all.push(("the default", DEFAULT_SLOTS));
    }
    Ok(all)
}

/// Whether `GIT_LOCKS_EXIT_ZERO` asks for exit code 0.
pub fn exit_zero() -> Result<bool> {
    const NAME: &str = "GIT_LOCKS_EXIT_ZERO";
    let Some(value) = env::var_os(NAME).filter(|value| !value.is_empty()) else {
        return Ok(false);
    };
    let known = value.to_str().and_then(boolean);
    known.ok_or_else(|| {
        let shown = text::clip(&value.to_string_lossy(), 100);
        Error::usage(format!("{NAME}: '{shown}' is neither true nor false"))
            .with_hint("a truth value is one of true, false, yes, no, on, off, 1 and 0")
    })
}

/// `90s`, `5m`, `1h30m`, `2d`, `1500ms`, `1.5h`; a number alone is seconds. None for anything
/// else, and for what is longer than a century.
pub fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Some(seconds) = number(text) {
        return within_reason(Duration::try_from_secs_f64(seconds).ok()?);
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    let mut last_unit = f64::INFINITY;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (amount, after) = rest.split_at(digits);
        let letters = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (name, after) = after.split_at(letters);
        let unit = unit(name)?;
        // From large to small, each once: `1m1h` and `5s5s` are slips.
        if unit >= last_unit {
            return None;
        }
        let part = Duration::try_from_secs_f64(number(amount)? * unit).ok()?;
        total = total.checked_add(part)?;
        last_unit = unit;
        rest = after;
    }
    (last_unit.is_finite()).then(|| within_reason(total))?
}

/// A boolean as git reads one: true, yes, on, a number but 0; false, no, off, 0, nothing.
pub fn boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" | "" => Some(false),
        other => other.parse::<i64>().ok().map(|number| number != 0),
    }
}

/// A format by its name.
pub fn format(text: &str) -> Option<Format> {
    match text.trim().to_ascii_lowercase().as_str() {
        "toon" => Some(Format::Toon),
        "json" => Some(Format::Json),
        "human" => Some(Format::Human),
        _ => None,
    }
}

/// A number of slots: digits, and not 0.
fn slots(text: &str) -> Option<usize> {
    let text = text.trim();
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok())?.filter(|&slots| slots > 0)
}

/// Seconds in a unit.
fn unit(name: &str) -> Option<f64> {
    match name {
        "ms" => Some(0.001),
        "s" => Some(1.0),
        "m" => Some(60.0),
        "h" => Some(3600.0),
        "d" => Some(86_400.0),
        "w" => Some(604_800.0),
        _ => None,
    }
}

/// Digits with at most one point among them.
fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && text.bytes().any(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

fn within_reason(duration: Duration) -> Option<Duration> {
    (duration <= LONGEST).then_some(duration)
}

fn positive(text: &str) -> Option<Duration> {
    duration(text).filter(|duration| !duration.is_zero())
}

/// A setting as it was found.
#[derive(Debug)]
struct Set {
    source: &'static str,
    text: String,
}

impl Set {
    fn read<T>(&self, parse: impl Fn(&str) -> Option<T>, hint: &str) -> Result<T> {
        parse(&self.text).ok_or_else(|| {
            let shown = text::clip(&text::visible(&self.text), 100);
            Error::usage(format!("{} is '{shown}'", self.source)).with_hint(hint)
        })
    }
}

impl Setting {
    const fn new(key: &'static str, variable: &'static str) -> Self {
        Self { key, variable }
    }

    /// What is set: in the environment, where empty means unset, else in the configuration.
    fn find(self, place: Option<&Place>) -> Option<Set> {
        self.exported().or_else(|| self.configured(place))
    }

    fn exported(self) -> Option<Set> {
        let value = env::var_os(self.variable).filter(|value| !value.is_empty())?;
        Some(Set {
            source: self.variable,
            text: value.to_string_lossy().into_owned(),
        })
    }

    fn configured(self, place: Option<&Place>) -> Option<Set> {
        Some(Set {
            source: self.key,
            text: place?.config(self.key)?,
        })
    }
}

/// The settings that `find` gives, with the defaults of the others and of what makes no sense; and what is
/// wrong with that.
fn settings(find: &dyn Fn(Setting) -> Option<Set>) -> (Settings, Vec<Error>) {
    let lasting = |setting| {
        let hint = format!("{DURATION_HINT}, and longer than 0");
        find(setting).map(|found| found.read(positive, &hint))
    };
    let or_none = |setting| find(setting).map(|found| found.read(duration, DURATION_HINT));
    let mut amiss = Vec::new();
    let mut sense = |read: Option<Result<Duration>>| read?.map_err(|e| amiss.push(e)).ok();
    let mut settings = Settings {
        ttl: sense(lasting(TTL)).unwrap_or(Duration::from_secs(3600)),
        ticket_ttl: sense(lasting(TICKET_TTL)).unwrap_or(Duration::from_secs(900)),
        pass_over: Some(sense(or_none(PASS_OVER)).unwrap_or(Duration::from_secs(120)))
            .filter(|after| !after.is_zero()),
        guard_timeout: sense(or_none(GUARD_TIMEOUT)).unwrap_or(Duration::from_secs(30)),
        wait_timeout: sense(or_none(WAIT_TIMEOUT)),
        title: true,
    };
    match truth(find(TITLE)) {
        Ok(title) => settings.title = title,
        Err(error) => amiss.push(error),
    }
    (settings, amiss)
}

/// A boolean that is true where nothing is said.
fn truth(found: Option<Set>) -> Result<bool> {
    found.map_or(Ok(true), |found| found.read(boolean, "it is true or false"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_people_write_them() {
        for (text, millis) in [
            ("90s", 90_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("2d", 172_800_000),
            ("1w", 604_800_000),
            ("1500ms", 1500),
            ("1.5h", 5_400_000),
            ("0.5", 500),
            (".5s", 500),
            ("90", 90_000),
            ("0", 0),
            (" 5m ", 300_000),
        ] {
            assert_eq!(
                duration(text),
                Some(Duration::from_millis(millis)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_duration() {
        for text in [
            "",
            " ",
            "-5",
            "-5m",
            "5 m",
            "5x",
            "m",
            "1m1h",
            "5s5s",
            "1h30",
            "1.2.3",
            ".",
            "1e3",
            "inf",
            "nan",
            "+5",
            "5M",
            "99999999999999999999d",
            "101w52d9999999h",
            "5m\u{660}",
        ] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn booleans_as_git_reads_them() {
        for text in ["true", "YES", "on", "1", "-1", "42"] {
            assert_eq!(boolean(text), Some(true), "{text}");
        }
        for text in ["false", "No", "off", "0", ""] {
            assert_eq!(boolean(text), Some(false), "{text}");
        }
        assert_eq!(boolean("perhaps"), None);
    }

    fn given(key: &'static str, text: &'static str) -> Result<Settings> {
        let (settings, amiss) = settings(&|setting| {
            (setting.key == key).then(|| Set {
                source: key,
                text: text.to_owned(),
            })
        });
        first(amiss).map_or(Ok(settings), Err)
    }

    #[test]
    fn the_defaults() {
        let expected = Settings {
            ttl: Duration::from_secs(3600),
            ticket_ttl: Duration::from_secs(900),
            pass_over: Some(Duration::from_secs(120)),
            guard_timeout: Duration::from_secs(30),
            wait_timeout: None,
            title: true,
        };
        assert_eq!(given("none.set", "").ok(), Some(expected));
    }

    #[test]
    fn zero_means_never_pass_over_and_is_no_lease() {
        assert_eq!(
            given("locks.passOver", "0").map(|s| s.pass_over).ok(),
            Some(None)
        );
        assert!(given("locks.ttl", "0").is_err());
        assert!(given("locks.ticketTtl", "0s").is_err());
    }

    #[test]
    fn a_wait_is_bounded_only_where_that_is_set() {
        let bound = |text| given("locks.waitTimeout", text).map(|s| s.wait_timeout);
        assert_eq!(bound("5m").ok(), Some(Some(Duration::from_secs(300))));
        assert_eq!(bound("0").ok(), Some(Some(Duration::ZERO)), "not at all");
        let message = bound("never").map_err(|error| error.message().to_owned());
        assert_eq!(
            message.err().as_deref(),
            Some("locks.waitTimeout is 'never'")
        );
    }

    #[test]
    fn a_bad_value_names_its_source() {
        let message = given("locks.ttl", "soon\n").map_err(|error| error.message().to_owned());
        assert_eq!(message.err().as_deref(), Some("locks.ttl is 'soon\\n'"));
        assert!(given("locks.title", "perhaps").is_err());
    }

    #[test]
    fn what_makes_no_sense_gives_way_to_the_default_and_to_nothing_else() {
        let (settings, amiss) = settings(&|setting| {
            let text = match setting.key {
                "locks.ttl" => "0",
                "locks.passOver" => "soon",
                "locks.waitTimeout" => "never",
                "locks.title" => "perhaps",
                "locks.guardTimeout" => "1s",
                _ => return None,
            };
            Some(Set {
                source: setting.key,
                text: text.to_owned(),
            })
        });
        let expected = Settings {
            guard_timeout: Duration::from_secs(1),
            ..given("none.set", "").expect("the defaults")
        };
        assert_eq!(settings, expected);
        let said: Vec<&str> = amiss.iter().map(Error::message).collect();
        assert_eq!(
            said,
            [
                "locks.ttl is '0'",
                "locks.passOver is 'soon'",
                "locks.waitTimeout is 'never'",
                "locks.title is 'perhaps'"
            ]
        );
    }

    #[test]
    fn slots_are_a_whole_number_from_1() {
        assert_eq!(slots(" 12 "), Some(12));
        for text in [
            "0",
            "",
            "-1",
            "+1",
            "1.5",
            "five",
            "true",
            "99999999999999999999999",
        ] {
            assert_eq!(slots(text), None, "{text}");
        }
    }

    #[test]
    fn formats_by_name() {
        assert_eq!(format("JSON"), Some(Format::Json));
        assert_eq!(format("yaml"), None);
    }
}
