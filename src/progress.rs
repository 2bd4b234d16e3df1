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
    let mut line = format!("waiting for {what}");
    if let Some(position) = scene.position {
        line.push_str(&format!(", place {position} of {}", scene.waiting));
    }
    match &scene.holder {
        Some(holder) => {
            line.push_str(&format!("; held by {}", text::clip(holder, 60)));
            if let Some(since) = scene.since {
                line.push_str(&format!(" for {}", text::span(now - since)));
            }
            if let Some(place) = &scene.workplace {
                line.push_str(&format!(" in {}", text::clip(place, 120)));
            }
            if let Some(reason) = &scene.reason {
                line.push_str(&format!(" ({})", text::clip(reason, 60)));
            }
        }
        None => line.push_str("; nobody holds it"),
    }
    if let Some(left) = left {
        line.push_str(&format!("; {} left to wait", text::span(left.ceil())));
    }
    if let Some(estimate) = typical.and_then(|typical| estimate(scene, typical, now)) {
        line.push_str(&format!("; about {} to go", text::span(estimate)));
    }
    line
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
