//! How late the emulator gives packets back to the kernel.

use std::time::Duration;

/// The distribution of the delays beyond the requested delays, in steps of 10 µs up to 100 ms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lateness {
    /// The number of packets for each step. The last step also has all later packets.
    steps: Vec<u64>,
    packets: u64,
    sum: Duration,
    max: Duration,
}

impl Lateness {
    /// Records the lateness of one packet.
    pub fn record(&mut self, late: Duration) {
        let step = (late.as_nanos() / STEP.as_nanos()) as usize;
        self.steps[step.min(STEPS - 1)] += 1;
        self.packets += 1;
        self.sum += late;
        self.max = self.max.max(late);
    }

    /// Returns the number of recorded packets.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns the mean lateness, or zero without a packet.
    pub fn mean(&self) -> Duration {
        Duration::from_nanos((self.sum.as_nanos() / u128::from(self.packets.max(1))) as u64)
    }

    /// Returns the lateness that a `share` (0 to 1) of packets does not exceed, to 10 µs.
    pub fn percentile(&self, share: f64) -> Duration {
        let rank = (share * self.packets as f64).ceil() as u64;
        let mut seen = 0;
        for (step, packets) in (1..).zip(&self.steps[..STEPS - 1]) {
            seen += packets;
            if seen >= rank {
                return (STEP * step).min(self.max);
            }
        }
        self.max
    }

    /// Returns the largest lateness.
    pub const fn max(&self) -> Duration {
        self.max
    }
}

impl Default for Lateness {
    fn default() -> Self {
        Self { steps: vec![0; STEPS], packets: 0, sum: Duration::ZERO, max: Duration::ZERO }
    }
}

const STEP: Duration = Duration::from_micros(10);
const STEPS: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_packets() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.percentile(0.99), Duration::ZERO);
        for microseconds in 0..1_000 {
            lateness.record(Duration::from_micros(microseconds));
        }
        assert_eq!(lateness.packets(), 1_000);
        assert_eq!(lateness.mean(), Duration::from_nanos(499_500));
        assert_eq!(lateness.percentile(0.5), Duration::from_micros(500));
        assert_eq!(lateness.max(), Duration::from_micros(999));
        lateness.record(Duration::from_secs(5));
        assert_eq!(lateness.percentile(1.0), Duration::from_secs(5));
    }
}
