//! What the clock that measures steps cannot see.

use std::time::Duration;

use crate::clock::Clock;

/// The properties of the clock that measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockProperties {
    /// The clock.
    pub clock: Clock,
    /// Shortest time of a reading (ns). It is subtracted from every step.
    pub reading_ns: u64,
    /// The time that a measured time should be a multiple of to mean anything (ns): the smallest
    /// difference that the clock shows, or the time by which its readings differ.
    pub grain_ns: u64,
}

impl ClockProperties {
    /// Reads the clock 10,000 times.
    pub fn measure(clock: Clock) -> Self {
        const READINGS: usize = 10_000;
        let between = || {
            let started = clock.now();
            (clock.now() - started).as_nanos() as u64
        };
        let mut differences: Vec<u64> = (0..READINGS).map(|_| between()).collect();
        differences.sort_unstable();
        // The smallest may be 0 if the clock is coarse. Then its smallest step counts.
        let (reading_ns, many_ns) = (differences[0], differences[READINGS * 9 / 10]);
        differences.dedup();
        let steps = differences.windows(2).map(|pair| pair[1] - pair[0]);
        let resolution_ns = steps.min().unwrap_or(1).max(1);
        Self { clock, reading_ns, grain_ns: resolution_ns.max(many_ns - reading_ns) }
    }

    /// Returns a time between two readings, without the time of a reading (ns).
    pub const fn without_reading(self, elapsed: Duration) -> u64 {
        (elapsed.as_nanos() as u64).saturating_sub(self.reading_ns)
    }
}
