//! The clock that steps are measured with, and what it cannot see.

use std::time::{Duration, Instant};

/// What the machine's clock is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Time that a reading takes at least, which is taken off every step (ns).
    pub reading_ns: u64,
    /// The smallest difference that it shows (ns).
    pub resolution_ns: u64,
}

impl Clock {
    /// Reads it some thousand times.
    pub fn measure() -> Self {
        const READINGS: usize = 10_000;
        let between = || {
            let started = Instant::now();
            started.elapsed().as_nanos() as u64
        };
        let mut differences: Vec<u64> = (0..READINGS).map(|_| between()).collect();
        differences.sort_unstable();
        // The smallest may be 0 where the clock is coarse: then the smallest step of it counts.
        let reading_ns = differences[0];
        differences.dedup();
        let steps = differences.windows(2).map(|pair| pair[1] - pair[0]);
        Self { reading_ns, resolution_ns: steps.min().unwrap_or(1).max(1) }
    }

    /// A time between two readings, without what reading takes (ns).
    pub const fn without_reading(self, elapsed: Duration) -> u64 {
        (elapsed.as_nanos() as u64).saturating_sub(self.reading_ns)
    }

    /// What a time should be a multiple of to mean anything (ns).
    pub const fn grain_ns(self) -> u64 {
        if self.reading_ns > self.resolution_ns { self.reading_ns } else { self.resolution_ns }
    }
}
