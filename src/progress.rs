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
    /// Finds out how long a holder typically holds, once there is something to show.
    find: Option<Box<dyn FnOnce() -> Option<f64> + 'a>>,
    /// How long that is, in seconds, where it can be told.
    typical: Option<f64>,
    shown_at: Option<f64>,
    /// What the title of the terminal is to say, until it does.
    headline: Option<String>,
    /// The last failure that was said.
    said: Option<String>,
}

impl<'a> Progress<'a> {
    /// For a wait for `what`; `typical` tells how long holders hold, in seconds. It is asked only when
    /// there is something to show: who need not wait does not pay for it.
    pub fn new(
        voice: &'a Voice,
        what: &'static str,
        typical: impl FnOnce() -> Option<f64> + 'a,
    ) -> Self {
        Self {
            voice,
            what,
            find: Some(Box::new(typical)),
            typical: None,
            shown_at: None,
            headline: None,
            said: None,
        }
    }

    /// The same, with this for the title of the terminal.
    #[must_use]
    pub fn entitled(mut self, headline: Option<String>) -> Self {
        self.headline = headline;
        self
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
        if let Some(headline) = self.headline.take() {
            self.voice.entitle(&headline);
        }
        if let Some(find) = self.find.take() {
            self.typical = find();
        }
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
        match scene.others {
            0 => String::new(),
            1 => " and 1 other".to_owned(),
            others => format!(" and {others} others"),
        },
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
        // Whoever is ahead and does not take it is not waited for as long as holders hold.
        (None, _) => return None,
    };
    let rounds = ahead / scene.others.saturating_add(1);
    let rounds = f64::from(u32::try_from(rounds).unwrap_or(u32::MAX));
    let estimate = held + rounds * typical;
    (estimate >= 1.0).then_some(estimate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    const NOW: f64 = 1_000_000.0;

    fn said(scene: &Scene, left: Option<f64>, typical: Option<f64>) -> String {
        line("the merge lock", scene, left, typical, NOW)
    }

    fn behind(holder: Option<&str>) -> Scene {
        Scene {
            position: Some(2),
            waiting: 5,
            holder: holder.map(Into::into),
            ..Scene::default()
        }
    }

    #[test]
    fn the_line_says_what_is_known_and_no_more() {
        let known = Scene {
            since: Some(NOW - 725.0),
            workplace: Some("/r/wt/alpha".to_owned()),
            reason: Some("rebase".to_owned()),
            ..behind(Some("alpha"))
        };
        let nowhere = Scene {
            position: None,
            ..behind(None)
        };
        for (scene, left, typical, expected) in [
            (
                behind(None),
                None,
                None,
                "waiting for the merge lock, place 2 of 5; nobody holds it",
            ),
            (
                nowhere,
                None,
                Some(60.0),
                "waiting for the merge lock; nobody holds it",
            ),
            (
                behind(Some("alpha")),
                None,
                None,
                "waiting for the merge lock, place 2 of 5; held by alpha",
            ),
            (
                behind(Some("alpha")),
                Some(29.2),
                None,
                "waiting for the merge lock, place 2 of 5; held by alpha; 30s left to wait",
            ),
            (
                known.clone(),
                None,
                None,
                "waiting for the merge lock, place 2 of 5; held by alpha for 12m in /r/wt/alpha \
                 (rebase)",
            ),
            (
                known,
                Some(300.0),
                Some(1000.0),
                "waiting for the merge lock, place 2 of 5; held by alpha for 12m in /r/wt/alpha \
                 (rebase); 5m left to wait; about 21m to go",
            ),
        ] {
            assert_eq!(said(&scene, left, typical), expected);
        }
    }

    #[test]
    fn the_estimate_is_what_is_left_of_the_holder_and_those_ahead() {
        let since = |holder: Option<&str>, position, ago: Option<f64>| Scene {
            position,
            since: ago.map(|ago| NOW - ago),
            ..behind(holder)
        };
        for (scene, expected) in [
            (since(Some("a"), Some(1), Some(40.0)), Some(60.0)),
            (since(Some("a"), Some(1), None), Some(100.0)),
            (since(Some("a"), Some(3), Some(40.0)), Some(260.0)),
            // One that holds for longer than most may end at any time.
            (since(Some("a"), Some(2), Some(1e6)), Some(100.0)),
            // Nobody takes it: that has no usual length.
            (since(None, Some(1), None), None),
            (since(None, Some(2), None), None),
            (since(Some("a"), Some(1), Some(1e6)), None),
            (since(Some("a"), None, Some(40.0)), None),
        ] {
            let found = estimate(&scene, 100.0, NOW);
            assert_eq!(
                found.map(f64::to_bits),
                expected.map(f64::to_bits),
                "{scene:?}"
            );
        }
    }

    #[test]
    fn long_names_are_clipped() {
        let long = "x".repeat(500);
        let scene = Scene {
            workplace: Some(long.clone()),
            reason: Some(long.clone()),
            ..behind(Some(&long))
        };
        let line = said(&scene, None, None);
        assert!(line.chars().count() < 320, "{line}");
        assert_eq!(line.matches('…').count(), 3);
    }

    #[test]
    fn something_is_shown_at_once_and_then_in_time() {
        let voice = Voice::new(false, false, false);
        let mut progress = Progress::new(&voice, "the merge lock", || None);
        let interval = if voice.is_terminal() { 1.0 } else { 30.0 };
        assert_eq!(progress.again_in().to_bits(), 0.0_f64.to_bits());
        progress.scene(&behind(None), None);
        let first = progress.shown_at.expect("shown at once");
        let left = progress.again_in();
        assert!(left > 0.0 && left <= interval, "{left}");
        progress.scene(&behind(None), None);
        assert_eq!(progress.shown_at, Some(first), "not yet again");
        progress.shown_at = Some(first - interval);
        progress.scene(&behind(None), None);
        assert!(progress.shown_at.is_some_and(|at| at >= first), "again");
    }

    #[test]
    fn a_quiet_wait_shows_nothing_for_ever() {
        let voice = Voice::new(true, false, false);
        let mut progress = Progress::new(&voice, "the merge lock", || None);
        progress.scene(&behind(None), None);
        assert_eq!(progress.shown_at, None);
        assert!(progress.again_in().is_infinite());
    }

    #[test]
    fn the_same_trouble_is_said_once() {
        let voice = Voice::new(true, false, false);
        let mut progress = Progress::new(&voice, "the merge lock", || None);
        let trouble = |what: &str| Error::new(ErrorKind::Io, what);
        progress.trouble(&trouble("the disk is full"));
        let said = progress.said.clone();
        assert_eq!(said.as_deref(), Some("the disk is full; trying on"));
        progress.trouble(&trouble("the disk is full"));
        assert_eq!(progress.said, said);
        progress.trouble(&trouble("it is gone"));
        assert_eq!(progress.said.as_deref(), Some("it is gone; trying on"));
    }
}
