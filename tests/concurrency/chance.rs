//! Chance for the workers: small, seeded, and different for each of them.

use std::thread;
use std::time::Duration;

/// A stream of numbers nobody needs to predict.
pub struct Chance(u64);

impl Chance {
    /// A stream of its own for each seed.
    pub fn new(seed: u64) -> Self {
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| u64::from(since.subsec_nanos()));
        Self((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ now | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Lets up to `most` milliseconds pass.
    pub fn pause(&mut self, most: u64) {
        thread::sleep(Duration::from_micros(self.below(most * 1000)));
    }
}
