//! Rate windows: one plan at a time may call on a rate-limited bot. Pure decisions.
//!
//! A window is a co-tenant of the merge queue's file, under `rate_windows`: it shares the store
//! and never the mutex. The holder renews; another's unexpired window of a living plan blocks;
//! an expired or dead one is reclaimed. A bot and pull request have two attempts in all: every
//! claim that is granted is one, a renewal too, counted over release and takeover. Another pull
//! request starts a new count.

use crate::report::Action;

/// Attempts allowed for one bot and pull request.
pub const ATTEMPT_CAP: u64 = 2;

/// One bot's window, as it is recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// Who has it.
    pub holder: Option<String>,
    /// The pull request it is, or last was, for.
    pub pr_number: Option<i64>,
    /// When it ends, in seconds since the Unix epoch.
    pub expires_at: Option<f64>,
    /// Attempts used for that pull request.
    pub attempts: u64,
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// The caller has the window: `claimed`, `renewed` or `reclaimed`, and from whom.
    Granted(Action, Option<String>),
    /// Another has it.
    Blocked(String),
    /// No attempts are left.
    Exhausted,
}

impl Window {
    /// Whether nobody has the window, or it has ended, at `now` in seconds since the epoch.
    pub fn expired(&self, now: f64) -> bool {
        self.holder.is_none() || self.expires_at.is_none_or(|end| end <= now)
    }

    /// Seconds until it ends; 0 when it has.
    pub fn seconds_remaining(&self, now: f64) -> f64 {
        if self.holder.is_none() {
            return 0.0;
        }
        self.expires_at.map_or(0.0, |end| (end - now).max(0.0))
    }

    /// Attempts left for its pull request.
    pub fn attempts_remaining(&self) -> u64 {
        ATTEMPT_CAP.saturating_sub(self.attempts)
    }
}

/// Decides a claim by `caller` for `pr_number`, lasting `seconds` from `now`. `holder_dead` is
/// the verdict on a holder other than the caller.
pub fn claim(
    window: &Window,
    caller: &str,
    pr_number: i64,
    seconds: i64,
    holder_dead: bool,
    now: f64,
) -> (Window, Claim) {
    let mine = window.holder.as_deref() == Some(caller);
    let expired = window.expired(now);
    if let Some(holder) = &window.holder
        && !(mine || expired || holder_dead)
    {
        return (window.clone(), Claim::Blocked(holder.clone()));
    }
    let used = if window.pr_number == Some(pr_number) {
        window.attempts
    } else {
        0
    };
    if used >= ATTEMPT_CAP {
        let mut left = window.clone();
        left.attempts = used;
        return (left, Claim::Exhausted);
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "a window of 2^53 seconds is for ever"
    )]
    let next = Window {
        holder: Some(caller.to_owned()),
        pr_number: Some(pr_number),
        expires_at: Some(now + seconds as f64),
        attempts: used + 1,
    };
    let granted = match &window.holder {
        None => Claim::Granted(Action::Claimed, None),
        Some(_) if mine => Claim::Granted(Action::Renewed, None),
        Some(other) => Claim::Granted(Action::Reclaimed, Some(other.clone())),
    };
    (next, granted)
}

/// Decides a release by `caller`: clears holder and expiry, keeps the count. `None` when the
/// window is another's or nobody's.
pub fn release(window: &Window, caller: &str) -> Option<Window> {
    (window.holder.as_deref() == Some(caller)).then(|| Window {
        holder: None,
        expires_at: None,
        ..window.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn window(holder: &str, pr: i64, end: f64, attempts: u64) -> Window {
        Window {
            holder: Some(holder.to_owned()),
            pr_number: Some(pr),
            expires_at: Some(end),
            attempts,
        }
    }

    #[test]
    fn the_holder_renews_until_its_attempts_are_used_up() {
        let (next, granted) = claim(&window("a", 7, 200.0, 1), "a", 7, 50, false, 100.0);
        assert_eq!(granted, Claim::Granted(Action::Renewed, None));
        assert_eq!(next, window("a", 7, 150.0, 2));
        let again = claim(&next, "a", 7, 50, false, 101.0);
        assert_eq!(again, (next, Claim::Exhausted));
    }

    #[test]
    fn another_pull_request_starts_a_new_count() {
        let (next, granted) = claim(&window("a", 7, 200.0, 2), "a", 8, 50, false, 100.0);
        assert_eq!(granted, Claim::Granted(Action::Renewed, None));
        assert_eq!(next, window("a", 8, 150.0, 1));
    }

    #[test]
    fn another_living_plan_blocks_until_the_end_and_a_dead_one_does_not() {
        let theirs = window("b", 7, 200.0, 1);
        assert_eq!(
            claim(&theirs, "a", 7, 50, false, 100.0).1,
            Claim::Blocked("b".into())
        );
        let taken = Claim::Granted(Action::Reclaimed, Some("b".into()));
        assert_eq!(claim(&theirs, "a", 7, 50, true, 100.0).1, taken);
        assert_eq!(claim(&theirs, "a", 7, 50, false, 200.0).1, taken);
    }

    #[test]
    fn a_release_keeps_the_count_and_only_the_holder_can() {
        let mine = window("a", 7, 200.0, 1);
        let left = release(&mine, "a").expect("held by the caller");
        assert_eq!(
            (left.holder.as_ref(), left.expires_at, left.attempts),
            (None, None, 1)
        );
        assert_eq!(release(&mine, "b"), None);
        assert_eq!(release(&Window::default(), "a"), None);
    }

    #[test]
    fn a_negative_length_is_over_at_once() {
        let (next, _) = claim(&Window::default(), "a", 0, -5, false, 100.0);
        assert!(next.expired(100.0));
        assert!(next.seconds_remaining(100.0).abs() < f64::EPSILON);
    }

    proptest! {
        #[test]
        fn no_history_gives_a_pull_request_more_than_its_attempts(
            steps in prop::collection::vec((0..3_u8, prop::bool::ANY, 0.0..200.0_f64), 1..40),
        ) {
            let (mut state, mut now, mut granted) = (Window::default(), 0.0, 0);
            for (who, releases, later) in steps {
                now += later;
                let who = ["a", "b", "c"][usize::from(who)];
                if releases {
                    state = release(&state, who).unwrap_or(state);
                    continue;
                }
                let (next, claim) = claim(&state, who, 7, 60, false, now);
                if matches!(claim, Claim::Granted(..)) {
                    granted += 1;
                }
                state = next;
            }
            prop_assert!(granted <= ATTEMPT_CAP);
            prop_assert!(state.attempts <= ATTEMPT_CAP);
        }
    }
}
