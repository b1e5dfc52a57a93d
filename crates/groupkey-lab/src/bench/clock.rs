//! The clock that measures steps, and what it cannot see.

use std::time::{Duration, Instant};

/// The properties of the machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockProperties {
    /// Shortest time of a reading (ns). It is subtracted from every step.
    pub reading_ns: u64,
    /// The smallest difference that the clock shows (ns).
    pub resolution_ns: u64,
}

impl ClockProperties {
    /// Reads the clock 10,000 times.
    pub fn measure() -> Self {
        const READINGS: usize = 10_000;
        let between = || {
            let started = Instant::now();
            started.elapsed().as_nanos() as u64
        };
        let mut differences: Vec<u64> = (0..READINGS).map(|_| between()).collect();
        differences.sort_unstable();
        // The smallest may be 0 if the clock is coarse. Then its smallest step counts.
        let reading_ns = differences[0];
        differences.dedup();
        let steps = differences.windows(2).map(|pair| pair[1] - pair[0]);
        Self { reading_ns, resolution_ns: steps.min().unwrap_or(1).max(1) }
    }

    /// Returns a time between two readings, without the time of a reading (ns).
    pub const fn without_reading(self, elapsed: Duration) -> u64 {
        (elapsed.as_nanos() as u64).saturating_sub(self.reading_ns)
    }

    /// Returns the time that a measured time should be a multiple of to mean anything (ns).
    pub const fn grain_ns(self) -> u64 {
        if self.reading_ns > self.resolution_ns { self.reading_ns } else { self.resolution_ns }
    }
}
