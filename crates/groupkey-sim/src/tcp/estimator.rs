//! The round-trip time, its variance, and the retransmission timeout that follows (RFC 6298 as
//! Linux refines it).

use crate::time::Duration;

/// Smoothed round-trip time and mean deviation.
///
/// Beyond RFC 6298, the variance term follows the *largest* deviation of a round trip at once and
/// falls back by a quarter per round trip. It has a floor. A sharp fall of the round-trip time
/// raises the deviation by only an eighth of what a rise would.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimator {
    /// Eight times the smoothed round-trip time, ns.
    srtt: i64,
    /// Four times the mean deviation, ns.
    mdev: i64,
    mdev_max: i64,
    rttvar: i64,
    min_rtt: Option<u64>,
    /// The stream offset whose acknowledgement ends the present round trip.
    round_end: u64,
}

impl Estimator {
    /// Takes a sample; `unacknowledged` and `next` are the sender's stream offsets.
    pub(crate) fn sample(
        &mut self,
        rtt: Duration,
        floor: Duration,
        unacknowledged: u64,
        next: u64,
    ) {
        let rtt = rtt.as_nanos().max(1_000);
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        let (rtt, floor) = (rtt as i64, floor.as_nanos() as i64);
        if self.srtt == 0 {
            self.srtt = rtt * 8;
            self.mdev = rtt * 2;
            self.rttvar = self.mdev.max(floor);
            self.mdev_max = self.rttvar;
            self.round_end = next;
            return;
        }
        let error = rtt - self.srtt / 8;
        self.srtt += error;
        let mut change = error.abs() - self.mdev / 4;
        if error < 0 && change > 0 {
            change /= 8;
        }
        self.mdev += change;
        if self.mdev > self.mdev_max {
            self.mdev_max = self.mdev;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
        if unacknowledged > self.round_end {
            if self.mdev_max < self.rttvar {
                self.rttvar -= (self.rttvar - self.mdev_max) / 4;
            }
            self.round_end = next;
            self.mdev_max = floor;
        }
    }

    /// Returns the smoothed round-trip time.
    pub(crate) fn srtt(&self) -> Duration {
        Duration::from_nanos((self.srtt / 8) as u64)
    }

    /// Returns the shortest round-trip time seen, zero before the first sample.
    pub(crate) fn min_rtt(&self) -> Duration {
        Duration::from_nanos(self.min_rtt.unwrap_or(0))
    }

    /// Returns the retransmission timeout before back-off.
    pub(crate) fn timeout(&self) -> Duration {
        self.srtt() + Duration::from_nanos(self.rttvar as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: Duration = Duration::from_millis(200);

    fn after(samples_ms: &[u64]) -> Estimator {
        let mut estimator = Estimator::default();
        for (i, &ms) in samples_ms.iter().enumerate() {
            // One message of a byte each round trip.
            estimator.sample(Duration::from_millis(ms), FLOOR, i as u64 + 1, i as u64 + 1);
        }
        estimator
    }

    #[test]
    fn steady_round_trips_give_srtt_plus_the_floor() {
        let estimator = after(&[100; 40]);
        assert_eq!(estimator.srtt(), Duration::from_millis(100));
        let timeout = estimator.timeout().as_nanos();
        assert!((300_000_000..300_100_000).contains(&timeout), "{timeout}");
    }

    #[test]
    fn first_sample_gives_three_times_itself() {
        assert_eq!(after(&[300]).timeout(), Duration::from_millis(900));
    }

    #[test]
    fn an_outlier_raises_the_variance_at_once() {
        let calm = after(&[100; 40]).timeout();
        let shaken = after(&[&[100; 40][..], &[700]].concat()).timeout();
        // srtt + 600 / 8, and a deviation of 600 / 4 taken four times.
        assert!(shaken > calm + Duration::from_millis(400), "{calm} {shaken}");
    }
}
