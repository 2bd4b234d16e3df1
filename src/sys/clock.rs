//! The two clocks: wall time, for people, and time since boot, which nobody can step.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};

// Counts on while the machine sleeps, on both systems.
#[cfg(target_os = "linux")]
const BOOT_CLOCK: ClockId = ClockId::CLOCK_BOOTTIME;
#[cfg(target_os = "macos")]
const BOOT_CLOCK: ClockId = ClockId::CLOCK_MONOTONIC;

/// Seconds since the Unix epoch; negative before it.
pub fn wall() -> f64 {
    seconds_since_epoch(SystemTime::now())
}

/// Seconds since this machine booted, sleep included; `None` where the clock cannot be read.
pub fn boot() -> Option<f64> {
    let time = clock_gettime(BOOT_CLOCK).ok()?;
    #[expect(
        clippy::cast_precision_loss,
        reason = "exact for millions of years of uptime"
    )]
    Some(time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}

/// Seconds since some fixed time of this boot: for spans within one process. Sleep counts.
pub fn steady() -> f64 {
    boot().unwrap_or_else(wall)
}

/// `time` as seconds since the Unix epoch.
pub fn seconds_since_epoch(time: SystemTime) -> f64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => after.as_secs_f64(),
        Err(before) => -before.duration().as_secs_f64(),
    }
}

/// Waits between tries: longer each time up to a limit, and never in step with others.
#[derive(Debug)]
pub struct Backoff {
    next: Duration,
    limit: Duration,
}

impl Backoff {
    /// Starts with about `first` and grows to about `limit`.
    pub fn new(first: Duration, limit: Duration) -> Self {
        Self { next: first, limit }
    }

    /// Waits a little; `false`, at once, when `deadline` has passed.
    pub fn pause_until(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        pause(jittered(self.next).min(left));
        self.next = (self.next * 2).min(self.limit);
        true
    }
}

/// Between half and the whole of `span`.
fn jittered(span: Duration) -> Duration {
    let nanos = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.subsec_nanos());
    let mixed = nanos.wrapping_mul(2_654_435_761) ^ std::process::id().wrapping_mul(40_503);
    span / 2 + (span / 2).mul_f64(f64::from(mixed % 1000) / 1000.0)
}

/// Waits for `span`.
#[expect(clippy::disallowed_methods, reason = "the one place that sleeps")]
pub fn pause(span: Duration) {
    std::thread::sleep(span);
}
