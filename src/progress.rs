//! What a person sees while a call waits: on a terminal one live line, elsewhere one line at once
//! and then every half minute.

use crate::error::Error;
use crate::sys::{clock, terminal};
use crate::text;
use crate::voice::Voice;
use crate::wait::{Scene, Show};

/// How often the live line is drawn anew, in seconds.
const REDRAWN: f64 = 1.0;
/// How often a line is written where nobody can see it change, in seconds.
const WRITTEN: f64 = 30.0;
/// How wide a terminal is that does not tell.
const COLUMNS: usize = 80;

/// Shows a wait.
pub struct Progress<'a> {
    voice: &'a Voice,
    /// What is waited for: "the merge lock".
    what: &'static str,
    /// How long a holder typically holds, in seconds, where that can be told.
    typical: Option<f64>,
    shown_at: Option<f64>,
    /// The last failure that was said.
    said: Option<String>,
}

impl<'a> Progress<'a> {
    /// For a wait for `what`; `typical` is how long holders hold, in seconds.
    pub fn new(voice: &'a Voice, what: &'static str, typical: Option<f64>) -> Self {
        Self {
            voice,
            what,
            typical,
            shown_at: None,
            said: None,
        }
    }

    fn interval(&self) -> f64 {
        if self.voice.is_terminal() {
            REDRAWN
        } else {
            WRITTEN
        }
    }
}

impl Show for Progress<'_> {
    fn scene(&mut self, scene: &Scene, left: Option<f64>) {
        if self.voice.is_quiet() || self.again_in() > 0.0 {
            return;
        }
        self.shown_at = Some(clock::steady());
        let line = line(self.what, scene, left, self.typical, clock::wall());
        if self.voice.is_terminal() {
            // Asked anew each time: it may have been resized. The last column is left free, where
            // some terminals wrap.
            let columns = terminal::columns().unwrap_or(COLUMNS);
            self.voice.show(&line, columns.saturating_sub(1));
        } else {
            self.voice.inform(line);
        }
    }

    fn trouble(&mut self, error: &Error) {
        let words = format!("{error}; trying on");
        if self.said.as_ref() != Some(&words) {
            self.voice.warn(words.clone());
            self.said = Some(words);
        }
    }

    fn again_in(&self) -> f64 {
        if self.voice.is_quiet() {
            return f64::INFINITY;
        }
        match self.shown_at {
            Some(at) => (at + self.interval() - clock::steady()).max(0.0),
            None => 0.0,
        }
    }
}

/// What is waited for, in one line. `left` and `typical` in seconds, `now` since the Unix epoch.
fn line(what: &str, scene: &Scene, left: Option<f64>, typical: Option<f64>, now: f64) -> String {
    let place = scene
        .position
        .map(|position| format!(", place {position} of {}", scene.waiting));
    let mut line = format!("waiting for {what}{}", place.unwrap_or_default());
    line.push_str("; ");
    line.push_str(&held_by(scene, now));
    if let Some(left) = left {
        line.push_str("; ");
        line.push_str(&text::span(left.ceil()));
        line.push_str(" left to wait");
    }
    if let Some(estimate) = typical.and_then(|typical| estimate(scene, typical, now)) {
        line.push_str("; about ");
        line.push_str(&text::span(estimate));
        line.push_str(" to go");
    }
    line
}

/// Who holds the lock, for how long, where and why.
fn held_by(scene: &Scene, now: f64) -> String {
    let Some(holder) = &scene.holder else {
        return "nobody holds it".to_owned();
    };
    let part = |before: &str, words: Option<String>, after: &str| {
        words.map_or_else(String::new, |words| format!("{before}{words}{after}"))
    };
    let clipped = |words: &Option<String>, limit| words.as_ref().map(|it| text::clip(it, limit));
    [
        format!("held by {}", text::clip(holder, 60)),
        part(
            " for ",
            scene.since.map(|since| text::span(now - since)),
            "",
        ),
        part(" in ", clipped(&scene.workplace, 120), ""),
        part(" (", clipped(&scene.reason, 60), ")"),
    ]
    .concat()
}

/// How long it may take until the turn comes, in seconds, if everybody holds as long as most do.
fn estimate(scene: &Scene, typical: f64, now: f64) -> Option<f64> {
    let ahead = scene.position?.saturating_sub(1);
    let held = match (&scene.holder, scene.since) {
        (Some(_), Some(since)) => (typical - (now - since)).max(0.0),
        (Some(_), None) => typical,
        (None, _) => 0.0,
    };
    let ahead = f64::from(u32::try_from(ahead).unwrap_or(u32::MAX));
    Some(held + ahead * typical)
}
